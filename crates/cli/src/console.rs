//! How a run looks on this terminal.

use std::sync::Arc;

use crate::context::RunContext;
use crate::render::progress::Progress;

/// How loud and how colourful the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputStyle {
    pub(crate) quiet: bool,
    /// Nothing but plain lines, one below the other.
    pub(crate) plain: bool,
    /// Stdout may be coloured.
    pub(crate) colour: bool,
}

/// The context of a run, and how it is shown at the terminal.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) context: RunContext,
    pub(crate) style: OutputStyle,
    pub(crate) progress: Arc<Progress>,
}

impl Console {
    /// Notices of the context go to the progress from now on.
    pub(crate) fn new(mut context: RunContext, style: OutputStyle, progress: Arc<Progress>) -> Self {
        context.notices = Arc::clone(&progress) as _;
        Self { context, style, progress }
    }

    pub(crate) fn warn(&self, text: &str) {
        self.context.warn(text);
    }

    pub(crate) fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        self.context.warn_all(texts);
    }

    pub(crate) fn note(&self, text: &str) {
        self.context.note(text);
    }
}
