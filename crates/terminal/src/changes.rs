//! Changes of a text, for people: the lines that go and those that come, with the changed words marked, and a few lines
//! around them.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;

use converse_host::secrets::Redactor;
use converse_screen::{Line, Look, Style, Tone, broken};
use converse_text::difference::{Difference, Side};
use converse_text::wording::counted;

use crate::approver::visible;

/// Bytes of a file that is compared.
const MOST_BYTES: u64 = 1024 * 1024;
/// Unchanged lines that are shown around changed ones, at most.
const CONTEXT: usize = 3;
/// Bytes of a line in which words are compared.
const LONGEST: usize = 400;
/// Pairs of lines of which words are compared at once; others are shown without marks.
const MOST_MARKED: usize = 200;
/// Columns for text, at least.
const LEAST: usize = 10;

/// The lines that differ in two texts, with [`CONTEXT`] lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changes {
    rows: Vec<Row>,
    removed: usize,
    pub(crate) added: usize,
    /// Whether the last line gets a line break or loses it.
    ends: Option<bool>,
    /// Changed lines that are not kept.
    dropped: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Row {
    Line(Side, String),
    /// So many unchanged lines.
    Skipped(usize),
}

impl Row {
    fn is_changed(&self) -> bool {
        matches!(self, Self::Line(Side::Old | Side::New, _))
    }
}

/// How changes are drawn. Text of a file is redacted.
#[derive(Clone, Copy)]
pub(crate) struct Paint<'a> {
    pub(crate) look: &'a Look,
    pub(crate) redactor: &'a Redactor,
    /// New lines are redacted too. What is asked about is shown as it runs.
    pub(crate) cleans_new: bool,
}

/// What is drawn of changes.
pub(crate) struct Drawn {
    pub(crate) lines: Vec<Line>,
    /// Changed lines that are left out.
    pub(crate) left: usize,
    /// Whether more lines around them could be shown.
    pub(crate) hides: bool,
}

impl Changes {
    pub(crate) fn between(old: &str, new: &str) -> Self {
        let difference = Difference::between(old, new);
        let all: Vec<(Side, &str)> = difference.lines().collect();
        let count = |wanted: Side| all.iter().filter(|(side, _)| *side == wanted).count();
        let is_changed = |at: usize| all.get(at).is_some_and(|(side, _)| *side != Side::Both);
        let mut rows = Vec::new();
        for (at, (side, line)) in all.iter().enumerate() {
            if near(at, CONTEXT).any(is_changed) {
                rows.push(Row::Line(*side, (*line).to_owned()));
            } else if let Some(Row::Skipped(count)) = rows.last_mut() {
                *count += 1;
            } else {
                rows.push(Row::Skipped(1));
            }
        }
        let ends =
            (!old.is_empty() && old.ends_with('\n') != new.ends_with('\n')).then(|| new.ends_with('\n'));
        Self { rows, removed: count(Side::Old), added: count(Side::New), ends, dropped: 0 }
    }

    /// Drops what is beyond so many bytes, and counts it.
    pub(crate) fn bounded(mut self, most: usize) -> Self {
        let mut bytes = 0;
        let length = |row: &Row| if let Row::Line(_, line) = row { line.len() } else { 0 };
        let fits = self.rows.iter().take_while(|row| {
            bytes += length(row);
            bytes <= most
        });
        let rest = self.rows.split_off(fits.count());
        self.dropped += rest.iter().filter(|row| row.is_changed()).count();
        self
    }

    /// `1 line removed, 1 added`.
    pub(crate) fn sums(&self) -> String {
        match (self.removed, self.added) {
            (0, added) => format!("{} added", counted(added, "line")),
            (removed, 0) => format!("{} removed", counted(removed, "line")),
            (removed, added) => format!("{} removed, {added} added", counted(removed, "line")),
        }
    }

