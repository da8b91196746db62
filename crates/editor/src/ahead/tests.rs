//! Keys while a turn runs, byte by byte.

use std::sync::Arc;

use super::*;

const SOON: Duration = Duration::from_millis(20);

/// Someone who types, and the time.
struct Typist {
    typed: TypedAhead,
    now: Instant,
}

impl Typist {
    fn new() -> Self {
        Self { typed: TypedAhead::default(), now: Instant::now() }
    }

    fn hears(&mut self, bytes: &[u8]) -> bool {
        self.typed.hears(bytes, self.now)
    }

    fn pauses(&mut self, length: Duration) -> bool {
        self.now += length;
        self.typed.pauses(self.now)
    }

    fn awaits(&self) -> bool {
        self.typed.awaits(self.now)
    }

    fn next(&mut self) -> Option<Draft> {
        self.typed.take_next()
    }
}

fn draft(text: &str, is_sent: bool) -> Draft {
    Draft { text: text.to_owned(), pastes: Vec::new(), is_sent }
}

#[test]
fn keys_become_the_entries_of_the_next_prompts() {
    for (keys, sent, line) in [
        (&b"one\rtwo"[..], &["one"][..], "two"),
        (b"a\r\r b\r", &["a", " b"], ""),
        (b"helo\x7fp\r", &["help"], ""),
        ("日本👩‍👩‍👧\x7f\r".as_bytes(), &["日本"], ""),
        (b"one two\x17three\r", &["one three"], ""),
        (b"gone\x15kept", &[], "kept"),
        (b"two\\\rlines\r", &["two\nlines"], ""),
        (b"two\x1b\rlines\ntoo\r", &["two\nlines\ntoo"], ""),
        (b"\"\"\"\rx\r\"\"\"\r", &["\"\"\"\nx\n\"\"\""], ""),
        (b"ac\x1b[Db\x1b[1;5C\t\r", &["abc"], ""),
        (b"c\x01a\x1b[Cd\x1bODb\x1b[H1\x1b[F2\x1b[1~0\x1bOF3\r", &["01acbd23"], ""),
        (b"abcd\x02\x02\x1b[3~\x06e\x01\x06\x0bf\r", &["af"], ""),
        ("日本👩‍👩‍👧e\x1b[D\x1b[D\x7f\x1b[3~語\r".as_bytes(), &["日語e"], ""),
        (b"one two three\x1b[D\x17\r", &["one two e"], ""),
        // Lines of a draft: up to the column or the end of the line, from its start, and back.
        (b"long one\ntwo\x1b[AX\x05Y\x01Z\x1b[B\x1b[FW\r", &["ZlonXg oneY\ntwoW"], ""),
        (b"a\nbcd\x1b[A!\x1b[B\x1b[B?\x01\x02\x0b\r", &["a!bcd?"], ""),
        (b"\xff\r", &["\u{fffd}"], ""),
    ] {
        // However the bytes come.
        for piece in [1, 2, 100] {
            let mut typed = Typist::new();
            let escaped = keys.chunks(piece).any(|keys| typed.hears(keys));
            assert!(!escaped, "{keys:?}");
            for text in sent {
                assert_eq!(typed.next(), Some(draft(text, true)), "{keys:?} by {piece}");
            }
            assert_eq!(typed.next(), Some(draft(line, false)).filter(|_| !line.is_empty()), "{keys:?}");
            assert_eq!((typed.next(), typed.typed.bytes()), (None, 0));
        }
    }
}

const UP: &[u8] = b"\x1b[A";
const DOWN: &[u8] = b"\x1b[B";

/// What remains of three messages that were sent after these keys, and the line.
#[track_caller]
fn after(keys: &[&[u8]]) -> (Vec<String>, String) {
    let mut typed = Typist::new();
    typed.hears(b"one\rtwo\rthree\r");
    for keys in keys {
        typed.hears(keys);
    }
    let queued = typed.typed.queued().map(|(_, text)| text.to_owned()).collect();
    let line = format!("{}|{}", typed.typed.line().0, typed.typed.line().1);
    let sum: usize = typed.typed.queued().map(|(_, text)| text.len()).sum();
    assert_eq!(typed.typed.bytes(), sum + line.len() - 1, "{keys:?}");
    (queued, line)
}

