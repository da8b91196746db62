//! The view for the rest of the program: notices, questions, and what the run waits for.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use converse_host::context::Notices;
use converse_text::safe;
use converse_text::wording::counted;

use super::style::{Answers, Detail};
use super::view_state::Wait;
use super::{PICTURE, State, TerminalView};

/// Time limit for what reads a line to step aside for a question.
const ASIDE_WITHIN: Duration = Duration::from_secs(2);
/// A wait is shown after this time.
const AFTER: Duration = Duration::from_secs(1);
/// The same where nothing is redrawn and a line stays.
const AFTER_PLAIN: Duration = Duration::from_secs(4);

impl Notices for TerminalView {
    fn show(&self, text: &str) {
        let style = self.style();
        if style.detail == Detail::Nothing {
            return;
        }
        match text.strip_prefix("warning: ") {
            _ if style.answers == Answers::Elsewhere => {
                self.hush();
                let mut state = self.lock();
                state.main.print_plain(&format!("{}\n", safe(text)));
                let _ = Self::show(self, &mut state);
            }
            Some(message) if !message.contains('\n') => {
                let mut state = self.lock();
                state.main.warn(message, &self.frame());
                let _ = Self::show(self, &mut state);
            }
            _ => self.note(text),
        }
    }

    fn connected(&self, ensemble: &str, tools: usize) {
        if self.announces.load(Ordering::Relaxed) {
            self.note(&format!("connected: {ensemble}, {}", counted(tools, "tool")));
        }
    }

    fn hush(&self) {
        Self::hush(self);
    }

    fn waiting<'a>(&'a self, what: &'a str) -> BoxFuture<'a, Infallible> {
        async move {
            sleep(AFTER).await;
            let style = self.style();
            if style.live || style.answers != Answers::Elsewhere {
                let _waiting = Waiting { view: self, number: self.wait_since(what, AFTER) };
                loop {
                    self.tick();
                    sleep(PICTURE).await;
                }
            }
            sleep(AFTER_PLAIN - AFTER).await;
            self.note_wait(what);
            pending().await
        }
        .boxed()
    }
}

/// Shows a wait as long as it lives.
struct Waiting<'a> {
    view: &'a TerminalView,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.view.waited(self.number);
    }
}

impl TerminalView {
    /// Ends the thoughts and removes the region, because the answer or something else is about to be written. Where the
    /// view has the answers too it does nothing.
    pub fn hush(&self) {
        if self.style().answers != Answers::Elsewhere {
            return;
        }
        let mut state = self.lock();
        let frame = self.frame();
        state.all().for_each(|view| view.end_reply(&frame));
        self.clear(&mut state);
    }

    /// Writes what is final and removes the region.
    fn clear(&self, state: &mut State) {
        if state.away > 0 {
            return;
        }
        let _ = self.show(state);
        let bytes = state.live.leave();
        let _ = self.write(state, &bytes);
    }

    /// Waits until no other question is open.
    pub(crate) async fn floor(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.floor.lock().await
    }

    /// Runs something that writes to the terminal itself; nothing is painted meanwhile.
    pub(crate) async fn suspended<T, F: Future<Output = T>>(&self, talk: impl FnOnce() -> F) -> T {
        self.keys_end().await;
        // What reads a line steps aside until the answer is there.
        let handover = self.lock().reader.as_ref().map(|reader| reader.handover.clone());
        let _aside = match handover {
            Some(handover) => spawn_blocking(move || handover.ask(ASIDE_WITHIN)).await.ok().flatten(),
            None => None,
        };
        self.leave();
        self.call_to_question();
        let mut away = Away { view: self, ended: false };
        let said = talk().await;
        away.ended = true;
        self.acted();
        said
    }

    /// Frees the terminal for other output.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        if state.away == 0 {
            self.clear(&mut state);
            // A question begins with an empty line: it gets the one that is there.
            if state.in_turn && std::mem::take(&mut state.main.blank) {
                let _ = self.output().surface.write("\x1b[A");
            }
            state.main.end_line();
            let end = state.main.take_plain();
            let end = if std::mem::take(&mut state.line_open) { format!("\n{end}") } else { end };
            let _ = self.write(&mut state, &end);
            self.modes.set_cursor_hidden(false);
            self.free_echo();
            self.keep_typed(&state);
        }
        state.away += 1;
    }

    /// Takes the terminal back. `mid_line`: the cursor may be in the middle of a line.
    pub(crate) fn come_back(&self, mid_line: bool) {
        let mut state = self.lock();
        state.away = state.away.saturating_sub(1);
        if state.away > 0 {
            return;
        }
        if mid_line {
            let _ = self.output().surface.write("\r\n");
        }
        self.hold_echo(&state);
        let _ = self.show(&mut state);
    }

    /// Shows that something keeps the user waiting, until [`TerminalView::waited`] gets the number.
    pub(crate) fn wait_for(&self, what: &str) -> u64 {
        self.wait_since(what, Duration::ZERO)
    }

    /// The same for a wait that is `already` so old.
    fn wait_since(&self, what: &str, already: Duration) -> u64 {
        let mut state = self.lock();
        let frame = self.frame();
        state.next_wait += 1;
        let number = state.next_wait;
        let what = format!("{} {}", frame.brief(what, 80), frame.signs().more);
        state.waits.push((number, Wait { what, since: frame.now.checked_sub(already).unwrap_or(frame.now) }));
        let _ = self.show(&mut state);
        number
    }

    /// Says once that something is waited for.
    fn note_wait(&self, what: &str) {
        let mut state = self.lock();
        let frame = self.frame();
        let (what, more) = (frame.brief(what, 80), frame.signs().more);
        state.main.note(&format!("{what} {more} {} s", AFTER_PLAIN.as_secs()), Detail::Activity, &frame);
        let _ = self.show(&mut state);
    }

    pub(crate) fn waited(&self, number: u64) {
        let mut state = self.lock();
        state.waits.retain(|(other, _)| *other != number);
        let _ = self.show(&mut state);
    }
}

/// As long as it lives, something else writes to the terminal.
struct Away<'a> {
    view: &'a TerminalView,
    /// It was not cancelled.
    ended: bool,
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.view.come_back(!self.ended);
    }
}
