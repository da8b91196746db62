//! Keys, and the guard at the only way into the line.

use std::sync::Arc;

use crossterm::event::Event;
use reedline::{
    EditCommand, EditMode, Emacs, KeyCode, KeyModifiers, Keybindings, PromptEditMode, ReedlineEvent,
    ReedlineRawEvent, Vi, default_emacs_keybindings, default_vi_insert_keybindings,
    default_vi_normal_keybindings, default_vi_visual_keybindings,
};

use crate::Setup;
use crate::background::LateReply;
use crate::complete::Nature;
use crate::entry::{Typing, shown};
use crate::finder::FINDER;
use crate::highlight::marks;
use crate::menu::MENU;

/// What the editor is asked to do that reedline does not.
pub(crate) const EDIT: &str = "edit";
pub(crate) const SUSPEND: &str = "suspend";
pub(crate) const BACK: &str = "back";
pub(crate) const SWITCH: &str = "switch";
pub(crate) const PICTURE: &str = "picture";
/// The first half of Ctrl-X Ctrl-E; never leaves this module.
const CHORD: &str = "chord";

/// Keys of emacs or vi with ours over them; what they put into the line is made harmless.
pub(crate) struct Guarded {
    inner: Box<dyn EditMode>,
    setup: Arc<Setup>,
    typing: Arc<Typing>,
    is_chord: bool,
    late: LateReply,
    /// The line is known to which a key comes.
    is_known: bool,
    /// Of the terminal, as it was said last.
    size: (u16, u16),
    word: Word,
    /// The history may be searched.
    searches: bool,
}

/// The word that is typed, for the list that opens of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Word {
    #[default]
    Other,
    /// `@` was typed, and nothing since that ends it.
    Sought,
    /// The same, and a quote that is open.
    Quoted,
}

impl Word {
    /// With this character behind it.
    fn with(self, c: char) -> Self {
        match (self, c) {
            (Self::Quoted, '"') => Self::Other,
            (Self::Quoted, _) => Self::Quoted,
            (_, '@') => Self::Sought,
            (Self::Sought, '"') => Self::Quoted,
            (Self::Sought, c) if c.is_whitespace() => Self::Other,
            (word, _) => word,
        }
    }
}

impl Guarded {
    pub(crate) fn new(setup: Arc<Setup>, typing: Arc<Typing>) -> Self {
        let inner: Box<dyn EditMode> = match setup.vi {
            true => {
                let mut visual = with_ours(default_vi_visual_keybindings());
                // It would switch the mode by an event, which a guard cannot hand on; `d` and `x` do the same.
                visual.remove_binding(KeyModifiers::NONE, KeyCode::Delete);
                let insert = with_ours(default_vi_insert_keybindings());
                Box::new(Vi::new(insert, with_ours(default_vi_normal_keybindings()), visual))
            }
            false => Box::new(Emacs::new(with_ours(default_emacs_keybindings()))),
        };
        Self {
            inner,
            setup,
            typing,
            is_chord: false,
            late: LateReply::default(),
            is_known: false,
            size: (0, 0),
            word: Word::Other,
            searches: false,
        }
    }

    /// The commands that remove the mark of a picture or paste beside the cursor, if this would remove a part of it.
    fn of_whole(&self, command: &EditCommand) -> Option<Vec<EditCommand>> {
        let (is_before, each) = match command {
            EditCommand::Backspace | EditCommand::BackspaceWord | EditCommand::CutWordLeft => {
                (true, EditCommand::Backspace)
            }
            EditCommand::Delete | EditCommand::DeleteWord | EditCommand::CutWordRight => {
                (false, EditCommand::Delete)
            }
            _ => return None,
        };
        // They are looked for before the state of the line is locked.
        let line = self.is_known.then(|| self.typing.line())?;
        let wholes = marks(&*self.setup.complete, &self.typing, &line).into_iter();
        let wholes = wholes.filter(|mark| matches!(mark.nature, Nature::Picture | Nature::Paste));
        let wholes: Vec<_> = wholes.map(|mark| (mark.from, mark.to)).collect();
        let is_word = !matches!(command, EditCommand::Backspace | EditCommand::Delete);
        let count = self.typing.removes(is_before, is_word, |_| wholes.clone())?;
        Some(vec![each; count])
    }

