use converse_canister::Digest;
use serde_json::json;

use super::*;
use crate::testing::FakeArtefacts;

/// What a picture begins with, and one byte more.
const PNG: &str = "iVBORw0KGgoA";

fn read_by(keeps: bool, result: &Value) -> Answer {
    answer(&result.to_string(), &FakeArtefacts(keeps), |_| None).unwrap()
}

fn content(blocks: &Value) -> Vec<Content> {
    read_by(true, &json!({ "content": blocks })).content
}

fn blob(mime: &str, bytes: u8, name: Option<&str>) -> Content {
    Content::Blob {
        mime: mime.into(),
        digest: Digest([bytes; 32]),
        name: name.map(str::to_owned),
        seal: None,
    }
}

#[test]
fn each_kind_of_block() {
    for (block, wanted) in [
        (json!({ "type": "text", "text": "a\u{1b}b" }), Content::text("a\u{1b}b")),
        (json!({ "type": "text", "text": "", "annotations": { "priority": 1 } }), Content::text("")),
        (json!({ "type": "image", "data": PNG, "mimeType": "image/PNG" }), blob("image/png", 9, None)),
        (
            json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }),
            Content::text("[image/png, 3 bytes, not shown]"),
        ),
        (json!({ "type": "audio", "data": "AAA", "mimeType": "audio/wav" }), blob("audio/wav", 2, None)),
        (json!({ "type": "image", "data": "AAAA" }), blob("application/octet-stream", 3, None)),
        (
            json!({ "type": "image", "data": "AAAA", "mimeType": "image/\u{1b}[1m" }),
            blob("application/octet-stream", 3, None),
        ),
        (
            json!({ "type": "image", "data": "%%%", "mimeType": "image/png" }),
            Content::text("[image/png, not valid base64, not kept]"),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///x", "text": "T" } }),
            Content::text("[resource file:///x]\nT"),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "AA==", "mimeType": "a/b" } }),
            blob("a/b", 1, Some("file:///x")),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "YQ==", "mimeType": "text/plain" } }),
            Content::text("[resource file:///x]\na"),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "AP8=", "mimeType": "text/plain" } }),
            blob("text/plain", 2, Some("file:///x")),
        ),
        (
            json!({ "type": "resource_link", "uri": "file:///etc/shadow", "name": "n\n", "mimeType": "text/plain" }),
            Content::Resource {
                uri: "file:///etc/shadow".into(),
                name: Some("n".into()),
                mime: Some("text/plain".into()),
            },
        ),
        (json!({ "type": "video", "x": 1 }), Content::text(r#"{"type":"video","x":1}"#)),
        (json!({ "type": "image" }), Content::text(r#"{"type":"image"}"#)),
        (
            json!({ "type": "resource", "resource": { "uri": "x" } }),
            Content::text(r#"{"type":"resource","resource":{"uri":"x"}}"#),
        ),
        (json!("bare"), Content::text("\"bare\"")),
    ] {
        assert_eq!(content(&json!([block])), [wanted], "{block}");
    }
}

#[test]
fn what_cannot_be_kept_is_told() {
    let image = json!({ "content": [{ "type": "image", "data": PNG, "mimeType": "image/png" }] });
    assert_eq!(read_by(false, &image).content, [Content::text("[image/png, 9 bytes, not kept]")]);
}

#[test]
fn structured_content_is_not_said_twice() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    for (texts, structured, twice) in [
        (json!([]), json!({ "a": 1 }), false),
        (json!([text(r#"{"a": 1, "b": [2]}"#)]), json!({ "b": [2], "a": 1 }), true),
        (json!([text("see below")]), json!({ "a": 1 }), false),
        (json!([text(r#"{"a": 2}"#)]), json!({ "a": 1 }), false),
        (json!([text("5")]), json!({ "result": 5 }), true),
        (json!([text("word")]), json!({ "result": "word" }), true),
        (json!([text("1"), text("two")]), json!({ "result": [1, "two"] }), true),
        (json!([text("1"), text("two")]), json!({ "result": [1, "three"] }), false),
        (json!([text("5")]), json!({ "result": 5, "more": 1 }), false),
        (json!([]), json!({ "result": [] }), false),
        (json!([text("[DIR] e")]), json!({ "content": "[DIR] e" }), true),
        (json!([text("[DIR] e")]), json!({ "content": "[DIR] f" }), false),
    ] {
        let answer = read_by(true, &json!({ "content": texts, "structuredContent": structured }));
        let kept = answer.content.contains(&Content::Structured { value: structured.clone() });
        assert_eq!(kept, !twice, "{texts} {structured}");
        assert_eq!(answer.content.len(), texts.as_array().unwrap().len() + usize::from(!twice));
    }
}

#[test]
fn odd_results() {
    assert!(read_by(true, &json!({ "content": [], "isError": true })).is_error);
    assert!(!read_by(true, &json!({ "content": [], "isError": null })).is_error);
    for odd in [json!({ "items": [1] }), json!([1]), json!("x")] {
        assert_eq!(read_by(true, &odd).content, [Content::text(odd.to_string())]);
    }
    let refused = |result: Value| answer(&result.to_string(), &FakeArtefacts(true), |_| None).unwrap_err();
    let asks = refused(json!({ "resultType": "input_required", "inputRequests": {} }));
    assert!(matches!(asks, InvokeError::Failed(text) if text.contains("asks for input")));
    for task in [json!({ "resultType": "task", "taskId": "1" }), json!({ "task": { "taskId": "1" } })] {
        assert!(matches!(refused(task), InvokeError::Interrupted(text) if text.contains("task")));
    }
    let complete = json!({ "resultType": "complete", "content": [{ "type": "text", "text": "x" }] });
    assert_eq!(read_by(true, &complete), Answer::text("x"));
}

#[test]
fn what_is_nested_too_deeply_is_passed_on_as_it_is() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for text in [format!(r#"{{"content":[{deep}]}}"#), format!(r#"{{"structuredContent":{deep}}}"#)] {
        let judged = std::cell::Cell::new(false);
        let answer = answer(&text, &FakeArtefacts(true), |_| {
            judged.set(true);
            None
        });
        assert_eq!((answer.unwrap(), judged.get()), (Answer::text(deep.clone()), false));
    }
}

#[test]
fn a_failure_is_one_however_odd_the_rest_is() {
    let text = json!([{ "type": "text", "text": "it blew up" }]);
    for (result, is_error) in [
        (json!({ "content": text, "isError": "true" }).to_string(), true),
        (json!({ "content": text, "isError": "True" }).to_string(), true),
        (json!({ "content": text, "isError": "false" }).to_string(), false),
        (json!({ "content": text, "isError": 1 }).to_string(), false),
        (json!({ "content": "it blew up", "isError": true }).to_string(), true),
        (json!({ "content": text[0], "isError": true }).to_string(), true),
        (json!({ "content": text, "isError": true, "resultType": 1, "task": [] }).to_string(), true),
    ] {
        let answer = answer(&result, &FakeArtefacts(true), |_| None).unwrap();
        assert_eq!(answer, Answer::new(vec![Content::text("it blew up")], is_error), "{result}");
    }
    // What cannot be read at all is passed on as it is, its verdict heeded.
    for (result, is_error) in [
        (r#"{"content":[],"content":[],"isError":true}"#, true),
        (r#"{"content":[],"content":[],"isError":"true"}"#, true),
        (r#"{"content":[],"content":[]}"#, false),
        (r#"{"odd":1,"isError":true}"#, true),
    ] {
        let answer = answer(result, &FakeArtefacts(true), |_| None).unwrap();
        assert_eq!(answer, Answer::new(vec![Content::text(result)], is_error), "{result}");
    }
}

#[test]
fn what_is_long_stays_text() {
    let long = format!("[{}0]", "0,".repeat(MAX_STRUCTURED / 2));
    let judge = |_: &Value| -> Option<String> { panic!("nothing so long is read") };
    let answered = |result: String| answer(&result, &FakeArtefacts(true), judge).unwrap().content;
    let structured = format!(r#"{{"content":[],"structuredContent":{long}}}"#);
    assert_eq!(answered(structured), [Content::text(&*long)]);
    let twice = format!(r#"{{"content":[{{"type":"text","text":"{long}"}}],"structuredContent":{long}}}"#);
    assert_eq!(answered(twice), [Content::text(&*long)], "said already, letter by letter");
    // A text is not read either, to find out whether it says the same.
    let short = format!(r#"{{"content":[{{"type":"text","text":"{long} "}}],"structuredContent":{{}}}}"#);
    let content = answer(&short, &FakeArtefacts(true), |_| None).unwrap().content;
    assert_eq!(content[1], Content::Structured { value: json!({}) });
}

#[test]
fn fields_of_its_own_make_no_block_unreadable() {
    for block in [
        json!({ "type": "text", "text": "x", "mimeType": 1, "name": [], "uri": {} }),
        json!({ "type": "text", "text": "x", "data": 1, "resource": 1, "more": [1] }),
    ] {
        assert_eq!(content(&json!([block])), [Content::text("x")], "{block}");
    }
}

#[test]
fn pictures_of_one_result_are_counted() {
    let picture = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let none = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let blocks: Vec<_> = [none].into_iter().chain(std::iter::repeat_n(picture, 25)).collect();
    let content = content(&json!(blocks));
    let is_blob = |content: &Content| matches!(content, Content::Blob { .. });
    assert!(!is_blob(&content[0]) && content[1..=20].iter().all(is_blob));
    assert!(content[21..].iter().all(|rest| *rest == Content::text("[image/png, 9 bytes, not shown]")));
    assert_eq!(content.len(), 26);
}

#[test]
fn blocks_are_counted() {
    let blocks = vec![json!({ "type": "text", "text": "x" }); 1500];
    let content = content(&json!(blocks));
    assert_eq!(content.len(), 1001);
    assert_eq!(content[1000], Content::text("[500 more blocks of the result are left out]"));
}

#[test]
fn structured_content_may_be_any_json() {
    for structured in [json!([1, "two", null]), json!("a text"), json!(7), json!(true), json!({ "a": {} })] {
        let answer = read_by(true, &json!({ "content": [], "structuredContent": structured }));
        assert_eq!(answer.content, [Content::Structured { value: structured.clone() }], "{structured}");
        // Said in words already: once is enough.
        let result_json = json!({ "content": [{ "type": "text", "text": structured.to_string() }], "structuredContent": structured });
        assert_eq!(
            read_by(true, &result_json).content,
            [Content::text(structured.to_string())],
            "{structured}"
        );
    }
    // None at all is none.
    let none = read_by(true, &json!({ "content": [], "structuredContent": null }));
    assert_eq!(none.content, []);
}

#[test]
fn annotations_change_nothing() {
    let annotations = json!({ "audience": ["user"], "priority": 0.0, "lastModified": "never" });
    for mut block in [
        json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }),
        json!({ "type": "resource", "resource": { "uri": "x:///a", "text": "T", "annotations": annotations } }),
        json!({ "type": "resource_link", "uri": "x:///a", "name": "n" }),
    ] {
        let plain = content(&json!([block]));
        block["annotations"] = annotations.clone();
        assert_eq!(content(&json!([block])), plain, "{block}");
    }
}
