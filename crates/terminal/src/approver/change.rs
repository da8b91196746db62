//! What a call of a built-in tool would change in a file, and what becomes of a file that is there.

use converse_ensemble::Pending;
use converse_session::files::open_regular;
use converse_text::wording::counted;
use serde_json::{Map, Value};

use super::shown::{self, Much};
use crate::changes::{Changes, Drawn, Paint, content, fingerprint};
use converse_screen::{Line, Tone};

/// Arguments that the difference shows.
const TEXTS: [&str; 3] = ["content", "old_text", "new_text"];

/// A change of a file.
pub(super) struct FileChange {
    /// `overwrites 219 bytes`, if the file is there.
    pub(super) notice: Option<String>,
    /// The text before and after; `None` if it cannot be compared.
    texts: Option<(String, String)>,
    /// The file is not there yet.
    is_new: bool,
}

impl FileChange {
    /// Returns `None` if the call is not one of a tool that changes files.
    pub(super) fn of(pending: &Pending) -> Option<Self> {
        let definition = pending.declared()?;
        let arguments = pending.arguments();
        let text = |name: &str| arguments.get(name)?.as_str().map(str::to_owned);
        match definition.pointer("/kind/builtin")?.as_str()? {
            "edit_file" => {
                let all = arguments.get("replace_all") == Some(&Value::Bool(true));
                let (old, new) = (text("old_text")?, text("new_text")?);
                let file = pending.named_path().and_then(|path| open_regular(&path.path).ok());
                let edited = file.and_then(content).and_then(|before| edited(&before, (&old, &new), all));
                // What cannot be read is not changed; the passage says what was asked for.
                Some(Self { notice: None, texts: Some(edited.unwrap_or((old, new))), is_new: false })
            }
            "write_file" => {
                let path = &pending.named_path()?.path;
                let written = text("content")?;
                let Ok(file) = open_regular(path) else {
                    return Some(match path.exists() {
                        true => Self::unreadable("overwrites a file that cannot be read".to_owned()),
                        false => Self { notice: None, texts: Some((String::new(), written)), is_new: true },
                    });
                };
                let length = usize::try_from(file.metadata().ok()?.len()).unwrap_or(usize::MAX);
                let appends = arguments.get("append") == Some(&Value::Bool(true));
                let verb = if appends { "adds to a file of" } else { "overwrites" };
                let notice = format!("{verb} {}", counted(length, "byte"));
                let is_text = text("encoding").is_none_or(|name| name == "utf-8");
                let Some(old) = is_text.then(|| content(file)).flatten() else {
                    return Some(Self::unreadable(notice));
                };
                let new = if appends { old.clone() + &written } else { written };
                Some(Self { notice: Some(notice), texts: Some((old, new)), is_new: false })
            }
            _ => None,
        }
    }

    fn unreadable(notice: String) -> Self {
        Self { notice: Some(notice), texts: None, is_new: false }
    }

    /// By which the change is known again when it was made.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        self.texts.as_ref().map(|(old, new)| fingerprint(old, new))
    }

    /// The path first, then what changes; and whether there is more.
    pub(super) fn lines(
        &self,
        arguments: &Map<String, Value>,
        much: Much,
        paint: Paint<'_>,
    ) -> (Vec<Line>, bool) {
        let part = |is_in: &dyn Fn(&str) -> bool| {
            let named = arguments.iter().filter(|(name, _)| is_in(name));
            let map = named.map(|(name, value)| (name.clone(), value.clone())).collect();
            shown::arguments(&map, paint.look, much)
        };
        let (path, _) = part(&|name| name == "path");
        let mut lines = path.clone();
        let notice = self.notice.iter().map(|notice| Line::plain("  ").with(Tone::Warning, notice));
        lines.extend(notice);
        let Some((old, new)) = self.texts.as_ref().filter(|_| !self.is_new) else {
            let (others, cut) = part(&|name| name != "path");
            lines.extend(others);
            return (lines, cut);
        };
        let (others, _) = part(&|name| name != "path" && !is_text(name));
        lines.extend(others);
        let Drawn { lines: changed, left, hides } = drawn(old, new, much.lines(), paint);
        let is_long = changed.len() > Much::first().lines();
        lines.extend(changed);
        if much == Much::All && is_long {
            // The first one has left the screen.
            lines.extend(path);
        }
        (lines, left > 0 || hides)
    }

    /// The change in about so many rows, for a list, and whether there is more; `None` if its text fits into a line.
    pub(super) fn in_short(&self, most: usize, paint: Paint<'_>) -> Option<(Vec<Line>, bool)> {
        let is_long = |text: &str| text.trim_end_matches('\n').contains('\n');
        let (old, new) = self.texts.as_ref().filter(|(_, new)| !self.is_new || is_long(new))?;
        let Drawn { lines, left, .. } = drawn(old, new, most, paint);
        Some((lines, left > 0))
    }
}

/// Returns whether the difference shows an argument.
pub(super) fn is_text(name: &str) -> bool {
    TEXTS.contains(&name)
}

fn drawn(old: &str, new: &str, most: usize, paint: Paint<'_>) -> Drawn {
    let changes = Changes::between(old, new);
    let mut drawn =
        changes.drawn(most, paint, |left| format!("{}: v = view all", counted(left, "more line")));
    drawn.lines.insert(0, Line::toned(Tone::Dim, &format!("  {}", changes.sums())));
    drawn
}

/// Returns the text before and after an edit, with `\n` at the ends of lines; `None` if the edit fails.
fn edited(before: &str, (old, new): (&str, &str), all: bool) -> Option<(String, String)> {
    let [before, old, new] = [before, old, new].map(|text| text.replace("\r\n", "\n"));
    let places = before.matches(&*old).take(2).count();
    let after = match (old.is_empty(), places, all) {
        (true, ..) | (_, 0, _) | (_, 2, false) => return None,
        (_, _, true) => before.replace(&*old, &new),
        _ => before.replacen(&*old, &new, 1),
    };
    Some((before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_shown_where_it_is_in_the_file() {
        let edit = |before, old, new, all| edited(before, (old, new), all).map(|(_, after)| after);
        assert_eq!(edit("a\n# note\nb\n", "# note\n", "# note ", false).as_deref(), Some("a\n# note b\n"));
        assert_eq!(edit("a\r\nb\r\n", "a\nb", "c", false).as_deref(), Some("c\n"));
        assert_eq!(edit("x x", "x", "y", true).as_deref(), Some("y y"));
        for (before, old) in [("x x", "x"), ("a", "b"), ("a", "")] {
            assert_eq!(edit(before, old, "y", false), None, "{before:?} {old:?}");
        }
    }
}
