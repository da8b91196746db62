//! New descriptors are sound, teach, and hold no secret.

use crate::{BadSketch, Sketch, SketchKind};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn sketch(kind: SketchKind) -> Sketch {
    Sketch { name: "mine".into(), description: None, kind }
}

#[test]
fn each_kind_is_written() {
    let headers = vec![("Authorization".to_owned(), "Bearer Zq7xW9".to_owned())];
    for (kind, paths, parts) in [
        (
            SketchKind::Server(words(&["npx", "-y", "a@1"])),
            &["mine.toml"][..],
            &["command = [\"npx\", \"-y\", \"a@1\"]"][..],
        ),
        (
            SketchKind::Url("https://a.example/mcp".into(), headers.clone()),
            &["mine.toml"],
            &["Authorization = \"Bearer ${MINE_AUTHORIZATION}\""],
        ),
        (
            SketchKind::Command(words(&["/usr/bin/wc", "-w", "--", "{file}"])),
            &["mine.toml", "mine/invokers/wc.toml"],
            &["required = [\"file\"]", "expect.outcome = \"invalid\"", "source = \"mine/invokers/wc.toml\""],
        ),
        (
            SketchKind::Command(words(&["uptime"])),
            &["mine.toml", "mine/invokers/uptime.toml"],
            &["expect.outcome = \"success\""],
        ),
        (
            SketchKind::Http("POST".into(), "https://a.example/{city}?key=Zq7xW9".into(), headers),
            &["mine.toml", "mine/invokers/post.toml"],
            &["[arguments.properties.city]", "key=${MINE_KEY}"],
        ),
    ] {
        let (files, _) = sketch(kind).files().unwrap();
        let found: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(found, paths);
        let text: String = files.iter().map(|file| file.text.as_str()).collect();
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}\n{text}"));
        assert!(text.contains("# ") && !text.contains("Zq7xW9"), "{text}");
    }
}

#[test]
fn a_description_with_a_secret_is_not_written() {
    let kind = SketchKind::Command(words(&["x"]));
    let described = Sketch { description: Some("password: Zq7xW9".into()), ..sketch(kind) };
    let (files, notes) = described.files().unwrap();
    assert!(
        files.iter().all(|file| !file.text.contains("Zq7xW9")) && notes.len() == 1,
        "{files:?} {notes:?}"
    );
}

#[test]
fn what_check_would_refuse_is_not_written() {
    for (kind, part) in [
        (SketchKind::Command(words(&["sh", "-c", "echo {x}"])), "not be valid"),
        (SketchKind::Http("GET".into(), "https://{host}/".into(), vec![]), "host"),
        (SketchKind::Http("FETCH".into(), "https://a.example".into(), vec![]), "FETCH"),
        (SketchKind::Url("a.example".into(), vec![]), "http://"),
        (SketchKind::Server(vec![]), "program is missing"),
    ] {
        let error = sketch(kind).files().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let named = Sketch { name: "a b".into(), ..sketch(SketchKind::Server(words(&["x"]))) };
    assert!(matches!(named.files(), Err(BadSketch::Name(_))));
}
