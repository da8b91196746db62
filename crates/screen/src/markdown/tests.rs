use converse_testkit::hang_guard;
use proptest::prelude::*;

use super::*;

const COLOUR: Look = Look { width: 80, colour: true, light: false, links: true, unicode: true };

fn shown(text: &str, look: &Look) -> String {
    markdown(text, look).iter().map(|line| line.text() + "\n").collect()
}

fn in_pieces(text: &str, cuts: &[usize], look: &Look) -> Vec<Line> {
    let (mut stream, mut lines, mut rest, mut cuts) = (Stream::new(), Vec::new(), text, cuts.iter().cycle());
    while !rest.is_empty() {
        let at = rest.floor_char_boundary(cuts.next().copied().unwrap_or(1)).max(1);
        let at = rest.ceil_char_boundary(at);
        lines.extend(stream.push(&rest[..at], look));
        rest = &rest[at..];
    }
    lines.extend(stream.end(look));
    lines
}

#[test]
fn blocks_look_like_what_they_are() {
    for (source, expected) in [
        ("# Title #\ntext\n\nmore **bold** `code`", "# Title\n\ntext\n\nmore bold `code`\n"),
        ("Title\n=====\nSub\n---\n", "# Title\n\n## Sub\n"),
        ("a\nb  \nc\\\nd<br>e", "a\nb\nc\nd\ne\n"),
        ("text:\n- a\n- b\n  - c\n    - d\n\ntext", "text:\n• a\n• b\n  ◦ c\n    ▪ d\n\ntext\n"),
        ("3. a\n3. b\n\n   more\n4. c", "3. a\n4. b\n\n   more\n5. c\n"),
        ("- a\n\n- b\nlazy\n* c", "• a\n\n• b\n  lazy\n• c\n"),
        ("- [ ] open\n- [x] done\n1. [x] n", "☐ open\n☑ done\n1. ☑ n\n"),
        ("> quote\nlazy\n> > deep\n\n> other", "│ quote\n│ lazy\n│\n│ │ deep\n\n│ other\n"),
        ("> a\n>\n> - b\n>   c\n***\n", "│ a\n│\n│ • b\n│   c\n\n────────────────────────────────────────\n"),
        ("```rust\nlet a = 1;\n\n  b\n```\nafter", "  rust\n  let a = 1;\n\n    b\n\nafter\n"),
        ("1. do:\n   ~~~~\n   x\n   ~~~\n   ~~~~\n2. y", "1. do:\n     x\n     ~~~\n2. y\n"),
        ("    code\n\n    more\n\ntext", "  code\n\n  more\n\ntext\n"),
        ("a | b\n--|--:\n1 | 2\n\nx", "a │ b\n──┼──\n1 │ 2\n\nx\n"),
        ("<div>\n<b>x</b>\n</div>\n\n<https://a.bc>", "  <div>\n  <b>x</b>\n  </div>\n\nhttps://a.bc\n"),
        ("~~no~~ &amp; &copy; \\* <i>x</i>", "no & © * <i>x</i>\n"),
        ("[here](https://a.bc/d) [a.bc](https://a.bc/d)", "here (https://a.bc/d) a.bc\n"),
        ("![pic](x.png)", "image: pic (x.png)\n"),
        ("[r]: https://a.bc\n\n[r] and [u]", "r (https://a.bc) and [u]\n"),
        ("-\n  a\n-\n\n  b\n- c", "• a\n•\n\nb\n• c\n"),
        ("\ttab\n\n-\ta\n\n\tb", "  tab\n\n• a\n\n  b\n"),
        ("a\n    # no heading\n2. no list\n", "a\n# no heading\n2. no list\n"),
        ("> # a\n     > b", "│ # a\n\n   > b\n"),
        ("> a\n===\n", "│ a\n│ ===\n"),
        ("line one\r\nline two\r\n", "line one\nline two\n"),
        ("", ""),
        ("\n\n\n", ""),
    ] {
        assert_eq!(shown(source, &Look::plain(40)), expected, "{source:?}");
    }
}

#[test]
fn a_long_line_of_code_is_whole_when_it_is_final() {
    let (look, mut stream) = (Look::plain(30), Stream::new());
    let texts = |lines: &[Line]| lines.iter().map(Line::text).collect::<Vec<_>>();
    let code = "0123456789012345678901234567890";
    assert_eq!(texts(&stream.push(&format!("```\n{code}"), &look)), Vec::<String>::new());
    assert_eq!(texts(&stream.open(&look)), ["  0123456789012345678901234567", "  ↪ 890"]);
    assert_eq!(texts(&stream.push("\n```\n", &look)), [format!("  {code}")]);
}

#[test]
fn ascii_is_enough() {
    let look = Look { unicode: false, ..Look::plain(30) };
    let text = "- a\n  - b\n- [x] c\n\n> d\n\n---\n\n```\n0123456789012345678901234567890\n```";
    let expected =
        "* a\n  - b\n[x] c\n\n| d\n\n------------------------------\n\n  0123456789012345678901234567890\n";
    assert_eq!(shown(text, &look), expected);
    assert!(shown(text, &look).is_ascii());
}

