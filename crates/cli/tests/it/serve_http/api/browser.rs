//! What another page in the browser of a person can do: nothing.

use serde_json::Value;

use super::{Gate, head, open, send};
use crate::env::TestEnv;
use crate::serve_http::{OTHER, TOKEN, token_file};

const FORM: &str = "application/x-www-form-urlencoded";

fn post(gate: &Gate, path: &str, headers: &[&str], kind: &str, body: &str) -> (u16, String) {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    gate.ask(&head(
        gate,
        "POST",
        path,
        &format!("{headers}{kind}content-length: {}\r\n\r\n{body}", body.len()),
    ))
}

fn cookie_of(answer: &str) -> Option<String> {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "))?;
    Some(format!("cookie: {}", line.split(';').next()?))
}

#[test]
fn a_cookie_counts_for_pages_of_this_server_only() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate =
        open(&env, &["--allowed-origin", "http://localhost:3000", "--allowed-origin", "https://app.example"]);
    let cookie = cookie_of(&gate.ask(&head(&gate, "GET", &format!("/?token={TOKEN}"), "\r\n")).1).unwrap();
    let json = "application/json";
    let (own, beside, app) = (
        format!("origin: http://{}", gate.address),
        "origin: http://localhost:3000",
        "origin: https://app.example",
    );
    let status = |headers: &[&str], kind: &str| post(&gate, "/api/sessions", headers, kind, "{}").0;
    assert_eq!(status(&[&cookie, &own], json), 201);
    assert_eq!(status(&[&cookie, &own, "sec-fetch-site: same-origin"], json), 201);
    for headers in [
        [cookie.as_str(), beside, "sec-fetch-site: same-site"],
        [cookie.as_str(), app, "sec-fetch-site: cross-site"],
        [cookie.as_str(), app, "x: no metadata"],
        [cookie.as_str(), own.as_str(), "sec-fetch-site: same-site"],
    ] {
        assert_eq!(status(&headers, json), 403, "{headers:?}");
    }
    // What a form, or a script that does not ask first, can send.
    for kind in [FORM, "text/plain", "TEXT/plain; charset=utf-8", "multipart/form-data; boundary=x", ""] {
        assert_eq!(status(&[&cookie, &own], kind), 415, "{kind}");
    }
    assert_eq!(post(&gate, "/api/uploads?name=a.txt", &[&cookie, &own], "text/plain", "A text").0, 201);
    // An allowed page has a token of its own.
    let token = format!("authorization: Bearer {TOKEN}");
    assert_eq!(status(&[&token, app, "sec-fetch-site: cross-site"], json), 201);
    assert_eq!(gate.ask(&head(&gate, "GET", "/api/sessions", &format!("{cookie}\r\n{app}\r\n\r\n"))).0, 403);
}

/// The browser's origin has the port, and the host that the proxy sends does not.
#[test]
fn a_proxy_may_have_a_port_of_its_own() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let origin = "https://converse.example:8443";
    let gate = open(&env, &["--allowed-host", "converse.example", "--allowed-origin", origin]);
    let ask = |method: &str, path: &str, more: &str| {
        gate.ask(&format!(
            "{method} {path} HTTP/1.1\r\nhost: converse.example\r\nconnection: close\r\n{more}\r\n"
        ))
    };
    let cookie = cookie_of(&ask("GET", &format!("/?token={TOKEN}"), "").1).unwrap();
    for site in ["", "sec-fetch-site: same-origin\r\n"] {
        let more = format!(
            "{cookie}\r\norigin: {origin}\r\n{site}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let (status, answer) = ask("POST", "/api/sessions", &more);
        assert_eq!(status, 201, "{answer}");
    }
}

#[test]
fn another_page_cannot_sign_a_browser_in() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["--token-file", &file]);
    let link = |site: &str| {
        gate.ask(&head(&gate, "GET", &format!("/?token={OTHER}"), &format!("sec-fetch-site: {site}\r\n\r\n")))
    };
    for site in ["cross-site", "same-site"] {
        let (status, answer) = link(site);
        assert!(
            status == 401 && cookie_of(&answer).is_none() && answer.contains("<form"),
            "{site}: {answer}"
        );
    }
    // The address bar, a link that another program opens, and the own page.
    for site in ["none", "same-origin"] {
        assert!(link(site).0 == 303 && cookie_of(&link(site).1).is_some(), "{site}");
    }

    let door = gate.ask(&head(&gate, "GET", "/", "\r\n")).1;
    assert!(door.contains("method=\"post\"") && door.contains("referrer-policy: same-origin\r\n"), "{door}");
    let own = format!("origin: http://{}", gate.address);
    let form = |headers: &[&str], token: &str| post(&gate, "/", headers, FORM, &format!("token={token}"));
    let (status, entered) = form(&[&own, "sec-fetch-site: same-origin"], TOKEN);
    assert_eq!((status, entered.contains("location: /\r\n")), (303, true), "{entered}");
    let cookie = cookie_of(&entered).unwrap();
    assert_eq!(gate.ask(&head(&gate, "GET", "/", &format!("{cookie}\r\n\r\n"))).0, 200);
    for (headers, token, expected) in [
        (vec![own.as_str()], "wrong-token-0123456789", 401),
        (vec![], TOKEN, 403),
        (vec!["origin: null"], TOKEN, 403),
        (vec!["origin: http://evil.example"], TOKEN, 403),
        (vec![own.as_str(), "sec-fetch-site: same-site"], TOKEN, 403),
    ] {
        let (status, answer) = form(&headers, token);
        assert!(status == expected && cookie_of(&answer).is_none(), "{headers:?}: {answer}");
    }
    assert_eq!(form(&[&own], &"x".repeat(100_000)).0, 413);
    assert_eq!(send(&gate, "GET", "/api/sessions", TOKEN, &Value::Null).0, 200);
}
