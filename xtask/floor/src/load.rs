//! Calls a tool as many times as it can: for `cargo xtask bench --only serve`, `bench --only gateways` and
//! `cargo xtask replicas`.
//!
//! `load ADDRESS TOOL --clients N --seconds S [--from NUMBER] [--era sessions]`: N clients with a connection each, one
//! call after another, over streamable HTTP in the era of 2026-07-28, or in a session of 2025-11-25 each.
//! `load stdio TOOL --clients N --seconds S -- COMMAND…`: N clients on the two pipes of one program.
//! Every call carries a number of its own and is right if it is answered with it. Nothing is ever sent twice. Prints one
//! line of JSON.

mod load_stdio;

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::timeout;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A call that takes longer is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// The revision of the era of sessions.
const SESSIONS: &str = "2025-11-25";
/// Reasons that are told.
const TOLD: usize = 5;

#[derive(Clone)]
struct Options {
    address: String,
    tool: String,
    clients: u64,
    time: Duration,
    from: u64,
    sessions: bool,
    /// The program that is called over stdio.
    command: Vec<String>,
}

/// What all clients together have seen.
#[derive(Default)]
struct Seen {
    next: u64,
    answered: u64,
    failed: u64,
    reasons: Vec<String>,
    micros: Vec<u32>,
    /// Resident memory of the program that was started, in KiB.
    resident: u64,
}

impl Seen {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn note(&mut self, number: u64, began: Instant, called: Result<()>) {
        match called {
            Ok(()) => {
                self.answered += 1;
                self.micros.push(began.elapsed().as_micros() as u32);
            }
            Err(reason) => {
                self.failed += 1;
                if self.reasons.len() < TOLD {
                    self.reasons.push(format!("{number}: {reason}"));
                }
            }
        }
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = options(&words)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = Rc::new(RefCell::new(Seen { next: options.from, ..Seen::default() }));
    let local = LocalSet::new();
    let seconds = if options.command.is_empty() {
        let began = Instant::now();
        for _ in 0..options.clients {
            local.spawn_local(client(options.clone(), began + options.time, Rc::clone(&seen)));
        }
        runtime.block_on(local);
        began.elapsed()
    } else {
        local.block_on(&runtime, load_stdio::run(options, Rc::clone(&seen)))?
    }
    .as_secs_f64();
    let mut seen = seen.take();
    seen.micros.sort_unstable();
    let at = |share: f64| {
        let index = (seen.micros.len() as f64 * share) as usize;
        seen.micros.get(index).copied().unwrap_or(0)
    };
    println!(
        "{}",
        json!({
            "answered": seen.answered, "failed": seen.failed, "reasons": seen.reasons, "seconds": seconds,
            "next": seen.next, "p50_us": at(0.5), "p99_us": at(0.99), "resident_kib": seen.resident,
        })
    );
    Ok(())
}

fn options(words: &[String]) -> Result<Options> {
    let [address, tool, rest @ ..] = words else { return Err("`load ADDRESS TOOL …`".into()) };
    let (rest, command) = match rest.iter().position(|word| word == "--") {
        Some(at) => (&rest[..at], rest[at + 1..].to_vec()),
        None => (rest, Vec::new()),
    };
    let (address, tool, time) = (address.clone(), tool.clone(), Duration::from_secs(1));
    let mut options = Options { address, tool, clients: 1, time, from: 0, sessions: false, command };
    for pair in rest.chunks(2) {
        match pair {
            [word, value] if word == "--clients" => options.clients = value.parse()?,
            [word, value] if word == "--seconds" => options.time = Duration::from_secs_f64(value.parse()?),
            [word, value] if word == "--from" => options.from = value.parse()?,
            [word, value] if word == "--era" => options.sessions = value == "sessions",
            other => return Err(format!("{other:?} is not an option").into()),
        }
    }
    Ok(options)
}

async fn client(options: Options, end: Instant, seen: Rc<RefCell<Seen>>) {
    let mut kept = None;
    let session = if options.sessions { timeout(PATIENCE, open(&options)).await } else { Ok(Ok(None)) };
    let session = match session {
        Ok(Ok(session)) => session,
        Ok(Err(reason)) => return seen.borrow_mut().note(0, end, Err(reason)),
        Err(_) => return seen.borrow_mut().note(0, end, Err("no session in time".into())),
    };
    while Instant::now() < end {
        let number = seen.borrow_mut().next();
        let began = Instant::now();
        let called = timeout(PATIENCE, call(&options, session.as_deref(), number, &mut kept)).await;
        let called = called.unwrap_or_else(|_| Err("no answer in time".into()));
        if called.is_err() {
            kept = None;
        }
        seen.borrow_mut().note(number, began, called);
    }
}

/// Opens a session of 2025-11-25 and returns its identifier, if the server gives one.
async fn open(options: &Options) -> Result<Option<String>> {
    let mut stream = connect(options).await?;
    let greeting = post(options, &initialize(), &[]);
    stream.write_all(greeting.as_bytes()).await?;
    let (head, body) = answer(&mut stream).await?;
    if !head.starts_with("http/1.1 200") || !body.contains("\"result\"") {
        return Err(format!("{} {body}", head.lines().next().unwrap_or_default()).into());
    }
    // The head is in lower case, as identifiers are that are made of hexadecimal digits.
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned);
    let mut stream = connect(options).await?;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    stream.write_all(post(options, &ready, &of_session(session.as_deref())).as_bytes()).await?;
    answer(&mut stream).await?;
    Ok(session)
}

