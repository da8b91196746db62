//! The editor as a person uses it, through a terminal of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod terminal;

use terminal::{Manner, Terminal};

const CTRL_A: &str = "\x01";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_J: &str = "\n";
const CTRL_O: &str = "\x0f";
const CTRL_R: &str = "\x12";
const CTRL_Z: &str = "\x1a";
const ALT_ENTER: &str = "\x1b\r";
/// As a terminal that reads lines itself hands it on.
const ALT_ENTER_BEFORE: &str = "\x1b\n";
const UP: &str = "\x1b[A";
const RIGHT: &str = "\x1b[C";

fn drawn() -> Terminal {
    drawn_with(&[])
}

fn drawn_with(words: &[&str]) -> Terminal {
    let mut terminal = Terminal::run(words, Manner::Answers);
    terminal.shows("drawn");
    terminal.begins();
    terminal
}

fn pasted(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

#[test]
fn what_is_typed_is_read() {
    let mut terminal = drawn();
    terminal.shows("provider/model ❯");
    for (keys, entry) in [
        ("hello\r", "got \"hello\""),
        ("Привет, 日本 👩‍🚀!\r", "got \"Привет, 日本 👩\\u{200d}🚀!\""),
        ("日本\x1b[D\x7fx\r", "got \"x本\""),
        ("wow!!\r", "got \"wow!!\""),
        ("!!\r", "got \"!!\""),
        ("\r", "got \"\""),
        ("end\x01begin \r", "got \"begin end\""),
    ] {
        terminal.enters(keys);
        terminal.shows(entry);
    }
    terminal.leaves();
}

#[test]
fn shift_tab_switches_and_keeps_the_line() {
    let mut terminal = drawn();
    terminal.types("hel");
    terminal.shows("provider/model ❯ hel");
    terminal.types("\x1b[Z");
    terminal.shows("provider/model + ❯ hel");
    terminal.types("lo\x1b[Z");
    terminal.shows("provider/model ++ ❯ hello");
    terminal.enters("!\r");
    terminal.shows("got \"hello!\"");
    terminal.leaves();
}

#[test]
fn several_lines_are_one_entry() {
    let mut terminal = drawn();
    for (keys, entry) in [
        (pasted("one\rtwo\rthree") + "\r", "got \"one\\ntwo\\nthree\""),
        (pasted("a \\\r\n b") + "\r", "got \"a \\\\\\n b\""),
        ("c\\\rd\r".to_owned(), "got \"c\\nd\""),
        (format!("e{ALT_ENTER}f\r"), "got \"e\\nf\""),
        (format!("e{ALT_ENTER_BEFORE}g\r"), "got \"e\\ng\""),
        (format!("g{CTRL_J}h{CTRL_J}i\r"), "got \"g\\nh\\ni\""),
        ("\"\"\"\rj\r\rk\r\"\"\"\r".to_owned(), "got \"j\\n\\nk\""),
        (pasted("tab\there") + "\r", "got \"tab\\there\""),
    ] {
        terminal.enters(&keys);
        terminal.shows(entry);
    }
    terminal.types(&pasted("one\rlast"));
    terminal.shows("… last");
    terminal.enters("\r");
    terminal.leaves();
}

#[test]
fn a_command_that_comes_at_once_with_its_enter_waits_for_another() {
    let mut terminal = drawn();
    for (keys, shown, entry) in [
        ("!one\r", "…", "got \"!one\\n\""),
        ("!two\r\rmore\r", "… more\n…", "got \"!two\\n\\nmore\\n\""),
        ("text\r!three\r", "❯ !three\n…", "got \"!three\\n\""),
    ] {
        terminal.types_at_once(keys);
        terminal.shows(shown);
        terminal.enters("\r");
        terminal.shows(entry);
        terminal.enters("\x0c");
    }
    terminal.types("!four");
    terminal.shows("❯ !four");
    terminal.enters("\r");
    terminal.shows("got \"!four\"");
    terminal.leaves();

    let mut terminal = Terminal::run(&["--plain"], Manner::Plain);
    terminal.shows("provider/model>");
    terminal.types_at_once("text\r!one\r");
    terminal.shows("> .");
    terminal.enters("\r");
    terminal.shows("got \"!one\\n\"");
    terminal.enters("!two\r");
    terminal.shows("got \"!two\"");
    terminal.leaves();
}

#[test]
fn a_picture_stands_in_the_line_and_one_key_removes_it() {
    let mut terminal = drawn();
    terminal.enters(&format!("see {}\r", pasted("/dropped")));
    terminal.shows("got \"see [a picture]\"");
    for removes in ["\x7f", "\x17"] {
        terminal.types("look: \x16");
        terminal.shows("❯ look: [a picture]");
        terminal.enters(&format!("{removes}!\r"));
        terminal.shows("got \"look: !\"");
        terminal.enters("\x0c");
    }
    // Where the cursor is.
    terminal.types("ab\x1b[D\x16");
    terminal.shows("❯ a[a picture]b");
    terminal.enters("\r");
    terminal.shows("got \"a[a picture]b\"");
    terminal.leaves();
}

#[test]
fn ctrl_c_clears_then_interrupts() {
    let mut terminal = drawn();
    terminal.enters(&format!("some text{CTRL_C}"));
    terminal.enters("other\r");
    terminal.shows("got \"other\"");
    assert!(!terminal.has("interrupted"), "{}", terminal.screen());
    terminal.enters(CTRL_C);
    terminal.shows("interrupted");
    // A search is left like a line.
    terminal.types(CTRL_R);
    terminal.shows("(search: )");
    terminal.enters(CTRL_C);
    terminal.enters("third\r");
    terminal.shows("got \"third\"");
    // Ctrl-D takes a character where there is one.
    terminal.enters(&format!("xy{CTRL_A}{CTRL_D}\r"));
    terminal.shows("got \"y\"");
    terminal.leaves();
}

#[test]
fn ctrl_z_stops_until_the_shell_says_so() {
    let mut terminal = drawn();
    terminal.types("half a");
    terminal.shows("❯ half a");
    terminal.types(CTRL_Z);
    // What the terminal is asked now, it answers the shell.
    assert_eq!(terminal.stops().trim(), "");
    assert!(terminal.is_cooked() && !terminal.brackets_pastes());
    terminal.goes_on();
    terminal.shows_twice("❯ half a");
    terminal.enters(" line\r");
    terminal.shows("got \"half a line\"");
    terminal.enters(&format!("gone{CTRL_C}"));
    terminal.enters("next\r");
    terminal.shows("got \"next\"");
    terminal.leaves();
}

#[test]
fn what_comes_in_one_breath_with_ctrl_c_is_the_next_line() {
    let mut terminal = drawn();
    for (before, next) in [("", "first"), ("some text", "second")] {
        terminal.types(&format!("{before}{CTRL_C}none{CTRL_C}{next}"));
        terminal.shows(&format!("❯ {next}"));
        terminal.enters(" one\r");
        terminal.shows(&format!("got \"{next} one\""));
    }
    terminal.leaves();
}

#[test]
fn more_keys_than_are_read_at_once_are_all_read() {
    let mut terminal = drawn();
    let first = "one ".repeat(300) + "end of it";
    terminal.types_at_once(&(pasted(&first) + " and" + &pasted(&first.replace("one", "two")) + " typed"));
    terminal.shows("[pasted 1209 characters #2]\u{fe01} typed");
    terminal.enters("\r");
    terminal.shows("end of it typed\"");
    terminal.types_at_once(&"next ".repeat(250));
    terminal.enters("last\r");
    terminal.shows_in_one_line("next last\"");
    terminal.leaves();
}

#[test]
fn what_was_typed_can_be_recalled() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("history");
    let words = ["--history", file.to_str().unwrap()];
    let mut first = drawn_with(&words);
    for keys in ["first entry\r", &format!("two{CTRL_J}lines\r"), "joined\\\rline\r", " secret\r"] {
        first.enters(keys);
    }
    first.shows("got \" secret\"");
    first.leaves();
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "first entry\ntwo<\\n>lines\njoined<\\n>line\n");

    let mut second = drawn_with(&words);
    second.enters(&format!("{UP}\r"));
    second.shows("got \"joined\\nline\"");
    second.types(&format!("{CTRL_R}firs"));
    second.shows("(search: firs)");
    second.enters("\r\r");
    second.shows("got \"first entry\"");
    // What history knows is hinted at, of several lines the first, and taken by the right arrow.
    second.types("tw");
    second.shows("❯ two");
    assert!(!second.has("… lines"));
    second.enters(CTRL_C);
    second.types("firs");
    second.shows_twice("❯ first entry");
    second.enters(&format!("{RIGHT}!\r"));
    second.shows("got \"first entry!\"");
    second.leaves();
}

