//! What a model reads of a server's answer.

use bytes::Bytes;
use converse_canister::{Content, Digest};
use serde_json::json;

use crate::request::answer::answer;
use crate::testing::Shelf;
use crate::{Answer, Fetched};

fn fetched(status: u16, content_type: &str, body: &[u8]) -> Fetched {
    Fetched {
        status,
        content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
        body: Bytes::copy_from_slice(body),
        truncated: false,
        location: None,
        challenges: vec![],
    }
}

#[test]
fn a_success_is_its_content() {
    let blob =
        |mime: &str| Content::Blob { mime: mime.into(), digest: Digest([7; 32]), name: None, seal: None };
    let text = |text: &str| Content::text(text);
    let structured = |value| Content::Structured { value };
    for (kind, body, expected) in [
        ("application/json", &b"{\"a\":[1,2.5,null]}"[..], structured(json!({ "a": [1, 2.5, null] }))),
        ("Application/JSON; charset=utf-8", b"[]", structured(json!([]))),
        ("application/problem+json", b"3", structured(json!(3))),
        ("application/json", b"\xef\xbb\xbf{}", structured(json!({}))),
        ("application/json", b"{\"a\":", text("{\"a\":")),
        ("text/plain", b"hi\n", text("hi\n")),
        ("text/html; charset=windows-1251", b"\xcf\xf0\xe8", text("При")),
        ("text/plain;charset=\"UTF-8\"", "ж".as_bytes(), text("ж")),
        ("text/plain; charset=nonsense", b"\xff!", text("\u{fffd}!")),
        ("application/xml", b"<a/>", text("<a/>")),
        ("image/svg+xml", b"<svg/>", text("<svg/>")),
        ("application/x-ndjson", b"{}\n{}", text("{}\n{}")),
        ("image/png", b"\x89PNG", blob("image/png")),
        ("Audio/MPEG; x=y", b"ID3", blob("audio/mpeg")),
        ("application/pdf", b"%PDF-1.7", text("[application/pdf, 8 bytes]")),
        ("application/octet-stream", b"plain", text("[application/octet-stream, 5 bytes]")),
        ("video/\x1b[31mmp4", b"x", text("[video/31mmp4, 1 bytes]")),
        ("", b"words", text("words")),
        ("", b"a\0b", text("[binary, 3 bytes]")),
        ("", b"\xff\xfe", text("[binary, 2 bytes]")),
        ("nonsense", b"words", text("words")),
        ("application/json", b"", text("(no content; status 200 OK)")),
    ] {
        let expected = Answer::new(vec![expected], false);
        assert_eq!(answer(&fetched(200, kind, body), &Shelf::default(), None), expected, "{kind}");
    }
    let deep = "[".repeat(5_000);
    assert_eq!(
        answer(&fetched(200, "application/json", deep.as_bytes()), &Shelf::default(), None),
        Answer::text(deep)
    );
    let large = format!("[{}0]", "0,".repeat(600_000));
    let large_answer = answer(&fetched(200, "application/json", large.as_bytes()), &Shelf::default(), None);
    assert_eq!(large_answer, Answer::text(large), "a large structure costs many times its text");
}

#[test]
fn only_the_part_that_the_descriptor_points_to_is_passed_on() {
    let of = |status, kind, body: &str, pointer| {
        answer(&fetched(status, kind, body.as_bytes()), &Shelf::default(), Some(pointer))
    };
    let structured = |value| Answer::new(vec![Content::Structured { value }], false);
    let body = r#"{"data": {"a/b": [1, {"c": 2}]}, "meta": 3}"#;
    for (pointer, expected) in [
        ("/data", json!({ "a/b": [1, { "c": 2 }] })),
        ("/data/a~1b/1/c", json!(2)),
        ("/none", json!({ "data": { "a/b": [1, { "c": 2 }] }, "meta": 3 })),
    ] {
        assert_eq!(of(200, "application/json", body, pointer), structured(expected), "{pointer}");
    }
    assert_eq!(of(200, "text/plain", body, "/meta"), Answer::text(body));
    let failed = of(400, "application/json", body, "/meta");
    assert_eq!(failed, Answer::error(format!("status 400 Bad Request\n{body}")), "an error is whole");
    let large = format!("{{\"data\": [{}0], \"meta\": 3}}", "0,".repeat(600_000));
    assert_eq!(of(200, "application/json", &large, "/meta"), structured(json!(3)));
}

