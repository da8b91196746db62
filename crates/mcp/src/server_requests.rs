//! [`ServerRequestHandler`]: answers the requests of one server. Only declared capabilities are answered.
//!
//! Requests arrive in two ways: as JSON-RPC requests of a legacy server and inside results of a modern one. Both are
//! handled here as a method and its parameters. The user is asked only while a request of theirs is in flight.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use converse_config::{Grants, LogLevel};
use converse_ensemble::{CallClient, Host, NoticeSender, PauseGuard};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ErrorCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::elicitation::{self, Rejected, parse_request};
use crate::in_flight::{InFlightRequest, InFlightRequests, OpenQuestion};
use crate::question_limit::LimitReached;
use crate::relay::Subscriptions;
use crate::responders::{Elicitation, ElicitationReply, Responders};
use crate::roots::Roots;
use crate::surroundings::Warn;
use crate::warnings::Warnings;
use crate::{Elicitor, sampling, sanitize};

/// Time limit of one question; after it the question counts as cancelled.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(600);
/// Questions of one server that may wait at a time for one principal, and for all; further ones are declined.
const MAX_WAITING: usize = 8;
const MAX_WAITING_OF_ALL: usize = 64;
/// The user rejected the request (<https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>, checked
/// 2026-11).
const REJECTED: ErrorCode = ErrorCode(-1);

/// Answers the requests of one server.
pub(crate) struct ServerRequestHandler {
    pub(crate) ensemble: String,
    pub(crate) grants: Grants,
    pub(crate) responders: Responders,
    pub(crate) roots: Roots,
    /// Messages that belong to no call.
    pub(crate) notices: NoticeSender,
    pub(crate) subscriptions: Subscriptions,
    /// The log level that the clients of a gateway ask for.
    wanted_level: Mutex<Option<LogLevel>>,
    warnings: Warnings,
    waiting: WaitingQuestions,
}

/// The request of ours that a server request belongs to.
pub(crate) enum Asker<'a> {
    /// The result of this request asks.
    One(&'a InFlightRequest),
    /// The server asks without saying for which request.
    Any(&'a InFlightRequests),
}

/// Pauses the clocks of the affected requests while it lives.
enum PausedClocks {
    One { _paused: PauseGuard },
    Any { _open: OpenQuestion },
}

impl Asker<'_> {
    fn pause_clocks(&self) -> PausedClocks {
        match self {
            Self::One(in_flight) => PausedClocks::One { _paused: in_flight.clock.pause() },
            Self::Any(requests) => PausedClocks::Any { _open: requests.open_question() },
        }
    }

    /// Returns the request that the question is counted and charged to, if one is in flight.
    fn request(&self) -> Option<InFlightRequest> {
        match self {
            Self::One(in_flight) => Some((*in_flight).clone()),
            Self::Any(requests) => requests.first(),
        }
    }

    /// Returns the call whose client can be asked. If the server does not say which call its question belongs to, each call in
    /// flight must have a client that can be asked: nobody else's question reaches it.
    fn host(&self, method: &str, params: &Value) -> Option<Host> {
        let able = |request: &InFlightRequest| {
            let client = request.host.client().filter(|client| client.answers(method, params));
            client.map(|_| request.host.clone())
        };
        match self {
            Self::One(in_flight) => able(in_flight),
            Self::Any(requests) => requests.first_if_all(able),
        }
    }
}

impl Default for ServerRequestHandler {
    /// A handler that answers nothing.
    fn default() -> Self {
        Self::new(
            String::new(),
            Grants { elicitation: false, ..Grants::default() },
            Responders::default(),
            Roots::default(),
            Arc::new(|_| {}),
        )
    }
}

impl ServerRequestHandler {
    pub(crate) fn new(
        ensemble: String,
        grants: Grants,
        responders: Responders,
        roots: Roots,
        warn: Warn,
    ) -> Self {
        let warnings = Warnings::new(&ensemble, warn);
        Self {
            ensemble,
            grants,
            responders,
            roots,
            notices: NoticeSender::default(),
            subscriptions: Subscriptions::default(),
            wanted_level: Mutex::new(None),
            warnings,
            waiting: WaitingQuestions::default(),
        }
    }