#[test]
fn tab_completes() {
    let mut terminal = drawn();
    terminal.types("/he");
    terminal.shows("❯ /help");
    terminal.enters("\tx\r");
    terminal.shows("got \"/help x\"");
    // What is common first, then one after the other.
    terminal.types("/m\t");
    terminal.shows("another model");
    terminal.enters("\ry\r");
    terminal.shows("got \"/model y\"");
    // Where there is nothing, nothing is said.
    terminal.enters("/zz\t\t\r");
    terminal.shows("got \"/zz\"");
    assert!(!terminal.wrote("NO RECORDS"), "{}", terminal.screen());
    terminal.leaves();
}

#[test]
fn commands_have_their_colour() {
    let mut terminal = drawn();
    for (line, colour) in [("/help", 6), ("/nothing", 9)] {
        terminal.types(line);
        terminal.shows(&format!("❯ {line}"));
        terminal.is_coloured(line, colour);
        terminal.enters(CTRL_C);
    }
    terminal.leaves();
}

/// An escape that stands for a character, as it is on the screen.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\u{fe01}")
}

#[test]
fn what_is_pasted_cannot_act() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("history");
    std::fs::write(&file, "old \x1b]0;title\x07\u{202e}\n").unwrap();
    let mut terminal = drawn_with(&["--history", file.to_str().unwrap()]);
    let pasted_text = "red \x1b[31m \u{202e}evil \u{9b}2J \x07";
    terminal.types(&pasted(pasted_text));
    terminal.shows(&escaped("red \\u{1b}[31m \\u{202e}evil \\u{9b}2J \\u{7}"));
    terminal.enters("\r");
    terminal.shows(&format!("got {pasted_text:?}"));
    terminal.types(UP);
    terminal.types(UP);
    terminal.shows(&escaped("old \\u{1b}]0;title\\u{7}\\u{202e}"));
    terminal.enters("\r");
    terminal.shows("got \"old \\u{1b}]0;title");
    terminal.leaves();
    for bytes in ["\x1b]0;", "\u{202e}", "\u{9b}", "\x1b[31m", "\x07"] {
        assert!(!terminal.wrote(bytes), "{bytes:?}");
    }
}

