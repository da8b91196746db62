//! Several models that are asked at once: one view, and a label before the lines of each.

use std::sync::Arc;
use std::time::Duration;

use converse_engine::{Event, Sink, SinkError};

use super::TerminalView;
use super::view_state::ViewState;
use super::words::took;
use converse_screen::{Line, Tone};

/// The view of one of several models.
pub struct ModelView {
    view: Arc<TerminalView>,
    index: usize,
}

converse_host::opaque_debug!(ModelView);

impl ModelView {
    /// Adds a model to the view.
    pub fn new(view: &Arc<TerminalView>, id: &str) -> Self {
        let mut state = view.lock();
        let label = view.frame().brief(id, 60);
        state.models.push(ViewState::of_model(label));
        Self { view: Arc::clone(view), index: state.models.len() - 1 }
    }

    /// Shows that the turn of this model has ended.
    pub fn ended(&self, answered: bool, elapsed: Duration) {
        let mut state = self.view.lock();
        let frame = self.view.frame();
        let (mark, tone, word) = match answered {
            true => (frame.signs().done, Tone::Ok, "has answered"),
            false => (frame.signs().failed, Tone::Error, "has no answer"),
        };
        let line = Line::toned(tone, mark).with(Tone::Plain, &format!(" {word} ({})", took(elapsed)));
        let own = state.of(Some(self.index));
        own.end_reply(&frame);
        own.calls = Default::default();
        own.tell(vec![line], &frame);
        let _ = self.view.show(&mut state);
    }
}

impl Sink for ModelView {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        self.view.hear(Some(self.index), event)
    }
}
