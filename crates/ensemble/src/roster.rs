//! The roster: all tools of a run.
//!
//! The roster connects ensembles, shows their tools to models as an [`Offer`], judges invocations and runs the approved
//! ones. The loop, `ensembles call` and the MCP server share `judge`. It returns an [`Approved`] with exactly the arguments
//! that will run, so that nothing else can run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use converse_canister::{
    Arguments, Digest, EnsembleName, Invocation, InvocationResult, Origin, Outcome, SeenData,
};
use converse_config::Permission;
use converse_text::suggest::near_names;
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::ensemble::{ConnectError, Ensemble};
use crate::instructions::Instructions;
use crate::lazy::search;
use crate::offer::Offer;
use crate::rules::Rules;
use crate::shared::SharedRuns;
use crate::tool::Tool;
use crate::verdict::{Approved, Denied, Pending, Verdict, check_arguments};

/// Keeps bytes for a session: the full text of a result that was cut for the model, a picture that a result refers to.
pub trait Artefacts: Send + Sync {
    /// Returns the digest of the bytes, or `None` if they could not be kept.
    fn keep(&self, bytes: &[u8]) -> Option<Digest>;
}

/// Keeps nothing: for runs without a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoArtefacts;

impl Artefacts for NoArtefacts {
    fn keep(&self, _: &[u8]) -> Option<Digest> {
        None
    }
}

/// The tools of each ensemble, or `None` if it could not be connected.
type Lists = Vec<Option<Vec<Arc<Tool>>>>;

pub struct Roster {
    ensembles: Arc<Vec<Ensemble>>,
    tools: Arc<Mutex<Lists>>,
    /// Number of changes of the tools, and of those that the offer has.
    changes: Arc<AtomicU64>,
    offered: Arc<AtomicU64>,
    /// The ensembles of this view; `None` for all.
    only: Option<Arc<[String]>>,
    rules: Rules,
    /// Replaced as a whole when tools change. An offer in use stays valid.
    offer: Arc<RwLock<Arc<Offer>>>,
    search: Arc<OnceLock<Arc<Tool>>>,
    pub(crate) artefacts: Arc<dyn Artefacts>,
    /// Locked exclusively by tools that may not run in parallel, and shared by the others.
    pub(crate) gate: Arc<tokio::sync::RwLock<()>>,
    /// The conversation that calls through this roster; see [`Roster::for_caller`].
    pub(crate) caller: usize,
    /// Where equal calls of several conversations run once; see [`Roster::sharing`].
    pub(crate) shared: Option<SharedRuns>,
}

impl Roster {
    /// Connects all ensembles in parallel. An ensemble that fails is left out and reported. Two tools with the same shown
    /// name are both left out and reported.
    pub async fn connect(
        ensembles: Vec<Ensemble>,
        rules: impl Into<Rules>,
        artefacts: Arc<dyn Artefacts>,
    ) -> (Self, Vec<ConnectError>) {
        let outcomes = join_all(ensembles.iter().map(Ensemble::connect)).await;
        let mut failures = Vec::new();
        let mut tools = Vec::new();
        for outcome in outcomes {
            tools.push(match outcome {
                Ok(found) => Some(found.into_iter().map(Arc::new).collect()),
                Err(error) => {
                    failures.push(error);
                    None
                }
            });
        }
        let (offer, clashes) = Offer::of(&tools);
        failures.extend(clashes);
        let roster = Self {
            ensembles: Arc::new(ensembles),
            tools: Arc::new(Mutex::new(tools)),
            changes: Arc::default(),
            offered: Arc::default(),
            only: None,
            rules: rules.into(),
            offer: Arc::new(RwLock::new(Arc::new(offer))),
            search: Arc::default(),
            artefacts,
            gate: Arc::default(),
            caller: 0,
            shared: None,
        };
        (roster, failures)
    }

    /// Returns this roster for one of several conversations: each call says which conversation made it
    /// ([`Host::caller`](crate::Host::caller())). Tools, rules, changes and the gate are shared.
    #[must_use]
    pub fn for_caller(&self, caller: usize) -> Self {
        Self {
            ensembles: Arc::clone(&self.ensembles),
            tools: Arc::clone(&self.tools),
            changes: Arc::clone(&self.changes),
            offered: Arc::clone(&self.offered),
            only: self.only.clone(),
            rules: self.rules.clone(),
            offer: Arc::clone(&self.offer),
            search: Arc::clone(&self.search),
            artefacts: Arc::clone(&self.artefacts),
            gate: Arc::clone(&self.gate),
            caller,
            shared: self.shared.clone(),
        }
    }

    /// Returns the number of the conversation that calls through this roster.
    pub fn caller(&self) -> usize {
        self.caller
    }

