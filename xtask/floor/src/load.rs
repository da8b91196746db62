//! Calls a tool over streamable HTTP, as many times as it can: for `cargo xtask bench --only serve` and
//! `cargo xtask replicas`.
//!
//! `load ADDRESS TOOL --clients N --seconds S [--from NUMBER]`: N clients with a connection each, one call after
//! another, in the era of 2026-07-28. Every call carries a number of its own and is right if it is answered with it.
//! Nothing is ever sent twice. Prints one line of JSON.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::timeout;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A call that takes longer is an error.
const PATIENCE: Duration = Duration::from_secs(60);
/// Reasons that are told.
const TOLD: usize = 5;

#[derive(Clone)]
struct Options {
    address: String,
    tool: String,
    clients: u64,
    time: Duration,
    from: u64,
}

/// What all clients together have seen.
#[derive(Default)]
struct Seen {
    next: u64,
    answered: u64,
    failed: u64,
    reasons: Vec<String>,
    micros: Vec<u32>,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = options(&words)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = Rc::new(RefCell::new(Seen { next: options.from, ..Seen::default() }));
    let began = Instant::now();
    let local = LocalSet::new();
    for _ in 0..options.clients {
        local.spawn_local(client(options.clone(), began + options.time, Rc::clone(&seen)));
    }
    runtime.block_on(local);
    let seconds = began.elapsed().as_secs_f64();
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
            "next": seen.next, "p50_us": at(0.5), "p99_us": at(0.99),
        })
    );
    Ok(())
}

fn options(words: &[String]) -> Result<Options> {
    let [address, tool, rest @ ..] = words else { return Err("`load ADDRESS TOOL …`".into()) };
    let (address, tool) = (address.clone(), tool.clone());
    let mut options = Options { address, tool, clients: 1, time: Duration::from_secs(1), from: 0 };
    for pair in rest.chunks(2) {
        match pair {
            [word, value] if word == "--clients" => options.clients = value.parse()?,
            [word, value] if word == "--seconds" => options.time = Duration::from_secs_f64(value.parse()?),
            [word, value] if word == "--from" => options.from = value.parse()?,
            other => return Err(format!("{other:?} is not an option").into()),
        }
    }
    Ok(options)
}

async fn client(options: Options, end: Instant, seen: Rc<RefCell<Seen>>) {
    let mut kept = None;
    while Instant::now() < end {
        let number = {
            let mut seen = seen.borrow_mut();
            seen.next += 1;
            seen.next
        };
        let began = Instant::now();
        let called = timeout(PATIENCE, call(&options, number, &mut kept)).await;
        let called = called.unwrap_or_else(|_| Err("no answer in time".into()));
        let mut seen = seen.borrow_mut();
        match called {
            Ok(()) => {
                seen.answered += 1;
                seen.micros.push(began.elapsed().as_micros() as u32);
            }
            Err(reason) => {
                kept = None;
                seen.failed += 1;
                if seen.reasons.len() < TOLD {
                    seen.reasons.push(format!("{number}: {reason}"));
                }
            }
        }
    }
}

/// The connection is kept for the next call, unless the other side says that it closes it.
async fn call(options: &Options, number: u64, kept: &mut Option<TcpStream>) -> Result<()> {
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(&options.address).await?;
            stream.set_nodelay(true)?;
            stream
        }
    };
    stream.write_all(request(options, number).as_bytes()).await?;
    let (head, body) = answer(&mut stream).await?;
    if !head.starts_with("http/1.1 200") || !body.contains(&format!("heard {number}.")) {
        return Err(format!("{} {body}", head.lines().next().unwrap_or_default()).into());
    }
    if !head.contains("\r\nconnection: close") {
        *kept = Some(stream);
    }
    Ok(())
}

fn request(options: &Options, number: u64) -> String {
    let Options { address, tool, .. } = options;
    let body = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": tool, "arguments": {"number": number}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"}}}})
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
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
