//! Reading with drawing: reedline, dressed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{EditCommand, History as _, Reedline, Signal, ValidationResult, Validator};

use crate::above::Above;
use crate::entry::{Typing, one_paste, shown};
use crate::finder::Finder;
use crate::handover::Handover;
use crate::highlight::Colours;
use crate::hints::Hints;
use crate::history::Kept;
use crate::keys::{BACK, EDIT, Guarded, PICTURE, SUSPEND, SWITCH};
use crate::menu::{Offers, menu};
use crate::outer;
use crate::prompt::{Prompt, Shown};
use crate::terminal::{Modes, has_more_keys, says};
use crate::tones::Tones;
use crate::{Draft, Read, Setup};

/// What came of a wait for an entry.
pub(crate) enum Outcome {
    Read(Read),
    /// The wait was withdrawn; the text typed so far.
    Stopped(Draft),
    /// Ctrl-Z was pressed; this was typed.
    Suspended(Draft),
}

pub(crate) struct Rich {
    pub(crate) setup: Arc<Setup>,
    pub(crate) typing: Arc<Typing>,
    pub(crate) history: Kept,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) handover: Handover,
    pub(crate) modes: Modes,
    pub(crate) above: Above,
    /// `None` until it is needed, and after it was stopped: then it remembers a place on the screen that others have
    /// written to since.
    pub(crate) line: Option<Reedline>,
}

impl Rich {
    pub(crate) fn read(&mut self, prompt: &Prompt, before: Option<&Draft>) -> io::Result<Outcome> {
        let is_sent = before.is_some_and(|before| before.is_sent);
        let line = self.line.take().unwrap_or_else(|| self.dressed());
        let mut line = line.with_immediately_accept(is_sent);
        self.modes.drawing.store(true, Ordering::SeqCst);
        let outcome = self.read_with(&mut line, prompt, before);
        self.modes.drawing.store(false, Ordering::SeqCst);
        // The library restores those that it found, in which keys may not be echoed.
        self.modes.restore();
        match &outcome {
            Ok(Outcome::Read(read)) if *read != Read::Back => self.line = Some(line),
            _ => says("\r\n"),
        }
        outcome
    }

    fn read_with(&self, line: &mut Reedline, prompt: &Prompt, before: Option<&Draft>) -> io::Result<Outcome> {
        let (ascii, safe) = (self.setup.ascii, self.setup.safe);
        let (typing, asks) = (Arc::clone(&self.typing), Arc::clone(&self.setup.asks));
        let status = Arc::clone(&self.setup.status);
        let above = self.above.clone();
        let prompt = Shown {
            prompt: prompt.clone(),
            status,
            ascii,
            safe,
            typing,
            asks,
            above,
            tones: Tones::on(self.setup.light),
        };
        let none = Draft::default();
        let before = before.unwrap_or(&none);
        self.begins(line, before);
        let is_sent = before.is_sent;
        if !is_sent {
            self.inserts(line);
        }
        let mut after_keys = false;
        loop {
            match line.read_line(&prompt)? {
                Signal::Success(text) => {
                    // Saved at once, so that it can be recalled after any failure.
                    let _ = self.history.clone().sync();
                    return Ok(Outcome::Read(Read::Line(self.ended(&text))));
                }
                Signal::CtrlC if self.typing.has_something() => {
                    after_keys = true;
                    self.begins(line, &none);
                }
                Signal::CtrlC => {
                    let after_keys = after_keys || self.typing.was_used();
                    return Ok(Outcome::Read(Read::Interrupted { after_keys }));
                }
                Signal::CtrlD => return Ok(Outcome::Read(Read::End)),
                Signal::ExternalBreak(_) => {
                    let is_for_text = self.setup.inserted.is_there() && !self.handover.is_asked();
                    if !is_sent {
                        self.inserts(line);
                    }
                    if !is_for_text {
                        return Ok(Outcome::Stopped(self.draft(line.current_buffer_contents())));
                    }
                }
                Signal::HostCommand(what) if what == EDIT => {
                    // A request to stop the program now stops the other editor.
                    self.handover.leaves();
                    self.modes.restore();
                    self.edit(line);
                    self.modes.drawing.store(true, Ordering::SeqCst);
                    self.handover.begins();
                }
                Signal::HostCommand(what) if what == SWITCH => (self.setup.switch)(),
                Signal::HostCommand(what) if what == PICTURE => (self.setup.meaning.picture)(),
                Signal::HostCommand(what) if what == BACK => return Ok(Outcome::Read(Read::Back)),
                Signal::HostCommand(what) if what == SUSPEND => {
                    let text = line.current_buffer_contents();
                    return Ok(Outcome::Suspended(self.draft(text)));
                }
                _ => {}
            }
        }
    }

