//! Access granted in a browser of another machine: the address is shown, and the one that the browser came back to is
//! read from stdin.

use std::io::{BufRead as _, Read as _};

use converse_mcp::Consent;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::PATIENCE;
use super::request::PATH;
use crate::render::output::write_stderr;
use converse_text::safe;

const MAX_LINE: u64 = 16 * 1024;

#[derive(Debug)]
pub struct Pasted {
    port: Option<u16>,
}

impl Pasted {
    pub fn new(port: Option<u16>) -> Self {
        Self { port }
    }
}

impl Consent for Pasted {
    fn redirect_uri(&self) -> BoxFuture<'_, Result<String, String>> {
        async move {
            let port = match self.port {
                Some(port) => port,
                // Nobody listens on this port: the browser shows an error, and its address bar keeps the URL to copy.
                None => free().await.map_err(|error| format!("no port is free: {error}"))?,
            };
            Ok(format!("http://127.0.0.1:{port}{PATH}"))
        }
        .boxed()
    }

    fn authorize<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        async move {
            write_stderr(&format!(
                "Open this address in a browser, on any machine, to grant access:\n  {}\nThe page it ends at will not \
                 load. Paste its address here: ",
                safe(url)
            ));
            let (sender, line) = oneshot::channel();
            // Nothing ends a read of stdin; a thread of its own may be left behind.
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = std::io::stdin().lock().take(MAX_LINE).read_line(&mut line);
                let _ = sender.send(read.map(|_| line));
            });
            let line = timeout(PATIENCE, line).await;
            match line {
                Ok(Ok(Ok(line))) if !line.trim().is_empty() => Ok(line.trim().to_owned()),
                Ok(Ok(Err(error))) => Err(format!("stdin cannot be read: {error}")),
                Ok(_) => Err("no address was pasted".to_owned()),
                Err(_) => Err(format!("no address was pasted within {} s", PATIENCE.as_secs())),
            }
        }
        .boxed()
    }
}

async fn free() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0)).await?.local_addr()?.port())
}
