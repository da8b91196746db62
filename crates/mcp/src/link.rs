//! One connection to a server, from its handshake to its end. A server that lives on gets another one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use converse_canister::{Digest, InvokerName};
use converse_process::Stderr;
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerPeerInfo};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::desk::Desk;
use crate::end::{Cause, End};
use crate::error::Failure;
use crate::handler::Handler;
use crate::handshake::{Broken, Mode, PROBE, Service, shake};
use crate::http::{self, Site};
use crate::launch::Launch;
use crate::process::{self, Ladder, Process};
use crate::stdio::Stdio;
use crate::{Era, Surroundings, log, raw, subscription, words};

/// Each rung of the ladder a process is ended by: its stdin closed, SIGTERM, SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);
/// A server that has run for less than this has little to tidy up, and whoever runs one command waits for it: its first
/// rung is shorter.
const BRIEF: Duration = Duration::from_secs(30);
const BRIEF_GOODBYE: Duration = Duration::from_millis(500);
/// What the protocol library may take to stop; over HTTP it ends its session in this time.
const STOP_HTTP: Duration = Duration::from_secs(2);
const STOP_STDIO: Duration = Duration::from_millis(500);

/// How a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    Stdio(Launch),
    Http(Site),
    /// A server within the test.
    #[cfg(test)]
    Pipes(crate::testing::Fake),
}

/// What is known of a server that is being connected, for the message when it takes too long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Witness {
    stderr: Arc<Mutex<Option<Stderr>>>,
    /// Why it was not there the last time.
    reason: Arc<Mutex<Option<String>>>,
}

impl Witness {
    fn watch(&self, stderr: Option<Stderr>) {
        *self.stderr.lock().unwrap_or_else(PoisonError::into_inner) = stderr;
    }

    pub(crate) fn note(&self, failure: &Failure) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.to_string());
    }

    pub(crate) fn last_words(&self) -> String {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = reason {
            return format!("; {reason}");
        }
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stderr.map_or_else(String::new, |stderr| process::last_words(&stderr))
    }
}

/// One connection.
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) era: Era,
    pub(crate) handler: Handler,
    pub(crate) end: End,
    /// What its tools were when somebody last made sure of them; `None` if whoever offers them has seen the list since.
    pub(crate) seen: tokio::sync::Mutex<Option<HashMap<InvokerName, Digest>>>,
    /// Times in a row that its tools could not be listed again.
    pub(crate) missed: AtomicU32,
    /// No more calls; those that run may go on.
    pub(crate) retired: AtomicBool,
    pub(crate) begun: Instant,
    /// `None` once it is closed.
    service: tokio::sync::Mutex<Option<Service>>,
    process: Option<Process>,
    /// Somebody else runs it: a new connection starts nothing.
    pub(crate) remote: bool,
    secrets: Vec<String>,
}

/// Why a request of ours to list something has no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The server's own error.
    Error(rmcp::ErrorData),
    Failed(Failure),
}

impl Way {
    /// How long it may think about the first question before it is taken for one that ignores it. A launcher may have to
    /// fetch the server first, and must not be killed over that; half of the time is left for another start.
    pub(crate) fn probe(&self, connect_timeout: Duration) -> Duration {
        let is_slow = match self {
            Self::Stdio(launch) => launch.is_launcher(),
            // A person may have to log in first.
            Self::Http(site) => site.bearer.is_some(),
            #[cfg(test)]
            Self::Pipes(fake) => fake.is_launcher,
        };
        if is_slow { PROBE.max(connect_timeout / 2) } else { PROBE }
    }
}

impl Link {
    /// Starts or reaches the server and shakes hands. Not bounded in time, except for the probe. Dropping the future
    /// kills what it started.
    pub(crate) async fn open(
        way: &Way,
        surroundings: &Surroundings,
        desk: &Arc<Desk>,
        mode: Mode,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        match way {
            Way::Stdio(launch) => Self::open_stdio(launch, surroundings, desk, mode, witness).await,
            Way::Http(site) => Self::open_http(site, surroundings, desk, mode).await,
            #[cfg(test)]
            Way::Pipes(fake) => {
                let (stdin, stdout) = fake.start();
                Self::open_pipes(stdin, stdout, End::default(), None, desk, mode).await
            }
        }
    }

