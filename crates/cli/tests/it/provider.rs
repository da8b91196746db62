//! A provider on loopback: it follows a script, and holds every request against what a strict vendor accepts.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::body::{Dialect, Says};
use crate::check;
use crate::env::TestEnv;
use crate::http::{Answer, Request, serve};

pub(crate) const KEY: &str = "sk-canary-0123456789abcdef";
/// A key that a person or a model says: such words are kept as they are.
pub(crate) const SPOKEN: &str = "sk-spoken-0123456789abcdef";

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
    model: String,
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Provider {
    pub(crate) fn new(dialect: Dialect, script: impl IntoIterator<Item = impl Into<Line>>) -> Self {
        let row = match dialect {
            Dialect::Anthropic => "anthropic",
            Dialect::Chat => "openai-chat",
            Dialect::Responses => "openai-responses",
            Dialect::Gemini => "gemini",
            Dialect::Ollama => "ollama-native",
        };
        Self::serving(dialect, row, "stub", script)
    }

    /// One that stands for a known row of the program, with this model.
    pub(crate) fn serving(
        dialect: Dialect,
        row: &str,
        model: &str,
        script: impl IntoIterator<Item = impl Into<Line>>,
    ) -> Self {
        let script = script.into_iter().map(Into::into).collect();
        let state = Arc::new(Mutex::new(State { script, ..State::default() }));
        let shared = Arc::clone(&state);
        let name = model.to_owned();
        let served = row.to_owned();
        let port =
            serve(move |request| answer(dialect, &served, &name, &mut shared.lock().unwrap(), request));
        Self { model: format!("{row}/{model}"), port, state }
    }

    pub(crate) fn chat(script: impl IntoIterator<Item = impl Into<Line>>) -> Self {
        Self::new(Dialect::Chat, script)
    }

    /// The environment in which the program finds this provider.
    pub(crate) fn env(&self, env: TestEnv) -> TestEnv {
        let base = format!("http://127.0.0.1:{}", self.port);
        let versioned = format!("{base}/v1");
        // Several providers may be there at once.
        let keys = crate::env::canary::keys();
        let env = keys.into_iter().fold(env, |env, (name, value)| env.var_unless_set(&name, value));
        match self.model.split('/').next().unwrap() {
            "anthropic" => env.var("ANTHROPIC_BASE_URL", base).var("ANTHROPIC_API_KEY", KEY),
            "gemini" => env.var("GEMINI_BASE_URL", base).var("GEMINI_API_KEY", KEY),
            "openrouter" => env.var("OPENROUTER_BASE_URL", versioned).var("OPENROUTER_API_KEY", KEY),
            "ollama" | "ollama-native" => env.var("OLLAMA_HOST", base),
            "llamacpp" => env.var("LLAMACPP_BASE_URL", versioned),
            _ => env.var("OPENAI_BASE_URL", versioned).var("OPENAI_API_KEY", KEY),
        }
    }

    /// As OpenAI's variable takes it.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Begins anew, with another script.
    pub(crate) fn plays(&self, script: impl IntoIterator<Item = impl Into<Line>>) {
        let script = script.into_iter().map(Into::into).collect();
        *self.state.lock().unwrap() = State { script, ..State::default() };
    }

    /// What a strict vendor would not have accepted so far.
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn breaches(&self) -> Vec<String> {
        self.state.lock().unwrap().breaches.clone()
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

fn answer(dialect: Dialect, row: &str, model: &str, state: &mut State, request: Request) -> Answer {
    let keyed = !["ollama", "ollama-native", "llamacpp"].contains(&row);
    state.breaches.extend(check::breach(dialect, keyed, &request));
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    // Gemini says it in the path.
    let stream = body["stream"] == true || request.path.contains(":stream");
    if request.path != path(dialect, model, stream) {
        state.breaches.push(format!("path {}", request.path));
    }
    keep(dialect, row, &body);
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

fn path(dialect: Dialect, model: &str, stream: bool) -> String {
    let path = match (dialect, stream) {
        (Dialect::Anthropic, _) => "/v1/messages",
        (Dialect::Chat, _) => "/v1/chat/completions",
        (Dialect::Responses, _) => "/v1/responses",
        (Dialect::Gemini, true) => "/v1beta/models/MODEL:streamGenerateContent?alt=sse",
        (Dialect::Gemini, false) => "/v1beta/models/MODEL:generateContent",
        (Dialect::Ollama, _) => "/api/chat",
    };
    path.replace("MODEL", model)
}

/// Requests are kept in the folder that `CONVERSE_WIRE_DUMP` names: `cargo xtask wire` holds them against the vendors'
/// own types.
fn keep(dialect: Dialect, row: &str, body: &Value) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(dir) = std::env::var_os("CONVERSE_WIRE_DUMP") else { return };
    let wire = if row == "openrouter" { row.to_owned() } else { format!("{dialect:?}") };
    let name = format!("{wire}-{}-{}.json", std::process::id(), COUNT.fetch_add(1, Relaxed));
    std::fs::write(Path::new(&dir).join(name.to_lowercase()), body.to_string()).unwrap();
}

fn spoken(says: &Says, dialect: Dialect, stream: bool, reply: usize) -> Answer {
    let kind = if stream { dialect.stream_type() } else { "application/json" };
    let mut answer = Answer::new(200, kind, says.body(dialect, stream, reply));
    if stream {
        // No length, odd pieces: as a real stream comes.
        answer.piece = 37;
    }
    answer
}
