//! Turns over `/api`: begun, followed, cancelled, and continued after their questions are answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use converse_canister::{Canister, Content, Cost, Digest, Transcript, User};
use converse_host::approvals::Memory;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_host::{Effort, Event};
use converse_session::{Uuid, new_id};
use http::StatusCode;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::approver::LaterApprover;
use super::channel::{Channel, RunningTurn};
use super::failure::ApiFailure;
use super::narrator::{Batch, Narrator, Position, last_event, missed, missed_end};
use super::waiting::{Answer, Choice, WaitingFiles};
use super::{Caller, blocking};
use crate::front::body::{EventBody, event_stream};
use crate::front::turns::{Observer, Start, TurnJob};
use crate::front::{Front, json_reply};
use crate::http_server::Reply;
use crate::openai::effort_of;

/// `RunAgentInput` of AG-UI 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunAgentInput {
    #[serde(default)]
    thread_id: Option<String>,
    #[serde(default)]
    run_id: Option<String>,
    #[serde(default, rename = "parentRunId")]
    _parent_run_id: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    context: Vec<Value>,
    /// The session is the state.
    #[serde(default, rename = "state")]
    _state: Value,
    #[serde(default)]
    forwarded_props: Option<Props>,
    #[serde(default)]
    resume: Vec<Resume>,
}

/// What else a turn is run with.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Props {
    model: Option<String>,
    preset: Option<String>,
    ensembles: Option<Vec<String>>,
    effort: Option<String>,
    /// In US dollars.
    max_cost: Option<f64>,
    system: Option<String>,
    /// Messages to keep: what follows is taken back first.
    at: Option<usize>,
    #[serde(default)]
    attachments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    interrupt_id: String,
    status: String,
    #[serde(default)]
    payload: Option<Answer>,
}

/// A turn that is about to begin.
struct NewTurn {
    session: Uuid,
    is_new: bool,
    run: String,
    question: Option<Vec<Content>>,
    attachments: Vec<Arc<[u8]>>,
    props: Props,
}

