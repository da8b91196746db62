//! Servers over HTTP, by script, on the loopback interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod living;
mod old;
mod roots;
mod site;
#[path = "../stage/mod.rs"]
mod stage;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use converse_config::{ConnectionPlan, Piece, SecretRef, TransportPlan};
use converse_ensemble::{ConnectError, InvokeError};
use converse_mcp::Era;
use converse_testkit::hang_guard::ends;
use serde_json::json;
use site::{Request, Response, Site, at, echo, ensemble, json_reply, legacy, modern, result, status};
use stage::{Remembered, call, ensemble_of};
use tokio::net::TcpListener;

#[tokio::test]
async fn both_eras_are_spoken_and_remembered() {
    let modern_site = Site::new(modern).await;
    let legacy_site = Site::new(|request| legacy("s1", request)).await;
    for (site, era, first) in [
        (&modern_site, Era::Modern, vec!["POST server/discover", "POST tools/list", "POST tools/call"]),
        (&legacy_site, Era::Legacy, vec!["POST server/discover", "POST initialize"]),
    ] {
        let eras = Arc::new(Remembered::default());
        let url = SecretRef::Literal(site.url.clone());
        let web = ensemble(url.clone(), vec![], &eras);
        let tools = web.connect().await.unwrap();
        assert_eq!(call(&tools[0]).await, echo());
        web.disconnect().await;
        assert_eq!(site.heard()[..first.len()], first);
        assert_eq!(eras.0.lock().unwrap().values().collect::<Vec<_>>(), [&era]);
        let before = site.posts("server/discover");
        let web = ensemble(url, vec![], &eras);
        assert_eq!(web.connect().await.unwrap().len(), 1);
        web.disconnect().await;
        assert_eq!(site.posts("server/discover"), before + usize::from(era == Era::Modern));
    }
    assert!(legacy_site.heard().contains(&"DELETE ".to_owned()), "the session is ended");
}

#[tokio::test]
async fn a_connection_runs_on_the_runtime_for_http_and_ends_with_it() {
    let site = Site::new(modern).await;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (running, dropped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || runtime.block_on(dropped));
    let way = TransportPlan::Http { url: SecretRef::Literal(site.url.clone()), headers: vec![] };
    let web = ensemble_of(ConnectionPlan::new(way), "/".into(), &Arc::default(), Some(handle));
    let tools = ends("connecting", web.connect()).await.unwrap();
    assert_eq!(call(&tools[0]).await, echo());
    drop(running);
    let _ = thread.join().unwrap();
    let heard = site.heard().len();
    let error = call(&tools[0]).await.unwrap_err();
    assert!(format!("{error:?}").contains("its task has ended"), "{error:?}");
    assert_eq!(site.heard().len(), heard);
}

#[tokio::test]
async fn events_are_read_as_well_as_json() {
    let site = Site::new(|request| {
        let (line, _, body) = modern(request)?;
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                           "params": { "level": "info", "data": "x" } });
        let events = format!(": hello\n\ndata: {note}\n\nevent: message\ndata: {body}\n\n");
        Some((line, "content-type: text/event-stream\r\n".into(), events))
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    assert_eq!(call(&tools[0]).await, echo());
}

#[tokio::test]
async fn arguments_that_are_wanted_in_headers_are_there() {
    let annotated = |name: &str, header: &str| {
        let argument = json!({ "type": "integer", "x-mcp-header": header });
        json!({ "name": name, "inputSchema": { "type": "object", "properties": { "a": argument } } })
    };
    for (era, wanted) in [("modern", Some("1")), ("legacy", None)] {
        let seen = Arc::<Mutex<Vec<HashMap<String, String>>>>::default();
        let log = Arc::clone(&seen);
        let site = Site::new(move |request| {
            if request.asks() == "tools/call" {
                log.lock().unwrap().push(request.headers.clone());
            }
            if request.asks() == "tools/list" {
                let tools =
                    [annotated("echo", "Amount"), annotated("bad", "Not a name"), json!({ "name": 7 })];
                return result(request, json!({ "resultType": "complete", "tools": tools }));
            }
            if era == "modern" { modern(request) } else { legacy("s1", request) }
        })
        .await;
        let web = at(&site);
        let tools = web.connect().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.qualified.clone()).collect();
        // What is an error to a modern server means nothing to a legacy one.
        assert_eq!(names.len(), if era == "modern" { 1 } else { 2 }, "{era}: {names:?}");
        assert_eq!(call(&tools[0]).await, echo());
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].get("mcp-param-amount").map(String::as_str), wanted, "{era}");
        assert_eq!(seen[0].get("mcp-name").map(String::as_str), wanted.map(|_| "echo"), "{era}");
    }
}

