//! The tool as a whole: arguments in, text out.

use std::collections::BTreeMap;
use std::sync::Arc;

use converse_config::Environment;
use serde_json::{Value, json};

use super::found;
use crate::builtin::Settings;
use crate::builtin::testing::{Atlas, TempDir, invoke, settings, words};
use crate::builtin::web::fetch::build;
use crate::{Answer, Fetched, InvokeError};

fn fetch(page: Fetched, arguments: Value) -> Result<Answer, InvokeError> {
    let pages = BTreeMap::from([("http://8.8.8.8/".to_owned(), page)]);
    let temp = TempDir::new();
    let configuration = serde_json::Map::new();
    let reach = Arc::new(Atlas { pages, ..Atlas::default() });
    let tool = build(&Settings { reach, ..settings(&configuration, temp.path()) }).unwrap();
    let mut asked = json!({ "url": "http://8.8.8.8/" });
    asked.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    invoke(tool.as_ref(), asked)
}

#[test]
fn pages_become_text() {
    let html = "<title>T</title><p>a<p>b";
    for (kind, body, arguments, expected) in [
        ("text/html; charset=utf-8", html.as_bytes(), json!({}), "# T\n\na\n\nb"),
        ("", b"\n<!DOCTYPE html><p>x".as_slice(), json!({}), "x"),
        ("application/xhtml+xml", b"<p>x</p>", json!({}), "x"),
        ("text/html", html.as_bytes(), json!({ "format": "raw" }), html),
        ("text/plain", b"<p>x", json!({}), "<p>x"),
        ("text/plain; charset=windows-1251", b"\xcf", json!({}), "П"),
        ("application/json", b"{\"a\": 1}", json!({}), "{\"a\": 1}"),
        ("application/ld+json", b"[]", json!({}), "[]"),
        ("image/svg+xml", b"<svg/>", json!({}), "<svg/>"),
        ("", b"just text", json!({}), "just text"),
        ("text/html", b"", json!({}), "(no content; status 200 OK)"),
        ("text/html", b"<script>x</script>", json!({}), "(no text)"),
    ] {
        let answer = fetch(found(200, kind, body.to_vec()), arguments).unwrap();
        assert_eq!((words(&answer), answer.is_error), (expected, false), "{kind}");
    }
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    for (kind, body) in [
        ("application/pdf", b"%PDF-1.7".as_slice()),
        ("image/png", b"\x89PNG"),
        ("application/octet-stream", b"x"),
        ("", b"\0\0\0"),
    ] {
        let answer = fetch(found(200, kind, body.to_vec()), json!({})).unwrap();
        assert!(answer.is_error && words(&answer).contains("no text"), "{answer:?}");
    }
}

#[test]
fn a_long_page_is_read_in_parts() {
    let part = |arguments| {
        let answer = fetch(found(200, "text/plain", "абвгд"), arguments).unwrap();
        words(&answer).to_owned()
    };
    assert_eq!(part(json!({ "limit": 2 })), "аб\n[characters 0 to 2 of 5; go on with `offset` 2]");
    assert_eq!(
        part(json!({ "limit": 2, "offset": 2 })),
        "вг\n[characters 2 to 4 of 5; go on with `offset` 4]"
    );
    assert_eq!(part(json!({ "limit": 2, "offset": 4 })), "д\n[characters 4 to 5 of 5]");
    assert_eq!(part(json!({ "offset": 5 })), "[nothing from character 5 on, of 5]");
    assert_eq!(part(json!({ "limit": 5 })), "абвгд");
    let cut = Fetched { truncated: true, ..found(200, "text/plain", "абв") };
    let answer = fetch(cut, json!({})).unwrap();
    assert_eq!(words(&answer), "абв\n[the page is longer; 6 of its bytes were read]");
    for arguments in
        [json!({ "limit": 0 }), json!({ "offset": -1 }), json!({ "format": "pdf" }), json!({ "url": "x" })]
    {
        assert!(matches!(fetch(found(200, "", ""), arguments), Err(InvokeError::Invalid(_))));
    }
}

#[test]
fn a_failure_says_what_the_server_said() {
    let answer = fetch(found(404, "text/html", "<h1>Gone</h1>"), json!({})).unwrap();
    assert!(answer.is_error);
    assert_eq!(words(&answer), "status 404 Not Found from http://8.8.8.8/\n# Gone");
    let answer = fetch(found(500, "image/png", "x".repeat(5000)), json!({})).unwrap();
    assert_eq!(words(&answer), "status 500 Internal Server Error from http://8.8.8.8/");
    let answer = fetch(found(500, "", "x".repeat(5000)), json!({})).unwrap();
    assert!(words(&answer).len() < 1100);
}

#[test]
fn a_private_address_is_a_failure_and_no_wrong_argument() {
    let answer = fetch(found(200, "", "x"), json!({ "url": "http://127.1/" })).unwrap();
    assert!(answer.is_error && words(&answer).contains("127.0.0.1 is a private address"), "{answer:?}");
}

#[test]
fn only_those_who_are_trusted_open_private_places() {
    let temp = TempDir::new();
    let built = |configuration: Value, trusted| {
        let configuration = configuration.as_object().unwrap().clone();
        let environment = Environment::default();
        build(&Settings { trusted, environment, ..settings(&configuration, temp.path()) })
            .map(|_| ())
            .map_err(|e| e.reason)
    };
    assert_eq!(built(json!({ "allow_private": ["10.0.0.1"] }), true), Ok(()));
    assert!(built(json!({ "allow_private": ["10.0.0.1"] }), false).unwrap_err().contains("trusted"));
    assert_eq!(built(json!({}), false), Ok(()));
    assert!(built(json!({ "allow_private": "10.0.0.1" }), true).is_err());
    assert!(built(json!({ "allow_private": [1] }), true).is_err());
    assert!(built(json!({ "allow_private": ["10.0.0.0/8"] }), true).is_err());
}
