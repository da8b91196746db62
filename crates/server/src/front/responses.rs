//! `/v1/responses`.

mod approver;
mod continued;
mod files;
mod live;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::Transcript;
use converse_gateway::Principal;
use converse_host::Approver;
use converse_host::settings::Settings;
use http::request::Parts;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::approver::ResponseApprover;
use self::continued::{Answers, continued};
use self::files::{Record, ResponseFiles, is_id};
use self::live::{Keeper, Live, ResponseObserver, split};
use super::agents::{Configured, client_roster, tools_of};
use super::body::{event_channel, event_stream};
use super::completions::{AsksClient, now, random_id, with_system};
use super::idempotency::no_turn;
use super::observing::{Narrator, api_error};
use super::turns::{NobodyToAsk, Start, TurnJob};
use super::{Front, beside_turns, error, json, method_not_allowed};
use crate::access::Admission;
use crate::http_server::Reply;
use converse_openai::{
    ApiError, FailureKind, ResponseHead, ResponsesRequest, ResponsesStream, input_item_list, response_deleted,
};

/// Time in which a cancelled turn ends, before its state is returned as it is.
const CANCELLING: Duration = Duration::from_secs(10);

/// Items of a page of `input_items`.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;

/// Stored responses whose turns run.
pub(super) type LiveResponses = Mutex<HashMap<(Principal, String), Arc<Live>>>;

/// A turn that is about to begin.
struct Planned {
    settings: Settings,
    configured: Arc<Configured>,
    transcript: Transcript,
    answers: Answers,
    /// The conversation as it is saved.
    kept: Transcript,
}

impl Front {
    /// Answers a request below `/v1/responses`.
    pub(super) async fn responses(
        self: &Arc<Self>,
        parts: &Parts,
        path: &[&str],
        body: &[u8],
        admission: &Admission,
    ) -> Reply {
        let query = parts.uri.query().unwrap_or_default();
        let needs_files = self.replicas.is_some() && !path.is_empty();
        let answered = match (&parts.method, path) {
            _ if needs_files => Err(store_unsupported()),
            (&Method::POST, []) => self.create_response(body, admission).await,
            (&Method::GET, [id]) => {
                let (id, query) = ((*id).to_owned(), query.to_owned());
                self.with_files(admission, move |front, who| front.retrieve_response(&id, &query, who)).await
            }
            (&Method::DELETE, [id]) => {
                let id = (*id).to_owned();
                self.with_files(admission, move |front, who| front.delete_response(&id, who)).await
            }
            (&Method::POST, [id, "cancel"]) => self.cancel_response(id, admission).await,
            (&Method::GET, [id, "input_items"]) => {
                let (id, query) = ((*id).to_owned(), query.to_owned());
                self.with_files(admission, move |front, who| front.response_input(&id, &query, who)).await
            }
            (_, []) => return method_not_allowed("POST"),
            (_, [_]) => return method_not_allowed("GET, DELETE"),
            (_, [_, "cancel"]) => return method_not_allowed("POST"),
            (_, [_, "input_items"]) => return method_not_allowed("GET"),
            _ => Err(ApiError::not_found("route", parts.uri.path())),
        };
        answered.unwrap_or_else(|refused| no_turn(error(&refused)))
    }

