use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

#[test]
fn an_entry_needs_nothing_but_an_address() {
    let bare = resource(&raw(&json!({ "uri": "x:///a" }))).unwrap();
    let nothing = Resource {
        uri: "x:///a".into(),
        name: "x:///a".into(),
        title: None,
        description: None,
        mime: None,
        size: None,
    };
    assert_eq!(bare, nothing);
    let odd = json!({ "uri": "x:///a", "name": 5, "title": [], "description": { "a": 1 }, "mimeType": null,
                      "size": "much", "annotations": "none" });
    assert_eq!(resource(&raw(&odd)).unwrap(), nothing);
    let whole = json!({ "uri": "x:///a", "name": "n\u{1b}[1m", "title": "T", "description": "a\nb",
                        "mimeType": "text/plain", "size": 12, "annotations": { "audience": ["user"], "priority": 1 } });
    let whole = resource(&raw(&whole)).unwrap();
    assert_eq!((whole.name.as_str(), whole.description.as_deref()), ("n\\x1b[1m", Some("a b")));
    assert_eq!(
        (whole.title.as_deref(), whole.mime.as_deref(), whole.size),
        (Some("T"), Some("text/plain"), Some(12))
    );
    for (entry, why) in [
        (json!({ "name": "n" }), "`uri` is missing"),
        (json!({ "uri": 5 }), "`uri` is missing"),
        (json!({ "uri": "" }), "0 bytes"),
        (json!({ "uri": "x".repeat(9000) }), "9000 bytes"),
        (json!({ "uri": "x:///a\n" }), "control characters"),
        (json!(["x:///a"]), "not an object"),
        (Value::Null, "not an object"),
    ] {
        let error = resource(&raw(&entry)).unwrap_err();
        assert!(error.contains(why), "{entry}: {error}");
    }
    let family = template(&raw(&json!({ "uriTemplate": "x:///{a}", "name": "f" }))).unwrap();
    assert_eq!((family.uri.as_str(), family.name.as_str()), ("x:///{a}", "f"));
    assert!(template(&raw(&json!({ "uri": "x:///{a}" }))).is_err());
}

#[test]
fn variables_of_a_template_are_those_of_rfc_6570() {
    for (template, names) in [
        ("x:///a", &[][..]),
        ("x:///{id}", &["id"]),
        ("file:///{+path}", &["path"]),
        ("x:///{a}/{b}{?q,lang*}", &["a", "b", "q", "lang"]),
        ("x:///{a}/{a:3}", &["a"]),
        ("x:///{", &[]),
        ("x:///{}", &[]),
    ] {
        assert_eq!(variables(template), names, "{template}");
    }
}

#[test]
fn a_resource_comes_in_parts() {
    let read =
        |contents: Value| parts(&json!({ "contents": contents, "ttlMs": 5 }).to_string(), "x:///asked");
    let text = |uri: &str, text: &str| Part { uri: uri.into(), mime: None, body: Body::Text(text.into()) };
    assert_eq!(read(json!([])), Ok(vec![]));
    assert_eq!(
        read(json!([{ "uri": "x:///a", "text": "T" }, { "text": "" }])),
        Ok(vec![text("x:///a", "T"), text("x:///asked", "")])
    );
    assert_eq!(read(json!({ "uri": "x:///a", "text": "alone" })), Ok(vec![text("x:///a", "alone")]));
    let bytes = read(json!([{ "uri": "x:///b", "blob": "AAE", "mimeType": "a/b" }])).unwrap();
    assert_eq!(
        bytes,
        [Part { uri: "x:///b".into(), mime: Some("a/b".into()), body: Body::Bytes(vec![0, 1]) }]
    );
    for (contents, why) in [
        (json!([{ "uri": "x:///a" }]), "part 1 contains neither text nor bytes"),
        (json!([{ "text": "T" }, { "text": 5 }]), "part 2 contains neither text nor bytes"),
        (json!(["T"]), "part 1 contains neither"),
        (json!([{ "blob": "%%%" }]), "part 1 is not valid base64"),
        (json!("T"), "could not be read"),
        (json!(vec![json!({ "text": "T" }); 101]), "more than 100 parts"),
    ] {
        let error = read(contents).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(parts("[]", "x").is_err() && parts("{}", "x").is_err());
}

#[test]
fn a_resource_is_bounded_whatever_it_is_made_of() {
    let half = "x".repeat(MAX_BYTES / 2 + 1);
    let read = |contents: Value| parts(&json!({ "contents": contents }).to_string(), "x").unwrap_err();
    let more = format!("more than {MAX_BYTES} bytes");
    assert!(read(json!([{ "text": half }, { "text": half }])).contains(&more));
    assert!(read(json!([{ "blob": STANDARD.encode(vec![0; MAX_BYTES + 1]) }])).contains(&more));
}
