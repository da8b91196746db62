//! One row: what the server does, and what is required.

use std::time::{Duration, Instant};

use super::server::{Act, Server};
use crate::body::Dialect;
use crate::env::{Ran, TestEnv};
use crate::provider::KEY;

#[derive(Clone, Copy)]
pub(super) struct Row {
    /// As the table of faults numbers them; several with a blank between.
    pub(super) id: &'static str,
    pub(super) what: &'static str,
    pub(super) dialects: &'static [Dialect],
    /// Connection by connection.
    pub(super) acts: fn(Dialect) -> Vec<Act>,
    /// Lines of `[timeouts]`.
    pub(super) waits: &'static str,
    pub(super) args: &'static [&'static str],
    pub(super) exit: i32,
    /// Connections that were made.
    pub(super) visits: usize,
    /// All of stdout.
    pub(super) prints: Option<&'static str>,
    /// Stands on stderr, or does not.
    pub(super) says: &'static [&'static str],
    pub(super) never: &'static [&'static str],
    /// What the whole run takes at least.
    pub(super) waits_for: Duration,
}

pub(super) const ALL: &[Dialect] = &Dialect::ALL;
/// Those with a key.
pub(super) const KEYED: &[Dialect] =
    &[Dialect::Anthropic, Dialect::Chat, Dialect::Responses, Dialect::Gemini];
pub(super) const CHAT: &[Dialect] = &[Dialect::Chat];
pub(super) const ANTHROPIC: &[Dialect] = &[Dialect::Anthropic];

/// Retries that do not wait.
pub(super) const HASTY: &str = "retry_first = 1\nretry_cap = 5\n";

/// It ends well, at the first try.
pub(super) const ROW: Row = Row {
    id: "",
    what: "",
    dialects: ALL,
    acts: |_| Vec::new(),
    waits: HASTY,
    args: &[],
    exit: 0,
    visits: 1,
    prints: None,
    says: &[],
    never: &[],
    waits_for: Duration::ZERO,
};

pub(super) fn environment(dialect: Dialect, port: u16, env: TestEnv) -> (&'static str, TestEnv) {
    let base = format!("http://127.0.0.1:{port}");
    match dialect {
        Dialect::Anthropic => {
            ("anthropic/stub", env.var("ANTHROPIC_BASE_URL", base).var("ANTHROPIC_API_KEY", KEY))
        }
        Dialect::Gemini => ("gemini/stub", env.var("GEMINI_BASE_URL", base).var("GEMINI_API_KEY", KEY)),
        Dialect::Ollama => ("ollama-native/stub", env.var("OLLAMA_HOST", base)),
        Dialect::Chat | Dialect::Responses => {
            let model = if dialect == Dialect::Chat { "openai-chat/stub" } else { "openai-responses/stub" };
            (model, env.var("OPENAI_BASE_URL", base + "/v1").var("OPENAI_API_KEY", KEY))
        }
    }
}

/// Asks against a server; nothing may leak, panic or stay behind.
pub(super) fn ask(dialect: Dialect, port: u16, waits: &str, args: &[&str]) -> (Ran, TestEnv) {
    let (model, env) = environment(dialect, port, TestEnv::new());
    env.write("home/.config/converse/config.toml", &format!("[timeouts]\n{waits}"));
    let ran = env.run(&[&["ask", "hello", "-m", model], args].concat());
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "the key leaked: {ran:?}");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains('\x1b'), "{}", ran.stderr);
    (ran, env)
}

pub(super) fn check(rows: &[Row]) {
    for row in rows {
        for dialect in row.dialects {
            one(row, *dialect);
        }
    }
}

fn one(row: &Row, dialect: Dialect) {
    let name = format!("{} {} ({dialect:?})", row.id, row.what);
    let server = Server::new((row.acts)(dialect));
    let began = Instant::now();
    let (ran, env) = ask(dialect, server.port, row.waits, row.args);
    let took = began.elapsed();
    assert_eq!(ran.code, row.exit, "{name}: {ran:?}");
    assert_eq!(server.visits(), row.visits, "{name}: {ran:?}");
    if let Some(prints) = row.prints {
        assert_eq!(ran.stdout, prints, "{name}: {}", ran.stderr);
    }
    for words in row.says {
        assert!(ran.stderr.contains(words), "{name}: no `{words}` in {}", ran.stderr);
    }
    for words in row.never {
        assert!(!ran.stderr.contains(words), "{name}: `{words}` in {}", ran.stderr);
    }
    assert!(took >= row.waits_for, "{name}: {took:?}");
    // Whatever happened, what was said is kept and the next question can be asked.
    if row.exit != 0 {
        let next =
            Server::new(vec![Act::Send(super::bytes::streamed(dialect, &crate::body::text("Again.")))]);
        let (model, env) = environment(dialect, next.port, env);
        let again = env.run(&["ask", "-c", "and?", "-m", model]).exits(0);
        assert_eq!(again.stdout, "Again.\n", "{name}");
        assert!(next.requests()[0].contains("hello"), "{name}: the first question is lost");
    }
}
