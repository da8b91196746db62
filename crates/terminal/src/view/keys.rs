//! The keyboard while a turn runs: what is typed is shown below the answer, and is for the next prompts.

use converse_editor::{Draft, Meaning};
use converse_ensemble::{Mode, ModeSwitch};
use converse_screen::{Line, Tone};
use converse_text::shorten::{end_within_columns, within_columns};
use converse_text::{safe_line, width};

use super::frame::Frame;
use super::{State, TerminalView};

/// Messages that wait and are shown.
const MOST_SENT: usize = 3;
const SENT_SHOWN: usize = 200;

impl TerminalView {
    /// What the next prompt begins with: messages that were sent while a turn ran, then the line that was not.
    pub(crate) fn next_draft(&self) -> Option<Draft> {
        self.switch_mode();
        let next = self.modes.typed().take_next();
        self.lock().was_sent_ahead = next.as_ref().is_some_and(|next| next.is_sent);
        next
    }

    /// From now on Shift-Tab switches this mode, also while a turn runs.
    pub(crate) fn switches(&self, mode: &ModeSwitch) {
        let _ = self.mode.set(mode.clone());
    }

    /// What is typed while a turn runs means this from now on.
    pub(crate) fn keys_mean(&self, meaning: Meaning) {
        self.modes.typed().follows(meaning);
    }

    /// Does what Shift-Tab was pressed for.
    pub(super) fn switch_mode(&self) {
        let presses = self.modes.typed().take_switches();
        let Some(mode) = self.mode.get().filter(|_| presses > 0) else { return };
        (0..presses % Mode::WORDS.len()).for_each(|_| mode.switch());
        self.note(&mode_note(mode));
    }

    /// Says why a message could not be sent to the turn that runs.
    pub(super) fn tell_refusal(&self) {
        let refusal = self.modes.typed().take_refusal();
        if let Some(why) = refusal {
            self.note(&format!("queued, and not sent to the running turn: {why}"));
        }
    }

    /// Returns the next words for the turn that runs.
    pub(crate) fn take_steering(&self) -> Option<String> {
        self.modes.typed().take_steering()
    }

    /// Waits until Esc is pressed in a turn.
    pub(crate) async fn escaped(&self) {
        let escape = self.turn.lock().escape.clone();
        escape.cancelled().await;
    }

    /// Waits until the terminal cannot be written to in a turn.
    pub(crate) async fn lost(&self) {
        let loss = self.turn.lock().loss.clone();
        loss.cancelled().await;
    }

    /// The last rows of a turn: what was typed, or what a key would do.
    pub(super) fn keys_rows(&self, state: &State, frame: &Frame<'_>) -> Vec<Line> {
        if !self.modes.holds_echo() {
            return Vec::new();
        }
        let typed = self.modes.typed();
        let queued = |(steers, text)| match (steers, text) {
            (_, "") => Line::toned(Tone::Dim, "queued: the end of the program"),
            (true, text) => Line::toned(Tone::Dim, &format!("steers: {}", frame.brief(text, SENT_SHOWN))),
            (false, text) => Line::toned(Tone::Dim, &format!("queued: {}", frame.brief(text, SENT_SHOWN))),
        };
        let mut rows: Vec<Line> = typed.queued().take(MOST_SENT).map(queued).collect();
        let mode = self.mode.get().map_or("", status);
        if typed.is_pasting() {
            rows.push(Line::toned(Tone::Dim, "a paste is coming in"));
            return rows;
        }
        let line = typed.line();
        let is_typed = line != ("", "");
        rows.extend(is_typed.then(|| typed_row(line, frame)));
        let edits = if !is_typed && typed.queued().next().is_some() { "↑ edits" } else { "" };
        let may_steer = is_typed || typed.queued().any(|(steers, _)| !steers);
        let steers = if may_steer { "ctrl-s steers" } else { "" };
        rows.extend(state.in_turn.then(|| hints(&["esc interrupts", edits, steers, mode], frame)));
        rows
    }
}

/// What keys do, as far as there is room.
pub(super) fn hints(hints: &[&str], frame: &Frame<'_>) -> Line {
    let mut row = String::new();
    for hint in hints.iter().filter(|hint| !hint.is_empty()) {
        let longer = match row.as_str() {
            "" => (*hint).to_owned(),
            row => format!("{row} · {hint}"),
        };
        let longer = frame.style.spelt(&longer);
        if row.is_empty() || width(&longer) <= frame.look.width {
            row = longer;
        }
    }
    Line::toned(Tone::Dim, &row)
}

/// The line that is typed, in one row, with its cursor.
pub(super) fn typed_row((before, behind): (&str, &str), frame: &Frame<'_>) -> Line {
    let signs = frame.signs();
    let room = frame.look.width.saturating_sub(width(signs.prompt) + width(signs.cursor) + 1);
    let behind = safe_line(start_of(behind, room), usize::MAX);
    let before = end_of(before, room.saturating_sub(width(&behind).min(room / 3)));
    let behind = within_columns(&behind, room.saturating_sub(width(&before)), "");
    let typed = Line::toned(Tone::Dim, signs.prompt).with(Tone::Plain, &before);
    typed.with(Tone::Accent, signs.cursor).with(Tone::Plain, &behind)
}

/// The mode for a prompt; empty for the usual one.
pub(crate) fn status(mode: &ModeSwitch) -> &'static str {
    match mode.mode() {
        Mode::Ask => "",
        mode => mode.as_str(),
    }
}

/// Says which mode counts from now on.
pub(crate) fn mode_note(mode: &ModeSwitch) -> String {
    let what = match (mode.mode(), mode.without_effect()) {
        (Mode::Ask, _) => "the rules decide".to_owned(),
        (Mode::ReadOnly, _) => "tools that do more than read are refused".to_owned(),
        (Mode::AcceptEdits, None) => "edits of files in the project run without a question".to_owned(),
        (Mode::AcceptEdits, Some(why)) => format!("no effect here, because {why}"),
    };
    format!("mode {}: {what}", mode.mode().as_str())
}

/// The first characters of a text, as many as columns.
fn start_of(text: &str, columns: usize) -> &str {
    let end = text.char_indices().nth(columns).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The end of a text, in one line of so many columns.
pub(crate) fn end_of(text: &str, columns: usize) -> String {
    let from = text.char_indices().rev().nth(columns).map_or(0, |(at, _)| at);
    let text = safe_line(text.get(from..).unwrap_or_default(), usize::MAX);
    end_within_columns(&text, columns, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_line_fits() {
        for (text, columns, shown) in [
            ("short", 10, "short"),
            ("a long line", 4, "line"),
            ("日本語", 5, "本語"),
            ("one\ntwo", 20, "one\\ntwo"),
            ("a\u{1b}[2J", 20, "a\\x1b[2J"),
        ] {
            assert_eq!(end_of(text, columns), shown, "{text:?}");
        }
    }
}
