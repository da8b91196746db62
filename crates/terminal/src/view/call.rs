//! One invocation: a line that goes from running to done or failed, and everything about it on demand.

use std::time::{Duration, Instant};

use converse_canister::{Arguments, Invocation, InvocationResult};
use converse_ensemble::ToolProgress;
use converse_screen::{Line, Tone, wrapped};
use converse_text::width;
use serde_json::Value;

use super::changing::FileEdit;
use super::frame::Frame;
use super::words::{so_far, took};
use crate::render::{ended_for, result_text};
use converse_text::wording::{bytes, counted};

const ARGUMENTS_SHOWN: usize = 200;
const WORD_SHOWN: usize = 120;
const REASON_SHOWN: usize = 300;
/// A result of one line is shown if it is no longer.
const RESULT_SHOWN: usize = 60;
/// Rows of a reason, where the line is narrow.
const REASON_ROWS: usize = 4;
/// Indent of continuation rows.
const INDENT: &str = "  ";
/// Arguments with less room than this are left out first.
const FEWEST: usize = 8;

/// An invocation and its state.
#[derive(Debug, Clone)]
pub struct Call {
    /// From 1, in the order of the requests of this turn.
    pub number: usize,
    /// Has the arguments that run, once it runs.
    pub invocation: Invocation,
    pub result: Option<InvocationResult>,
    pub elapsed: Option<Duration>,
    pub(super) edit: Option<FileEdit>,
    /// As people write it (`weather.forecast`), redacted.
    pub tool: String,
    /// The arguments, short enough for a line.
    arguments: String,
    started: Option<Instant>,
    percent: Option<u32>,
    word: String,
}

impl Call {
    pub(super) fn requested(number: usize, invocation: &Invocation, frame: &Frame<'_>) -> Self {
        Self {
            number,
            tool: tool_name(&invocation.tool, frame),
            arguments: short(&invocation.arguments, frame),
            invocation: invocation.clone(),
            result: None,
            elapsed: None,
            edit: None,
            started: None,
            percent: None,
            word: String::new(),
        }
    }

    pub(super) fn start(&mut self, invocation: &Invocation, frame: &Frame<'_>) {
        if self.invocation.arguments != invocation.arguments {
            self.arguments = short(&invocation.arguments, frame);
            self.invocation = invocation.clone();
        }
        self.started = Some(frame.now);
    }

