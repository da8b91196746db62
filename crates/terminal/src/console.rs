//! How a run looks on this terminal.

use std::sync::Arc;

use converse_engine::SinkError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::render::output::{write_json, write_stdout};
use crate::view::TerminalView;
use converse_host::context::RunContext;
use converse_host::model::Model;

/// How loud and how colourful the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputStyle {
    pub quiet: bool,
    /// Nothing but plain lines, one below the other.
    pub plain: bool,
    /// Stdout may be coloured.
    pub colour: bool,
}

/// The context of a run, and how it is shown at the terminal.
#[derive(Debug)]
pub struct Console {
    pub context: RunContext,
    pub style: OutputStyle,
    pub progress: Arc<TerminalView>,
}

impl Console {
    /// Sends the notices of the context to the view.
    pub fn new(mut context: RunContext, style: OutputStyle, progress: Arc<TerminalView>) -> Self {
        context.notices = Arc::clone(&progress) as _;
        Self { context, style, progress }
    }

    pub fn warn(&self, text: &str) {
        self.context.warn(text);
    }

    pub fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        self.context.warn_all(texts);
    }

    pub fn note(&self, text: &str) {
        self.context.note(text);
    }

    /// Says that the understudy answers, if it does.
    pub fn note_understudy(&self, model: &Model) {
        if model.is_understudy() {
            self.note(
                "note: the understudy answers: a keyword router, not a language model; set a key \
                 (ANTHROPIC_API_KEY, OPENAI_API_KEY …) or use -m",
            );
        }
    }

    /// Returns a bar for work on so many items, shown on stderr if that is a terminal. Nothing else may write to the
    /// terminal until the bar is finished.
    pub fn progress_bar(&self, items: usize, what: &'static str) -> ProgressBar {
        let shown = !self.style.quiet && !self.progress.is_plain();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        let bar = ProgressBar::with_draw_target(u64::try_from(items).ok(), target).with_message(what);
        let bar = if let Ok(style) = style { bar.with_style(style) } else { bar };
        bar.tick();
        bar
    }

    /// Writes text to stdout, without secrets.
    pub fn print(&self, text: &str) -> Result<(), SinkError> {
        write_stdout(&self.context.redactor.clean(text))
    }

    /// Writes JSON to stdout, without secrets.
    pub fn print_json(&self, mut value: Value) -> Result<(), SinkError> {
        self.context.redactor.clean_json(&mut value);
        write_json(&value)
    }
}