#[test]
fn up_takes_messages_back_into_the_line() {
    type Case = (&'static [&'static [u8]], &'static [&'static str], &'static str);
    let cases: [Case; 12] = [
        (&[UP], &["one", "two"], "three|"),
        (&[UP, UP], &["one", "three"], "two|"),
        (&[UP, UP, UP, UP], &["two", "three"], "one|"),
        (&[UP, UP, DOWN], &["one", "two"], "three|"),
        (&[UP, UP, DOWN, DOWN, DOWN], &["one", "two", "three"], "|"),
        // Sent again, changed or not, it is where it was.
        (&[UP, UP, b"\r"], &["one", "two", "three"], "|"),
        (&[UP, UP, b"\x1b[D\x7fhre\r"], &["one", "threo", "three"], "|"),
        // Cleared, it is gone.
        (&[UP, UP, b"\x15"], &["one", "three"], "|"),
        (&[UP, b"\x17", b"last\r"], &["one", "two", "last"], "|"),
        // What was typed or changed is not replaced.
        (&[b"x", UP], &["one", "two", "three"], "|x"),
        (&[UP, b"!", UP, UP, DOWN], &["one", "two"], "three!|"),
        (&[b"\x1b[1;3A", b"\x04"], &["one", "two"], "three|"),
    ];
    for (keys, queued, line) in cases {
        let (queued, line) = (queued.iter().map(|text| (*text).to_owned()).collect(), line.to_owned());
        assert_eq!(after(keys), (queued, line), "{keys:?}");
    }
    assert_eq!(after(&[b"\x04\x04"]).0, ["one", "two", "three", ""]);
    assert_eq!(after(&[b"\x04", UP]).0, ["one", "two", "three"]);
}

#[test]
fn a_message_that_is_edited_is_not_overtaken_by_those_behind_it() {
    let mut typed = Typist::new();
    typed.hears(b"one\rtwo\rthree\r\x1b[A\x1b[A!");
    assert!(typed.typed.sends_next());
    assert_eq!(typed.next(), Some(draft("one", true)));
    assert!(!typed.typed.sends_next());
    assert_eq!(typed.next(), Some(draft("two!", false)));
    assert_eq!((typed.next(), typed.next()), (Some(draft("three", true)), None));
    typed.hears(b"one\rtwo\r\x1b[A\x1b[A\x15three\r");
    assert_eq!((typed.next(), typed.next()), (Some(draft("two", true)), Some(draft("three", true))));
    typed.hears(b"one\rtwo\r\x1b[A");
    typed.next();
    typed.hears(b"\rthree\r");
    assert_eq!((typed.next(), typed.next()), (Some(draft("two", true)), Some(draft("three", true))));
}

/// What waits after these keys, those for the turn that runs behind a `>`, and the line.
#[track_caller]
fn steered(keys: &[&[u8]]) -> (Typist, Vec<String>) {
    let mut typed = Typist::new();
    typed.typed.follows(meaning());
    for keys in keys {
        typed.hears(keys);
    }
    let sign = |steers| if steers { ">" } else { "" };
    let mut all: Vec<String> =
        typed.typed.queued().map(|(steers, text)| format!("{}{text}", sign(steers))).collect();
    all.push(typed.typed.line().0.to_owned());
    (typed, all)
}

#[test]
fn ctrl_s_is_for_the_turn_that_runs() {
    type Case = (&'static [&'static [u8]], &'static [&'static str], Option<&'static str>);
    let cases: [Case; 14] = [
        (&[b"one\r", b"two\x13"], &[">two", "one", ""], None),
        (&[b"one\x13two\x13", b"three\r"], &[">one", ">two", "three", ""], None),
        // The first that waits, where nothing is typed.
        (&[b"one\rtwo\r\x13"], &[">one", "two", ""], None),
        (&[b"\x13", b"one\r\x13\x13"], &[">one", ""], None),
        (&[b"one\rtwo\r", UP, b"\x13"], &[">two", "one", ""], None),
        (&[b"!ls", b"\x13"], &["!ls", ""], Some("why")),
        (&[b"!ls", b"\r", b"\x13"], &["!ls", ""], Some("why")),
        (&[b"\x04", b"\x13"], &["", ""], None),
        (&[b"\"\"\"\rx\x13"], &["\"\"\"\nx"], None),
        // Up takes one back; sent with Enter, it waits for the end of the turn.
        (&[b"one\x13", UP], &["one"], None),
        (&[b"one\x13two\x13three\r", UP, UP, UP, b"\r"], &[">two", "one", "three", ""], None),
        (&[b"one\x13two\x13three\r", UP, UP], &[">one", "three", "two"], None),
        (&[b"one\x13two\x13three\r", UP, UP, UP, DOWN], &[">one", "three", "two"], None),
        (&[b"one\x13two\x13three\r", UP, UP, DOWN, DOWN], &[">one", ">two", "three", ""], None),
    ];
    for (keys, all, why) in cases {
        let (mut typed, shown) = steered(keys);
        assert_eq!(
            (shown, typed.typed.take_refusal()),
            (all.iter().map(|text| (*text).to_owned()).collect(), why),
            "{keys:?}"
        );
        assert_eq!(typed.typed.take_refusal(), None);
    }
}

