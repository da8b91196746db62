//! [`Models`]: the model for servers with `sampling = true`: the conversation's own, one request at a time.
//!
//! A request is checked, approved and audited as an invocation of `ENSEMBLE.sampling/createMessage`. Its cost counts
//! for the call during which the server asked.

mod model;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::{Arguments, Content, Cost, Invocation, InvocationId, InvokerName, ToolName};
use converse_config::{Permission, Policy};
use converse_engine::{Approver, AskApprover, SingleInvocation, Sink, TurnCosts};
use converse_ensemble::{
    Artefacts, CancelScope, ConnectError, Connection, CostMeter, Ensemble, Host, Invocable, PendingCost,
    Roster, Rules, Tool,
};
use converse_mcp::Sampler;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::settings::Settings;

use model::Model;

/// Limits: requests per run, and tokens per answer.
const MOST: u32 = 10;
const MAX_TOKENS: u64 = 4096;
const INVOKER: &str = "sampling/createMessage";
/// A rule must name this explicitly to allow it, because the author of `e.*` meant the tools of `e`.
const SPELLED: &str = "sampling/";
const DESCRIPTION: &str = "A server of tools asks the model on its own account";
/// The fields of a request that are used. Others (model preferences, context of other servers) are ignored.
const HEEDED: [&str; 5] = ["systemPrompt", "messages", "maxTokens", "temperature", "stopSequences"];

/// The queue of requests from servers.
pub struct Models {
    sender: mpsc::Sender<Request>,
    requests: Mutex<mpsc::Receiver<Request>>,
    /// Whether a turn is running, so that requests are answered.
    serving: AtomicBool,
}

crate::opaque_debug!(Models);

struct Request {
    ensemble: String,
    params: Value,
    meter: CostMeter,
    /// Held until all costs are recorded.
    _order: PendingCost,
    reply: oneshot::Sender<Result<Value, String>>,
}

impl Sampler for Models {
    fn sample<'a>(
        &'a self,
        ensemble: &'a str,
        params: Value,
        meter: CostMeter,
    ) -> BoxFuture<'a, Result<Value, String>> {
        async move {
            let (reply, answer) = oneshot::channel();
            let _order = meter.begin();
            let request = Request { ensemble: ensemble.to_owned(), params, meter, _order, reply };
            let nobody = || "the model can be asked only during a turn".to_owned();
            if !self.serving.load(Ordering::Relaxed) {
                return Err(nobody());
            }
            self.sender.send(request).await.map_err(|_| nobody())?;
            answer.await.unwrap_or_else(|_| Err(nobody()))
        }
        .boxed()
    }
}

/// What requests are answered with.
pub struct Around<'a> {
    pub settings: &'a Settings,
    pub catalogue: &'a Catalogue,
    pub rules: &'a Rules,
    pub approver: &'a dyn Approver,
    pub audit: &'a dyn Sink,
    pub artefacts: Arc<dyn Artefacts>,
    /// Spending of the turns, beside that of requests.
    pub spent: &'a TurnCosts,
    pub cancel: &'a CancellationToken,
}

crate::opaque_debug!(Around<'_>);

impl Models {
    pub fn new() -> Arc<Self> {
        let (sender, requests) = mpsc::channel(1);
        Arc::new(Self { sender, requests: Mutex::new(requests), serving: AtomicBool::new(false) })
    }

    /// Runs beside the turns of a run and ends with them.
    pub async fn serve(&self, around: Around<'_>) -> Infallible {
        let mut requests = self.requests.lock().await;
        let _serving = Serving::begin(&self.serving);
        let (mut asked, mut bills) = (0, Bills::default());
        loop {
            let Some(mut request) = requests.recv().await else {
                // `self` holds a sender.
                return std::future::pending().await;
            };
            asked += 1;
            bills.open(&request.meter);
            let sampled = if asked > MOST {
                Err(format!("servers can ask the model at most {MOST} times in one run"))
            } else {
                around.sampled(&mut request, asked, &bills).await
            };
            // The receiver may read the meter.
            let Request { reply, .. } = request;
            let _ = reply.send(sampled);
        }
    }
}

/// Answers requests until dropped.
struct Serving<'a>(&'a AtomicBool);