    /// Returns this roster for one of several conversations whose equal calls run once.
    #[must_use]
    pub fn sharing(&self, runs: &SharedRuns, caller: usize) -> Self {
        Self { shared: Some(runs.clone()), ..self.for_caller(caller) }
    }

    /// Takes in a call that this conversation made with these arguments before the runs were shared: an equal call of
    /// another conversation gets the same result.
    pub fn recall(&self, invocation: &Invocation, arguments: &Arguments, result: &InvocationResult) {
        let offer = self.offer();
        if let (Some(runs), Some(tool)) = (&self.shared, offer.find(&invocation.tool))
            && let Ok(arguments) = check_arguments(tool, arguments)
        {
            runs.recall(self.caller, tool, &arguments, result);
        }
    }

    /// Returns a roster of these ensembles (`None` for all) with rules of its own, for conversations with other settings.
    /// Connections are shared, and so are changes of the tools.
    #[must_use]
    pub fn view(&self, only: Option<&[String]>, rules: Rules) -> Self {
        let view = Self {
            offered: Arc::default(),
            only: only.map(Into::into),
            rules,
            offer: Arc::default(),
            search: Arc::default(),
            ..self.for_caller(self.caller)
        };
        view.offer_anew();
        view
    }

    /// Asks every connected ensemble whether its tools have changed, and makes a new offer if so. Called before each model
    /// call. Approved invocations run as they were approved. Takes a few seconds at most.
    pub async fn refresh(&self) {
        let connected: Vec<bool> = self.lists().iter().map(Option::is_some).collect();
        let asked = self
            .ensembles
            .iter()
            .zip(connected)
            .map(async |(ensemble, connected)| if connected { ensemble.refresh().await } else { None });
        let news = join_all(asked).await;
        if news.iter().any(Option::is_some) {
            let mut lists = self.lists();
            for (list, news) in lists.iter_mut().zip(news) {
                if let Some(found) = news {
                    *list = Some(found.into_iter().map(Arc::new).collect());
                }
            }
            self.changes.fetch_add(1, Ordering::Release);
        }
        // Another view may have seen the change first.
        if self.offered.load(Ordering::Acquire) != self.changes.load(Ordering::Acquire) {
            for clash in self.offer_anew() {
                tracing::warn!("{clash}");
            }
        }
    }

    fn offer_anew(&self) -> Vec<ConnectError> {
        let changes = self.changes.load(Ordering::Acquire);
        let (offer, clashes) = self.offer_of_lists();
        self.show(offer);
        self.offered.store(changes, Ordering::Release);
        clashes
    }

    fn offer_of_lists(&self) -> (Offer, Vec<ConnectError>) {
        let lists = self.lists();
        let Some(only) = &self.only else { return Offer::of(&lists) };
        let wanted = |ensemble: &Ensemble| only.iter().any(|name| name == ensemble.name.as_str());
        let of_view = |(ensemble, list): (&Ensemble, &Option<_>)| list.clone().filter(|_| wanted(ensemble));
        Offer::of(&self.ensembles.iter().zip(lists.iter()).map(of_view).collect::<Vec<_>>())
    }

    fn show(&self, mut offer: Offer) {
        offer.search_by(self.search.get(), &self.rules);
        *self.offer.write() = Arc::new(offer);
    }

    /// Adds a tool to the offer that searches the others, for conversations with a model.
    pub fn searchable(&self) {
        let Some(search) = search(&self.offer, &self.rules) else { return };
        if self.search.set(Arc::new(search)).is_err() {
            return;
        }
        // Before anybody looks at it, it need not be made anew.
        if let Some(offer) = Arc::get_mut(&mut self.offer.write()) {
            offer.search_by(self.search.get(), &self.rules);
            return;
        }
        self.show(self.offer_of_lists().0);
    }

    /// Returns the same tools with other rules.
    #[must_use]
    pub fn with_rules(&self, rules: Rules) -> Self {
        self.view(self.only.as_deref(), rules)
    }

    /// Returns this roster with other rules for its calls. What is offered stays shared.
    #[must_use]
    pub fn judged_by(&self, rules: Rules) -> Self {
        Self { rules, ..self.for_caller(self.caller) }
    }

    /// Returns all ensembles, connected or not.
    pub fn ensembles(&self) -> &[Ensemble] {
        &self.ensembles
    }

    /// Returns this roster for one turn, which keeps long texts and pictures of results in its own place.
    #[must_use]
    pub fn keeping(&self, artefacts: Arc<dyn Artefacts>) -> Self {
        Self { artefacts, ..self.for_caller(self.caller) }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.tools.lock()
    }

