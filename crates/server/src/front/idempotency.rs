//! `Idempotency-Key`: the same key of the same principal never runs a turn twice, also after a restart.
//!
//! The key is saved before the request is answered, and the answer when it is complete. Both happen on a task of its own,
//! so that a client that leaves loses nothing: it sends the request again and gets the answer.

mod files;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::Digest;
use converse_gateway::Principal;
use converse_session::digest;
use futures_util::FutureExt as _;
use http::header::{HeaderName, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body as _;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::files::{Answer, Asked, Began, KeyFiles, MAX_ANSWER, MAX_KEYS, Record, State};
use super::body::{StreamPlace, event_channel};
use super::{Front, api, error};
use crate::access::Admission;
use crate::http_server::Reply;
use converse_openai::{ApiError, FailureKind};

const KEY: &str = "idempotency-key";
const MAX_KEY_BYTES: usize = 255;

/// Says that an answer is that of an earlier request.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Keys whose requests are being answered.
pub(super) type RunningKeys = Mutex<HashMap<(Principal, Digest), Asked>>;

/// An extension of the reply to a request that began no turn: its key can be used again.
#[derive(Debug, Clone, Copy)]
struct NoTurn;

/// Marks the reply to a request that began no turn.
pub(super) fn no_turn(mut reply: Reply) -> Reply {
    reply.extensions_mut().insert(NoTurn);
    reply
}

/// Why a request with a key is not answered.
#[derive(Debug)]
enum Refusal {
    BadKey,
    OtherRequest,
    Running,
    Cut,
    NotKept,
    Full,
    NoHome,
    Disk(io::Error),
}

impl Refusal {
    fn reply(&self, route: &str) -> Reply {
        let (status, code, message) = match self {
            Self::BadKey => {
                let expected = format!("expected one header of 1 to {MAX_KEY_BYTES} ASCII characters");
                (StatusCode::BAD_REQUEST, "bad-idempotency-key", expected)
            }
            Self::OtherRequest => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency-key-reused",
                "the key was used for another request".to_owned(),
            ),
            Self::Running => (
                StatusCode::CONFLICT,
                "idempotency-key-in-use",
                "the turn of this key is still running".to_owned(),
            ),
            Self::Cut => (
                StatusCode::CONFLICT,
                "idempotency-key-interrupted",
                "the turn of this key was interrupted: the server ended, or the client left; it is not run again"
                    .to_owned(),
            ),
            Self::NotKept => (
                StatusCode::CONFLICT,
                "idempotency-key-answer-not-kept",
                "the turn of this key has ended, but its answer was too large to be kept; it is not run again"
                    .to_owned(),
            ),
            Self::Full => {
                let message = format!("{MAX_KEYS} keys were used in the last 24 hours, which is the limit");
                (StatusCode::TOO_MANY_REQUESTS, "too-many-idempotency-keys", message)
            }
            Self::NoHome => (
                StatusCode::SERVICE_UNAVAILABLE,
                "no-home",
                "there is no directory for keys; leave out the header".to_owned(),
            ),
            Self::Disk(error) => {
                let message = format!("the key was not saved or not read: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "idempotency-key-not-saved", message)
            }
        };
        let message = format!("`Idempotency-Key`: {message}");
        let is_running = matches!(self, Self::Running);
        let mut reply = if route.starts_with("/api/") {
            api::refused(status, code, message)
        } else {
            let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
            let refused = ApiError::new(status.as_u16(), kind, code, message);
            error(&ApiError { code: Some(code.replace('-', "_").into()), may_retry: is_running, ..refused })
        };
        if is_running {
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        reply
    }
}

impl Answer {
    fn reply(self) -> Reply {
        let mut reply = Response::new(Full::new(Bytes::from(self.body)).boxed());
        *reply.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                reply.headers_mut().insert(name, value);
            }
        }
        reply.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        reply
    }
}

/// Returns the route of a request that begins a turn and has a key.
pub(super) fn keyed_route(parts: &Parts) -> Option<&'static str> {
    let segments: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
    let route = match (&parts.method, segments.as_slice()) {
        (&Method::POST, ["v1", "chat", "completions"]) => "/v1/chat/completions",
        (&Method::POST, ["v1", "responses"]) => "/v1/responses",
        (&Method::POST, ["api", "runs"]) => "/api/runs",
        _ => return None,
    };
    parts.headers.contains_key(KEY).then_some(route)
}

fn key_of(headers: &HeaderMap) -> Result<Digest, Refusal> {
    let mut keys = headers.get_all(KEY).iter();
    let key = keys.next().and_then(|key| key.to_str().ok()).filter(|_| keys.next().is_none());
    let key = key.filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len())).ok_or(Refusal::BadKey)?;
    Ok(digest(key.as_bytes()))
}

/// What becomes of a request with a key.
enum Claimed {
    Answered(Answer),
    New(Claim),
}

/// A key whose request is being answered.
struct Claim {
    front: Arc<Front>,
    principal: Principal,
    key: Digest,
    asked: Asked,
    files: KeyFiles,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.front.running_keys.lock().remove(&(self.principal.clone(), self.key));
    }
}

