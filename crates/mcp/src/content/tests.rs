use converse_canister::Digest;
use serde_json::json;

use super::*;
use crate::testing::Shelf;

fn read_by(keeps: bool, result: &Value) -> Answer {
    answer(&result.to_string(), &Shelf(keeps)).unwrap().0
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
        (json!({ "type": "image", "data": "AAAA", "mimeType": "image/PNG" }), blob("image/png", 3, None)),
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
    let image = json!({ "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] });
    assert_eq!(read_by(false, &image).content, [Content::text("[image/png, 3 bytes, not kept]")]);
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
    for odd in [json!({ "items": [1] }), json!([1]), json!("x"), json!({ "content": "text" })] {
        assert_eq!(read_by(true, &odd).content, [Content::text(odd.to_string())]);
    }
    let refused = |result: Value| answer(&result.to_string(), &Shelf(true)).unwrap_err();
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
        assert_eq!(answer(&text, &Shelf(true)).unwrap(), (Answer::text(deep.clone()), None));
    }
}

#[test]
fn blocks_are_counted() {
    let blocks = vec![json!({ "type": "text", "text": "x" }); 1500];
    let content = content(&json!(blocks));
    assert_eq!(content.len(), 1001);
    assert_eq!(content[1000], Content::text("[500 more blocks of the result are left out]"));
}