impl Front {
    /// `POST /api/runs`.
    pub(super) async fn post_run(
        self: &Arc<Self>,
        caller: &Caller,
        body: &[u8],
        streams: bool,
    ) -> Result<Reply, ApiFailure> {
        let input: RunAgentInput =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let RunAgentInput { thread_id, run_id, messages, tools, context, forwarded_props, resume, .. } =
            input;
        if !tools.is_empty() {
            let message = "tools of the client are not supported here; use /v1/chat/completions";
            return Err(ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "client-tools", message));
        }
        if !context.is_empty() {
            let message = "`context` is not supported; write it into the message";
            return Err(ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "client-context", message));
        }
        let (session, is_new) = self.session_of(caller, thread_id.as_deref())?;
        let run = run_id.unwrap_or_else(|| format!("run-{}", World::now().as_microsecond()));
        let props = forwarded_props.unwrap_or_default();
        let answers = resume.iter().map(answer).collect::<Result<BTreeMap<_, _>, _>>()?;
        let files = caller.waiting()?;
        let mut attachments = Vec::new();
        let question = if answers.is_empty() {
            let mut content = question(&messages, session)?;
            for id in &props.attachments {
                let (part, bytes) =
                    self.uploads.take(&caller.principal, id).ok_or_else(ApiFailure::not_found)?;
                content.push(part);
                attachments.push(bytes);
            }
            Some(content)
        } else {
            if self.answered(caller, &files, session, answers)? > 0 {
                return Err(ApiFailure::conflict("unanswered", "other approvals of this run are open"));
            }
            None
        };
        let turn = NewTurn { session, is_new, run: run.clone(), question, attachments, props };
        let follower = streams.then(unbounded_channel);
        let (sender, receiver) = follower.unzip();
        self.begin_turn(caller, turn, sender)?;
        match receiver {
            Some(receiver) => Ok(event_stream(EventBody::new(receiver))),
            None => {
                Ok(json_reply(StatusCode::ACCEPTED, &json!({ "session": session.to_string(), "run": run })))
            }
        }
    }

    /// Returns the session of a thread, and whether it must be created.
    fn session_of(&self, caller: &Caller, thread: Option<&str>) -> Result<(Uuid, bool), ApiFailure> {
        let Some(thread) = thread.filter(|thread| !thread.is_empty()) else {
            return Ok((new_id(World::now(), &World::random_bytes()), true));
        };
        let id: Uuid = thread.parse().map_err(|_| ApiFailure::bad_request("`threadId` is not a UUID"))?;
        let store = sessions::required(&caller.world)?;
        Ok((id, store.metadata(id).is_err()))
    }

    /// Saves answers; returns how many questions of the session are still open.
    pub(super) fn answered(
        &self,
        caller: &Caller,
        files: &WaitingFiles,
        session: Uuid,
        answers: BTreeMap<String, Answer>,
    ) -> Result<usize, ApiFailure> {
        let mut waiting = files.read(session).ok_or_else(ApiFailure::not_found)?;
        for (id, answer) in answers {
            if !waiting.interrupts.iter().any(|interrupt| interrupt["id"] == id.as_str()) {
                return Err(ApiFailure::not_found());
            }
            if waiting.answers.contains_key(&id) {
                return Err(ApiFailure::conflict("answered", "this approval is answered already"));
            }
            let event = json!({ "type": "approval_resolved", "id": id, "session": session.to_string() });
            self.channels.tell(&caller.principal, &event);
            let value = json!({ "interruptId": id, "decision": answer.decision, "by": "http" });
            let event = json!({ "type": "CUSTOM", "name": "converse.resolved", "value": value });
            self.channels.of(&caller.principal, session).lock().tell(&event);
            waiting.answers.insert(id, answer);
        }
        let written = files.write(session, &waiting);
        let failed = |error: std::io::Error| {
            ApiFailure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "not-kept",
                format!("the answer was not saved: {error}"),
            )
        };
        written.map_err(failed)?;
        Ok(waiting.open())
    }

    /// Continues a session whose questions are all answered.
    pub(super) fn continue_turn(self: &Arc<Self>, caller: &Caller, session: Uuid) -> Result<(), ApiFailure> {
        let props = Props {
            model: caller.waiting()?.read(session).and_then(|waiting| waiting.model),
            ..Props::default()
        };
        let run = format!("run-{}", World::now().as_microsecond());
        let turn = NewTurn { session, is_new: false, run, question: None, attachments: Vec::new(), props };
        self.begin_turn(caller, turn, None)
    }

    fn begin_turn(
        self: &Arc<Self>,
        caller: &Caller,
        turn: NewTurn,
        own: Option<UnboundedSender<Bytes>>,
    ) -> Result<(), ApiFailure> {
        let NewTurn { session, is_new, run, question, attachments, props } = turn;
        let place = self.place().map_err(|error| ApiFailure::too_many(error.message))?;
        let channel = self.channels.of(&caller.principal, session);
        if channel.lock().turn.is_some() {
            return Err(ApiFailure::busy());
        }
        let named =
            props.preset.clone().or_else(|| props.model.clone()).or_else(|| used_model(caller, session));
        let effort = props.effort.as_deref().map(effort).transpose()?;
        let settings = self.agents.settings(named.as_deref(), |options| {
            options.effort = effort.or(options.effort);
            options.max_cost = props.max_cost.map(Cost::of_dollars).or(options.max_cost);
            options.show_reasoning = true;
            options.system = props.system.clone().or_else(|| options.system.clone());
            if let Some(ensembles) = &props.ensembles {
                options.ensemble.clone_from(ensembles);
                options.no_tools = ensembles.is_empty();
            }
        })?;
        let agent = self.agents.agent(&settings)?;
        let roster = self.roster_of(caller, session, &agent.roster);
        let memory = Memory::new(roster.rules(), &self.redactor, &caller.world);
        let approver = LaterApprover::new(session, caller.waiting()?, memory, named);
        let interrupt = Interrupt::default();
        let observer = RunObserver {
            front: Arc::clone(self),
            caller: caller.clone(),
            session,
            run,
            channel: Arc::clone(&channel),
            own,
            narrator: None,
            asked: Arc::clone(&approver.asked),
        };
        if question.is_some() {
            // Another question instead of an answer: what waited is refused.
            caller.waiting()?.remove(session);
        }
        channel.lock().begin(RunningTurn { interrupt: interrupt.clone(), began: 0 });
        self.tell_session(caller, session, true);
        let start =
            if is_new { Start::New(session) } else { Start::Session { id: session, rewind: props.at } };
        self.turns.begin(TurnJob {
            settings,
            roster,
            wires: agent.wires.clone(),
            world: Arc::clone(&caller.world),
            start,
            said: question.into_iter().map(|content| Canister::User(User { content })).collect(),
            attachments,
            contents: None,
            approver: Arc::new(approver),
            observer: Box::new(observer),
            interrupt,
            place,
        });
        Ok(())
    }

    fn tell_session(&self, caller: &Caller, session: Uuid, running: bool) {
        let waiting = caller.waiting().ok().and_then(|files| files.read(session)).map_or(0, |one| one.open());
        let id = session.to_string();
        let event = json!({ "type": "session", "id": id, "running": running, "waiting": waiting });
        self.channels.tell(&caller.principal, &event);
    }

    /// `GET /api/sessions/{id}/events`: what happens in a session from a position on, or from now on.
    pub(super) async fn follow_session(
        &self,
        caller: &Caller,
        session: Uuid,
        after: Option<&str>,
    ) -> Result<Reply, ApiFailure> {
        let after = after.map(|text| text.parse::<Position>());
        let after = after.transpose().map_err(|()| ApiFailure::bad_request("the position is not valid"))?;
        if !self.channels.has_room(&caller.principal) {
            return Err(ApiFailure::too_many("too many streams are open"));
        }
        let store = sessions::required(&caller.world)?;
        let channel = self.channels.of(&caller.principal, session);
        let is_running = channel.lock().turn.is_some();
        if !is_running {
            // Also the check that the session exists.
            store.metadata(session).map_err(ApiFailure::from)?;
        }
        let (sender, receiver) = unbounded_channel();
        let waiting = caller.waiting()?.read(session);
        let loaded = match after {
            Some(_) => blocking(move || store.read_waiting(session)).await?.ok(),
            None => None,
        };
        let mut channel = channel.lock();
        match after {
            None => channel.all().for_each(|bytes| drop(sender.send(bytes.clone()))),
            Some(position) => match channel.after(position) {
                Some(events) => events.into_iter().for_each(|bytes| drop(sender.send(bytes))),
                None => {
                    let canisters = loaded.as_ref().map_or(&[][..], |loaded| loaded.transcript.as_slice());
                    let running = channel.turn.as_ref().map(|turn| turn.began);
                    let until = running.unwrap_or(canisters.len()).min(canisters.len());
                    let interrupts = waiting.map(|waiting| waiting.interrupts).unwrap_or_default();
                    let whole = canisters.get(..until).unwrap_or_default();
                    let id = session.to_string();
                    let mut batches = missed(whole, position, &id, self.markdown);
                    if running.is_none() {
                        batches.extend(missed_end(whole, position, &id, channel.last(), &interrupts));
                    }
                    batches.into_iter().for_each(|batch| drop(sender.send(batch.bytes)));
                    channel.all().for_each(|bytes| drop(sender.send(bytes.clone())));
                }
            },
        }
        channel.follow(sender);
        Ok(event_stream(EventBody::new(receiver)))
    }

    /// `POST /api/sessions/{id}/cancel`.
    pub(super) fn cancel_run(&self, caller: &Caller, session: Uuid) -> Result<Reply, ApiFailure> {
        let channel = self.channels.of(&caller.principal, session);
        let channel = channel.lock();
        let turn = channel.turn.as_ref().ok_or_else(ApiFailure::not_found)?;
        turn.interrupt.tell(2);
        Ok(json_reply(StatusCode::ACCEPTED, &json!({ "session": session.to_string() })))
    }
}

