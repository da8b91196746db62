//! The state that all clients share: the roster, the limits and the shutdown.

#![expect(deprecated, reason = "clients in use still read logging")]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use converse_canister::{Blobs, EnsembleName, InvocationId, TurnId, ViewName};
use converse_config::{BudgetPlan, Rule, ViewPlan};
use converse_engine::{CallSpans, Sink};
use converse_ensemble::{Ensemble, Roster};
use converse_text::suggest::nearest;
use parking_lot::{Mutex, RwLock};
use rmcp::model::LoggingLevel;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budgets::Budgets;
use crate::caller::Caller;
use crate::counters::Counters;
use crate::notices::{Followed, LogLevels, Subscriptions};
use crate::offers::OfferLists;
use crate::principal::Principal;
use crate::queue::Queue;
use crate::served_tools::{NameConflict, ServedTools};
use crate::tasks::Tasks;
use crate::upstreams::{ServedUpstream, Upstreams};
use crate::view::{UnknownView, View, ViewPlans, warn};

/// Minimum time between two checks of the upstream servers for changed tools, and between two lists of other offers.
pub(crate) const REFRESH: Duration = Duration::from_secs(1);

/// What a gateway is built from.
pub struct GatewayParts {
    pub roster: Roster,
    /// The servers whose connections are kept open; [`Gateway::follow_upstreams`] takes over their tools.
    pub upstreams: Upstreams,
    pub audit: Arc<dyn Audit>,
    /// Content of results, such as images and audio.
    pub blobs: Arc<dyn Blobs>,
    /// The receiver of the calls' spans, if any.
    pub spans: Option<Arc<dyn CallSpans>>,
    /// Whether tools are served without the prefix `ensemble__`.
    pub bare_names: bool,
    pub views: Vec<ViewPlan>,
    /// Maximum number of calls that run at once; further calls wait.
    pub max_calls: usize,
    /// What each principal may take in a minute and in a day.
    pub budget: BudgetPlan,
    /// The version of the program.
    pub version: String,
}

/// What a gateway serves from now on.
#[derive(Debug)]
pub struct Change {
    /// The rules of the user who runs the gateway, if they have changed.
    pub rules: Option<Vec<Rule>>,
    /// The views, if they have changed.
    pub views: Option<Vec<ViewPlan>>,
    /// What each principal may take in a minute and in a day, if that has changed.
    pub budget: Option<BudgetPlan>,
    pub ensembles: Vec<Arc<Ensemble>>,
    pub upstreams: Vec<ServedUpstream>,
}

/// Gives each caller a sink for the records of its calls.
pub trait Audit: Send + Sync {
    fn sink_for(&self, caller: &Caller) -> Arc<dyn Sink>;

    /// Returns whether records can be written, as far as known. While they cannot, every call is refused.
    fn is_writable(&self) -> bool {
        true
    }

    /// Number of times that records could not be written any more.
    fn failures(&self) -> u64 {
        0
    }
}

/// The roster as an MCP server, for any number of clients. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
    /// What this client sees.
    pub(crate) view: Arc<View>,
    /// The lowest level of log messages that this client receives.
    level: Arc<AtomicU8>,
    /// The resources that this client is subscribed to.
    pub(crate) subscribed: Arc<Mutex<HashMap<String, Followed>>>,
}

