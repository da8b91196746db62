//! What a model thinks, dim: as it comes, or of one of several models a reply at a time.

use converse_canister::Assistant;
use converse_provider::has_hidden_thinking;

use super::Progress;
use crate::render::output::write_stderr;
use converse_text::safe;

/// Characters of thinking that are held to be told at once.
const MOST_ALOUD: usize = 64 * 1024;

impl Progress {
    pub(super) fn reason(&self, text: &str) {
        if !self.shows_reasoning() {
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        if self.label.is_some() {
            let room = MOST_ALOUD.saturating_sub(state.aloud.len());
            state.aloud.extend(text.chars().take(room));
            return;
        }
        if let Some(bar) = state.thinking.take() {
            bar.finish_and_clear();
        }
        state.thought |= !text.trim().is_empty();
        let told = state.thoughts.push(text, |word| self.clean(word));
        self.write_thoughts(&told);
    }

    /// A reply has come: thinking that nobody is shown is at least mentioned.
    pub(super) fn replied(&self, assistant: &Assistant) {
        let Ok(mut state) = self.state.lock() else { return };
        if let Some(label) = &self.label {
            let aloud = std::mem::take(&mut state.aloud);
            let told = state.thoughts.push(&aloud, |word| self.clean(word));
            let told = told + &state.thoughts.end(|word| self.clean(word));
            drop(state);
            if !told.trim().is_empty() {
                self.say(format!("{label} thinks:\n{}", self.dimmed(&told)));
            }
            return;
        }
        let thought = std::mem::take(&mut state.thought);
        drop(state);
        let hidden = assistant.native.as_ref().is_some_and(has_hidden_thinking);
        if self.shows_reasoning() && hidden && !thought {
            self.reason("(it thought, and its provider does not show what)");
            self.hush();
            if let Ok(mut state) = self.state.lock() {
                state.thought = false;
            }
        }
    }

    pub(super) fn clean(&self, word: &str) -> String {
        safe(&self.redactor.clean(word)).into_owned()
    }

    /// Dim, line by line: a terminal that is cut off in between is left as it was.
    pub(super) fn write_thoughts(&self, text: &str) {
        if !text.is_empty() {
            write_stderr(&self.dimmed(text));
        }
    }

    fn dimmed(&self, text: &str) -> String {
        let dim = |line: &str| match line.strip_suffix('\n') {
            Some("") => "\n".to_owned(),
            Some(line) => self.painted(line, "2") + "\n",
            None => self.painted(line, "2"),
        };
        text.split_inclusive('\n').map(dim).collect()
    }

    /// Of a reply that is asked for again, what was to be told when it is whole.
    pub(super) fn forget_thoughts(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.aloud.clear();
        }
    }
}
