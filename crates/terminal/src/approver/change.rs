//! What a call of a built-in tool would change in a file: the lines that go and those that come, with the changed words
//! marked, and what becomes of a file that is there.

use std::fs::File;
use std::io::Read as _;

use converse_ensemble::Pending;
use converse_session::files::open_regular;
use converse_text::difference::{Difference, Side};
use converse_text::wording::counted;
use serde_json::{Map, Value};

use super::shown::{self, Much};
use super::visible::visible;
use converse_host::secrets::Redactor;
use converse_screen::{Line, Look, Style, Tone, broken};

/// Bytes of a file that is compared.
const MOST_BYTES: u64 = 1024 * 1024;
/// Unchanged lines that are shown around changed ones.
const CONTEXT: usize = 2;
/// Bytes of a line in which words are compared.
const LONGEST: usize = 400;
/// Pairs of lines of which words are compared at once; others are shown without marks.
const MOST_MARKED: usize = 200;
/// Columns for text, at least.
const LEAST: usize = 10;
/// Arguments that the difference shows.
const TEXTS: [&str; 3] = ["content", "old_text", "new_text"];

/// A change of a file.
pub(super) struct FileChange {
    /// `overwrites 219 bytes`, if the file is there.
    pub(super) notice: Option<String>,
    /// The text before and after; `None` if it cannot be compared.
    texts: Option<(String, String)>,
}

impl FileChange {
    /// Returns `None` if the call makes a new file, or is not one of a tool that changes files.
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
                Some(Self { notice: None, texts: Some(edited.unwrap_or((old, new))) })
            }
            "write_file" => {
                let path = &pending.named_path()?.path;
                let Ok(file) = open_regular(path) else {
                    let notice = path.exists().then(|| "overwrites a file that cannot be read".to_owned());
                    return notice.map(|notice| Self { notice: Some(notice), texts: None });
                };
                let length = file.metadata().ok()?.len();
                let appends = arguments.get("append") == Some(&Value::Bool(true));
                let verb = if appends { "adds to a file of" } else { "overwrites" };
                let notice = Some(format!(
                    "{verb} {}",
                    counted(usize::try_from(length).unwrap_or(usize::MAX), "byte")
                ));
                let is_text = !appends && text("encoding").is_none_or(|name| name == "utf-8");
                let old = if is_text { content(file) } else { None };
                Some(Self { notice, texts: old.zip(text("content")) })
            }
            _ => None,
        }
    }

    /// The path first, then what changes; and whether there is more.
    pub(super) fn lines(
        &self,
        arguments: &Map<String, Value>,
        look: &Look,
        much: Much,
        redactor: &Redactor,
    ) -> (Vec<Line>, bool) {
        let is_path = |name: &str| name == "path";
        let part = |is_in: &dyn Fn(&str, &Value) -> bool| {
            let named = arguments.iter().filter(|(name, value)| is_in(name, value));
            let map = named.map(|(name, value)| (name.clone(), value.clone())).collect();
            shown::arguments(&map, look, much)
        };
        let (path, _) = part(&|name, _| is_path(name));
        let mut lines = path.clone();
        let notice = self.notice.iter().map(|notice| Line::plain("  ").with(Tone::Warning, notice));
        lines.extend(notice);
        let Some((old, new)) = &self.texts else {
            let (others, cut) = part(&|name, _| !is_path(name));
            lines.extend(others);
            return (lines, cut);
        };
        // What is as it is without a word about it is left out.
        let is_usual = |value: &Value| *value == Value::Bool(false) || *value == "utf-8";
        let (others, _) = part(&|name, value| !is_path(name) && !TEXTS.contains(&name) && !is_usual(value));
        lines.extend(others);
        let (changed, cut) = Comparison { look, redactor }.lines(old, new, much);
        let is_long = changed.len() > Much::first().lines();
        lines.extend(changed);
        if much == Much::All && is_long {
            // The first one has left the screen.
            lines.extend(path);
        }
        (lines, cut)
    }
}

fn content(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MOST_BYTES)
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

/// How two texts are compared. The first one may be of a file, whose keys are not shown.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    look: &'a Look,
    redactor: &'a Redactor,
}