pub(crate) struct Shared {
    pub(crate) parts: GatewayParts,
    /// The views of the settings.
    plans: ViewPlans,
    /// The same, and those that were among them since the start: a client may be left that sees them.
    views: RwLock<BTreeMap<ViewName, Arc<View>>>,
    /// All tools.
    whole: Arc<View>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Queue,
    pub(crate) budgets: Budgets<Principal>,
    /// The calls that clients poll.
    pub(crate) tasks: Tasks,
    /// All open calls, including waiting calls.
    pub(crate) calls: TaskTracker,
    /// Cancelled when clients can no longer answer questions.
    unheard: CancellationToken,
    /// Cancelled when no more calls are accepted.
    closing: CancellationToken,
    /// Cancelled when running calls must stop.
    pub(crate) cancel: CancellationToken,
    turns: AtomicU64,
    /// What servers offer beside tools.
    pub(crate) offers: OfferLists,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) log_levels: LogLevels,
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// Number of changes of the tools so far, and whether clients hear of the last one.
    changes: watch::Sender<(u64, bool)>,
    /// Whether a client has listed the tools or waits for changes. Before that, no change is announced.
    listed: AtomicBool,
}

impl Gateway {
    /// Creates a gateway.
    ///
    /// # Errors
    ///
    /// Fails if two tools would have the same name.
    pub fn new(parts: GatewayParts) -> Result<Self, NameConflict> {
        let (whole, conflicts) = View::new(&parts.roster, None, parts.bare_names);
        if let Some(conflict) = conflicts.into_iter().next() {
            return Err(conflict);
        }
        let calls = TaskTracker::new();
        calls.close();
        let views = parts.views.iter().map(|plan| {
            let (view, conflicts) = View::new(&parts.roster, Some(plan.clone()), parts.bare_names);
            warn(&conflicts);
            (plan.name.clone(), Arc::new(view))
        });
        let views = RwLock::new(views.collect());
        let view = Arc::new(whole);
        let shared = Shared {
            plans: ViewPlans::new(parts.views.clone()),
            views,
            whole: Arc::clone(&view),
            counters: Arc::new(Counters::new(parts.upstreams.clone()).with_audit(Arc::clone(&parts.audit))),
            queue: Queue::new(parts.max_calls),
            budgets: Budgets::new(parts.budget),
            tasks: Tasks::default(),
            calls,
            unheard: CancellationToken::new(),
            closing: CancellationToken::new(),
            cancel: CancellationToken::new(),
            turns: AtomicU64::new(0),
            offers: OfferLists::default(),
            subscriptions: Subscriptions::default(),
            log_levels: LogLevels::default(),
            refreshed: tokio::sync::Mutex::default(),
            changes: watch::Sender::new((0, false)),
            listed: AtomicBool::new(false),
            parts,
        };
        Ok(Self { shared: Arc::new(shared), view, level: Arc::default(), subscribed: Arc::default() })
    }

