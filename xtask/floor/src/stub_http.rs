//! An MCP server over streamable HTTP that does nothing, quickly, and remembers what it was asked: for
//! `cargo xtask bench --only serve` and `--only gateways`, and `cargo xtask replicas`. The era of 2026-07-28, and that of
//! sessions without a session.
//!
//! Prints its address, then serves until its standard input ends. Its one tool `note` takes a number and says it.
//! `GET /noted` gives what came: how many calls, how many different numbers. With `--stdio` it is the same server over
//! stdio.

use std::cell::RefCell;
use std::collections::HashSet;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Default)]
struct Noted {
    calls: u64,
    numbers: HashSet<u64>,
}

/// `stub-http [--stdio | --delay SECONDS]`: how long each call takes.
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let delay = match words.as_slice() {
        [] => Duration::ZERO,
        [word] if word == "--stdio" => return serve_pipes(),
        [word, value] if word == "--delay" => Duration::from_secs_f64(value.parse()?),
        other => return Err(format!("{other:?} is not an option").into()),
    };
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(delay))
}

fn serve_pipes() -> Result<()> {
    let noted = RefCell::new(Noted::default());
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let (_, answer) = answer("POST", &serde_json::from_str(&line?)?, &noted);
        if !answer.is_null() {
            out.write_all(format!("{answer}\n").as_bytes())?;
            out.flush()?;
        }
    }
    Ok(())
}

async fn serve(delay: Duration) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let noted = Rc::new(RefCell::new(Noted::default()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let noted = Rc::clone(&noted);
        tokio::task::spawn_local(async move {
            let _ = converse(stream, delay, &noted).await;
        });
    }
}

async fn converse(mut stream: TcpStream, delay: Duration, noted: &RefCell<Noted>) -> Result<()> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        while let Some((line, body, used)) = request(&bytes)? {
            bytes.drain(..used);
            let answer = answer(&line, &body, noted);
            if answer.1.get("result").is_some_and(|result| result.get("content").is_some())
                && !delay.is_zero()
            {
                tokio::time::sleep(delay).await;
            }
            let (status, body) =
                (answer.0, if answer.1.is_null() { String::new() } else { answer.1.to_string() });
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).await?;
        }
        match stream.read(&mut chunk).await? {
            0 => return Ok(()),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// The request's line, its body, and the bytes of both; `None` if there is more to come.
fn request(bytes: &[u8]) -> Result<Option<(String, Value, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&bytes[..end])?;
    let line = head.lines().next().unwrap_or_default().to_owned();
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(Ok(0), |length| length.trim().parse())?;
    let Some(body) = bytes.get(end + 4..end + 4 + length) else { return Ok(None) };
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(body)? };
    Ok(Some((line, body, end + 4 + length)))
}

fn answer(line: &str, body: &Value, noted: &RefCell<Noted>) -> (&'static str, Value) {
    if line.starts_with("GET /noted ") {
        let noted = noted.borrow();
        return ("200 OK", json!({"calls": noted.calls, "numbers": noted.numbers.len()}));
    }
    if line.starts_with("GET ") {
        return ("405 Method Not Allowed", Value::Null);
    }
    let (Some(method), Some(id)) = (body["method"].as_str(), body.get("id")) else {
        return ("202 Accepted", Value::Null);
    };
    let result = match method {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub-http", "version": "1"}, "ttlMs": 600_000, "cacheScope": "public"}),
        "initialize" => json!({
            "protocolVersion": body["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub-http", "version": "1"}}),
        "ping" => json!({}),
        "tools/list" => {
            json!({"resultType": "complete", "ttlMs": 600_000, "cacheScope": "public", "tools": [{
            "name": "note", "description": "Notes a number and says it",
            "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
            "annotations": {"readOnlyHint": true, "openWorldHint": false}}]})
        }
        "tools/call" => {
            let number = body["params"]["arguments"]["number"].as_u64().unwrap_or_default();
            let mut noted = noted.borrow_mut();
            noted.calls += 1;
            noted.numbers.insert(number);
            json!({"resultType": "complete", "isError": false,
                "content": [{"type": "text", "text": format!("heard {number}.")}]})
        }
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return ("404 Not Found", json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    ("200 OK", json!({"jsonrpc": "2.0", "id": id, "result": result}))
}
