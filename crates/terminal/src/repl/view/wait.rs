//! Something that keeps the turn waiting.

use std::time::Instant;

use crate::screen::{Line, Tone};

use super::frame::Frame;
use super::words::so_far;

pub(super) struct Wait {
    pub(super) what: String,
    pub(super) since: Instant,
}

impl Wait {
    pub(super) fn line(&self, frame: &Frame<'_>) -> Line {
        let time = so_far(frame.since(self.since));
        Line::toned(Tone::Accent, frame.spinner(self.since))
            .with(Tone::Plain, &format!(" {} ", self.what))
            .with(Tone::Dim, &time)
    }
}
