use serde_json::{Value, json};

use super::*;
use crate::testing::FakeArtefacts;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn read(messages_: &Value) -> Result<Vec<PromptMessage>, String> {
    messages(&json!({ "description": 5, "messages": messages_ }).to_string(), &FakeArtefacts(true))
}

#[test]
fn an_entry_needs_nothing_but_a_name() {
    let bare = prompt(&raw(&json!({ "name": "p" }))).unwrap();
    assert_eq!(bare, Prompt { name: "p".into(), title: None, description: None, arguments: vec![] });
    assert_eq!(
        prompt(&raw(&json!({ "name": "p", "arguments": null, "title": 5, "description": [] }))).unwrap(),
        bare
    );
    let whole = json!({ "name": "p", "arguments": [{ "name": "city", "required": true, "description": "Which\n" },
                                                   { "name": "tone", "required": "yes" }] });
    let argument = |name: &str, description: Option<&str>, required| PromptArgument {
        name: name.into(),
        description: description.map(str::to_owned),
        required,
    };
    let arguments = prompt(&raw(&whole)).unwrap().arguments;
    assert_eq!(arguments, [argument("city", Some("Which"), true), argument("tone", None, false)]);
    for (entry, why) in [
        (json!({ "description": "d" }), "`name` is missing"),
        (json!({ "name": 5 }), "`name` is missing"),
        (json!({ "name": "a\u{7}" }), "control characters"),
        (json!({ "name": "x".repeat(300) }), "256 bytes"),
        (json!({ "name": "p", "arguments": { "city": {} } }), "not an array"),
        (json!({ "name": "p", "arguments": [{ "description": "?" }] }), "argument 1: `name` is missing"),
        (json!({ "name": "p", "arguments": ["city"] }), "argument 1: not an object"),
        (json!({ "name": "p", "arguments": vec![json!({ "name": "a" }); 101] }), "100 arguments"),
        (json!("p"), "not an object"),
    ] {
        let error = prompt(&raw(&entry)).unwrap_err();
        assert!(error.contains(why), "{entry}: {error}");
    }
}

#[test]
fn messages_hold_what_results_of_tools_hold() {
    let png = "iVBORw0KGgoA";
    for (content, wanted) in [
        (
            json!({ "type": "text", "text": "hello", "annotations": { "priority": 1 } }),
            Content::text("hello"),
        ),
        (
            json!({ "type": "resource", "resource": { "uri": "x:///a", "text": "T" } }),
            Content::text("[resource x:///a]\nT"),
        ),
        (
            json!({ "type": "resource_link", "uri": "file:///etc/shadow", "name": "n" }),
            Content::Resource { uri: "file:///etc/shadow".into(), name: Some("n".into()), mime: None },
        ),
        (json!({ "type": "video" }), Content::text(r#"{"type":"video"}"#)),
        (json!("bare"), Content::text("bare")),
    ] {
        let messages = read(&json!([{ "role": "user", "content": content }])).unwrap();
        assert_eq!(messages, [PromptMessage { speaker: Speaker::User, content: vec![wanted] }], "{content}");
    }
    let picture = json!({ "type": "image", "data": png, "mimeType": "image/png" });
    let sound = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" });
    let several = read(&json!([{ "role": "assistant", "content": [picture, sound] }])).unwrap();
    assert_eq!(several[0].speaker, Speaker::Assistant);
    let mimes = several[0].content.iter().map(|one| match one {
        Content::Blob { mime, .. } => mime.as_str(),
        _ => "",
    });
    assert_eq!(mimes.collect::<Vec<_>>(), ["image/png", "audio/wav"]);
}

#[test]
fn a_prompt_is_read_whole_or_not_at_all() {
    let good = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
    assert_eq!(read(&json!([])), Ok(vec![]));
    for (messages, why) in [
        (json!([good, { "role": "system", "content": "x" }]), "message 2: unknown role `system`"),
        (json!([{ "role": "user" }]), "message 1: not a message"),
        (json!(["x"]), "message 1: not a message"),
        (json!("x"), "could not be read"),
        (json!(vec![good.clone(); 201]), "more than 200 messages"),
    ] {
        let error = read(&messages).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(messages("{}", &FakeArtefacts(true)).is_err());
    let many = json!([{ "role": "user", "content": vec![json!({ "type": "text", "text": "x" }); 1001] }]);
    let last = read(&many).unwrap().remove(0).content.pop();
    assert_eq!(last, Some(Content::text("[1 more blocks of the message are left out]")));
}
