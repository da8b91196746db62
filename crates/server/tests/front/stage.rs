//! A front that listens, and a client of bare bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_gateway::{Counters, Remote, Upstreams};
use converse_server::{Access, Handlers, Hosts, HttpListener, HttpOptions, Limits, listen};
use converse_testkit::hang_guard::ends;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What the tools do: `echo` says what it heard of its caller, `wait` waits until it is let go.
#[derive(Clone, Default)]
pub(crate) struct Tools(pub(crate) Arc<Inside>);

pub(crate) struct Inside {
    /// Told when a `wait` has begun.
    pub(crate) began: Notify,
    pub(crate) go: Semaphore,
    /// Told when a `wait` was dropped before it was let go.
    pub(crate) dropped: Notify,
}

impl Default for Inside {
    fn default() -> Self {
        Self { began: Notify::new(), go: Semaphore::new(0), dropped: Notify::new() }
    }
}

struct Dropped(Arc<Inside>, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.notify_one();
        }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = match &*request.name {
            "wait" => {
                let mut dropped = Dropped(Arc::clone(&self.0), false);
                self.0.began.notify_one();
                let done = tokio::select! {
                    permit = self.0.go.acquire() => permit.is_ok(),
                    () = context.ct.cancelled() => false,
                };
                dropped.1 = done;
                if done { "let go".to_owned() } else { "cancelled".to_owned() }
            }
            "progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    let half = ProgressNotificationParam::new(token, 0.5);
                    let _ = context.peer.notify_progress(half).await;
                }
                "done".to_owned()
            }
            _ => heard(&context),
        };
        Ok(CallToolResponse::Complete(CallToolResult::success(vec![ContentBlock::text(text)])))
    }
}

fn heard(context: &RequestContext<RoleServer>) -> String {
    let parts = context.extensions.get::<http::request::Parts>().unwrap();
    let remote = parts.extensions.get::<Remote>().unwrap();
    let has_token = parts.headers.contains_key("authorization");
    format!("{remote}, token seen: {has_token}")
}

/// A front that runs.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) tools: Tools,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: JoinHandle<()>,
}

/// What a test changes.
pub(crate) struct Set {
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) drain: Duration,
    pub(crate) metrics: Option<HttpListener>,
    pub(crate) origins: Vec<String>,
    pub(crate) upstreams: Upstreams,
}

impl Default for Set {
    fn default() -> Self {
        Self {
            access: Access::open(),
            limits: Limits::default(),
            drain: Duration::from_secs(10),
            metrics: None,
            origins: Vec::new(),
            upstreams: Upstreams::default(),
        }
    }
}

pub(crate) fn here() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

impl Stage {
    pub(crate) fn new(set: Set) -> Self {
        let bound = HttpListener::bind(here()).unwrap();
        let address = bound.address();
        let hosts = Hosts::new(address, &["gw.example".to_owned()], &set.origins).unwrap();
        let front = HttpOptions {
            front: None,
            access: set.access,
            hosts,
            metrics: set.metrics,
            sessions: None,
            drain: set.drain,
            limits: set.limits,
        };
        let (tools, counters, stop) =
            (Tools::default(), Arc::new(Counters::new(set.upstreams)), CancellationToken::new());
        let made = {
            let tools = tools.clone();
            move || tools.clone()
        };
        let ended =
            tokio::spawn(listen(bound, Handlers::new(made), front, Arc::clone(&counters), stop.clone()));
        Self { address, tools, counters, stop, ended }
    }

    pub(crate) async fn connect(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: &Request) -> Answer {
        let mut client = self.connect().await;
        client.send(&request.bytes()).await;
        client.answer().await
    }
}

pub(crate) struct Client(pub(crate) TcpStream);

/// A request that can be changed before it is sent.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            line: format!("GET {path} HTTP/1.1"),
            headers: vec![("host".into(), "localhost".into())],
            body: String::new(),
        }
    }

    pub(crate) fn post(body: &Value) -> Self {
        let headers = [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { line: "POST /mcp HTTP/1.1".to_owned(), headers, body: body.to_string() }
    }

    /// A call in the modern era.
    pub(crate) fn call(tool: &str) -> Self {
        Self::call_with(tool, json!({}))
    }

    pub(crate) fn call_with(tool: &str, more: Value) -> Self {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let params = json!({"name": tool, "arguments": {}, "_meta": meta});
        Self::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", "tools/call")
            .with("mcp-name", tool)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        let (_, rest) = self.line.split_once(' ').unwrap();
        self.line = format!("{method} {rest}");
        self
    }

    pub(crate) fn head(&self) -> String {
        let mut text = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let length = if self.body.is_empty() {
            String::new()
        } else {
            format!("content-length: {}\r\n", self.body.len())
        };
        format!("{}{length}\r\n{}", self.head(), self.body).into_bytes()
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What a tool said.
    pub(crate) fn said(&self) -> String {
        let value: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
        value["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

impl Client {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        ends("waiting for an answer", self.read()).await.expect("an answer")
    }

    /// Does the other side hang up without a word?
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(ends("waiting for a hang-up", self.0.read(&mut byte)).await, Ok(0) | Err(_))
    }

    async fn read(&mut self) -> Option<Answer> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            let mut byte = [0];
            self.0.read_exact(&mut byte).await.ok()?;
            bytes.push(byte[0]);
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut answer = Answer { status, head, body: String::new() };
        let mut body = Vec::new();
        match answer.header("content-length").map(|length| length.parse().unwrap()) {
            Some(length) => {
                body.resize(length, 0);
                self.0.read_exact(&mut body).await.ok()?;
            }
            None if answer.header("transfer-encoding").is_some() => {
                while !body.ends_with(b"0\r\n\r\n") {
                    let mut byte = [0];
                    self.0.read_exact(&mut byte).await.ok()?;
                    body.push(byte[0]);
                }
            }
            None => {}
        }
        answer.body = String::from_utf8(body).unwrap();
        Some(answer)
    }
}
