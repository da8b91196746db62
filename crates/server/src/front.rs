//! The HTTP front beside MCP: models for clients of OpenAI's API, sessions and turns for `/api`, and the web panel.
//!
//! Each route is off unless the program asks for it. Turns take the path of `ask`: the loop, rules, limits and the audit
//! log are the same.

mod agents;
mod api;
mod body;
mod by_hand;
mod completions;
mod entries;
mod heavy_work;
mod idempotency;
mod observing;
mod pages;
mod question;
mod responses;
mod turns;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_config::SettingsPlan;
use converse_ensemble::{ConnectError, Roster, Rules};
use converse_gateway::{Principal, Upstreams};
use converse_host::TurnOptions;
use converse_host::failure::Failure;
use converse_host::secrets::Redactor;
use converse_host::world::World;
use converse_session::new_id;
use converse_session::storage::{RecordFiles, Records, Replicas};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, CACHE_CONTROL, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::agents::Agents;
pub use self::api::Renderers;
use self::api::{Channels, Comparisons, Looks, SessionRules, Uploads};
use self::body::StreamPlace;
use self::heavy_work::HeavyWork;
use self::idempotency::{KeyedRequest, RunningKeys, keyed_route};
pub(crate) use self::pages::door;
use self::pages::guarded;
use self::responses::LiveResponses;
use self::turns::{NoPlace, Place, Turns};
pub use self::turns::{TurnParts, TurnQueue};
use crate::access::{Admission, Denied};
use crate::http_server::{Reply, reply};
use crate::shares::Shares;
use converse_openai::ApiError;

/// Bytes of a request with images and files.
const MAX_REQUEST: usize = 32 * 1024 * 1024;

/// Requests that work on much data at once; others wait.
const MAX_HEAVY: usize = 2;
const HEAVY_PATIENCE: Duration = Duration::from_secs(60);

/// Requests that use the database at once; others wait. Each has a thread, also while the database does not answer. The rest
/// of the threads is for files and other work.
const MAX_IN_DATABASE: usize = 64;
const DATABASE_PATIENCE: Duration = Duration::from_secs(10);

/// Streams of one principal that follow sessions or stored responses, beside those of turns.
const MAX_FOLLOWED: usize = 512;

/// Seconds after which a client may try again when all places are taken.
const RETRY_SECONDS: u64 = 1;

/// What the front serves.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrontOptions {
    /// `/v1`: the API of OpenAI.
    pub openai: bool,
    /// `/api`: sessions, turns and approvals.
    pub api: bool,
    /// `/`: the web panel, which needs `/api`.
    pub panel: bool,
    /// End a turn if its client leaves.
    pub cancel_on_disconnect: bool,
    /// Turns at once, of all clients.
    pub max_turns: usize,
}

/// What the front is made of.
pub struct FrontParts<'h> {
    pub options: FrontOptions,
    pub world: &'h World,
    pub files: SettingsPlan,
    /// The options of every turn: rules of the command line.
    pub turn: TurnOptions,
    pub roster: &'h Roster,
    /// Why ensembles are not connected.
    pub failures: &'h [ConnectError],
    /// The servers whose connections are kept open.
    pub upstreams: Upstreams,
    /// Directories of descriptors that the command line names.
    pub directories: &'h [PathBuf],
    /// Rules of this workspace.
    pub rules: Rules,
    pub redactor: Redactor,
    pub renderers: Renderers,
}