/// Tries to save the end of a key, in more than 24 hours: then the key counts no more.
const MAX_TRIES: u32 = 3000;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What became of the turn of a key.
enum Ending {
    /// `None`: the answer is too large.
    Answered(Option<Answer>),
    /// No turn began: the key is free again.
    NoTurn,
    /// The client left, and the turn ended with it.
    Cut,
}

impl Claim {
    /// Saves the end. While that fails, the key counts as running, here and at the other servers: the turn is not run again,
    /// and the end is saved when the database is back.
    async fn end(self, ending: Ending) {
        let shared = self.front.replicas.is_some();
        let ended = Arc::new((self, ending));
        if saved(&ended).await || !shared {
            return;
        }
        Handle::current().spawn(async move {
            for attempt in 1..=MAX_TRIES {
                tokio::time::sleep((FIRST_PAUSE * attempt).min(LONGEST_PAUSE)).await;
                if saved(&ended).await {
                    return;
                }
            }
        });
    }

    fn save(&self, ending: &Ending) -> io::Result<()> {
        let Self { files, key, asked, .. } = self;
        match ending {
            Ending::Answered(answer) => files.end(key, asked.clone(), answer.clone()),
            Ending::NoTurn => files.release(key),
            Ending::Cut => files.cut(key, asked.clone()),
        }
    }
}

async fn saved(ended: &Arc<(Claim, Ending)>) -> bool {
    let one = Arc::clone(ended);
    let saved = ended.0.front.session_work.run(move || one.0.save(&one.1)).await;
    let saved = saved.map_err(|undone| io::Error::other(format!("{undone:?}"))).flatten();
    saved.inspect_err(|error| tracing::warn!(%error, "the end of an idempotency key was not saved")).is_ok()
}

/// A request with a key.
pub(super) struct KeyedRequest {
    pub(super) route: &'static str,
    pub(super) parts: Parts,
    pub(super) body: Bytes,
    pub(super) admission: Admission,
}

impl Front {
    /// Answers a request with a key: with a new turn, or as the first time.
    pub(super) async fn answer_once(self: &Arc<Self>, request: KeyedRequest) -> Reply {
        let (client, answered) = oneshot::channel();
        Handle::current().spawn(run_once(Arc::clone(self), request, client));
        let crashed = |_| error(&ApiError::failure(FailureKind::Internal, "the request crashed"));
        answered.await.unwrap_or_else(crashed)
    }

    fn claim(self: &Arc<Self>, principal: Principal, key: Digest, asked: Asked) -> Result<Claimed, Refusal> {
        let files = KeyFiles::of(&self.world_of(&principal)).ok_or(Refusal::NoHome)?;
        match self.running_keys.lock().entry((principal.clone(), key)) {
            Entry::Occupied(first) if *first.get() == asked => return Err(Refusal::Running),
            Entry::Occupied(_) => return Err(Refusal::OtherRequest),
            Entry::Vacant(place) => drop(place.insert(asked.clone())),
        }
        let claim = Claim { front: Arc::clone(self), principal, key, asked, files };
        let Claim { asked, files, .. } = &claim;
        match files.read(&key).map_err(Refusal::Disk)? {
            Some(Record { asked: first, .. }) if first != *asked => return Err(Refusal::OtherRequest),
            Some(Record { state: State::Ended(answer), .. }) => return Ok(Claimed::Answered(answer)),
            Some(Record { state: State::NotKept, .. }) => return Err(Refusal::NotKept),
            Some(Record { state: State::Began, process, .. }) => {
                let runs = self.runs_elsewhere(process.as_deref()).map_err(Refusal::Disk)?;
                return Err(if runs { Refusal::Running } else { Refusal::Cut });
            }
            None => {}
        }
        let process = self.replicas.as_ref().map(|replicas| replicas.process().to_string());
        match files.begin(&key, asked.clone(), process).map_err(Refusal::Disk)? {
            Began::New => {}
            Began::Full => return Err(Refusal::Full),
            // Another process with the same keys was faster.
            Began::Known => return Err(Refusal::Running),
        }
        Ok(Claimed::New(claim))
    }

    /// Returns whether a process that began a turn is another server that still runs.
    fn runs_elsewhere(&self, process: Option<&str>) -> io::Result<bool> {
        let process = process.and_then(|process| process.parse().ok());
        match (&self.replicas, process) {
            (Some(replicas), Some(process)) => {
                Ok(process != replicas.process() && replicas.is_alive(process)?)
            }
            _ => Ok(false),
        }
    }
}

