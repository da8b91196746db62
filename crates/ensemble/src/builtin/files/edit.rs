//! `edit_file`: a passage of a text file put in place of another, everything else left as it is, byte for byte.

use std::sync::Arc;

use converse_canister::Arguments;
use converse_text::difference::Difference;

use super::encoding::TextEncoding;
use super::jail::{Jail, RequestedPath};
use super::protected::Protected;
use super::target::Target;
use super::{Job, JobContext, JobError, MAX_CONTENT_BYTES, MAX_FILE_BYTES, cancelled};
use crate::builtin::arguments::{flag, required_text, text};
use crate::{Answer, InvokeError};

/// Bytes of the diff that is answered.
const MOST_SHOWN: usize = 8 * 1024;
/// Above this a diff is not worth its time.
const MOST_COMPARED: usize = 1024 * 1024;
const CONTEXT_LINES: usize = 2;
/// Maximum number of listed positions of a passage.
const MOST_PLACES: usize = 10;

pub(super) struct Editing {
    target: Target,
    encoding: TextEncoding,
    change: Change,
}

/// What is sought, what takes its place, and whether everywhere.
#[derive(Debug)]
struct Change {
    old: String,
    new: String,
    all: bool,
}

impl Editing {
    pub(super) fn new(
        jail: &Arc<Jail>,
        protected: &Arc<Protected>,
        arguments: &Arguments,
    ) -> Result<Self, InvokeError> {
        let path = RequestedPath::new("path", required_text(arguments, "path")?)?;
        let encoding = TextEncoding::named(text(arguments, "encoding")?)?;
        let old = required_text(arguments, "old_text")?.to_owned();
        let new = required_text(arguments, "new_text")?.to_owned();
        let invalid = |what: &str| Err(InvokeError::Invalid(what.to_owned()));
        if old.is_empty() {
            return invalid("`old_text` is empty; `write_file` makes new files");
        }
        if old == new {
            return invalid("`old_text` and `new_text` are the same");
        }
        if new.len() > MAX_CONTENT_BYTES {
            return invalid("`new_text` is too long");
        }
        let change = Change { old, new, all: flag(arguments, "replace_all")? };
        let (jail, protected) = (Arc::clone(jail), Arc::clone(protected));
        Ok(Self { target: Target { jail, protected, path, create_directories: false }, encoding, change })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |context| self.run(context))
    }

    fn run(self, context: &JobContext) -> Result<Answer, JobError> {
        let path = self.target.path.shown();
        let spot = self.target.spot(&context.paths)?;
        if spot.old.is_none() {
            return Err(format!("`{path}` does not exist; `write_file` makes new files").into());
        }
        let bytes = spot.content(&context.cancel)?;
        let unfit = |what: String| JobError::Answer(format!("`{path}` cannot be edited as text: {what}"));
        let before = self.encoding.decode(&bytes).map_err(unfit)?;
        self.encoding.keeps(&bytes, &before).map_err(unfit)?;
        let (after, count) = self.change.applied(&before).map_err(|what| format!("`{path}`: {what}"))?;
        let written = self.encoding.encode(&after).map_err(unfit)?;
        // A byte order mark is not part of the text and stays.
        let mark = self.encoding.mark(&bytes);
        if (mark.len() + written.len()) as u64 > MAX_FILE_BYTES {
            return Err(format!("`{path}` would become larger than {MAX_FILE_BYTES} bytes").into());
        }
        if context.cancel.is_cancelled() {
            return Err(cancelled());
        }
        spot.replace(&[mark, &written].concat())?;
        let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
        Ok(Answer::text(format!("changed {places} of {path}\n{}", difference(&before, &after))))
    }
}

impl Change {
    /// Returns the new text and the number of replacements; or a message for the model.
    fn applied(&self, text: &str) -> Result<(String, usize), String> {
        let (old, new) = self.in_line_ends_of(text);
        let places: Vec<usize> = text.match_indices(&*old).map(|(at, _)| at).collect();
        match places.as_slice() {
            [] => Err(absent(text, &old)),
            [_] => Ok((text.replacen(&*old, &new, 1), 1)),
            _ if self.all => {
                let size = text.len() + places.len() * new.len();
                if size as u64 > 2 * MAX_FILE_BYTES {
                    return Err("it would become too large".to_owned());
                }
                Ok((text.replace(&*old, &new), places.len()))
            }
            _ => Err(several(text, &places)),
        }
    }

