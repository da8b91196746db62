//! Servers over HTTP, by script, on the loopback interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod stage;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_config::{Piece, SecretRef, Way};
use converse_ensemble::{Answer, ConnectError, Ensemble, InvokeError};
use converse_mcp::Era;
use serde_json::{Value, json};
use stage::{Remembered, call, call_within};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
struct Request {
    method: String,
    headers: HashMap<String, String>,
    body: Value,
}

impl Request {
    fn asks(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// Status line, further header lines, body. `None`: the connection is dropped without an answer.
/// [`NEVER`]: there is no answer, and the connection stays.
type Response = Option<(&'static str, String, String)>;

const NEVER: Response = Some(("", String::new(), String::new()));

struct Site {
    url: String,
    /// `POST initialize` and so on.
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn new(script: impl FnMut(&Request) -> Response + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let script = Arc::new(Mutex::new(script));
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                tokio::spawn(async move {
                    let Some((request, mut stream)) = read(stream).await else { return };
                    log.lock().unwrap().push(format!("{} {}", request.method, request.asks()));
                    let response = (script.lock().unwrap())(&request);
                    if response == NEVER {
                        std::future::pending::<()>().await;
                    }
                    if let Some((status, headers, body)) = response {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
                        );
                        let _ = stream.write_all((head + &body).as_bytes()).await;
                    }
                });
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn posts(&self, method: &str) -> usize {
        self.heard().iter().filter(|line| **line == format!("POST {method}")).count()
    }
}

async fn read(stream: TcpStream) -> Option<(Request, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).await.ok()?;
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let method = first.split(' ').next()?.to_owned();
    Some((Request { method, headers, body }, reader.into_inner()))
}

fn json_reply(headers: &str, body: &Value) -> Response {
    Some(("200 OK", format!("content-type: application/json\r\n{headers}"), body.to_string()))
}

fn result(request: &Request, result: Value) -> Response {
    json_reply("", &json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
}

fn status(line: &'static str, body: &str) -> Response {
    Some((line, "content-type: text/plain\r\n".to_owned(), body.to_owned()))
}

fn tools() -> Value {
    json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })
}

fn echoed(request: &Request) -> Value {
    json!({ "content": [{ "type": "text", "text": request.body["params"]["arguments"].to_string() }] })
}

fn initialized(request: &Request, session: &str) -> Response {
    json_reply(
        &format!("mcp-session-id: {session}\r\n"),
        &json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" },
        } }),
    )
}

/// A legacy server with sessions; `session` is the one it knows.
fn legacy(session: &str, request: &Request) -> Response {
    match (request.method.as_str(), request.asks()) {
        ("GET", _) => status("405 Method Not Allowed", ""),
        ("DELETE", _) => status("200 OK", ""),
        (_, "server/discover") => status("400 Bad Request", "no session"),
        (_, "initialize") => initialized(request, session),
        _ if request.headers.get("mcp-session-id").map(String::as_str) != Some(session) => {
            status("404 Not Found", "no such session")
        }
        (_, "tools/list") => result(request, tools()),
        (_, "tools/call") => result(request, echoed(request)),
        _ => status("202 Accepted", ""),
    }
}

fn modern(request: &Request) -> Response {
    match request.asks() {
        "server/discover" => result(
            request,
            json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "ttlMs": 0, "cacheScope": "private",
            }),
        ),
        "tools/list" => {
            let mut tools = tools();
            tools["resultType"] = json!("complete");
            tools["ttlMs"] = json!(0);
            tools["cacheScope"] = json!("private");
            result(request, tools)
        }
        "tools/call" => {
            let mut echoed = echoed(request);
            echoed["resultType"] = json!("complete");
            result(request, echoed)
        }
        _ => status("405 Method Not Allowed", ""),
    }
}

fn ensemble(url: SecretRef, headers: Vec<(String, SecretRef)>, eras: &Arc<Remembered>) -> Ensemble {
    stage::ensemble(Way::Http { url, headers }, Duration::from_secs(20), PathBuf::from("/"), eras)
}

fn at(site: &Site) -> Ensemble {
    ensemble(SecretRef::Literal(site.url.clone()), vec![], &Arc::default())
}