async fn run_once(front: Arc<Front>, request: KeyedRequest, client: oneshot::Sender<Reply>) {
    let route = request.route;
    let claimed = match key_of(&request.parts.headers) {
        Err(refusal) => Err(refusal),
        Ok(key) => {
            let (one, principal) = (Arc::clone(&front), request.admission.principal.clone());
            let body = request.body.clone();
            let claim =
                move || one.claim(principal, key, Asked { route: route.to_owned(), body: digest(&body) });
            let claimed = front.session_work.run(claim).await;
            claimed.unwrap_or_else(|undone| Err(Refusal::Disk(io::Error::other(format!("{undone:?}")))))
        }
    };
    let reply = match claimed {
        Ok(Claimed::New(claim)) => {
            let ended = AssertUnwindSafe(run(&front, request, client)).catch_unwind().await;
            let (ending, tell) = ended.unwrap_or_else(|_| (Ending::Cut, Box::new(|| {})));
            claim.end(ending).await;
            return tell();
        }
        Ok(Claimed::Answered(answer)) => answer.reply(),
        Err(refusal) => refusal.reply(route),
    };
    let _ = client.send(reply);
}

/// Sends the rest of the answer.
type Tell = Box<dyn FnOnce() + Send>;

/// Answers the request, apart from the end of the answer, which is sent when it is saved.
async fn run(
    front: &Arc<Front>,
    request: KeyedRequest,
    mut client: oneshot::Sender<Reply>,
) -> (Ending, Tell) {
    let KeyedRequest { parts, body, admission, .. } = request;
    let cancels = front.options.cancel_on_disconnect;
    let reply = tokio::select! {
        reply = front.route(&parts, &body, &admission) => reply,
        () = client.closed(), if cancels => return (Ending::Cut, Box::new(|| {})),
    };
    if reply.extensions().get::<NoTurn>().is_some() {
        return (Ending::NoTurn, Box::new(|| drop(client.send(reply))));
    }
    let (head, mut body) = reply.into_parts();
    if body.size_hint().exact().is_some() {
        let body = match body.collect().await {
            Ok(whole) => whole.to_bytes(),
            Err(never) => match never {},
        };
        let ending = Ending::Answered(answer(&head, &body));
        let reply = Response::from_parts(head, Full::new(body).boxed());
        return (ending, Box::new(|| drop(client.send(reply))));
    }
    let (sender, to_client) = event_channel(head.extensions.get::<StreamPlace>().cloned());
    let _ = client.send(Response::from_parts(head.clone(), to_client.boxed()));
    let mut kept = Vec::new();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = sender.clone().closed(), if cancels => return (Ending::Cut, Box::new(|| {})),
        };
        let Some(Ok(frame)) = frame else { break };
        let Ok(data) = frame.into_data() else { continue };
        // One byte more than the limit shows that the answer is too large.
        let room = (MAX_ANSWER + 1).saturating_sub(kept.len());
        kept.extend_from_slice(data.get(..room).unwrap_or(&data));
        sender.send(data);
    }
    (Ending::Answered(answer(&head, &kept)), Box::new(|| drop(sender)))
}

/// Returns an answer as it is kept; `None` if it is too large.
fn answer(head: &http::response::Parts, body: &[u8]) -> Option<Answer> {
    let body = std::str::from_utf8(body).ok().filter(|body| body.len() <= MAX_ANSWER)?;
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers = head.headers.iter().filter_map(text).collect();
    Some(Answer { status: head.status.as_u16(), headers, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use converse_testkit::hang_guard::ends;

    use super::*;
    use crate::front::api::{SharedFiles, front_with};

    #[tokio::test(start_paused = true)]
    async fn a_key_whose_end_was_not_saved_is_ended_when_the_database_is_back() {
        let dir = tempfile::tempdir().unwrap();
        let shared = SharedFiles::new(dir.path());
        let front = front_with(dir.path(), Some(Arc::new(shared.clone()))).await;
        let asked = || Asked { route: "/api/runs".to_owned(), body: digest(b"{}") };
        let claim = |key| {
            let front = Arc::clone(&front);
            move || front.claim(Principal::Owner, key, asked())
        };
        let answer = Answer { status: 202, headers: Vec::new(), body: "{}".to_owned() };
        let endings = [Ending::Answered(Some(answer)), Ending::NoTurn, Ending::Cut];
        for (key, ending) in [b"a", b"b", b"c"].map(|key| digest(key)).into_iter().zip(endings) {
            let is_cut = matches!(ending, Ending::Cut);
            let Claimed::New(new) = claim(key)().unwrap() else { panic!("the key is new") };
            shared.fails(true);
            new.end(ending).await;
            assert!(matches!(claim(key)(), Err(Refusal::Running)), "not known yet");
            shared.fails(false);
            let known = async {
                loop {
                    match claim(key)() {
                        Err(Refusal::Running) => tokio::time::sleep(FIRST_PAUSE).await,
                        known => return known,
                    }
                }
            };
            match ends("the end is saved", known).await {
                Ok(Claimed::Answered(answer)) => assert_eq!(answer.status, 202),
                Ok(Claimed::New(_)) if key == digest(b"b") => continue,
                Ok(Claimed::New(_)) => panic!("the turn would run twice"),
                Err(refusal) => assert!(is_cut && matches!(refusal, Refusal::Cut), "{refusal:?}"),
            }
            // To another server, this one lives: it must not look as if the turn was running.
            let files = KeyFiles::of(&front.world).unwrap();
            let record = files.read(&key).unwrap();
            assert!(record.is_none_or(|record| record.process.is_none()));
        }
    }
}
