//! The prompt before the line.

use std::borrow::Cow;
use std::sync::Arc;

use converse_text::{shorten, width};
use reedline::{Color, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, PromptViMode};

use crate::Safe;
use crate::above::Above;
use crate::entry::Typing;
use crate::room::{Drawing, make_room};
use crate::terminal;
use crate::tones::Tones;

/// The words before the line: who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    name: String,
}

impl Prompt {
    /// `name` is shortened to a third of the terminal's width, from its last `/` if that helps.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    /// The name with a status behind it, in so many columns; the status is not shortened.
    pub(crate) fn with_status(&self, safe: Safe, status: &str, most: usize) -> String {
        let name = self.shortened(safe, most.saturating_sub(width(status) + usize::from(!status.is_empty())));
        [name.as_str(), status].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// At most `most` characters of it, on one line.
    pub(crate) fn shortened(&self, safe: Safe, most: usize) -> String {
        let name = safe(&self.name).replace(['\n', '\t'], " ");
        if name.chars().count() <= most {
            return name;
        }
        let last = name.rsplit('/').next().unwrap_or_default();
        if last.chars().count() <= most {
            return last.to_owned();
        }
        if most == 0 { String::new() } else { shorten::within_chars(last, most).into_owned() }
    }
}

/// A prompt as it is drawn.
pub(crate) struct Shown {
    pub(crate) prompt: Prompt,
    pub(crate) status: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) ascii: bool,
    pub(crate) safe: Safe,
    pub(crate) typing: Arc<Typing>,
    pub(crate) asks: Arc<dyn Fn() + Send + Sync>,
    /// What comes above the line when it is drawn next.
    pub(crate) above: Above,
    pub(crate) tones: Tones,
}

impl Shown {
    /// Columns that are before the line.
    pub(crate) fn width(&self) -> usize {
        width(&self.name()) + width(SIGN)
    }

    fn name(&self) -> String {
        // Sign and spaces are of the third too.
        let most = (terminal::columns() / 3).saturating_sub(3);
        let mut name = self.prompt.with_status(self.safe, &(self.status)(), most);
        if self.ascii {
            name = name.replace('…', "~");
        }
        if !name.is_empty() {
            name.push(' ');
        }
        name
    }
}

pub(crate) const SIGN: &str = "❯ ";
pub(crate) const SIGN_ASCII: &str = "> ";

impl reedline::Prompt for Shown {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        (self.asks)();
        Cow::Owned(self.name())
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.typing.is_escaped() { "Esc again: back to an earlier message" } else { "" })
    }

    /// The last of what is asked for before the line is drawn, as the sign of a search is.
    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        make_room(self.typing.at_prompt(self.width()), &self.typing, &self.above);
        let is_typing = !matches!(mode, PromptEditMode::Vi(PromptViMode::Normal | PromptViMode::Visual));
        Cow::Borrowed(match (is_typing, self.ascii) {
            (true, false) => SIGN,
            (true, true) => SIGN_ASCII,
            (false, false) => "❮ ",
            (false, true) => ": ",
        })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.ascii { ". " } else { "… " })
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let (what, is_found) = match search.status {
            PromptHistorySearchStatus::Passing => ("search", true),
            PromptHistorySearchStatus::Failing => ("not found", false),
        };
        let sign = format!("({what}: {}) ", (self.safe)(&search.term));
        let found = self.typing.searches(&search.term, is_found);
        make_room(Drawing::of_search(&found, width(&self.name()) + width(&sign)), &self.typing, &self.above);
        Cow::Owned(sign)
    }

    fn get_prompt_color(&self) -> Color {
        self.tones.dim
    }

    fn get_prompt_multiline_color(&self) -> Color {
        self.tones.dim
    }

    fn get_indicator_color(&self) -> Color {
        self.tones.accent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_keeps_to_its_room() {
        for (name, most, shown) in [
            ("anthropic/claude", 20, "anthropic/claude"),
            ("anthropic/claude", 10, "claude"),
            ("anthropic/claude", 4, "cla…"),
            ("anthropic/claude", 1, "…"),
            ("anthropic/claude", 0, ""),
            ("модель", 6, "модель"),
            ("a\nb", 6, "a b"),
        ] {
            assert_eq!(Prompt::new(name).shortened(|text| text.into(), most), shown, "{name} in {most}");
        }
    }

    #[test]
    fn a_status_is_behind_the_name() {
        for (status, most, shown) in [
            ("", 20, "anthropic/claude"),
            ("read-only", 20, "claude read-only"),
            ("read-only", 13, "cl… read-only"),
            ("read-only", 3, "read-only"),
        ] {
            let prompt = Prompt::new("anthropic/claude");
            assert_eq!(prompt.with_status(|text| text.into(), status, most), shown, "{status:?} in {most}");
        }
    }
}
