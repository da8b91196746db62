//! One conversation with a client: what comes in, and who answers it.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::flags::Flags;
use super::tasks::Tasks;
use super::wire::Out;
use super::{listing, offers, process};

/// <https://modelcontextprotocol.io/specification/versioning> (checked 2026-11).
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

const NO_SUCH_METHOD: i64 = -32601;
const INTERNAL: i64 = -32603;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The key with the subscription of a notification.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) struct Session {
    pub(super) flags: Flags,
    pub(super) out: Out,
    /// Ids of calls that the client wants no more.
    cancelled: Mutex<HashSet<String>>,
    /// Calls of `meet` that have come.
    pub(super) met: AtomicU64,
    /// The request of a modern client that wants to hear of changes.
    listener: Mutex<Option<Value>>,
    /// The list of tools is another one now.
    pub(super) changed: AtomicBool,
    pub(super) tasks: Tasks,
}

impl Session {
    pub(super) fn new(flags: Flags, out: Out) -> Arc<Self> {
        let (cancelled, met, listener, changed, tasks) = Default::default();
        Arc::new(Self { flags, out, cancelled, met, listener, changed, tasks })
    }

    /// Until stdin ends.
    pub(super) fn run(self: Arc<Self>) {
        let mut stdin = BufReader::new(std::io::stdin());
        let mut line = Vec::new();
        while stdin.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                self.receive(&message);
            }
            line.clear();
        }
        if self.flags.has("ignore-eof") {
            process::idle();
        }
    }

    fn receive(self: &Arc<Self>, message: &Value) {
        let Some(method) = message["method"].as_str() else { return self.got(message) };
        self.note(method, &message["params"]);
        match message.get("id") {
            Some(id) if !self.misbehaves(method, id) => {
                let own = json!("somebody-else");
                let id = if self.flags.names("wrong-id", method) { &own } else { id };
                self.answer(method, id, &message["params"]);
            }
            None if method == "notifications/cancelled" => {
                self.lock().insert(message["params"]["requestId"].to_string());
            }
            _ => {}
        }
        let params = &message["params"];
        if params["name"] == "die" && params["arguments"]["how"] == "close-stdin" {
            process::close_stdin();
            process::idle();
        }
        if self.flags.names("deaf-after", method) {
            process::idle();
        }
    }

    /// The faults that spare the method itself the work.
    fn misbehaves(&self, method: &str, id: &Value) -> bool {
        if self.flags.names("exit-on", method) || (method == "tools/call" && self.dies_now()) {
            process::complain("the server met its end");
            process::leave(1);
        }
        if self.flags.names("empty-on", method) {
            self.out.result(id, json!({}));
            return true;
        }
        if self.flags.names("error-on", method) {
            let words = self.words();
            self.out.error(id, INTERNAL, &format!("the server is out of order{words}"));
            return true;
        }
        self.flags.names("mute", method)
    }

    fn dies_now(&self) -> bool {
        let file = self.flags.value("die-first");
        file.is_some_and(|file| std::fs::File::create_new(file).is_ok())
    }

    fn answer(self: &Arc<Self>, method: &str, id: &Value, params: &Value) {
        let modern = is_modern(params);
        match method {
            "server/discover" if self.flags.value("era") != Some("legacy") => {
                self.out.result(id, self.discovered());
            }
            "initialize" if self.flags.value("era") != Some("modern") => {
                self.out.result(id, self.initialised(params));
            }
            "ping" => self.out.result(id, json!({})),
            _ if modern && self.flags.value("era") == Some("legacy") => self.unknown(id, method),
            _ if !modern && self.flags.value("era") == Some("modern") => {
                self.out.error(id, UNSUPPORTED_VERSION, "a modern request says its protocol version");
            }
            "tools/list" => {
                let mut list = listing::page(self, params);
                if modern {
                    list["resultType"] = json!("complete");
                }
                self.out.result(id, list);
            }
            "subscriptions/listen" if modern => self.listen(id),
            "tools/call" => {
                let (session, id, params) = (Arc::clone(self), id.clone(), params.clone());
                std::thread::spawn(move || session.call(&id, &params));
            }
            _ if modern && self.follows_task(method, id, params) => {}
            _ if self.offers(method, id, params, modern) => {}
            _ => self.unknown(id, method),
        }
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({ "tools": { "listChanged": true } });
        if self.flags.has("tasks") {
            capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        }
        offers::declare(self, &mut capabilities);
        capabilities
    }

    fn unknown(&self, id: &Value, method: &str) {
        self.out.error(id, NO_SUCH_METHOD, &format!("Method not found: {method}"));
    }

    fn discovered(&self) -> Value {
        self.instructed(json!({
            "resultType": "complete",
            "supportedVersions": [self.flags.value("version").unwrap_or(MODERN)],
            "capabilities": self.capabilities(),
            "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": self.info() },
        }))
    }

    fn initialised(&self, params: &Value) -> Value {
        let requested = params["protocolVersion"].as_str().filter(|requested| LEGACY.contains(requested));
        let version = self.flags.value("version").or(requested).unwrap_or("2025-11-25");
        self.instructed(json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": self.info(),
        }))
    }

    /// Modern clients get only the notifications that they subscribed to, under the id of their request, which is never answered.
    fn listen(&self, id: &Value) {
        *self.listener.lock() = Some(id.clone());
        let agreed = json!({ "_meta": { SUBSCRIPTION: id }, "notifications": { "toolsListChanged": true } });
        self.out.notify("notifications/subscriptions/acknowledged", agreed);
    }

    /// Tells of another list of tools, as the client of this call may hear it.
    pub(super) fn tell_of_change(&self, params: &Value) {
        let listener = self.listener.lock().clone();
        let params = match listener {
            Some(id) => json!({ "_meta": { SUBSCRIPTION: id } }),
            None if is_modern(params) => return,
            None => json!({}),
        };
        self.out.notify("notifications/tools/list_changed", params);
    }

    /// The text of `--words`; empty without the flag.
    pub(super) fn words(&self) -> String {
        let file = self.flags.value("words");
        file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
    }

    /// The name and version of the server.
    fn info(&self) -> Value {
        match self.words() {
            words if words.is_empty() => json!({ "name": "fake-server", "version": "1.0.0" }),
            words => json!({ "name": format!("name {words}"), "version": format!("version {words}"),
                "title": format!("title {words}") }),
        }
    }

    /// To the model or to whoever looks.
    fn instructed(&self, mut answer: Value) -> Value {
        let words = self.words();
        if !words.is_empty() {
            answer["instructions"] = json!(format!("instructions {words}"));
        }
        answer
    }

    pub(super) fn is_cancelled(&self, id: &Value) -> bool {
        self.lock().contains(&id.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.cancelled.lock()
    }

    /// For the tests: what was asked of whom, a line each.
    fn note(&self, method: &str, params: &Value) {
        let Some(file) = self.flags.value("journal") else { return };
        let tool = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default();
        let opened = std::fs::File::options().create(true).append(true).open(file);
        if let Ok(mut file) = opened {
            // One write: lines of two servers do not mix.
            let _ = file.write_all(format!("{method} {tool}\n").as_bytes());
        }
    }
}

/// Modern requests say so, each of them.
pub(super) fn is_modern(params: &Value) -> bool {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string()
}
