//! A server for a gateway: what it offers beside tools, as it wrote it.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/resources> (checked 2026-11).
#![expect(deprecated, reason = "legacy servers have `resources/subscribe`")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Arguments, Content, InvokerName};
use converse_config::{Effects, LogLevel, Policy};
use converse_ensemble::{
    Answer, COMPLETE, Context, Ensemble, GET_PROMPT, Invocable, InvokeError, Notices, OfferKind,
    READ_RESOURCE, Relay, Tool,
};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CompleteRequest, GetPromptRequest, ReadResourceRequest, SubscribeRequest,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequest, UnsubscribeRequestParams,
};
use rmcp::service::Peer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::handler::Handler;
use crate::in_flight::InFlightRequest;
use crate::link::{Link, NoAnswer};
use crate::offer_pins::Subject;
use crate::offers::{OfferError, has, refused};
use crate::pages::{Kind, MAX_ENTRY};
use crate::rounds::Reply;
use crate::server::Server;
use crate::{Era, McpConnection, log};

/// Limit for starting or ending a subscription.
const SUBSCRIBE: Duration = Duration::from_secs(10);
/// Subscriptions of one server.
const MAX_SUBSCRIPTIONS: usize = 1000;
/// Time and size of one resource or prompt.
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_RESULT: usize = 32 * 1024 * 1024;

/// The resources that are subscribed to, with the task that listens to a modern server.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<BTreeMap<String, Option<AbortHandle>>>);

impl Relay for McpConnection {
    fn notices(&self) -> Notices {
        self.server.server_requests.notices.notices()
    }

    fn set_log_level(&self, level: LogLevel) {
        let server_requests = &self.server.server_requests;
        server_requests.want_log_level(level);
        if let Some(link) = self.server.living() {
            log::set_level(&link.peer, link.era, server_requests.log_level());
        }
    }

    fn list(&self, kind: OfferKind) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        let kind = match kind {
            OfferKind::Resources => Kind::Resources,
            OfferKind::Templates => Kind::Templates,
            OfferKind::Prompts => Kind::Prompts,
        };
        Box::pin(async move {
            let entries = self.server.listed(kind).await.map_err(|error| error.to_string())?;
            let short = entries.iter().map(|entry| entry.get()).filter(|entry| entry.len() <= MAX_ENTRY);
            Ok(short.filter_map(|entry| serde_json::from_str(entry).ok()).collect())
        })
    }

    fn readers(&self, ensemble: &Ensemble) -> Vec<Tool> {
        let uri =
            json!({ "type": "object", "properties": { "uri": { "type": "string" } }, "required": ["uri"] });
        let named = json!({ "type": "object", "properties": { "name": { "type": "string" },
            "arguments": { "type": "object", "additionalProperties": { "type": "string" } } }, "required": ["name"] });
        let about = json!({ "type": "object", "properties": { "ref": { "type": "object" },
            "argument": { "type": "object" }, "context": { "type": "object" } }, "required": ["ref", "argument"] });
        let readers = [
            (READ_RESOURCE, Reads::Resource, "Read a resource of the server", uri),
            (GET_PROMPT, Reads::Prompt, "Get a prompt of the server", named),
            (COMPLETE, Reads::Completion, "Complete an argument of a prompt or template", about),
        ];
        let reader = |(name, what, description, schema): (&str, Reads, &str, Value)| {
            let invoker = InvokerName::try_from(name.to_owned()).ok()?;
            let policy = self.policies.get(&invoker).unwrap_or(&self.defaults).clone();
            let idle_timeout = policy.idle_timeout.min(TIMEOUT);
            let policy = Policy {
                timeout: TIMEOUT,
                idle_timeout,
                max_retries: 0,
                effects: Effects::Read,
                idempotent: true,
                parallel: true,
                result_limit: MAX_RESULT,
                cost: None,
                cache: None,
                ..policy
            };
            let invocable = Reader { server: Arc::clone(&self.server), what, idle_timeout };
            Some(ensemble.tool(&invoker, description.to_owned(), schema, policy, false, Arc::new(invocable)))
        };
        readers.into_iter().filter_map(reader).collect()
    }

    fn subscribe<'a>(&'a self, uri: &'a str, wanted: bool) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let link = self.server.ready().await.map_err(|error| error.to_string())?;
            if wanted {
                let accepted = self.server.check_subject(Subject::Resource(uri)).await;
                accepted.map_err(|error| error.to_string())?;
            }
            let subscriptions = &self.server.server_requests.subscriptions;
            if !has(&link, |can| can.resources.as_ref().is_some_and(|can| can.subscribe == Some(true))) {
                return Err("the server has no subscriptions".to_owned());
            }
            if wanted && subscriptions.0.lock().len() >= MAX_SUBSCRIPTIONS {
                return Err(format!("more than {MAX_SUBSCRIPTIONS} subscriptions"));
            }
            if link.era == Era::Modern {
                let listening = wanted.then(|| link.handler.listen(&link.peer, updates_of(uri)));
                subscriptions.set(uri, wanted.then_some(listening));
                return Ok(());
            }
            let asked = timeout(SUBSCRIBE, link.ask(request(uri, wanted))).await;
            match asked.unwrap_or(Err(NoAnswer::Failed(silent(wanted)))) {
                Ok(_) => subscriptions.set(uri, wanted.then_some(None)),
                Err(no) => return Err(refused(&link, no).to_string()),
            }
            Ok(())
        })
    }
}