    pub(super) fn hear(&mut self, word: &ToolProgress, frame: &Frame<'_>) {
        let message = match word {
            ToolProgress::Log { message } | ToolProgress::Output { line: message } => Some(message),
            ToolProgress::Progress { done, total, message } => {
                let share = total.filter(|total| *total > 0.0).map(|total| done / total * 100.0);
                self.percent = share.map(|share| share.clamp(0.0, 100.0) as u32);
                message.as_ref()
            }
        };
        let last = message.and_then(|message| message.trim_end().lines().next_back());
        if let Some(last) = last.filter(|last| !last.trim().is_empty()) {
            self.word = frame.brief(last, WORD_SHOWN);
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.started.is_some() && self.result.is_none()
    }

    /// The line while it runs.
    pub(super) fn running(&self, frame: &Frame<'_>) -> Line {
        let began = self.started.unwrap_or(frame.now);
        let (columns, signs) = (frame.look.width, frame.signs());
        let mut line = Line::toned(Tone::Accent, frame.spinner(began))
            .with(Tone::Plain, " ")
            .with(Tone::Strong, &frame.cut(&self.tool, columns / 2));
        if !self.arguments.is_empty() && columns / 3 >= FEWEST {
            line.push(Tone::Plain, " ");
            line.push(Tone::Plain, &frame.cut(&self.arguments, columns / 3));
        }
        line.push(Tone::Dim, &format!(" {}", so_far(frame.since(began))));
        if let Some(percent) = self.percent {
            line.push(Tone::Dim, &format!(" {} {percent} %", signs.dot));
        }
        if !self.word.is_empty() {
            let lead = if self.percent.is_some() { " ".to_owned() } else { format!(" {} ", signs.dot) };
            let left = columns.saturating_sub(line.width() + width(&lead));
            line.push(Tone::Dim, &format!("{lead}{}", frame.cut(&self.word, left)));
        }
        line
    }

    /// The line when it starts, where nothing is redrawn.
    pub(super) fn begun(&self, frame: &Frame<'_>) -> Line {
        self.head(frame.signs().more, Tone::Accent, frame).with(Tone::Plain, &self.spaced())
    }

    /// The line when it has ended; more lines where the terminal is narrow.
    pub(super) fn ended(&self, frame: &Frame<'_>) -> Vec<Line> {
        let success = self.result.as_ref().is_some_and(|result| result.outcome.is_success());
        let (mark, tone) = match success {
            true => (frame.signs().done, Tone::Ok),
            false => (frame.signs().failed, Tone::Error),
        };
        let (head, tail, columns) = (self.head(mark, tone, frame), self.tail(frame), frame.look.width);
        let arguments = self.spaced();
        let room = columns.checked_sub(head.width() + 1 + tail.width());
        let left = room.unwrap_or_default();
        let fits = !frame.style.live || room.is_some_and(|room| width(&arguments) <= room);
        if fits || left > FEWEST {
            let arguments = if fits { arguments } else { frame.cut(&arguments, left) };
            let mut line = head.with(Tone::Plain, &format!("{arguments} "));
            line.append(tail);
            return vec![line];
        }
        let first = head.with(Tone::Plain, &arguments).clipped(columns.max(1));
        let width = columns.saturating_sub(INDENT.len()).max(1);
        let mut rows = wrapped(&tail, width);
        let most = if success { 1 } else { REASON_ROWS };
        if rows.len() > most {
            rows.truncate(most);
            let more = format!(" {}", frame.signs().more);
            let last = rows.pop().map(|last| last.with(Tone::Plain, &more).clipped(width));
            rows.extend(last);
        }
        let rest = rows.into_iter().map(|row| {
            let mut line = Line::plain(INDENT);
            line.append(row);
            line
        });
        std::iter::once(first).chain(rest).collect()
    }

    /// Arguments and result in full.
    pub(super) fn in_full(&self, frame: &Frame<'_>) -> Vec<Line> {
        let outcome = self.result.as_ref().map_or("not answered", |result| result.outcome.label());
        let time = self.elapsed.map(|time| format!(", {}", took(time))).unwrap_or_default();
        let title = Line::toned(Tone::Dim, &format!("[{}] ", self.number))
            .with(Tone::Strong, &self.tool)
            .with(Tone::Dim, &format!(" {outcome}{time}"));
        let mut lines = vec![title, Line::toned(Tone::Dim, "arguments")];
        lines.extend(block(&arguments_text(&self.invocation.arguments), frame));
        if let Some(edit) = &self.edit {
            lines.push(Line::toned(Tone::Dim, "change"));
            lines.extend(edit.lines(self, true, frame));
        }
        if let Some(result) = &self.result {
            lines.push(Line::toned(Tone::Dim, "result"));
            lines.extend(block(&result_text(result), frame));
            if result.truncated.is_some() {
                lines.push(Line::toned(Tone::Dim, "  (cut to its limit; the session keeps all of it)"));
            }
        }
        lines
    }

    /// The first rows of what it has changed in a file, unless the question about it has shown that.
    pub(super) fn change(&self, frame: &Frame<'_>) -> Vec<Line> {
        let edit = self.edit.as_ref().filter(|edit| !edit.was_asked);
        edit.map(|edit| edit.lines(self, false, frame)).unwrap_or_default()
    }

    fn head(&self, mark: &str, tone: Tone, frame: &Frame<'_>) -> Line {
        let tool = if frame.style.live { frame.cut(&self.tool, frame.look.width) } else { self.tool.clone() };
        Line::toned(tone, mark).with(Tone::Dim, &format!(" [{}] ", self.number)).with(Tone::Strong, &tool)
    }

    fn spaced(&self) -> String {
        if self.arguments.is_empty() { String::new() } else { format!(" {}", self.arguments) }
    }

    /// `3.1 s → 12 lines, 640 B`.
    fn tail(&self, frame: &Frame<'_>) -> Line {
        let time = self.elapsed.map(|time| format!("{} ", took(time))).unwrap_or_default();
        let line = Line::toned(Tone::Dim, &time);
        let Some(result) = &self.result else { return line.with(Tone::Error, "no result") };
        if result.outcome.is_success() {
            return line.with(Tone::Dim, &format!("{} {}", frame.signs().into, summary(result, frame)));
        }
        let text = result_text(result);
        let reason = frame.brief(text.lines().next().unwrap_or_default(), REASON_SHOWN);
        let (word, why) = ended_for(result.outcome, &reason);
        line.with(Tone::Error, &word).with(Tone::Plain, &why)
    }
}

fn summary(result: &InvocationResult, frame: &Frame<'_>) -> String {
    let text = result_text(result);
    let text = text.trim_end();
    let told = match text.lines().count() {
        0 => "nothing".to_owned(),
        1 if text.len() <= RESULT_SHOWN => frame.brief(text, RESULT_SHOWN),
        1 => bytes(text.len() as u64),
        lines => format!("{}, {}", counted(lines, "line"), bytes(text.len() as u64)),
    };
    match &result.truncated {
        None => told,
        Some(whole) => {
            format!("{told}, cut from {}", bytes(whole.bytes))
        }
    }
}

/// `ensemble.invoker`: models are shown `ensemble__invoker`.
pub(super) fn tool_name(tool: &str, frame: &Frame<'_>) -> String {
    frame.brief(&converse_text::wording::tool_name(tool), 64)
}

/// `city="Oslo" days=3`.
fn short(arguments: &Arguments, frame: &Frame<'_>) -> String {
    if arguments.malformed.is_some() {
        return frame.brief(&arguments.raw, ARGUMENTS_SHOWN);
    }
    let mut out = String::new();
    for (name, value) in &arguments.object {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&format!(
            "{}={}",
            frame.brief(name, 40),
            frame.brief(&value.to_string(), ARGUMENTS_SHOWN)
        ));
        if out.len() > ARGUMENTS_SHOWN * 4 {
            break;
        }
    }
    frame.brief(&out, ARGUMENTS_SHOWN)
}

fn arguments_text(arguments: &Arguments) -> String {
    match &arguments.malformed {
        Some(_) => arguments.raw.to_string(),
        None => format!("{:#}", Value::Object(arguments.object.clone())),
    }
}

fn block(text: &str, frame: &Frame<'_>) -> Vec<Line> {
    let text = frame.clean(text.trim_end());
    text.lines().map(|line| Line::plain("  ").with(Tone::Plain, line)).collect()
}