#[test]
fn a_turn_takes_what_is_for_it_and_the_rest_is_next() {
    let (mut typed, _) = steered(&[b"\"\"\"one\"\"\"\x13two\x13three\x13four\r", UP, UP]);
    assert_eq!(typed.typed.take_steering().as_deref(), Some("ONE"));
    // The third is in the line and not taken.
    assert_eq!(typed.typed.take_steering().as_deref(), Some("TWO"));
    assert_eq!(typed.typed.take_steering(), None);
    typed.typed.ends_turn();
    assert_eq!(typed.next(), Some(draft("three", false)));
    assert_eq!((typed.next(), typed.next(), typed.typed.bytes()), (Some(draft("four", true)), None, 0));
    let (mut typed, _) = steered(&[b"queued\rone\x13two\x13"]);
    typed.typed.ends_turn();
    assert_eq!(typed.typed.take_steering(), None);
    let next = [(); 4].map(|()| typed.next());
    assert_eq!(
        next,
        ["one", "two", "queued"]
            .map(|text| Some(draft(text, true)))
            .into_iter()
            .chain([None])
            .collect::<Vec<_>>()[..]
    );
}

#[test]
fn a_message_that_is_taken_back_has_its_pastes() {
    let mut typed = Typist::new();
    typed.hears(b"see \x1b[200~one\rtwo\x1b[201~\r\x1b[A\x01Now \r");
    let pastes = vec!["one\ntwo".to_owned()];
    assert_eq!(typed.next(), Some(Draft { text: "see one\nNow two".to_owned(), pastes, is_sent: true }));
    assert_eq!(typed.typed.bytes(), 0);
}

#[test]
fn shift_tab_is_counted_and_changes_no_text() {
    for piece in [1, 2, 100] {
        let mut typed = Typist::new();
        let keys = b"a\x1b[Zb\x1b[Z\x1b\x1b[Z\x1b[1;2Zc\x1b[200~\x1b[Z\x1b[201~\r";
        assert!(!keys.chunks(piece).any(|keys| typed.hears(keys)));
        assert_eq!((typed.typed.take_switches(), typed.typed.take_switches()), (2, 0), "by {piece}");
        assert_eq!(typed.next(), Some(draft("abc\x1b[Z", true)));
    }
}

#[test]
fn reports_of_the_focus_are_no_keys() {
    for piece in [1, 2, 3, 100] {
        let mut typed = Typist::new();
        let hears =
            |typed: &mut Typist, keys: &[u8]| assert!(!keys.chunks(piece).any(|keys| typed.hears(keys)));
        hears(&mut typed, b"a\x1b[I");
        let late = typed.now + Duration::from_secs(3600);
        assert!(!typed.typed.focus().is_elsewhere(late), "by {piece}");
        hears(&mut typed, b"b\x1b[O");
        assert!(typed.typed.focus().is_elsewhere(typed.now), "by {piece}");
        hears(&mut typed, b"\x1b]11;rgb:0/0/0\x07");
        assert!(typed.typed.focus().is_elsewhere(typed.now), "a reply is no key");
        hears(&mut typed, b"c\x1b[200~\x1b[O\x1b[201~\r");
        assert!(!typed.typed.focus().is_elsewhere(late), "not by what is pasted");
        assert_eq!(typed.next(), Some(draft("abc\x1b[O", true)));
    }
}

#[test]
fn a_line_that_was_not_sent_goes_on_behind_what_was() {
    let mut typed = Typist::new();
    typed.hears(b"one\rtw");
    assert_eq!(typed.next(), Some(draft("one", true)));
    typed.hears(b"o\r");
    assert_eq!((typed.next(), typed.next()), (Some(draft("two", true)), None));
}

#[test]
fn ctrl_d_is_the_end_where_nothing_is_typed() {
    let mut typed = Typist::new();
    typed.hears(b"x\x04\r\x04\x04\x04");
    assert_eq!(typed.next(), Some(draft("x", true)));
    assert!(typed.next().is_some_and(|draft| draft.is_end()) && typed.next().is_none());
}