#[test]
fn pictures_are_kept_as_they_came() {
    let shelf = Shelf::default();
    answer(&fetched(200, "image/png", b"\x89PNG\0"), &shelf, None);
    assert_eq!(*shelf.kept.lock().unwrap(), [b"\x89PNG\0"]);
    let full = Shelf { full: true, ..Shelf::default() };
    let told = answer(&fetched(200, "image/png", b"\x89PNG"), &full, None);
    assert_eq!(told, Answer::text("[image/png, 4 bytes, not kept]"));
    let failed = answer(&fetched(500, "image/png", b"\x89PNG"), &shelf, None);
    assert_eq!(failed, Answer::error("status 500 Internal Server Error\n[image/png, 4 bytes, not kept]"));
    assert_eq!(shelf.kept.lock().unwrap().len(), 1, "a failure's picture is not kept");
}

#[test]
fn what_was_cut_is_told_first() {
    let cut = |kind: &str, body: &[u8]| Fetched { truncated: true, ..fetched(200, kind, body) };
    let shelf = Shelf::default();
    let note = Content::text("[the answer was cut after 4 bytes]");
    for (kind, expected) in [
        ("application/json", "[1,2"),
        ("text/plain", "[1,2"),
        ("image/png", "[image/png, more than 4 bytes, not kept]"),
        ("application/pdf", "[application/pdf, more than 4 bytes]"),
    ] {
        let told = answer(&cut(kind, b"[1,2"), &shelf, None);
        assert_eq!(told.content, [note.clone(), Content::text(expected)], "{kind}");
    }
    assert!(shelf.kept.lock().unwrap().is_empty());
}

#[test]
fn all_else_is_an_error_in_words() {
    let redirect = |status, location: Option<&str>| Fetched {
        location: location.map(str::to_owned),
        ..fetched(status, "text/html", b"<p>moved")
    };
    let long = "x".repeat(20_000);
    for (fetched, told) in [
        (fetched(404, "text/plain", b"no such thing"), "status 404 Not Found\nno such thing".to_owned()),
        (fetched(404, "", b""), "status 404 Not Found".to_owned()),
        (
            fetched(422, "application/json", b"{\"e\":1}"),
            "status 422 Unprocessable Entity\n{\"e\":1}".to_owned(),
        ),
        (fetched(599, "text/plain", b"?"), "status 599\n?".to_owned()),
        (
            fetched(503, "application/pdf", b"%PDF"),
            "status 503 Service Unavailable\n[application/pdf, 4 bytes]".to_owned(),
        ),
        (
            fetched(500, "text/plain", long.as_bytes()),
            format!("status 500 Internal Server Error\n{}\n[cut]", &long[..16 * 1024]),
        ),
        (fetched(101, "", b""), "status 101 Switching Protocols".to_owned()),
        (
            redirect(302, Some("https://evil.test/")),
            "status 302 Found: it points to https://evil.test/; redirects are not followed".to_owned(),
        ),
        (
            redirect(304, None),
            "status 304 Not Modified: it names no other place; redirects are not followed".to_owned(),
        ),
    ] {
        assert_eq!(answer(&fetched, &Shelf::default(), None), Answer::error(told), "{}", fetched.status);
    }
    let endless = answer(&redirect(301, Some(&long)), &Shelf::default(), None);
    assert!(endless.content[0].as_text().unwrap().len() < 2_200);
}
