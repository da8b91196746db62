//! The answer as text on stdout, and nothing else there.

use std::sync::{Arc, Mutex};

use converse_canister::Canister;
use converse_engine::{Event, Sink, SinkError};
use converse_provider::Delta;

use crate::render::output::{printable, write_stdout};
use crate::render::{End, Renderer, lock_state};
use crate::view::TerminalView;
use converse_text::safe;

pub struct TextRenderer {
    view: Arc<TerminalView>,
    /// Stdout is a terminal, where what was shown can be called void.
    terminal: bool,
    /// Stderr is a terminal as well; the view there ends a line that is open.
    shared: bool,
    /// The answer is checked against a schema first, and only then written.
    checked: bool,
    state: Mutex<State>,
}

converse_host::opaque_debug!(TextRenderer);

#[derive(Default)]
struct State {
    /// Some of the current reply is shown.
    shown: bool,
    /// The last text did not end its line.
    open_line: bool,
    /// An earlier reply was shown, so a blank line comes before the next one.
    earlier: bool,
    /// Newlines that wait for text after them: an answer does not end in blank lines.
    held: String,
}

impl TextRenderer {
    /// `stdout` and `stderr` say whether these are terminals.
    pub fn new(view: Arc<TerminalView>, stdout: bool, stderr: bool, checked: bool) -> Self {
        Self { view, terminal: stdout, shared: stdout && stderr, checked, state: Mutex::default() }
    }

    /// Returns whether nothing is written before it is final.
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut State) -> Result<T, SinkError>) -> Result<T, SinkError> {
        let mut state = lock_state(&self.state)?;
        act(&mut state)
    }

    fn opened(&self, open: bool) {
        if self.shared {
            self.view.set_line_open(open);
        }
    }

    /// The view may have ended the line meanwhile.
    fn is_open(&self, state: &State) -> bool {
        state.open_line && (!self.shared || self.view.is_line_open())
    }

    fn words(&self, text: &str) -> Result<(), SinkError> {
        self.view.hush();
        let terminal = self.terminal;
        self.with_state(|state| {
            let mut text = std::mem::take(&mut state.held) + text;
            let end = text.trim_end_matches(['\n', '\r']).len();
            state.held = text.split_off(end);
            if !state.shown {
                text = text.trim_start_matches(['\n', '\r']).to_owned();
            }
            if text.is_empty() {
                return Ok(());
            }
            if !state.shown && state.earlier {
                text.insert_str(0, if self.is_open(state) { "\n\n" } else { "\n" });
            }
            state.shown = true;
            state.open_line = true;
            // A pipe gets the very answer; a terminal must not be acted upon by it.
            if terminal { write_stdout(&safe(&text)) } else { write_stdout(&text) }?;
            self.opened(true);
            Ok(())
        })
    }

    fn end_reply(&self) -> Result<(), SinkError> {
        self.with_state(|state| {
            state.earlier |= state.shown;
            state.shown = false;
            state.held.clear();
            Ok(())
        })
    }

    fn take_back(&self) -> Result<(), SinkError> {
        self.with_state(|state| {
            let void = state.shown;
            self.opened(false);
            *state = State { earlier: state.earlier, ..State::default() };
            if void && self.terminal { write_stdout("\n[stream cut, asking again]\n") } else { Ok(()) }
        })
    }
}

impl Sink for TextRenderer {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Delta(Delta::Text(_)) if self.checked => Ok(()),
            Event::Delta(Delta::Text(text)) => self.words(text),
            Event::Answered(value) => {
                self.view.hush();
                write_stdout(&(printable(&value.to_string()) + "\n"))
            }
            Event::Restarted(restart) if restart.discard => self.take_back(),
            Event::Appended(Canister::Assistant(_)) => self.end_reply(),
            _ => Ok(()),
        }
    }
}

impl Renderer for TextRenderer {
    fn finish(&self, _: End<'_>) -> Result<(), SinkError> {
        self.view.hush();
        self.with_state(|state| {
            let open = self.is_open(state);
            state.open_line = false;
            self.opened(false);
            if open { write_stdout("\n") } else { Ok(()) }
        })
    }
}