fn echo() -> Result<Answer, InvokeError> {
    Ok(Answer::text("{\"a\":1}"))
}

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
        let asked = site.posts("server/discover");
        let web = ensemble(url, vec![], &eras);
        assert_eq!(web.connect().await.unwrap().len(), 1);
        web.disconnect().await;
        assert_eq!(site.posts("server/discover"), asked + usize::from(era == Era::Modern));
    }
    assert!(legacy_site.heard().contains(&"DELETE ".to_owned()), "the session is ended");
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
async fn a_lost_session_is_had_again() {
    let session = Arc::new(Mutex::new("s1"));
    let known = Arc::clone(&session);
    let site = Site::new(move |request| legacy(*known.lock().unwrap(), request)).await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    assert_eq!(call(&tools[0]).await, echo());
    *session.lock().unwrap() = "s2";
    assert_eq!(call(&tools[0]).await, echo());
    assert_eq!(site.posts("initialize"), 2);
}

#[tokio::test]
async fn a_call_without_an_answer_gets_the_next_one_a_new_connection() {
    // A restarted server that answers unknown sessions with an error nobody can match.
    const SLOW_TIMES: usize = 4;
    let mut initialized_times = 0;
    let site = Site::new(move |request| {
        initialized_times += usize::from(request.asks() == "initialize");
        if request.asks() == "tools/call" && initialized_times <= SLOW_TIMES {
            let error =
                json!({ "jsonrpc": "2.0", "error": { "code": -32000, "message": "no session" }, "id": null });
            return Some(("400 Bad Request", "content-type: application/json\r\n".into(), error.to_string()));
        }
        legacy("s1", request)
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    for time in 0..SLOW_TIMES {
        // It waits longer for each new connection: that is within its time, too.
        let backoff = if time == 0 { 0 } else { 250 << (time - 1).min(3) };
        let late = call_within(&tools[0], Duration::from_millis(500 + backoff)).await;
        assert!(matches!(late, Err(InvokeError::Timeout(_))), "{late:?}");
    }
    assert_eq!(call(&tools[0]).await, echo());
    assert_eq!(site.posts("tools/call"), SLOW_TIMES + 1, "nothing is sent twice");
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_given_up() {
    let site = Site::new(|request| match (request.method.as_str(), request.asks()) {
        ("GET", _) => {
            let ping = |n| format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }));
            let pings = (0..1000).map(ping).collect();
            Some(("200 OK", "content-type: text/event-stream\r\n".to_owned(), pings))
        }
        // Its answers to them are not taken.
        ("POST", "" | "tools/call") => NEVER,
        _ => legacy("s1", request),
    })
    .await;
    let web = at(&site);
    let tools = web.connect().await.unwrap();
    let given_up = call(&tools[0]).await;
    let Err(InvokeError::Interrupted(text)) = given_up else { panic!("{given_up:?}") };
    assert!(text.ends_with("the server asked more than 64 times without taking an answer"), "{text}");
}

#[tokio::test]
async fn failures_of_a_call_are_told_apart() {
    type Answerer = fn(&Request) -> Response;
    type Verdict = fn(&InvokeError) -> bool;
    let cases: [(Answerer, Verdict); 5] = [
        (
            |_| status("401 Unauthorized", "s3cret-token"),
            |e| matches!(e, InvokeError::Failed(t) if t.contains("(401)")),
        ),
        (
            |_| status("503 Service Unavailable", "x"),
            |e| matches!(e, InvokeError::Failed(t) if t.contains("HTTP 503")),
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
        (unauthorized.url.clone(), token(), "it asks for authorization (401)"),
        (challenged.url.clone(), token(), "it asks for authorization (403)"),
        (broken.url.clone(), token(), "it answered HTTP 500"),
        (page.url.clone(), token(), "it answered with text/html instead of JSON"),
        (wordy.url.clone(), token(), "it answered with an error: Bearer who is … with …?"),
        (closed, vec![], "it could not be reached: "),
        ("ftp://s3cret-host/".into(), vec![], "its `url` must begin with"),
        ("http://s3cret host".into(), vec![], "its `url` is not an address"),
        (
            "http://localhost/".into(),
            vec![("a b".into(), SecretRef::Literal("x".into()))],
            "the header `a b` is not",
        ),
        (
            "http://localhost/".into(),
            vec![("x-a".into(), SecretRef::Literal("s3cret\n".into()))],
            "the header `x-a` has a value that no header can have",
        ),
        (
            "http://localhost/".into(),
            vec![("x-a".into(), SecretRef::Environment("NONE".into()))],
            "the environment variable `NONE` is not set",
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
