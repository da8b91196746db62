//! A list from which one entry is picked: by arrows, by its number, or by words that search in it.

use std::ops::Range;
use std::time::Instant;

use converse_editor::{Choosing, Picked};
use converse_screen::{Line, Look, Tone};
use converse_text::safe_line;

use super::asking::{Options, by_key, keyboard_of};
use super::menu::hint_rows;
use crate::render::table::within;
use crate::view::{TerminalView, end_of, in_letters};

/// Entries that are drawn at once.
const VISIBLE: usize = 10;
/// Characters of a line below an entry.
const PREVIEW: usize = 200;
/// Characters of words that are told.
const WORDS: usize = 60;
/// What is below an entry begins under its name.
pub(crate) const INDENT: &str = "     ";

/// What is listed.
pub(crate) trait Listing {
    type Item: Clone;
    /// Above the list.
    const QUESTION: &'static str;
    /// What a line may say, where nothing is drawn.
    const LEGEND: &'static str;

    /// Returns what the words find, the best first; without words, all.
    fn found(&mut self, words: &str) -> Vec<Self::Item>;

    /// Said where the words find nothing.
    fn nothing(&self, words: &str) -> String;

    /// The names of the cells.
    fn heading(&self) -> Vec<String>;

    fn cells(&self, item: &Self::Item) -> Vec<String>;

    /// Lines below an entry.
    fn preview(&mut self, _: &Self::Item) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether words that find nothing are an answer all the same.
    fn takes(&self, _: &str) -> bool {
        false
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick<T> {
    Entry(T),
    /// Words that find nothing.
    Words(String),
    Nothing,
}

/// The heading and the cells of these entries, of which the first has this number.
pub(crate) fn rows_of<L: Listing>(listing: &L, items: &[L::Item], number: usize) -> Vec<Vec<String>> {
    let numbered = |(number, mut cells): (String, Vec<String>)| {
        cells.insert(0, number);
        cells
    };
    let cells = items.iter().map(|item| listing.cells(item));
    let cells = (number..).map(|number| number.to_string()).zip(cells);
    [(String::new(), listing.heading())].into_iter().chain(cells).map(numbered).collect()
}

/// Returns whether [`pick`] can ask.
pub(crate) fn picks_by_key(view: &TerminalView) -> bool {
    keyboard_of(view).is_some()
}

/// Lets the user pick an entry of those that the words find, by keys.
pub(crate) async fn pick<L: Listing>(view: &TerminalView, listing: &mut L, words: &str) -> Pick<L::Item> {
    let Some(keyboard) = keyboard_of(view) else { return Pick::Nothing };
    let mut picker = Picker::new(listing, words);
    let picked = view.suspended(|| by_key(view, "", &mut picker, &keyboard)).await;
    picked.unwrap_or(Pick::Nothing)
}

struct Picker<'l, L: Listing> {
    listing: &'l mut L,
    /// The words that were given with the command; a number means one of what they find.
    given: String,
    /// The words that are typed already.
    begins: String,
    /// The words that the entries below are for; `None`: none are offered yet.
    words: Option<String>,
    /// What was searched for last.
    query: Option<String>,
    found: Vec<L::Item>,
    /// The first entry that is drawn.
    first: usize,
}

impl<'l, L: Listing> Picker<'l, L> {
    fn new(listing: &'l mut L, words: &str) -> Self {
        let (given, begins) = (words.trim().to_owned(), String::new());
        Self { listing, given, begins, words: None, query: None, found: Vec::new(), first: 0 }
    }

    /// Offers what the words find. A number selects among those that the given words find.
    fn follow(&mut self, choosing: &mut Choosing) {
        let words = choosing.words().trim();
        if self.words.as_deref() == Some(words) {
            // Blanks and keys that change no words leave what is selected.
            choosing.offer(self.found.len(), choosing.selected());
            return;
        }
        let place = self.search(words);
        self.words = Some(words.to_owned());
        choosing.offer(self.found.len(), place);
    }

