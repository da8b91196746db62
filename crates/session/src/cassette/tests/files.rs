//! Cassettes as files: damaged, in the way, too large.

use std::io::Cursor;

use super::*;

#[test]
fn what_is_no_whole_cassette_is_told_with_its_line() {
    let header = r#"{"cassette":1,"program":"p","created":"c","models":[]}"#;
    let line = serde_json::to_string(&exchange(json!({}), "x")).unwrap();
    let read = |text: String| {
        let read = Cassette::parse(Cursor::new(text), Path::new("f"));
        read.map(|cassette| (cassette.entries.len(), cassette.torn)).map_err(|error| error.to_string())
    };
    assert_eq!(read(format!("{header}\n{line}\n")), Ok((1, None)));
    assert_eq!(read(format!("{header}\n{line}")), Ok((1, None)), "only its line break is missing");
    for at in 1..line.len() {
        let torn = format!("{header}\n{line}\n{}", &line[..at]);
        assert_eq!(read(torn), Ok((1, Some(3))), "{at}");
    }
    for (text, told) in [
        (String::new(), "f is not a cassette"),
        ("hello\n".to_owned(), "f is not a cassette"),
        ("{\"v\":1}\n".to_owned(), "f is not a cassette"),
        (header.replace(":1", ":2"), "f was written by a newer converse (format 2; this one reads 1)"),
        (header.replace(":1", ":0"), "f:1: 0 is not a format version"),
        (format!("{}\n", header.replace("created", "made")), "f:1: unknown field `made`"),
        (format!("{header}\n{line}\n\n{line}\n"), "f:3: EOF"),
        (format!("{header}\n{line}\n{}\n", &line[..40]), "f:3: EOF"),
        (format!("{header}\n{}\n", line.replace("\"model\",", "\"video\",")), "f:2: unknown variant `video`"),
        (format!("{header}\n{}\n", line.replace(":200", ":7")), "f:2: 7 is not an HTTP status"),
        (format!("{header}\n{}\n", line.replace("\"text\"", "\"base64\"")), "f:2: not base64"),
    ] {
        let error = read(text.clone()).unwrap_err();
        assert!(error.starts_with(told), "{text}: {error}");
    }
}