#[test]
fn esc_is_a_key_where_nothing_follows_it() {
    let mut typed = Typist::new();
    assert!(!typed.hears(b"a\x1b") && !typed.pauses(SOON));
    assert!(typed.pauses(ESCAPE_ALONE) && !typed.pauses(ESCAPE_ALONE));
    assert!(!typed.hears(b"\x1b"));
    typed.now += ESCAPE_ALONE;
    assert!(typed.hears(b"xy\r"), "the letter is not lost");
    assert_eq!(typed.next(), Some(draft("axy", true)));
    assert!(!typed.hears(b"\x1b") && !typed.hears(b"[A") && !typed.pauses(ESCAPE_ALONE));
    assert!(!typed.hears(b"\x1b\x1b") && typed.pauses(ESCAPE_ALONE), "twice");
    assert!(typed.hears(b"\x1b\x1b[200~x\x1b[201~"), "before a paste");
    assert_eq!(typed.next(), Some(draft("x", false)));
    assert!(!typed.hears(b"\x1bO\x1b[200~y\x1b[201~\x1bO\r"), "Alt-O");
    assert_eq!((typed.next(), typed.next()), (Some(draft("y", true)), None));
}

#[test]
fn no_bytes_are_too_much() {
    let parts = [
        &b"\x1b"[..],
        b"[",
        b"200~",
        b"201~",
        b"]",
        b"P",
        b"1",
        b"\\",
        b"\x07",
        b"\r",
        b"O",
        b"\xe6",
        b"a",
        b"\x1b[A",
        b"\x1b[D",
        b"\x7f\x0b",
        b"\x13",
    ];
    let mut state = 1_u32;
    let mut typed = Typist::new();
    for step in 0..20_000_u64 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        typed.hears(parts[(state >> 16) as usize % parts.len()]);
        typed.now += Duration::from_millis(step % 7);
        if step % 50 == 0 {
            typed.typed.settles();
            assert!(!typed.awaits());
            while typed.next().is_some() {}
            assert_eq!(typed.typed.bytes(), 0);
        }
    }
}

#[test]
fn what_else_begins_with_an_escape_is_no_esc() {
    for keys in [
        &b"\x1bu"[..],
        "\x1bé".as_bytes(),
        b"\x1bb",
        b"\x1b\x1b[A",
        b"\x1b\x1bOA",
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        b"\x1bP>|term(1)\x1b\\",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b]\x1bP",
    ] {
        for piece in [1, 2, 100] {
            let mut typed = Typist::new();
            let escaped = keys.chunks(piece).any(|keys| typed.hears(keys));
            assert!(!escaped && !typed.pauses(KEY_LOST), "{keys:?} by {piece}");
            typed.hears(b"ok\r");
            assert_eq!(typed.next(), Some(draft("ok", true)), "{keys:?} by {piece}");
        }
    }
}

#[test]
fn a_reply_that_is_none_hides_no_key() {
    let mut typed = Typist::new();
    assert!(!typed.hears(b"\x1b]one\r\x1b]11;two\r"));
    assert_eq!((typed.next(), typed.next()), (Some(draft("one", true)), Some(draft("11;two", true))));
}

#[test]
fn a_key_that_has_not_ended_is_not_handed_over() {
    for begun in [&b"\x1b"[..], b"\x1b[", b"\x1b[1;", b"\x1bO", b"\x1b]11;", b"\xe6"] {
        let mut typed = Typist::new();
        assert!(!typed.hears(begun));
        assert!(typed.awaits());
        typed.now += ESCAPE_ALONE;
        assert!(!typed.awaits());
        typed.typed.settles();
        assert!(!typed.awaits() && !typed.pauses(ESCAPE_ALONE), "{begun:?}");
        assert!(!typed.hears(b"x\r"));
        assert_eq!(typed.next(), Some(draft("x", true)), "{begun:?}");
    }
}

#[test]
fn a_paste_that_has_not_ended_is_handed_over_as_far_as_it_came() {
    for end in ["", "\x1b", "\x1b[201"] {
        let mut typed = Typist::new();
        typed.hears(format!("\x1b[200~one\rtwo{end}").as_bytes());
        assert!(!typed.pauses(KEY_LOST));
        assert!(typed.awaits());
        typed.now += REST_OF_PASTE;
        assert!(!typed.awaits() && typed.typed.is_pasting());
        typed.typed.settles();
        let pastes = vec!["one\ntwo".to_owned()];
        let expected = Draft { text: "one\ntwo".to_owned(), pastes, is_sent: false };
        assert_eq!((typed.awaits(), typed.next()), (false, Some(expected)));
        typed.hears(b"x\r");
        assert_eq!(typed.next(), Some(draft("x", true)));
    }
}

