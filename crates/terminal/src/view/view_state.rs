//! The state machine of a view: events of a turn come in, lines go out. It does no I/O.

use std::time::Instant;

use converse_canister::{Canister, Content};
use converse_engine::{Event, Restart};
use converse_provider::{Delta, has_hidden_thinking};
use converse_screen::{Line, Tone, wrapped};

use super::answer::Answer;
use super::calls::Calls;
use super::echo::{MOST, echoed};
use super::frame::Frame;
use super::spending::Spending;
use super::style::{Answers, Detail};
use super::thinking::Thinking;
use super::words::{so_far, took};
use converse_text::wording::grouped;

const WARNING_SHOWN: usize = 2000;

/// Different kinds have a blank line between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The answer of the reply with this number.
    Answer(u32),
    Thought,
    /// A line about what happens.
    Note,
    /// What the user said while the turn ran.
    Steering,
}

/// A line that shows how long something has taken.
pub(super) struct Wait {
    pub(super) what: String,
    pub(super) since: Instant,
}

impl Wait {
    fn line(&self, frame: &Frame<'_>) -> Line {
        let time = so_far(frame.since(self.since));
        Line::toned(Tone::Accent, frame.spinner(self.since))
            .with(Tone::Plain, &format!(" {} ", self.what))
            .with(Tone::Dim, &time)
    }
}

#[derive(Default)]
pub(super) struct ViewState {
    /// The model, if several are asked at once. It is the prefix of its lines.
    label: Option<String>,
    /// Final lines above the region, where answers are Markdown.
    above: Vec<Line>,
    /// Final text, where they are not.
    plain: String,
    mid_line: bool,
    /// What is final ends in an empty line.
    pub(super) blank: bool,
    last: Option<Kind>,
    reply: u32,
    answer: Answer,
    /// Characters of an answer that is written elsewhere.
    characters: usize,
    thinking: Thinking,
    /// Thoughts of one of several models, which are shown together.
    thoughts: Vec<Line>,
    pub(super) calls: Calls,
    pub(super) spending: Spending,
    /// The model that has not answered yet.
    asking: Option<Wait>,
}

impl ViewState {
    /// The state of one of several models.
    pub(super) fn of_model(label: String) -> Self {
        Self { label: Some(label), ..Self::default() }
    }

    pub(super) fn begin(&mut self, frame: &Frame<'_>) {
        self.drop_reply();
        (self.last, self.reply, self.calls) = (None, 0, Calls::default());
        self.spending = Spending::begin(frame.now);
    }