    fn guarded(&self, command: EditCommand) -> EditCommand {
        let (text, is_pasted) = match &command {
            EditCommand::InsertString(text) => {
                ((self.setup.meaning.pasted)(text).unwrap_or_else(|| text.clone()), true)
            }
            EditCommand::InsertChar(c) | EditCommand::ReplaceChar(c) => (c.to_string(), false),
            EditCommand::PasteCutBufferBefore
            | EditCommand::PasteCutBufferAfter
            | EditCommand::PasteAtSelectionEdge { .. }
            | EditCommand::Paste => {
                self.typing.yanks();
                return command;
            }
            // Most of the others cut.
            _ => {
                self.typing.cuts();
                return command;
            }
        };
        let kept = shown(&text, self.setup.safe);
        if is_pasted && let Some(mark) = self.typing.folded(&kept) {
            self.typing.gains(&mark, false);
            return EditCommand::InsertString(mark);
        }
        if is_pasted {
            self.typing.pastes_in(&kept);
        }
        self.typing.gains(&kept, is_pasted);
        match command {
            EditCommand::InsertString(_) => EditCommand::InsertString(kept),
            command if kept == text => command,
            _ => EditCommand::InsertString(kept),
        }
    }

    /// What Tab does behind the mark of a paste: the paste comes into its place.
    fn unfolding(&self) -> Option<ReedlineEvent> {
        let (count, text) = self.is_known.then(|| self.typing.unfolds()).flatten()?;
        let text = shown(&text, self.setup.safe);
        // Backslashes at its line ends are its own.
        self.typing.gains(&text, true);
        let mut commands = vec![EditCommand::Backspace; count];
        commands.push(EditCommand::InsertString(text));
        Some(ReedlineEvent::Edit(commands))
    }

    /// Those within others too: vi makes one event of several.
    fn guarded_event(&self, event: ReedlineEvent) -> ReedlineEvent {
        let all =
            |events: Vec<ReedlineEvent>| events.into_iter().map(|event| self.guarded_event(event)).collect();
        match event {
            ReedlineEvent::Edit(commands) => {
                let guarded =
                    |command| self.of_whole(&command).unwrap_or_else(|| vec![self.guarded(command)]);
                ReedlineEvent::Edit(commands.into_iter().flat_map(guarded).collect())
            }
            ReedlineEvent::Multiple(events) => ReedlineEvent::Multiple(all(events)),
            ReedlineEvent::UntilFound(events) => ReedlineEvent::UntilFound(all(events)),
            ReedlineEvent::CtrlC => {
                self.typing.breaks_off();
                ReedlineEvent::CtrlC
            }
            event => event,
        }
    }

    /// While a word is typed that names are sought for, each key opens the list anew, which closes where nothing is found.
    fn with_finder(&mut self, event: ReedlineEvent) -> ReedlineEvent {
        let ReedlineEvent::Edit(commands) = &event else {
            self.searches |= event == ReedlineEvent::SearchHistory;
            // Esc closes it until another word is begun.
            if is_escape(&event) || matches!(event, ReedlineEvent::CtrlC | ReedlineEvent::CtrlD) {
                self.word = Word::Other;
            }
            return event;
        };
        let (before, typed) = (self.word, commands.as_slice());
        self.word = match typed {
            [EditCommand::InsertChar(c)] => before.with(*c),
            [EditCommand::Backspace] => before,
            _ => Word::Other,
        };
        // As several events it would be nothing while the history is searched.
        if self.searches || (before == Word::Other && self.word == Word::Other) {
            return event;
        }
        ReedlineEvent::Multiple(vec![event, ReedlineEvent::Esc, ReedlineEvent::Menu(FINDER.to_owned())])
    }

    fn parsed(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let was_chord = std::mem::take(&mut self.is_chord);
        let event = self.inner.parse_event(event);
        let is_escape = is_escape(&event);
        if self.typing.is_pressed(is_escape) {
            return host(BACK);
        }
        match event {
            // The prompt says what another one does.
            event if is_escape => {
                ReedlineEvent::Multiple(vec![self.guarded_event(event), ReedlineEvent::Repaint])
            }
            event if event == host(CHORD) => {
                self.is_chord = true;
                ReedlineEvent::None
            }
            event if was_chord && event == line_end() => host(EDIT),
            event if event == complete() => self.unfolding().unwrap_or(event),
            event => self.guarded_event(event),
        }
    }
}

impl EditMode for Guarded {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        let (is_late, held) = self.late.takes(&event);
        let is_resize = matches!(event, Event::Resize(..));
        let Some(event) = (!is_late).then_some(event).and_then(|event| event.try_into().ok()) else {
            return ReedlineEvent::None;
        };
        // A resize that comes in one batch with a key changes nothing of the line.
        if !is_resize {
            self.is_known = self.typing.is_known() && held.is_empty();
            self.searches &= !self.is_known;
        }
        if held.is_empty() {
            return self.understood(event);
        }
        let typed = self.guarded(EditCommand::InsertString(held));
        ReedlineEvent::Multiple(vec![ReedlineEvent::Edit(vec![typed]), self.understood(event)])
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.inner.edit_mode()
    }
}

