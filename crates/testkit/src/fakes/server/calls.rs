//! The calls of the regular tools. Each call has its own thread.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::session::Session;

const INVALID: i64 = -32602;
/// Interval at which waiting calls check for cancellation.
const LOOK: Duration = Duration::from_millis(2);
/// A PNG of one red pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

impl Session {
    pub(super) fn call(&self, id: &Value, params: &Value) {
        let tool = params["name"].as_str().unwrap_or_default();
        let arguments = &params["arguments"];
        if self.flags.names("vanish", tool) {
            return self.out.error(id, INVALID, &format!("Unknown tool: {tool}"));
        }
        let number = |key: &str| arguments[key].as_u64().unwrap_or(0);
        match tool {
            "ask" => self.ask(id, params),
            "work" => self.work(id, params),
            "echo" => self.text(id, arguments["text"].as_str().unwrap_or_default()),
            "sleep" => self.after(id, Duration::from_millis(number("ms")), "woken"),
            "env" => self.text(id, &environment()),
            "fds" => self.text(id, &descriptors()),
            "image" => {
                let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
                self.out.result(id, json!({ "content": [image] }));
            }
            "fail" => {
                let content =
                    json!([{ "type": "text", "text": format!("it failed on purpose{}", self.words()) }]);
                self.out.result(id, json!({ "content": content, "isError": true }));
            }
            "pid" => self.text(id, &std::process::id().to_string()),
            "progress" => self.steps(id, params, number("steps"), Duration::from_millis(number("ms"))),
            "meet" => self.meet(id, number("count")),
            _ if self.flags.has("faulty") => self.misdeed(tool, id, params),
            _ => self.text(id, &format!("this is {tool}")),
        }
    }

    pub(super) fn text(&self, id: &Value, text: &str) {
        self.out.result(id, json!({ "content": [{ "type": "text", "text": text }] }));
    }

    /// False if the call was cancelled before the time was over.
    pub(super) fn waits(&self, id: &Value, long: Duration) -> bool {
        let end = Instant::now() + long;
        while Instant::now() < end {
            if self.is_cancelled(id) {
                return false;
            }
            std::thread::sleep(LOOK.min(long));
        }
        true
    }

    fn after(&self, id: &Value, long: Duration, text: &str) {
        if self.waits(id, long) {
            self.text(id, text);
        }
    }

    fn steps(&self, id: &Value, params: &Value, steps: u64, pause: Duration) {
        for step in 1..=steps {
            if !self.waits(id, pause) {
                return;
            }
            self.progress(params, step, Some(steps));
            self.log();
        }
        self.text(id, &format!("{steps} steps done"));
    }

    /// Sends a log message with the text of `--words`.
    fn log(&self) {
        let words = self.words();
        if !words.is_empty() {
            let params = json!({ "level": "warning", "logger": words, "data": format!("log {words}") });
            self.out.notify("notifications/message", params);
        }
    }

    pub(super) fn progress(&self, params: &Value, step: u64, total: Option<u64>) {
        let token = &params["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": step, "total": total, "message": format!("a step{}", self.words()) });
            self.out.notify("notifications/progress", without_nulls(params));
        }
    }

    /// Answers only when `count` calls run at the same time: proves that they do.
    fn meet(&self, id: &Value, count: u64) {
        self.met.fetch_add(1, Ordering::SeqCst);
        while self.met.load(Ordering::SeqCst) < count {
            if self.is_cancelled(id) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        self.text(id, "met");
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    value
}

#[allow(
    clippy::disallowed_methods,
    reason = "it is a process of its own, and its environment is what is tried"
)]
pub(super) fn environment() -> String {
    let variables: Map<String, Value> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), json!(value.to_string_lossy())))
        .collect();
    Value::Object(variables).to_string()
}

/// `[number, what it is]` of each; not the one that reads the directory.
fn descriptors() -> String {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let described = entries.filter_map(|entry| {
        let target = std::fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        (!target.ends_with("/fd")).then(|| json!([number, target]))
    });
    Value::Array(described.collect()).to_string()
}
