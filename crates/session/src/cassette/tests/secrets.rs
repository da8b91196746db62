//! Bodies as they are kept: byte for byte, and without secrets.

use super::*;

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
