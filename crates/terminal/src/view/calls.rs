//! The invocations of a turn. Several run side by side, each with a line.

use std::time::{Duration, Instant};

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult, Outcome};
use converse_ensemble::ToolProgress;
use converse_screen::{Line, Tone};

use super::TerminalView;
use super::call::{Call, tool_name};
use super::changing::FileEdit;
use super::frame::Frame;
use super::style::Answers;
use super::words::so_far;
use converse_text::wording::bytes;

/// More than a turn may have by default; after that the oldest are dropped.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    asked: usize,
    /// The call whose arguments the model is writing.
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

    /// The invocations of a past turn, from the transcript.
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
        self.all.push(Call::requested(self.asked, invocation, frame));
    }

    /// Returns lines for where nothing is redrawn.
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
        if frame.style.answers == Answers::Text { lines } else { Vec::new() }
    }

    pub(super) fn hear(&mut self, id: &InvocationId, word: &ToolProgress, frame: &Frame<'_>) {
        if let Some(call) = self.open(id) {
            call.hear(word, frame);
        }
    }

    /// Returns the last line of a call and what it has changed, once.
    pub(super) fn end(
        &mut self,
        result: &InvocationResult,
        elapsed: Option<Duration>,
        frame: &Frame<'_>,
    ) -> Vec<Line> {
        let Some(call) = self.open(&result.id) else { return Vec::new() };
        call.result = Some(result.clone());
        call.elapsed = elapsed;
        let mut lines = call.ended(frame);
        lines.extend(call.change(frame));
        lines
    }

    /// What an open call has changed in a file.
    pub(super) fn changed(&mut self, id: &InvocationId, edit: FileEdit) {
        if let Some(call) = self.open(id) {
            call.edit = Some(edit);
        }
    }

    /// Ends the calls without a result.
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

    /// A line for each running call, in the order of the requests.
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

    /// The last call with this id and no result: ids are unique within a turn only.
    fn open(&mut self, id: &InvocationId) -> Option<&mut Call> {
        self.all.iter_mut().rev().find(|call| call.result.is_none() && call.invocation.id == *id)
    }
}

impl TerminalView {
    /// The invocations of the last turn, in the order of the requests.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().main.calls.all().to_vec()
    }

    /// Makes this the last turn, after a conversation was resumed or rewound.
    pub(crate) fn recall(&self, turn: &[Canister]) {
        let mut state = self.lock();
        state.main.calls = Calls::of(turn, &self.frame());
    }

    /// One line for each invocation of the last turn.
    pub(crate) fn calls_in_short(&self) -> Vec<Line> {
        let (state, frame) = (self.lock(), self.frame());
        state.main.calls.all().iter().flat_map(|call| call.ended(&frame)).collect()
    }

    /// One invocation in full: arguments and result.
    pub(crate) fn call_in_full(&self, number: usize) -> Option<Vec<Line>> {
        let (state, frame) = (self.lock(), self.frame());
        let call = state.main.calls.all().iter().find(|call| call.number == number);
        call.map(|call| call.in_full(&frame))
    }
}

impl Draft {
    fn line(&self, frame: &Frame<'_>) -> Line {
        let time = so_far(frame.since(self.began));
        Line::toned(Tone::Accent, frame.spinner(self.began))
            .with(Tone::Dim, " writes the arguments of ")
            .with(Tone::Plain, &self.tool)
            .with(Tone::Dim, &format!(" {} {} {time}", bytes(self.written as u64), frame.signs().dot))
    }
}