    /// Returns the lowest level of log messages to ask the server for. The level of the descriptor is the lowest.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.wanted_level.lock().max(self.grants.log_level)
    }

    pub(crate) fn want_log_level(&self, level: LogLevel) {
        *self.wanted_level.lock() = Some(level);
    }

    /// Returns the client capabilities: exactly those that will be answered.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.capabilities_if(|_, _| true)
    }

    /// Like [`ServerRequestHandler::capabilities`], for a request of this client.
    pub(crate) fn capabilities_of(&self, client: &dyn CallClient) -> ClientCapabilities {
        self.capabilities_if(|method, params| {
            client.answers(method, params) || client.takes_round(method, params)
        })
    }

    /// `can`: whether the client can answer what may be passed on to it.
    fn capabilities_if(&self, can: impl Fn(&str, &Value) -> bool) -> ClientCapabilities {
        let mut declared = json!({});
        let passes_on = |method: &str, params: Value| self.may_pass_on(method) && can(method, &params);
        for mode in ["form", "url"] {
            if self.elicitor().is_some() || passes_on("elicitation/create", json!({ "mode": mode })) {
                declared["elicitation"][mode] = json!({});
            }
        }
        if self.roots.are_granted() {
            declared["roots"] = json!({});
        }
        if self.sampler().is_some() || passes_on("sampling/createMessage", Value::Null) {
            declared["sampling"] = json!({});
        }
        // Built as JSON because some of the library's types are deprecated.
        serde_json::from_value(declared).unwrap_or_default()
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Why the server gets no result.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: &Value,
        asker: &Asker<'_>,
    ) -> Result<Value, ErrorData> {
        if self.may_pass_on(method)
            && let Some(host) = asker.host(method, params)
        {
            return self.pass_on(&host, method, params, asker).await;
        }
        match method {
            "elicitation/create" => self.elicit(params, asker).await,
            "sampling/createMessage" => self.sample(params, asker).await,
            "roots/list" if self.roots.are_granted() => {
                let (list, left) = self.roots.list();
                left.into_iter().for_each(|line| self.warn(&line));
                Ok(list)
            }
            "roots/list" => Err(refused(ErrorCode::METHOD_NOT_FOUND, "no roots are given to this server")),
            _ => Err(refused(ErrorCode::METHOD_NOT_FOUND, &sanitize::clean(method, 100))),
        }
    }

    /// Returns whether requests with this method may go to the client of a call.
    pub(crate) fn may_pass_on(&self, method: &str) -> bool {
        let is_granted = match method {
            "elicitation/create" => self.grants.elicitation,
            "sampling/createMessage" => self.grants.sampling,
            "roots/list" => self.roots.are_granted(),
            _ => false,
        };
        self.responders.to_client && is_granted
    }

    /// Checks a request that may go to a client. `Ok(None)`: it may; otherwise the answer for the server.
    pub(crate) fn vetted(&self, method: &str, params: &Value) -> Result<Option<Value>, ErrorData> {
        match method {
            "elicitation/create" => match parse_request(params) {
                Ok(_) => Ok(None),
                Err(Rejected::Invalid(why)) => Err(refused(ErrorCode::INVALID_PARAMS, &why)),
                Err(Rejected::Declined(why)) => {
                    self.warn(&format!("a question from the server was declined: {why}"));
                    Ok(Some(action("decline")))
                }
            },
            "sampling/createMessage" => sampling::validate_size(params)
                .map(|()| None)
                .map_err(|why| refused(ErrorCode::INVALID_PARAMS, &why)),
            _ => Ok(None),
        }
    }

    /// Passes a request on to the client of the call, whose time is not limited by the call.
    async fn pass_on(
        &self,
        host: &Host,
        method: &str,
        params: &Value,
        asker: &Asker<'_>,
    ) -> Result<Value, ErrorData> {
        if let Some(answer) = self.vetted(method, params)? {
            return Ok(answer);
        }
        let Some(_slot) = self.waiting.take(host) else {
            return Err(refused(REJECTED, "too many questions are waiting"));
        };
        let _paused = asker.pause_clocks();
        match timeout(QUESTION_TIMEOUT, host.ask(method, params.clone())).await {
            Ok(Ok(answer)) if method == "roots/list" => Ok(self.roots.within_granted(&answer)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(refusal)) => Err(refused(ErrorCode(refusal.code), &refusal.message)),
            Err(_) if method == "elicitation/create" => Ok(action("cancel")),
            Err(_) => Err(refused(REJECTED, "the client did not answer in time")),
        }
    }

    fn elicitor(&self) -> Option<&Arc<dyn Elicitor>> {
        self.responders.elicitor.as_ref().filter(|_| self.grants.elicitation)
    }

    fn sampler(&self) -> Option<&Arc<dyn crate::Sampler>> {
        self.responders.sampler.as_ref().filter(|_| self.grants.sampling)
    }

    fn warn(&self, line: &str) {
        self.warnings.report(line);
    }

    async fn elicit(&self, params: &Value, asker: &Asker<'_>) -> Result<Value, ErrorData> {
        let (Some(elicitor), Some(in_flight)) = (self.elicitor(), asker.request()) else {
            return Ok(action("decline"));
        };
        let elicitation = match parse_request(params) {
            Ok(elicitation) => elicitation,
            Err(Rejected::Invalid(why)) => return Err(refused(ErrorCode::INVALID_PARAMS, &why)),
            Err(Rejected::Declined(why)) => {
                self.warn(&format!("a question from the server was declined: {why}"));
                return Ok(action("decline"));
            }
        };
        let Some(_slot) = self.waiting.take(&in_flight.host) else { return Ok(action("decline")) };
        let _paused = asker.pause_clocks();
        let Ok(reply) = timeout(QUESTION_TIMEOUT, self.reply(elicitor, elicitation, &in_flight)).await else {
            self.warn(&format!(
                "no answer to a question from the server within {} s",
                QUESTION_TIMEOUT.as_secs()
            ));
            return Ok(action("cancel"));
        };
        Ok(self.replied(params, reply))
    }

    async fn reply(
        &self,
        elicitor: &Arc<dyn Elicitor>,
        elicitation: Elicitation,
        in_flight: &InFlightRequest,
    ) -> ElicitationReply {
        let mut count = in_flight.questions.lock().await;
        if let Err(enough) = count.try_ask() {
            if let LimitReached::First(why) = enough {
                self.warn(why);
            }
            return ElicitationReply::Decline;
        }
        let reply = elicitor.elicit(&self.ensemble, elicitation).await;
        count.record(&reply);
        reply
    }

    /// Builds the result; an answer that does not match the schema is not sent.
    fn replied(&self, params: &Value, reply: ElicitationReply) -> Value {
        match reply {
            ElicitationReply::Decline => action("decline"),
            ElicitationReply::Cancel => action("cancel"),
            ElicitationReply::Accept(_) if params["mode"] == "url" => action("accept"),
            ElicitationReply::Accept(content) => {
                let content = content.unwrap_or_default();
                match elicitation::validate(&params["requestedSchema"], &content) {
                    Ok(()) => json!({ "action": "accept", "content": content }),
                    Err(why) => {
                        self.warn(&format!("the answer does not match the server's form: {why}"));
                        action("cancel")
                    }
                }
            }
        }
    }

    async fn sample(&self, params: &Value, asker: &Asker<'_>) -> Result<Value, ErrorData> {
        let Some(sampler) = self.sampler() else {
            return Err(refused(ErrorCode::METHOD_NOT_FOUND, "this server may not ask the model"));
        };
        let Some(in_flight) = asker.request() else {
            return Err(refused(REJECTED, "the model can only be asked while a request is in flight"));
        };
        sampling::validate(params).map_err(|why| refused(ErrorCode::INVALID_PARAMS, &why))?;
        let Some(_slot) = self.waiting.take(&in_flight.host) else {
            return Err(refused(REJECTED, "too many questions are waiting"));
        };
        let _paused = asker.pause_clocks();
        let sampled = sampler.sample(&self.ensemble, params.clone(), in_flight.cost);
        let sampled = timeout(QUESTION_TIMEOUT, sampled).await;
        let sampled = sampled.unwrap_or_else(|_| Err("the model did not answer in time".to_owned()));
        sampled.map_err(|why| refused(REJECTED, &why))
    }
}

