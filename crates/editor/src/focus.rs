//! Whether the person looks at the terminal, and the escape sequences that call somebody who does not. It does no I/O.

use std::time::{Duration, Instant};

/// The terminal reports from now on when it gains or loses the focus.
pub const FOCUS_REPORTED: &str = "\x1b[?1004h";
/// Ends the reports. A reader that takes keys as text must not get them.
pub const FOCUS_UNREPORTED: &str = "\x1b[?1004l";
/// What the terminal sends.
pub(crate) const FOCUS_GAINED: &str = "\x1b[I";
pub(crate) const FOCUS_LOST: &str = "\x1b[O";
/// Restores the title from before [`titled`].
pub const TITLE_RESTORED: &str = "\x1b[23;2t";

/// Where the terminal does not report its focus, a person is expected to look elsewhere after this time without a key.
const LONG: Duration = Duration::from_secs(10);
/// Characters of a notification or a title.
const LONGEST: usize = 120;

/// What is known of the focus of the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Focus {
    /// What the terminal reported last; `None` if it reported nothing yet.
    reported: Option<bool>,
    /// When the person did something last.
    acted: Option<Instant>,
}

impl Focus {
    /// The terminal reported that it has the focus, or lost it.
    pub(crate) fn reports(&mut self, focused: bool) {
        self.reported = Some(focused);
    }

    /// A key was pressed or something was answered: the person is there.
    pub fn acts(&mut self, now: Instant) {
        self.reported = self.reported.map(|_| true);
        self.acted = Some(now);
    }

    /// Returns whether the person is expected to look elsewhere.
    pub fn is_elsewhere(&self, now: Instant) -> bool {
        let is_long = || self.acted.is_some_and(|acted| now.saturating_duration_since(acted) > LONG);
        self.reported.map_or_else(is_long, |focused| !focused)
    }
}

/// Returns an answer without reports of the focus that came late.
pub fn without_reports(answer: &str) -> String {
    answer.replace(FOCUS_GAINED, "").replace(FOCUS_LOST, "")
}

/// The bell, and a notification (OSC 9). Control characters are left out.
pub fn notification(text: &str) -> String {
    format!("\x07\x1b]9;{}\x07", harmless(text))
}

/// Keeps the title of the terminal and sets another one. Control characters are left out.
pub fn titled(title: &str) -> String {
    format!("\x1b[22;2t\x1b]2;{}\x07", harmless(title))
}

fn harmless(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_elsewhere_by_report_or_after_a_long_time() {
        let began = Instant::now();
        let (soon, late) = (began + LONG, began + LONG + Duration::from_millis(1));
        let mut focus = Focus::default();
        assert!(!focus.is_elsewhere(late), "nothing is known");
        focus.acts(began);
        assert!(!focus.is_elsewhere(soon) && focus.is_elsewhere(late));
        focus.reports(true);
        assert!(!focus.is_elsewhere(late), "the terminal says so");
        focus.reports(false);
        assert!(focus.is_elsewhere(began));
        focus.acts(late);
        assert!(!focus.is_elsewhere(late + LONG + LONG), "a key comes from a terminal with the focus");
    }

    #[test]
    fn text_cannot_end_its_sequence() {
        assert_eq!(notification("a\x07\x1b\\b\u{9c}\nc"), "\x07\x1b]9;a\\bc\x07");
        assert_eq!(titled("日本\x1b]0;x\x07"), "\x1b[22;2t\x1b]2;日本]0;x\x07");
        assert_eq!(notification(&"x".repeat(9000)).len(), LONGEST + 6);
    }
}