    /// Returns all tools of an ensemble, including those that are held back, or `None` if it is not connected.
    pub fn tools_of(&self, ensemble: &str) -> Option<Vec<Arc<Tool>>> {
        let place = self.ensembles.iter().position(|one| one.name.as_str() == ensemble)?;
        self.lists().get(place)?.clone()
    }

    /// Returns the instructions of this view's servers that models may see.
    pub fn instructions(&self) -> impl Iterator<Item = (&EnsembleName, &Instructions)> {
        let is_seen = |ensemble: &&Ensemble| {
            let only = self.only.as_ref();
            only.is_none_or(|only| only.iter().any(|name| name == ensemble.name.as_str()))
        };
        let seen = self.ensembles.iter().filter(is_seen);
        seen.filter_map(|ensemble| Some((&ensemble.name, ensemble.instructions()?)))
    }

    /// Returns the ensembles whose instructions are not shown, because they were not accepted.
    pub fn without_instructions(&self) -> impl Iterator<Item = &EnsembleName> {
        self.ensembles.iter().filter(|ensemble| ensemble.holds_instructions()).map(|ensemble| &ensemble.name)
    }

    /// Returns the offer since the last [`refresh`](Self::refresh()).
    pub fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.read())
    }

    /// Parses the arguments, checks them against the schema and asks the rules, in this order, so that no user is asked
    /// about arguments that could not run.
    pub fn judge(&self, invocation: &Invocation) -> Verdict {
        self.judge_with(invocation, &SeenData::default())
    }

    /// The same for a call of a model that has seen this data, and the instructions of the servers.
    pub fn judge_after(&self, invocation: &Invocation, seen: &SeenData) -> Verdict {
        let mut origins =
            self.instructions().map(|(ensemble, _)| Origin::server(ensemble.as_str())).peekable();
        if origins.peek().is_none() {
            return self.judge_with(invocation, seen);
        }
        let mut seen = seen.clone();
        origins.for_each(|origin| seen.add_foreign(origin));
        self.judge_with(invocation, &seen)
    }

    fn judge_with(&self, invocation: &Invocation, seen: &SeenData) -> Verdict {
        let answered = |outcome, text: String, rule| {
            let result = InvocationResult::new(invocation.id.clone(), outcome, text);
            Verdict::Answered(Denied { result, rule })
        };
        let offer = self.offer();
        let Some(tool) = offer.find(&invocation.tool) else {
            let held = offer.held_back().find(|tool| tool.declaration.name.as_str() == invocation.tool);
            let text = held.map_or_else(|| no_such_tool(&offer, &invocation.tool), held_back);
            return answered(Outcome::NoSuchTool, text, None);
        };
        let arguments = match check_arguments(tool, &invocation.arguments) {
            Ok(arguments) => arguments,
            Err(fault) => return answered(Outcome::Invalid, fault, None),
        };
        let named = tool.named_path(&arguments.object);
        let judgement = self.rules.judge_call(tool, &arguments.object, named.as_ref());
        let judgement = self.rules.judge_flow(seen, tool, judgement);
        let paths = self.rules.path_policy(tool, &arguments.object, named.as_ref());
        let (id, rule) = (invocation.id.clone(), judgement.rule.clone());
        let approved = Approved { id, tool: Arc::clone(tool), arguments, named, paths, rule };
        match judgement.permission {
            Permission::Allow => Verdict::Allowed(approved),
            Permission::Ask => Verdict::Ask(Pending::of(approved, judgement, &self.rules)),
            Permission::Deny => {
                let because = judgement.because();
                let text = format!("refused: not allowed by the rule {because}; nothing was run");
                answered(Outcome::Refused, text, Some(judgement.rule))
            }
        }
    }

    /// Returns the shared rules: rules that are added to them count here too.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Ends all connections in parallel. Takes seconds at most.
    pub async fn disconnect(&self) {
        join_all(self.ensembles.iter().map(Ensemble::disconnect)).await;
    }
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").field("ensembles", &self.ensembles).finish_non_exhaustive()
    }
}

fn held_back(tool: &Tool) -> String {
    tool.hold_reason(tool.declaration.name.as_str()).unwrap_or_default()
}

fn no_such_tool(offer: &Offer, asked: &str) -> String {
    let names: Vec<&str> = offer.declarations.iter().map(|d| d.name.as_str()).collect();
    let shown: String = asked.chars().take(80).collect();
    let near = near_names(asked, &names, 10);
    match (near.is_empty(), names.is_empty()) {
        (_, true) => format!("there is no tool `{shown}`: no tools are offered"),
        (true, false) => format!("there is no tool `{shown}`"),
        (false, false) => format!("there is no tool `{shown}`; the nearest are: {}", near.join(", ")),
    }
}