fn used_model(caller: &Caller, session: Uuid) -> Option<String> {
    let metadata = sessions::store(&caller.world)?.metadata(session).ok()?;
    metadata.used_model().map(str::to_owned)
}

fn effort(word: &str) -> Result<Effort, ApiFailure> {
    let wrong = "`effort` is none, minimal, low, medium, high, xhigh or max";
    effort_of(word).ok_or_else(|| ApiFailure::bad_request(wrong))
}

fn answer(resume: &Resume) -> Result<(String, Answer), ApiFailure> {
    let denied = || Answer { decision: Choice::Deny, pattern: None, comment: None, arguments: None };
    let answer = match (resume.status.as_str(), &resume.payload) {
        ("cancelled", _) => denied(),
        ("resolved", Some(answer)) => answer.clone(),
        _ => {
            return Err(ApiFailure::bad_request(
                "`resume` needs a status `resolved` with a payload, or `cancelled`",
            ));
        }
    };
    Ok((resume.interrupt_id.clone(), answer))
}

/// Returns the content of the last message of the user: the session has the others.
fn question(messages: &[Value], session: Uuid) -> Result<Vec<Content>, ApiFailure> {
    let last = messages.iter().rev().find(|message| message["role"] == "user");
    let content = match last.map(|message| &message["content"]) {
        Some(Value::String(text)) => vec![Content::text(text.clone())],
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| part_of(part, session)).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    let is_empty = |content: &Content| content.as_text().is_some_and(|text| text.trim().is_empty());
    if content.iter().all(is_empty) {
        return Err(ApiFailure::bad_request("a message of the user is missing"));
    }
    Ok(content)
}

