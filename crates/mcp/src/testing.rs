//! For tests: a server by script, at the other end of pipes within the process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Arguments, Digest};
use converse_config::{EnsemblePlan, Environment, Grants, Origin, Protocol, Scope};
use converse_ensemble::{Answer, Artefacts, Context, Ensemble, Host, InvokeError, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio_util::sync::CancellationToken;

use crate::connection::server_requests;
use crate::key::Keys;
use crate::link::Way;
use crate::server::Server;
use crate::{Era, EraStore, McpConnection, Responders, Surroundings, ToolListStore};

/// The reaction of the fake to a message.
pub(crate) enum Act {
    /// Bytes for its output.
    Say(Vec<u8>),
    Nothing,
    /// It ends.
    Exit,
}

type Script = dyn FnMut(usize, &Value) -> Act + Send;

/// A server. The script is given the number of its start, from 1, and each message.
#[derive(Clone)]
pub(crate) struct Fake {
    script: Arc<Mutex<Box<Script>>>,
    starts: Arc<Mutex<usize>>,
    heard: Arc<Mutex<Vec<Value>>>,
    /// It is treated like `npx`.
    pub(crate) is_launcher: bool,
    /// The time before it reads its input.
    pub(crate) starting: Duration,
}

impl Fake {
    pub(crate) fn new(script: impl FnMut(usize, &Value) -> Act + Send + 'static) -> Self {
        let script: Arc<Mutex<Box<Script>>> = Arc::new(Mutex::new(Box::new(script)));
        Self {
            script,
            starts: Arc::default(),
            heard: Arc::default(),
            is_launcher: false,
            starting: Duration::ZERO,
        }
    }

    /// Returns the reaction of its script to a message, for another fake.
    pub(crate) fn act(&self, start: usize, message: &Value) -> Act {
        (self.script.lock().unwrap())(start, message)
    }

    pub(crate) fn starts(&self) -> usize {
        *self.starts.lock().unwrap()
    }

    /// The methods of what it was sent, in order.
    pub(crate) fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        heard.iter().map(|message| message["method"].as_str().unwrap_or("answer").to_owned()).collect()
    }

    pub(crate) fn start(&self) -> (DuplexStream, DuplexStream) {
        let (stdin, input) = tokio::io::duplex(64 * 1024);
        let (mut output, stdout) = tokio::io::duplex(64 * 1024);
        let start = {
            let mut starts = self.starts.lock().unwrap();
            *starts += 1;
            *starts
        };
        let fake = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(fake.starting).await;
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let act = (fake.script.lock().unwrap())(start, &message);
                fake.heard.lock().unwrap().push(message);
                match act {
                    Act::Say(bytes) if output.write_all(&bytes).await.is_err() => return,
                    Act::Say(_) | Act::Nothing => {}
                    Act::Exit => return,
                }
            }
        });
        (stdin, stdout)
    }
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

pub(crate) fn result(request: &Value, result: &Value) -> Act {
    Act::Say(format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into())
}

pub(crate) fn error(request: &Value, code: i32, message: &str) -> Act {
    let error = json!({ "code": code, "message": message });
    Act::Say(format!("{}\n", json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).into())
}

/// The script of a regular legacy server with the tools `echo` and `other`.
pub(crate) fn legacy(request: &Value) -> Act {
    match request["method"].as_str().unwrap_or_default() {
        "initialize" => result(
            request,
            &json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "fake", "version": "1" }, "instructions": "be kind",
            }),
        ),
        "tools/list" => result(request, &json!({ "tools": [tool("echo"), tool("other")] })),
        "tools/call" => {
            let arguments = request["params"]["arguments"].to_string();
            result(request, &json!({ "content": [{ "type": "text", "text": arguments }] }))
        }
        _ if request.get("id").is_none() => Act::Nothing,
        _ => error(request, -32601, "no such method"),
    }
}

pub(crate) fn modern(request: &Value) -> Act {
    match request["method"].as_str().unwrap_or_default() {
        "server/discover" => result(
            request,
            &json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "ttlMs": 0, "cacheScope": "private",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "2" } },
            }),
        ),
        "initialize" => error(request, -32601, "no such method"),
        _ => legacy(request),
    }
}

pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("does {name}"), "inputSchema": { "type": "object" } })
}

/// Everything around a connection to a fake.
pub(crate) struct Fixture {
    pub(crate) fake: Fake,
    pub(crate) plan: EnsemblePlan,
    pub(crate) protocol: Protocol,
    pub(crate) timeout: Duration,
    pub(crate) eras: Arc<RememberedEras>,
    pub(crate) lists: Arc<RememberedLists>,
    pub(crate) warnings: Arc<Mutex<Vec<String>>>,
    pub(crate) verify_accepted: bool,
    /// Whether a keeper connects it.
    pub(crate) kept: bool,
    pub(crate) grants: Grants,
    pub(crate) responders: Responders,
    pub(crate) workspace: PathBuf,
}

