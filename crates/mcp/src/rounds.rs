//! Multi-round requests: a request is repeated with the input that the server requires until there is a result
//! (<https://modelcontextprotocol.io/specification/draft/basic/patterns/mrtr>, checked 2026-11).
//!
//! `requestState` is returned unchanged and only with the same request. Legacy servers send requests of their own
//! instead (see [`crate::handler`]), so they have one round.

mod round;
mod task;

use std::collections::BTreeMap;
use std::time::Duration;

use converse_ensemble::CallClient;
use futures_util::FutureExt as _;
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::error::Failure;
use crate::http::{self, DeliveryError};
use crate::in_flight::InFlightRequest;
use crate::link::{Link, NoAnswer};
use crate::server_requests::Asker;
use crate::{Era, sanitize};

/// Rounds with questions; after them the request fails.
pub(crate) const MAX_ROUNDS: usize = 10;
/// Questions of one round, and bytes of `requestState`.
const MAX_QUESTIONS: usize = 16;
const MAX_STATE: usize = 1024 * 1024;
/// `URLElicitationRequiredError` (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>,
/// checked 2026-11).
const OPEN_FIRST: ErrorCode = ErrorCode(-32042);
/// Delay before a round without questions; doubled each time, up to five times this value.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The request did not reach the server.
    Unsent,
    Cancelled,
    /// The server did not answer for this long.
    TimedOut(Duration),
    /// Why the server did not get the input that it requires.
    InputRefused(String),
    /// Why the result of a task cannot be had.
    TaskLost(String),
    Failed(ServiceError),
}

/// A request of a server inside a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The name of the question in the result and of its answer.
    pub(crate) key: String,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// The input that a result of type `input_required` asks for.
#[derive(Debug, Default)]
struct InputRequired {
    questions: Vec<Question>,
    state: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "resultType")]
    kind: Option<String>,
    #[serde(rename = "inputRequests")]
    questions: Option<Value>,
    #[serde(rename = "requestState")]
    state: Option<Value>,
}

/// The end of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The result as text.
    Result(String),
    /// The client of the call got the questions of the server, and repeats its call with the answers.
    HandedOn,
}

impl Link {
    /// Sends a request, answers the questions of the server and returns the result as text. `request` is `tools/call`,
    /// `prompts/get` or `resources/read`; other requests cannot ask.
    ///
    /// The clock of the request is paused while the user is asked. If the request ends early or the future is dropped,
    /// the server gets a cancellation.
    pub(crate) async fn request_rounds(
        &self,
        request: ClientRequest,
        in_flight: &InFlightRequest,
    ) -> Result<Reply, RequestError> {
        let _running = self.handler.in_flight_requests.register(in_flight);
        let (mut next, mut in_a_row) = (self.repeated(request.clone(), in_flight), 0);
        for round in 0..=MAX_ROUNDS {
            let text = match self.round(next, in_flight).await {
                Ok(text) => text,
                Err(RequestError::Failed(ServiceError::McpError(error))) if round < MAX_ROUNDS => {
                    if !self.agreed_to_open(&error, in_flight).boxed().await {
                        self.hand_on_error(&error, in_flight);
                        return Err(RequestError::Failed(ServiceError::McpError(error)));
                    }
                    next = request.clone();
                    continue;
                }
                Err(lost) => return Err(after_round(lost, round)),
            };
            let Some(wanted) = self.required_input(&text).map_err(RequestError::InputRefused)? else {
                return self.followed(&request, text, in_flight).await.map(Reply::Result);
            };
            if self.is_for_client(&wanted, in_flight)
                && let Ok(asking) = serde_json::from_str(&text)
            {
                in_flight.host.hand_on(asking);
                return Ok(Reply::HandedOn);
            }
            if round == MAX_ROUNDS {
                break;
            }
            in_a_row = if wanted.questions.is_empty() { in_a_row + 1 } else { 0 };
            let answers =
                self.while_in_flight(in_flight, self.answers(&wanted, in_a_row, in_flight).boxed()).await??;
            next = with_answers(request.clone(), answers, wanted.state);
        }
        let text = format!("the server asked for input more than {MAX_ROUNDS} times before it answered");
        Err(RequestError::InputRefused(text))
    }

