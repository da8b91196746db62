//! The list that opens of itself while a word is typed, such as `@src`: what is found for it, best first.
//!
//! The keys open it and end it (`keys.rs`); it closes where nothing is found. What is looked for may take time: until it
//! is there, the list of before stays.

use std::time::Duration;

use converse_text::shorten::end_within_columns;
use reedline::{
    Color, Completer, Editor, Menu, MenuEvent, MenuSettings, Painter, ReedlineMenu, Span, Suggestion,
    menu_functions,
};

use crate::menu::Offers;
use crate::prompt::{SIGN, SIGN_ASCII};
use crate::room::Drawing;

pub(crate) const FINDER: &str = "finder";

/// How long a key waits for what is found before the line is drawn without it.
const AT_A_KEY: Duration = Duration::from_millis(1);
/// How long it is waited for where the best is to be taken.
const AT_CHOICE: Duration = Duration::from_millis(200);
const MOST_ROWS: usize = 10;
/// Of the screen's columns, those that a prompt has at most.
const PROMPT_PART: usize = 3;
/// Shown before the first is found.
const LOOKING: &str = "reading the names of files";

pub(crate) struct Finder {
    settings: MenuSettings,
    offers: Offers,
    ascii: bool,
    is_active: bool,
    /// It was opened, and nothing was looked for yet.
    is_new: bool,
    /// The line up to the cursor that `found` is for.
    line: String,
    found: Vec<Suggestion>,
    /// What is found is for an earlier line, or nothing is found yet.
    is_late: bool,
    selected: usize,
    rows: usize,
    columns: usize,
}

impl Finder {
    pub(crate) fn menu(offers: Offers, ascii: bool) -> ReedlineMenu {
        let settings = MenuSettings::default().with_name(FINDER);
        let settings = settings.with_marker(if ascii { SIGN_ASCII } else { SIGN });
        // It asks nobody but its own offers. As another kind it would ask the terminal at each key where the cursor is.
        ReedlineMenu::HistoryMenu(Box::new(Self {
            settings,
            offers,
            ascii,
            is_active: false,
            is_new: false,
            line: String::new(),
            found: Vec::new(),
            is_late: false,
            selected: 0,
            rows: 0,
            columns: 0,
        }))
    }

    fn looks(&mut self, editor: &Editor, within: Duration) {
        let line = before_cursor(editor);
        if line != self.line {
            if !line.starts_with(&self.line) && !self.line.starts_with(&line) {
                self.found.clear();
            }
            (self.line, self.selected, self.is_late) = (line, 0, true);
        }
        let Some(found) = self.offers.complete.find(&self.line, self.line.len(), within) else { return };
        let found = self.offers.of(&self.line, found);
        let chosen = self.found.get(self.selected).filter(|_| !self.is_late).map(|one| one.value.clone());
        self.selected = found.iter().position(|one| Some(&one.value) == chosen.as_ref()).unwrap_or(0);
        (self.found, self.is_late) = (found, false);
        self.is_active &= !self.found.is_empty();
    }

    /// What would be taken for this line.
    fn choice(&self, line: &str) -> Option<Suggestion> {
        if line == self.line && !self.is_late {
            return self.found.get(self.selected).cloned();
        }
        let found = self.offers.complete.find(line, line.len(), AT_CHOICE)?;
        self.offers.of(line, found).into_iter().next()
    }

    fn moves(&mut self, by: isize) {
        if let Ok(count) = isize::try_from(self.found.len())
            && let Ok(selected) = isize::try_from(self.selected)
            && count > 0
        {
            self.selected = usize::try_from((selected + by).rem_euclid(count)).unwrap_or_default();
        }
    }

    fn shown_rows(&self) -> usize {
        self.found.len().max(1).min(self.rows)
    }