impl<'a> Serving<'a> {
    fn begin(serving: &'a AtomicBool) -> Self {
        serving.store(true, Ordering::Relaxed);
        Self(serving)
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Costs of requests that are not paid yet.
#[derive(Default)]
struct Bills {
    meters: Vec<CostMeter>,
    /// Whether a request had an unknown cost.
    unknown: Arc<AtomicBool>,
}

impl Bills {
    fn open(&mut self, meter: &CostMeter) {
        if !self.meters.iter().any(|known| known.is(meter)) {
            self.meters.push(meter.clone());
        }
    }

    fn due(&self) -> Cost {
        self.meters.iter().filter_map(CostMeter::due).fold(Cost(0), Cost::plus)
    }
}

impl Around<'_> {
    async fn sampled(&self, request: &mut Request, number: u32, bills: &Bills) -> Result<Value, String> {
        let Request { ensemble, params, meter, reply, .. } = request;
        let model = Model::of(self.settings, self.left(bills)?, meter.clone(), Arc::clone(&bills.unknown));
        let (roster, tool) = self.roster(ensemble, model).await.ok_or("the server is no longer known")?;
        let turn = self.spent.turn();
        // Ids differ from those of calls by the model.
        let id = InvocationId::new(format!("inv_{}_s{number}", turn.0)).map_err(|error| error.to_string())?;
        let arguments = Arguments::from_object(heeded(params));
        let invocation =
            Invocation { turn, id, wire_id: None, tool: tool.to_string(), arguments, seal: None };
        let (policy, scope) = (AskApprover(Some(self.approver)), CancelScope::below(self.cancel));
        let single = SingleInvocation {
            roster: &roster,
            policy: &policy,
            sink: self.audit,
            scope: &scope,
            within: None,
        };
        let mut running = std::pin::pin!(single.run(invocation, Host::default()));
        let answered = tokio::select! {
            answered = &mut running => answered,
            // The server has cancelled.
            () = reply.closed() => {
                scope.now.cancel();
                running.await
            }
        };
        let result = answered.map_err(|error| error.to_string())?.result;
        match result.content.first() {
            Some(Content::Structured { value }) if result.outcome.is_success() => Ok(value.clone()),
            said => Err(said.and_then(Content::as_text).unwrap_or("the model gave no answer").to_owned()),
        }
    }

    /// Returns the rest of the cost limit, if there is one.
    fn left(&self, bills: &Bills) -> Result<Option<Cost>, String> {
        let Some(most) = self.settings.limits.cost else { return Ok(None) };
        let known = self.spent.most().filter(|_| !bills.unknown.load(Ordering::Relaxed));
        let spent =
            known.ok_or("the cost limit cannot be enforced, because the cost of a reply is unknown")?;
        match most.0.saturating_sub(spent.plus(bills.due()).0) {
            0 => Err(model::REACHED.to_owned()),
            left => Ok(Some(Cost(left))),
        }
    }

    /// Builds an ensemble that contains only the model, with the name of the server's ensemble.
    async fn roster(&self, ensemble: &str, model: Model) -> Option<(Roster, ToolName)> {
        let plan = self.catalogue.named(ensemble).ok()?;
        let name = ToolName::new(format!("{ensemble}__sampling")).ok()?;
        let connection = Only { model: Arc::new(model), name: name.clone() };
        let ensembles = vec![Ensemble::new(plan, Box::new(connection))];
        let called = format!("{ensemble}.{INVOKER}");
        let rules = self
            .rules
            .only(|rule| rule.permission != Permission::Allow || rule.names_explicitly(&called, SPELLED));
        let (roster, failures) = Roster::connect(ensembles, rules, Arc::clone(&self.artefacts)).await;
        failures.is_empty().then_some((roster, name))
    }
}

/// The arguments that are checked, shown and audited are those that the model gets.
fn heeded(params: &Value) -> Map<String, Value> {
    let told = HEEDED.iter().filter_map(|key| Some(((*key).to_owned(), params.get(*key)?.clone())));
    let mut heeded: Map<String, Value> = told.collect();
    let tokens = params["maxTokens"].as_u64().unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
    heeded.insert("maxTokens".to_owned(), json!(tokens));
    heeded
}

/// A connection to the model alone.
struct Only {
    model: Arc<Model>,
    name: ToolName,
}

impl Connection for Only {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let failed = |reason: String| ConnectError { ensemble: ensemble.name.to_string(), reason };
        let tool = InvokerName::new(INVOKER).map_err(|error| failed(error.to_string())).map(|invoker| {
            let policy = Policy {
                timeout: converse_mcp::QUESTION_TIMEOUT,
                result_limit: 256 * 1024,
                ..Policy::default()
            };
            let arguments = json!({ "type": "object" });
            let model = Arc::clone(&self.model) as Arc<dyn Invocable>;
            let mut tool = ensemble.tool(&invoker, DESCRIPTION.to_owned(), arguments, policy, false, model);
            tool.declaration.name = self.name.clone();
            vec![tool]
        });
        std::future::ready(tool).boxed()
    }
}