impl std::fmt::Debug for FrontParts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrontParts").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Answers requests beside MCP. Cheap to share.
pub struct Front {
    options: FrontOptions,
    agents: Agents,
    turns: Turns,
    world: Arc<World>,
    worlds: Mutex<HashMap<Principal, Arc<World>>>,
    /// The other servers with the same database; `None` if sessions are files.
    replicas: Option<Arc<dyn Replicas>>,
    /// They have news.
    news: Arc<Notify>,
    channels: Channels,
    streams: Arc<Shares>,
    live_responses: LiveResponses,
    running_keys: RunningKeys,
    uploads: Uploads,
    comparisons: Comparisons,
    session_rules: Mutex<SessionRules>,
    /// Held while the answers of a session are read and written.
    answering: Mutex<()>,
    /// Held while sessions in the database that were answered are looked for.
    looks: Mutex<Looks>,
    failures: Vec<ConnectError>,
    upstreams: Upstreams,
    directories: Vec<PathBuf>,
    /// The audit log.
    heavy_work: HeavyWork,
    /// Figures, exports and imports of sessions, which may be in a database.
    heavy_sessions: HeavyWork,
    /// Everything else about sessions.
    session_work: HeavyWork,
    redactor: Redactor,
    renderers: Renderers,
    /// Markdown as HTML that can do nothing.
    markdown: fn(&str) -> String,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Front {
    /// Returns the front, and the queue that must be [run](TurnQueue::run) until `stop`.
    ///
    /// # Errors
    ///
    /// The servers with the same database cannot be joined, for want of a thread.
    pub fn new(parts: FrontParts<'_>, stop: CancellationToken) -> Result<(Arc<Self>, TurnQueue), Failure> {
        let FrontParts {
            options,
            world,
            files,
            turn,
            roster,
            failures,
            upstreams,
            directories,
            rules,
            redactor,
            renderers,
        } = parts;
        let (turns, queue) = TurnQueue::new(options.max_turns, stop);
        let world = Arc::new(world.clone());
        let news = Arc::new(Notify::new());
        let replicas = joined(&world, &news)?;
        let at_once = if replicas.is_some() { MAX_IN_DATABASE } else { usize::MAX };
        let agents = Agents::new(files, turn, Arc::clone(&world), roster, rules);
        let front = Self {
            options,
            agents,
            turns,
            world,
            worlds: Mutex::default(),
            replicas,
            news,
            channels: Channels::default(),
            streams: Shares::new(MAX_FOLLOWED.saturating_add(options.max_turns), usize::MAX),
            live_responses: LiveResponses::default(),
            running_keys: RunningKeys::default(),
            uploads: Uploads::default(),
            comparisons: Comparisons::default(),
            session_rules: Mutex::default(),
            answering: Mutex::default(),
            looks: Mutex::default(),
            failures: failures.to_vec(),
            upstreams,
            directories: directories.to_vec(),
            heavy_work: HeavyWork::new(MAX_HEAVY, HEAVY_PATIENCE),
            heavy_sessions: HeavyWork::new(MAX_HEAVY, HEAVY_PATIENCE),
            session_work: HeavyWork::new(at_once, DATABASE_PATIENCE),
            redactor,
            renderers,
            markdown: renderers.fragment,
        };
        Ok((Arc::new(front), queue))
    }

    /// Returns whether the database of the sessions answers, if there is one. Asks nobody.
    pub(crate) fn is_ready(&self) -> bool {
        self.replicas.as_ref().is_none_or(|replicas| replicas.is_connected())
    }

    /// Takes over other settings, and the rules of the roster as they are now. Turns that run keep what they began with.
    pub(crate) fn take_over(&self, files: SettingsPlan, roster: &Roster) {
        self.agents.take_over(files, roster);
    }

    /// Returns whether a path is answered here.
    pub(crate) fn serves(&self, path: &str) -> bool {
        self.options.openai && path.starts_with("/v1/")
            || self.options.api && path.starts_with("/api/")
            || self.options.panel && (path == "/" || path.starts_with("/panel/"))
    }

    /// Returns a file of the panel that everybody may read: it holds nothing of a user.
    pub(crate) fn public_file(&self, parts: &Parts) -> Option<Reply> {
        let is_file = self.options.panel && parts.uri.path().starts_with("/panel/");
        is_file.then(|| self.page(parts)).flatten().map(guarded)
    }

    /// Returns the largest body of a request: attachments and documents are larger than messages.
    pub(crate) fn body_limit(&self, parts: &Parts, usual: usize) -> usize {
        match parts.uri.path() {
            "/api/uploads" => usual.max(api::MAX_UPLOAD),
            "/api/sessions/import" => usual.max(converse_session::MAX_IMPORT_BYTES),
            path if path.starts_with("/v1/") => usual.max(MAX_REQUEST),
            _ => usual,
        }
    }

    /// Answers a request that has no access.
    pub(crate) fn denied(path: &str, why: Denied) -> Reply {
        if path == "/" {
            return door();
        }
        error(&match why {
            Denied::Missing => ApiError::missing_token(),
            Denied::Invalid => ApiError::invalid_token(),
            Denied::Scope => ApiError::forbidden("the token lacks a scope"),
            Denied::View => ApiError::forbidden("this token leads to views of the tools only"),
            Denied::KeysUnavailable => {
                ApiError::unavailable(Some(60), "the keys of the issuer are not available")
            }
        })
    }

    /// Answers a request.
    pub(crate) async fn answer(self: &Arc<Self>, parts: &Parts, body: Bytes, admission: &Admission) -> Reply {
        let reply = match keyed_route(parts) {
            Some(route) => {
                let (parts, admission) = (parts.clone(), admission.clone());
                self.answer_once(KeyedRequest { route, parts, body, admission }).await
            }
            None => self.route(parts, &body, admission).await,
        };
        if !parts.uri.path().starts_with("/api/") {
            return reply;
        }
        let mut reply = guarded(reply);
        reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        reply
    }

    async fn route(self: &Arc<Self>, parts: &Parts, body: &Bytes, admission: &Admission) -> Reply {
        if parts.uri.path().starts_with("/api/") {
            return self.answer_api(parts, body, admission).await;
        }
        if let Some(page) = self.page(parts).filter(|_| self.options.panel) {
            return guarded(page);
        }
        let segments: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
        match (&parts.method, segments.as_slice()) {
            (&Method::GET, ["v1", "models"]) => self.models(),
            (&Method::GET, ["v1", "models", id @ ..]) => self.model(&id.join("/")),
            (&Method::POST, ["v1", "chat", "completions"]) => self.chat(body, admission).await,
            (_, ["v1", "responses", rest @ ..]) => self.responses(parts, rest, body, admission).await,
            (_, ["v1", "models", ..]) => method_not_allowed("GET"),
            (_, ["v1", "chat", "completions"]) => method_not_allowed("POST"),
            _ => error(&ApiError::not_found("route", parts.uri.path())),
        }
    }

    /// Returns the directories of a principal: those of the command line for the owner, and a tree of its own for each
    /// other one, so that nothing of another principal can be found.
    fn world_of(&self, principal: &Principal) -> Arc<World> {
        let Principal::Other(digest) = principal else { return Arc::clone(&self.world) };
        let mut worlds = self.worlds.lock();
        let world = worlds.entry(principal.clone()).or_insert_with(|| {
            let data: Option<PathBuf> =
                self.world.data_dir().map(|dir| dir.join("principals").join(digest.as_ref()));
            let database = self.world.database.as_ref().and_then(|database| database.of_owner(digest));
            Arc::new(World { data, database, ..World::clone(&self.world) })
        });
        Arc::clone(world)
    }

    /// Returns a place for another stream. It is free again as soon as the client has left.
    fn stream_place(&self, principal: &Principal) -> Result<Option<StreamPlace>, ApiError> {
        let too_many = || ApiError::rate_limit(Some(RETRY_SECONDS), "too many streams are open");
        self.streams.take(principal, 1).map(|place| Some(Arc::new(place))).ok_or_else(too_many)
    }

    /// Returns what ends a turn, [`TurnJob::left`](turns::TurnJob::left), when all its clients have left.
    fn ends_turns(&self, left: impl Future<Output = ()> + Send + 'static) -> Option<BoxFuture<'static, ()>> {
        self.options.cancel_on_disconnect.then(|| left.boxed())
    }

    fn place(&self) -> Result<Place, ApiError> {
        self.turns.place().map_err(|why| match why {
            NoPlace::Full => {
                let most = self.options.max_turns;
                ApiError::rate_limit(
                    Some(RETRY_SECONDS),
                    format!("{most} turns are running, which is the limit"),
                )
            }
            NoPlace::Stopping => ApiError::unavailable(Some(RETRY_SECONDS), "the server is shutting down"),
        })
    }
}

/// Joins the other servers with the same database.
fn joined(world: &World, news: &Arc<Notify>) -> Result<Option<Arc<dyn Replicas>>, Failure> {
    let Some(database) = &world.database else { return Ok(None) };
    let process = new_id(World::now(), &World::random_bytes());
    let news = Arc::clone(news);
    let joined = database.join(process, Arc::new(move || news.notify_one()));
    joined.map_err(|error| converse_host::runtime::denied("store", &error))
}

/// Returns the small values of a principal: in the database of its sessions, or files beside them. `None` without a home.
fn records_of(world: &World) -> Option<Arc<dyn Records>> {
    let in_database = world.database.as_ref().and_then(|database| database.records());
    let files = || Some(Arc::new(RecordFiles::new(world.data_dir()?)) as Arc<dyn Records>);
    in_database.or_else(files)
}

/// Runs work that waits for the disk beside the turns; `None` if it crashed. It is done to its end also if the client
/// leaves.
async fn beside_turns<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn method_not_allowed(allowed: &'static str) -> Reply {
    let refused = ApiError::new(405, "invalid_request_error", "method_not_allowed", format!("use {allowed}"));
    let mut reply = error(&refused);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

fn json_reply(status: StatusCode, body: &Value) -> Reply {
    json(status, body.to_string().into_bytes())
}

fn json(status: StatusCode, body: Vec<u8>) -> Reply {
    reply(status, "application/json", body)
}

fn error(error: &ApiError) -> Reply {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = json(status, error.body());
    for (name, value) in error.headers() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            reply.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    reply
}
