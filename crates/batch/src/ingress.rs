//! `--runner`: the conversations run on workers of a Restate server, which is asked over its HTTP ingress.
//!
//! Each conversation is the session of a key that is made of the run and its id. A second request with the same key waits for
//! the same conversation, so a connection that breaks costs nothing, and neither does a batch that is killed and started again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use converse_canister::Cost;
use converse_host::client::{ClientPlan, Clients, Redirects, Reuse};
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::world::World;
use converse_session::files::{Replace, replace};
use converse_session::{Uuid, digest, new_id};
use http::Uri;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::conversation::{Acts, Outcome, Shared};
use crate::line::Line;

const SCHEME: &str = "restate://";
/// The object of Restate that workers serve. Its keys are the ids of sessions.
const SERVICE: &str = "ConverseSession";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A request that has waited so long is sent again, and waits for the same conversation.
const MOST_WAIT: Duration = Duration::from_secs(300);
/// Without any answer for so long, the batch ends.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const MOST_ANSWER: usize = 64 * 1024 * 1024;

/// The ingress of a Restate server.
#[derive(Debug)]
pub struct Ingress {
    /// `http://HOST:PORT` of each node.
    nodes: Vec<String>,
    /// The node that answered last.
    node: AtomicUsize,
    clients: Clients,
    run: RunId,
}

/// What the keys of a run are made of, kept beside the file of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RunId {
    id: String,
    at: Timestamp,
}

/// An answer of a worker.
#[derive(Debug, Deserialize)]
struct Ended {
    line: Value,
    acts: Acts,
}

/// What the conversations of the workers run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSettings {
    /// `provider/model`.
    pub model: String,
    /// `None` for all that are enabled.
    pub ensembles: Option<Vec<String>>,
}

/// Why a request has no answer.
enum Unanswered {
    /// The next one may have.
    Lost(String),
    /// The node knows no such service.
    Unknown(String),
    Refused(String),
}

impl Ingress {
    /// Reads `restate://HOST:PORT[,HOST:PORT…]`. `results` is the file of results.
    ///
    /// # Errors
    ///
    /// It is something else, or the file beside the results cannot be read or written.
    pub fn new(url: &str, results: Option<&Path>) -> Result<Self, Failure> {
        let nodes = nodes(url).ok_or_else(|| {
            let message =
                format!("`--runner`: expected `{SCHEME}HOST:PORT`, found `{}`", converse_text::safe(url));
            Failure::usage("bad-runner", message).hint(format!("{SCHEME}127.0.0.1:8080"))
        })?;
        let plan = ClientPlan {
            connect_timeout: CONNECT_TIMEOUT,
            redirects: Redirects::Never,
            reuse: Reuse::Briefly,
        };
        let run = RunId::kept(results.map(run_path).as_deref())?;
        Ok(Self { nodes, node: AtomicUsize::new(0), clients: Clients::new(plan), run })
    }

    /// Removes what is kept of a run that left nothing open.
    pub fn conclude(results: &Path) {
        let _ = std::fs::remove_file(run_path(results));
    }

    /// Returns whether all other conversations would fail with this code, too.
    pub fn is_common(code: &str) -> bool {
        matches!(code, RUNNER_LOST | RUNNER_UNREGISTERED)
    }

    /// Runs a conversation. `attempt` counts those before that a provider was too busy for.
    pub async fn run(
        &self,
        shared: &Shared<'_>,
        (job, attempt): (usize, u8),
        line: Line,
        allowance: Option<Cost>,
    ) -> Outcome {
        let id = line.id.clone();
        let key = self.run.key(&id, attempt);
        let request = json!({ "line": line, "max_cost": allowance });
        let cancelled = shared.interrupt.token.cancelled();
        let ended = tokio::select! {
            ended = self.asked(key, "run", Some(&request)) => ended,
            () = cancelled => Err(shared.interrupt.failure()),
        };
        let (line, failure, acts) = match ended {
            Ok(Ended { line, acts }) => {
                let failure = failure_of(&line);
                (named(line, &id), failure, acts)
            }
            Err(failure) => (shared.not_run(&id, &failure), Some(failure), Acts::Nothing),
        };
        shared.spent(&line);
        Outcome { job, line, failure, acts, is_limited: false, barred: None, is_held_up: false }
    }

    /// Asks a worker what its conversations run with.
    ///
    /// # Errors
    ///
    /// There is no worker, the server does not answer, or the program is interrupted.
    pub async fn worker_settings(&self, interrupt: &Interrupt) -> Result<WorkerSettings, Failure> {
        tokio::select! {
            settings = self.asked(self.run.key("settings", 0), "settings", None) => settings,
            () = interrupt.token.cancelled() => Err(interrupt.failure()),
        }
    }

