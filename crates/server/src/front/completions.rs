//! `/v1/models` and `/v1/chat/completions`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use converse_canister::Decision;
use converse_canister::{Canister, Supervisor, Transcript};
use converse_ensemble::Pending;
use converse_host::answer::ReplySchema;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::settings::Settings;
use converse_host::world::World;
use converse_host::{Approver, Event};
use converse_provider::{Endpoint, ForcedCall};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::StatusCode;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::agents::{Configured, client_roster, tools_of};
use super::body::{EventSender, event_channel, event_stream};
use super::idempotency::no_turn;
use super::observing::{Narrator, api_error};
use super::turns::{NobodyToAsk, Observer, Start, TurnJob};
use super::{Front, error, json};
use crate::access::Admission;
use crate::http_server::Reply;
use converse_openai::{
    self, AnswerFormat, ApiError, ChatHead, ChatRequest, ChatResponse, ChatStream, Conversation, Sampling,
    ToolChoice, ToolUse, TurnEvent,
};

impl Front {
    pub(super) fn models(&self) -> Reply {
        json(StatusCode::OK, converse_openai::model_list(&self.agents.list()))
    }

    pub(super) fn model(&self, id: &str) -> Reply {
        let list = self.agents.list();
        match list.iter().find(|entry| entry.id == id) {
            Some(entry) => json(StatusCode::OK, converse_openai::model(entry)),
            None => error(&ApiError::model_not_found(id, list.iter().map(|entry| entry.id.as_str()))),
        }
    }

    pub(super) async fn chat(self: &Arc<Self>, body: &[u8], admission: &Admission) -> Reply {
        let answer = async {
            let request = ChatRequest::parse(body)?;
            let head = ChatHead {
                id: format!("chatcmpl-{}", random_id()),
                created: now(),
                model: request.model.clone(),
                metadata: request.metadata.clone(),
                last_reply_only: request.answer.is_json(),
            };
            let include_usage = request.include_usage;
            let stream = request.stream.then(|| self.stream_place(&admission.principal)).transpose()?;
            Ok((head, stream, include_usage, self.chat_job(request, admission).await?))
        };
        let (head, stream, include_usage, job) = match answer.await {
            Ok(answer) => answer,
            Err(refused) => return no_turn(error(&refused)),
        };
        if let Some(place) = stream {
            let (sender, body) = event_channel(place);
            let left = self.ends_turns(sender.clone().closed());
            let encoder = StreamEncoder { stream: ChatStream::new(head, include_usage), sender };
            self.turns.begin(job(Box::new(Narrated::new(encoder)), left));
            return event_stream(body);
        }
        let (sender, mut bodies) = unbounded_channel();
        let client = sender.clone();
        let left = self.ends_turns(async move { client.closed().await });
        let collector = Collector { response: Some(ChatResponse::new(head)), sender };
        self.turns.begin(job(Box::new(Narrated::new(collector)), left));
        match bodies.recv().await {
            Some(Ok(body)) => json(StatusCode::OK, body),
            Some(Err(failed)) => error(&failed),
            None => error(&ApiError::unavailable(None, "the server is shutting down")),
        }
    }

