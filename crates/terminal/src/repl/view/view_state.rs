//! What stands on the view: what is final and not written yet, and what still moves.

use crate::screen::{Line, Live, Tone, wrapped};
use converse_canister::Canister;
use converse_engine::{Event, Restart};
use converse_provider::{Delta, has_hidden_thinking};

use super::answer::Answer;
use super::calls::Calls;
use super::frame::Frame;
use super::spending::Spending;
use super::thinking::Thinking;
use super::wait::Wait;
use super::words::took;
use converse_host::wording::grouped;

const WARNING_SHOWN: usize = 2000;

/// Different kinds have a blank line between them, unless both are lines about what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of this reply.
    Answer(u32),
    Thought,
    Note,
}

/// Folded, it is a line among the others.
fn thought(told: bool) -> Kind {
    if told { Kind::Thought } else { Kind::Note }
}

#[derive(Default)]
pub(super) struct ViewState {
    pub(super) live: Live,
    /// Final, for above the region.
    above: Vec<Line>,
    /// The same where nothing moves: text as it is written.
    plain: String,
    mid_line: bool,
    /// What is final ends in an empty line.
    pub(super) blank: bool,
    last: Option<Kind>,
    reply: u32,
    answer: Answer,
    thinking: Thinking,
    pub(super) calls: Calls,
    pub(super) spending: Spending,
    /// Who is asked and has not said a word yet.
    asking: Option<Wait>,
    /// What else keeps the turn waiting, by number.
    pub(super) waits: Vec<(u64, Wait)>,
}

impl ViewState {
    pub(super) fn begin(&mut self, frame: &Frame<'_>) {
        self.drop_reply();
        (self.last, self.reply, self.calls) = (None, 0, Calls::default());
        self.spending = Spending::begin(frame.now);
    }

    /// All of it is final now.
    pub(super) fn end(&mut self, frame: &Frame<'_>) {
        self.end_reply(frame);
        let open = self.calls.end_all(frame);
        self.tell(open, frame);
    }

    pub(super) fn hear(&mut self, event: &Event<'_>, frame: &Frame<'_>) {
        match event {
            Event::Requested { model, .. } => {
                self.drop_reply();
                self.reply += 1;
                let what = format!("asking {}", frame.brief(model, 60));
                self.asking = Some(Wait { what, since: frame.now });
            }
            Event::Delta(delta) => self.hear_delta(delta, frame),
            Event::Restarted(restart) => self.take_back(restart, frame),
            Event::Warned(message) => self.warn(message, frame),
            Event::Noted(message) => self.note(&frame.brief(message, WARNING_SHOWN), frame),
            Event::Appended(canister) => self.append(canister, frame),
            Event::Condensed { condensed, before, after } => {
                let (into, dot) = (frame.signs().into, frame.signs().dot);
                let count = grouped(condensed.covers as u64);
                let tokens = format!("~{} {into} ~{} tokens", grouped(*before), grouped(*after));
                self.note(
                    &format!("context condensed: {count} messages {into} a summary {dot} {tokens}"),
                    frame,
                );
            }
            Event::Started(invocations) => {
                let lines = self.calls.start(invocations, frame);
                self.tell(lines, frame);
            }
            Event::ToolProgress { id, word } => self.calls.hear(id, word, frame),
            Event::Finished { result, elapsed, .. } => {
                let lines = self.calls.end(result, Some(*elapsed), frame);
                self.spending.add_cost(result.cost.unwrap_or_default());
                self.tell(lines, frame);
            }
            Event::Used { usage, cost, model, cut, instead, .. } => {
                self.spending.add(*usage, *cost, model, *cut);
                if let Some(instead) = instead {
                    self.note(&format!("answered by {}", frame.brief(instead, 80)), frame);
                }
            }
            Event::Deciding(_) | Event::Decided { .. } | Event::Committed { .. } => {}
            Event::Answered(_) | Event::Done(_) => {}
        }
    }

    fn hear_delta(&mut self, delta: &Delta, frame: &Frame<'_>) {
        self.asking = None;
        match delta {
            Delta::Text(text) => {
                self.end_thoughts(frame);
                self.say(text, frame);
            }
            Delta::Reasoning(text) => {
                let lines = self.thinking.push(text, frame);
                self.commit(Kind::Thought, lines, frame);
            }
            Delta::InvocationStarted { tool, .. } => {
                self.end_thoughts(frame);
                self.calls.drafted(tool, frame);
            }
            Delta::Arguments { fragment, .. } => self.calls.written(fragment),
        }
    }

    fn say(&mut self, text: &str, frame: &Frame<'_>) {
        let kind = Kind::Answer(self.reply);
        if frame.style.rich {
            let lines = self.answer.push(text, frame);
            return self.commit(kind, lines, frame);
        }
        let text = self.answer.push_plain(text, frame);
        self.write(kind, &text);
    }