    /// Asks until there is an answer.
    async fn asked<T: DeserializeOwned>(
        &self,
        key: Uuid,
        handler: &str,
        request: Option<&Value>,
    ) -> Result<T, Failure> {
        let (mut heard, mut pause) = (Instant::now(), PAUSE);
        let mut unknown = 0;
        loop {
            let began = Instant::now();
            let asked = timeout(MOST_WAIT, self.ask(key, handler, request)).await;
            let why = match asked {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Unanswered::Refused(why))) => {
                    return Err(Failure::new(Kind::Ensemble, "runner-refused", why));
                }
                // It waits: a server that was not there would have said so.
                Err(_) => {
                    heard = Instant::now();
                    continue;
                }
                Ok(Err(Unanswered::Unknown(why))) => {
                    // Another node may have heard of the workers already.
                    unknown += 1;
                    if unknown >= self.nodes.len() {
                        return Err(self.unregistered(&why));
                    }
                    self.node.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Ok(Err(Unanswered::Lost(why))) => why,
            };
            unknown = 0;
            // A connection that has held for some time is a sign of life.
            if began.elapsed() > LONGEST_PAUSE {
                (heard, pause) = (began, PAUSE);
            }
            if heard.elapsed() > PATIENCE {
                let failure = Failure::new(Kind::ProviderUnreachable, RUNNER_LOST, why);
                return Err(failure.hint("with `-o FILE`, the same command continues where it was"));
            }
            self.node.fetch_add(1, Ordering::Relaxed);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn unregistered(&self, why: &str) -> Failure {
        let message = format!("the Restate server knows no `{SERVICE}`: {}", why.trim_end_matches('.'));
        let host = self.nodes.first().and_then(|node| node.rsplit_once(':')).map_or("", |(host, _)| host);
        let register = format!(
            "register a worker: `curl {host}:9070/deployments -H 'content-type: application/json' \
             -d '{{\"uri\": \"http://127.0.0.1:9080\"}}'`"
        );
        Failure::new(Kind::ProviderUnreachable, RUNNER_UNREGISTERED, message).hint(register)
    }

    /// A request with a body is carried out once, however often it is sent.
    async fn ask<T: DeserializeOwned>(
        &self,
        key: Uuid,
        handler: &str,
        request: Option<&Value>,
    ) -> Result<T, Unanswered> {
        let lost = |why: String| Unanswered::Lost(format!("the Restate server does not answer: {why}"));
        let place = self.node.load(Ordering::Relaxed) % self.nodes.len();
        let node = self.nodes.get(place).map(String::as_str).unwrap_or_default();
        let uri: Uri =
            node.parse().map_err(|_| Unanswered::Refused(format!("`{node}` is not an address")))?;
        let client = self.clients.to(&uri).map_err(|cause| lost(cause.message))?;
        let mut sent = client.post(format!("{node}/{SERVICE}/{key}/{handler}"));
        if let Some(request) = request {
            sent = sent.header("idempotency-key", key.to_string());
            sent = sent.header("content-type", "application/json").body(request.to_string());
        }
        let mut response = sent.send().await.map_err(|error| lost(error.without_url().to_string()))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) =
            response.chunk().await.map_err(|error| lost(error.without_url().to_string()))?
        {
            body.extend_from_slice(&piece);
            if body.len() > MOST_ANSWER {
                return Err(Unanswered::Refused("the answer is too large".to_owned()));
            }
        }
        if status.is_success() {
            let unread = |error| Unanswered::Refused(format!("the worker answered something else: {error}"));
            return serde_json::from_slice(&body).map_err(unread);
        }
        let text = message(&body);
        match status.as_u16() {
            // While a node starts, or has lost the others.
            429 | 502..=504 => Err(lost(text)),
            404 => Err(Unanswered::Unknown(text)),
            _ => Err(Unanswered::Refused(format!("the worker gave up: {text}"))),
        }
    }
}

const RUNNER_LOST: &str = "runner-lost";
const RUNNER_UNREGISTERED: &str = "runner-unregistered";

fn nodes(url: &str) -> Option<Vec<String>> {
    let rest = url.strip_prefix(SCHEME)?;
    let node = |place: &str| {
        let (host, port) = place.rsplit_once(':')?;
        let is_plain = !host.is_empty() && !host.contains(['/', '@', '?', '#']);
        (is_plain && port.parse::<u16>().is_ok()).then(|| format!("http://{place}"))
    };
    rest.trim_end_matches('/').split(',').map(node).collect()
}

