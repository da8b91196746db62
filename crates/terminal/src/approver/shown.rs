//! Arguments for people: complete, multi-line text as lines, with a count of what is not shown.

use converse_screen::{Line, Look, Tone, broken};
use serde_json::{Map, Value};

use super::visible::visible;
use converse_text::safe_line;

/// Values that are shown at first.
const FEW_VALUES: usize = 40;
/// Lines of one value that are shown at first, at least and at most: with the rest of the question they fit on the screen.
const FEWEST: usize = 6;
const FEW: usize = 40;
/// Rows of the change of one of several calls.
const FEWEST_OF_EACH: usize = 3;
const MOST_OF_EACH: usize = 8;
/// Rows of a question besides its longest value, mostly.
const OTHERS: usize = 16;
/// Rows of a terminal that does not report them.
const USUAL_ROWS: usize = 24;
/// More columns for text than that are always taken.
const LEAST: usize = 10;

/// How much of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Much {
    /// So many lines of each value.
    First(usize),
    All,
}

impl Much {
    /// As much as the terminal has room for.
    pub(super) fn first() -> Self {
        let rows = crate::render::output::rows(std::io::stderr()).unwrap_or(USUAL_ROWS);
        Self::First(rows.saturating_sub(OTHERS).clamp(FEWEST, FEW))
    }

    /// Rows of the change of each of so many calls.
    pub(super) fn of_each(count: usize) -> usize {
        (Self::first().lines() / count.max(1)).clamp(FEWEST_OF_EACH, MOST_OF_EACH)
    }

    pub(super) fn lines(self) -> usize {
        match self {
            Self::First(lines) => lines,
            Self::All => usize::MAX,
        }
    }
}

/// Lines, and whether there are more.
pub(super) fn arguments(arguments: &Map<String, Value>, look: &Look, much: Much) -> (Vec<Line>, bool) {
    let (mut lines, mut cut) = (Vec::new(), false);
    let most = if much == Much::All { usize::MAX } else { FEW_VALUES };
    for (name, value) in arguments.iter().take(most) {
        let mut of_value = argument(name, value, look);
        let more = of_value.len().saturating_sub(much.lines());
        if more > 0 {
            of_value.truncate(much.lines());
            let bytes = value.as_str().map_or_else(|| value.to_string().len(), str::len);
            let sign = look.either("…", "...");
            of_value.push(rest(&format!("{sign} {more} more lines, {bytes} bytes in all: v = view all")));
            cut = true;
        }
        lines.append(&mut of_value);
    }
    if arguments.len() > most {
        let more = arguments.len() - most;
        let sign = look.either("…", "...");
        lines.push(rest(&format!("{sign} {more} more arguments: v = view all")));
        cut = true;
    }
    (lines, cut)
}