    /// Returns what makes the job of a turn for its observer and [`TurnJob::left`].
    async fn chat_job(
        &self,
        request: ChatRequest,
        admission: &Admission,
    ) -> Result<impl FnOnce(Box<dyn Observer>, Option<BoxFuture<'static, ()>>) -> TurnJob + use<>, ApiError>
    {
        let ChatRequest { model, conversation, sampling, answer, tools, .. } = request;
        let place = self.place()?;
        let (settings, configured) = self.settings_of(&model, &sampling, answer, &tools)?;
        let agent = self.agents.agent(&settings, &configured).map_err(|failure| api_error(&failure))?;
        let world = self.world_of(&admission.principal);
        let (roster, approver): (_, Arc<dyn Approver>) = if tools.offers_clients() {
            let roster = client_roster(tools.tools).await.map_err(|failure| api_error(&failure))?;
            (roster, Arc::new(AsksClient))
        } else {
            (tools_of(&world, &agent.roster), Arc::new(NobodyToAsk))
        };
        let Conversation { transcript, attachments, .. } = conversation;
        let transcript = with_system(transcript, settings.system.as_deref())?;
        let wires = agent.wires.clone();
        Ok(move |observer, left| TurnJob {
            settings,
            roster,
            wires,
            world,
            start: Start::Transcript(transcript),
            durable: false,
            said: Vec::new(),
            attachments: attachments.into_iter().map(|one| one.bytes).collect(),
            contents: None,
            approver,
            observer,
            interrupt: Interrupt::default(),
            left,
            place,
        })
    }

    pub(super) fn settings_of(
        &self,
        model: &str,
        sampling: &Sampling,
        answer: AnswerFormat,
        tools: &ToolUse,
    ) -> Result<(Settings, Arc<Configured>), ApiError> {
        let resolved = self.agents.settings(Some(model), |options| {
            options.temperature = sampling.temperature.or(options.temperature);
            options.max_output_tokens = sampling.max_output_tokens.or(options.max_output_tokens);
            options.no_tools = tools.choice == ToolChoice::None;
            options.show_reasoning = true;
        });
        let (mut settings, configured) = resolved.map_err(|failure| self.not_settled(model, &failure))?;
        let controls = &mut settings.controls;
        controls.top_p = sampling.top_p;
        controls.stop.clone_from(&sampling.stop);
        controls.effort = sampling.effort.or(controls.effort);
        match answer {
            AnswerFormat::Text => {}
            AnswerFormat::JsonObject => {
                settings.expect_answer(any_object()?).map_err(|failure| api_error(&failure))?;
            }
            AnswerFormat::JsonSchema { schema, .. } => {
                let invalid =
                    |why: String| ApiError::invalid_value("response_format.json_schema.schema", why);
                let wanted = ReplySchema::of(schema).map_err(invalid)?;
                settings.expect_answer(wanted).map_err(|failure| api_error(&failure))?;
            }
        }
        settings.controls.forced = match &tools.choice {
            ToolChoice::Auto | ToolChoice::None => None,
            ToolChoice::Required => Some(ForcedCall::Any),
            ToolChoice::Function(name) => Some(ForcedCall::Tool(name.clone())),
        };
        settings.controls.single_call = !tools.parallel && tools.choice != ToolChoice::None;
        let cannot = |can: fn(&Endpoint) -> bool| {
            let mut models = [&settings.model].into_iter().chain(&settings.fallbacks.models);
            models.find(|model| model.is_understudy() || !can(&model.endpoint))
        };
        if settings.controls.forced.is_some()
            && let Some(model) = cannot(Endpoint::forces_calls)
        {
            let expected = format!("`auto` or `none`: `{}` cannot be forced to call a tool", model.id);
            return Err(ApiError::unsupported_value("tool_choice", "a forced call", &expected));
        }
        if settings.controls.single_call
            && let Some(model) = cannot(Endpoint::limits_calls)
        {
            let expected = format!("`true`: `{}` cannot be limited to one call in a reply", model.id);
            return Err(ApiError::unsupported_value("parallel_tool_calls", "`false`", &expected));
        }
        Ok((settings, configured))
    }

    fn not_settled(&self, model: &str, failure: &Failure) -> ApiError {
        let is_unknown = matches!(failure.code, "unknown-model" | "unknown-provider" | "ambiguous-model");
        if is_unknown {
            let list = self.agents.list();
            return ApiError::model_not_found(model, list.iter().map(|entry| entry.id.as_str()));
        }
        api_error(failure).with_param("model")
    }
}

fn any_object() -> Result<ReplySchema, ApiError> {
    ReplySchema::of(serde_json::json!({ "type": "object" }))
        .map_err(|why| ApiError::invalid_value("response_format", why))
}

/// The system text of the settings comes before that of the client.
pub(super) fn with_system(transcript: Transcript, system: Option<&str>) -> Result<Transcript, ApiError> {
    let Some(text) = system else { return Ok(transcript) };
    let first = Canister::Supervisor(Supervisor { text: text.to_owned() });
    let canisters: Vec<_> = [first].into_iter().chain(transcript.as_slice().iter().cloned()).collect();
    Transcript::try_from(canisters).map_err(|why| ApiError::invalid_value("messages", why))
}

/// Returns 128 random bits as hexadecimal digits.
pub(super) fn random_id() -> String {
    let bytes = World::random_bytes().into_iter().chain(World::random_bytes()).take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Where the events of the API go.
trait Consumer: Send {
    fn take(&mut self, event: TurnEvent);
}

/// An observer that passes on the events of the API.
struct Narrated<C> {
    narrator: Narrator,
    consumer: C,
}

impl<C: Consumer> Narrated<C> {
    fn new(consumer: C) -> Self {
        Self { narrator: Narrator::default(), consumer }
    }
}

impl<C: Consumer> Observer for Narrated<C> {
    fn event(&mut self, event: Event) {
        let Self { narrator, consumer } = self;
        narrator.event(event, |event| consumer.take(event));
    }

    fn ended(&mut self, ended: Result<(), Failure>) {
        std::mem::take(&mut self.narrator).ended(ended, |event| self.consumer.take(event));
    }
}

struct StreamEncoder {
    stream: ChatStream,
    sender: EventSender,
}

impl Consumer for StreamEncoder {
    fn take(&mut self, event: TurnEvent) {
        let mut bytes = Vec::new();
        self.stream.push(&event, &mut bytes);
        if !bytes.is_empty() {
            self.sender.send(bytes.into());
        }
    }
}

struct Collector {
    response: Option<ChatResponse>,
    sender: UnboundedSender<Result<Vec<u8>, ApiError>>,
}

impl Consumer for Collector {
    fn take(&mut self, event: TurnEvent) {
        let is_last = matches!(event, TurnEvent::Done(_) | TurnEvent::Failed(_));
        if let Some(response) = &mut self.response {
            response.push(event);
        }
        if is_last && let Some(response) = self.response.take() {
            let _ = self.sender.send(response.body());
        }
    }
}

/// The client runs its tools: every call ends the turn and waits for the next request.
pub(super) struct AsksClient;

impl Approver for AsksClient {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let deny = |_| Decision::Deny { rule: "the client runs it".to_owned(), comment: None };
        std::future::ready(pending.iter().map(deny).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn postpones(&self, _: &[Pending]) -> bool {
        true
    }
}
