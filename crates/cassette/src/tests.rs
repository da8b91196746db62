use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use converse_canister::Content;
use converse_ensemble::{Answer, InvokeError};
use serde_json::{Map, Value, json};

use super::*;

/// Takes this word out.
struct Canary;
const WORD: &str = "canary-0123456789";

impl Redact for Canary {
    fn text(&self, text: &str) -> String {
        text.replace(WORD, "[redacted]")
    }

    fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(members) => members.values_mut().for_each(|item| self.json(item)),
            _ => {}
        }
    }
}

fn question(body: Value) -> Question {
    Question::new("p/m", "POST", "/chat", body.to_string().as_bytes(), &Canary)
}

fn reply(text: &str) -> Reply {
    let headers = Map::from_iter([("content-type".to_owned(), json!("application/json"))]);
    Reply::Response(Response { status: 200, headers, body: Kept::Text(text.to_owned()), broken: None })
}

fn exchange(body: Value, says: &str) -> Entry {
    let Question { model, request } = question(body);
    Entry::Model(Exchange { model, dialect: "openai-chat".to_owned(), request, began: 0, reply: reply(says) })
}

fn call(arguments: Value, given: Given) -> Entry {
    let tool = "e.t".to_owned();
    Entry::Invocation(Call { tool, arguments, given, began: 0, blobs: Vec::new(), cost: 0, elapsed_ms: 3 })
}

fn recorded(entries: &[Entry]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.cassette");
    let recorder = Recorder::create(&path, "converse 0", "2026-11-22T00:00:00Z", Arc::new(Canary)).unwrap();
    recorder.model("p/m");
    entries.iter().for_each(|entry| recorder.write(entry));
    assert!(!path.exists(), "it is in its place only when it is whole");
    assert_eq!(recorder.finish(true).unwrap(), None);
    (dir, path)
}

fn player(entries: &[Entry]) -> Player {
    let (_dir, path) = recorded(entries);
    Player::new(Cassette::read(&path).unwrap(), Path::new("f.cassette"))
}

#[test]
fn equal_questions_get_their_answers_in_order_and_then_none() {
    let player = player(&[
        exchange(json!({ "q": 1 }), "one"),
        exchange(json!({ "q": 2 }), "other"),
        exchange(json!({ "q": 1 }), "two"),
    ]);
    assert_eq!(player.models(), ["p/m"]);
    assert_eq!(player.reply(&question(json!({ "q": 1 }))).unwrap(), reply("one"));
    assert_eq!(player.reply(&question(json!({ "q": 1 }))).unwrap(), reply("two"));
    let miss = player.reply(&question(json!({ "q": 1 }))).unwrap_err();
    assert_eq!(miss.message, "f.cassette answers this request of p/m 2 times, and it is asked once more");
    assert_eq!((miss.line, miss.diff.as_str()), (Some(4), ""));
    let after = player.reply(&question(json!({ "q": 2 }))).unwrap_err();
    assert_eq!(after, miss, "what is asked after a miss follows from it");
    assert_eq!(player.call("e.t", &json!({})).unwrap_err(), miss);
    assert_eq!(player.miss(), Some(miss));
}

#[test]
fn a_question_is_the_same_whoever_asks_it_and_whenever() {
    let artefact = |digit: &str| format!("[cut; the whole is kept as artefact {}] on", digit.repeat(64));
    let same = [
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "cache_control": { "type": "ephemeral" } }, "text": artefact("0") }),
        json!({ "b": { "y": 2.0, "x": "t" }, "a": 1, "text": artefact("a"), "user": "me", "metadata": { "u": 1 } }),
        json!({ "a": 1, "b": { "x": "t", "y": 2 }, "text": "[cut] on", "prompt_cache_key": "k", "session_id": "1" }),
    ];
    let first = question(same[0].clone());
    for body in &same {
        assert_eq!(question(body.clone()).request.body.to_string(), first.request.body.to_string(), "{body}");
    }
    for body in [
        json!({ "a": 2, "b": { "x": "t", "y": 2.0 }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "user": "inside" }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0, "cache_control": { "type": "object" } }, "text": "[cut] on" }),
        json!({ "a": 1, "b": { "x": "t", "y": 2.0 }, "text": "[cut; the whole is kept as artefact 00] on" }),
    ] {
        assert_ne!(question(body.clone()), first, "{body}");
    }
    let long = |letter: &str| question(json!({ "data": letter.repeat(5000) }));
    assert_ne!(long("x"), long("y"));
    assert!(long("x").request.body.to_string().len() < 200, "a picture is not in it");
    assert_eq!(
        question(json!({ "data": "x y".repeat(5000) })).request.body["data"].as_str().unwrap().len(),
        15_000
    );
    assert_eq!(question(json!({ "k": WORD })), question(json!({ "k": "[redacted]" })));
}