    fn row(&self, name: &str, is_selected: bool, colour: bool) -> String {
        let room = self.columns.saturating_sub(3);
        // The end of a path says more than its beginning.
        let name = end_within_columns(name, room, if self.ascii { "~" } else { "…" });
        match (is_selected, colour) {
            (true, true) => format!("  {}", Color::Cyan.reverse().paint(name)),
            (true, false) => format!("> {name}"),
            (false, _) => format!("  {name}"),
        }
    }
}

fn before_cursor(editor: &Editor) -> String {
    let line = editor.line_buffer();
    line.get_buffer().get(..line.insertion_point()).unwrap_or_default().to_owned()
}

impl Menu for Finder {
    fn settings(&self) -> &MenuSettings {
        &self.settings
    }

    fn is_active(&self) -> bool {
        self.is_active
    }

    fn set_active(&mut self, active: bool) {
        self.is_active = active;
    }

    fn clear_input(&mut self) {}

    fn menu_event(&mut self, event: MenuEvent) {
        match event {
            MenuEvent::Activate(_) => (self.is_active, self.is_new) = (true, true),
            // The cursor leaves the end of the word.
            MenuEvent::Deactivate | MenuEvent::MoveLeft | MenuEvent::MoveRight => self.is_active = false,
            MenuEvent::MoveUp | MenuEvent::PreviousElement => self.moves(-1),
            MenuEvent::MoveDown => self.moves(1),
            // Tab takes: see `can_partially_complete`.
            MenuEvent::NextElement | MenuEvent::Edit(_) | MenuEvent::NextPage | MenuEvent::PreviousPage => {}
        }
    }

    fn can_quick_complete(&self) -> bool {
        false
    }

    /// Called when it opens, and then for the key that goes to the next one.
    fn can_partially_complete(&mut self, _: bool, editor: &mut Editor, _: &mut dyn Completer) -> bool {
        if std::mem::take(&mut self.is_new) {
            self.looks(editor, AT_A_KEY);
        } else {
            self.replace_in_buffer(editor);
            self.is_active = false;
        }
        false
    }

    fn update_values(&mut self, editor: &mut Editor, _: &mut dyn Completer) {
        self.looks(editor, Duration::ZERO);
    }

    fn reset_position(&mut self) {
        self.selected = 0;
    }

    /// Called before it is drawn, also when something was found since.
    fn update_working_details(&mut self, editor: &mut Editor, _: &mut dyn Completer, painter: &Painter) {
        self.looks(editor, Duration::ZERO);
        self.columns = usize::from(painter.screen_width());
        let line = editor.get_buffer();
        let entry = Drawing {
            columns: self.columns,
            rows: usize::from(painter.screen_height()),
            ..Drawing::at_prompt(line, line.len(), self.columns / PROMPT_PART)
        };
        self.rows = entry.rows_below().min(MOST_ROWS);
        self.is_active &= self.rows > 0;
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        menu_functions::replace_in_buffer(self.choice(&before_cursor(editor)), editor, None);
    }

    fn menu_required_lines(&self, _: u16) -> u16 {
        u16::try_from(self.shown_rows()).unwrap_or(u16::MAX)
    }

    fn min_rows(&self) -> u16 {
        self.menu_required_lines(0)
    }

    /// As long as something is looked for, Enter does not send.
    fn get_values(&self) -> &[Suggestion] {
        const WAITING: &[Suggestion] = &[Suggestion {
            value: String::new(),
            display_override: None,
            description: None,
            style: None,
            extra: None,
            span: Span { start: 0, end: 0 },
            append_whitespace: false,
            match_indices: None,
        }];
        if self.found.is_empty() { WAITING } else { &self.found }
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        let most = self.shown_rows().min(usize::from(available_lines));
        if self.found.is_empty() {
            return self.row(LOOKING, false, use_ansi_coloring);
        }
        let skipped = (self.selected + 1).saturating_sub(most);
        let rows = self.found.iter().enumerate().skip(skipped).take(most);
        let rows = rows.map(|(at, one)| self.row(&one.value, at == self.selected, use_ansi_coloring));
        rows.collect::<Vec<_>>().join("\r\n")
    }
}