    /// Like [`Link::request_rounds`], for requests that are not tool calls. `what` is the method.
    pub(crate) async fn ask_in_rounds(
        &self,
        request: ClientRequest,
        what: &'static str,
        in_flight: &InFlightRequest,
    ) -> Result<Reply, NoAnswer> {
        let failure = match self.request_rounds(request, in_flight).await {
            Ok(reply) => return Ok(reply),
            Err(RequestError::Failed(ServiceError::McpError(error))) => return Err(NoAnswer::Error(error)),
            Err(RequestError::Failed(ServiceError::TransportSend(error))) => {
                match http::delivery_error(&error) {
                    Some(fault) => Failure::from(fault).without(self.secrets()),
                    None => Failure::Ended(self.exit_report().await),
                }
            }
            Err(RequestError::TimedOut(limit)) => Failure::Silent { request: what, limit },
            Err(RequestError::InputRefused(why) | RequestError::TaskLost(why)) => Failure::Nonsense(why),
            Err(RequestError::Unsent | RequestError::Cancelled | RequestError::Failed(_)) => {
                Failure::Ended(self.exit_report().await)
            }
        };
        Err(NoAnswer::Failed(failure))
    }

    /// Adds the answers of the client, if its call repeats an earlier one that asked.
    fn repeated(&self, request: ClientRequest, in_flight: &InFlightRequest) -> ClientRequest {
        let Some(client) = in_flight.host.client().filter(|_| self.era == Era::Modern) else {
            return request;
        };
        let (mut answers, state) = client.round();
        for answer in answers.values_mut().filter(|answer| answer.get("roots").is_some()) {
            *answer = self.handler.server_requests.roots.within_granted(answer);
        }
        with_answers(request, answers, state)
    }

    /// Hands an error on to the client of the call, if the error is about what the client declared or answered.
    fn hand_on_error(&self, error: &ErrorData, in_flight: &InFlightRequest) {
        let Some(client) = in_flight.host.client() else { return };
        if self.era == Era::Legacy || http::is_lost(error) {
            return;
        }
        let (answers, state) = client.round();
        let is_about_client = match error.code {
            // Without the grant of the descriptor, the client cannot help.
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => self.lacks_of_client(error, client.as_ref()),
            _ => !answers.is_empty() || state.is_some(),
        };
        if is_about_client {
            let message = self.redacted(sanitize::clean(&error.message, sanitize::MAX_ERROR));
            let error = json!({ "code": error.code.0, "message": message, "data": error.data });
            in_flight.host.hand_on(json!({ "error": error }));
        }
    }

    /// Returns whether the error names a capability that the descriptor grants and the client does not declare.
    fn lacks_of_client(&self, error: &ErrorData, client: &dyn CallClient) -> bool {
        let server_requests = &self.handler.server_requests;
        let needed = error.data.as_ref().map_or(&Value::Null, |data| &data["requiredCapabilities"]);
        let offered = json!(server_requests.capabilities());
        let declared = json!(server_requests.capabilities_of(client));
        ["elicitation", "sampling", "roots"]
            .iter()
            .any(|one| !needed[one].is_null() && !offered[one].is_null() && declared[one] != offered[one])
    }

    /// Returns whether the client of the call may and can answer all questions.
    fn is_for_client(&self, wanted: &InputRequired, in_flight: &InFlightRequest) -> bool {
        let Some(client) = in_flight.host.client() else { return false };
        let server_requests = &self.handler.server_requests;
        let can_answer = |Question { method, params, .. }: &Question| {
            server_requests.may_pass_on(method)
                && client.takes_round(method, params)
                && matches!(server_requests.vetted(method, params), Ok(None))
        };
        !wanted.questions.is_empty() && wanted.questions.iter().all(can_answer)
    }

