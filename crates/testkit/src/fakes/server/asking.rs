//! A tool that sends a request to its client, in the form of the client's era, and returns the response.

use serde_json::{Value, json};

use super::session::{Session, is_modern};

/// The state that a modern client must return unchanged.
const STATE: &str = "state \u{e9}\"\\";
/// Ids of its own requests begin so; the rest is the id of the call.
const MARK: &str = "ask-";

impl Session {
    pub(super) fn ask(&self, id: &Value, params: &Value) {
        let kind = self.flags.value("ask").unwrap_or_default();
        let (method, mut question) = question(kind);
        if question.get("message").is_some() && self.flags.has("words") {
            question["message"] = json!(self.words());
        }
        if kind == "sample-back" {
            return self.take_back(id, method, question);
        }
        if is_modern(params) {
            let Some(got) = params.get("inputResponses") else {
                let mut requests = json!({ "it": { "method": method, "params": question } });
                if kind == "sample-twice" {
                    requests["too"] = requests["it"].clone();
                }
                let round = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": STATE });
                return self.out.result(id, round);
            };
            let kept = params["requestState"] == STATE;
            return self.text(id, &format!("got {} and {kept}", got["it"]));
        }
        self.out.request(&json!(format!("{MARK}{id}")), method, question);
    }

    /// Asks, and wants no answer any more once somebody has written a file.
    fn take_back(&self, id: &Value, method: &str, question: Value) {
        self.out.request(&json!("back"), method, question);
        let until = self.flags.value("until").unwrap_or_default();
        // 20 s at most.
        for _ in 0..2000 {
            if std::fs::exists(until).unwrap_or(true) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.out.notify("notifications/cancelled", json!({ "requestId": "back" }));
        self.text(id, "taken back");
    }

    /// An answer to a request of ours.
    pub(super) fn got(&self, message: &Value) {
        let call = message["id"].as_str().and_then(|id| id.strip_prefix(MARK));
        let Some(call) = call.and_then(|id| serde_json::from_str::<Value>(id).ok()) else { return };
        let what = message.get("result").or(message.get("error")).cloned().unwrap_or_default();
        self.text(&call, &format!("got {what}"));
    }
}

pub(super) fn question(kind: &str) -> (&'static str, Value) {
    let form = |properties: Value| {
        let schema = json!({ "type": "object", "properties": properties, "required": ["city"] });
        json!({ "message": "Where\u{1b}[2J to?", "requestedSchema": schema })
    };
    let city = json!({ "type": "string", "title": "City", "maxLength": 20 });
    let nights = json!({ "type": "integer", "minimum": 1, "default": 2 });
    match kind {
        "secret" => ("elicitation/create", form(json!({ "city": city, "apiKey": { "type": "string" } }))),
        "url" => {
            let url = "https://login.example/grant?for=you";
            (
                "elicitation/create",
                json!({ "mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1" }),
            )
        }
        "roots" => ("roots/list", json!({})),
        "sample" | "sample-twice" | "sample-back" => {
            let content = json!({ "type": "text", "text": "Say hello\u{1b}[2J" });
            let messages = json!([{ "role": "user", "content": content }]);
            (
                "sampling/createMessage",
                json!({ "messages": messages, "systemPrompt": "Be brief", "maxTokens": 99999 }),
            )
        }
        _ => ("elicitation/create", form(json!({ "city": city, "nights": nights }))),
    }
}