#[test]
fn colours_and_links_are_the_terminals_own() {
    for (source, painted) in [
        ("**a** *b* `c`", "\x1b[1ma\x1b[0m \x1b[3mb\x1b[0m \x1b[36mc\x1b[0m"),
        ("## H", "\x1b[1;36mH\x1b[0m"),
        ("[a.bc](https://a.bc)", "\x1b]8;;https://a.bc\x1b\\\x1b[4;4ma.bc\x1b[0m\x1b]8;;\x1b\\"),
        ("[x](javascript:y)", "\x1b[4mx\x1b[0m\x1b[2m (javascript:y)\x1b[0m"),
    ] {
        let lines: Vec<String> = markdown(source, &COLOUR).iter().map(|line| line.painted(&COLOUR)).collect();
        assert_eq!(lines.join("\n"), painted, "{source}");
    }
    let unlinked = Look { links: false, ..COLOUR };
    let line = markdown("[a](https://b.cd)", &unlinked);
    assert!(!line[0].painted(&unlinked).contains("\x1b]8"));
}

#[test]
fn nothing_that_is_decoded_acts() {
    let hostile = "&#27;[2J &#x202e;x &#x9b;1m [t](https://a.bc/&#27;\\\\&#7;) `\x1b]0;t\x07` ![&#8203;](<a&#27;b>)\n\n```a\x1b[1m\n\x1b[2J\n```\n|&#27;|b|\n|-|-|\n|\x1b|\r|\n";
    for line in markdown(hostile, &COLOUR) {
        assert!(
            !line.text().chars().any(|c| c == '\n' || c == '\t' || converse_text::is_unsafe(c)),
            "{:?}",
            line.text()
        );
        let painted = line.painted(&COLOUR);
        let kinds = painted.split('\x1b').skip(1).all(|rest| {
            let sgr = rest.strip_prefix('[').and_then(|rest| rest.split_once('m'));
            sgr.is_some_and(|(codes, _)| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'))
                || rest.starts_with("]8;;")
                || rest == "\\"
                || rest.starts_with('\\')
        });
        assert!(kinds, "{painted:?}");
    }
}

#[test]
fn long_code_comes_out_line_by_line() {
    let mut stream = Stream::new();
    let look = Look::plain(80);
    stream.push("text\n\n1. item\n   ```rust\n", &look);
    for number in 0..500 {
        let lines = stream.push(&format!("   let a{number} = 1;\n"), &look);
        assert!(lines.iter().any(|line| line.text().contains(&format!("a{number} "))), "{number}: {lines:?}");
    }
    assert_eq!(stream.open(&look), []);
}

#[test]
fn what_is_too_long_is_cut_at_the_same_place() {
    let look = Look::plain(80);
    let line = "ä word ".repeat(10_000);
    assert_eq!(in_pieces(&line, &[7, 30_000], &look), markdown(&line, &look));
    let rows = "| one | two |\n".repeat(20_000);
    let table = shown(&format!("| a | b |\n|---|---|\n{rows}"), &look);
    assert_eq!((table.matches("a   │ b").count(), table.matches("one │ two").count()), (2, 20_000));
    let mut stream = Stream::new();
    let lines = stream.push(&"and on it goes\n".repeat(10_000), &look);
    assert!(lines.len() > 1000, "a paragraph without end is held back: {}", lines.len());
}

#[test]
fn what_is_open_is_shown_as_it_will_be() {
    for (source, open) in [
        ("some **bo", "some bo"),
        ("some `co", "some `co`"),
        ("text **a** b*", "text a b"),
        ("- item", "• item"),
        ("`", ""),
        ("text\n``", "text"),
        ("``", ""),
        ("##", ""),
        ("# Ti", "# Ti"),
        ("```rust\nlet", "  rust\n  let"),
        ("```rust\na\n``", ""),
        ("a | b\n--|--\n1 | x", "a │ b\n──┼──\n1 │ x"),
    ] {
        let mut stream = Stream::new();
        stream.push(source, &Look::plain(40));
        let lines: Vec<String> = stream.open(&Look::plain(40)).iter().map(Line::text).collect();
        assert_eq!(lines.join("\n"), open, "{source:?}");
    }
}

/// A megabyte of everything in pieces of four bytes: were anything gone through again for each piece, this would take
/// hours.
#[test]
fn the_work_is_in_proportion_to_the_text() {
    let part = "# Title\n\nSome *words* with `code` and [links](https://a.bc).\n\n- one\n  - two\n\n```rust\nlet a = 1; // b\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n";
    let code = format!("```rust\n{}", "let x = \"a\"; // and more\n".repeat(8000));
    let table = format!("| a | b |\n|---|---|\n{}", "| one | two |\n".repeat(14_000));
    let deep = format!("{}x", "> - ".repeat(50_000));
    for text in [
        part.repeat(1500),
        code,
        table,
        deep,
        "word ".repeat(40_000),
        "*a _b ".repeat(30_000),
        "[".repeat(100_000),
    ] {
        let begin: String = text.chars().take(40).collect();
        hang_guard::run(&begin, move || in_pieces(&text, &[4], &Look::plain(80)));
    }
}

fn anything() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "- ",
        "* ",
        "1. ",
        "12) ",
        "> ",
        "# ",
        "## ",
        "```",
        "~~~",
        "```rust\n",
        "---\n",
        "===\n",
        "|",
        "|-|-|\n",
        "a | b\n--|--\n",
        "**",
        "*",
        "_",
        "`",
        "~~",
        "[a](https://b.cd)",
        "[",
        "](",
        ")",
        "<div>",
        "<!--",
        "-->",
        "<b>",
        "&#27;",
        "&amp;",
        "\x1b[2J",
        "\r\n",
        "\r",
        "\u{202e}",
        "日本語",
        "👩\u{200d}👧",
        "e\u{301}",
        "word",
        "longer words here",
        "[x] ",
        "\\",
        "<br>",
        "[r]: https://a.bc\n",
        "let x = \"s\"; // c\n",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn how_it_was_cut_changes_nothing(text in anything(), cuts in prop::collection::vec(1..20usize, 1..8), width in 4..120usize) {
        let look = Look { width, ..COLOUR };
        prop_assert_eq!(in_pieces(&text, &cuts, &look), markdown(&text, &look));
    }

    #[test]
    fn lines_fit_and_nothing_in_them_acts(text in anything(), width in 4..120usize, colour: bool, unicode: bool) {
        let look = Look { width, colour, light: false, links: true, unicode };
        // Code is wrapped by the terminal.
        let has_code = ["```", "~~~", "    ", "\t", "<"].iter().any(|mark| text.contains(mark));
        for line in markdown(&text, &look) {
            prop_assert!(line.width() <= width || has_code, "{:?}", line.text());
            prop_assert!(!line.text().chars().any(|c| c == '\n' || c == '\t' || converse_text::is_unsafe(c)));
        }
    }

    /// Every letter and figure that is written is shown.
    #[test]
    fn no_words_are_lost(words in prop::collection::vec("[a-z]{1,12}", 1..20), joints in prop::collection::vec(prop::sample::select(vec![" ", "\n", "\n\n", "\n- ", "\n  - ", "\n> ", "\n# ", "\n1. ", "\n```\n", "\n    ", " **", "** ", "\n\n    ", "\n| a |\n|-|\n| "]), 20), width in 10..80usize) {
        let text: String = words.iter().zip(&joints).map(|(word, joint)| word.clone() + joint).collect();
        let look = Look::plain(width);
        let all: String = markdown(&text, &look).iter().map(Line::text).collect::<String>().replace([' ', '│', '↪'], "");
        for word in words {
            // The words behind a fence name a language, of which the first is shown.
            prop_assert!(all.contains(&word) || text.contains("```"), "{word} of {text:?} in {all}");
        }
    }

    #[test]
    fn what_is_open_never_fails(text in anything(), width in 4..60usize) {
        let look = Look { width, ..COLOUR };
        let mut stream = Stream::new();
        for piece in text.split_inclusive(' ') {
            stream.push(piece, &look);
            for line in stream.open(&look) {
                prop_assert!(line.width() <= width);
            }
        }
    }

    /// The blocks are told apart as pulldown-cmark tells them apart.
    #[test]
    fn blocks_begin_where_commonmark_says(text in markings()) {
        prop_assert_eq!(ours(&text), theirs(&text), "{:?}", text);
    }
}