#[test]
fn esc_twice_on_an_empty_line_goes_back() {
    for words in [&[][..], &["--vi"]] {
        let mut terminal = drawn_with(words);
        terminal.types("\x1b");
        terminal.shows("Esc again: back to an earlier message");
        terminal.types("\x1b");
        terminal.shows("back\n");
        if words.is_empty() {
            terminal.types("\x1b");
            terminal.shows_twice("Esc again");
            terminal.types("a\x1b");
            terminal.types("b");
            terminal.enters("\r");
            terminal.shows("got \"a");
        }
        terminal.leaves();
    }
}

#[test]
fn vi_has_its_modes() {
    let mut terminal = drawn_with(&["--vi"]);
    terminal.types("one two");
    terminal.shows("❯ one two");
    terminal.types("\x1b");
    terminal.shows("❮ one two");
    terminal.types("bcwthree");
    terminal.shows("❯ one three");
    terminal.enters("\r");
    terminal.shows("got \"one three\"");
    terminal.enters(&format!("left{CTRL_C}"));
    terminal.enters("kept\r");
    terminal.shows("got \"kept\"");
    terminal.leaves();
}

#[test]
fn an_editor_opens_on_what_is_typed() {
    for keys in [CTRL_O, "\x18\x05"] {
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("editor");
        let writes = "printf 'was: ' > \"$1.new\"; cat \"$1\" >> \"$1.new\"; mv \"$1.new\" \"$1\"\n";
        std::fs::write(&script, writes).unwrap();
        let mut terminal = drawn_with(&["--editor", "sh", "--editor", script.to_str().unwrap()]);
        terminal.types(&format!("first{keys}"));
        terminal.shows("❯ was: first");
        terminal.enters("!\r");
        terminal.shows("got \"was: first!\"");
        terminal.leaves();
    }
    let mut terminal = drawn_with(&["--editor", "no-such-editor-here"]);
    terminal.types("first");
    terminal.shows("❯ first");
    terminal.types(CTRL_O);
    terminal.shows("cannot be run");
    terminal.shows_twice("❯ first");
    terminal.enters("!\r");
    terminal.shows("got \"first!\"");
    terminal.leaves();
}