#[derive(Default)]
pub(crate) struct RememberedEras(pub(crate) Mutex<HashMap<String, Era>>);

impl EraStore for RememberedEras {
    fn get(&self, key: &str) -> Option<Era> {
        self.0.lock().unwrap().get(key).copied()
    }

    fn put(&self, key: &str, era: Era) {
        self.0.lock().unwrap().insert(key.to_owned(), era);
    }
}

#[derive(Default)]
pub(crate) struct RememberedLists(pub(crate) Mutex<HashMap<String, String>>);

impl ToolListStore for RememberedLists {
    fn get(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn put(&self, key: &str, list: &str) {
        self.0.lock().unwrap().insert(key.to_owned(), list.to_owned());
    }
}

/// Stores nothing and reports success, unless it is set to be full.
pub(crate) struct FakeArtefacts(pub(crate) bool);

impl Artefacts for FakeArtefacts {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.0.then(|| Digest([u8::try_from(bytes.len()).unwrap(); 32]))
    }
}

pub(crate) fn plan() -> EnsemblePlan {
    EnsemblePlan::new(
        "fake".to_owned().try_into().unwrap(),
        Origin { scope: Scope::User, file: "x.toml".into(), line: 1 },
    )
}

impl Fixture {
    pub(crate) fn new(script: impl FnMut(usize, &Value) -> Act + Send + 'static) -> Self {
        Self {
            fake: Fake::new(script),
            plan: plan(),
            protocol: Protocol::Auto,
            timeout: Duration::from_secs(30),
            eras: Arc::default(),
            lists: Arc::default(),
            warnings: Arc::default(),
            verify_accepted: false,
            kept: false,
            grants: Grants::default(),
            responders: Responders::default(),
            workspace: PathBuf::from("/"),
        }
    }

    pub(crate) fn open(&self) -> (Arc<McpConnection>, Ensemble) {
        let (warnings, notes) = (Arc::clone(&self.warnings), Arc::clone(&self.warnings));
        let surroundings = Surroundings {
            workspace: self.workspace.clone(),
            environment: Environment::default(),
            inherited: vec![],
            guardian: converse_process::Guardian::new(PathBuf::from("/nowhere"), vec![]),
            http: Box::new(|_| Err("no network".to_owned())),
            eras: Arc::clone(&self.eras) as Arc<dyn EraStore>,
            lists: Arc::clone(&self.lists) as Arc<dyn ToolListStore>,
            artefacts: Arc::new(FakeArtefacts(true)),
            project: None,
            warn: Arc::new(move |line| warnings.lock().unwrap().push(line)),
            note: Arc::new(move |line| notes.lock().unwrap().push(line)),
            http_runtime: None,
            jitter: || 1.0,
            start_checks: Arc::new(|_| converse_ensemble::StartCheck::default()),
            responders: self.responders.clone(),
            reach: None,
            vault: None,
            consent: None,
        };
        let way = Way::Pipes(self.fake.clone());
        let place = self.workspace.display();
        let list =
            if self.workspace.parent().is_some() { format!("list {place}") } else { "list".to_owned() };
        let keys = Keys { era: "key".to_owned(), list, elsewhere: "elsewhere".to_owned() };
        let server_requests = server_requests(&self.plan, self.grants.clone(), &surroundings);
        let server = Server::new(way, self.protocol, self.timeout, Arc::new(surroundings), keys)
            .with_server_requests(server_requests);
        let connection = McpConnection::over(&self.plan, server).verify_accepted(self.verify_accepted);
        let connection = Arc::new(if self.kept { connection.kept() } else { connection });
        let ensemble = Ensemble::new(&self.plan, Box::new(Arc::clone(&connection)));
        (connection, ensemble)
    }

    /// Connected, with its tools.
    pub(crate) async fn connected(&self) -> (Arc<McpConnection>, Ensemble, Vec<Tool>) {
        let (connection, ensemble) = self.open();
        let tools = ensemble.connect().await.unwrap();
        (connection, ensemble, tools)
    }

    /// Why it could not be connected.
    pub(crate) async fn refused(&self) -> String {
        let (_connection, ensemble) = self.open();
        ensemble.connect().await.unwrap_err().reason
    }

    pub(crate) fn era(&self) -> Option<Era> {
        self.eras.get("key")
    }
}

pub(crate) fn context(timeout: Duration) -> Context {
    Context {
        invoker: "fake.echo".to_owned(),
        cancel: CancellationToken::new(),
        deadline: (tokio::time::Instant::now() + timeout).into_std(),
        clock: converse_ensemble::PausableClock::default(),
        cost: converse_ensemble::CostMeter::default(),
        host: Host::default(),
        paths: converse_ensemble::PathPolicy::default(),
    }
}

pub(crate) async fn call(tool: &Tool, arguments: Value) -> Result<Answer, InvokeError> {
    let arguments = Arguments::from_object(arguments.as_object().unwrap().clone());
    tool.invocable.invoke(context(Duration::from_secs(30)), &arguments).await
}
