//! What reading gives.

use super::*;

#[test]
fn slices_say_which_lines_they_are() {
    let ground = Ground::new();
    fs::write(ground.jail().join("lines"), "one\ntwo\r\nthree\nfour").unwrap();
    for (arguments, expected) in [
        (json!({}), "one\ntwo\r\nthree\nfour"),
        (json!({ "offset": 0 }), "one\ntwo\r\nthree\nfour"),
        (json!({ "offset": 1, "limit": 2 }), "two\r\nthree\n[lines 2 to 3, of 4]"),
        (json!({ "offset": 3 }), "four\n[lines 4 to 4, of 4]"),
        (json!({ "limit": 1 }), "one\n[lines 1 to 1, of 4]"),
        (json!({ "limit": 4 }), "one\ntwo\r\nthree\nfour"),
        (json!({ "limit": 99 }), "one\ntwo\r\nthree\nfour"),
        (json!({ "offset": 9 }), "[no lines from 10 on, of 4]"),
        (json!({ "offset": 18446744073709551615u64 }), "[no lines from"),
        (json!({ "limit": 0 }), "invalid: `limit`"),
        (json!({ "offset": -1 }), "invalid: `offset`"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("lines");
        let said = ground.said("read_file", arguments.clone());
        assert!(
            said == expected || said.starts_with(expected) && expected.ends_with(['`', 'm']),
            "{arguments}: {said}"
        );
    }
}

#[test]
fn encodings_are_honoured_and_binaries_refused() {
    let ground = Ground::new();
    for (name, bytes) in [
        ("cp1251", &b"\xcf\xf0\xe8\xe2\xe5\xf2"[..]),
        ("bom", b"\xef\xbb\xbfx"),
        ("utf16", b"\xff\xfe\x16\x04"),
        ("binary", b"\x7fELF\0\0"),
        ("empty", b""),
    ] {
        fs::write(ground.jail().join(name), bytes).unwrap();
    }
    for (path, encoding, expected) in [
        ("cp1251", "windows-1251", "Привет"),
        ("bom", "utf-8", "x"),
        ("utf16", "utf-16le", "Ж"),
        ("empty", "utf-8", ""),
        ("cp1251", "utf-8", "error: `cp1251` cannot be read as text: it is not utf-8 (byte 0"),
        ("utf16", "utf-8", "error: `utf16` cannot be read as text: it is not utf-8; it begins as utf-16le"),
        ("binary", "utf-8", "error: `binary` cannot be read as text: it looks binary (6 bytes"),
        ("a.txt", "ebcdic", "invalid: `ebcdic` is not a known encoding"),
    ] {
        let said = ground.said("read_file", json!({ "path": path, "encoding": encoding }));
        let matches =
            if expected.starts_with(['e', 'i']) { said.starts_with(expected) } else { said == expected };
        assert!(matches, "{path}: {said}");
    }
}

#[test]
fn a_file_too_large_is_not_read() {
    let ground = Ground::new();
    let file = fs::File::create(ground.jail().join("large")).unwrap();
    file.set_len(32 * 1024 * 1024 + 1).unwrap();
    let said = ground.said("read_file", json!({ "path": "large", "encoding": "latin1" }));
    assert_eq!(said, "error: `large` has 33554433 bytes or more; at most 33554432 are read");
    // The size a file claims is not believed: those of /proc claim none.
    let tool = ground.tool_with("read_file", json!({ "root": "/proc/self" }));
    assert!(told(&*tool, json!({ "path": "status" })).contains("Pid:"));
}
