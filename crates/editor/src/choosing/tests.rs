use super::*;

const OPTIONS: [&str; 3] = ["yд", "nн", "e"];

/// What comes of these pieces, each after so many milliseconds; the last one is followed by a long pause.
fn picked(pieces: &[(u64, &[u8])]) -> (Option<Picked>, String) {
    plays(&mut Choosing::new(OPTIONS.to_vec(), 1, None), pieces)
}

/// As a reader does: it looks when it is told to, and whenever bytes come.
fn plays(choosing: &mut Choosing, pieces: &[(u64, &[u8])]) -> (Option<Picked>, String) {
    let mut now = Instant::now();
    for (index, (wait, bytes)) in pieces.iter().chain([&(2000, &b""[..])]).enumerate() {
        let comes = now + Duration::from_millis(*wait);
        while let Some(wakes) = choosing.wakes(now).filter(|wakes| now + *wakes < comes) {
            now += wakes;
            if let Some(picked) = choosing.pauses(now) {
                assert!(index >= pieces.len(), "answered before {bytes:?}");
                return (Some(picked), choosing.words().to_owned());
            }
        }
        now = comes;
        if let Some(picked) = choosing.hears(bytes, now).filter(|_| !bytes.is_empty()) {
            assert!(index + 1 == pieces.len(), "answered by {bytes:?}");
            return (Some(picked), choosing.words().to_owned());
        }
    }
    (None, choosing.words().to_owned())
}

#[test]
fn one_key_answers() {
    for (bytes, expected) in [
        (&b"y"[..], Picked::Letter(0)),
        (b"Y", Picked::Letter(0)),
        ("д".as_bytes(), Picked::Letter(0)),
        (b"e", Picked::Letter(2)),
        (b"y\r", Picked::Option(0)),
        (b"y\n", Picked::Option(0)),
        (b"\r", Picked::Option(1)),
        (b"\n", Picked::Option(1)),
        (b"\x1b", Picked::Nothing),
        (b"\x04", Picked::Nothing),
        (b"\x1a", Picked::Suspend),
    ] {
        assert_eq!(picked(&[(0, bytes)]), (Some(expected), String::new()), "{bytes:?}");
    }
}

#[test]
fn keys_that_come_one_after_the_other() {
    let words = |text: &str| Some(Picked::Words(text.to_owned()));
    for (pieces, expected) in [
        (&[(0, &b"\x1b[A"[..]), (9, b"\r")][..], Some(Picked::Option(0))),
        (&[(0, b"\x1bOB"), (0, b"\x1b[C"), (0, b"\r")], Some(Picked::Option(2))),
        (&[(0, b"\x1b[B\x1b[B"), (0, b"\x1b[A\x1b[A\x1b[A"), (0, b"\r")], Some(Picked::Option(0))),
        (&[(0, b"y"), (250, b"\r")], Some(Picked::Option(0))),
        (&[(0, b"y"), (9, b"\x1b")], Some(Picked::Nothing)),
        (&[(0, b"y"), (9, b"\x7f"), (9, b"\r")], Some(Picked::Option(1))),
        (&[(0, b"y"), (9, b"\x1b[B"), (9, b"\r")], Some(Picked::Option(2))),
        (&[(0, b"y"), (250, b"o"), (250, b"u"), (900, b"\r")], words("you")),
        (&[(0, b"n"), (99, b" "), (99, b"x"), (99, b"\r")], words("n x")),
        (&[(0, b"w"), (900, b"y"), (900, b"\r")], words("wy")),
        (&[(0, b"not\x7fw"), (9, b"\x17"), (9, b"e"), (300, b"\r")], Some(Picked::Option(2))),
        (&[(0, b"ab c"), (9, b"\x17"), (9, b"\x7f"), (9, b"\r")], words("ab")),
        (&[(0, b"ab"), (9, b"\x15"), (9, b"\r")], Some(Picked::Option(1))),
        (&[(0, b"ab"), (9, b"\x1b"), (99, b"y")], Some(Picked::Letter(0))),
        (&[(0, "ü".as_bytes()), (9, b"\x7f"), (9, b" "), (9, b"y\r")], Some(Picked::Option(0))),
        (&[(0, b"x"), (9, b"\x1a")], Some(Picked::Suspend)),
    ] {
        assert_eq!(picked(pieces).0, expected, "{pieces:?}");
    }
}

