//! Several models at once on one terminal: whose line it is, and no line into a question.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::ProgressDrawTarget;

use super::{Progress, State, short};
use crate::render::output::write_stderr;
use crate::render::thoughts::Thoughts;

impl Progress {
    /// The progress of one of several models, beside that of the others.
    pub fn of_model(&self, id: &str) -> Self {
        let state = State { thoughts: Thoughts::new(self.style.width), ..State::default() };
        Self {
            style: self.style,
            reasoning: AtomicBool::new(self.shows_reasoning()),
            redactor: self.redactor.clone(),
            bars: self.bars.clone(),
            waiting: Arc::clone(&self.waiting),
            terminal_host: Arc::clone(&self.terminal_host),
            floor: Arc::clone(&self.floor),
            label: Some(self.brief(id, 60)),
            state: Mutex::new(state),
        }
    }

    /// One of several models has come to its end.
    pub fn ended(&self, answered: bool, elapsed: Duration) {
        self.hush();
        if let Ok(mut state) = self.state.lock() {
            state.running.drain().for_each(|(_, bar)| bar.finish_and_clear());
        }
        let (mark, colour) = if answered { ("✓", "32") } else { ("✗", "31") };
        let word = if answered { "has answered" } else { "has no answer" };
        self.line(&format!("{} {word} ({})", self.painted(mark, colour), short(elapsed)));
    }

    pub(super) fn labelled(&self, text: &str) -> String {
        self.label.as_ref().map_or_else(|| text.to_owned(), |label| format!("{label}: {text}"))
    }
}

/// As long as it lives nothing is written between a question and its answer.
pub(super) struct Quiet<'a>(&'a Progress);

impl<'a> Quiet<'a> {
    pub(super) fn of(progress: &'a Progress) -> Self {
        if let Ok(mut waiting) = progress.waiting.lock() {
            waiting.get_or_insert_default();
        }
        progress.bars.set_draw_target(ProgressDrawTarget::hidden());
        Self(progress)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        let Self(progress) = self;
        if progress.style.live {
            progress.bars.set_draw_target(ProgressDrawTarget::stderr());
        }
        let waiting = progress.waiting.lock().ok().and_then(|mut waiting| waiting.take());
        waiting.unwrap_or_default().iter().for_each(|line| progress.bars.suspend(|| write_stderr(line)));
    }
}