    /// Finds what the words find, and returns the place of the entry that they mean. A number means one of those that the given words find.
    fn search(&mut self, words: &str) -> usize {
        let place = words.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(place) = place {
            self.find("");
            if place < self.found.len() {
                return place;
            }
        }
        self.find(words);
        0
    }

    fn find(&mut self, words: &str) {
        let query = format!("{} {words}", self.given).trim().to_owned();
        if self.query.as_ref() != Some(&query) {
            self.found = self.listing.found(&query);
            (self.query, self.first) = (Some(query), 0);
        }
    }

    /// What was searched for last.
    fn query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// The entries that so many rows have room for, the selected one among them.
    fn window(&mut self, selected: usize, room: usize) -> Range<usize> {
        let Self { listing, found, .. } = self;
        let mut height = |at: usize| found.get(at).map_or(1, |item| 1 + listing.preview(item).len());
        let (mut first, mut rows) = (selected, height(selected));
        let least = self.first.min(selected).max((selected + 1).saturating_sub(VISIBLE));
        while first > least && rows + height(first - 1) <= room {
            first -= 1;
            rows += height(first);
        }
        let mut end = selected + 1;
        while end < found.len() && end - first < VISIBLE && rows + height(end) <= room {
            rows += height(end);
            end += 1;
        }
        self.first = first;
        first..end
    }

    fn entries(&mut self, selected: usize, shown: Range<usize>, look: &Look) -> Vec<Line> {
        let items: Vec<L::Item> = self.found.get(shown.clone()).unwrap_or_default().to_vec();
        let spelt = |text: &str| if look.unicode { text.to_owned() } else { in_letters(text) };
        let mut rows = within(&rows_of(self.listing, &items, shown.start + 1), 0).into_iter();
        let heading = rows.next().map(|row| Line::toned(Tone::Dim, &format!("  {}", spelt(row.trim_end()))));
        let mut lines: Vec<Line> = heading.into_iter().collect();
        for ((at, row), item) in shown.zip(rows).zip(&items) {
            let (sign, tone) = match at == selected {
                true => (look.either("❯", ">"), Tone::Accent),
                false => (" ", Tone::Plain),
            };
            lines.push(Line::toned(tone, &format!("{sign} {}", spelt(row.trim_end()))));
            lines.extend(self.listing.preview(item).iter().map(|text| {
                Line::toned(Tone::Dim, &format!("{INDENT}{}", spelt(&safe_line(text, PREVIEW))))
            }));
        }
        lines
    }

    fn hint(&self, shown: &Range<usize>) -> String {
        let words = self.words.as_deref().unwrap_or_default();
        let is_all = shown.len() == self.found.len();
        let part = match is_all {
            true => String::new(),
            false => format!("{}-{} of {}; ", shown.start + 1, shown.end, self.found.len()),
        };
        match (words.is_empty(), self.found.is_empty()) {
            (true, _) => format!("{part}arrows and Enter, or a number; words search; Esc leaves"),
            (false, false) => format!("{part}Enter takes the selected one; Esc clears the words"),
            (false, true) if self.listing.takes(self.query()) => {
                format!("Enter takes {} all the same; Esc clears the words", safe_line(words, WORDS))
            }
            (false, true) => "Esc clears the words".to_owned(),
        }
    }
}

impl<L: Listing> Options for Picker<'_, L> {
    type Answer = Pick<L::Item>;

    fn choosing(&mut self, _: Option<Instant>) -> Choosing {
        if let Some(words) = self.words.take() {
            self.begins = words;
        }
        Choosing::list(&self.begins)
    }