#[tokio::test]
async fn failures_of_a_call_are_told_apart() {
    type Answerer = fn(&Request) -> Response;
    type Verdict = fn(&InvokeError) -> bool;
    let cases: [(Answerer, Verdict); 13] = [
        (
            |_| status("401 Unauthorized", "s3cret-token"),
            |e| matches!(e, InvokeError::Failed(t) if t.contains("(HTTP 401)")),
        ),
        (
            |_| status("503 Service Unavailable", "x"),
            |e| matches!(e, InvokeError::Unreachable { message, sent: true } if message.contains("HTTP 503")),
        ),
        (
            |_| Some(("429 Too Many Requests", "retry-after: 7\r\n".into(), String::new())),
            |e| matches!(e, InvokeError::Unreachable { message, sent: false } if message.contains("HTTP 429, retry after 7 s")),
        ),
        (
            |_| status("502 Bad Gateway", "<html>"),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("HTTP 502")),
        ),
        (
            |_| status("500 Internal Server Error", "x"),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("HTTP 500")),
        ),
        (
            |_| Some(("302 Found", "location: http://127.0.0.1:9/else\r\n".into(), String::new())),
            |e| matches!(e, InvokeError::Failed(t) if t.contains("redirects (HTTP 302)")),
        ),
        (
            |_| status("202 Accepted", ""),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("(HTTP 202) but sent no answer")),
        ),
        (
            |_| Some(("200 OK", "content-type: text/event-stream\r\n".into(), ": nothing\n\n".into())),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("the event stream ended before the answer arrived")),
        ),
        (
            |request| {
                let id = request.body["id"].as_i64().unwrap() + 1000;
                json_reply("", &json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
            },
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("could not be read")),
        ),
        (
            |request| {
                let error = json!({ "code": 7, "message": "no such luck" });
                json_reply(
                    "",
                    &json!({ "jsonrpc": "2.0", "id": request.body["id"].to_string(), "error": error }),
                )
            },
            |e| matches!(e, InvokeError::Failed(t) if t.contains("error 7: no such luck")),
        ),
        (|_| None, |e| matches!(e, InvokeError::Interrupted(t) if t.contains("outcome unknown"))),
        (
            |_| status("200 OK", "<html>"),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("text/plain")),
        ),
        (
            |_| Some(("200 OK", "content-type: application/json\r\n".into(), "{}".into())),
            |e| matches!(e, InvokeError::Interrupted(t) if t.contains("could not be read")),
        ),
    ];
    for (index, (answer, fits)) in cases.into_iter().enumerate() {
        let site = Site::new(
            move |request| {
                if request.asks() == "tools/call" { answer(request) } else { modern(request) }
            },
        )
        .await;
        let web = at(&site);
        let tools = web.connect().await.unwrap();
        let failed = call(&tools[0]).await.unwrap_err();
        assert!(fits(&failed), "{index}: {failed:?}");
        assert_eq!(site.posts("tools/call"), 1, "{index}: nothing is sent twice");
    }
}

#[tokio::test]
async fn reasons_are_told_without_secrets() {
    let token = || {
        let pieces =
            vec![Piece::Text("Bearer ".into()), Piece::Variable { name: "TOKEN".into(), default: None }];
        vec![("authorization".to_owned(), SecretRef::Template(pieces))]
    };
    let unauthorized = Site::new(|_| status("401 Unauthorized", "bad s3cret-token")).await;
    let challenged = Site::new(|_| {
        Some(("403 Forbidden", "www-authenticate: Bearer realm=\"s3cret-token\"\r\n".into(), String::new()))
    })
    .await;
    let broken = Site::new(|_| status("500 Internal Server Error", "s3cret-token")).await;
    let page = Site::new(|_| Some(("200 OK", "content-type: text/html\r\n".into(), "<html>".into()))).await;
    let wordy = Site::new(|request: &Request| {
        let error = json!({ "code": 1, "message": "Bearer who is s3cret-token with s3cret-query?" });
        json_reply("", &json!({ "jsonrpc": "2.0", "id": request.body["id"], "error": error }))
    })
    .await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://user:s3cret-password@{}/mcp", listener.local_addr().unwrap())
    };
    for (url, headers, wanted) in [
        (unauthorized.url.clone(), token(), "the server requires authorization (HTTP 401)"),
        (challenged.url.clone(), token(), "the server requires authorization (HTTP 403)"),
        (broken.url.clone(), token(), "the server answered HTTP 500"),
        (page.url.clone(), token(), "the server answered with text/html instead of JSON"),
        (wordy.url.clone(), token(), "the server answered with an error: Bearer who is … with …?"),
        (closed, vec![], "the server could not be reached: "),
        ("ftp://s3cret-host/".into(), vec![], "`url` must begin with"),
        ("http://s3cret host".into(), vec![], "`url` is not an address"),
        (
            "http://localhost/".into(),
            vec![("a b".into(), SecretRef::Literal("x".into()))],
            "the header `a b` has a name that is not valid",
        ),
        (
            "http://localhost/".into(),
            vec![("x-a".into(), SecretRef::Literal("s3cret\n".into()))],
            "the header `x-a` has a value that is not valid",
        ),
        (
            "http://localhost/".into(),
            vec![("x-a".into(), SecretRef::Environment("NONE".into()))],
            "the environment variable `NONE` is not set; set it: `export NONE=…`",
        ),
    ] {
        let pieces =
            vec![Piece::Text(format!("{url}?")), Piece::Variable { name: "QUERY".into(), default: None }];
        let web = ensemble(SecretRef::Template(pieces), headers, &Arc::default());
        let ConnectError { reason, .. } = web.connect().await.unwrap_err();
        assert!(reason.starts_with(wanted), "{url}: {reason}");
        assert!(!reason.contains("s3cret"), "{reason}");
    }
    assert_eq!(unauthorized.heard().len(), 1, "authorization is not asked for in another era");
}

#[tokio::test]
async fn declared_headers_travel() {
    let site = Site::new(|request| {
        let token = request.headers.get("authorization").map(String::as_str);
        if token == Some("Bearer s3cret-token") { modern(request) } else { status("401 Unauthorized", "") }
    })
    .await;
    let pieces = vec![Piece::Text("Bearer ".into()), Piece::Variable { name: "TOKEN".into(), default: None }];
    let headers = vec![("Authorization".to_owned(), SecretRef::Template(pieces))];
    let web = ensemble(SecretRef::Literal(site.url.clone()), headers, &Arc::default());
    assert_eq!(web.connect().await.unwrap().len(), 1);
}