/// Returns a part of a message. A link may only lead to the content of this session, which a question that is asked again
/// refers to.
fn part_of(part: &Value, session: Uuid) -> Result<Content, ApiFailure> {
    if let Some(text) = part["text"].as_str() {
        return Ok(Content::text(text));
    }
    let source = &part["source"];
    let wrong = || {
        ApiFailure::bad_request(
            "a part is a text, or names the content of this session; send files to /api/uploads",
        )
    };
    let own = format!("/api/sessions/{session}/content/");
    let digest = source["value"].as_str().and_then(|url| url.strip_prefix(&own)).ok_or_else(wrong)?;
    let digest = Digest::try_from(digest.to_owned()).map_err(|_| wrong())?;
    let mime = source["mimeType"].as_str().ok_or_else(wrong)?.to_owned();
    let name = part["metadata"]["name"].as_str().map(str::to_owned);
    Ok(Content::Blob { mime, digest, name, seal: None })
}

/// Passes a turn on to everybody who follows the session.
struct RunObserver {
    front: Arc<Front>,
    caller: Caller,
    session: Uuid,
    run: String,
    channel: Arc<Mutex<Channel>>,
    /// The client that began the turn. Its stream ends with the turn.
    own: Option<UnboundedSender<Bytes>>,
    narrator: Option<Narrator>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl RunObserver {
    fn publish(&mut self, batch: Option<Batch>) {
        let Some(batch) = batch else { return };
        if let Some(own) = &self.own {
            let _ = own.send(batch.bytes.clone());
        }
        self.channel.lock().publish(batch);
    }

    fn narrator(&mut self, messages: usize) -> &mut Narrator {
        let (session, run) = (self.session.to_string(), self.run.clone());
        let markdown = self.front.markdown;
        self.narrator.get_or_insert_with(|| Narrator::new(session, run, messages, markdown))
    }
}

impl Observer for RunObserver {
    fn began(&mut self, transcript: &Transcript) {
        let messages = transcript.as_slice().len();
        if let Some(turn) = &mut self.channel.lock().turn {
            turn.began = messages;
        }
        let started = self.narrator(messages).started();
        self.publish(started);
    }

    fn event(&mut self, event: Event) {
        let batch = self.narrator(0).event(event);
        self.publish(batch);
        let is_left =
            !self.channel.lock().is_followed() && self.own.as_ref().is_none_or(UnboundedSender::is_closed);
        if is_left
            && self.front.options.cancel_on_disconnect
            && let Some(turn) = &self.channel.lock().turn
        {
            turn.interrupt.tell(2);
        }
    }

    fn ended(&mut self, ended: Result<(), Failure>) {
        let asked = std::mem::take(&mut *self.asked.lock());
        if self.narrator.is_none() {
            let started = self.narrator(0).started();
            self.publish(started);
        }
        let last = last_event(&self.session.to_string(), &self.run, &ended, &asked);
        let batch = self.narrator(0).ended(&last);
        self.publish(batch);
        self.channel.lock().end(last);
        self.own = None;
        for interrupt in &asked {
            let event =
                json!({ "type": "approval", "id": interrupt["id"], "session": self.session.to_string() });
            self.front.channels.tell(&self.caller.principal, &event);
        }
        self.front.tell_session(&self.caller, self.session, false);
    }
}