    fn rows(&mut self, choosing: &mut Choosing, look: &Look, most: usize) -> Vec<Line> {
        self.follow(choosing);
        let selected = choosing.selected();
        let mut title = Line::toned(Tone::Strong, L::QUESTION);
        if !self.given.is_empty() {
            title.push(Tone::Plain, &format!(" {}", safe_line(&self.given, WORDS)));
        }
        if !choosing.words().is_empty() {
            let room = look.width.saturating_sub(title.width() + 3).max(8);
            title.push(Tone::Plain, &format!(" {}", end_of(choosing.words(), room)));
            title.push(Tone::Accent, look.either("▏", "_"));
        }
        // As if nothing was left out, which takes the most room.
        let below = hint_rows(&self.hint(&(0..0)), look).len();
        let shown = self.window(selected, most.saturating_sub(below + 2).max(1));
        let mut rows = vec![title];
        match self.found.is_empty() {
            true => {
                let nothing = self.listing.nothing(self.query());
                rows.extend(hint_rows(&nothing, look));
            }
            false => rows.extend(self.entries(selected, shown.clone(), look)),
        }
        rows.extend(hint_rows(&self.hint(&shown), look));
        rows
    }

    fn answer(&mut self, picked: &Picked) -> Option<(Self::Answer, Option<Line>)> {
        let answer = match picked {
            Picked::Option(at) | Picked::Letter(at) => Pick::Entry(self.found.get(*at)?.clone()),
            Picked::Words(words) => {
                let place = self.search(words);
                self.words = Some(words.clone());
                match self.found.get(place) {
                    Some(item) => Pick::Entry(item.clone()),
                    None if self.listing.takes(self.query()) => Pick::Words(words.clone()),
                    None => return None,
                }
            }
            Picked::Nothing | Picked::Suspend => Pick::Nothing,
        };
        Some((answer, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in words, each with itself below.
    struct Fruit(Vec<&'static str>);

    impl Listing for Fruit {
        type Item = &'static str;
        const QUESTION: &'static str = "which fruit?";
        const LEGEND: &'static str = "its number";

        fn found(&mut self, words: &str) -> Vec<&'static str> {
            let has = |name: &&str| words.split_whitespace().all(|word| name.contains(word));
            self.0.iter().copied().filter(has).collect()
        }

        fn nothing(&self, words: &str) -> String {
            format!("no fruit contains {words}")
        }

        fn heading(&self) -> Vec<String> {
            vec!["name".to_owned(), "length".to_owned()]
        }

        fn cells(&self, item: &&'static str) -> Vec<String> {
            vec![(*item).to_owned(), item.len().to_string()]
        }

        fn preview(&mut self, item: &&'static str) -> Vec<String> {
            if item.contains("apple") { vec![format!("❯ {item}?\u{1b}")] } else { Vec::new() }
        }

        fn takes(&self, words: &str) -> bool {
            words.starts_with('k')
        }
    }

    const NAMES: [&str; 14] = [
        "apple",
        "pear",
        "pineapple",
        "plum",
        "fig",
        "cherry",
        "lime",
        "lemon",
        "quince",
        "peach",
        "mango",
        "papaya",
        "orange",
        "grape",
    ];

    /// What is drawn after these keys, and the last answer.
    fn plays(
        words: &str,
        keys: &[&[u8]],
        look: &Look,
        most: usize,
    ) -> (Vec<String>, Option<Pick<&'static str>>) {
        let mut fruit = Fruit(NAMES.to_vec());
        let mut picker = Picker::new(&mut fruit, words);
        let mut choosing = picker.choosing(None);
        let mut rows = picker.rows(&mut choosing, look, most);
        let mut answer = None;
        for key in keys {
            let mut picked = choosing.hears(key, Instant::now());
            if *key == b"\x1b" {
                picked = choosing.pauses(Instant::now() + std::time::Duration::from_secs(1));
            }
            answer = picked.and_then(|picked| picker.answer(&picked)).map(|(answer, _)| answer);
            rows = picker.rows(&mut choosing, look, most);
        }
        (rows.iter().map(Line::text).collect(), answer)
    }

    #[test]
    fn entries_are_rows_of_which_as_many_are_drawn_as_fit() {
        let look = Look::plain(80);
        let (rows, _) = plays("", &[b"\x1b[B"], &look, 9);
        let expected = [
            "which fruit?",
            "     name       length",
            "  1  apple      5",
            "     ❯ apple?\\x1b",
            "❯ 2  pear       4",
            "  3  pineapple  9",
            "     ❯ pineapple?\\x1b",
            "  4  plum       4",
            "  1-4 of 14; arrows and Enter, or a number; words search; Esc leaves",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn words_search_and_a_number_selects() {
        let look = Look::plain(80);
        for (words, keys, picked) in [
            ("", &[&b"\r"[..]][..], Some(Pick::Entry("apple"))),
            ("", &[b"3\r"], Some(Pick::Entry("pineapple"))),
            ("", &[b"quin\r"], Some(Pick::Entry("quince"))),
            ("", &[b"p", b"\x7f3\r"], Some(Pick::Entry("pineapple"))),
            ("ap", &[b"2\r"], Some(Pick::Entry("pineapple"))),
            ("ap", &[b"ya", b"\r"], Some(Pick::Entry("papaya"))),
            ("", &[b"1", b"4", b"\r"], Some(Pick::Entry("grape"))),
            ("", &[b"14", b"\x1b[A", b"\r"], Some(Pick::Entry("orange"))),
            ("", &[b"14", b"\x7f", b"\r"], Some(Pick::Entry("apple"))),
            ("", &[b"le", b"\x1b[B\x1b[B", b"\r"], Some(Pick::Entry("lemon"))),
            ("", &[b"le", b" ", b"\x1b[B\x1b[B", b"\r"], Some(Pick::Entry("lemon"))),
            ("", &[b"\x7f", b"\x1b[B", b"\r"], Some(Pick::Entry("pear"))),
            ("ap", &[b"\r"], Some(Pick::Entry("apple"))),
            ("ap", &[b"\x1b"], Some(Pick::Nothing)),
            ("", &[b"15", b"\r"], None),
            ("", &[b"xyz", b"\r"], None),
            ("", &[b"kiwi", b"\r"], Some(Pick::Words("kiwi".to_owned()))),
            ("", &[b"\x1b"], Some(Pick::Nothing)),
            ("", &[b"ap", b"\x1b", b"\x1b[B", b"\r"], Some(Pick::Entry("pear"))),
        ] {
            assert_eq!(plays(words, keys, &look, 20).1, picked, "{words} {keys:?}");
        }
        let (rows, _) = plays("", &[b"lem"], &look, 20);
        let hint = "  Enter takes the selected one; Esc clears the words";
        assert_eq!(rows, ["which fruit? lem▏", "     name   length", "❯ 1  lemon  5", hint]);
        let (rows, _) = plays("", &[b"xyz"], &look, 20);
        assert_eq!(rows, ["which fruit? xyz▏", "  no fruit contains xyz", "  Esc clears the words"]);
        let (rows, _) = plays("", &[b"kiwi"], &look, 20);
        assert_eq!(rows[2], "  Enter takes kiwi all the same; Esc clears the words");
        let (rows, _) = plays("ap", &[b"y"], &look, 20);
        assert_eq!(rows[0], "which fruit? ap y▏");
    }

    #[test]
    fn rows_fit_into_a_small_screen_and_ascii() {
        let look = Look { unicode: false, ..Look::plain(40) };
        for most in [6, 9, 30] {
            for (down, name) in NAMES.iter().enumerate() {
                let keys = vec![&b"\x1b[B"[..]; down];
                let (rows, _) = plays("", &keys, &look, most);
                assert!(
                    rows.len() <= most && rows.iter().all(|row| row.as_str().is_ascii()),
                    "{most} {down} {rows:#?}"
                );
                let selected: Vec<&String> = rows.iter().filter(|row| row.starts_with('>')).collect();
                assert!(selected.len() == 1 && selected[0].contains(name), "{rows:#?}");
            }
        }
    }
}
