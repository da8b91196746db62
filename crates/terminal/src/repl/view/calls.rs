//! The invocations of a turn: several run side by side, each with its line.

use std::time::{Duration, Instant};

use crate::screen::{Line, Tone};
use converse_canister::{Canister, Invocation, InvocationId, InvocationResult, Outcome};
use converse_ensemble::ToolProgress;

use super::TerminalView;
use super::call::{Call, tool_name};
use super::frame::Frame;
use super::words::so_far;
use converse_host::wording::bytes;

/// More than a turn may have by default; the first ones are forgotten.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    asked: usize,
    /// Of which the model is writing the arguments.
    draft: Option<Draft>,
}

#[derive(Debug)]
struct Draft {
    tool: String,
    began: Instant,
    written: usize,
}

impl Calls {
    pub(super) fn all(&self) -> &[Call] {
        &self.all
    }

    /// Those of a turn that is over, as the transcript has them.
    pub(super) fn of(turn: &[Canister], frame: &Frame<'_>) -> Self {
        let mut calls = Self::default();
        for canister in turn {
            match canister {
                Canister::Invocation(invocation) => calls.ask(invocation, frame),
                Canister::Result(result) => drop(calls.end(result, None, frame)),
                _ => {}
            }
        }
        calls
    }

    pub(super) fn drafted(&mut self, tool: &str, frame: &Frame<'_>) {
        self.draft = Some(Draft { tool: tool_name(tool, frame), began: frame.now, written: 0 });
    }

    pub(super) fn written(&mut self, fragment: &str) {
        if let Some(draft) = &mut self.draft {
            draft.written += fragment.len();
        }
    }

    pub(super) fn drop_draft(&mut self) {
        self.draft = None;
    }

    pub(super) fn ask(&mut self, invocation: &Invocation, frame: &Frame<'_>) {
        self.asked += 1;
        if self.all.len() == MOST {
            self.all.remove(0);
        }
        self.all.push(Call::asked(self.asked, invocation, frame));
    }

    /// Lines for where nothing moves.
    pub(super) fn start(&mut self, invocations: &[Invocation], frame: &Frame<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for invocation in invocations {
            if self.open(&invocation.id).is_none() {
                self.ask(invocation, frame);
            }
            if let Some(call) = self.open(&invocation.id) {
                call.start(invocation, frame);
                lines.push(call.begun(frame));
            }
        }
        if frame.style.rich { Vec::new() } else { lines }
    }

    pub(super) fn hear(&mut self, id: &InvocationId, word: &ToolProgress, frame: &Frame<'_>) {
        if let Some(call) = self.open(id) {
            call.hear(word, frame);
        }
    }

    /// Its last line; nothing if it has had it.
    pub(super) fn end(
        &mut self,
        result: &InvocationResult,
        elapsed: Option<Duration>,
        frame: &Frame<'_>,
    ) -> Vec<Line> {
        let Some(call) = self.open(&result.id) else { return Vec::new() };
        call.result = Some(result.clone());
        call.elapsed = elapsed;
        call.ended(frame)
    }

    /// What the turn leaves without a result.
    pub(super) fn end_all(&mut self, frame: &Frame<'_>) -> Vec<Line> {
        self.draft = None;
        let open = self.all.iter_mut().filter(|call| call.result.is_none());
        let end = |call: &mut Call| {
            let id = call.invocation.id.clone();
            call.result = Some(InvocationResult::new(id, Outcome::Cancelled, "the turn has ended"));
            call.ended(frame)
        };
        open.flat_map(end).collect()
    }

    /// A line for each that runs, in the order they were asked for.
    pub(super) fn running(&self, rows: usize, frame: &Frame<'_>) -> Vec<Line> {
        let running: Vec<&Call> = self.all.iter().filter(|call| call.is_running()).collect();
        let room = (rows / 2).max(2);
        let shown = if running.len() > room { room - 1 } else { running.len() };
        let mut lines: Vec<Line> = running.iter().take(shown).map(|call| call.running(frame)).collect();
        if running.len() > shown {
            let more = format!("  {} {} more", frame.signs().more, running.len() - shown);
            lines.push(Line::toned(Tone::Dim, &more));
        }
        lines.extend(self.draft.as_ref().map(|draft| draft.line(frame)));
        lines
    }

    /// The last one of this id that has no result yet: ids are a turn's own.
    fn open(&mut self, id: &InvocationId) -> Option<&mut Call> {
        self.all.iter_mut().rev().find(|call| call.result.is_none() && call.invocation.id == *id)
    }
}

impl TerminalView {
    /// The invocations of the last turn, in the order they were asked for.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().view_state.calls.all().to_vec()
    }

    /// From here on the last turn is this one, of a conversation that was taken up or taken back.
    pub(crate) fn recall(&self, turn: &[Canister]) {
        let mut state = self.lock();
        state.view_state.calls = Calls::of(turn, &self.frame());
    }

    /// One line for each of them.
    pub(crate) fn calls_in_short(&self) -> Vec<Line> {
        let (state, frame) = (self.lock(), self.frame());
        state.view_state.calls.all().iter().flat_map(|call| call.ended(&frame)).collect()
    }

    /// One of them in full, arguments and result.
    pub(crate) fn call_in_full(&self, number: usize) -> Option<Vec<Line>> {
        let (state, frame) = (self.lock(), self.frame());
        let call = state.view_state.calls.all().iter().find(|call| call.number == number);
        call.map(|call| call.in_full(&frame))
    }
}

impl Draft {
    fn line(&self, frame: &Frame<'_>) -> Line {
        let time = so_far(frame.since(self.began));
        Line::toned(Tone::Accent, frame.spinner(self.began))
            .with(Tone::Dim, " writes the arguments of ")
            .with(Tone::Plain, &self.tool)
            .with(Tone::Dim, &format!(" {} {} {time}", bytes(self.written), frame.signs().dot))
    }
}
