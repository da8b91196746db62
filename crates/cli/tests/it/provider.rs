//! A provider on loopback: it follows a script, and holds every request against what a strict vendor accepts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::body::{Dialect, Says};
use crate::check;
use crate::env::TestEnv;
use crate::http::{Answer, Request, serve};

pub(crate) const KEY: &str = "sk-canary-0123456789abcdef";

/// One line of the script.
pub(crate) enum Line {
    Says(Says),
    /// A reply whose bytes are damaged or delayed.
    Bent(Says, fn(&mut Answer)),
    Raw(Answer),
}

impl From<Says> for Line {
    fn from(says: Says) -> Self {
        Self::Says(says)
    }
}

impl From<Answer> for Line {
    fn from(answer: Answer) -> Self {
        Self::Raw(answer)
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Line>,
    requests: Vec<Request>,
    breaches: Vec<String>,
}

pub(crate) struct Provider {
    dialect: Dialect,
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Provider {
    pub(crate) fn new(dialect: Dialect, script: impl IntoIterator<Item = impl Into<Line>>) -> Self {
        let script = script.into_iter().map(Into::into).collect();
        let state = Arc::new(Mutex::new(State { script, ..State::default() }));
        let shared = Arc::clone(&state);
        let port = serve(move |request| answer(dialect, &mut shared.lock().unwrap(), request));
        Self { dialect, port, state }
    }

    pub(crate) fn chat(script: impl IntoIterator<Item = impl Into<Line>>) -> Self {
        Self::new(Dialect::Chat, script)
    }

    /// The environment in which the program finds this provider.
    pub(crate) fn env(&self, env: TestEnv) -> TestEnv {
        let base = format!("http://127.0.0.1:{}", self.port);
        match self.dialect {
            Dialect::Anthropic => env.var("ANTHROPIC_BASE_URL", base).var("ANTHROPIC_API_KEY", KEY),
            Dialect::Chat => env.var("OPENAI_BASE_URL", base + "/v1").var("OPENAI_API_KEY", KEY),
        }
    }

    /// As OpenAI's variable takes it.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn model(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "anthropic/stub",
            Dialect::Chat => "openai-chat/stub",
        }
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        state.requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    pub(crate) fn raw_requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Every request was acceptable and the script was played to its end.
    #[track_caller]
    pub(crate) fn is_content(&self) {
        let state = self.state.lock().unwrap();
        assert!(state.breaches.is_empty(), "{}", state.breaches.join("\n"));
        assert!(state.script.is_empty(), "{} lines of the script were not asked for", state.script.len());
    }
}

fn answer(dialect: Dialect, state: &mut State, request: Request) -> Answer {
    state.breaches.extend(check::breach(dialect, &request));
    let path = match dialect {
        Dialect::Anthropic => "/v1/messages",
        Dialect::Chat => "/v1/chat/completions",
    };
    if request.path != path {
        state.breaches.push(format!("path {}", request.path));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let stream = body["stream"] == true;
    state.requests.push(request);
    let reply = state.requests.len();
    match state.script.pop_front() {
        Some(Line::Raw(answer)) => answer,
        Some(Line::Says(says)) => spoken(&says, dialect, stream, reply),
        Some(Line::Bent(says, bend)) => {
            let mut answer = spoken(&says, dialect, stream, reply);
            bend(&mut answer);
            answer
        }
        None => {
            state.breaches.push("a request too many".to_owned());
            Answer::new(500, "application/json", r#"{"error":{"message":"the script is over"}}"#)
        }
    }
}

fn spoken(says: &Says, dialect: Dialect, stream: bool, reply: usize) -> Answer {
    let kind = if stream { "text/event-stream" } else { "application/json" };
    let mut answer = Answer::new(200, kind, says.body(dialect, stream, reply));
    if stream {
        // No length, odd pieces: as a real stream comes.
        answer.piece = 37;
    }
    answer
}
