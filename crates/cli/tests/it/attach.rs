//! `-a`: what is handed over reaches every wire as it takes it, stays in the session, and never vanishes silently.

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::{Ran, TestEnv, wait};
use crate::http::{Answer, serve};
use crate::provider::Provider;
use crate::screen::Screen;

/// No real picture, but nobody looks: it is recognised by its first bytes. Its base64 is longer than is shown.
fn png() -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0x55; 1500]].concat()
}

const PNG_BEGINS: &str = "iVBORw0KGgpVVVVV";
const PDF_BEGINS: &str = "JVBERi0xLjcK";

fn with_files(provider: &Provider) -> TestEnv {
    let env = provider.env(TestEnv::hasty());
    std::fs::write(env.path("work/pixel.jpeg"), png()).unwrap();
    env.write("work/report.pdf", "%PDF-1.7\n...");
    env.write("work/notes.md", "# Notes\nremember the milk\n");
    env
}

fn ask(env: &TestEnv, provider: &Provider, rest: &[&str]) -> Ran {
    env.run(&[&["ask", "-m", provider.model(), "--no-tools"], rest].concat())
}

/// Every string in it, with the keys that lead there.
fn strings(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((at.to_owned(), text.clone())),
        Value::Array(list) => list.iter().for_each(|held| strings(held, at, found)),
        Value::Object(object) => {
            object.iter().for_each(|(key, held)| strings(held, &format!("{at}/{key}"), found))
        }
        _ => {}
    }
}

/// Where some words stand in a request.
#[track_caller]
fn place(request: &Value, words: &str) -> String {
    let mut found = Vec::new();
    strings(request, "", &mut found);
    let place = found.iter().position(|(_, text)| text.contains(words));
    found[place.unwrap_or_else(|| panic!("no {words:?} in {request:#}"))].0.clone()
}

/// How often.
fn times(request: &Value, words: &str) -> usize {
    request.to_string().matches(words).count()
}

#[test]
fn a_picture_reaches_every_wire_and_stays_in_the_session() {
    for (dialect, expected) in [
        (Dialect::Anthropic, "/messages/content/source/data"),
        (Dialect::Chat, "/messages/content/image_url/url"),
        (Dialect::Responses, "/input/content/image_url"),
        (Dialect::Gemini, "/contents/parts/inlineData/data"),
        (Dialect::Ollama, "/messages/images"),
    ] {
        let provider = Provider::new(dialect, [text("Red."), text("Still red.")]);
        let env = with_files(&provider);
        let ran =
            ask(&env, &provider, &["-a", "pixel.jpeg", "-a", "notes.md", "which colour has it?"]).exits(0);
        assert_eq!(ran.stdout, "Red.\n");
        assert!(!ran.stderr.contains("shown"), "{dialect:?}: {}", ran.stderr);
        // The file is needed no more.
        std::fs::remove_file(env.path("work/pixel.jpeg")).unwrap();
        ask(&env, &provider, &["-c", "and now?"]).exits(0);
        let requests = provider.requests();
        for request in &requests {
            assert_eq!(place(request, PNG_BEGINS), expected, "{dialect:?}");
            assert_eq!(times(request, PNG_BEGINS), 1, "{dialect:?}");
            assert!(!request.to_string().contains("image/jpeg"), "its bytes say what it is, not its name");
        }
        // Attachments come before the words.
        let first = requests[0].to_string();
        let at = |words: &str| first.find(words).unwrap_or_else(|| panic!("{words}: {first}"));
        assert!(at("remember the milk") < at("which colour"), "{dialect:?}");
        if dialect != Dialect::Ollama {
            assert!(at(PNG_BEGINS) < at("which colour"), "{dialect:?}");
        }
        assert!(first.contains("notes.md"), "{dialect:?}: {first}");
        provider.is_content();
    }
}