    /// A model writes `\n`; a file may have `\r\n`.
    fn in_line_ends_of(&self, text: &str) -> (String, String) {
        let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        let ends = text.matches("\r\n").count();
        let as_it_is = text.contains(&self.old) || ends == 0 || self.old.contains('\r');
        let old = if as_it_is { self.old.clone() } else { windows(&self.old) };
        // Where all lines end so, new ones do as well.
        let throughout = ends > 0 && ends == text.matches('\n').count();
        let new = if as_it_is && !throughout { self.new.clone() } else { windows(&self.new) };
        (old, new)
    }
}

fn absent(text: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let near = text.lines().position(|line| !first.is_empty() && line.trim() == first);
    match near {
        Some(line) => format!(
            "`old_text` is not in it; its first line is like line {}, so look at blanks and the lines after it",
            line + 1
        ),
        None => "`old_text` is not in it; read the file and copy the passage exactly".to_owned(),
    }
}

fn several(text: &str, places: &[usize]) -> String {
    let line = |at: &usize| text.get(..*at).unwrap_or_default().matches('\n').count() + 1;
    let lines: Vec<String> = places.iter().take(MOST_PLACES).map(|at| line(at).to_string()).collect();
    let more = if places.len() > MOST_PLACES { " …" } else { "" };
    format!(
        "`old_text` is in {} places (lines {}{more}); give more of the text around it, or set `replace_all`",
        places.len(),
        lines.join(", ")
    )
}

fn difference(before: &str, after: &str) -> String {
    if before.len() + after.len() > MOST_COMPARED {
        return String::new();
    }
    let mut shown = Difference::between(before, after).unified(CONTEXT_LINES, None);
    if shown.len() > MOST_SHOWN {
        shown.truncate(shown.floor_char_boundary(MOST_SHOWN));
        shown.push_str("\n…");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, new: &str, all: bool) -> Change {
        Change { old: old.to_owned(), new: new.to_owned(), all }
    }

    #[test]
    fn one_place_is_changed_or_all_or_none() {
        assert_eq!(change("b", "x", false).applied("abc"), Ok(("axc".to_owned(), 1)));
        assert_eq!(change("a", "", true).applied("banana"), Ok(("bnn".to_owned(), 3)));
        let several = change("a", "x", false).applied("a\nb\na\n").unwrap_err();
        assert!(several.contains("2 places (lines 1, 3)"), "{several}");
        assert!(change("q", "x", true).applied("abc").unwrap_err().contains("is not in it"));
        let near = change("  if x {\n  y\n", "", false).applied("a\n\tif x {\n\ty\n").unwrap_err();
        assert!(near.contains("like line 2"), "{near}");
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        let changed = change("a\nb", "a\nx\nb", false).applied("a\r\nb\r\n");
        assert_eq!(changed, Ok(("a\r\nx\r\nb\r\n".to_owned(), 1)));
        let mixed = change("a\nb", "c", false).applied("a\nb\r\n");
        assert_eq!(mixed, Ok(("c\r\n".to_owned(), 1)));
        for (text, old, new, after) in [
            ("one\r\ntwo\r\n", "one", "one\nhalf", "one\r\nhalf\r\ntwo\r\n"),
            ("one\r\ntwo\r\n", "one\r\n", "one\nhalf\r\n", "one\r\nhalf\r\ntwo\r\n"),
            ("one\r\ntwo\n", "one", "one\nhalf", "one\nhalf\r\ntwo\n"),
            ("one\ntwo\n", "one", "one\r\nhalf", "one\r\nhalf\ntwo\n"),
            ("one", "one", "one\nhalf", "one\nhalf"),
        ] {
            assert_eq!(change(old, new, false).applied(text), Ok((after.to_owned(), 1)), "{text:?}");
        }
    }
}