    /// What is typed so far.
    fn draft(&self, text: &str) -> Draft {
        Draft { text: self.ended(text), pastes: self.typing.pastes(), is_sent: false }
    }

    /// What is meant by the text of an entry that is sent or left.
    fn ended(&self, text: &str) -> String {
        let meant = self.typing.meant(text);
        self.typing.ends(&meant);
        meant
    }

    /// With this text, and with what came in one breath with the Ctrl-C that ended the line before it.
    fn begins(&self, line: &mut Reedline, before: &Draft) {
        let behind = self.typing.behind();
        let text = before.text.clone() + &behind;
        self.typing.begins();
        self.typing.holds(&before.pastes);
        self.typing.holds(&one_paste(&behind));
        if !text.is_empty() {
            // What was folded before is folded again.
            let shown = |text: &str| shown(text, self.setup.safe);
            self.fill(line, self.typing.folds().folded(&text, &before.pastes, shown));
        }
    }

    /// With a text that can be shown.
    fn fill(&self, line: &mut Reedline, text: String) {
        // Backslashes at its line ends are its own.
        self.typing.gains(&text, true);
        line.run_edit_commands(&[EditCommand::Clear, EditCommand::InsertString(text)]);
    }

    /// Puts into the line what has come without a key.
    fn inserts(&self, line: &mut Reedline) {
        for text in self.setup.inserted.take() {
            let text = shown(&text, self.setup.safe);
            self.typing.gains(&text, false);
            line.run_edit_commands(&[EditCommand::InsertString(text)]);
        }
    }

    fn edit(&self, line: &mut Reedline) {
        let text = self.typing.meant(line.current_buffer_contents());
        let command = self.setup.editor.as_deref().unwrap_or_default();
        self.typing.is_gone();
        match outer::edited(command, &self.setup.scratch, &text) {
            Ok(edited) => self.fill(line, shown(&edited, self.setup.safe)),
            Err(why) => says(&format!("\n{}\n", (self.setup.safe)(&why))),
        }
    }

    fn dressed(&self) -> Reedline {
        let Setup { colour, ascii, safe, light, .. } = *self.setup;
        let tones = Tones::on(light);
        let acts = self.setup.meaning.acts;
        let complete = || Arc::clone(&self.setup.complete);
        let typing = || Arc::clone(&self.typing);
        let mut line = Reedline::create()
            .with_history(Box::new(self.history.clone()))
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_edit_mode(Box::new(Guarded::new(Arc::clone(&self.setup), typing())))
            .with_validator(Box::new(Complete { typing: typing(), acts }))
            .with_highlighter(Box::new(Colours { complete: complete(), safe, typing: typing(), acts, tones }))
            .with_hinter(Box::new(Hints {
                complete: complete(),
                safe,
                typing: typing(),
                now: String::new(),
                tones,
            }))
            .with_completer(Box::new(Offers { complete: complete(), safe }))
            .with_menu(menu(ascii, colour, tones))
            .with_menu(Finder::menu(Offers { complete: complete(), safe }, ascii))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_ansi_colors(colour)
            .use_bracketed_paste(true)
            .with_break_signal(Arc::clone(&self.stop));
        let signal = line.repaint_signal();
        self.above.is_drawn_by(move || signal.request_repaint());
        let signal = line.repaint_signal();
        self.setup.complete.redraws_by(Arc::new(move || signal.request_repaint()));
        line
    }
}

struct Complete {
    typing: Arc<Typing>,
    acts: fn(&str) -> bool,
}

impl Validator for Complete {
    fn validate(&self, text: &str) -> ValidationResult {
        let acts = (self.acts)(text);
        let is_held = (self.typing.enters(has_more_keys()) || self.typing.hides(text)) && acts;
        if self.typing.goes_on(text) || is_held {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}
