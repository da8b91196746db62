//! Where the browser comes back to on this machine: one port of 127.0.0.1, for one answer, for five minutes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use converse_mcp::{Consent, state_of};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::PATIENCE;
use super::browser::Browser;
use super::request::{Expected, PATH, is_refusal};
use crate::render::output::write_stderr;
use converse_text::safe;

/// Browsers open connections before they need them, and leave them silent.
const TALK: Duration = Duration::from_secs(10);
const MAX_TALKS: usize = 32;
const MAX_HEAD: usize = 32 * 1024;
/// Connections that cannot even be taken; then something else is wrong.
const MAX_FAILURES: u32 = 100;

/// Whether there is a token for it is known when that has been asked for.
const CAME: &str = "You can close this page and go back to the terminal.";
const DENIED: &str = "Access was not granted. You can close this page; the terminal shows the reason.";
const REFUSED: &str = "This is not the answer that is waited for here.";

#[derive(Debug)]
pub struct Listener {
    /// Any free one, if it is not said.
    port: Option<u16>,
    browser: Browser,
    bound: Mutex<Option<TcpListener>>,
}

impl Listener {
    pub fn new(port: Option<u16>, browser: Browser) -> Self {
        Self { port, browser, bound: Mutex::default() }
    }

    async fn bind(&self) -> Result<String, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.unwrap_or_default()));
        let failed = |error: std::io::Error| {
            format!(
                "{address} is not free for the browser to come back to: {error}; `redirect_port` names another"
            )
        };
        let mut bound = self.bound.lock().await;
        // One that was left from before gives its port back.
        *bound = None;
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        *bound = Some(listener);
        Ok(format!("http://127.0.0.1:{port}{PATH}"))
    }

    async fn wait(&self, url: &str) -> Result<String, String> {
        let listener = self.bound.lock().await.take();
        let listener = listener.ok_or_else(|| "nobody listens for the browser".to_owned())?;
        let host = listener.local_addr().map_err(|error| error.to_string())?.to_string();
        let state = state_of(url).ok_or_else(|| "the address to grant access at has no state".to_owned())?;
        let verb =
            if self.browser.open(url) { "The browser shows this address" } else { "Open this address" };
        write_stderr(&format!("{verb} to grant access:\n  {}\n", safe(url)));
        let answer = timeout(PATIENCE, answer(&listener, &Expected { host, state })).await;
        answer.unwrap_or_else(|_| Err(format!("access was not granted within {} s", PATIENCE.as_secs())))
    }
}

impl Consent for Listener {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>> {
        self.bind().boxed()
    }

    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.wait(url).boxed()
    }
}

/// Talks to everybody who comes, until one of them has the answer.
async fn answer(listener: &TcpListener, expected: &Expected) -> Result<String, String> {
    let mut talks = FuturesUnordered::new();
    let mut failures = 0;
    loop {
        tokio::select! {
            accepted = listener.accept(), if talks.len() < MAX_TALKS => match accepted {
                Ok((stream, _)) => talks.push(talk(stream, expected)),
                Err(error) => {
                    failures += 1;
                    if failures > MAX_FAILURES {
                        return Err(format!("the browser cannot come back: {error}"));
                    }
                }
            },
            Some(answer) = talks.next() => {
                if let Some(answer) = answer {
                    return Ok(answer);
                }
            }
        }
    }
}

async fn talk(stream: TcpStream, expected: &Expected) -> Option<String> {
    let talked = timeout(TALK, async {
        let answer = expected.read(&head(&stream).await?);
        let (status, words) = match &answer {
            Some(answer) if is_refusal(answer) => ("200 OK", DENIED),
            Some(_) => ("200 OK", CAME),
            None => ("403 Forbidden", REFUSED),
        };
        // What the browser is shown matters less than what it brought.
        let _ = write(&stream, page(status, words).as_bytes()).await;
        answer
    });
    talked.await.ok().flatten()
}

async fn head(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.readable().await.ok()?;
        match stream.try_read(&mut piece) {
            Ok(0) => return None,
            Ok(read) => head.extend_from_slice(piece.get(..read)?),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        if head.len() > MAX_HEAD {
            return None;
        }
    }
    Some(head)
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nothing of what was asked is in it, and nothing in it is run or loaded.
fn page(status: &str, words: &str) -> String {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>converse</title><p>{words}</p></html>\n"
    );
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\r\n{body}",
        body.len()
    )
}