    /// Runs work with stored responses beside the turns.
    async fn with_files<T: Send + 'static>(
        self: &Arc<Self>,
        admission: &Admission,
        work: impl FnOnce(&Arc<Self>, &Admission) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (front, admission) = (Arc::clone(self), admission.clone());
        let crashed = || ApiError::failure(FailureKind::Internal, "the request crashed");
        beside_turns(move || work(&front, &admission)).await.ok_or_else(crashed)?
    }

    /// Begins the turn of a response.
    ///
    /// # Errors
    /// No turn began.
    async fn create_response(
        self: &Arc<Self>,
        body: &[u8],
        admission: &Admission,
    ) -> Result<Reply, ApiError> {
        let mut request = ResponsesRequest::parse(body)?;
        if self.replicas.is_some() && (request.store || request.previous_response_id.is_some()) {
            return Err(store_unsupported());
        }
        let place = self.place()?;
        let stream = request.stream.then(|| self.stream_place(&admission.principal)).transpose()?;
        let world = self.world_of(&admission.principal);
        let files = ResponseFiles::of(&world);
        let earlier = match &request.previous_response_id {
            Some(id) => Some((id.clone(), self.earlier(id, admission, files.as_ref()).await?)),
            None => None,
        };
        let Planned { settings, configured, transcript, answers, kept } =
            self.planned(&mut request, earlier.as_ref())?;
        let agent = self.agents.agent(&settings, &configured).map_err(|failure| api_error(&failure))?;
        // Of the response that is continued, if this answers its approvals.
        let approved =
            earlier.as_ref().filter(|_| !answers.is_empty()).map(|(id, _)| (id.clone(), files.clone()));
        let files = if request.store { Some(files.ok_or_else(no_home)?) } else { None };
        let answered = answers.iter().map(|(id, answer)| (id.clone(), answer.request_id.clone())).collect();
        let questions = earlier.as_ref().map(|(_, record)| record.questions.clone()).unwrap_or_default();
        let responder = ResponseApprover::new(answers, questions, self.redactor.clone(), files.is_some());
        let asked = Arc::clone(&responder.asked);
        let (roster, approver): (_, Arc<dyn Approver>) = if request.tools.offers_clients() {
            let clients = request.tools.tools.clone();
            let roster = client_roster(clients).await.map_err(|failure| api_error(&failure))?;
            (roster, Arc::new(AsksClient))
        } else if files.is_some() || approved.is_some() {
            (tools_of(&world, &agent.roster), Arc::new(responder))
        } else {
            // What is not stored cannot be answered later.
            (tools_of(&world, &agent.roster), Arc::new(NobodyToAsk))
        };

        let id = format!("resp_{}", random_id());
        let head = ResponseHead {
            id: id.clone(),
            created_at: now(),
            model: request.model.clone(),
            parameters: request.parameters(),
            last_reply_only: request.answer.is_json(),
        };
        let (background, streams) = (request.background, request.stream);
        let live =
            Arc::new(Live::new(ResponsesStream::new(head, background), background, background && streams));
        let keeper = files.map(|files| {
            let record = Record {
                running: true,
                background,
                streamed: streams,
                body: String::from_utf8(live.body()).unwrap_or_default(),
                input: request.input_items(&id),
                transcript: kept,
                asked: Vec::new(),
                questions: HashMap::new(),
            };
            Keeper { files, record }
        });
        let waits = CancellationToken::new();
        let (stream, left) = match stream {
            Some(place) => {
                let (sender, body) = event_channel(place);
                live.follow(None, sender.clone());
                (Some(body), self.ends_turns(sender.closed()))
            }
            None => (None, self.ends_turns(waits.clone().cancelled_owned())),
        };
        let left = left.filter(|_| !background);
        let waits = waits.drop_guard();
        // The turn begins also if the client leaves meanwhile: its approvals are taken.
        let turn = {
            let live = Arc::clone(&live);
            move |front: &Arc<Self>, who: &Admission| {
                let not_kept = |why: String| ApiError::unavailable(None, format!("not saved: {why}"));
                let contents = keeper.as_ref().map(|keeper| keeper.files.contents(&id));
                if let Some(Keeper { files, record }) = &keeper {
                    if let (Some((before, _)), Some(contents)) = (&earlier, &contents) {
                        let adopted = contents.adopt(&files.contents(before), record.transcript.as_slice());
                        adopted.map_err(|error| not_kept(error.to_string()))?;
                    }
                    // The turn does not begin before this is on disk.
                    files.write(&id, record).map_err(|error| not_kept(error.to_string()))?;
                }
                // Last: an approval that is taken and leads to no turn could not be given again.
                if let Some((before, Some(files))) = approved {
                    let taken = files.take_approvals(&before);
                    if !matches!(taken, Ok(true))
                        && let Some(Keeper { files, .. }) = &keeper
                    {
                        files.remove(&id);
                    }
                    if !taken.map_err(|error| not_kept(error.to_string()))? {
                        let error =
                            ApiError::conflict(format!("the approvals of `{before}` are answered already"));
                        return Err(error.with_param("input"));
                    }
                }
                if let Some(Keeper { files, .. }) = &keeper {
                    files.sweep();
                    let key = (who.principal.clone(), id.clone());
                    front.live_responses.lock().insert(key, Arc::clone(&live));
                }
                live.begin();
                let answer = live.body();
                let (registry, key) = (Arc::clone(front), (who.principal.clone(), id.clone()));
                let observer = ResponseObserver {
                    id,
                    live: Arc::clone(&live),
                    narrator: Narrator::approved(answered),
                    keeper,
                    asked,
                    forget: Box::new(move || drop(registry.live_responses.lock().remove(&key))),
                };
                front.turns.begin(TurnJob {
                    settings,
                    roster,
                    wires: agent.wires.clone(),
                    world,
                    start: Start::Transcript(transcript),
                    durable: false,
                    said: Vec::new(),
                    attachments: request.conversation.attachments.into_iter().map(|one| one.bytes).collect(),
                    contents,
                    approver,
                    observer: Box::new(observer),
                    interrupt: live.interrupt.clone(),
                    left,
                    place,
                });
                Ok(answer)
            }
        };
        let answer = self.with_files(admission, turn).await?;
        if let Some(body) = stream {
            return Ok(event_stream(body));
        }
        if background {
            return Ok(json(StatusCode::OK, answer));
        }
        live.ended.cancelled().await;
        drop(waits);
        let failed = live.failed().map(|failed| error(&failed));
        Ok(failed.unwrap_or_else(|| json(StatusCode::OK, live.body())))
    }

    fn planned(
        &self,
        request: &mut ResponsesRequest,
        earlier: Option<&(String, Record)>,
    ) -> Result<Planned, ApiError> {
        let answer = request.answer.clone();
        let (mut settings, configured) =
            self.settings_of(&request.model, &request.sampling, answer, &request.tools)?;
        if let Some(most) = request.max_tool_calls {
            settings.limits.invocations = settings.limits.invocations.min(most);
        }
        let approvals = std::mem::take(&mut request.approvals);
        if !approvals.is_empty() && !request.tools.tools.is_empty() {
            let hint = "approvals are about tools of this server; leave out `tools`";
            return Err(ApiError::unsupported_parameter("tools", hint));
        }
        let (kept, answers) = match earlier {
            Some((id, record)) => continued(id, record, &request.conversation, approvals)?,
            None => (request.conversation.transcript.clone(), Answers::new()),
        };
        let transcript = with_system(kept.clone(), request.instructions.as_deref())?;
        let transcript = with_system(transcript, settings.system.as_deref())?;
        Ok(Planned { settings, configured, transcript, answers, kept })
    }

    /// Returns a response that can be continued.
    async fn earlier(
        self: &Arc<Self>,
        id: &str,
        admission: &Admission,
        files: Option<&ResponseFiles>,
    ) -> Result<Record, ApiError> {
        let missing = || {
            let error = ApiError::not_found("response", id).with_param("previous_response_id");
            ApiError { code: Some("previous_response_not_found".into()), ..error }
        };
        if let Some(live) = self.live_response(id, admission) {
            // It may have ended and not be saved yet.
            let saved = tokio::time::timeout(Duration::from_secs(1), live.ended.cancelled()).await;
            if saved.is_err() {
                let error = ApiError::conflict(format!("the response `{id}` still runs"));
                return Err(error.with_param("previous_response_id"));
            }
        }
        let (files, one) = (files.cloned(), id.to_owned());
        let record =
            self.with_files(admission, move |_, _| Ok(files.and_then(|files| files.read(&one)))).await?;
        let record = record.ok_or_else(missing)?;
        match record.status().as_str() {
            "completed" | "incomplete" => Ok(record),
            status => {
                let why = format!("the response `{id}` is {status} and cannot be continued");
                Err(ApiError::invalid_value("previous_response_id", why))
            }
        }
    }

    fn live_response(&self, id: &str, admission: &Admission) -> Option<Arc<Live>> {
        let key = (admission.principal.clone(), id.to_owned());
        self.live_responses.lock().get(&key).cloned()
    }

    fn response_files(&self, admission: &Admission) -> Result<ResponseFiles, ApiError> {
        ResponseFiles::of(&self.world_of(&admission.principal)).ok_or_else(no_home)
    }

    fn stored(&self, id: &str, admission: &Admission) -> Result<Record, ApiError> {
        let record = self.response_files(admission)?.read(id);
        record.ok_or_else(|| ApiError::not_found("response", id))
    }

    fn retrieve_response(&self, id: &str, query: &str, admission: &Admission) -> Result<Reply, ApiError> {
        let query =
            Query::read(query, &["stream", "starting_after", "include", "include[]", "include_obfuscation"])?;
        let live = self.live_response(id, admission);
        if query.text("stream") != Some("true") {
            let body = match live {
                Some(live) => live.body(),
                None => self.stored(id, admission)?.object(),
            };
            return Ok(json(StatusCode::OK, body));
        }
        let after = query.number("starting_after")?;
        let no_stream = || {
            let message = "only a background response that was created with `stream: true` can be streamed";
            ApiError::invalid_value("stream", message)
        };
        let (sender, body) = event_channel(self.stream_place(&admission.principal)?);
        match live {
            Some(live) if live.keeps_events => live.follow(after, sender),
            Some(_) => return Err(no_stream()),
            None => {
                self.stored(id, admission)?;
                let events = self.response_files(admission)?.read_events(id).ok_or_else(no_stream)?;
                let rest = split(&events).into_iter().skip(after.map_or(0, |after| after.saturating_add(1)));
                for event in rest {
                    sender.send_earlier(event);
                }
            }
        }
        Ok(event_stream(body))
    }

    fn delete_response(&self, id: &str, admission: &Admission) -> Result<Reply, ApiError> {
        if let Some(live) = self.live_response(id, admission) {
            live.delete();
        }
        match is_id(id) && self.response_files(admission)?.remove(id) {
            true => Ok(json(StatusCode::OK, response_deleted(id))),
            false => Err(ApiError::not_found("response", id)),
        }
    }

    async fn cancel_response(self: &Arc<Self>, id: &str, admission: &Admission) -> Result<Reply, ApiError> {
        let only_background =
            || ApiError::invalid_value("response_id", "only a background response can be cancelled");
        let Some(live) = self.live_response(id, admission) else {
            let one = id.to_owned();
            let record = self.with_files(admission, move |front, who| front.stored(&one, who)).await?;
            return match record.background {
                true => Ok(json(StatusCode::OK, record.object())),
                false => Err(only_background()),
            };
        };
        if !live.background {
            return Err(only_background());
        }
        live.cancel();
        let _ = tokio::time::timeout(CANCELLING, live.ended.cancelled()).await;
        Ok(json(StatusCode::OK, live.body()))
    }

    fn response_input(&self, id: &str, query: &str, admission: &Admission) -> Result<Reply, ApiError> {
        let query = Query::read(query, &["after", "limit", "order", "include", "include[]"])?;
        let record = self.stored(id, admission)?;
        let limit = query.number("limit")?.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(ApiError::invalid_value("limit", format!("expected 1 to {MAX_PAGE}")));
        }
        let descending = match query.text("order") {
            None | Some("desc") => true,
            Some("asc") => false,
            Some(_) => return Err(ApiError::invalid_value("order", "expected `asc` or `desc`")),
        };
        let list = input_item_list(&record.input, query.text("after"), limit, descending)?;
        Ok(json(StatusCode::OK, list))
    }
}

/// Stored responses are files of one server.
fn store_unsupported() -> ApiError {
    let message = "stored responses are not available while sessions are kept in a database; send `store: false` and the whole conversation";
    let refused = ApiError::new(501, "invalid_request_error", "store_unsupported", message);
    ApiError { may_retry: false, ..refused }
}

fn no_home() -> ApiError {
    ApiError::unavailable(None, "there is no directory for responses; send `store: false`")
}

/// Parameters of a query string. Unknown ones are refused.
struct Query(Vec<(String, String)>);

impl Query {
    fn read(query: &str, known: &[&str]) -> Result<Self, ApiError> {
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(ApiError::unknown_parameter(name, name, known.iter().copied())),
            None => Ok(Self(pairs)),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let wrong = |_| ApiError::invalid_value(name, "expected a number");
        self.text(name).map(|text| text.parse().map_err(wrong)).transpose()
    }
}