/// Where paragraphs, code and containers are, without tables and HTML, of which more than one reading is lawful.
fn markings() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n", "\n", "\n", "\n\n", "  ", "    ", "   ", "- ", "* ", "1. ", "7) ", "> ", ">", "# ", "```\n",
        "~~~\n", "---\n", "===\n", "a", "b", "c", "d e",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

/// The letters, each with what holds it.
fn theirs(text: &str) -> String {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let (mut out, mut held) = (String::new(), Vec::new());
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => held.push('>'),
            Event::Start(Tag::Item) => held.push('-'),
            Event::Start(Tag::Heading { .. }) => held.push('#'),
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::Heading(_)) => {
                held.pop();
            }
            Event::Text(words) | Event::Code(words) => {
                for letter in words.chars().filter(char::is_ascii_lowercase) {
                    out.extend(held.iter().chain([&letter]));
                }
            }
            _ => {}
        }
    }
    out
}

fn ours(text: &str) -> String {
    let look = Look { width: 400, ..COLOUR };
    let (mut out, mut blocks) = (Out::new(&look), Blocks::default());
    text.lines().for_each(|line| blocks.line(line, &mut out));
    blocks.end(&mut out);
    let mut all = String::new();
    for (line, held) in out.lines.iter().zip(&out.held) {
        let is_heading = line.spans().iter().any(|span| span.style.tone == crate::Tone::Heading);
        let heading = if is_heading { "#" } else { "" };
        for letter in line.text().chars().filter(char::is_ascii_lowercase) {
            all.push_str(&format!("{held}{heading}{letter}"));
        }
    }
    all
}