impl Comparison<'_> {
    /// The lines that differ, with some around them, and whether there are more.
    fn lines(self, old: &str, new: &str, much: Much) -> (Vec<Line>, bool) {
        let look = self.look;
        let difference = Difference::between(old, new);
        let all: Vec<(Side, &str)> = difference.lines().collect();
        let count = |wanted: Side| all.iter().filter(|(side, _)| *side == wanted).count();
        let sums = format!("  {} removed, {} added", counted(count(Side::Old), "line"), count(Side::New));
        let mut lines = vec![Line::toned(Tone::Dim, &sums)];
        let (mut at, mut hidden) = (0, 0);
        while let Some((side, line)) = all.get(at) {
            if lines.len() > much.lines() {
                break;
            }
            if *side != Side::Both {
                let group = all.get(at..).unwrap_or_default();
                let length = group.iter().position(|(side, _)| *side == Side::Both).unwrap_or(group.len());
                let room = much.lines().saturating_sub(lines.len()).saturating_add(1);
                lines.extend(self.replaced(group.get(..length).unwrap_or_default(), room));
                at += length;
                continue;
            }
            let around = all.get(at.saturating_sub(CONTEXT)..).unwrap_or_default();
            let mut around = around.iter().take(CONTEXT + 1 + at.min(CONTEXT));
            if much == Much::All || around.any(|(side, _)| *side != Side::Both) {
                lines.extend(gutter(" ", Tone::Dim, Line::toned(Tone::Dim, &self.shape(*side, line)), look));
                at += 1;
                continue;
            }
            let rest = all.get(at..).unwrap_or_default();
            let next = rest.iter().position(|(side, _)| *side != Side::Both);
            let skipped = next.map_or(rest.len(), |next| next.saturating_sub(CONTEXT).max(1));
            lines.push(Line::toned(
                Tone::Dim,
                &format!("    {} {}", look.either("⋮", ":"), counted(skipped, "unchanged line")),
            ));
            hidden += skipped;
            at += skipped;
        }
        let left = all.len() - at;
        let more = lines.len().saturating_sub(much.lines().saturating_add(1));
        lines.truncate(much.lines().saturating_add(1));
        if left + more > 0 {
            let sign = look.either("…", "...");
            lines.push(shown::rest(&format!("{sign} {} more lines: v = view all", left + more)));
        }
        if old.ends_with('\n') != new.ends_with('\n') {
            let verb = if new.ends_with('\n') { "adds" } else { "removes" };
            lines.push(Line::plain(&format!("  {verb} the line break at the end")));
        }
        (lines, left + more + hidden > 0)
    }

    /// Lines that are replaced, with the words that differ. What follows the first `room` rows is shown as it is.
    fn replaced(self, group: &[(Side, &str)], room: usize) -> Vec<Line> {
        let of = |wanted: Side| {
            let lines = group.iter().filter(move |(side, _)| *side == wanted);
            lines.map(move |(side, line)| self.shape(*side, line))
        };
        let (old, new): (Vec<String>, Vec<String>) = (of(Side::Old).collect(), of(Side::New).collect());
        let mut lines = Vec::new();
        for (ours, theirs, sign, tone) in [(&old, &new, "-", Tone::Removed), (&new, &old, "+", Tone::Added)] {
            for (at, line) in ours.iter().enumerate() {
                let marked = match theirs.get(at) {
                    Some(other)
                        if lines.len() < room
                            && at < MOST_MARKED
                            && line.len().max(other.len()) <= LONGEST =>
                    {
                        marked(other, line, tone)
                    }
                    _ => Line::toned(tone, line),
                };
                lines.extend(gutter(sign, tone, marked, self.look));
            }
        }
        lines
    }

    /// In a shape that hides nothing. What the model wrote is shown as it runs.
    fn shape(self, side: Side, line: &str) -> String {
        let line = line.trim_end_matches('\n');
        visible(&if side == Side::New { line.to_owned() } else { self.redactor.clean_line(line) }, true)
    }
}

