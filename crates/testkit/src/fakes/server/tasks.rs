//! A tool whose calls become tasks, for clients that declare the extension of tasks.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::asking::question;
use super::session::Session;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const NO_SUCH_TASK: i64 = -32602;

/// The tasks by their ids.
pub(super) type Tasks = Mutex<HashMap<String, Task>>;

#[derive(Default)]
pub(super) struct Task {
    /// Polls until it is complete.
    left: u64,
    asks: bool,
    got: Option<Value>,
    cancelled: bool,
}

impl Session {
    pub(super) fn work(&self, id: &Value, params: &Value) {
        let left = params["arguments"]["polls"].as_u64().unwrap_or(0);
        let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        if !capabilities["extensions"][EXTENSION].is_object() {
            return self.text(id, "worked without a task");
        }
        let mut tasks = self.tasks.lock();
        let name = format!("task-{}", tasks.len());
        let task = Task { left, asks: self.flags.value("tasks") == Some("ask"), ..Task::default() };
        let mut begun = task.state(&name);
        begun["resultType"] = json!("task");
        begun["status"] = json!("working");
        tasks.insert(name, task);
        self.out.result(id, begun);
    }

    /// Answers the methods of tasks; false for others.
    pub(super) fn follows_task(&self, method: &str, id: &Value, params: &Value) -> bool {
        if !self.flags.has("tasks") || !method.starts_with("tasks/") {
            return false;
        }
        let name = params["taskId"].as_str().unwrap_or_default();
        let mut tasks = self.tasks.lock();
        let Some(task) = tasks.get_mut(name) else {
            self.out.error(id, NO_SUCH_TASK, "there is no such task");
            return true;
        };
        let mut answer = json!({});
        match method {
            "tasks/get" => {
                answer = task.state(name);
                task.left = task.left.saturating_sub(u64::from(answer["status"] == "working"));
            }
            "tasks/update" => task.got = params["inputResponses"].get("it").cloned(),
            _ => task.cancelled = true,
        }
        answer["resultType"] = json!("complete");
        self.out.result(id, answer);
        true
    }
}

impl Task {
    fn state(&self, name: &str) -> Value {
        let mut state = json!({
            "taskId": name, "createdAt": "2026-11-23T00:00:00Z", "lastUpdatedAt": "2026-11-23T00:00:00Z",
            "ttlMs": null, "pollIntervalMs": 100, "statusMessage": format!("{} polls left", self.left),
        });
        state["status"] = json!(match self {
            Self { cancelled: true, .. } => "cancelled",
            Self { asks: true, got: None, .. } => {
                let (method, params) = question("form");
                state["inputRequests"] = json!({ "it": { "method": method, "params": params } });
                "input_required"
            }
            Self { left: 0, .. } => {
                let text = match &self.got {
                    Some(got) => format!("worked with {got}"),
                    None => "worked".to_owned(),
                };
                state["result"] = json!({ "content": [{ "type": "text", "text": text }] });
                "completed"
            }
            _ => "working",
        });
        state
    }
}