#[test]
fn damage_anywhere_is_an_error_or_another_cassette_and_never_a_crash() {
    let (_dir, path) = recorded(&[
        Entry::Offer(Offer {
            ensemble: "e".to_owned(),
            look: 0,
            offered: Offered::Failed("no".to_owned()),
            instructions: None,
        }),
        exchange(json!({ "q": [1, "x"] }), "one"),
        call(json!({}), failed(ErrorKind::Failed)),
    ]);
    let text = std::fs::read(path).unwrap();
    let read = |bytes: &[u8]| Cassette::parse(Cursor::new(bytes), Path::new("f"));
    let whole = read(&text).unwrap();
    let mut refused = 0;
    for at in 0..text.len() {
        for byte in [0, b'\n', b'"', b'{', b'9', 0xff] {
            let mut damaged = text.clone();
            damaged[at] = byte;
            if damaged == text {
                continue;
            }
            match read(&damaged) {
                Ok(cassette) => drop(Player::new(cassette, Path::new("f"))),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > text.len(), "{refused} of {}", text.len() * 6);
    assert_eq!(whole.entries.len(), 3);
}

#[test]
fn only_a_cassette_is_replaced_and_only_by_a_whole_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let create = || Recorder::create(&path, "p", "c", Arc::new(Canary));
    std::fs::write(&path, "my notes\n").unwrap();
    assert_eq!(create().unwrap_err().to_string(), format!("{} is not a cassette", path.display()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
    std::fs::write(&path, "").unwrap();
    create().unwrap().finish(true).unwrap();
    let first = std::fs::read_to_string(&path).unwrap();
    assert!(first.starts_with(r#"{"cassette":1,"#), "{first}");
    let recorder = create().unwrap();
    assert!(matches!(create(), Err(CassetteError::Busy(_))), "two recordings of one file");
    recorder.write(&exchange(json!({ "k": WORD }), WORD));
    let partial = recorder.finish(false).unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    let text = std::fs::read_to_string(&partial).unwrap();
    assert!(!text.contains("canary") && text.contains("[redacted]"), "{text}");
    assert_eq!(Cassette::read(&partial).unwrap().entries.len(), 1);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&partial), mode(&path)), (0o600, 0o600));
    assert!(matches!(
        Recorder::create(dir.path(), "p", "c", Arc::new(Canary)),
        Err(CassetteError::NoFile(_))
    ));
    assert!(matches!(Cassette::read(Path::new("/dev/null")), Err(CassetteError::NoFile(_))));
}

#[test]
fn what_stands_where_the_recording_is_to_begin_is_nobodys_to_lose() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let (path, partial, notes) =
        (dir.path().join("f"), dir.path().join("f.partial"), dir.path().join("notes"));
    let create = || Recorder::create(&path, "p", "c", Arc::new(Canary));
    let told = || create().unwrap_err().to_string();
    std::fs::write(&notes, "my notes\n").unwrap();
    std::fs::write(&partial, "my notes\n").unwrap();
    assert_eq!(told(), format!("{} is not a cassette", partial.display()));
    assert_eq!(std::fs::read_to_string(&partial).unwrap(), "my notes\n");
    for place in [&notes, &dir.path().join("nowhere"), &path] {
        std::fs::remove_file(&partial).unwrap();
        symlink(place, &partial).unwrap();
        assert_eq!(told(), format!("{} is not a regular file", partial.display()));
        assert!(partial.is_symlink() && !dir.path().join("nowhere").exists());
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "my notes\n");
    std::fs::remove_file(&partial).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&partial).status().unwrap();
    assert!(made.success());
    assert_eq!(told(), format!("{} is not a regular file", partial.display()));
    std::fs::remove_file(&partial).unwrap();
    // What an earlier run left is kept by one that cannot begin, and replaced by one that does.
    create().unwrap().finish(false).unwrap();
    let left = std::fs::read_to_string(&partial).unwrap();
    let recorder = create().unwrap();
    assert!(!recorder.has_begun());
    drop(recorder);
    assert_eq!(std::fs::read_to_string(&partial).unwrap(), left);
    let recorder = create().unwrap();
    recorder.write(&exchange(json!({}), "x"));
    assert!(recorder.has_begun());
    recorder.finish(false).unwrap();
    assert_eq!(Cassette::read(&partial).unwrap().entries.len(), 1);
    std::fs::remove_file(&partial).unwrap();
    drop(create().unwrap());
    assert!(!partial.exists(), "it made it");
}

#[test]
fn what_is_too_large_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::File::create(&path).unwrap().set_len(1024 * 1024 * 1024).unwrap();
    assert!(matches!(Cassette::read(&path), Err(CassetteError::TooLarge { .. })));
}

#[test]
fn the_bytes_of_a_picture_are_those_of_its_digest() {
    let digest = crate::digest(b"png");
    let blob = |base64: &str| {
        let blobs = vec![Blob { digest, base64: base64.to_owned() }];
        let given = answer("t");
        let call = Call {
            tool: "e.t".to_owned(),
            arguments: json!({}),
            given,
            began: 1,
            blobs,
            cost: 5,
            elapsed_ms: 0,
        };
        let line = serde_json::to_string(&Entry::Invocation(call)).unwrap();
        let header = r#"{"cassette":1,"program":"p","created":"c","models":[]}"#;
        Cassette::parse(Cursor::new(format!("{header}\n{line}\n")), Path::new("f"))
    };
    assert!(blob("cG5n").is_ok());
    assert!(blob("cG5h").unwrap_err().to_string().starts_with("f:2: the bytes do not match the digest"));
}