#[test]
fn a_miss_shows_what_is_otherwise_in_the_nearest_question() {
    let long: String = (0..40).map(|n| format!("line {n} of a long text\n")).collect();
    let body = |text: &str| json!({ "messages": [{ "role": "user", "content": text }], "model": "m" });
    let player = player(&[
        exchange(json!({ "nothing": "like it" }), "a"),
        exchange(body(&long), "b"),
        call(json!({ "x": 1 }), Given::of(&Ok(Answer::text("t")))),
    ]);
    let miss = player.reply(&question(body(&long.replace("line 7 ", "line seven ")))).unwrap_err();
    assert_eq!(miss.message, "f.cassette has no answer to this request of p/m; the nearest stands in line 3");
    assert_eq!(miss.line, Some(3));
    let changed: Vec<&str> =
        miss.diff.lines().filter(|line| line.starts_with(['-', '+'])).map(str::trim_end).collect();
    assert_eq!(
        changed,
        [
            "--- recorded (line 3)",
            "+++ asked",
            r#"-          "line 7 of a long text\n""#,
            r#"+          "line seven of a long text\n""#,
        ]
    );
    let none = self::player(&[]).call("e.t", &json!({ "x": 2 })).unwrap_err();
    assert_eq!(none.message, "f.cassette has no answer to this invocation of e.t: it holds none like it");
}

#[test]
fn a_diff_has_sixty_lines_at_most() {
    let body =
        |word: &str| json!((0..300).map(|n| format!("{word} {n} {}", "x ".repeat(300))).collect::<Vec<_>>());
    let miss = player(&[exchange(body("a"), "x")]).reply(&question(body("b"))).unwrap_err();
    assert_eq!(miss.diff.lines().count(), 60);
    assert!(miss.diff.lines().last().unwrap().ends_with("more lines"), "{}", miss.diff);
    assert!(miss.diff.lines().all(|line| line.chars().count() <= 201));
}

#[test]
fn invocations_are_answered_as_they_were() {
    let blobs = vec![Content::text("t"), Content::Structured { value: json!({ "a": 1 }) }];
    let outcomes = [
        Ok(Answer::new(blobs, true)),
        Ok(Answer { kept: true, ..Answer::text("k") }),
        Err(InvokeError::Invalid("a".to_owned())),
        Err(InvokeError::Unreachable { message: "b".to_owned(), sent: true }),
        Err(InvokeError::Unreachable { message: "b".to_owned(), sent: false }),
        Err(InvokeError::Failed("c".to_owned())),
        Err(InvokeError::Interrupted("d".to_owned())),
        Err(InvokeError::Unsandboxed("e".to_owned())),
        Err(InvokeError::HeldBack("f".to_owned())),
        Err(InvokeError::Timeout("g".to_owned())),
        Err(InvokeError::Kept(Box::new(InvokeError::Timeout("h".to_owned())))),
    ];
    let entries: Vec<Entry> =
        outcomes.iter().map(|one| call(json!({ "b": 1, "a": [] }), Given::of(one))).collect();
    let player = player(&entries);
    for outcome in outcomes {
        let call = player.call("e.t", &json!({ "a": [], "b": 1 })).unwrap();
        assert_eq!(call.given.outcome(), outcome);
    }
    assert!(player.call("e.t", &json!({ "a": [], "b": 1 })).is_err());
}

