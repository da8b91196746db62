//! How the line looks: what is more than text in it, and nothing that could act on the terminal.

use std::borrow::Cow;
use std::sync::Arc;

use reedline::{AbbrExpandContext, Color, Highlighter, StyledText};

use crate::Safe;
use crate::complete::{Complete, Mark, Nature};
use crate::entry::Typing;
use crate::terminal::has_more_keys;
use crate::tones::Tones;

/// Longer entries are pasted text: nothing in them is looked at but the marks of pastes.
const LONGEST: usize = 4096;

pub(crate) struct Colours {
    pub(crate) complete: Arc<dyn Complete>,
    pub(crate) safe: Safe,
    pub(crate) typing: Arc<Typing>,
    pub(crate) acts: fn(&str) -> bool,
    pub(crate) tones: Tones,
}

impl Highlighter for Colours {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        self.typing.is_seen(line, cursor, (self.acts)(line), has_more_keys);
        let mut text = StyledText::new();
        text.push((Default::default(), replaced(line, self.safe).into_owned()));
        for mark in marks(&*self.complete, &self.typing, line) {
            let style = match mark.nature {
                Nature::Command => self.tones.accent.normal(),
                Nature::Unknown => self.tones.wrong.normal(),
                Nature::File => Color::Default.underline(),
                Nature::Picture | Nature::Paste => self.tones.good.normal(),
            };
            text.style_range(mark.from, mark.to, style);
        }
        text
    }

    /// `!!` is an exclamation here, not a command of a shell.
    fn should_expand_abbr(&self, _: &str, _: usize, _: AbbrExpandContext) -> bool {
        false
    }
}

/// What in the line is more than text.
pub(crate) fn marks(complete: &dyn Complete, typing: &Typing, line: &str) -> Vec<Mark> {
    let mut marks = if line.len() > LONGEST { Vec::new() } else { complete.marks(line) };
    let pastes = typing.folds().marks(line).into_iter();
    marks.extend(pastes.map(|(from, to)| Mark { from, to, nature: Nature::Paste }));
    marks
}

/// Nothing that could act gets into the line; should it all the same, another character of as many bytes stands for it,
/// for the cursor is counted in bytes.
fn replaced(line: &str, safe: Safe) -> Cow<'_, str> {
    if safe(line) == line && !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut buffer = [0; 4];
    let stands = |c: char| match c.len_utf8() {
        1 => '?',
        2 => '¿',
        3 => '\u{fffd}',
        _ => '🛇',
    };
    let is_fine = |c: char, buffer: &mut [u8; 4]| {
        let text: &str = c.encode_utf8(buffer);
        c != '\t' && safe(text) == text
    };
    Cow::Owned(line.chars().map(|c| if is_fine(c, &mut buffer) { c } else { stands(c) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> Cow<'_, str> {
        let acts =
            |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202e}' | '\u{e0041}');
        match text.contains(acts) {
            true => Cow::Owned(text.replace(acts, "<>")),
            false => Cow::Borrowed(text),
        }
    }

    #[test]
    fn what_could_act_is_replaced_byte_for_byte() {
        for (line, shown) in [
            ("plain ❯ 日本", "plain ❯ 日本"),
            ("two\nlines", "two\nlines"),
            ("a\x1b[31mb", "a?[31mb"),
            ("\u{9b}31m", "¿31m"),
            ("\u{202e}x\ty", "\u{fffd}x?y"),
            ("tag\u{e0041}", "tag🛇"),
        ] {
            let replaced = replaced(line, escaped);
            assert_eq!(replaced, shown);
            assert_eq!(replaced.len(), line.len());
        }
    }
}