fn initialize() -> String {
    json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": {
        "protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}})
    .to_string()
}

fn of_session(session: Option<&str>) -> Vec<(&str, &str)> {
    let mut headers = vec![("mcp-protocol-version", SESSIONS)];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    headers
}

async fn connect(options: &Options) -> Result<TcpStream> {
    let stream = TcpStream::connect(&options.address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The connection is kept for the next call, unless the other side says that it closes it.
async fn call(
    options: &Options,
    session: Option<&str>,
    number: u64,
    kept: &mut Option<TcpStream>,
) -> Result<()> {
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => connect(options).await?,
    };
    stream.write_all(request(options, session, number).as_bytes()).await?;
    let (head, body) = answer(&mut stream).await?;
    if !head.starts_with("http/1.1 200") || !body.contains(&format!("heard {number}.")) {
        return Err(format!("{} {body}", head.lines().next().unwrap_or_default()).into());
    }
    if !head.contains("\r\nconnection: close") {
        *kept = Some(stream);
    }
    Ok(())
}

fn request(options: &Options, session: Option<&str>, number: u64) -> String {
    let tool = &options.tool;
    if options.sessions {
        return post(options, &called(tool, number, json!({})), &of_session(session));
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    post(options, &called(tool, number, meta), &headers)
}

fn called(tool: &str, number: u64, meta: Value) -> String {
    let mut params = json!({"name": tool, "arguments": {"number": number}});
    if meta.as_object().is_some_and(|meta| !meta.is_empty()) {
        params["_meta"] = meta;
    }
    json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).to_string()
}

fn post(options: &Options, body: &str, headers: &[(&str, &str)]) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        options.address,
        body.len()
    )
}

/// Head in lower case, and body: of a length that is said, or in chunks.
async fn answer(stream: &mut TcpStream) -> Result<(String, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        more(stream, &mut chunk, &mut bytes).await?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let mut body = bytes.split_off(end + 4);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length {
        Some(length) => {
            let length: usize = length.trim().parse()?;
            while body.len() < length {
                more(stream, &mut chunk, &mut body).await?;
            }
        }
        None => {
            while !body.ends_with(b"0\r\n\r\n") {
                more(stream, &mut chunk, &mut body).await?;
            }
        }
    }
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

async fn more(stream: &mut TcpStream, chunk: &mut [u8], bytes: &mut Vec<u8>) -> Result<()> {
    match stream.read(chunk).await? {
        0 => Err("hung up".into()),
        count => {
            bytes.extend_from_slice(&chunk[..count]);
            Ok(())
        }
    }
}