#[test]
fn a_body_is_kept_as_events_or_as_it_came() {
    for (kind, body, kept) in [
        ("text/event-stream; charset=utf-8", "event: a\ndata: {}\n\ndata: 1\r\n\r\n: ping\n\n\ndata: cut", 4),
        ("application/x-ndjson", "{\"a\":1}\n{\"b\":2}\n", 2),
        ("application/json", "{\n  \"a\": 1.50\n}\n", 1),
        ("", "oops", 1),
    ] {
        let body_kept = Kept::of(kind, body.as_bytes(), &Canary);
        let pieces = body_kept.pieces().unwrap();
        assert_eq!(pieces.concat(), body.as_bytes(), "{kind}: byte for byte");
        assert_eq!(pieces.len(), kept, "{kind}: {body_kept:?}");
    }
    let cut = Kept::of("text/event-stream", b"data: \xc3\xa4\n\ndata: \xc3", &Canary);
    assert_eq!(cut, Kept::Events(vec!["data: \u{e4}\n\n".to_owned(), "data: ".to_owned()]));
    let binary = [0xff, 0xfe, 0x00, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(Kept::of("", &binary, &Canary).pieces().unwrap().concat(), binary);
}

#[test]
fn no_secret_is_kept_however_a_stream_tells_it() {
    let event =
        |text: &str| format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": text } }] }));
    for body in [
        event(&format!("it is {WORD}!")),
        ["it is can", "ary-0123", "456789", "!"].map(event).concat(),
        event(WORD).replace("canary", "c\\u0061nary"),
        format!("data: {WORD}\n\n"),
        json!({ "error": { "message": format!("bad key {WORD}") } }).to_string(),
    ] {
        for kind in ["text/event-stream", "application/json"] {
            let kept = serde_json::to_string(&Kept::of(kind, body.as_bytes(), &Canary)).unwrap();
            let kept_in_pieces = kept.replace("\"}}]}\\n\\n\",\"data: {\\\"choices", "");
            assert!(
                !kept_in_pieces.contains("canary") && kept.contains("[redacted]"),
                "{kind} {body}: {kept}"
            );
        }
    }
    let whole = Kept::of(
        "text/event-stream",
        ["it is can", "ary-0123", "456789", "!"].map(event).concat().as_bytes(),
        &Canary,
    );
    let Kept::Events(events) = whole else { panic!() };
    assert_eq!(events, ["it is [redacted]", "", "", "!"].map(event), "as far as the secret reaches");
}

/// Knows the word by its beginning alone, as whoever has seen texts be cut does.
struct Hasty;

impl Redact for Hasty {
    fn text(&self, text: &str) -> String {
        let Some(at) = text.find(&WORD[..12]) else { return text.to_owned() };
        let (before, from) = text.split_at(at);
        let same = from.bytes().zip(WORD.bytes()).take_while(|(a, b)| a == b).count();
        format!("{before}[redacted]{}", self.text(&from[same..]))
    }

    fn json(&self, value: &mut Value) {
        if let Value::Array(_) | Value::Object(_) = value {
            let items: Vec<&mut Value> = match value {
                Value::Array(items) => items.iter_mut().collect(),
                Value::Object(members) => members.values_mut().collect(),
                _ => Vec::new(),
            };
            items.into_iter().for_each(|item| self.json(item));
        } else if let Value::String(text) = value {
            *text = self.text(text);
        }
    }
}

#[test]
fn texts_that_a_stream_tells_side_by_side_stay_apart() {
    let chat = |call: u64, text: &str| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": call, "function": { "arguments": text } }] } }] });
    let anthropic = |block: u64, text: &str| json!({ "index": block, "delta": { "partial_json": text } });
    let responses =
        |call: u64, text: &str| json!({ "output_index": call, "sequence_number": 7, "delta": text });
    let told: [(u64, &str); 9] = [
        (0, "{\"a\":\""),
        (1, "{\"b\":\"can"),
        (0, "one"),
        (1, "ary-0123456"),
        (0, " two"),
        (1, "789 and canary-"),
        (1, "0123456789\"}"),
        (0, " canary-01234"),
        (0, "56789\"}"),
    ];
    let kept: [(u64, &str); 9] = [
        (0, "{\"a\":\""),
        (1, "{\"b\":\"[redacted] and [redacted]\"}"),
        (0, "one"),
        (1, ""),
        (0, " two"),
        (1, ""),
        (1, ""),
        (0, " [redacted]\"}"),
        (0, ""),
    ];
    type Shape<'a> = &'a dyn Fn(u64, &str) -> Value;
    let shapes: [Shape<'_>; 3] = [&chat, &anthropic, &responses];
    for shape in shapes {
        let stream =
            |parts: [(u64, &str); 9]| parts.map(|(of, text)| format!("data: {}\n\n", shape(of, text)));
        for redact in [&Canary as &dyn Redact, &Hasty] {
            let Kept::Events(events) =
                Kept::of("text/event-stream", stream(told).concat().as_bytes(), redact)
            else {
                panic!()
            };
            assert_eq!(events, stream(kept));
        }
    }
    // A thousand secrets in one text: all of them, and without looking for ever.
    let many: String = (0..1000)
        .flat_map(|_| ["canary-01", "23456789 "].map(|text| chat(0, text).to_string() + "\n"))
        .collect();
    let text = serde_json::to_string(&Kept::of("application/x-ndjson", many.as_bytes(), &Hasty)).unwrap();
    assert!(!text.contains("canary") && !text.contains("456789"), "{}", &text[text.len() - 500..]);
    assert_eq!(text.matches("[redacted]").count(), 1000);
}

#[test]
fn no_secret_is_hidden_by_bytes_that_are_no_text() {
    let event = |text: &str| format!("data: {}\n\n", json!({ "delta": text })).into_bytes();
    let bad = |text: Vec<u8>| [b": \xff\xfe\xff\xff\n\n".to_vec(), text].concat();
    for (kind, body) in [
        ("", bad(WORD.into())),
        ("application/json", bad(json!({ "key": WORD }).to_string().into())),
        ("text/event-stream", bad(event(WORD))),
        ("text/event-stream", bad([event("canary-01"), event("23456789")].concat())),
    ] {
        let kept = Kept::of(kind, &body, &Canary);
        let text = serde_json::to_string(&kept).unwrap();
        let bytes = String::from_utf8_lossy(&kept.pieces().unwrap().concat()).into_owned();
        assert!(bytes.contains("[redacted]") && !bytes.contains("23456789"), "{kind}: {text}");
    }
}

#[test]
fn equal_questions_side_by_side_are_answered_as_they_were_asked() {
    let began = |entry: Entry, began: u64| match entry {
        Entry::Model(exchange) => Entry::Model(Exchange { began, ..exchange }),
        Entry::Invocation(call) => Entry::Invocation(Call { began, ..call }),
        offer @ Entry::Offer(_) => offer,
    };
    let says = |text: &str| Given::of(&Ok(Answer::text(text)));
    // As they ended.
    let player = player(&[
        began(call(json!({}), says("second")), 4),
        began(exchange(json!({}), "second"), 3),
        began(exchange(json!({}), "first"), 1),
        began(call(json!({}), says("first")), 2),
        began(call(json!({}), says("third")), 5),
    ]);
    let texts = ["first", "second", "third"];
    assert_eq!(texts.map(|_| player.call("e.t", &json!({})).unwrap().given), texts.map(says));
    let texts = ["first", "second"];
    assert_eq!(texts.map(|_| player.reply(&question(json!({}))).unwrap()), texts.map(reply));
}

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
        (String::new(), "f is no cassette"),
        ("hello\n".to_owned(), "f is no cassette"),
        ("{\"v\":1}\n".to_owned(), "f is no cassette"),
        (header.replace(":1", ":2"), "f was written by a newer converse (format 2; this one reads 1)"),
        (header.replace(":1", ":0"), "f:1: there is no format 0"),
        (format!("{}\n", header.replace("created", "made")), "f:1: unknown field `made`"),
        (format!("{header}\n{line}\n\n{line}\n"), "f:3: EOF"),
        (format!("{header}\n{line}\n{}\n", &line[..40]), "f:3: EOF"),
        (format!("{header}\n{}\n", line.replace("\"model\",", "\"video\",")), "f:2: unknown variant `video`"),
        (format!("{header}\n{}\n", line.replace(":200", ":7")), "f:2: 7 is no status"),
        (format!("{header}\n{}\n", line.replace("\"text\"", "\"base64\"")), "f:2: not base64"),
    ] {
        let error = read(text.clone()).unwrap_err();
        assert!(error.starts_with(told), "{text}: {error}");
    }
}

