//! One request in as many rounds as the server needs: it is sent, what the server asks for is found out, and it is sent
//! again with the answers, until there is a result
//! (<https://modelcontextprotocol.io/specification/draft/basic/patterns/mrtr>, checked 2026-11).
//!
//! What a server wants back is given back as it was, and to this request only. Legacy servers ask by requests of their
//! own instead (see [`crate::handler`]): for them there is one round.

mod one;

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode};
use rmcp::service::ServiceError;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::sleep;

use crate::desk::Asker;
use crate::errands::Errand;
use crate::error::Failure;
use crate::http::{self, Fault};
use crate::link::{Link, NoAnswer};
use crate::{Era, words};

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
pub(crate) enum Lost {
    /// Nothing of it has reached the server.
    Unsent,
    Cancelled,
    /// Nothing came for so long.
    Late(Duration),
    /// The server needed to know something that it is not told, in words.
    Unanswered(String),
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
    /// Ends when the errand is cancelled, is late or has idled, by the clock of its patience, which stands still while a
    /// person is asked; the server is told. Whoever drops the future has told it, too.
    pub(crate) async fn request_rounds(
        &self,
        request: ClientRequest,
        errand: &Errand,
    ) -> Result<String, Lost> {
        let _running = self.handler.errands.begin(errand);
        let (mut next, mut in_a_row) = (request.clone(), 0);
        for round in 0..=MAX_ROUNDS {
            let text = match self.round(next, errand).await {
                Ok(text) => text,
                Err(Lost::Failed(ServiceError::McpError(error))) if round < MAX_ROUNDS => {
                    if !self.was_opened(&error, errand).await {
                        return Err(Lost::Failed(ServiceError::McpError(error)));
                    }
                    next = request.clone();
                    continue;
                }
                Err(lost) => return Err(midway(lost, round)),
            };
            let Some(wanted) = self.wanted(&text).map_err(Lost::Unanswered)? else { return Ok(text) };
            if round == MAX_ROUNDS {
                break;
            }
            in_a_row = if wanted.questions.is_empty() { in_a_row + 1 } else { 0 };
            let answers = self.meanwhile(errand, self.answers(&wanted, in_a_row, errand)).await??;
            next = again(request.clone(), answers, wanted.state);
        }
        let text = format!("the server asked for more than {MAX_ROUNDS} times before it answered");
        Err(Lost::Unanswered(text))
    }

    /// The same, for what is no call of a tool.
    pub(crate) async fn ask_in_rounds(
        &self,
        request: ClientRequest,
        what: &'static str,
        errand: &Errand,
    ) -> Result<String, NoAnswer> {
        let failure = match self.request_rounds(request, errand).await {
            Ok(text) => return Ok(text),
            Err(Lost::Failed(ServiceError::McpError(error))) => return Err(NoAnswer::Error(error)),
            Err(Lost::Failed(ServiceError::TransportSend(error))) => match http::fault(&error) {
                Some(fault) => Failure::from(fault).without(self.secrets()),
                None => Failure::Ended(self.obituary().await),
            },
            Err(Lost::Late(limit)) => Failure::Silent { request: what, limit },
            Err(Lost::Unanswered(why)) => Failure::Nonsense(why),
            Err(Lost::Unsent | Lost::Cancelled | Lost::Failed(_)) => Failure::Ended(self.obituary().await),
        };
        Err(NoAnswer::Failed(failure))
    }

    /// What is done for the errand between two rounds ends with it.
    async fn meanwhile<T>(&self, errand: &Errand, work: impl Future<Output = T>) -> Result<T, Lost> {
        let begun = errand.patience.now();
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.end.over() => Err(Lost::Failed(ServiceError::TransportClosed)),
            () = errand.cancel.cancelled() => Err(Lost::Cancelled),
            () = errand.patience.sleep_until(errand.deadline) => Err(Lost::Late(errand.deadline - begun)),
        }
    }

    /// A legacy server did nothing because an address has to be opened first: has the person agreed to all of them?
    async fn was_opened(&self, error: &ErrorData, errand: &Errand) -> bool {
        let addresses = error.data.as_ref().and_then(|data| data["elicitations"].as_array());
        let Some(addresses) = addresses.filter(|_| error.code == OPEN_FIRST && self.era == Era::Legacy)
        else {
            return false;
        };
        if addresses.is_empty() || addresses.len() > MAX_QUESTIONS {
            return false;
        }
        for params in addresses.iter().filter(|params| params["mode"] == "url") {
            let asker = Asker::One(errand);
            let asked = self.handler.desk.answer("elicitation/create", params, &asker);
            let Ok(Ok(answer)) = self.meanwhile(errand, asked).await else { return false };
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
        errand: &Errand,
    ) -> Result<BTreeMap<String, Value>, Lost> {
        if let Some(doubled) = in_a_row.checked_sub(1) {
            sleep((PAUSE * 2_u32.saturating_pow(doubled)).min(PAUSE * 5)).await;
        }
        let mut answers = BTreeMap::new();
        for (key, method, params) in &wanted.questions {
            let answer = self.handler.desk.answer(method, params, &Asker::One(errand)).await;
            let answer = answer.map_err(|error| {
                let (method, why) =
                    (words::cleaned(method, 100), words::cleaned(&error.message, words::ERROR));
                Lost::Unanswered(format!("the server asked for `{method}` and was refused: {why}"))
            })?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// Of a request that was sent before, nobody knows that it did nothing.
fn midway(lost: Lost, round: usize) -> Lost {
    let not_sent = match &lost {
        Lost::Unsent => true,
        Lost::Failed(ServiceError::TransportSend(error)) => {
            matches!(http::fault(error), Some(Fault::NotSent(_) | Fault::Gone(_)))
        }
        _ => false,
    };
    if round > 0 && not_sent { Lost::Failed(ServiceError::TransportClosed) } else { lost }
}

/// The same request with what was asked for.
fn again(
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
