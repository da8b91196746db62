//! Reads without drawing: whole lines, as the terminal or a pipe gives them. No escape sequence is written.
//!
//! In this mode, Ctrl-C ends a line instead of sending a signal, so that it has the same meaning as in the drawing
//! editor: clear the input, or report that there was none.

use std::io::{self, IsTerminal as _, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::above::Above;
use crate::entry::{is_continued, is_open, joined, unfenced};
use crate::prompt::Prompt;
use crate::rich::Outcome;
use crate::terminal::{columns, says, waits, without_keys};
use crate::{Draft, Read, Safe};

const CTRL_C: u8 = 3;
const LONGEST: usize = 4 * 1024 * 1024;
/// How soon a withdrawn wait for a line is noticed.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct Plain {
    pub(crate) safe: Safe,
    pub(crate) asks: Arc<dyn Fn() + Send + Sync>,
    pub(crate) status: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) acts: fn(&str) -> bool,
    pub(crate) above: Above,
    /// Read and not used: a pipe gives what it has.
    pub(crate) ahead: Vec<u8>,
    /// Another line of the terminal was there with the last one.
    pub(crate) follows: bool,
}

enum Piece {
    Line(String),
    /// Others had something to say.
    Told,
    /// Ctrl-C, and whether there was text on the line.
    Cleared(bool),
    End,
    Stopped,
}

impl Plain {
    /// `before` cannot be put into a line that the terminal edits: it is shown, to be typed again.
    pub(crate) fn read(
        &mut self,
        prompt: &Prompt,
        before: Option<&Draft>,
        stop: &AtomicBool,
    ) -> io::Result<Outcome> {
        if let Some(Draft { text, is_sent, .. }) = before.filter(|before| !before.text.is_empty()) {
            let shown = (self.safe)(text);
            if *is_sent {
                self.asks(prompt);
                says(&format!("{shown}\n"));
                return Ok(Outcome::Read(Read::Line(text.clone())));
            }
            says(&format!("{shown}\n"));
        }
        let modes = CookedWithCtrlC::enter();
        let mut entry = String::new();
        let mut after_keys = false;
        self.asks(prompt);
        loop {
            match self.piece(stop)? {
                // What is typed of the line is the terminal's, and goes on behind the prompt.
                Piece::Told => self.asks(prompt),
                Piece::Stopped => return Ok(Outcome::Stopped(Draft::of(entry))),
                Piece::End if entry.is_empty() => return Ok(Outcome::Read(Read::End)),
                Piece::End => return Ok(meant(&entry)),
                Piece::Cleared(had_text) => {
                    says("\n");
                    if !had_text && entry.is_empty() {
                        return Ok(Outcome::Read(Read::Interrupted { after_keys }));
                    }
                    entry.clear();
                    after_keys = true;
                    self.asks(prompt);
                }
                Piece::Line(line) => {
                    entry.push_str(&line);
                    let has_more = modes.0.is_some() && (!self.ahead.is_empty() || waits(Duration::ZERO));
                    let is_held =
                        (std::mem::replace(&mut self.follows, has_more) || has_more) && (self.acts)(&entry);
                    if !(is_continued(&entry) || is_open(&entry) || is_held) || entry.len() > LONGEST {
                        return Ok(meant(&entry));
                    }
                    entry.push('\n');
                    says(". ");
                }
            }
        }
    }

    fn asks(&self, prompt: &Prompt) {
        let most = (columns() / 3).saturating_sub(2);
        let name = prompt.with_status(self.safe, &(self.status)(), most).replace('…', "~");
        (self.asks)();
        says(&format!("{name}> "));
    }

    /// Reads up to the next line end of any kind.
    fn piece(&mut self, stop: &AtomicBool) -> io::Result<Piece> {
        loop {
            if let Some(at) = self.ahead.iter().position(|byte| matches!(*byte, b'\n' | CTRL_C)) {
                let rest = self.ahead.split_off(at + 1);
                let mut line = std::mem::replace(&mut self.ahead, rest);
                let ended_by = line.pop();
                return Ok(match ended_by {
                    Some(CTRL_C) => Piece::Cleared(!line.is_empty()),
                    _ => Piece::Line(clean(&line)),
                });
            }
            if stop.load(Ordering::SeqCst) {
                return Ok(Piece::Stopped);
            }
            let above = self.above.take();
            if !above.is_empty() {
                says(&format!("\n{above}"));
                return Ok(Piece::Told);
            }
            if !waits(LOOK) {
                continue;
            }
            let mut bytes = [0; 8192];
            match rustix::io::read(stdin(), &mut bytes) {
                Ok(0) if self.ahead.is_empty() => return Ok(Piece::End),
                // The input ended in the middle of a line. On a terminal, Ctrl-D only passes on the input so far.
                Ok(0) => self.ahead.push(b'\n'),
                Ok(count) => self.ahead.extend(bytes.iter().take(count)),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            if self.ahead.len() > LONGEST {
                return Err(io::Error::other("a line of more than 4 MiB"));
            }
        }
    }
}

fn clean(line: &[u8]) -> String {
    without_keys(String::from_utf8_lossy(line).trim_end_matches('\r'))
}

fn meant(entry: &str) -> Outcome {
    Outcome::Read(Read::Line(unfenced(&joined(entry))))
}

/// A terminal that edits lines itself, and ends them at Ctrl-C. Undone when it goes.
struct CookedWithCtrlC(Option<Termios>);

impl CookedWithCtrlC {
    fn enter() -> Self {
        let saved = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        if let Some(saved) = &saved {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &cooked(saved));
        }
        Self(saved)
    }
}

/// Another program may have left it raw, where Enter ends no line and Ctrl-D ends nothing. Who edits lines already may have
/// turned off the echo on purpose, as those do who show what is typed themselves.
fn cooked(saved: &Termios) -> Termios {
    let mut modes = saved.clone();
    if !modes.local_modes.contains(LocalModes::ICANON) {
        modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK;
        modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    }
    modes.input_modes -= InputModes::INLCR | InputModes::IGNCR;
    modes.input_modes |= InputModes::ICRNL;
    // 0: no key.
    modes.special_codes[SpecialCodeIndex::VINTR] = 0;
    modes.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
    modes
}

impl Drop for CookedWithCtrlC {
    fn drop(&mut self) {
        if let Some(saved) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, saved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a terminal has them from the start.
    fn modes() -> Termios {
        tcgetattr(std::fs::File::open("/dev/ptmx").unwrap()).unwrap()
    }

    #[test]
    fn a_terminal_that_was_left_raw_edits_lines() {
        let mut raw = modes();
        raw.make_raw();
        let cooked = cooked(&raw);
        assert!(cooked.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
        assert!(cooked.input_modes.contains(InputModes::ICRNL));
        assert!(cooked.output_modes.contains(OutputModes::OPOST));
    }

    #[test]
    fn who_echoes_for_himself_goes_on_to() {
        let mut silent = modes();
        silent.local_modes -= LocalModes::ECHO;
        assert!(!cooked(&silent).local_modes.contains(LocalModes::ECHO));
    }
}
