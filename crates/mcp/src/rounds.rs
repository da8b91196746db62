//! One request in as many rounds as the server needs: it is sent, what the server asks for is found out, and it is sent
//! again with the answers, until there is a result
//! (<https://modelcontextprotocol.io/specification/draft/basic/patterns/mrtr>, checked 2026-11).
//!
//! What a server wants back is given back as it was, and to this request only. Legacy servers ask by requests of their
//! own instead (see [`crate::handler`]): for them there is one round.

mod round;

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::sleep;

use crate::error::Failure;
use crate::http::{self, DeliveryError};
use crate::in_flight::InFlightRequest;
use crate::link::{Link, NoAnswer};
use crate::server_requests::Asker;
use crate::{Era, sanitize};

/// So often it may ask; the next time the request has failed.
pub(crate) const MAX_ROUNDS: usize = 10;
/// Questions of one round, and bytes of what it wants back.
const MAX_QUESTIONS: usize = 16;
const MAX_STATE: usize = 1024 * 1024;
/// `URLElicitationRequiredError` (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>, checked
/// 2026-11).
const OPEN_FIRST: ErrorCode = ErrorCode(-32042);
/// A server that only wants to be asked again is, after this, doubled up to five times of it.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// Nothing of it has reached the server.
    Unsent,
    Cancelled,
    /// Nothing came for so long.
    TimedOut(Duration),
    /// The server needed to know something that it is not told, in words.
    InputRefused(String),
    Failed(ServiceError),
}

/// What a round that is no result asks for.
#[derive(Debug, Default)]
struct Wanted {
    /// By the server's own keys: method and parameters.
    questions: Vec<(String, String, Value)>,
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

impl Link {
    /// Sends it and gives back its result as text, whatever it takes in between. `request` is `tools/call`,
    /// `prompts/get` or `resources/read`: no other may ask anything.
    ///
    /// Ends when the errand is cancelled, is late or has idled, by its clock, which is paused while a
    /// person is asked; the server is told. Whoever drops the future has told it, too.
    pub(crate) async fn request_rounds(
        &self,
        request: ClientRequest,
        in_flight: &InFlightRequest,
    ) -> Result<String, RequestError> {
        let _running = self.handler.in_flight_requests.register(in_flight);
        let (mut next, mut in_a_row) = (request.clone(), 0);
        for round in 0..=MAX_ROUNDS {
            let text = match self.round(next, in_flight).await {
                Ok(text) => text,
                Err(RequestError::Failed(ServiceError::McpError(error))) if round < MAX_ROUNDS => {
                    if !self.was_opened(&error, in_flight).await {
                        return Err(RequestError::Failed(ServiceError::McpError(error)));
                    }
                    next = request.clone();
                    continue;
                }
                Err(lost) => return Err(after_round(lost, round)),
            };
            let Some(wanted) = self.wanted(&text).map_err(RequestError::InputRefused)? else {
                return Ok(text);
            };
            if round == MAX_ROUNDS {
                break;
            }
            in_a_row = if wanted.questions.is_empty() { in_a_row + 1 } else { 0 };
            let answers = self.meanwhile(in_flight, self.answers(&wanted, in_a_row, in_flight)).await??;
            next = with_answers(request.clone(), answers, wanted.state);
        }
        let text = format!("the server asked for more than {MAX_ROUNDS} times before it answered");
        Err(RequestError::InputRefused(text))
    }

    /// The same, for what is no call of a tool.
    pub(crate) async fn ask_in_rounds(
        &self,
        request: ClientRequest,
        what: &'static str,
        in_flight: &InFlightRequest,
    ) -> Result<String, NoAnswer> {
        let failure = match self.request_rounds(request, in_flight).await {
            Ok(text) => return Ok(text),
            Err(RequestError::Failed(ServiceError::McpError(error))) => return Err(NoAnswer::Error(error)),
            Err(RequestError::Failed(ServiceError::TransportSend(error))) => {
                match http::delivery_error(&error) {
                    Some(fault) => Failure::from(fault).without(self.secrets()),
                    None => Failure::Ended(self.exit_report().await),
                }
            }
            Err(RequestError::TimedOut(limit)) => Failure::Silent { request: what, limit },
            Err(RequestError::InputRefused(why)) => Failure::Nonsense(why),
            Err(RequestError::Unsent | RequestError::Cancelled | RequestError::Failed(_)) => {
                Failure::Ended(self.exit_report().await)
            }
        };
        Err(NoAnswer::Failed(failure))
    }

    /// What is done for the errand between two rounds ends with it.
    async fn meanwhile<T>(
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

    /// A legacy server did nothing because an address has to be opened first: has the person agreed to all of them?
    async fn was_opened(&self, error: &ErrorData, in_flight: &InFlightRequest) -> bool {
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
            let asked = self.handler.server_requests.answer("elicitation/create", params, &asker);
            let Ok(Ok(answer)) = self.meanwhile(in_flight, asked).await else { return false };
            if answer["action"] != "accept" {
                return false;
            }
        }
        addresses.iter().all(|params| params["mode"] == "url")
    }

    /// What it asks for, if that is no result yet.
    fn wanted(&self, text: &str) -> Result<Option<Wanted>, String> {
        // Results may be large: only one that can be such a round is looked into.
        if self.era == Era::Legacy || !text.contains("input_required") {
            return Ok(None);
        }
        let Ok(head) = serde_json::from_str::<Head>(text) else { return Ok(None) };
        if head.kind.as_deref() != Some("input_required") {
            return Ok(None);
        }
        let odd = |what: &str| format!("the server asked for something in a way that cannot be read: {what}");
        let state = match head.state {
            None | Some(Value::Null) => None,
            Some(Value::String(state)) if state.len() <= MAX_STATE => Some(state),
            Some(Value::String(_)) => return Err(odd("its `requestState` is too long")),
            Some(_) => return Err(odd("its `requestState` is no text")),
        };
        let questions = match head.questions {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(questions)) => questions,
            Some(_) => return Err(odd("its `inputRequests` are no object")),
        };
        if questions.len() > MAX_QUESTIONS {
            return Err(odd(&format!("it has more than {MAX_QUESTIONS} questions at once")));
        }
        if questions.is_empty() && state.is_none() {
            return Err(odd("it has neither `inputRequests` nor a `requestState`"));
        }
        let questions = questions.into_iter().map(|(key, mut question)| {
            let method = question["method"].as_str().map(str::to_owned);
            let params = question.get_mut("params").map(Value::take).unwrap_or_default();
            method.map(|method| (key, method, params)).ok_or_else(|| odd("a question has no `method`"))
        });
        Ok(Some(Wanted { questions: questions.collect::<Result<_, _>>()?, state }))
    }

    /// One after the other: there is one person.
    async fn answers(
        &self,
        wanted: &Wanted,
        in_a_row: u32,
        in_flight: &InFlightRequest,
    ) -> Result<BTreeMap<String, Value>, RequestError> {
        if let Some(doubled) = in_a_row.checked_sub(1) {
            sleep((PAUSE * 2_u32.saturating_pow(doubled)).min(PAUSE * 5)).await;
        }
        let mut answers = BTreeMap::new();
        for (key, method, params) in &wanted.questions {
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

/// Of a request that was sent before, nobody knows that it did nothing.
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

/// The same request with what was asked for.
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
        // No other may ask.
        _ => {}
    }
    request
}
