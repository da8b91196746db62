//! Connects the servers of a new configuration, serves them, and ends those that are not served any more.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::EnsembleName;
use converse_config::EnsemblePlan;
use converse_ensemble::{Ensemble, Upstream};
use converse_gateway::{Change, Gateway, ServedUpstream};
use converse_host::failure::Failure;
use converse_host::lockfiles::Lockfiles;
use converse_host::wiring::{Connected, Wiring};
use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::difference::Changes;
use super::{Configuration, ReloadParts, Reloader};
use crate::front::Front;

/// Longest wait for the servers of a new configuration. After that they are served as those that are connected later.
const SETTLING: Duration = Duration::from_secs(8);

/// What is connected, and what serves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Serving<'s> {
    pub(super) connected: &'s Connected,
    pub(super) gateway: &'s Gateway,
    pub(super) front: Option<&'s Front>,
}

impl<'a> ReloadParts<'a> {
    /// Returns what connects servers of a gateway.
    pub fn wiring<'w>(&self, configuration: &'w Configuration, lockfiles: &'w Lockfiles) -> Wiring<'w>
    where
        'a: 'w,
    {
        let looking = Wiring::looking(self.world, self.context, self.interrupt, self.contents);
        looking.serving(&configuration.protected, lockfiles, self.http_runtime)
    }

    /// Connects ensembles beside those that are served, and waits a bounded time for their tools.
    pub(super) async fn connect(
        &self,
        new: &Configuration,
        (plans, lockfiles): (&[&EnsemblePlan], &Lockfiles),
        (others, replaced): (&Connected, &[Arc<Ensemble>]),
        tasks: &mut JoinSet<()>,
    ) -> Result<Arc<Connected>, Failure> {
        let wiring = self.wiring(new, lockfiles);
        let fresh = Arc::new(wiring.connect_beside(plans, others, replaced).await?);
        let kept = Arc::clone(&fresh);
        tasks.spawn(async move { kept.keep_open().await });
        self.context.warn_all(fresh.errors().iter().map(|error| format!("warning: {error}")));
        let upstreams = fresh.upstreams();
        let settled = join_all(upstreams.iter().map(|(_, upstream)| upstream.settled()));
        let _ = timeout(SETTLING, settled).await;
        fresh.roster.refresh().await;
        Ok(fresh)
    }

    fn is_required(&self, plan: &EnsemblePlan) -> bool {
        plan.required || self.named.iter().any(|name| name == plan.name.as_str())
    }

    /// Returns the servers of these plans that are kept connected. Those that the command line names are required, too.
    pub fn upstreams(&self, connected: &Connected, plans: &[EnsemblePlan]) -> Vec<ServedUpstream> {
        let served = |(ensemble, upstream): (EnsembleName, Arc<Upstream>)| {
            let plan = plans.iter().find(|plan| plan.name == ensemble)?;
            Some(ServedUpstream { ensemble, is_required: self.is_required(plan), upstream })
        };
        connected.upstreams().into_iter().filter_map(served).collect()
    }
}

impl Reloader<'_> {
    /// Disconnects what was connected after the start, and what is no longer served.
    pub async fn disconnect(&mut self) {
        let retired = std::mem::take(&mut self.retired);
        join_all(retired.iter().map(|(ensemble, _)| ensemble.disconnect())).await;
        join_all(self.later.iter().map(|later| later.disconnect(self.parts.context))).await;
    }

    /// Serves the plans as they are now: those that were just connected, and of the others what is served already.
    pub(super) async fn serve(
        &mut self,
        serving: Serving<'_>,
        fresh: Option<Arc<Connected>>,
        changes: &Changes,
    ) {
        let Serving { connected, gateway, front } = serving;
        let fresh_upstreams =
            fresh.iter().flat_map(|fresh| self.parts.upstreams(fresh, &self.now.plans)).collect::<Vec<_>>();
        let (served, old_upstreams) = (connected.roster.ensembles(), gateway.upstreams().all());
        let of_fresh = fresh.as_ref().map(|fresh| fresh.roster.ensembles());
        let of_fresh = of_fresh.as_deref().unwrap_or_default();
        let (mut ensembles, mut upstreams) = (Vec::new(), Vec::new());
        for plan in &self.now.plans {
            let new = of_fresh.iter().find(|one| one.name == plan.name);
            ensembles.extend(new.or_else(|| served.iter().find(|one| one.name == plan.name)).cloned());
            let from = if new.is_some() { fresh_upstreams.as_slice() } else { &*old_upstreams };
            let upstream = from.iter().find(|one| one.ensemble == plan.name).cloned();
            let is_required = self.parts.is_required(plan);
            upstreams.extend(upstream.map(|one| ServedUpstream { is_required, ..one }));
        }
        for old in served.iter().filter(|old| !ensembles.iter().any(|one| Arc::ptr_eq(one, old))) {
            let upstream = old_upstreams.iter().find(|one| one.ensemble == old.name);
            self.retired.push((Arc::clone(old), upstream.map(|one| Arc::clone(&one.upstream))));
        }
        self.later.extend(fresh);
        let Configuration { settings, rules, .. } = &self.now;
        let change = Change {
            rules: changes.rules.then(|| rules.clone()),
            views: changes.views.then(|| settings.views.clone()),
            budget: changes.limits.then_some(settings.serve),
            ensembles,
            upstreams,
        };
        let taken_over = gateway.take_over(change);
        if let Some(front) = front.filter(|_| changes.rules || changes.turns) {
            front.take_over(settings.clone(), &connected.roster);
        }
        taken_over.await;
    }

    /// Forgets what was connected after the start and of which nothing is in use any more.
    pub(super) fn free_unused(&mut self, connected: &Connected) {
        let served = connected.roster.ensembles();
        let is_used = |one: &Connected| {
            let retired = self.retired.iter().map(|(one, _)| one);
            let mut used = served.iter().chain(retired);
            used.any(|used| one.roster.ensembles().iter().any(|own| Arc::ptr_eq(own, used)))
        };
        for later in &self.later {
            later.tell_news(&connected.roster, self.parts.context);
        }
        // While servers end, their task shares the connection.
        self.later.retain(|later| is_used(later) || Arc::strong_count(later) > 1);
    }

    /// Disconnects ensembles that are no longer served and whose calls have ended.
    pub(super) fn end_retired(&mut self) {
        let (ended, running) =
            std::mem::take(&mut self.retired).into_iter().partition(|(one, _)| one.is_idle());
        self.retired = running;
        let ended: Vec<(Arc<Ensemble>, Option<Arc<Upstream>>)> = ended;
        for (ensemble, upstream) in ended {
            self.tasks.spawn(async move {
                ensemble.disconnect().await;
                // Its keeper sees that nothing is to be kept.
                upstream.iter().for_each(|upstream| upstream.want());
            });
        }
    }
}