fn meaning() -> Meaning {
    let pasted = |text: &str| (text == "/a.png").then(|| "[a picture]".to_owned());
    Meaning {
        acts: |entry| entry.starts_with('!'),
        pasted: Arc::new(pasted),
        steers: Arc::new(|entry| if entry.starts_with('!') { Err("why") } else { Ok(entry.to_uppercase()) }),
        picture: Arc::new(|| {}),
    }
}

#[test]
fn a_dropped_file_stands_in_the_entry() {
    let mut typed = Typist::new();
    typed.typed.follows(meaning());
    typed.hears(b"see \x1b[200~/a.png\x1b[201~!\r\x1b[200~/b.png\x1b[201~");
    let drafts = (typed.next(), typed.next());
    assert_eq!(drafts, (Some(draft("see [a picture]!", true)), Some(draft("/b.png", false))));
}

#[test]
fn a_command_that_comes_at_once_with_its_enter_waits_for_another() {
    for (keys, text) in [
        (&[&b"!ls\r"[..]][..], "!ls\n"),
        (&[b"!ls\r\rmore\r"], "!ls\n\nmore\n"),
        (&[b"!l", b"s\r"], "!ls\n"),
        (&[b"!ls"], "!ls"),
    ] {
        let mut typed = Typist::new();
        typed.typed.follows(meaning());
        for keys in keys {
            typed.hears(keys);
        }
        assert!(!typed.typed.sends_next(), "{text}");
        typed.hears(b"\r");
        assert_eq!(typed.next(), Some(draft(text, true)));
    }
    let mut typed = Typist::new();
    typed.typed.follows(meaning());
    typed.hears(b"one\r!ls\r");
    assert_eq!((typed.next(), typed.next()), (Some(draft("one", true)), Some(draft("!ls\n", false))));
}

#[test]
fn a_paste_that_is_too_long_runs_nothing() {
    let mut typed = Typist::new();
    typed.hears(b"a\x1b[200~");
    typed.hears(&vec![b'x'; LONGEST_PASTE]);
    assert!(!typed.hears(b"\r/allow *\r\x1b") && !typed.pauses(KEY_LOST));
    assert!(typed.awaits());
    assert!(!typed.hears(b"[20") && !typed.hears(b"1~b\r"));
    assert_eq!((typed.next(), typed.next()), (Some(draft("ab", true)), None));
    // One that is left to others is over, too.
    typed.hears(b"\x1b[200~");
    typed.hears(&vec![b'x'; LONGEST_PASTE]);
    typed.typed.settles();
    typed.hears(b"c\r");
    assert_eq!((typed.next(), typed.next()), (Some(draft("c", true)), None));
}

#[test]
fn pastes_that_find_no_room_are_not_kept() {
    let mut typed = Typist::new();
    let paste = format!("\x1b[200~{}\n\x1b[201~", "x".repeat(LONGEST_PASTE / 2));
    for _ in 0..4 {
        typed.hears(paste.as_bytes());
    }
    assert!(typed.typed.bytes() <= MOST);
    let next = typed.next().unwrap();
    assert_eq!((next.pastes.len(), next.bytes()), (1, LONGEST_PASTE + 2));
    assert_eq!(typed.typed.bytes(), 0);
    for _ in 0..4 {
        typed.hears(b"\x1b[200~a\nb\x1b[201~\x17\x17");
    }
    assert_eq!((typed.next(), typed.typed.bytes()), (None, 0));
}

#[test]
fn a_paste_sends_nothing_and_is_known_as_one() {
    let mut typed = Typist::new();
    typed.hears(b"see \x1b[200~one\rtw");
    assert!(typed.typed.is_pasting() && !typed.pauses(ESCAPE_ALONE));
    typed.hears(b"o\x1b[201~ now\r");
    assert!(!typed.typed.is_pasting());
    let pastes = vec!["one\ntwo".to_owned()];
    let expected = Draft { text: "see one\ntwo now".to_owned(), pastes, is_sent: true };
    assert_eq!(typed.next(), Some(expected));
}

#[test]
fn there_is_an_end_to_what_is_kept() {
    let mut typed = Typist::new();
    typed.hears(&vec![b'x'; MOST]);
    typed.hears(b"y");
    assert_eq!(typed.next().map(|draft| draft.text.len()), Some(MOST));
}
