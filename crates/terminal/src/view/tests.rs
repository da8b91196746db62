//! A view fed with the events of a turn, and what stands on the terminal then.

mod answers;
mod changing;
mod hostile;
mod invocations;
mod keys;
mod others;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use converse_canister::{
    Arguments, Artefact, Assistant, Canister, Content, Invocation, InvocationId, InvocationResult, Outcome,
    Stop, TurnId,
};
use converse_engine::{Event, Sink as _, SinkError};
use converse_ensemble::ToolProgress;
use converse_provider::Delta;
use converse_screen::Size;
use vt100::Parser;

use super::style::{Answers, Detail, Style};
use super::{Surface, TerminalView};
use converse_host::secrets::{Redactor, Secret};

const RICH: Style = Style {
    answers: Answers::Markdown,
    detail: Detail::Activity,
    live: true,
    gutter: true,
    colour: true,
    light: false,
    links: false,
    unicode: true,
};
const PLAIN: Style = Style { answers: Answers::Text, live: false, colour: false, ..RICH };
/// Of `ask` on a terminal.
const BESIDE: Style = Style { answers: Answers::Elsewhere, colour: false, ..RICH };

/// What was written, and a clock that is put forward by hand.
struct Shown {
    parser: Parser,
    written: String,
    writes: usize,
    size: Size,
    now: Instant,
}

struct Screen(Arc<Mutex<Shown>>);

impl Surface for Screen {
    fn write(&self, text: &str) -> Result<(), SinkError> {
        let mut shown = self.0.lock().unwrap();
        let end = if text.contains('\x1b') { text.to_owned() } else { text.replace('\n', "\r\n") };
        shown.parser.process(end.as_bytes());
        shown.written.push_str(text);
        shown.writes += 1;
        Ok(())
    }

    fn size(&self) -> Size {
        self.0.lock().unwrap().size
    }

    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }
}

struct Play {
    view: Arc<TerminalView>,
    shown: Arc<Mutex<Shown>>,
}

impl Play {
    /// A turn has begun.
    fn new(columns: usize, style: Style) -> Self {
        let size = Size { columns, rows: 24 };
        let parser = Parser::new(24, columns as u16, 100_000);
        let (written, writes, now) = (String::new(), 0, Instant::now());
        let shown = Arc::new(Mutex::new(Shown { parser, written, writes, size, now }));
        let redactor = Redactor::default();
        redactor.learn([Secret::new("sk-secret-0123456789")]);
        let view = Arc::new(TerminalView::on(Box::new(Screen(Arc::clone(&shown))), style, redactor));
        view.begin_turn();
        Self { view, shown }
    }

    fn hears(&self, event: &Event<'_>) {
        self.view.emit(event).unwrap();
    }

    fn asks(&self) {
        self.hears(&Event::Requested { turn: TurnId(1), iteration: 1, model: "mock/one", tools: &[] });
    }

    fn text(&self, text: &str) {
        self.hears(&Event::Delta(&Delta::Text(text.to_owned())));
    }

    fn thinks(&self, text: &str) {
        self.hears(&Event::Delta(&Delta::Reasoning(text.to_owned())));
    }

    fn replied(&self, text: &str) {
        let content = vec![Content::text(text)];
        let (native, response_id) = (None, None);
        let reply = Assistant { turn: TurnId(1), content, native, stop: Stop::End, response_id };
        self.hears(&Event::Appended(&Canister::Assistant(reply)));
    }

    fn asked_for(&self, calls: &[Invocation]) {
        calls.iter().for_each(|call| self.hears(&Event::Appended(&Canister::Invocation(call.clone()))));
    }

    fn says(&self, call: &Invocation, word: ToolProgress) {
        self.hears(&Event::ToolProgress { id: &call.id, word: &word });
    }

    fn finished(&self, call: &Invocation, outcome: Outcome, text: &str, ms: u64) {
        let result = &InvocationResult::new(call.id.clone(), outcome, text);
        self.hears(&Event::Finished { invocation: call, result, elapsed: Duration::from_millis(ms) });
        self.hears(&Event::Appended(&Canister::Result(result.clone())));
    }

    /// Time goes by, and it is shown.
    fn after(&self, ms: u64) {
        self.shown.lock().unwrap().now += Duration::from_millis(ms);
        self.view.tick();
    }

    /// The scrollback and the screen.
    fn rows(&self) -> Vec<String> {
        let mut shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen_mut();
        let (_, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let mut rows = Vec::new();
        for offset in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(offset);
            rows.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, columns));
        while rows.last().is_some_and(|row| row.trim().is_empty()) {
            rows.pop();
        }
        rows.iter().map(|row| row.trim_end().to_owned()).collect()
    }

    #[track_caller]
    fn shows(&self, rows: &[&str]) {
        assert_eq!(self.rows(), rows);
    }

    fn written(&self) -> String {
        self.shown.lock().unwrap().written.clone()
    }

    fn resized(&self, columns: usize) {
        let mut shown = self.shown.lock().unwrap();
        shown.size.columns = columns;
        shown.parser.screen_mut().set_size(24, columns as u16);
    }
}

fn call(number: usize, tool: &str, arguments: &str) -> Invocation {
    Invocation {
        turn: TurnId(1),
        id: InvocationId::of(TurnId(1), number),
        wire_id: None,
        tool: tool.to_owned(),
        arguments: Arguments::parse(arguments),
        seal: None,
    }
}