    /// Returns a gateway for another client, with its own log level.
    #[must_use]
    pub fn for_client(&self) -> Self {
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(&self.view));
        Self { shared, view, level: Arc::default(), subscribed: Arc::default() }
    }

    /// Returns a gateway for the clients of a view.
    ///
    /// # Errors
    ///
    /// Fails if there is no view of this name.
    pub fn view(&self, name: &str) -> Result<Self, UnknownView> {
        let (plans, views) = (self.shared.plans.all(), self.shared.views.read());
        let plan = plans.iter().find(|plan| plan.name.as_str() == name);
        let named = plan.and_then(|plan| views.get(&plan.name)).map(Arc::clone);
        let near = || nearest(name, plans.iter().map(|plan| plan.name.as_str())).map(str::to_owned);
        let view = named.ok_or_else(|| UnknownView { name: name.to_owned(), near: near() })?;
        Ok(Self { view, ..self.for_client() })
    }

    /// Returns the views as they are at any time.
    pub fn view_plans(&self) -> &ViewPlans {
        &self.shared.plans
    }

    /// Returns a gateway for the clients of each view.
    pub fn views(&self) -> Vec<(ViewName, Self)> {
        let named = |plan: &ViewPlan| Some((plan.name.clone(), self.view(plan.name.as_str()).ok()?));
        let mut views: Vec<_> = self.shared.plans.all().iter().filter_map(named).collect();
        views.sort_by(|(one, _), (other, _)| one.cmp(other));
        views
    }

    /// Stops asking clients: their answers could no longer be received. Calls that wait for an answer get a refusal.
    pub fn stop_asking(&self) {
        self.shared.unheard.cancel();
    }

    /// Cancelled when clients can no longer answer questions.
    pub(crate) fn unheard(&self) -> CancellationToken {
        self.shared.unheard.clone()
    }

    /// Stops accepting calls. Running calls continue.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }

    pub fn is_closing(&self) -> bool {
        self.shared.closing.is_cancelled()
    }

    /// Resolves when no more calls are accepted.
    pub async fn closing(&self) {
        self.shared.closing.cancelled().await;
    }

    /// Number of running and waiting calls.
    pub fn running(&self) -> usize {
        self.shared.calls.len()
    }

    /// Resolves when no call is running or waiting.
    pub async fn idle(&self) {
        self.shared.calls.wait().await;
    }

    /// Cancels the running calls. Each call is answered within seconds.
    pub fn cancel_calls(&self) {
        self.shared.cancel.cancel();
    }

    /// The counters for all clients.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    pub(crate) fn max_calls(&self) -> usize {
        self.shared.parts.max_calls
    }

    pub(crate) fn version(&self) -> &str {
        &self.shared.parts.version
    }

    /// Returns ids that no other call of this gateway has.
    pub(crate) fn next_ids(&self) -> (TurnId, InvocationId) {
        let turn = TurnId(self.shared.turns.fetch_add(1, Ordering::Relaxed) + 1);
        (turn, InvocationId::of(turn, 0))
    }

    /// Sets the lowest level of log messages for the client.
    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Returns the lowest level of log messages that this client receives, as it is set at any time.
    pub(crate) fn log_threshold(&self) -> Arc<AtomicU8> {
        Arc::clone(&self.level)
    }

    /// The tools that this client is served now.
    pub(crate) fn served_tools(&self) -> Arc<ServedTools> {
        self.view.served_tools()
    }

    /// Updates the tools after changes of upstream servers, at most once a second.
    pub async fn refresh(&self) {
        let Ok(mut refreshed) = self.shared.refreshed.try_lock() else { return };
        if refreshed.is_none_or(|last| last.elapsed() >= REFRESH) {
            self.refresh_roster(&mut refreshed).await;
        }
    }

    /// Updates the tools at once, after a change was found. A client that only calls tools never lists them.
    pub async fn refresh_now(&self) {
        self.refresh_roster(&mut *self.shared.refreshed.lock().await).await;
    }

    async fn refresh_roster(&self, refreshed: &mut Option<Instant>) {
        let roster = &self.shared.parts.roster;
        let before = roster.offer();
        roster.refresh().await;
        *refreshed = Some(Instant::now());
        if !Arc::ptr_eq(&before, &roster.offer()) {
            self.announce();
        }
    }

    /// Says that the tools have changed.
    fn announce(&self) {
        let is_listed = self.shared.listed.load(Ordering::Relaxed);
        self.shared.changes.send_modify(|(changes, is_announced)| {
            *changes += 1;
            *is_announced = is_listed;
        });
    }

    /// Announces changes of the tools from now on: a client has listed them.
    pub(crate) fn announce_changes(&self) {
        self.shared.listed.store(true, Ordering::Relaxed);
    }

    /// The servers behind the gateway.
    pub fn upstreams(&self) -> &Upstreams {
        &self.shared.parts.upstreams
    }

    /// Takes over the tools of servers when they are connected, until the future is dropped.
    pub async fn follow_upstreams(&self) {
        let upstreams = self.upstreams();
        let first = async {
            upstreams.first_attempts().await;
            self.refresh_now().await;
            upstreams.settle();
        };
        let later = upstreams.follow(async |one| {
            let (mut states, mut opened) = (one.upstream.watch(), 0);
            while let Ok(state) =
                states.wait_for(|state| state.opened > opened).await.map(|state| state.opened)
            {
                opened = state;
                self.refresh_now().await;
            }
        });
        tokio::join!(first, later);
    }

    /// Serves other ensembles by other rules from now on. A call that is approved runs as it was approved; see
    /// [`Roster::replace`]. All of it counts as soon as this returns; the future looks for changes of the servers.
    pub fn take_over(&self, change: Change) -> impl Future<Output = ()> {
        let GatewayParts { roster, upstreams, .. } = &self.shared.parts;
        let before = roster.ensembles();
        // Nothing is awaited before all of it counts: no tool is judged by the rules of another configuration.
        let (has_rules, has_views) = (change.rules.is_some(), change.views.is_some());
        change.rules.into_iter().for_each(|rules| roster.rules().replace(rules));
        change.budget.into_iter().for_each(|budget| self.shared.budgets.replace(budget));
        let is_new = |one: &&Arc<Ensemble>| !before.iter().any(|known| Arc::ptr_eq(known, one));
        let new: Vec<EnsembleName> =
            change.ensembles.iter().filter(is_new).map(|one| one.name.clone()).collect();
        roster.replace(change.ensembles);
        upstreams.replace(change.upstreams);
        change.views.into_iter().for_each(|views| self.replace_views(views));
        if has_rules || has_views {
            let views = self.shared.views.read();
            views.values().chain([&self.shared.whole]).for_each(|view| view.follow_rules(roster));
        }
        self.announce();
        new.iter().for_each(|ensemble| self.shared.offers.forget(ensemble.as_str()));
        async move {
            self.refresh_now().await;
            self.for_client().spawn_follow_again(new);
        }
    }

    fn replace_views(&self, plans: Vec<ViewPlan>) {
        let GatewayParts { roster, bare_names, .. } = &self.shared.parts;
        let mut views = self.shared.views.write();
        for (name, view) in views.iter() {
            view.take_over(plans.iter().find(|plan| plan.name == *name));
        }
        for plan in &plans {
            if !views.contains_key(&plan.name) {
                let (view, conflicts) = View::new(roster, Some(plan.clone()), *bare_names);
                warn(&conflicts);
                views.insert(plan.name.clone(), Arc::new(view));
            }
        }
        self.shared.plans.replace(plans);
    }

    /// Returns the number of changes of what is served so far, as it is at any time.
    pub(crate) fn watch_changes(&self) -> watch::Receiver<(u64, bool)> {
        self.shared.changes.subscribe()
    }

    /// The tools after the servers that could have this one were waited for.
    pub(crate) async fn tools_with(&self, tool: &str) -> Arc<ServedTools> {
        let GatewayParts { roster, bare_names, upstreams, .. } = &self.shared.parts;
        upstreams.settled().await;
        // The names of a view do not say which server has the tool.
        let is_any = *bare_names || self.view.name().is_some();
        if self.served_tools().find(tool).is_none() && upstreams.tool_wanted(roster, tool, is_any).await {
            self.refresh_now().await;
        }
        self.served_tools()
    }

    /// Calls `notify` after each change of the tools that this client sees, until it fails, `is_gone` returns true or the
    /// gateway closes.
    pub(crate) async fn notify_changes<F: Future<Output = bool>>(
        &self,
        notify: impl Fn() -> F,
        is_gone: impl Fn() -> bool,
    ) {
        let mut changes = self.watch_changes();
        let mut known = self.served_tools();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    let (_, is_announced) = *changes.borrow_and_update();
                    let now = self.served_tools();
                    let concerns_client = is_announced && !now.lists_the_same_as(&known);
                    known = now;
                    if changed.is_err() || (concerns_client && !notify().await) {
                        return;
                    }
                }
                () = tokio::time::sleep(REFRESH) => {
                    if is_gone() || self.is_closing() {
                        return;
                    }
                    self.refresh().await;
                }
            }
        }
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("running", &self.running()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backing").field("roster", &self.roster).finish_non_exhaustive()
    }
}