    /// Makes everything final.
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
                let what = match &self.label {
                    Some(_) => "asking".to_owned(),
                    None => format!("asking {}", frame.brief(model, 60)),
                };
                self.asking = Some(Wait { what, since: frame.now });
            }
            Event::Delta(delta) => self.hear_delta(delta, frame),
            Event::Restarted(restart) => self.take_back(restart, frame),
            Event::Warned(message) => self.warn(message, frame),
            Event::Noted(message) => {
                self.note(&frame.brief(message, WARNING_SHOWN), Detail::Notices, frame);
            }
            Event::Appended(canister) => self.append(canister, frame),
            Event::Condensed { condensed, before, after } => {
                let (into, dot) = (frame.signs().into, frame.signs().dot);
                let text = if frame.style.answers == Answers::Elsewhere {
                    format!("the older part was summarised for the model: ~{before} → ~{after} tokens")
                } else {
                    let count = grouped(condensed.covers as u64);
                    let tokens = format!("~{} {into} ~{} tokens", grouped(*before), grouped(*after));
                    format!("context condensed: {count} messages {into} a summary {dot} {tokens}")
                };
                self.note(&text, Detail::Notices, frame);
            }
            Event::Started { invocations, .. } => {
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
                    let text = format!("answered by {}", frame.brief(instead, 80));
                    self.note(&text, Detail::Activity, frame);
                }
            }
            Event::Stalled if frame.style.answers == Answers::Markdown => {
                let what = "waiting for more".to_owned();
                self.asking.get_or_insert(Wait { what, since: frame.now });
            }
            Event::Stalled | Event::Deciding(_) | Event::Decided { .. } | Event::Committed { .. } => {}
            Event::Answered(_) | Event::Done(_) => {}
        }
    }

    fn hear_delta(&mut self, delta: &Delta, frame: &Frame<'_>) {
        let began = self.asking.take().map_or(frame.now, |asking| asking.since);
        match delta {
            Delta::Text(text) => {
                self.end_thoughts(frame);
                self.say(text, began, frame);
            }
            Delta::Reasoning(text) => {
                let lines = self.thinking.push(text, frame);
                match &self.label {
                    Some(_) => self.thoughts.extend(lines),
                    None => self.commit(Kind::Thought, lines, frame),
                }
            }
            Delta::InvocationStarted { tool, .. } => {
                self.end_thoughts(frame);
                self.calls.drafted(tool, frame);
            }
            Delta::Arguments { fragment, .. } => self.calls.written(fragment),
        }
    }

    fn say(&mut self, text: &str, began: Instant, frame: &Frame<'_>) {
        let kind = Kind::Answer(self.reply);
        match frame.style.answers {
            Answers::Markdown => {
                let lines = self.answer.push(text, frame);
                self.commit(kind, lines, frame);
            }
            Answers::Text => {
                let text = self.answer.push_plain(text, frame);
                self.write(kind, &text);
            }
            Answers::Elsewhere if self.label.is_some() => {
                self.characters += text.chars().count();
                let what = format!("writes {} {} characters", frame.signs().dot, self.characters);
                self.asking = Some(Wait { what, since: began });
            }
            Answers::Elsewhere => {}
        }
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
            // The question itself was typed.
            Canister::User(user) if self.reply > 0 && frame.style.answers != Answers::Elsewhere => {
                let words: String = user.content.iter().filter_map(Content::as_text).collect();
                if frame.style.detail != Detail::Nothing {
                    self.commit(Kind::Steering, echoed(&words, MOST, frame), frame);
                }
            }
            // A call that ran has had its line; one that did not gets its line here.
            Canister::Result(result) => {
                let lines = self.calls.end(result, None, frame);
                self.tell(lines, frame);
            }
            _ => {}
        }
    }

    /// Drops a reply that is requested again.
    fn take_back(&mut self, restart: &Restart<'_>, frame: &Frame<'_>) {
        let void = restart.discard && self.answer.shown;
        self.drop_reply();
        let mark = if void { "(taken back)" } else { frame.signs().more };
        let (reason, wait) = (frame.brief(restart.reason, 160), took(restart.delay));
        let what = if restart.discard { "stream cut, asking again" } else { "trying again" };
        self.note(&format!("{mark} {reason}; {what} in {wait}"), Detail::Activity, frame);
        self.asking = Some(Wait { what: "waiting to ask again".to_owned(), since: frame.now });
    }

    fn drop_reply(&mut self) {
        (self.answer, self.thinking, self.asking) = Default::default();
        (self.thoughts, self.characters) = Default::default();
        self.calls.drop_draft();
    }

    pub(super) fn end_reply(&mut self, frame: &Frame<'_>) {
        self.end_thoughts(frame);
        let kind = Kind::Answer(self.reply);
        match frame.style.answers {
            Answers::Markdown => {
                let lines = self.answer.end(frame);
                self.commit(kind, lines, frame);
            }
            Answers::Text => {
                let text = self.answer.end_plain(frame);
                self.write(kind, &text);
                self.end_line();
            }
            Answers::Elsewhere => {}
        }
        self.drop_reply();
    }

    fn end_thoughts(&mut self, frame: &Frame<'_>) {
        let told = self.thinking.is_told();
        let lines = self.thinking.end(frame);
        let folded = frame.style.detail == Detail::Activity && frame.style.answers != Answers::Elsewhere;
        match &self.label {
            Some(label) if told => {
                let mut all = vec![Line::plain(&format!("{label} thinks:"))];
                all.append(&mut self.thoughts);
                all.extend(lines);
                self.commit(Kind::Thought, all, frame);
            }
            _ if told => self.commit(Kind::Thought, lines, frame),
            _ if folded => self.commit(Kind::Note, lines, frame),
            _ => {}
        }
    }

    pub(super) fn warn(&mut self, message: &str, frame: &Frame<'_>) {
        let tone = if frame.style.answers == Answers::Elsewhere { Tone::Plain } else { Tone::Warning };
        let line = Line::toned(tone, "warning: ").with(Tone::Plain, &self.labelled(""));
        let line = line.with(Tone::Plain, &frame.brief(message, WARNING_SHOWN));
        if frame.style.detail != Detail::Nothing {
            self.commit(Kind::Note, vec![line], frame);
        }
    }

    /// A line about what happens, if so much is shown.
    pub(super) fn note(&mut self, text: &str, detail: Detail, frame: &Frame<'_>) {
        let line = match (frame.style.answers, detail) {
            (Answers::Elsewhere, Detail::Notices) => Line::plain(&format!("note: {}", self.labelled(text))),
            (Answers::Elsewhere, _) => Line::plain(&self.labelled(text)),
            _ => Line::toned(Tone::Dim, text),
        };
        if frame.style.detail >= detail {
            self.commit(Kind::Note, vec![line], frame);
        }
    }

    /// Lines about invocations and the like.
    pub(super) fn tell(&mut self, mut lines: Vec<Line>, frame: &Frame<'_>) {
        if let (Some(first), Some(_)) = (lines.first_mut(), &self.label) {
            let rest = std::mem::replace(first, Line::plain(&self.labelled("")));
            first.append(rest);
        }
        if frame.style.detail == Detail::Activity {
            self.commit(Kind::Note, lines, frame);
        }
    }

    fn labelled(&self, text: &str) -> String {
        self.label.as_ref().map_or_else(|| text.to_owned(), |label| format!("{label}: {text}"))
    }

    /// Text that is final and safe as it is.
    pub(super) fn print_plain(&mut self, text: &str) {
        self.plain.push_str(text);
    }

    /// Makes lines final.
    pub(super) fn commit(&mut self, kind: Kind, lines: Vec<Line>, frame: &Frame<'_>) {
        if lines.is_empty() {
            return;
        }
        let gap = self.gap(kind) && frame.style.answers != Answers::Elsewhere;
        self.last = Some(kind);
        let columns = frame.look.width;
        if frame.style.answers == Answers::Markdown {
            self.blank = lines.last().is_some_and(Line::is_empty);
            self.above.extend(gap.then(Line::new));
            match kind {
                // Only code is wider, which the terminal wraps: so it is copied without what is not its own.
                Kind::Answer(_) => self.above.extend(lines),
                _ => self.above.extend(lines.iter().flat_map(|line| wrapped(line, columns))),
            }
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

    /// The lines that are not final, as they look now; `waits` are shown among them.
    pub(super) fn region(&mut self, waits: &[(u64, Wait)], rows: usize, frame: &Frame<'_>) -> Vec<Line> {
        let (mut region, mut last) = (Vec::new(), self.last);
        let mut add = |kind: Kind, lines: Vec<Line>| {
            if !lines.is_empty() {
                let apart =
                    frame.style.answers != Answers::Elsewhere && last.is_some_and(|last| last != kind);
                region.extend(apart.then(Line::new));
                last = Some(kind);
                region.extend(lines);
            }
        };
        add(Kind::Answer(self.reply), self.answer.open(&frame.look).to_vec());
        if frame.style.detail == Detail::Nothing && !frame.reasoning {
            return region;
        }
        let thought = if self.thinking.is_told() { Kind::Thought } else { Kind::Note };
        add(thought, self.thinking.open(frame).into_iter().collect());
        let mut lines = self.calls.running(rows, frame);
        lines.extend(waits.iter().map(|(_, wait)| wait.line(frame)));
        lines.extend(self.asking.as_ref().map(|asking| asking.line(frame)));
        add(Kind::Note, lines);
        if let Some(label) = &self.label {
            for line in &mut region {
                let rest = std::mem::replace(line, Line::plain(&format!("{label}: ")));
                line.append(rest);
            }
        }
        region
    }
}
