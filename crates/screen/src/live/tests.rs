//! Against a terminal: what stands on it and in its scrollback after paints and resizes.

use vt100::Parser;

use super::*;
use crate::Tone;

const SIZE: Size = Size { columns: 40, rows: 10 };
const WIDE: Size = Size { columns: 100, rows: 10 };

struct Screen {
    parser: Parser,
    live: Live,
    size: Size,
}

impl Screen {
    fn new(size: Size) -> Self {
        Self { parser: parser(size), live: Live::new(), size }
    }

    fn paint(&mut self, above: &[&str], region: &[&str]) -> usize {
        let lines = |texts: &[&str]| texts.iter().map(|text| Line::plain(text)).collect::<Vec<_>>();
        let look = Look { colour: true, ..Look::plain(self.size.columns) };
        let bytes = self.live.paint(&lines(above), &lines(region), &look, self.size);
        self.parser.process(bytes.as_bytes());
        bytes.len()
    }

    fn leave(&mut self) {
        let bytes = self.live.leave();
        self.parser.process(bytes.as_bytes());
    }

    /// As xterm does it: what does not fit is cut off.
    fn cut_to(&mut self, size: Size) {
        self.parser.screen_mut().set_size(size.rows as u16, size.columns as u16);
        self.size = size;
    }

    /// As most others do it: lines are wrapped anew, and the cursor stays with its character.
    fn rewrapped_to(&mut self, size: Size) {
        let (row, column) = self.parser.screen().cursor_position();
        assert_eq!(column, 0, "the cursor rests at the beginning of a line");
        let all = all(&mut self.parser);
        let at = all.len() - SIZE.rows + row as usize;
        let end = all.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let mut parser = parser(size);
        parser.process(all[..end.max(at + 1)].join("\r\n").as_bytes());
        let below: usize = all[at..end.max(at + 1)].iter().map(|line| rows(line, size.columns)).sum();
        parser.process(format!("\r\x1b[{}A", below - 1).replace("\x1b[0A", "").as_bytes());
        (self.parser, self.size) = (parser, size);
    }

    /// The scrollback and the screen, without what is empty at their end.
    fn all(&mut self) -> Vec<String> {
        let mut all = all(&mut self.parser);
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        all
    }

    fn cursor_hidden(&self) -> bool {
        self.parser.screen().hide_cursor()
    }

    /// Text of the line that the cursor is in.
    fn at_cursor(&self) -> String {
        let (row, _) = self.parser.screen().cursor_position();
        let columns = self.size.columns as u16;
        self.parser.screen().rows(0, columns).nth(row as usize).unwrap().trim_end().to_owned()
    }
}

fn parser(size: Size) -> Parser {
    Parser::new(size.rows as u16, size.columns as u16, 10_000)
}

fn rows(line: &str, columns: usize) -> usize {
    line.chars().count().div_ceil(columns).max(1)
}