#[test]
fn damage_anywhere_is_an_error_or_another_cassette_and_never_a_crash() {
    let (_dir, path) = recorded(&[
        Entry::Offer(Offer { ensemble: "e".to_owned(), look: 0, offered: Offered::Failed("no".to_owned()) }),
        exchange(json!({ "q": [1, "x"] }), "one"),
        call(json!({}), Given::of(&Err(InvokeError::Failed("c".to_owned())))),
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
    assert_eq!(create().unwrap_err().to_string(), format!("{} is no cassette", path.display()));
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
    assert_eq!(told(), format!("{} is no cassette", partial.display()));
    assert_eq!(std::fs::read_to_string(&partial).unwrap(), "my notes\n");
    for place in [&notes, &dir.path().join("nowhere"), &path] {
        std::fs::remove_file(&partial).unwrap();
        symlink(place, &partial).unwrap();
        assert_eq!(told(), format!("{} is no regular file", partial.display()));
        assert!(partial.is_symlink() && !dir.path().join("nowhere").exists());
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "my notes\n");
    std::fs::remove_file(&partial).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&partial).status().unwrap();
    assert!(made.success());
    assert_eq!(told(), format!("{} is no regular file", partial.display()));
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
    let digest = question::digest(b"png");
    let blob = |base64: &str| {
        let blobs = vec![Blob { digest, base64: base64.to_owned() }];
        let given = Given::of(&Ok(Answer::text("t")));
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
    assert!(blob("cG5h").unwrap_err().to_string().starts_with("f:2: these are not the bytes of"));
}

#[test]
fn the_last_offer_of_a_look_counts() {
    let offer = |look, reason: &str| {
        Entry::Offer(Offer { ensemble: "e".to_owned(), look, offered: Offered::Failed(reason.to_owned()) })
    };
    let player = player(&[offer(0, "first"), offer(3, "third"), offer(0, "again")]);
    let reason = |look| match player.offer("e", look).map(|offer| &offer.offered) {
        Some(Offered::Failed(reason)) => Some(reason.as_str()),
        _ => None,
    };
    assert_eq!([0, 1, 3].map(reason), [Some("again"), None, Some("third")]);
    assert!(player.offer("other", 0).is_none());
}