/// All of them in one line, which may be long.
pub(super) fn in_short(arguments: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| format!("{} = {}", safe_line(name, 100), flat(value));
    arguments.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn rest(text: &str) -> Line {
    Line::plain("  ").with(Tone::Warning, text)
}

fn argument(name: &str, value: &Value, look: &Look) -> Vec<Line> {
    let name = safe_line(name, 200);
    let text = value.as_str().filter(|text| text.trim_end_matches('\n').contains('\n'));
    if let Some(text) = text {
        let lines: Vec<&str> = text.split_inclusive('\n').map(|line| line.trim_end_matches('\n')).collect();
        let head = format!("  {name} = {} lines, {} bytes", lines.len(), text.len());
        return headed(&head, &lines, look);
    }
    let line = Line::plain(&format!("  {name} = {}", flat(value)));
    let nested = value.is_object() || value.is_array();
    if nested && line.width() > look.width {
        let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
        let lines: Vec<&str> = pretty.lines().collect();
        return headed(&format!("  {name} ="), &lines, look);
    }
    fitted(&line, look)
}

/// What does not fit goes on behind a bar: a line that the terminal breaks could look like one of ours.
pub(super) fn fitted(line: &Line, look: &Look) -> Vec<Line> {
    broken(line, look.width.max(LEAST), &Line::toned(Tone::Dim, look.either("  │ ", "  | ")))
}

fn headed(head: &str, lines: &[&str], look: &Look) -> Vec<Line> {
    let mut all = fitted(&Line::plain(head), look);
    all.extend(numbered(lines, look));
    all
}

/// Returns any value in one line.
fn flat(value: &Value) -> String {
    match value.as_str() {
        Some(text) => visible(&format!("{text:?}"), false),
        None => visible(&value.to_string(), false),
    }
}

/// Each with its number; what is broken off has none.
fn numbered(lines: &[&str], look: &Look) -> Vec<Line> {
    let digits = lines.len().to_string().len();
    let room = look.width.saturating_sub(digits + 5).max(LEAST);
    let (mut out, bar) = (Vec::new(), look.either("│", "|"));
    for (index, line) in lines.iter().enumerate() {
        for (part, text) in
            broken(&Line::plain(&visible(line, true)), room, &Line::new()).into_iter().enumerate()
        {
            let number = if part == 0 { (index + 1).to_string() } else { String::new() };
            let mut whole = Line::toned(Tone::Dim, &format!("  {number:>digits$} {bar} "));
            whole.append(text);
            out.push(whole);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_line_is_left_to_the_terminal_to_break() {
        let long = Line::plain(&format!("  ({})", "y = yes ".repeat(20)));
        let lines = fitted(&long, &Look::plain(40));
        assert!(lines.len() > 1 && lines.iter().all(|line| line.width() <= 40));
        assert!(lines.iter().skip(1).all(|line| line.text().starts_with("  │ ")));
    }

    fn shown(value: &Value, columns: usize, much: Much) -> (String, bool) {
        let map = value.as_object().cloned().unwrap_or_default();
        let (lines, cut) = arguments(&map, &Look::plain(columns), much);
        assert!(lines.iter().all(|line| line.width() <= columns), "{lines:?}");
        (lines.iter().map(|line| line.text() + "\n").collect(), cut)
    }

    #[test]
    fn a_text_of_several_lines_is_lines() {
        for (value, columns, text) in [
            (json!({ "path": "a \"b\"", "n": 1 }), 40, "  path = \"a \\\"b\\\"\"\n  n = 1\n"),
            (
                json!({ "content": "fn a() {\n    b();  \n}\n" }),
                40,
                "  content = 3 lines, 22 bytes\n  1 │ fn a() {\n  2 │     b();␣×2\n  3 │ }\n",
            ),
            (json!({ "c": "one\n" }), 40, "  c = \"one\\n\"\n"),
            (
                json!({ "c": "0123456789abcdefghij\nx" }),
                20,
                "  c = 2 lines, 22 by\n  │ tes\n  1 │ 0123456789abcd\n    │ efghij\n  2 │ x\n",
            ),
            (json!({ "c": "0123456789abcdefghij" }), 20, "  c = \"0123456789abc\n  │ defghij\"\n"),
            (json!({ "o": { "k": [1, "\u{202e}"] } }), 40, "  o = {\"k\":[1,\"\\u{202e}\"]}\n"),
            (
                json!({ "o": { "long": "words that need", "more": true } }),
                34,
                "  o =\n  1 │ {\n  2 │   \"long\": \"words that need\",\n  3 │   \"more\": true\n  4 │ }\n",
            ),
        ] {
            assert_eq!(shown(&value, columns, Much::First(FEW)), (text.to_owned(), false));
        }
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let text: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        let value = json!({ "first": text, "last": "seen" });
        let (first, cut) = shown(&value, 60, Much::First(FEW));
        assert!(cut && first.contains("line 39\n") && !first.contains("line 40\n"), "{first}");
        assert!(
            first.contains("… 61 more lines, 792 bytes in all: v = view all") && first.contains("\"seen\"")
        );
        let (all, cut) = shown(&value, 60, Much::All);
        assert!(!cut && all.contains("line 100\n") && !all.contains("more lines"));
        let many: Map<String, Value> = (0..50).map(|number| (format!("a{number}"), json!(1))).collect();
        assert!(shown(&Value::Object(many.clone()), 60, Much::First(FEW)).0.contains("… 10 more arguments"));
        assert!(in_short(&many).starts_with("a0 = 1, a1 = 1"));
    }
}
