//! A view: a part of the tools for some clients, judged by rules of its own too.

use std::sync::Arc;

use converse_canister::ViewName;
use converse_config::ViewPlan;
use converse_ensemble::Roster;
use parking_lot::Mutex;

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

/// What a client sees: all tools, or those of a view.
pub(crate) struct View {
    plan: Option<ViewPlan>,
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
        (Self { budget, bare_names, own, for_others, served: Mutex::new(Arc::new(served)), plan }, conflicts)
    }

    /// Takes over the rules of the roster.
    pub(crate) fn follow_rules(&self, roster: &Roster) {
        let of_view = || self.plan.iter().flat_map(|plan| plan.rules.iter().cloned());
        let of_others = roster.rules().only(|rule| !rule.is_bound()).all();
        self.for_others.rules().replace(of_others.into_iter().chain(of_view()).collect());
        // Without a plan the rules are those of the roster.
        if self.plan.is_some() {
            self.own.rules().replace(roster.rules().all().into_iter().chain(of_view()).collect());
        }
    }

    /// The name; `None` for all tools.
    pub(crate) fn name(&self) -> Option<&ViewName> {
        self.plan.as_ref().map(|plan| &plan.name)
    }

    /// What the settings tell the clients of this view.
    pub(crate) fn instructions(&self) -> Option<&str> {
        self.plan.as_ref()?.instructions.as_deref()
    }

    pub(crate) fn naming(&self) -> Naming<'_> {
        Naming { bare: self.bare_names, view: self.plan.as_ref() }
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
            let (new, conflicts) = ServedTools::of(offer, self.naming());
            warn(&conflicts);
            *served = Arc::new(new);
        }
        Arc::clone(&served)
    }
}

pub(crate) fn warn(conflicts: &[NameConflict]) {
    for conflict in conflicts {
        tracing::warn!("{conflict}; neither tool is served");
    }
}