    async fn open_stdio(
        launch: &Launch,
        surroundings: &Surroundings,
        desk: &Arc<Desk>,
        mode: Mode,
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let mut child = launch.start(surroundings)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Unusable("its pipes could not be had".to_owned()));
        };
        let end = End::default();
        let process = Process::keep(child, end.clone());
        witness.watch(Some(process.stderr()));
        Self::open_pipes(stdin, stdout, end, Some(process), desk, mode).await
    }

    async fn open_pipes(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        end: End,
        process: Option<Process>,
        desk: &Arc<Desk>,
        mode: Mode,
    ) -> Result<Self, Failure> {
        let transport = Stdio::new(stdout, stdin, end.clone());
        let handler = Handler::new(desk, &end);
        match shake(transport, handler.clone(), mode, end.clone()).await {
            Ok((service, era)) => Ok(Self::new(service, era, handler, end, process, None)),
            Err(broken) => {
                let failure = match broken {
                    Broken::Closed => Failure::Ended(obituary(process.as_ref(), &end).await),
                    Broken::Failed(failure) => failure,
                };
                if let Some(process) = process {
                    process.end(Ladder::SHORT).await;
                }
                Err(failure)
            }
        }
    }

    async fn open_http(
        site: &Site,
        surroundings: &Surroundings,
        desk: &Arc<Desk>,
        mode: Mode,
    ) -> Result<Self, Failure> {
        let end = End::default();
        let handler = Handler::new(desk, &end);
        let route = site.route(surroundings, Arc::clone(&handler.changed))?;
        match shake(route.transport, handler.clone(), mode, end.clone()).await {
            Ok((service, era)) => Ok(Self::new(service, era, handler, end, None, Some(route.secrets))),
            Err(Broken::Closed) => match end.cause() {
                Some(Cause::GivenUp(reason)) => Err(Failure::Ended(reason)),
                _ => {
                    Err(Failure::Nonsense("it answered the handshake with what could not be read".to_owned()))
                }
            },
            Err(Broken::Failed(failure)) => Err(failure.without(&route.secrets)),
        }
    }

    /// `secrets`: what no message may show, where it is reached over the network.
    fn new(
        service: Service,
        era: Era,
        handler: Handler,
        end: End,
        process: Option<Process>,
        secrets: Option<Vec<String>>,
    ) -> Self {
        let peer = service.peer().clone();
        subscription::subscribe(&peer, era, &handler);
        log::set_level(&peer, era, handler.desk.grants.log_level);
        Self {
            peer,
            era,
            handler,
            end,
            seen: tokio::sync::Mutex::default(),
            missed: AtomicU32::new(0),
            retired: AtomicBool::new(false),
            begun: Instant::now(),
            service: tokio::sync::Mutex::new(Some(service)),
            process,
            remote: secrets.is_some(),
            secrets: secrets.unwrap_or_default(),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.retired.load(Ordering::Relaxed) && !self.end.is_over() && !self.peer.is_transport_closed()
    }

    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Asks one thing and waits for the answer, as text. Bounded by whoever asks.
    pub(crate) async fn ask(&self, request: ClientRequest) -> Result<String, NoAnswer> {
        let asked = async {
            let handle =
                self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
            handle.await_response().await
        };
        let answer = tokio::select! {
            biased;
            answer = asked => answer,
            () = self.end.over() => Err(ServiceError::TransportClosed),
        };
        match answer {
            Ok(result) => Ok(raw::text(result)),
            Err(ServiceError::McpError(error)) => Err(NoAnswer::Error(error)),
            Err(ServiceError::TransportSend(error)) => match http::fault(&error) {
                Some(fault) => Err(NoAnswer::Failed(Failure::from(fault).without(&self.secrets))),
                None => Err(NoAnswer::Failed(Failure::Ended(self.obituary().await))),
            },
            Err(_) => Err(NoAnswer::Failed(Failure::Ended(self.obituary().await))),
        }
    }

    /// The end of its process's stderr, cleaned.
    pub(crate) fn last_words(&self) -> String {
        self.process.as_ref().map_or_else(String::new, Process::last_words)
    }

    /// How it ended, for a message.
    pub(crate) async fn obituary(&self) -> String {
        obituary(self.process.as_ref(), &self.end).await
    }

    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The text without what no message may show.
    pub(crate) fn discreet(&self, text: String) -> String {
        words::without(&self.secrets, text)
    }

    /// Ends it: at most 5 s. Harmless when it has ended.
    pub(crate) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            let limit = if self.process.is_some() { STOP_STDIO } else { STOP_HTTP };
            let _ = service.close_with_timeout(limit).await;
        }
        if let Some(process) = &self.process {
            let goodbye = if self.begun.elapsed() < BRIEF { BRIEF_GOODBYE } else { PATIENCE };
            process.end(Ladder { goodbye, patience: PATIENCE }).await;
        }
    }
}

async fn obituary(process: Option<&Process>, end: &End) -> String {
    match (process, end.cause()) {
        (Some(process), cause) => process.obituary(cause).await,
        (None, Some(Cause::GivenUp(reason))) => reason,
        (None, _) => "the server closed the connection".to_owned(),
    }
}