    /// The lines that differ and some around them, in about so many rows. `more` says how to see the rest.
    pub(crate) fn drawn(&self, most: usize, paint: Paint<'_>, more: impl Fn(usize) -> String) -> Drawn {
        let context = match most {
            0..=3 => 0,
            4..=7 => 1,
            8..=11 => 2,
            _ => CONTEXT,
        };
        let is_near = |at: usize| near(at, context).any(|at| self.rows.get(at).is_some_and(Row::is_changed));
        let (mut lines, mut skipped, mut hides, mut cut, mut at) = (Vec::new(), 0, false, 0, 0);
        while let Some(row) = self.rows.get(at).filter(|_| lines.len() < most) {
            let rest = self.rows.get(at..).unwrap_or_default();
            let length = rest.iter().take_while(|row| row.is_changed()).count();
            at += length.max(1);
            match row {
                Row::Skipped(count) => skipped += count,
                Row::Line(..) if !is_near(at - length.max(1)) => (skipped, hides) = (skipped + 1, true),
                Row::Line(side, line) => {
                    lines.extend(paint.skipped(skipped).filter(|_| !lines.is_empty() || context > 1));
                    skipped = 0;
                    if length == 0 {
                        lines.extend(paint.unchanged(*side, line));
                    } else {
                        let group = rest.get(..length).unwrap_or_default();
                        lines.extend(paint.replaced(group, most.saturating_sub(lines.len())));
                        cut = lines.len().saturating_sub(most);
                    }
                }
            }
        }
        let rest = self.rows.get(at..).unwrap_or_default();
        let changed = rest.iter().filter(|row| row.is_changed()).count();
        let left = cut + changed + self.dropped;
        lines.truncate(most);
        if left > 0 {
            let sign = paint.look.either("…", "...");
            lines.push(Line::plain("  ").with(Tone::Warning, &format!("{sign} {}", more(left))));
        } else {
            hides |= rest.iter().any(|row| matches!(row, Row::Line(..)));
            let count = |row: &Row| if let Row::Skipped(count) = row { *count } else { 1 };
            let skipped = skipped + rest.iter().map(count).sum::<usize>();
            lines.extend(paint.skipped(skipped).filter(|_| context > 1));
        }
        if let Some(adds) = self.ends {
            let verb = if adds { "adds" } else { "removes" };
            lines.push(Line::plain(&format!("  {verb} the line break at the end")));
        }
        Drawn { lines, left, hides }
    }
}

/// Returns the text of a file; `None` if it is too large to be compared, or no text.
pub(crate) fn content(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MOST_BYTES)
}

/// Returns a number by which the same change is known again, whatever its ends of lines.
pub(crate) fn fingerprint(old: &str, new: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    [old, new].map(|text| text.replace("\r\n", "\n")).hash(&mut hasher);
    hasher.finish()
}

/// The places around one.
fn near(at: usize, context: usize) -> impl Iterator<Item = usize> {
    at.saturating_sub(context)..=at + context
}