impl Guarded {
    fn understood(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.parsed(event);
        match self.with_finder(event) {
            ReedlineEvent::Resize(columns, rows) => {
                self.typing.resizes();
                self.size = (columns, rows);
                ReedlineEvent::Resize(columns, rows)
            }
            event @ (ReedlineEvent::Edit(_) | ReedlineEvent::None) => event,
            // The library looks at the size after the other events of a batch, and may draw before, where the line was.
            event if self.typing.awaits_size() => {
                let (columns, rows) = self.size;
                ReedlineEvent::Multiple(vec![ReedlineEvent::Resize(columns, rows), event])
            }
            event => event,
        }
    }
}

/// `Multiple`, for that is nothing while the history is searched.
fn host(what: &str) -> ReedlineEvent {
    ReedlineEvent::Multiple(vec![ReedlineEvent::ExecuteHostCommand(what.to_owned())])
}

/// With vi's keys it also changes the mode.
fn is_escape(event: &ReedlineEvent) -> bool {
    match event {
        ReedlineEvent::Esc => true,
        ReedlineEvent::Multiple(events) => {
            // Alt with a letter is Esc and what the letter does.
            events.first() == Some(&ReedlineEvent::Esc) && events.last() == Some(&ReedlineEvent::Repaint)
        }
        _ => false,
    }
}

/// What Ctrl-E does by itself.
fn line_end() -> ReedlineEvent {
    let end = EditCommand::MoveToLineEnd { select: false };
    ReedlineEvent::UntilFound(vec![ReedlineEvent::HistoryHintComplete, ReedlineEvent::Edit(vec![end])])
}

/// What Tab does by itself.
fn complete() -> ReedlineEvent {
    ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext])
}

fn with_ours(mut keys: Keybindings) -> Keybindings {
    let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    let control = [
        ('j', newline()),
        ('e', line_end()),
        ('o', host(EDIT)),
        ('v', host(PICTURE)),
        ('x', host(CHORD)),
        ('z', host(SUSPEND)),
        // Ctrl-_, as a terminal sends it.
        ('7', ReedlineEvent::Edit(vec![EditCommand::Undo])),
    ];
    for (key, event) in control {
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char(key), event);
    }
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
    // Alt-Enter of before the line was read: the terminal has made a line break of its Enter.
    keys.add_binding(KeyModifiers::ALT | KeyModifiers::CONTROL, KeyCode::Char('j'), newline());
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete());
    let back = ReedlineEvent::UntilFound(vec![ReedlineEvent::MenuPrevious, host(SWITCH)]);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::Multiple(vec![back]));
    keys
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use crossterm::event::KeyEvent;

    use super::*;
    use crate::complete::{Complete, Suggestion};
    use crate::{Inserted, Meaning};

    struct Nothing;

    impl Complete for Nothing {
        fn complete(&self, _: &str, _: usize) -> Vec<Suggestion> {
            Vec::new()
        }

        fn hint(&self, _: &str) -> Option<String> {
            None
        }
    }

    fn guarded() -> Guarded {
        let setup = Setup {
            history: None,
            vi: false,
            colour: false,
            light: false,
            asks_background: false,
            plain: false,
            ascii: false,
            editor: None,
            scratch: "scratch".into(),
            can_stop: || false,
            asks: Arc::new(|| {}),
            switch: Arc::new(|| {}),
            status: Arc::new(String::new),
            complete: Arc::new(Nothing),
            meaning: Meaning::default(),
            inserted: Inserted::default(),
            safe: |text| Cow::Borrowed(text),
            clean: Arc::new(str::to_owned),
        };
        Guarded::new(Arc::new(setup), Arc::default())
    }

    fn raw(event: Event) -> ReedlineRawEvent {
        event.try_into().ok().unwrap()
    }

    #[test]
    fn a_key_acts_on_the_line_as_it_was_drawn() {
        let tab = || raw(Event::Key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE)));
        for (first, expands) in [
            (None, true),
            (Some(Event::Resize(60, 24)), true),
            (Some(Event::Key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE))), false),
        ] {
            let mut keys = guarded();
            let pasted = "line\n".repeat(20);
            let mark = keys.typing.folded(&pasted).unwrap();
            keys.typing.is_seen(&mark, mark.len(), false, || false);
            first.clone().map(|event| keys.parse_event(raw(event)));
            let edits = keys.parse_event(tab());
            let is_expanded = matches!(
                &edits,
                ReedlineEvent::Edit(edits) if edits.last() == Some(&EditCommand::InsertString(pasted.clone()))
            );
            assert_eq!(is_expanded, expands, "{first:?}: {edits:?}");
        }
    }
}
