//! A server over HTTP that behaves, but for what a row has it do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::http::{Answer, Request, serve};

const SESSION: &str = "the-session";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// One request, read.
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) message: Value,
    /// The method of the protocol; that of HTTP where there is none.
    pub(super) method: String,
    /// How often it has come, with this time.
    pub(super) times: usize,
}

/// What has been.
#[derive(Default)]
pub(super) struct State {
    times: Mutex<HashMap<String, usize>>,
    /// The id of the last call.
    call: Mutex<Value>,
}

pub(super) struct Site {
    pub(super) url: String,
    state: Arc<State>,
}

impl Site {
    pub(super) fn new(era: Era, misdeed: fn(&Asked, &State) -> Option<Answer>) -> Self {
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let port = serve(move |request| {
            let asked = shared.note(request);
            misdeed(&asked, &shared).unwrap_or_else(|| asked.well(era))
        });
        Self { url: format!("http://127.0.0.1:{port}/mcp"), state }
    }

    pub(super) fn times(&self, method: &str) -> usize {
        self.state.times(method)
    }
}

impl State {
    pub(super) fn times(&self, method: &str) -> usize {
        self.times.lock().unwrap().get(method).copied().unwrap_or(0)
    }

    /// A result for the last call, whoever asks.
    pub(super) fn late_answer(&self) -> String {
        json!({ "jsonrpc": "2.0", "id": *self.call.lock().unwrap(), "result": text("hello") }).to_string()
    }

    fn note(&self, request: Request) -> Asked {
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or(&request.method).to_owned();
        let mut times = self.times.lock().unwrap();
        let count = times.entry(method.clone()).or_default();
        *count += 1;
        if method == "tools/call" {
            *self.call.lock().unwrap() = message["id"].clone();
        }
        Asked { request, message, method, times: *count }
    }
}

pub(super) fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

pub(super) fn json_answer(body: impl Into<Vec<u8>>) -> Answer {
    Answer::new(200, "application/json", body)
}

/// Events, and then the end of the connection.
pub(super) fn events(body: impl Into<Vec<u8>>) -> Answer {
    let mut answer = Answer::new(200, "text/event-stream", body);
    answer.piece = 64 * 1024;
    answer
}

pub(super) const HTML: &str = "<!doctype html><html><body>502 Bad Gateway \u{1b}[31m</body></html>";

pub(super) fn nothing(status: u16) -> Answer {
    Answer::new(status, "text/plain", "")
}

/// The connection stays, and nothing comes.
pub(super) fn mute() -> Answer {
    Answer { stall: true, cut_at: Some(0), ..json_answer("{}") }
}

/// The connection ends in the middle of the answer.
pub(super) fn cut(answer: Answer, at: usize) -> Answer {
    Answer { cut_at: Some(at), ..answer }
}

pub(super) fn on(asked: &Asked, method: &str, answer: impl FnOnce() -> Answer) -> Option<Answer> {
    asked.is(method).then(answer)
}

impl Asked {
    pub(super) fn is(&self, method: &str) -> bool {
        self.method == method
    }

    pub(super) fn is_call(&self) -> bool {
        self.is("tools/call")
    }

    pub(super) fn id(&self) -> &Value {
        &self.message["id"]
    }

    /// The whole message.
    pub(super) fn result(&self, result: Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.id(), "result": result }).to_string()
    }

    pub(super) fn answers(&self, result: Value) -> Answer {
        json_answer(self.result(result))
    }

    fn well(&self, era: Era) -> Answer {
        let legacy = era == Era::Legacy;
        match self.method.as_str() {
            "server/discover" if legacy => nothing(400),
            "server/discover" => self.answers(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
            })),
            "initialize" if legacy => {
                let info = json!({ "name": "old", "version": "1" });
                let capabilities = json!({ "tools": {} });
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info });
                self.answers(result).header("mcp-session-id", SESSION)
            }
            "tools/list" => {
                let properties = json!({ "text": { "type": "string" } });
                let echo =
                    json!({ "name": "echo", "inputSchema": { "type": "object", "properties": properties } });
                self.answers(
                    json!({ "resultType": "complete", "tools": [echo], "ttlMs": 0, "cacheScope": "private" }),
                )
            }
            "tools/call" => {
                let said = self.message["params"]["arguments"]["text"].as_str().unwrap_or_default();
                self.answers(text(said))
            }
            "GET" => nothing(405),
            "DELETE" => nothing(200),
            _ => nothing(202),
        }
    }
}