impl Paint<'_> {
    /// The mark of lines that are left out.
    fn skipped(self, count: usize) -> Option<Line> {
        let text = || format!("    {} {}", self.look.either("⋮", ":"), counted(count, "unchanged line"));
        (count > 0).then(|| Line::toned(Tone::Dim, &text()))
    }

    fn unchanged(self, side: Side, line: &str) -> Vec<Line> {
        gutter(" ", Tone::Dim, Line::toned(Tone::Dim, &self.shape(side, line)), self.look)
    }

    /// Lines that are replaced, with the words that differ. What follows the first `room` rows is shown as it is.
    fn replaced(self, group: &[Row], room: usize) -> Vec<Line> {
        let of = |wanted: Side| {
            let lines = group.iter().filter_map(move |row| match row {
                Row::Line(side, line) if *side == wanted => Some((*side, line)),
                _ => None,
            });
            lines.map(move |(side, line)| self.shape(side, line))
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

    /// In a shape that hides nothing.
    fn shape(self, side: Side, line: &str) -> String {
        let line = line.trim_end_matches('\n');
        let is_clean = side == Side::New && !self.cleans_new;
        visible(&if is_clean { line.to_owned() } else { self.redactor.clean_line(line) }, true)
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

    fn drawn(old: &str, new: &str, most: usize) -> Drawn {
        let redactor = Redactor::default();
        redactor.learn([Secret::new("sk-secret-0123456789")]);
        let paint = Paint { look: &Look::plain(40), redactor: &redactor, cleans_new: false };
        Changes::between(old, new).drawn(most, paint, |left| format!("{left} more lines"))
    }

    fn shown(old: &str, new: &str, most: usize) -> (String, usize, bool) {
        let Drawn { lines, left, hides } = drawn(old, new, most);
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
        (lines.iter().map(|line| line.text() + "\n").collect(), left, hides)
    }

    /// Forty lines of which these are changed.
    fn forty(changed: &[usize]) -> (String, String) {
        let line = |number: usize, word: &str| format!("line {number} is {word}\n");
        let word = |number| if changed.contains(&number) { "new" } else { "old" };
        let new = (1..=40).map(|number| line(number, word(number))).collect();
        ((1..=40).map(|number| line(number, "old")).collect(), new)
    }

    #[test]
    fn one_word_of_many_lines_is_few_rows() {
        let (old, new) = forty(&[20]);
        let changed = "  - │ line 20 is old\n  + │ line 20 is new\n";
        let around = |context: usize| {
            let line = |number| format!("    │ line {number} is old\n");
            let before: String = (20 - context..20).map(line).collect();
            let after: String = (21..=20 + context).map(line).collect();
            let (above, below) = (19 - context, 20 - context);
            format!("    ⋮ {above} unchanged lines\n{before}{changed}{after}    ⋮ {below} unchanged lines\n")
        };
        assert_eq!(shown(&old, &new, usize::MAX), (around(3), 0, false), "and never all of the file");
        assert_eq!(shown(&old, &new, 8), (around(2), 0, true));
        let (short, left, hides) = shown(&old, &new, 6);
        assert!(short.starts_with("    │ line 19 is old\n  - │") && short.lines().count() == 4, "{short}");
        assert!(left == 0 && hides);
        let marked = drawn(&old, &new, 20).lines.into_iter().find(|line| line.text().contains('+')).unwrap();
        let look = Look { colour: true, ..Look::plain(40) };
        assert!(marked.painted(&look).contains("\x1b[32;1mnew"), "{:?}", marked.painted(&look));
    }

    #[test]
    fn changes_that_are_far_apart_have_a_mark_between_them() {
        let (old, new) = forty(&[5, 30]);
        let (all, left, _) = shown(&old, &new, usize::MAX);
        let marks: Vec<&str> = all.lines().filter(|line| line.contains('⋮')).collect();
        assert_eq!(marks, ["    ⋮ 1 unchanged line", "    ⋮ 18 unchanged lines", "    ⋮ 7 unchanged lines"]);
        assert!(left == 0 && all.lines().count() == 3 + 2 * 8, "{all}");
        // The first ones that fit, and a count of the others.
        let (first, left, _) = shown(&old, &new, 7);
        assert!(left == 1 && first.contains("    ⋮ 22 unchanged lines\n    │ line 29 is old\n"), "{first}");
        let (first, left, _) = shown(&old, &new, 5);
        assert!(left == 2 && first.ends_with("    ⋮ 22 unchanged lines\n  … 2 more lines\n"), "{first}");
    }

    #[test]
    fn a_key_of_the_file_is_not_shown_and_hides_no_change() {
        let old = "KEY=sk-secret-0123456789\nB=sk-secret-0123456789\n";
        let (text, ..) = shown(old, "KEY=sk-other\nB=sk-secret-0123456789\n", 20);
        let marks: Vec<&str> = text.lines().collect();
        assert!(!text.contains("sk-secret"), "{text}");
        assert!(marks[0].starts_with("  - │ KEY=") && marks[1] == "  + │ KEY=sk-other", "{text}");
        assert!(marks[2].starts_with("    │ B="), "{text}");
        // Another key in the place of one is a change.
        let (text, ..) = shown("sk-secret-0123456789\n", "sk-secret-9876543210\n", 20);
        assert!(text.contains("+ │ sk-secret-9876543210"), "{text}");
    }

    #[test]
    fn what_cannot_be_seen_is_shown_and_what_is_left_out_is_counted() {
        let ends = "  adds the line break at the end\n";
        assert_eq!(shown("a", "a\u{202e}b \n", 20).0, format!("  - │ a\n  + │ a\\u{{202e}}b␣×1\n{ends}"));
        let new: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let (first, left, _) = shown("x", &new, 5);
        assert!(left == 26 && first.ends_with(&format!("  + │ 4\n  … 26 more lines\n{ends}")), "{first}");
        assert_eq!(shown("same\n", "same\n", 8), ("    ⋮ 1 unchanged line\n".to_owned(), 0, false));
        let bounded = Changes::between("", &new).bounded(6);
        assert_eq!((bounded.rows.len(), bounded.dropped, bounded.added), (3, 27, 30));
    }
}