#[test]
fn an_entry_can_be_filled_in_and_a_wait_dropped() {
    let mut terminal = drawn();
    terminal.types("again\r");
    terminal.shows("… again");
    terminal.enters("!\r");
    terminal.shows("got \"again and\\nagain!\"");
    terminal.enters("wait\r");
    terminal.types("half");
    terminal.shows("nobody waits");
    // Drawn anew, for the wait that is not dropped.
    terminal.shows_twice("❯ half");
    terminal.enters(" done\r");
    terminal.shows("got \"half done\"");
    terminal.leaves();
}

#[test]
fn it_fits_every_width() {
    for columns in [20, 40, 300] {
        let mut terminal = drawn();
        terminal.resizes(columns);
        let long = "word ".repeat(30);
        terminal.enters(&format!("{long}end\r"));
        terminal.shows("end\"");
        terminal.enters("short\r");
        terminal.shows_in_one_line("❯ short");
        assert!(columns > 40 || !terminal.has("provider/model ❯ short"), "{}", terminal.screen());
        terminal.leaves();
    }
}

/// Fills the screen, and more, with answers to be found in the history later.
fn numbered(terminal: &mut Terminal) -> Vec<String> {
    let said = (1..=15).map(|number| {
        terminal.enters(&format!("{number}\r"));
        format!("got \"{number}\"")
    });
    said.collect()
}

#[test]
fn a_resize_and_what_is_typed_with_it_leave_all_above_the_line() {
    // As pastes that are not folded.
    let lines = |count: usize| {
        let lines: Vec<String> = (1..=count).map(|line| format!("line {line}\r")).collect();
        lines.chunks(10).map(|lines| pasted(&lines.concat())).collect::<String>()
    };
    for (before, columns, keys, shown) in [
        ("", 106, lines(12), "… line 12"),
        ("", 60, lines(12), "… line 12"),
        ("", 106, lines(40), "… line 40"),
        ("", 106, lines(12) + "end\r", "end\""),
        // The line is cut here. Others wrap it.
        (
            "a line that is longer than the terminal is wide when it is smaller",
            40,
            "!".to_owned(),
            "smaller!",
        ),
        ("a line that is longer than the terminal is wide when it is smaller", 40, lines(4), "… line 4"),
        ("two\nlines and some more", 106, CTRL_C.to_owned(), "❯"),
    ] {
        let mut terminal = drawn();
        let said = numbered(&mut terminal);
        terminal.types(before);
        terminal.shows(before.rsplit('\n').next().unwrap());
        terminal.resizes_and_types(columns, &keys);
        terminal.shows(shown);
        assert_eq!(
            terminal.history("got \"")[..said.len()],
            said,
            "{columns}, {keys:?}\n{}",
            terminal.screen()
        );
    }
}

#[test]
fn a_search_that_finds_a_long_entry_leaves_all_above_it() {
    let mut terminal = drawn();
    let long = (1..=40).map(|line| format!("\rline {line}")).collect::<String>();
    terminal.enters(&(pasted(&format!("long{long}")) + "\r"));
    let said = numbered(&mut terminal);
    terminal.types(&format!("{CTRL_R}lon"));
    terminal.shows("line 40");
    let kept = terminal.history("got \"");
    assert_eq!(kept[kept.len() - said.len()..], said, "{}", terminal.screen());
}