#[test]
fn what_a_wire_does_not_take_is_described_and_told() {
    for (dialect, expected) in [
        (Dialect::Anthropic, Some("/messages/content/source/data")),
        (Dialect::Responses, Some("/input/content/file_data")),
        (Dialect::Gemini, Some("/contents/parts/inlineData/data")),
        (Dialect::Chat, None),
        (Dialect::Ollama, None),
    ] {
        let provider = Provider::new(dialect, [text("Dull."), text("Very.")]);
        let env = with_files(&provider);
        let ran = ask(&env, &provider, &["-a", "report.pdf", "sum it up"]).exits(0);
        let request = &provider.requests()[0];
        let told = format!("{} does not accept the PDF file report.pdf", provider.model());
        match expected {
            Some(expected) => {
                assert_eq!(place(request, PDF_BEGINS), expected, "{dialect:?}");
                assert!(!ran.stderr.contains("sends a description"), "{dialect:?}: {}", ran.stderr);
            }
            None => {
                assert_eq!(times(request, PDF_BEGINS), 0, "{dialect:?}");
                assert_eq!(times(request, "report.pdf"), 1, "{dialect:?}: {request:#}");
                assert_eq!(times(request, "cannot be shown here"), 1, "{dialect:?}: {request:#}");
                assert_eq!(ran.stderr.matches(&told).count(), 1, "{dialect:?}: {}", ran.stderr);
            }
        }
        // For those who read records, too; once for a run.
        let ran = ask(&env, &provider, &["-c", "-o", "jsonl", "more"]).exits(0);
        let warnings = ran.records().iter().filter(|record| record["type"] == "warning").count();
        assert_eq!(warnings, usize::from(expected.is_none()), "{dialect:?}: {}", ran.stdout);
        provider.is_content();
    }
}

#[test]
fn it_is_told_once_however_often_the_model_is_called() {
    let call = calls([("essentials__calculator", json!({ "expression": "1+2" }))]);
    let provider = Provider::chat([call, text("3, and dull.")]);
    let env = with_files(&provider);
    let ran = env.run(&["ask", "-m", provider.model(), "-a", "report.pdf", "1+2, and sum it up"]).exits(0);
    assert_eq!(ran.stderr.matches("report.pdf").count(), 1, "{}", ran.stderr);
    assert_eq!(provider.requests().len(), 2);
    provider.is_content();
}

#[test]
fn a_dry_run_counts_the_bytes_and_keeps_nothing() {
    let provider = Provider::chat(Vec::<Says>::new());
    let env = with_files(&provider);
    let ran = ask(&env, &provider, &["-a", "pixel.jpeg", "-a", "report.pdf", "x", "--dry-run"]).exits(0);
    assert!(ran.stdout.contains("data:image/png;base64,…2012 bytes of base64…"), "{}", ran.stdout);
    assert!(!ran.stdout.contains(PNG_BEGINS));
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "a dry run keeps nothing");
    provider.is_content();
}

#[test]
fn what_cannot_be_attached_ends_the_run_before_it_begins() {
    let provider = Provider::new(Dialect::Anthropic, Vec::<Says>::new());
    let env = with_files(&provider);
    let mut large = png();
    large.resize(4_000_000, 0);
    std::fs::write(env.path("work/large.png"), large).unwrap();
    env.write("work/letter.docx", "PK\u{3}\u{4}...");
    for (named, code, words) in [
        ("absent.png", "attachment", "No such file"),
        (".", "attachment", "regular file"),
        ("mcp:weather:x", "unknown-ensemble", "no ensemble `weather`"),
        ("letter.docx", "attachment-type", "office document"),
        ("large.png", "attachment-too-large", "is 3932160"),
    ] {
        let ran = ask(&env, &provider, &["-a", named, "x", "-o", "json"]).exits(2);
        let error = &ran.json()["error"];
        assert_eq!(error["code"], code, "{named}");
        assert!(error["message"].as_str().unwrap().contains(words), "{named}: {error}");
    }
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "nothing is kept of it");
    provider.is_content();
}

fn site() -> u16 {
    serve(|request| match request.path.as_str() {
        "/pixel" => Answer::new(200, "image/png", png()),
        "/moved" => Answer::new(302, "text/plain", "").header("location", "/pixel"),
        "/away" => Answer::new(302, "text/plain", "").header("location", "http://localhost:1/pixel"),
        "/circle" => Answer::new(302, "text/plain", "").header("location", "/circle"),
        "/lie.png" => Answer::new(200, "image/png", "<html>log in first</html>"),
        "/page.html" => Answer::new(200, "text/html; charset=utf-8", "<p>remember the milk</p>"),
        "/endless" => Answer::new(200, "image/png", [png(), vec![0; 21 * 1024 * 1024]].concat()),
        "/silent" => Answer { stall: true, cut_at: Some(8), ..Answer::new(200, "image/png", png()) },
        _ => Answer::new(404, "text/plain", "no"),
    })
}

