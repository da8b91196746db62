//! What editing does, and where it never does.

use super::*;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old_text": old, "new_text": new })
}

#[test]
fn a_passage_is_changed_and_nothing_else() {
    let ground = Ground::new();
    fs::write(ground.jail().join("code.rs"), "fn a() {}\nfn b() {}\nfn c() {}\n").unwrap();
    let said = ground.said("edit_file", edit("code.rs", "fn b() {}", "fn b() { a() }"));
    assert!(said.starts_with("changed 1 place of code.rs\n"), "{said}");
    assert!(said.contains("-fn b() {}\n+fn b() { a() }\n"), "{said}");
    assert_eq!(ground.at("code.rs"), "fn a() {}\nfn b() { a() }\nfn c() {}\n");
    let mut everywhere = edit("code.rs", "fn ", "pub fn ");
    assert!(ground.said("edit_file", everywhere.clone()).contains("is in 3 places (lines 1, 2, 3)"));
    everywhere["replace_all"] = json!(true);
    assert!(ground.said("edit_file", everywhere).starts_with("changed 3 places"));
    assert_eq!(ground.at("code.rs").matches("pub fn ").count(), 3);
}

#[test]
fn bytes_that_are_no_part_of_the_passage_stay_as_they_are() {
    let ground = Ground::new();
    let path = ground.jail().join("x.txt");
    fs::write(&path, b"\xef\xbb\xbfa\r\nb\r\n\r\nc").unwrap();
    assert!(ground.said("edit_file", edit("x.txt", "a\nb\n", "a\nB\n")).starts_with("changed 1"));
    assert_eq!(fs::read(&path).unwrap(), b"\xef\xbb\xbfa\r\nB\r\n\r\nc");
    fs::write(&path, b"\xff\xfea\0b\0").unwrap();
    let mut wide = edit("x.txt", "b", "\u{436}");
    wide["encoding"] = json!("utf-16le");
    assert!(ground.said("edit_file", wide).starts_with("changed 1"));
    assert_eq!(fs::read(&path).unwrap(), b"\xff\xfea\0\x36\x04");
}

#[test]
fn a_file_with_bytes_that_would_be_spelt_otherwise_is_left() {
    let ground = Ground::new();
    let path = ground.jail().join("x.txt");
    // 87 90 and 81 e0 are the same character; the second is what is written.
    let mut japanese = edit("x.txt", "a", "b");
    japanese["encoding"] = json!("shift_jis");
    fs::write(&path, b"a\x87\x90").unwrap();
    let said = ground.said("edit_file", japanese.clone());
    assert!(said.contains("bytes that shift_jis would encode differently"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"a\x87\x90");
    fs::write(&path, b"a\x81\xe0").unwrap();
    assert!(ground.said("edit_file", japanese).starts_with("changed 1"));
    assert_eq!(fs::read(&path).unwrap(), b"b\x81\xe0");
}

#[test]
fn what_cannot_be_edited_is_said_and_left() {
    let ground = Ground::new();
    fs::write(ground.jail().join("binary"), b"a\0b").unwrap();
    fs::create_dir(ground.jail().join("plain")).unwrap();
    for (path, old, said) in [
        ("new.txt", "a", "`new.txt` does not exist; `write_file`"),
        ("a.txt", "beta", "`old_text` is not in it"),
        ("link", "alpha", "is a symbolic link"),
        ("plain", "alpha", "is a directory"),
        ("binary", "a", "binary"),
        ("../secret.txt", "SECRET", "outside of the workspace"),
        ("out", "SECRET", "symbolic link"),
        (".git/config", "a", "is protected"),
        ("converse.toml", "mine", "is protected"),
    ] {
        let answer = ground.said("edit_file", edit(path, old, "x"));
        assert!(answer.starts_with("error: ") && answer.contains(said), "{path}: {answer}");
    }
    assert!(ground.said("edit_file", edit("a.txt", "", "x")).starts_with("invalid: "));
    assert!(ground.said("edit_file", edit("a.txt", "x", "x")).starts_with("invalid: "));
    assert_eq!((ground.at("a.txt").as_str(), ground.at("converse.toml").as_str()), ("alpha\n", "mine"));
}