fn run_path(results: &Path) -> PathBuf {
    let mut name = results.as_os_str().to_owned();
    name.push(".run");
    name.into()
}

impl RunId {
    /// Returns the one that is kept, or keeps a new one.
    fn kept(path: Option<&Path>) -> Result<Self, Failure> {
        let failed = |path: &Path, why: String| {
            Failure::new(Kind::Output, "run-unkept", format!("`{}`: {why}", path.display()))
        };
        let at = World::now();
        let new = Self { id: new_id(at, &World::random_bytes()).to_string(), at };
        let Some(path) = path else { return Ok(new) };
        match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(path, error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let text = serde_json::to_vec(&new).map_err(|error| failed(path, error.to_string()))?;
                replace(path, &text, Replace::PRIVATE).map_err(|error| failed(path, error.to_string()))?;
                Ok(new)
            }
            Err(error) => Err(failed(path, error.to_string())),
        }
    }

    /// The session of a conversation: the same for the same run, id and attempt.
    fn key(&self, id: &str, attempt: u8) -> Uuid {
        let digest = digest(json!([self.id, id, attempt]).to_string().as_bytes());
        let mut random = [0; 10];
        random.copy_from_slice(&digest.0[..10]);
        new_id(self.at, &random)
    }
}

/// The line of a result, whatever the worker says of its id.
fn named(line: Value, id: &str) -> Value {
    match line {
        Value::Object(mut object) => {
            object.insert("id".to_owned(), id.into());
            Value::Object(object)
        }
        _ => json!({ "id": id }),
    }
}

/// The failure in a line of a result, as far as the batch decides by it.
fn failure_of(line: &Value) -> Option<Failure> {
    if line.get("exit").and_then(Value::as_u64) == Some(0) {
        return None;
    }
    let reason = line.get("reason").and_then(Value::as_str).unwrap_or_default();
    let (kind, code) = match reason {
        "auth" => (Kind::ProviderRefused, "auth"),
        "quota" => (Kind::ProviderRefused, "quota"),
        "rate-limit" => (Kind::ProviderUnreachable, "rate-limit"),
        "overloaded" => (Kind::ProviderUnreachable, "overloaded"),
        _ => (Kind::Ensemble, "conversation-failed"),
    };
    let message = line.pointer("/error/message").and_then(Value::as_str).unwrap_or("it failed");
    Some(Failure::new(kind, code, message))
}

/// The words of an error of Restate: `{"message": …}`, or some text.
fn message(body: &[u8]) -> String {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let text = value.as_ref().and_then(|value| value.get("message")).and_then(Value::as_str);
    let text = text.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    converse_text::safe_line(&text, 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_nodes_and_nothing_else() {
        assert_eq!(
            nodes("restate://a:8080,[::1]:1/").unwrap(),
            ["http://a:8080".to_owned(), "http://[::1]:1".to_owned()]
        );
        for wrong in [
            "http://a:1",
            "restate://",
            "restate://a",
            "restate://a:x",
            "restate://u@a:1",
            "restate://a/b:1",
            "restate://a:1,",
        ] {
            assert_eq!(nodes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_key_is_of_its_run_its_id_and_its_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl.run");
        let run = RunId::kept(Some(&path)).unwrap();
        assert_eq!(RunId::kept(Some(&path)).unwrap(), run, "it is kept");
        let other = RunId::kept(None).unwrap();
        let keys = [run.key("1", 0), run.key("1", 1), run.key("2", 0), other.key("1", 0)];
        assert_eq!(keys[0], run.key("1", 0));
        assert!((1..4).all(|at| !keys[..at].contains(&keys[at])));
        assert!(keys.iter().all(|key| key.get_version_num() == 7));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(RunId::kept(Some(&path)).unwrap_err().code, "run-unkept");
    }

    #[test]
    fn a_failure_that_stops_a_batch_is_told_apart() {
        let line = |exit: u8, reason: &str| json!({ "exit": exit, "reason": reason, "error": { "message": "no key" } });
        assert!(failure_of(&line(0, "answered")).is_none());
        let auth = failure_of(&line(4, "auth")).unwrap();
        assert_eq!((auth.kind, auth.code, auth.message.as_str()), (Kind::ProviderRefused, "auth", "no key"));
        assert_eq!(failure_of(&line(7, "unfit-answer")).unwrap().code, "conversation-failed");
        assert_eq!(failure_of(&json!([])).unwrap().code, "conversation-failed");
    }
}