/// A line that wraps is one line.
fn all(parser: &mut Parser) -> Vec<String> {
    let (_, columns) = parser.screen().size();
    let screen = parser.screen_mut();
    screen.set_scrollback(usize::MAX);
    let back = screen.scrollback();
    let mut rows: Vec<(String, bool)> = Vec::new();
    for offset in (1..=back).rev() {
        screen.set_scrollback(offset);
        rows.push((screen.rows(0, columns).next().unwrap(), screen.row_wrapped(0)));
    }
    screen.set_scrollback(0);
    let wrapped = |index| screen.row_wrapped(index as u16);
    rows.extend(screen.rows(0, columns).enumerate().map(|(index, row)| (row, wrapped(index))));
    let (mut lines, mut joins) = (Vec::<String>::new(), false);
    for (row, wraps) in rows {
        match lines.last_mut().filter(|_| joins) {
            Some(last) => last.push_str(&row),
            None => lines.push(row),
        }
        joins = wraps;
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn a_region_grows_and_shrinks_in_place() {
    for size in [SIZE, WIDE] {
        let mut screen = Screen::new(size);
        for (above, region, shown) in [
            (&[][..], &["⠋ asking"][..], &["⠋ asking"][..]),
            (&[], &["⠙ asking"], &["⠙ asking"]),
            (&[], &["one", "two", "three"], &["one", "two", "three"]),
            (&[], &["one", "2", "three"], &["one", "2", "three"]),
            (&["done"], &["two", "three"], &["done", "two", "three"]),
            (&[], &["two"], &["done", "two"]),
            (&[], &["two", "three", "four", "five"], &["done", "two", "three", "four", "five"]),
            (&["a", "b"], &["x"], &["done", "a", "b", "x"]),
            (&[], &[], &["done", "a", "b"]),
            (&["c"], &[], &["done", "a", "b", "c"]),
            (&[], &["y"], &["done", "a", "b", "c", "y"]),
        ] {
            screen.paint(above, region);
            assert_eq!(screen.all(), shown, "{above:?} {region:?}");
            assert_eq!(screen.at_cursor(), region.first().copied().unwrap_or_default());
            assert_eq!(screen.cursor_hidden(), !region.is_empty());
        }
        screen.leave();
        assert_eq!(screen.all(), ["done", "a", "b", "c"]);
        assert_eq!((screen.at_cursor(), screen.cursor_hidden()), (String::new(), false));
    }
}

#[test]
fn nothing_is_lost_when_the_screen_scrolls() {
    let mut screen = Screen::new(SIZE);
    let mut committed = Vec::new();
    for count in 0..60 {
        let line = format!("line {count}");
        let region: Vec<String> = (0..count % 7).map(|row| format!("region {count}.{row}")).collect();
        screen.paint(&[line.as_str()], &region.iter().map(String::as_str).collect::<Vec<_>>());
        committed.push(line);
        assert_eq!(screen.all(), [committed.clone(), region].concat());
    }
}

#[test]
fn a_region_is_never_as_high_as_the_screen() {
    let mut screen = Screen::new(SIZE);
    let region: Vec<String> = (0..30).map(|row| format!("row {row}")).collect();
    let region: Vec<&str> = region.iter().map(String::as_str).collect();
    for end in [5, 8, 9, 20, 30] {
        screen.paint(&[], &region[..end]);
        assert_eq!(screen.all(), region[end.saturating_sub(8)..end], "{end}");
    }
    screen.paint(&region, &["next"]);
    assert_eq!(screen.all(), [&region[..], &["next"]].concat());
    let mut tiny = Screen::new(Size { columns: 3, rows: 1 });
    tiny.paint(&[], &["abcdef", "ghi"]);
    assert_eq!(tiny.all(), ["g…"]);
}

#[test]
fn lines_of_the_region_never_wrap() {
    let mut screen = Screen::new(SIZE);
    let wide = "日本語".repeat(20);
    screen.paint(&[], &[&"x".repeat(200), &wide, "end"]);
    let all = screen.all();
    assert_eq!(all.len(), 3);
    assert!(all[0].ends_with('…') && all[1].ends_with('…') && all[2] == "end", "{all:?}");
}

#[test]
fn what_is_final_may_wrap() {
    let mut screen = Screen::new(SIZE);
    let (full, long) = ("f".repeat(40), "l".repeat(95));
    screen.paint(
        &[],
        &["old region line that is rather long", "second of them", "the third is longer than the rest of l"],
    );
    screen.paint(&[&long, &full], &["region"]);
    screen.paint(&[&full, &long], &["region", "more"]);
    screen.leave();
    assert_eq!(screen.all(), [long.clone(), full.clone(), full, long]);
}

#[test]
fn a_resize_leaves_nothing_behind_and_takes_nothing_away() {
    type Resize = fn(&mut Screen, Size);
    let resizes: [(&str, Resize); 2] = [("cut", Screen::cut_to), ("rewrapped", Screen::rewrapped_to)];
    for (how, resize) in resizes {
        for (from, to) in [(40, 15), (40, 100), (100, 40), (40, 39), (40, 41), (100, 20)] {
            let mut screen = Screen::new(Size { columns: from, rows: 10 });
            screen.paint(&["final"], &["a", &"b".repeat(37), &"c".repeat(60)]);
            resize(&mut screen, Size { columns: to, rows: 10 });
            screen.paint(&[], &["a", "b", "c"]);
            assert_eq!(screen.all(), ["final", "a", "b", "c"], "{how} {from} → {to}");
            assert_eq!(screen.at_cursor(), "a");
            resize(&mut screen, Size { columns: from, rows: 10 });
            screen.paint(&["more"], &["a"]);
            screen.leave();
            assert_eq!(screen.all(), ["final", "more"], "{how} {from} → {to} → {from}");
        }
    }
}

#[test]
fn words_of_somebody_else_stay_and_hurt_nothing() {
    let mut screen = Screen::new(SIZE);
    screen.paint(&["final"], &["aaaa", "bbbb"]);
    screen.parser.process(b"\x1b[Kforeign\r\n");
    screen.paint(&[], &["aaaa", "cccc"]);
    screen.paint(&["more"], &["dddd"]);
    screen.leave();
    assert_eq!(screen.all(), ["final", "foreign", "more"]);
}

#[test]
fn only_what_changed_is_written() {
    let mut screen = Screen::new(WIDE);
    let lines: Vec<String> = (0..6).map(|row| format!("{row}").repeat(90)).collect();
    let mut region: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert!(screen.paint(&[], &region) > 540);
    assert_eq!(screen.paint(&[], &region), 0, "nothing changed");
    region[5] = "short";
    assert!(screen.paint(&[], &region) < 80);
    region.push("another");
    assert!(screen.paint(&[], &region) < 80);
    assert_eq!(screen.all(), region);
}

#[test]
fn all_of_it_is_one_update_that_ends_as_it_began() {
    let mut live = Live::new();
    let look = Look { colour: true, ..Look::plain(40) };
    let region = [Line::toned(Tone::Ok, "green")];
    let bytes = live.paint(&[Line::plain("above")], &region, &look, SIZE);
    assert!(bytes.starts_with(SYNCHRONISED) && bytes.ends_with(SHOWN_AT_ONCE), "{bytes:?}");
    assert_eq!(bytes.matches(NO_WRAP).count(), bytes.matches(WRAP).count());
    assert!(bytes.contains("\x1b[32mgreen\x1b[0m"), "{bytes:?}");
    for forbidden in ["\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[?1049"] {
        assert!(!bytes.contains(forbidden), "{bytes:?}");
    }
}
