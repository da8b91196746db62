//! The view among others that use the same terminal: what they say stands above what moves, and while they talk with
//! somebody nothing moves at all.

use super::wait::Wait;
use super::{State, TerminalView, echo};
use crate::render::progress::TerminalHost;

impl TerminalView {
    /// What is final is written before it goes.
    fn go(&self, state: &mut State) {
        let _ = self.show(state);
        let bytes = state.view_state.live.leave();
        if !bytes.is_empty() {
            let _ = self.surface.write(&bytes);
        }
        // Whoever asks begins with an empty line: they get the one that is there.
        if state.in_turn && std::mem::take(&mut state.view_state.blank) {
            let _ = self.surface.write("\x1b[A");
        }
        state.view_state.end_line();
        let _ = self.show_plain(state);
        echo::note_cursor(false);
        self.free_echo(state);
    }

    fn show_plain(&self, state: &mut State) -> Result<(), converse_engine::SinkError> {
        let text = state.view_state.take_plain();
        if text.is_empty() { Ok(()) } else { self.surface.write(&text) }
    }
}

impl TerminalHost for TerminalView {
    fn say(&self, text: &str) {
        match text.strip_prefix("warning: ") {
            Some(message) if !message.contains('\n') => self.warn(message),
            _ => self.note(text),
        }
    }

    fn leave(&self) {
        let mut state = self.lock();
        if state.away == 0 {
            self.go(&mut state);
        }
        state.away += 1;
    }

    fn come_back(&self, mid_line: bool) {
        let mut state = self.lock();
        state.away = state.away.saturating_sub(1);
        if state.away > 0 {
            return;
        }
        if mid_line {
            let _ = self.surface.write("\r\n");
        }
        self.hold_echo(&mut state);
        let _ = self.show(&mut state);
    }

    fn wait_for(&self, what: &str) -> u64 {
        let mut state = self.lock();
        let frame = self.frame();
        state.waits += 1;
        let number = state.waits;
        let what = format!("{} {}", frame.brief(what, 80), frame.signs().more);
        state.view_state.waits.push((number, Wait { what, since: frame.now }));
        let _ = self.show(&mut state);
        number
    }

    fn waited(&self, number: u64) {
        let mut state = self.lock();
        state.view_state.waits.retain(|(other, _)| *other != number);
        let _ = self.show(&mut state);
    }
}
