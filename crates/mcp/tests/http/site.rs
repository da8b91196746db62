//! A server over HTTP, by script, and what good ones of both eras do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_config::{ConnectionPlan, SecretRef, TransportPlan};
use converse_ensemble::{Answer, Ensemble, InvokeError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::{self, Remembered};

/// A request as it came.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn asks(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// Status line, further header lines, body. `None`: the connection is dropped without an answer.
/// [`NEVER`]: there is no answer, and the connection stays.
pub(crate) type Response = Option<(&'static str, String, String)>;

pub(crate) const NEVER: Response = Some(("", String::new(), String::new()));

pub(crate) struct Site {
    pub(crate) url: String,
    /// `POST initialize` and so on.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) async fn new(script: impl FnMut(&Request) -> Response + Send + 'static) -> Self {
        Self::listening(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    pub(crate) fn listening(
        listener: TcpListener,
        script: impl FnMut(&Request) -> Response + Send + 'static,
    ) -> Self {
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

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn posts(&self, method: &str) -> usize {
        self.heard().iter().filter(|line| **line == format!("POST {method}")).count()
    }
}

pub(crate) async fn read(stream: TcpStream) -> Option<(Request, TcpStream)> {
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
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    Some((Request { method, target, headers, body }, reader.into_inner()))
}

pub(crate) fn json_reply(headers: &str, body: &Value) -> Response {
    Some(("200 OK", format!("content-type: application/json\r\n{headers}"), body.to_string()))
}

pub(crate) fn result(request: &Request, result: Value) -> Response {
    json_reply("", &json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
}

pub(crate) fn status(line: &'static str, body: &str) -> Response {
    Some((line, "content-type: text/plain\r\n".to_owned(), body.to_owned()))
}

pub(crate) fn tools() -> Value {
    json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })
}

pub(crate) fn echoed(request: &Request) -> Value {
    json!({ "content": [{ "type": "text", "text": request.body["params"]["arguments"].to_string() }] })
}

pub(crate) fn initialized(request: &Request, session: &str) -> Response {
    json_reply(
        &format!("mcp-session-id: {session}\r\n"),
        &json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": {
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" },
        } }),
    )
}

/// A legacy server with sessions; `session` is the one it knows.
pub(crate) fn legacy(session: &str, request: &Request) -> Response {
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

pub(crate) fn modern(request: &Request) -> Response {
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

pub(crate) fn ensemble(
    url: SecretRef,
    headers: Vec<(String, SecretRef)>,
    eras: &Arc<Remembered>,
) -> Ensemble {
    stage::ensemble(TransportPlan::Http { url, headers }, Duration::from_secs(20), PathBuf::from("/"), eras)
}

pub(crate) fn at(site: &Site) -> Ensemble {
    at_url(&site.url)
}

pub(crate) fn at_url(url: &str) -> Ensemble {
    ensemble(SecretRef::Literal(url.to_owned()), vec![], &Arc::default())
}

/// With the roots granted.
pub(crate) fn with_roots(url: &str) -> Ensemble {
    let way = TransportPlan::Http { url: SecretRef::Literal(url.to_owned()), headers: vec![] };
    let mut connection = ConnectionPlan::new(way);
    connection.grants.roots = vec![".".to_owned()];
    stage::ensemble_of(connection, PathBuf::from("/"), &Arc::default(), None)
}

pub(crate) fn echo() -> Result<Answer, InvokeError> {
    Ok(Answer::text("{\"a\":1}"))
}