    /// Runs work between two rounds until the request ends.
    async fn while_in_flight<T>(
        &self,
        in_flight: &InFlightRequest,
        work: impl Future<Output = T>,
    ) -> Result<T, RequestError> {
        let begun = in_flight.clock.now();
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.end.over() => Err(RequestError::Failed(ServiceError::TransportClosed)),
            () = in_flight.cancel.cancelled() => Err(RequestError::Cancelled),
            () = in_flight.clock.sleep_until(in_flight.deadline) => Err(RequestError::TimedOut(in_flight.deadline - begun)),
        }
    }

    /// Handles a legacy error that requires addresses to be opened first. Returns whether the user agreed to all of
    /// them.
    async fn agreed_to_open(&self, error: &ErrorData, in_flight: &InFlightRequest) -> bool {
        let addresses = error.data.as_ref().and_then(|data| data["elicitations"].as_array());
        let Some(addresses) = addresses.filter(|_| error.code == OPEN_FIRST && self.era == Era::Legacy)
        else {
            return false;
        };
        if addresses.is_empty() || addresses.len() > MAX_QUESTIONS {
            return false;
        }
        for params in addresses.iter().filter(|params| params["mode"] == "url") {
            let asker = Asker::One(in_flight);
            let answering = self.handler.server_requests.answer("elicitation/create", params, &asker);
            let Ok(Ok(answer)) = self.while_in_flight(in_flight, answering).await else { return false };
            if answer["action"] != "accept" {
                return false;
            }
        }
        addresses.iter().all(|params| params["mode"] == "url")
    }

    /// Returns the required input, or `None` if the text is a result.
    fn required_input(&self, text: &str) -> Result<Option<InputRequired>, String> {
        // Results may be large, so only those that contain the type are parsed.
        if self.era == Era::Legacy || !text.contains("input_required") {
            return Ok(None);
        }
        let Ok(head) = serde_json::from_str::<Head>(text) else { return Ok(None) };
        if head.kind.as_deref() != Some("input_required") {
            return Ok(None);
        }
        let odd = |what: &str| format!("the server's request for input could not be read: {what}");
        let state = match head.state {
            None | Some(Value::Null) => None,
            Some(Value::String(state)) if state.len() <= MAX_STATE => Some(state),
            Some(Value::String(_)) => return Err(odd("`requestState` is too long")),
            Some(_) => return Err(odd("`requestState` is not a string")),
        };
        let questions = questions(head.questions).map_err(|what| odd(&what))?;
        if questions.is_empty() && state.is_none() {
            return Err(odd("neither `inputRequests` nor `requestState` is present"));
        }
        Ok(Some(InputRequired { questions, state }))
    }

    /// Answers the questions one after the other.
    async fn answers(
        &self,
        wanted: &InputRequired,
        in_a_row: u32,
        in_flight: &InFlightRequest,
    ) -> Result<BTreeMap<String, Value>, RequestError> {
        if let Some(doubled) = in_a_row.checked_sub(1) {
            sleep((PAUSE * 2_u32.saturating_pow(doubled)).min(PAUSE * 5)).await;
        }
        self.answers_to(&wanted.questions, in_flight).await
    }

    async fn answers_to(
        &self,
        questions: &[Question],
        in_flight: &InFlightRequest,
    ) -> Result<BTreeMap<String, Value>, RequestError> {
        let mut answers = BTreeMap::new();
        for Question { key, method, params } in questions {
            let answer = self.handler.server_requests.answer(method, params, &Asker::One(in_flight)).await;
            let answer = answer.map_err(|error| {
                let (method, why) =
                    (sanitize::clean(method, 100), sanitize::clean(&error.message, sanitize::MAX_ERROR));
                RequestError::InputRefused(format!("the server asked for `{method}` and was refused: {why}"))
            })?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// Reads the field `inputRequests`.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn questions(field: Option<Value>) -> Result<Vec<Question>, String> {
    let questions = match field {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(questions)) => questions,
        Some(_) => return Err("`inputRequests` is not an object".to_owned()),
    };
    if questions.len() > MAX_QUESTIONS {
        return Err(format!("more than {MAX_QUESTIONS} questions at once"));
    }
    let questions = questions.into_iter().map(|(key, mut question)| {
        let method = question["method"].as_str().map(str::to_owned);
        let params = question.get_mut("params").map(Value::take).unwrap_or_default();
        method.map(|method| Question { key, method, params }).ok_or("a question has no `method`".to_owned())
    });
    questions.collect()
}

/// Turns "not sent" into "outcome unknown" if an earlier round of the request was sent.
fn after_round(lost: RequestError, round: usize) -> RequestError {
    let not_sent = match &lost {
        RequestError::Unsent => true,
        RequestError::Failed(ServiceError::TransportSend(error)) => {
            matches!(http::delivery_error(error), Some(DeliveryError::NotSent(_) | DeliveryError::Gone(_)))
        }
        _ => false,
    };
    if round > 0 && not_sent { RequestError::Failed(ServiceError::TransportClosed) } else { lost }
}

/// Adds the answers and the state to a request.
fn with_answers(
    mut request: ClientRequest,
    answers: BTreeMap<String, Value>,
    state: Option<String>,
) -> ClientRequest {
    let answers = (!answers.is_empty()).then_some(answers);
    match &mut request {
        ClientRequest::CallToolRequest(request) => {
            (request.params.input_responses, request.params.request_state) = (answers, state);
        }
        ClientRequest::GetPromptRequest(request) => {
            (request.params.input_responses, request.params.request_state) = (answers, state);
        }
        ClientRequest::ReadResourceRequest(request) => {
            (request.params.input_responses, request.params.request_state) = (answers, state);
        }
        // Other requests cannot ask.
        _ => {}
    }
    request
}
