//! The roster: all tools of a run.
//!
//! The roster connects ensembles, shows their tools to models as an [`Offer`], judges invocations and runs the approved
//! ones. The loop, `ensembles call` and the MCP server share `judge`. It returns an [`Approved`] with exactly the arguments
//! that will run, so that nothing else can run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use converse_canister::{Arguments, Digest, Invocation, InvocationResult, Origin, Outcome, SeenData};
use converse_config::Permission;
use converse_text::suggest::near_names;
use futures_util::future::join_all;
use parking_lot::RwLock;

use crate::ensemble::{Acceptance, ConnectError, Ensemble};
use crate::lazy::search;
use crate::named_path::PathUse;
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

/// Ensembles that connections are shared with.
type Ensembles = Arc<[Arc<Ensemble>]>;

pub struct Roster {
    /// Replaced as a whole; see [`Roster::replace`].
    ensembles: Arc<RwLock<Ensembles>>,
    /// Number of changes of the tools, and of those that the offer has.
    changes: Arc<AtomicU64>,
    offered: Arc<AtomicU64>,
    /// The ensembles of this view; `None` for all.
    only: Option<Arc<[String]>>,
    /// See [`Roster::tools_only`].
    tools_only: bool,
    rules: Rules,
    /// Replaced as a whole when tools change. An offer in use stays valid.
    offer: Arc<RwLock<Arc<Offer>>>,
    search: Arc<OnceLock<Arc<Tool>>>,
    pub(crate) artefacts: Arc<dyn Artefacts>,
    /// Locked exclusively by tools that may not run in parallel, and shared by the others.
    pub(crate) gate: Arc<tokio::sync::RwLock<()>>,
    /// Whether a tool that may not run in parallel runs alone in its ensemble only; see [`Roster::serving_many`].
    pub(crate) serves_many: bool,
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
        let ensembles: Ensembles = ensembles.into_iter().map(Arc::new).collect();
        let outcomes = join_all(ensembles.iter().map(|ensemble| ensemble.connect())).await;
        let mut failures = Vec::new();
        for (ensemble, outcome) in ensembles.iter().zip(outcomes) {
            match outcome {
                Ok(found) => ensemble.has(found),
                Err(error) => failures.push(error),
            }
        }
        let (offer, clashes) = Offer::of(&lists(&ensembles, |_| true));
        failures.extend(clashes);
        let roster = Self {
            ensembles: Arc::new(RwLock::new(ensembles)),
            changes: Arc::default(),
            offered: Arc::default(),
            only: None,
            tools_only: false,
            rules: rules.into(),
            offer: Arc::new(RwLock::new(Arc::new(offer))),
            search: Arc::default(),
            artefacts,
            gate: Arc::default(),
            serves_many: false,
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
            changes: Arc::clone(&self.changes),
            offered: Arc::clone(&self.offered),
            only: self.only.clone(),
            tools_only: self.tools_only,
            rules: self.rules.clone(),
            offer: Arc::clone(&self.offer),
            search: Arc::clone(&self.search),
            artefacts: Arc::clone(&self.artefacts),
            gate: Arc::clone(&self.gate),
            serves_many: self.serves_many,
            caller,
            shared: self.shared.clone(),
        }
    }

    /// Returns this roster for clients that know nothing of each other: a tool that may not run in parallel waits for
    /// the tools of its ensemble, and not for those of everybody.
    #[must_use]
    pub fn serving_many(self) -> Self {
        Self { serves_many: true, ..self }
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

    /// Asks every ensemble whether its tools have changed, or have come, and makes a new offer if so. Called before each model
    /// call. Approved invocations run as they were approved. Takes a few seconds at most.
    pub async fn refresh(&self) {
        let ensembles = self.ensembles();
        let asked = ensembles.iter().map(async |ensemble| {
            let Some(found) = ensemble.refresh().await else { return };
            // Taken over at once: whoever asked may be gone before the others have answered.
            // Judged again, because what is accepted may have changed meanwhile.
            ensemble.has(ensemble.held(found));
            self.changes.fetch_add(1, Ordering::Release);
        });
        join_all(asked).await;
        // Another view may have seen the change first.
        self.offer_what_changed();
    }

    fn offer_what_changed(&self) {
        if self.offered.load(Ordering::Acquire) != self.changes.load(Ordering::Acquire) {
            warn_all(&self.offer_anew());
        }
    }

    /// Takes over what the lockfile accepts now, `None` for ensembles for which nothing changes. The next
    /// [`refresh`](Self::refresh()) offers the tools. Approved invocations run as they were approved.
    pub fn accept(&self, accepted: impl Fn(&Ensemble) -> Option<Acceptance>) {
        for ensemble in self.ensembles().iter() {
            if accepted(ensemble).is_some_and(|now| ensemble.accept(now)) {
                self.changes.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Replaces the ensembles, wherever this roster is shared, and offers their tools. Views with an offer of their own
    /// offer them before they judge the next call of a model. Approved invocations run as they were approved: a
    /// connection ends when its ensemble is [idle](Ensemble::is_idle()).
    pub fn replace(&self, ensembles: Vec<Arc<Ensemble>>) {
        *self.ensembles.write() = ensembles.into();
        self.changes.fetch_add(1, Ordering::Release);
        // At once: whatever rules come with them must not judge the tools of before.
        warn_all(&self.offer_anew());
    }

    fn offer_anew(&self) -> Vec<ConnectError> {
        let changes = self.changes.load(Ordering::Acquire);
        let (offer, clashes) = self.offer_of_lists();
        self.show(offer);
        self.offered.store(changes, Ordering::Release);
        clashes
    }

    fn offer_of_lists(&self) -> (Offer, Vec<ConnectError>) {
        Offer::of(&lists(&self.ensembles(), |ensemble| self.has(ensemble)))
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

    /// Returns this roster without what servers offer beside tools.
    #[must_use]
    pub fn tools_only(self) -> Self {
        Self { tools_only: true, ..self }
    }

    /// Returns the ensembles of this view with a server that offers more than tools, in their order.
    pub fn relays(&self) -> Vec<Arc<Ensemble>> {
        let shown =
            |ensemble: &Ensemble| !self.tools_only && self.has(ensemble) && ensemble.relay().is_some();
        self.ensembles().iter().filter(|ensemble| shown(ensemble)).cloned().collect()
    }

    /// Returns whether the view has this ensemble.
    fn has(&self, ensemble: &Ensemble) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == ensemble.name.as_str()))
    }

    /// Returns the roster of the tools by which a gateway reads what servers offer beside tools
    /// ([`Relay::readers`](crate::Relay::readers())), under the same rules. It is never refreshed.
    #[must_use]
    pub fn readers(&self) -> Self {
        let readers = |ensemble: &Arc<Ensemble>| {
            Some(ensemble.relay()?.readers(ensemble).into_iter().map(Arc::new).collect())
        };
        let (offer, _) = Offer::of(&self.relays().iter().map(readers).collect::<Vec<_>>());
        Self { offer: Arc::new(RwLock::new(Arc::new(offer))), ..self.for_caller(self.caller) }
    }

    /// Returns this roster with other rules for its calls. What is offered stays shared.
    #[must_use]
    pub fn judged_by(&self, rules: Rules) -> Self {
        Self { rules, ..self.for_caller(self.caller) }
    }

    /// Returns whether a model is offered a tool with this name, and not each of its calls is denied.
    pub fn can_run(&self, name: &str) -> bool {
        self.offer().find(name).is_some_and(|tool| self.rules.can_run()(tool))
    }

    /// Returns all ensembles, connected or not.
    pub fn ensembles(&self) -> Arc<[Arc<Ensemble>]> {
        Arc::clone(&self.ensembles.read())
    }

    /// Returns this roster for one turn, which keeps long texts and pictures of results in its own place.
    #[must_use]
    pub fn keeping(&self, artefacts: Arc<dyn Artefacts>) -> Self {
        Self { artefacts, ..self.for_caller(self.caller) }
    }

    /// Returns all tools of an ensemble, including those that are held back, or `None` if it is not connected.
    pub fn tools_of(&self, ensemble: &str) -> Option<Vec<Arc<Tool>>> {
        self.ensembles().iter().find(|one| one.name.as_str() == ensemble)?.tools()
    }

    /// Returns the ensembles of this view whose servers have instructions that models may see.
    pub fn instructing(&self) -> Vec<Arc<Ensemble>> {
        let instructs = |ensemble: &Ensemble| self.has(ensemble) && ensemble.instructions().is_some();
        self.ensembles().iter().filter(|ensemble| instructs(ensemble)).cloned().collect()
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
        // A turn has a view of its own, which may not have offered since tools were replaced or taken away.
        self.offer_what_changed();
        let instructing = self.instructing();
        if instructing.is_empty() {
            return self.judge_with(invocation, seen);
        }
        let mut seen = seen.clone();
        instructing.iter().for_each(|ensemble| seen.add_foreign(Origin::server(ensemble.name.as_str())));
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
        let open = Arc::clone(&tool.calls.open);
        let approved = Approved { id, tool: Arc::clone(tool), arguments, named, paths, rule, _open: open };
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

    /// Returns the file that an invocation of a built-in tool would write, as it is found now.
    pub fn written_file(&self, invocation: &Invocation) -> Option<PathBuf> {
        let offer = self.offer();
        let tool = offer.find(&invocation.tool).filter(|tool| tool.builtin)?;
        let named = tool.named_path(&invocation.arguments.object)?;
        (named.used == PathUse::Write).then_some(named.path)
    }

    /// Returns whether the tool of an invocation only reads, according to its declaration. One that is not offered may do
    /// anything.
    pub fn only_reads(&self, invocation: &Invocation) -> bool {
        self.offer().find(&invocation.tool).is_some_and(|tool| tool.reads())
    }

    /// Returns the shared rules: rules that are added to them count here too.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Ends all connections in parallel. Takes seconds at most.
    pub async fn disconnect(&self) {
        join_all(self.ensembles().iter().map(|ensemble| ensemble.disconnect())).await;
    }
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").field("ensembles", &self.ensembles()).finish_non_exhaustive()
    }
}

/// The tools of each ensemble that is wanted, or `None` if it could not be connected.
fn lists(ensembles: &Ensembles, is_wanted: impl Fn(&Ensemble) -> bool) -> Vec<Option<Vec<Arc<Tool>>>> {
    ensembles.iter().map(|ensemble| ensemble.tools().filter(|_| is_wanted(ensemble))).collect()
}

fn warn_all(clashes: &[ConnectError]) {
    clashes.iter().for_each(|clash| tracing::warn!("{clash}"));
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