/// The line with the words in bold that the other one does not have.
fn marked(other: &str, line: &str, tone: Tone) -> Line {
    let difference = Difference::of_words(other, line);
    let mut marked = Line::new();
    for (side, word) in difference.lines().filter(|(side, _)| *side != Side::Old) {
        let mut style = Style::from(tone);
        style.strong = side == Side::New;
        marked.push(style, word);
    }
    marked
}

/// Behind a sign and a bar, in as many rows as the line takes.
fn gutter(sign: &str, tone: Tone, line: Line, look: &Look) -> Vec<Line> {
    let (bar, room) = (look.either("│", "|"), look.width.saturating_sub(6).max(LEAST));
    let rows = broken(&line, room, &Line::new()).into_iter().enumerate();
    rows.map(|(at, row)| {
        let mut whole = Line::toned(tone, &format!("  {} ", if at == 0 { sign } else { " " }));
        whole.push(Tone::Dim, &format!("{bar} "));
        whole.append(row);
        whole
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use converse_host::secrets::Secret;

    use super::*;

    fn compared(old: &str, new: &str, much: Much) -> (Vec<Line>, bool) {
        let redactor = Redactor::default();
        redactor.learn([Secret::new("sk-secret-0123456789")]);
        Comparison { look: &Look::plain(40), redactor: &redactor }.lines(old, new, much)
    }

    fn shown(old: &str, new: &str, much: Much) -> (String, bool) {
        let (lines, cut) = compared(old, new, much);
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
        (lines.iter().map(|line| line.text() + "\n").collect(), cut)
    }

    #[test]
    fn one_word_of_many_lines_is_few_rows() {
        let old: String = (1..=40).map(|number| format!("line {number} is old\n")).collect();
        let new = old.replace("20 is old", "20 is new");
        let expected = "  1 line removed, 1 added\n    ⋮ 17 unchanged lines\n    │ line 18 is old\n    │ line 19 is old\n  - │ line 20 is old\n  + │ line 20 is new\n    │ line 21 is old\n    │ line 22 is old\n    ⋮ 18 unchanged lines\n";
        assert_eq!(shown(&old, &new, Much::First(20)), (expected.to_owned(), true));
        let (all, cut) = shown(&old, &new, Much::All);
        assert!(!cut && all.lines().count() == 42, "{all}");
        let (lines, _) = compared(&old, &new, Much::All);
        let marked = lines.iter().find(|line| line.text().contains("+")).unwrap();
        let look = Look { colour: true, ..Look::plain(40) };
        assert!(marked.painted(&look).contains("\x1b[32;1mnew"), "{:?}", marked.painted(&look));
    }

    #[test]
    fn a_key_of_the_file_is_not_shown_and_hides_no_change() {
        let old = "KEY=sk-secret-0123456789\nB=sk-secret-0123456789\n";
        let (text, _) = shown(old, "KEY=sk-other\nB=sk-secret-0123456789\n", Much::First(20));
        let marks: Vec<&str> = text.lines().skip(1).collect();
        assert!(!text.contains("sk-secret"), "{text}");
        assert!(marks[0].starts_with("  - │ KEY=") && marks[1] == "  + │ KEY=sk-other", "{text}");
        assert!(marks[2].starts_with("    │ B="), "{text}");
        // Another key in the place of one is a change.
        let (text, _) = shown("sk-secret-0123456789\n", "sk-secret-9876543210\n", Much::First(20));
        assert!(text.contains("+ │ sk-secret-9876543210"), "{text}");
    }

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

    #[test]
    fn what_cannot_be_seen_is_shown_and_what_is_left_out_is_counted() {
        assert_eq!(
            shown("a", "a\u{202e}b \n", Much::First(20)).0,
            "  1 line removed, 1 added\n  - │ a\n  + │ a\\u{202e}b␣×1\n  adds the line break at the end\n"
        );
        let new: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let (first, cut) = shown("", &new, Much::First(5));
        assert!(
            cut && first
                .ends_with("  + │ 5\n  … 25 more lines: v = view all\n  adds the line break at the end\n"),
            "{first}"
        );
        let same = shown("same\n", "same\n", Much::First(5)).0;
        assert!(same.ends_with("⋮ 1 unchanged line\n"), "{same}");
    }
}