#[test]
fn an_address_is_fetched_and_what_comes_is_checked() {
    let port = site();
    for (path, words) in [
        ("/away", "redirects to http://localhost:1/pixel"),
        ("/circle", "in a circle"),
        ("/lie.png", "declares the type `image/png`, but the content is text/plain"),
        ("/endless", "more than 20971520 bytes"),
        ("/nowhere?token=hush", "status 404"),
    ] {
        let provider = Provider::chat(Vec::<Says>::new());
        let env = provider.env(TestEnv::hasty());
        let url = format!("http://127.0.0.1:{port}{path}");
        let ran = ask(&env, &provider, &["-a", &url, "x"]).exits(2);
        assert!(ran.stderr.contains(words) && !ran.stderr.contains("hush"), "{path}: {}", ran.stderr);
    }
    let provider = Provider::chat([text("Red.")]);
    let env = provider.env(TestEnv::hasty());
    let urls = ["/moved", "/page.html"].map(|path| format!("http://127.0.0.1:{port}{path}"));
    ask(&env, &provider, &["-a", &urls[0], "-a", &urls[1], "x"]).exits(0);
    let request = &provider.requests()[0];
    assert_eq!(place(request, PNG_BEGINS), "/messages/content/image_url/url");
    assert!(request.to_string().contains("remember the milk"), "{request:#}");
}

#[test]
fn a_silent_server_is_waited_for_until_the_deadline() {
    let provider = Provider::chat(Vec::<Says>::new());
    let env = provider.env(TestEnv::hasty());
    let url = format!("http://127.0.0.1:{}/silent", site());
    let ran = ask(&env, &provider, &["-a", &url, "x", "--deadline", "1"]).exits(7);
    assert!(ran.stderr.contains("while an attachment was fetched"), "{}", ran.stderr);
}

#[test]
fn thoughts_have_a_gutter_on_a_terminal_and_none_elsewhere() {
    let thought = text("Red.").thinking("It is\n\nclearly red.");
    for whole in [false, true] {
        let provider = Provider::new(Dialect::Anthropic, [thought.clone(), thought.clone(), thought.clone()]);
        let env = provider.env(TestEnv::hasty());
        let mut args = vec!["ask", "-m", provider.model(), "--no-tools", "--show-reasoning", "x"];
        if whole {
            args.push("--no-stream");
        }
        let ran = env.run(&args).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Red.\n", "It is\n\nclearly red.\n"));
        // What is unfinished may be painted before it is complete.
        let mut screen = Screen::run(&env, &args);
        let seen = screen.shows("Red.");
        assert!(seen.contains("│ It is\n│\n│ clearly red.\nRed."), "{seen}");
        assert!(screen.raw().contains("\x1b[2m│ It is\x1b[0m\r\n"), "dim: {:?}", screen.raw());
        assert_eq!(screen.finishes(), 0);
        // And nothing of it unasked.
        args.retain(|arg| *arg != "--show-reasoning");
        assert_eq!(env.run(&args).exits(0).stderr, "");
        provider.is_content();
    }
}

#[test]
fn hidden_thoughts_are_one_line() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "stop_reason": "end_turn",
        "content": [{ "type": "redacted_thinking", "data": "c2VhbGVk" }, { "type": "text", "text": "Red." }],
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let answer = Answer::new(200, "application/json", body.to_string());
    let provider = Provider::new(Dialect::Anthropic, [answer]);
    let env = provider.env(TestEnv::hasty());
    let child = env.command(["ask", "-m", provider.model(), "--no-stream", "--show-reasoning", "x"]).spawn();
    let ran = wait(child.unwrap()).exits(0);
    assert_eq!(ran.stderr, "(it thought, and its provider does not show what)\n");
    assert_eq!(ran.stdout, "Red.\n");
    provider.is_content();
}
