//! A view: a part of the tools for some clients, judged by rules of its own too.

use std::sync::Arc;

use converse_canister::ViewName;
use converse_config::ViewPlan;
use converse_ensemble::{Offer, Roster};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::budgets::Budgets;
use crate::principal::Principal;
use crate::served_tools::{NameConflict, Naming, ServedTools};

/// There is no view of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no view `{name}`")]
pub struct UnknownView {
    pub name: String,
    /// The most similar name.
    pub near: Option<String>,
}

impl UnknownView {
    /// Returns what to type or look at instead.
    pub fn hint(&self) -> String {
        match &self.near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "views are tables `[[views]]` of your own settings file".to_owned(),
        }
    }
}

/// The views as the settings have them now. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ViewPlans(Arc<watch::Sender<Arc<[ViewPlan]>>>);

impl ViewPlans {
    pub fn new(plans: Vec<ViewPlan>) -> Self {
        Self(Arc::new(watch::Sender::new(plans.into())))
    }

    pub fn all(&self) -> Arc<[ViewPlan]> {
        Arc::clone(&self.0.borrow())
    }

    /// Resolves when the views are as wanted.
    pub async fn until(&self, is_wanted: impl Fn(&[ViewPlan]) -> bool) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.0.subscribe().wait_for(|views| is_wanted(views)).await;
    }

    /// Serves other views from now on.
    pub fn replace(&self, plans: Vec<ViewPlan>) {
        self.0.send_replace(plans.into());
    }
}

/// What a client sees: all tools, or those of a view.
pub(crate) struct View {
    name: Option<ViewName>,
    plan: RwLock<Option<Arc<ViewPlan>>>,
    /// Without the prefix `ensemble__`.
    bare_names: bool,
    own: Roster,
    /// The same tools for clients that are not the user who runs the server: the kept answers are that user's.
    for_others: Roster,
    served: Mutex<Arc<ServedTools>>,
    /// What all its clients together have taken.
    pub(crate) budget: Budgets<()>,
}

impl View {
    /// Makes a view of the roster; of all tools without a plan. Names that clash are returned, and not served.
    pub(crate) fn new(
        roster: &Roster,
        plan: Option<ViewPlan>,
        bare_names: bool,
    ) -> (Self, Vec<NameConflict>) {
        let of_others = roster.rules().only(|rule| !rule.is_bound());
        let (own, for_others) = match &plan {
            None => (roster.for_caller(roster.caller()), roster.judged_by(of_others)),
            Some(view) => {
                let added = |mut list: Vec<_>| {
                    list.extend(view.rules.iter().cloned());
                    roster.judged_by(roster.rules().with_list(list)).tools_only()
                };
                (added(roster.rules().all()), added(of_others.all()))
            }
        };
        let naming = Naming { bare: bare_names, view: plan.as_ref() };
        let (served, conflicts) = ServedTools::of(roster.offer(), naming);
        let budget = Budgets::new(plan.as_ref().map(|plan| plan.budget).unwrap_or_default());
        let name = plan.as_ref().map(|plan| plan.name.clone());
        let (served, plan) = (Mutex::new(Arc::new(served)), RwLock::new(plan.map(Arc::new)));
        (Self { name, budget, bare_names, own, for_others, served, plan }, conflicts)
    }

    /// Serves what another plan says from now on. Without a plan, as it is no longer in the settings, it serves nothing.
    pub(crate) fn take_over(&self, plan: Option<&ViewPlan>) {
        let plan = match (plan, self.plan()) {
            (Some(plan), _) => plan.clone(),
            (None, Some(before)) => {
                ViewPlan { tools: Vec::new(), instructions: None, ..ViewPlan::clone(&before) }
            }
            (None, None) => return,
        };
        self.budget.replace(plan.budget);
        *self.plan.write() = Some(Arc::new(plan));
        let mut served = self.served.lock();
        *served = self.tools_of(self.own.offer());
    }

    /// Takes over the rules of the roster and of the plan.
    pub(crate) fn follow_rules(&self, roster: &Roster) {
        let plan = self.plan();
        let of_view = || plan.iter().flat_map(|plan| plan.rules.iter().cloned());
        let of_others = roster.rules().only(|rule| !rule.is_bound()).all();
        self.for_others.rules().replace(of_others.into_iter().chain(of_view()).collect());
        // Without a plan the rules are those of the roster.
        if plan.is_some() {
            self.own.rules().replace(roster.rules().all().into_iter().chain(of_view()).collect());
        }
    }

    /// The name; `None` for all tools.
    pub(crate) fn name(&self) -> Option<&ViewName> {
        self.name.as_ref()
    }

    fn plan(&self) -> Option<Arc<ViewPlan>> {
        self.plan.read().clone()
    }

    /// What the settings tell the clients of this view.
    pub(crate) fn instructions(&self) -> Option<String> {
        self.plan()?.instructions.clone()
    }

    /// Returns why a tool of this name is held back, if it is.
    pub(crate) fn hold_reason(&self, served: &ServedTools, name: &str) -> Option<String> {
        let plan = self.plan();
        served.hold_reason(name, Naming { bare: self.bare_names, view: plan.as_deref() })
    }

    pub(crate) fn roster_for(&self, principal: &Principal) -> &Roster {
        match principal {
            Principal::Owner => &self.own,
            Principal::Other(_) => &self.for_others,
        }
    }

    /// The tools that are served now.
    pub(crate) fn served_tools(&self) -> Arc<ServedTools> {
        let offer = self.own.offer();
        let mut served = self.served.lock();
        if !served.is_from(&offer) {
            *served = self.tools_of(offer);
        }
        Arc::clone(&served)
    }

    fn tools_of(&self, offer: Arc<Offer>) -> Arc<ServedTools> {
        let plan = self.plan();
        let naming = Naming { bare: self.bare_names, view: plan.as_deref() };
        let (tools, conflicts) = ServedTools::of(offer, naming);
        warn(&conflicts);
        Arc::new(tools)
    }
}

pub(crate) fn warn(conflicts: &[NameConflict]) {
    for conflict in conflicts {
        tracing::warn!("{conflict}; neither tool is served");
    }
}
