//! What Tab offers.

use std::sync::Arc;

use reedline::{
    Color, ColumnarMenu, Completer, CompletionResult, Editor, Menu, MenuBuilder as _, MenuEvent,
    MenuSettings, Painter, ReedlineMenu, Span, Suggestion,
};

use crate::Safe;
use crate::complete::{self, Complete};
use crate::prompt::{SIGN, SIGN_ASCII};
use crate::tones::Tones;

pub(crate) const MENU: &str = "completions";

/// A menu is for looking at.
const MOST: usize = 500;

pub(crate) fn menu(ascii: bool, colour: bool, tones: Tones) -> ReedlineMenu {
    let menu = ColumnarMenu::default().with_name(MENU).with_marker(if ascii { SIGN_ASCII } else { SIGN });
    let menu = match colour {
        true => menu
            .with_text_style(Color::Default.normal())
            .with_match_text_style(Color::Default.normal())
            .with_selected_text_style(tones.accent.reverse())
            .with_selected_match_text_style(tones.accent.reverse())
            .with_description_text_style(tones.dim.normal()),
        false => menu,
    };
    ReedlineMenu::EngineCompleter(Box::new(Quiet(menu)))
}

/// Says nothing where there is nothing to offer; the menu's own words for that are not ours.
struct Quiet(ColumnarMenu);

/// Passes methods on to the inner menu.
macro_rules! delegate {
    ($(fn $name:ident(&self $(, $argument:ident: $kind:ty)*) $(-> $output:ty)?;)*) => {
        $(fn $name(&self $(, $argument: $kind)*) $(-> $output)? { self.0.$name($($argument),*) })*
    };
    ($(fn $name:ident(&mut self $(, $argument:ident: $kind:ty)*) $(-> $output:ty)?;)*) => {
        $(fn $name(&mut self $(, $argument: $kind)*) $(-> $output)? { self.0.$name($($argument),*) })*
    };
}

impl Menu for Quiet {
    delegate! {
        fn settings(&self) -> &MenuSettings;
        fn is_active(&self) -> bool;
        fn can_quick_complete(&self) -> bool;
        fn replace_in_buffer(&self, editor: &mut Editor);
        fn menu_required_lines(&self, terminal_columns: u16) -> u16;
        fn min_rows(&self) -> u16;
        fn get_values(&self) -> &[Suggestion];
        fn results_are_provisional(&self) -> bool;
        fn is_awaiting_first_answer(&self) -> bool;
    }
    delegate! {
        fn set_active(&mut self, active: bool);
        fn clear_input(&mut self);
        fn on_activate(&mut self);
        fn on_deactivate(&mut self);
        fn menu_event(&mut self, event: MenuEvent);
        fn can_partially_complete(&mut self, updated: bool, editor: &mut Editor, completer: &mut dyn Completer) -> bool;
        fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer);
        fn reset_position(&mut self);
        fn update_working_details(&mut self, editor: &mut Editor, completer: &mut dyn Completer, painter: &Painter);
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        match self.0.get_values().is_empty() {
            true => String::new(),
            false => self.0.menu_string(available_lines, use_ansi_coloring),
        }
    }
}

pub(crate) struct Offers {
    pub(crate) complete: Arc<dyn Complete>,
    pub(crate) safe: Safe,
}

impl Offers {
    /// Those of them that can be shown and taken.
    pub(crate) fn of(&self, line: &str, found: Vec<complete::Suggestion>) -> Vec<Suggestion> {
        found.into_iter().filter_map(|found| self.offer(line, found)).take(MOST).collect()
    }

    /// `None` for what would not be what it looks like, or does not fit the line.
    fn offer(&self, line: &str, found: complete::Suggestion) -> Option<Suggestion> {
        let is_plain = !found.value.contains(['\n', '\t']) && (self.safe)(&found.value) == found.value;
        let fits = line.get(found.from..found.to).is_some();
        if !is_plain || !fits {
            return None;
        }
        let about = (self.safe)(&found.about).replace(['\n', '\t'], " ");
        Some(Suggestion {
            description: Some(about).filter(|about| !about.is_empty()),
            span: Span::new(found.from, found.to),
            append_whitespace: found.space,
            value: found.value,
            ..Suggestion::default()
        })
    }
}

impl Completer for Offers {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        let found = if line.is_char_boundary(at) { self.complete.complete(line, at) } else { Vec::new() };
        CompletionResult::fresh(self.of(line, found))
    }
}
