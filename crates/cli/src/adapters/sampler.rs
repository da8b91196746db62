//! A model for servers that were granted one (`sampling = true`): the conversation's own, one answer at a time.
//!
//! What a server asks is judged, asked about and audited as an invocation of `ENSEMBLE.sampling/createMessage`, and what
//! it costs is paid by the call that the server asked for.

mod model;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use converse_canister::{Arguments, Content, Cost, Invocation, InvocationId, InvokerName, ToolName, TurnId};
use converse_config::Policy;
use converse_engine::{Alone, Approver, Asking, Sink};
use converse_ensemble::{
    Artefacts, ConnectError, Connection, Ensemble, Halt, Host, Invocable, Roster, Rules, Tool,
};
use converse_mcp::{Sampled, Sampler};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::settings::Settings;

use model::Model;

/// Answers in one run, and tokens of one.
const MOST: u32 = 10;
const MAX_TOKENS: u64 = 4096;
const INVOKER: &str = "sampling/createMessage";
const DESCRIPTION: &str = "A server of tools asks the model on its own account";
/// What of a question counts; the rest (preferences for models, context of other servers) is not heeded.
const HEEDED: [&str; 5] = ["systemPrompt", "messages", "maxTokens", "temperature", "stopSequences"];

/// Where servers ask, and where they are served from.
pub(crate) struct Models {
    sender: mpsc::Sender<Request>,
    requests: Mutex<mpsc::Receiver<Request>>,
    /// A turn runs, and they are answered.
    serving: AtomicBool,
}

struct Request {
    ensemble: String,
    params: Value,
    reply: oneshot::Sender<Result<Sampled, String>>,
}

impl Sampler for Models {
    fn sample<'a>(&'a self, ensemble: &'a str, params: Value) -> BoxFuture<'a, Result<Sampled, String>> {
        async move {
            let (reply, answer) = oneshot::channel();
            let request = Request { ensemble: ensemble.to_owned(), params, reply };
            let nobody = || "the model is asked during a turn only".to_owned();
            if !self.serving.load(Ordering::Relaxed) {
                return Err(nobody());
            }
            self.sender.send(request).await.map_err(|_| nobody())?;
            answer.await.unwrap_or_else(|_| Err(nobody()))
        }
        .boxed()
    }
}

/// What they are served with.
pub(crate) struct Around<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) rules: &'a Rules,
    pub(crate) approver: &'a dyn Approver,
    pub(crate) audit: &'a dyn Sink,
    pub(crate) artefacts: Arc<dyn Artefacts>,
    pub(crate) cancel: &'a CancellationToken,
}

impl Models {
    pub(crate) fn new() -> Arc<Self> {
        let (sender, requests) = mpsc::channel(1);
        Arc::new(Self { sender, requests: Mutex::new(requests), serving: AtomicBool::new(false) })
    }

    /// Runs beside the turns of a run, and ends with them.
    pub(crate) async fn serve(&self, around: Around<'_>) -> Infallible {
        let mut requests = self.requests.lock().await;
        self.serving.store(true, Ordering::Relaxed);
        let (mut asked, spent) = (0, AtomicU64::new(0));
        loop {
            let Some(Request { ensemble, params, mut reply }) = requests.recv().await else {
                // The sender lives in `self`.
                return std::future::pending().await;
            };
            asked += 1;
            let sampled = if asked > MOST {
                Err(format!("servers may ask the model {MOST} times in one run"))
            } else {
                let gone = reply.closed();
                around.sampled(&ensemble, &params, (asked, Cost(spent.load(Ordering::Relaxed))), gone).await
            };
            if let Ok(Sampled { cost: Some(cost), .. }) = &sampled {
                spent.fetch_add(cost.0, Ordering::Relaxed);
            }
            let _ = reply.send(sampled);
        }
    }
}

impl Around<'_> {
    /// `gone` resolves when nobody waits for it any more.
    async fn sampled(
        &self,
        ensemble: &str,
        params: &Value,
        (number, spent): (u32, Cost),
        gone: impl Future<Output = ()>,
    ) -> Result<Sampled, String> {
        let (roster, tool) = self.roster(ensemble, spent).await.ok_or("this server is not known any more")?;
        let turn = TurnId(1);
        let invocation = Invocation {
            turn,
            id: InvocationId::of(turn, number as usize),
            wire_id: None,
            tool: tool.to_string(),
            arguments: Arguments::from_object(heeded(params)),
            seal: None,
        };
        let (ruling, halt) = (Asking(Some(self.approver)), Halt::below(self.cancel));
        let alone = Alone { roster: &roster, ruling: &ruling, sink: self.audit, halt: &halt, within: None };
        let mut running = std::pin::pin!(alone.run(invocation, Host::default()));
        let answered = tokio::select! {
            answered = &mut running => answered,
            () = gone => {
                halt.now.cancel();
                running.await
            }
        };
        let result = answered.map_err(|error| error.to_string())?.result;
        match result.content.first() {
            Some(Content::Structured { value }) if result.outcome.is_success() => {
                Ok(Sampled { result: value.clone(), cost: result.cost })
            }
            said => Err(said.and_then(Content::as_text).unwrap_or("the model gave no answer").to_owned()),
        }
    }

    /// One with nothing in it but the model, under the name of the server's ensemble.
    async fn roster(&self, ensemble: &str, spent: Cost) -> Option<(Roster, ToolName)> {
        let plan = self.catalogue.named(ensemble).ok()?;
        let name = ToolName::new(format!("{ensemble}__sampling")).ok()?;
        let model = Arc::new(Model::of(self.settings, spent));
        let connection = Only { model, name: name.clone() };
        let ensembles = vec![Ensemble::new(plan, Box::new(connection))];
        let (roster, failures) =
            Roster::connect(ensembles, self.rules.clone(), Arc::clone(&self.artefacts)).await;
        failures.is_empty().then_some((roster, name))
    }
}

/// What is judged, shown and audited is what the model is asked.
fn heeded(params: &Value) -> Map<String, Value> {
    let told = HEEDED.iter().filter_map(|key| Some(((*key).to_owned(), params.get(*key)?.clone())));
    let mut heeded: Map<String, Value> = told.collect();
    let tokens = params["maxTokens"].as_u64().unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
    heeded.insert("maxTokens".to_owned(), json!(tokens));
    heeded
}

/// A connection to nothing but the model.
struct Only {
    model: Arc<Model>,
    name: ToolName,
}

impl Connection for Only {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let failed = |reason: String| ConnectError { ensemble: ensemble.name.to_string(), reason };
        let tool = InvokerName::new(INVOKER).map_err(|error| failed(error.to_string())).map(|invoker| {
            let policy =
                Policy { timeout: converse_mcp::QUESTION, result_limit: 256 * 1024, ..Policy::default() };
            let arguments = json!({ "type": "object" });
            let model = Arc::clone(&self.model) as Arc<dyn Invocable>;
            let mut tool = ensemble.tool(&invoker, DESCRIPTION.to_owned(), arguments, policy, false, model);
            tool.declaration.name = self.name.clone();
            vec![tool]
        });
        std::future::ready(tool).boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}