impl Subscriptions {
    /// Records a subscription or its end, and stops the task of an earlier one.
    fn set(&self, uri: &str, wanted: Option<Option<AbortHandle>>) {
        let mut subscriptions = self.0.lock();
        let earlier = match wanted {
            Some(listening) => subscriptions.insert(uri.to_owned(), listening),
            None => subscriptions.remove(uri),
        };
        earlier.flatten().inspect(AbortHandle::abort);
    }

    /// Subscribes again after the server was restarted.
    pub(crate) fn resume(&self, handler: &Handler, peer: &Peer<RoleClient>, era: Era) {
        for (uri, listening) in self.0.lock().iter_mut() {
            if era == Era::Modern {
                let anew = handler.listen(peer, updates_of(uri));
                listening.replace(anew).inspect(AbortHandle::abort);
                continue;
            }
            let (peer, params) = (peer.clone(), SubscribeRequestParams::new(uri.as_str()));
            tokio::spawn(async move { timeout(SUBSCRIBE, peer.subscribe(params)).await });
        }
    }
}

fn updates_of(uri: &str) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    filter
}

fn request(uri: &str, wanted: bool) -> ClientRequest {
    match wanted {
        true => ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri))),
        false => {
            ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)))
        }
    }
}

fn silent(wanted: bool) -> crate::error::Failure {
    let request = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
    crate::error::Failure::Silent { request, limit: SUBSCRIBE }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    Resource,
    Prompt,
    Completion,
}

/// Reads something of a server with the arguments as the parameters of the request.
struct Reader {
    server: Arc<Server>,
    what: Reads,
    idle_timeout: Duration,
}

impl Invocable for Reader {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        Box::pin(async move {
            let deadline = Instant::from_std(context.deadline);
            let link = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(InvokeError::Failed("cancelled".to_owned())),
                link = self.server.link(deadline) => link?,
            };
            let in_flight = InFlightRequest::for_call(&context, self.idle_timeout, deadline);
            match self.read(&link, &arguments.object, &in_flight).await {
                Ok(Reply::Result(text)) => answer(&text),
                Ok(Reply::HandedOn) => {
                    Ok(Answer::text("the server asks its client for input before it answers"))
                }
                Err(OfferError::Unknown(why)) => Err(InvokeError::Invalid(why)),
                Err(OfferError::Failed(why)) => Err(InvokeError::Failed(why)),
            }
        })
    }
}

impl Reader {
    async fn read(
        &self,
        link: &Arc<Link>,
        params: &Map<String, Value>,
        in_flight: &InFlightRequest,
    ) -> Result<Reply, OfferError> {
        let (request, method) = match self.what {
            Reads::Resource => {
                let request = ReadResourceRequest::new(parsed(params)?);
                (ClientRequest::ReadResourceRequest(request), "resources/read")
            }
            Reads::Prompt => {
                (ClientRequest::GetPromptRequest(GetPromptRequest::new(parsed(params)?)), "prompts/get")
            }
            Reads::Completion => {
                return self.completed(link, CompleteRequest::new(parsed(params)?), in_flight).await;
            }
        };
        self.server.got_over(link, request, method, in_flight).await
    }

    async fn completed(
        &self,
        link: &Arc<Link>,
        request: CompleteRequest,
        in_flight: &InFlightRequest,
    ) -> Result<Reply, OfferError> {
        let nothing = || json!({ "completion": { "values": [] } }).to_string();
        if !has(link, |can| can.completions.is_some()) {
            return Ok(Reply::Result(nothing()));
        }
        let _running = link.handler.in_flight_requests.register(in_flight);
        let answered = tokio::select! {
            biased;
            answered = self.server.completed(link, ClientRequest::CompleteRequest(request)) => answered?,
            () = in_flight.cancel.cancelled() => return Err(OfferError::Failed("cancelled".to_owned())),
        };
        Ok(Reply::Result(answered.unwrap_or_else(nothing)))
    }
}

fn parsed<T: DeserializeOwned>(params: &Map<String, Value>) -> Result<T, OfferError> {
    serde_json::from_value(Value::Object(params.clone()))
        .map_err(|error| OfferError::Unknown(error.to_string()))
}

fn answer(text: &str) -> Result<Answer, InvokeError> {
    let value = serde_json::from_str(text)
        .map_err(|error| InvokeError::Failed(format!("the result could not be read: {error}")))?;
    Ok(Answer::new(vec![Content::Structured { value }], false))
}