    fn append(&mut self, canister: &Canister, frame: &Frame<'_>) {
        match canister {
            Canister::Assistant(assistant) => {
                let silent = !self.thinking.is_told();
                self.end_reply(frame);
                let hidden = assistant.native.as_ref().is_some_and(has_hidden_thinking);
                if frame.reasoning && hidden && silent {
                    let words = "(it thought, and its provider does not show what)";
                    self.commit(Kind::Thought, vec![Line::toned(Tone::Dim, words)], frame);
                }
            }
            Canister::Invocation(invocation) => self.calls.ask(invocation, frame),
            // What was run has had its line; what was not has it here.
            Canister::Result(result) => {
                let lines = self.calls.end(result, None, frame);
                self.tell(lines, frame);
            }
            _ => {}
        }
    }

    /// Of a reply that is asked for again, what has been shown counts for nothing.
    fn take_back(&mut self, restart: &Restart<'_>, frame: &Frame<'_>) {
        let void = restart.discard && self.answer.shown;
        self.drop_reply();
        let mark = if void { "(taken back)" } else { frame.signs().more };
        let (reason, wait) = (frame.brief(restart.reason, 160), took(restart.delay));
        let what = if restart.discard { "stream cut, asking again" } else { "trying again" };
        self.note(&format!("{mark} {reason}; {what} in {wait}"), frame);
        self.asking = Some(Wait { what: "waiting to ask again".to_owned(), since: frame.now });
    }

    fn drop_reply(&mut self) {
        (self.answer, self.thinking, self.asking) = Default::default();
        self.calls.drop_draft();
    }

    fn end_reply(&mut self, frame: &Frame<'_>) {
        self.end_thoughts(frame);
        let kind = Kind::Answer(self.reply);
        if frame.style.rich {
            let lines = self.answer.end(frame);
            self.commit(kind, lines, frame);
        } else {
            let text = self.answer.end_plain(frame);
            self.write(kind, &text);
            self.end_line();
        }
        self.asking = None;
        self.calls.drop_draft();
    }

    fn end_thoughts(&mut self, frame: &Frame<'_>) {
        let told = self.thinking.is_told();
        let lines = self.thinking.end(frame);
        if told || !frame.style.quiet {
            self.commit(thought(told), lines, frame);
        }
    }

    pub(super) fn warn(&mut self, message: &str, frame: &Frame<'_>) {
        let message = frame.brief(message, WARNING_SHOWN);
        let line = Line::toned(Tone::Warning, "warning: ").with(Tone::Plain, &message);
        self.tell(vec![line], frame);
    }

    pub(super) fn note(&mut self, text: &str, frame: &Frame<'_>) {
        self.tell(vec![Line::toned(Tone::Dim, text)], frame);
    }

    /// Lines about what happens; not where nothing but answers is asked for.
    pub(super) fn tell(&mut self, lines: Vec<Line>, frame: &Frame<'_>) {
        if !frame.style.quiet {
            self.commit(Kind::Note, lines, frame);
        }
    }

    /// Final from here on.
    pub(super) fn commit(&mut self, kind: Kind, lines: Vec<Line>, frame: &Frame<'_>) {
        if lines.is_empty() {
            return;
        }
        let gap = self.gap(kind);
        self.last = Some(kind);
        let columns = frame.look.width;
        if frame.style.rich {
            self.blank = lines.last().is_some_and(Line::is_empty);
            self.above.extend(gap.then(Line::new));
            self.above.extend(lines.iter().flat_map(|line| wrapped(line, columns)));
            return;
        }
        self.end_line();
        self.plain.push_str(if gap { "\n" } else { "" });
        for line in lines {
            self.plain.push_str(&line.painted(&frame.look));
            self.plain.push('\n');
        }
    }

    fn write(&mut self, kind: Kind, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.gap(kind) {
            self.end_line();
            self.plain.push('\n');
        }
        self.last = Some(kind);
        self.plain.push_str(text);
        self.mid_line = !text.ends_with('\n');
    }

    pub(super) fn end_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.plain.push('\n');
        }
    }

    fn gap(&self, kind: Kind) -> bool {
        self.last.is_some_and(|last| last != kind)
    }

    pub(super) fn take_plain(&mut self) -> String {
        std::mem::take(&mut self.plain)
    }

    pub(super) fn take_above(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.above)
    }

    /// What is not final, as it looks now.
    pub(super) fn region(&mut self, rows: usize, frame: &Frame<'_>) -> Vec<Line> {
        let (mut region, mut last) = (Vec::new(), self.last);
        let mut add = |kind: Kind, lines: Vec<Line>| {
            if !lines.is_empty() {
                region.extend((last.is_some_and(|last| last != kind)).then(Line::new));
                last = Some(kind);
                region.extend(lines);
            }
        };
        add(Kind::Answer(self.reply), self.answer.open(&frame.look).to_vec());
        if frame.style.quiet && !frame.reasoning {
            return region;
        }
        add(thought(self.thinking.is_told()), self.thinking.open(frame).into_iter().collect());
        let mut lines = self.calls.running(rows, frame);
        lines.extend(self.waits.iter().map(|(_, wait)| wait.line(frame)));
        lines.extend(self.asking.as_ref().map(|asking| asking.line(frame)));
        add(Kind::Note, lines);
        region
    }
}
