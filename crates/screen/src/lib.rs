//! What a terminal shows: text of others made safe, measured and wrapped; Markdown as styled lines; a region that changes
//! in place; and what a page shows of the same text. Pure: strings in, strings out.
//!
//! ```
//! use converse_screen::{Look, markdown};
//!
//! let lines = markdown("# Notes\n\nBuy *milk*.\u{1b}[2J", &Look::plain(40));
//! let text: Vec<String> = lines.iter().map(|line| line.text()).collect();
//! assert!(text.iter().any(|line| line.contains("Buy milk.")));
//! // Control characters in foreign text never reach the terminal.
//! assert!(!text.concat().contains('\u{1b}'));
//! ```

mod highlight;
pub mod html;
mod inert;
mod line;
mod link;
mod live;
mod markdown;
mod table;
mod tone;
mod wrap;

pub use inert::inert;
pub use line::Line;
pub use live::{Live, Size};
pub use markdown::{Stream, markdown};
pub use table::{Align, Cell, Table};
pub use tone::{Style, Tone};
pub use wrap::{broken, wrapped};

/// How lines are laid out and painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// In columns; lines are laid out to be no wider.
    pub width: usize,
    /// Weights and colours; without it not one escape sequence is written for them.
    pub colour: bool,
    /// The background is light.
    pub light: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
    /// Bars, bullets and box drawing; ASCII otherwise. What others wrote stays as it is.
    pub unicode: bool,
}

impl Look {
    /// Neither colours nor links.
    pub fn plain(width: usize) -> Self {
        Self { width, colour: false, light: false, links: false, unicode: true }
    }

    /// As this one, so wide.
    #[must_use]
    pub fn within(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The one of two signs that this look can show.
    pub fn either(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}