#[test]
fn what_is_said_meanwhile_leaves_the_line_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let two = pasted("two\rlines");
    for (vi, before, after, entry) in [
        ("", &[("half", "❯ half")][..], " a line\r", "half a line"),
        ("", &[(CTRL_R, "(search: )"), ("1", "(search: 1)")], "4\r\r", "14"),
        ("", &[("/m\t\t", "another")], "\r\r", "/mode "),
        ("--vi", &[("gone", "❯ gone"), ("\x1b", "❮ gone"), ("d", "❮ gone")], "dix\r", "x"),
        ("", &[(&two, "… lines")], "\r", "two\\nlines"),
    ] {
        let until = home.path().join("until");
        let mut terminal = drawn_with(&["--until", until.to_str().unwrap(), vi]);
        let said = numbered(&mut terminal);
        terminal.enters("tell\r");
        for (keys, shown) in before {
            terminal.types(keys);
            terminal.shows(shown);
        }
        std::fs::write(&until, "").unwrap();
        terminal.shows("told 30");
        terminal.shows(before.last().unwrap().1);
        terminal.enters(after);
        terminal.shows(&format!("got \"{entry}\""));
        assert_eq!(terminal.history("got \"")[..said.len()], said, "{}", terminal.screen());
        let told: Vec<String> = (1..=30).map(|line| format!("told {line}")).collect();
        assert_eq!(terminal.history("told "), told, "{}", terminal.screen());
        std::fs::remove_file(&until).unwrap();
    }
}

#[test]
fn it_ends_when_the_terminal_is_gone() {
    // What it writes at last, it writes to nobody.
    let status = terminal::hung_up();
    assert!(status.code().is_some(), "{status}");
}

#[test]
fn modes_are_as_they_were() {
    for keys in ["", "x"] {
        let mut terminal = drawn();
        assert!(!terminal.is_cooked() && terminal.brackets_pastes(), "a line is drawn");
        terminal.enters(&format!("{keys}{CTRL_C}"));
        terminal.leaves();
        assert!(terminal.is_cooked() && !terminal.brackets_pastes());
    }
}

#[test]
fn without_drawing_nothing_but_text_is_written() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("history");
    for (words, manner) in
        [(&["--plain"][..], Manner::Plain), (&["--history", file.to_str().unwrap()], Manner::Silent)]
    {
        let mut terminal = Terminal::run(words, manner);
        terminal.shows("plain");
        terminal.shows("provider/model>");
        for (keys, entry) in [
            ("hello\n", "got \"hello\""),
            ("one\\\ntwo\n", "got \"one\\ntwo\""),
            ("\"\"\"\na\nb\n\"\"\"\n", "got \"a\\nb\""),
            ("keys\x1b[A\x1b[24;1R!\n", "got \"keys!\""),
            ("Привет\n", "got \"Привет\""),
        ] {
            terminal.types(keys);
            terminal.shows(entry);
            terminal.enters("");
        }
        terminal.types(&format!("cleared{CTRL_C}"));
        terminal.types("kept\n");
        terminal.shows("got \"kept\"");
        assert!(!terminal.has("interrupted"));
        terminal.enters("");
        terminal.types(CTRL_C);
        terminal.shows("interrupted");
        terminal.types("again\n");
        terminal.shows("again and");
        terminal.enters("");
        terminal.leaves();
        assert!(terminal.is_cooked());
        let asked = matches!(manner, Manner::Silent);
        assert_eq!(terminal.wrote("\x1b[6n"), asked);
        assert_eq!(terminal.escapes(), usize::from(asked), "{:?}", terminal.screen());
    }
    assert!(!file.exists(), "nothing is kept where nothing is recalled");
}

#[test]
fn what_is_typed_ahead_is_not_lost() {
    let mut terminal = Terminal::run(&[], Manner::TypesFirst("early "));
    terminal.shows("❯ early");
    terminal.enters("bird\r");
    terminal.shows("got \"early bird\"");
    terminal.leaves();
    // A terminal that edits lines itself has made a line break of Enter.
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    let mut terminal = drawn_with(&["--until", file.to_str().unwrap()]);
    terminal.types("hold\r");
    terminal.shows("got \"hold\"");
    terminal.types("meanwhile\r");
    std::fs::write(&file, "").unwrap();
    terminal.shows("❯ meanwhile");
    terminal.enters("!\r");
    terminal.shows("got \"meanwhile\\n!\"");
    terminal.leaves();
}