#[test]
fn a_paste_answers_nothing() {
    for (pieces, words) in [
        (&[(0, &b"\x1b[200~y\r\x1b[201~"[..])][..], "y\n"),
        (&[(0, b"\x1b[200~y"), (900, b"\r\x1b[201~")], "y\n"),
        (&[(0, b"\x1b[200~\r\r\x1b[201~")], ""),
        (&[(0, b"y\ry\r")], "y\ny\n"),
        (&[(0, b"yes\r")], "yes\n"),
        (&[(0, b"x"), (9, b"y\r")], "xy\n"),
        (&[(0, b"\ry\r")], "\ny\n"),
        (&[(0, b"y\r"), (9, b"rm -r x\r")], "y\nrm -r x\n"),
        (&[(0, b"y"), (9, b"\x1b[200~\r\x1b[201~")], "y\n"),
        (&[(0, b"a\x1by")], "a"),
        (&[(0, b"a\x1b[Ab\x1a\r")], "ab\n"),
        (&[(0, b"\r\r")], ""),
        (&[(0, b"\x1b[B\r")], ""),
    ] {
        assert_eq!(picked(pieces), (None, words.to_owned()), "{pieces:?}");
    }
    let (long, mut choosing) = (vec![b'x'; 3 * MOST], Choosing::new(OPTIONS.to_vec(), 1, None));
    let paste = [PASTE_BEGINS, &long, b"y\x1b[20"].concat();
    assert_eq!(plays(&mut choosing, &[(0, &paste), (9, b"1~")]).0, None);
    assert!(choosing.words().ends_with("xy") && choosing.words().len() < 99 && choosing.open.is_empty());
}

/// Enter takes the entry that is selected, or, if the words are newer than the entries, gives the words.
#[test]
fn a_list_is_searched_by_words() {
    let words = |text: &str| Some(Picked::Words(text.to_owned()));
    for (count, pieces, expected, typed) in [
        (3, &[(0, &b"\r"[..])][..], Some(Picked::Option(0)), ""),
        (3, &[(0, b"\x1b[B\x1b[B\x1b[B\r")], Some(Picked::Option(2)), ""),
        (3, &[(0, b"y"), (900, b"n")], None, "yn"),
        (3, &[(0, b"ab\x1b[B"), (9, b"\r")], words("ab"), "ab"),
        (3, &[(0, b"ab\r")], words("ab"), "ab"),
        (3, &[(0, b"\x1b[200~a\rb\x1b[201~")], None, "a\nb"),
        (3, &[(0, b"ab c"), (9, b"\x17"), (9, b"\x7f")], None, "ab"),
        (3, &[(0, b"\x1b")], Some(Picked::Nothing), ""),
        (3, &[(0, b"\x04")], Some(Picked::Nothing), ""),
        (3, &[(0, b"ab"), (9, b"\x1b")], None, ""),
        (3, &[(0, b"ab"), (9, b"\x1a")], Some(Picked::Suspend), "ab"),
        (0, &[(0, b"ab \r")], words("ab"), "ab "),
        (0, &[(0, b" \r")], None, ""),
    ] {
        let mut choosing = Choosing::list("");
        choosing.offer(count, 0);
        assert_eq!(plays(&mut choosing, pieces), (expected, typed.to_owned()), "{pieces:?}");
    }
    let mut choosing = Choosing::list("ab");
    choosing.offer(2, 5);
    assert_eq!((choosing.words(), choosing.selected()), ("ab", 1));
    assert_eq!(choosing.hears(b"\x1b[A\r", Instant::now()), Some(Picked::Option(0)));
}

#[test]
fn reports_of_the_terminal_are_no_keys() {
    for bytes in [&b"\x1b[I"[..], b"\x1b[O", b"\x1b[24;80R", b"\x1b]11;rgb:0/0/0\x07", b"\x1b[Z", b"\x1by"] {
        assert_eq!(picked(&[(0, bytes)]), (None, String::new()), "{bytes:?}");
        assert_eq!(picked(&[(0, b"y"), (9, bytes)]).0, Some(Picked::Letter(0)), "{bytes:?}");
    }
    // The rest of what follows a letter is waited for.
    assert_eq!(
        picked(&[(0, b"y"), (9, b"\xd0"), (299, b"\xb4"), (9, b"\r")]).0,
        Some(Picked::Words("yд".into()))
    );
}

#[test]
fn an_enter_behind_a_letter_that_was_taken_is_not_for_the_next_question() {
    for (wait, pieces, expected) in [
        (0, &[(0, &b"\r"[..])][..], None),
        (0, &[(0, b"\r"), (0, b"\r")], Some(Picked::Option(1))),
        (0, &[(0, b"\x1b[A"), (0, b"\r")], Some(Picked::Option(0))),
        (1001, &[(0, b"\r")], Some(Picked::Option(1))),
    ] {
        let after = Instant::now().checked_sub(Duration::from_millis(wait));
        let mut choosing = Choosing::new(OPTIONS.to_vec(), 1, after);
        assert_eq!(plays(&mut choosing, pieces).0, expected, "{wait} {pieces:?}");
    }
}
