//! What a terminal can show.

/// How lines are laid out and painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// In columns; lines are laid out to be no wider.
    pub width: usize,
    /// Weights and the terminal's own sixteen colours; without it not one escape sequence is written for them.
    pub colour: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
    /// Bars, bullets and box drawing; ASCII otherwise. What others wrote stays as it is.
    pub unicode: bool,
}

impl Look {
    /// Neither colours nor links.
    pub fn plain(width: usize) -> Self {
        Self { width, colour: false, links: false, unicode: true }
    }

    /// As this one, so wide.
    #[must_use]
    pub fn within(self, width: usize) -> Self {
        Self { width, ..self }
    }

    pub(crate) fn either(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}
