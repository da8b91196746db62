use super::*;

fn world(dir: &std::path::Path) -> World {
    use crate::world::Input;
    World {
        words: vec![],
        env: Default::default(),
        cwd: dir.into(),
        config: None,
        data: None,
        database: None,
        stdin: Input::Nothing,
        stdout_tty: false,
        stderr_tty: false,
    }
}

fn said(dir: &std::path::Path, names: &[&str]) -> Result<UserInput, Failure> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let interrupt = Interrupt::default();
    let bounds = Bounds { deadline: None, interrupt: &interrupt };
    UserInput::new("what is it?".to_owned(), &names, &world(dir), bounds)
}

#[test]
fn texts_are_documents_and_bytes_stand_before_the_words() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pixel.jpg"), b"\x89PNG\r\n\x1a\n...").unwrap();
    std::fs::write(dir.path().join("a.md"), "\u{feff}# A").unwrap();
    std::os::unix::fs::symlink("a.md", dir.path().join("link.csv")).unwrap();
    let said = said(dir.path(), &["pixel.jpg", "a.md", "./link.csv"]).unwrap();
    let contents = Kept::new(None);
    let canisters = said.canisters(keeper(&contents).as_ref(), &contents, TurnId(1)).unwrap();
    let [Canister::Document(first), Canister::Document(second), Canister::User(user)] = &canisters[..] else {
        panic!("{canisters:?}")
    };
    assert_eq!((first.name.as_str(), first.mime.as_str()), ("a.md", "text/markdown"));
    assert_eq!(first.content, [Content::text("# A")]);
    assert_eq!((second.name.as_str(), second.mime.as_str()), ("link.csv", "text/csv"));
    let [Content::Blob { mime, digest, name, .. }, Content::Text { text, .. }] = &user.content[..] else {
        panic!("{user:?}")
    };
    assert_eq!(
        (mime.as_str(), name.as_deref(), text.as_str()),
        ("image/png", Some("pixel.jpg"), "what is it?")
    );
    use converse_canister::Blobs as _;
    assert_eq!(contents.bytes(digest).as_deref(), Some(&b"\x89PNG\r\n\x1a\n..."[..]));
}

#[test]
fn what_cannot_be_attached_is_a_usage_error_that_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
    write("empty", b"");
    write("latin.txt", b"gr\xfc\xdfe");
    let large = std::fs::File::create(dir.path().join("large")).unwrap();
    large.set_len(MOST_BYTES as u64 + 1).unwrap();
    for index in 0..3 {
        let mut bytes = b"%PDF-1.7".to_vec();
        bytes.resize(MOST_BYTES, b' ');
        write(&format!("{index}.pdf"), &bytes);
    }
    for (names, code, word) in [
        (&["absent"][..], "attachment", "No such file"),
        (&["."], "attachment", "regular file"),
        (&["/dev/zero"], "attachment", "regular file"),
        (&["-"], "attachment", "stdin"),
        (&["mcp:x"], "attachment", "mcp:ENSEMBLE:URI"),
        (&["file:///etc/passwd"], "attachment", "only http"),
        (&["empty"], "attachment-type", "empty"),
        (&["latin.txt"], "attachment-type", "UTF-8"),
        (&["large"], "attachment-too-large", "20971521 bytes"),
        (&["0.pdf", "1.pdf", "2.pdf"], "attachment-too-large", "together"),
    ] {
        let failure = said(dir.path(), names).unwrap_err();
        assert_eq!((failure.kind, failure.code), (FailureKind::Usage, code), "{names:?}");
        assert!(failure.message.contains(word), "{names:?}: {}", failure.message);
    }
    assert!(said(dir.path(), &["0.pdf", "1.pdf"]).is_ok());
}

fn fits(said: &UserInput, provider: &str) -> Result<(), Failure> {
    let endpoint = converse_provider::row(provider).unwrap().endpoint(None);
    said.fits(&endpoint, &Facts::default(), "there/m")
}

#[test]
fn what_fits_one_by_one_and_not_together_is_told_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let mut pdf = b"%PDF-1.7".to_vec();
    pdf.resize(11_000_000, b' ');
    for name in ["1.pdf", "2.pdf", "3.pdf"] {
        std::fs::write(dir.path().join(name), &pdf).unwrap();
    }
    for (names, provider, good) in [
        (&["1.pdf"][..], "gemini", true),
        (&["1.pdf", "2.pdf"], "gemini", false),
        (&["1.pdf"], "anthropic", true),
        (&["1.pdf", "2.pdf"], "anthropic", false),
        (&["1.pdf", "2.pdf", "3.pdf"], "openai", true),
    ] {
        let fits = fits(&said(dir.path(), names).unwrap(), provider);
        assert_eq!(fits.is_ok(), good, "{names:?} to {provider}");
        if let Err(failure) = fits {
            assert_eq!((failure.kind, failure.code), (FailureKind::Usage, "attachment-too-large"));
            assert!(failure.message.contains("29333336"), "{}", failure.message);
        }
    }
    let known = Facts {
        takes: converse_provider::AcceptedMedia { documents: Some(false), ..Default::default() },
        ..Facts::default()
    };
    let endpoint = converse_provider::row("gemini").unwrap().endpoint(None);
    let both = said(dir.path(), &["1.pdf", "2.pdf"]).unwrap();
    assert!(both.fits(&endpoint, &known, "there/m").is_ok(), "they go as words");
}

#[test]
fn a_vendors_own_limit_is_told_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.resize(4_000_000, 0);
    std::fs::write(dir.path().join("x.png"), png).unwrap();
    let said = said(dir.path(), &["x.png"]).unwrap();
    assert!(fits(&said, "openai").is_ok());
    let failure = fits(&said, "anthropic").unwrap_err();
    assert!(
        failure.message.contains("4000000") && failure.message.contains("3932160"),
        "{}",
        failure.message
    );
}