impl std::fmt::Debug for ServerRequestHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerRequestHandler")
            .field("ensemble", &self.ensemble)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

/// The number of questions that wait, by principal. Questions that no client caused have an empty principal.
#[derive(Default)]
struct WaitingQuestions(Mutex<BTreeMap<Arc<str>, usize>>);

impl WaitingQuestions {
    /// Takes a place for a question in the call of this host; `None` if there is none left.
    fn take(&self, host: &Host) -> Option<WaitingSlot<'_>> {
        let principal = host.client().map(|client| client.principal()).unwrap_or_default();
        let mut waiting = self.0.lock();
        let own = waiting.get(&principal).copied().unwrap_or_default();
        if own >= MAX_WAITING || waiting.values().sum::<usize>() >= MAX_WAITING_OF_ALL {
            return None;
        }
        waiting.insert(Arc::clone(&principal), own + 1);
        Some(WaitingSlot { questions: self, principal })
    }
}

/// The place of a waiting question.
struct WaitingSlot<'a> {
    questions: &'a WaitingQuestions,
    principal: Arc<str>,
}

impl Drop for WaitingSlot<'_> {
    fn drop(&mut self) {
        let mut waiting = self.questions.0.lock();
        let left = waiting.get(&self.principal).map_or(0, |own| own - 1);
        waiting.insert(Arc::clone(&self.principal), left);
        waiting.retain(|_, own| *own > 0);
    }
}

fn action(action: &str) -> Value {
    json!({ "action": action })
}

fn refused(code: ErrorCode, why: &str) -> ErrorData {
    ErrorData::new(code, why.to_owned(), None)
}
