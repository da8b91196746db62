//! Configuration that changes while it is served: descriptors, rules and lockfiles.
//!
//! A changed configuration is taken over as a whole or refused as a whole. Ensembles whose plan is the same keep their
//! connection. Others are connected first, then served instead of the old ones, whose connections end with their last
//! call.

mod difference;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::EnsembleName;
use converse_config::{EnsemblePlan, Finding, Rule, SettingsPlan, Severity};
use converse_ensemble::{Acceptance, Ensemble, Pins, Upstream};
use converse_gateway::{Change, Gateway, ServedUpstream};
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::lockfiles::{Lockfiles, State};
use converse_host::options::RuleOptions;
use converse_host::settings::Files;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use converse_session::files::FileWatch;
use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::difference::Difference;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for the servers of a new configuration. After that they are served as those that are connected later.
const SETTLING: Duration = Duration::from_secs(8);

/// Where the configuration comes from, and what connections are made of.
#[derive(Debug, Clone, Copy)]
pub struct ReloadParts<'a> {
    pub world: &'a World,
    pub context: &'a RunContext,
    pub interrupt: &'a Interrupt,
    pub contents: &'a Kept,
    /// The directories of descriptors that the command line names.
    pub directories: &'a [PathBuf],
    /// The ensembles that the command line names; none for all that are enabled.
    pub named: &'a [String],
    /// The rules of the command line.
    pub rules: &'a RuleOptions,
}

/// What a program serves.
#[derive(Debug)]
pub struct Configuration {
    pub catalogue: Catalogue,
    pub plans: Vec<EnsemblePlan>,
    pub settings: SettingsPlan,
    pub rules: Vec<Rule>,
}

/// Takes over changes of the configuration while a program serves.
pub struct Reloader<'a> {
    parts: ReloadParts<'a>,
    now: Configuration,
    files: FileWatch,
    locks: FileWatch,
    /// What was connected after the start.
    later: Vec<Arc<Connected>>,
    /// Ensembles that are no longer served and may have running calls.
    retired: Vec<(Arc<Ensemble>, Option<Arc<Upstream>>)>,
    /// Keeps later connections open, and ends those that are not needed any more.
    tasks: JoinSet<()>,
}

impl std::fmt::Debug for Reloader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> ReloadParts<'a> {
    /// Returns what connects servers of a gateway.
    pub fn wiring<'w>(&self, catalogue: &'w Catalogue, lockfiles: &'w Lockfiles) -> Wiring<'w>
    where
        'a: 'w,
    {
        Wiring::looking(self.world, self.context, self.interrupt, self.contents).serving(catalogue, lockfiles)
    }

    /// Reads what to serve of this catalogue.
    ///
    /// # Errors
    ///
    /// The user's own files have errors, or an ensemble that the command line names is missing or not trusted.
    pub fn configuration(&self, catalogue: Catalogue) -> Result<Configuration, Failure> {
        let named = Some(self.named).filter(|named| !named.is_empty());
        let plans = catalogue.select(named)?.into_iter().cloned().collect();
        let (settings, rules) = Files::for_tools(self.rules, self.context, self.world)?;
        Ok(Configuration { catalogue, plans, settings, rules })
    }

    /// Reads a changed configuration, or returns why it is refused, as lines.
    fn changed(&self, before: &Configuration) -> Result<Configuration, Vec<String>> {
        let catalogue = Catalogue::find(self.world, self.directories);
        let settings = Files::read(self.world).findings().into_iter().map(|(finding, _)| finding);
        let errors: Vec<String> =
            catalogue.findings().into_iter().chain(settings).filter(is_error).map(|one| line(&one)).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        if catalogue.has_lost_trust(&before.catalogue) {
            let plain = |note: String| note.trim_start_matches("warning: ").to_owned();
            return Err(catalogue.notes().into_iter().map(plain).collect());
        }
        self.configuration(catalogue).map_err(|failure| vec![failure.message])
    }

    /// Connects ensembles beside those that are served, and waits a bounded time for their tools.
    async fn connect(
        &self,
        new: &Configuration,
        plans: &[&EnsemblePlan],
        tasks: &mut JoinSet<()>,
    ) -> Result<Arc<Connected>, Failure> {
        let lockfiles = new.catalogue.lockfiles();
        let wiring = self.wiring(&new.catalogue, &lockfiles);
        let fresh = Arc::new(wiring.connect_in_background(plans, Vec::new()).await?);
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

impl Configuration {
    /// The settings that count from the next start only.
    fn fixed(&self) -> String {
        format!("{:?}", (&self.settings.views, &self.settings.serve, self.settings.audit))
    }
}

impl<'a> Reloader<'a> {
    /// Watches the files of a configuration from now on.
    pub fn new(parts: ReloadParts<'a>, now: Configuration, read: &Lockfiles) -> Self {
        let files = FileWatch::new(watched(parts.world, &now.catalogue));
        let locks = FileWatch::new(read.iter().map(|locked| locked.path.clone()).collect());
        Self { parts, now, files, locks, later: Vec::new(), retired: Vec::new(), tasks: JoinSet::new() }
    }

    /// Takes over changes of files, and looks at all of them when `hangup` is notified, until the future is dropped.
    pub async fn run(&mut self, connected: &Connected, gateway: &Gateway, hangup: &Notify) {
        let context = self.parts.context;
        loop {
            let is_asked = tokio::select! {
                () = sleep(LOOK) => false,
                () = hangup.notified() => true,
            };
            while self.tasks.try_join_next().is_some() {}
            self.later.iter().for_each(|later| later.tell_news(&connected.roster, context));
            self.end_retired();
            if self.locks.has_changed() {
                self.accept(connected);
                gateway.refresh_now().await;
            }
            if self.files.has_changed() || is_asked {
                self.reload(connected, gateway, is_asked).await;
            }
        }
    }

    /// Disconnects what was connected after the start, and what is no longer served.
    pub async fn disconnect(&mut self) {
        let retired = std::mem::take(&mut self.retired);
        join_all(retired.iter().map(|(ensemble, _)| ensemble.disconnect())).await;
        join_all(self.later.iter().map(|later| later.disconnect(self.parts.context))).await;
    }

    /// Takes over what the user accepts. A lockfile that cannot be used, or is gone, changes nothing until the next start.
    fn accept(&self, connected: &Connected) {
        let now = self.now.catalogue.lockfiles();
        connected.roster.accept(|ensemble| {
            let plan = self.now.plans.iter().find(|plan| plan.name == ensemble.name)?;
            now.of(plan)?.sound()?;
            let pins = now.pins(plan);
            let mut all = self.later.iter().rev().map(AsRef::as_ref).chain([connected]);
            if let Some(server) = all.find_map(|one| one.server(ensemble.name.as_str())) {
                server.set_verify_accepted(matches!(pins, Pins::Accepted(_)));
                server.accept_offers(now.offers(plan));
            }
            Some(Acceptance { pins, instructions: now.instructions(plan) })
        });
        let context = self.parts.context;
        for locked in now.iter().filter(|locked| self.now.plans.iter().any(|plan| locked.covers(plan))) {
            match &locked.state {
                State::Sound(_) => context.note(&format!("note: {} was read again", locked.shown)),
                State::Absent => {}
                State::Damaged(why) => context.warn(&format!(
                    "warning: {} cannot be used, so what was accepted before stays: {why}",
                    locked.shown
                )),
            }
        }
    }

    async fn reload(&mut self, connected: &Connected, gateway: &Gateway, is_asked: bool) {
        // A file that changes while it is read is looked at again.
        self.files = FileWatch::new(watched(self.parts.world, &self.now.catalogue));
        let taken_over = match self.parts.changed(&self.now) {
            Ok(new) => self.take_over(new, connected, gateway).await,
            Err(why) => Err(why),
        };
        let context = self.parts.context;
        match taken_over {
            Ok(None) if is_asked => context.note("note: the configuration has not changed"),
            Ok(None) => {}
            Ok(Some(what)) => {
                gateway.counters().reloaded(true);
                context.note(&format!("note: the configuration was read again: {what}"));
            }
            Err(why) => {
                gateway.counters().reloaded(false);
                let more = why.len().saturating_sub(1);
                let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                let first = why.first().and_then(|text| text.lines().next()).unwrap_or_default();
                context.warn(&format!(
                    "warning: the changed configuration is not used, and the one before stays: {first}{more}"
                ));
            }
        }
    }

    /// Connects what is new and serves it. Returns what has changed, if anything has.
    async fn take_over(
        &mut self,
        new: Configuration,
        connected: &Connected,
        gateway: &Gateway,
    ) -> Result<Option<String>, Vec<String>> {
        let has_same_paths = new.catalogue.protected() == self.now.catalogue.protected();
        let difference = Difference::of(&self.now.plans, &new.plans, has_same_paths);
        let has_new_rules = format!("{:?}", self.now.rules) != format!("{:?}", new.rules);
        if new.fixed() != self.now.fixed() {
            let text =
                "warning: `[[views]]`, `[serve]` and `audit` of the settings count from the next start";
            self.parts.context.warn(text);
        }
        if difference.is_empty() && !has_new_rules {
            self.now = new;
            return Ok(None);
        }
        let mut fresh = None;
        if !difference.fresh.is_empty() {
            let connecting = self.parts.connect(&new, &difference.fresh, &mut self.tasks);
            fresh = Some(connecting.await.map_err(|why| vec![why.message])?);
        }
        let fresh_upstreams =
            fresh.iter().flat_map(|fresh| self.parts.upstreams(fresh, &new.plans)).collect::<Vec<_>>();
        let served = connected.roster.ensembles();
        let of_fresh = fresh.as_ref().map(|fresh| fresh.roster.ensembles());
        let (mut ensembles, mut upstreams) = (Vec::new(), Vec::new());
        let old_upstreams = gateway.upstreams().all();
        for plan in &new.plans {
            let is_fresh = difference.is_fresh(plan);
            let from = if is_fresh { of_fresh.as_ref() } else { Some(&served) };
            ensembles.extend(from.and_then(|from| from.iter().find(|one| one.name == plan.name)).cloned());
            let from = if is_fresh { fresh_upstreams.as_slice() } else { &*old_upstreams };
            let upstream = from.iter().find(|one| one.ensemble == plan.name).cloned();
            let is_required = self.parts.is_required(plan);
            upstreams.extend(upstream.map(|one| ServedUpstream { is_required, ..one }));
        }
        for old in served.iter().filter(|old| !ensembles.iter().any(|one| Arc::ptr_eq(one, old))) {
            let upstream = old_upstreams.iter().find(|one| one.ensemble == old.name);
            self.retired.push((Arc::clone(old), upstream.map(|one| Arc::clone(&one.upstream))));
        }
        self.later.extend(fresh);
        let rules = has_new_rules.then(|| new.rules.clone());
        let what = difference.told(has_new_rules);
        self.now = new;
        gateway.take_over(Change { rules, ensembles, upstreams }).await;
        Ok(Some(what))
    }

    /// Disconnects ensembles that are no longer served and whose calls have ended.
    fn end_retired(&mut self) {
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

/// Returns the files and directories on which the configuration depends, as they are now.
fn watched(world: &World, catalogue: &Catalogue) -> Vec<PathBuf> {
    let in_directory = |directory: &std::path::Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        entries
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect::<Vec<_>>()
    };
    let directories: Vec<PathBuf> = catalogue.directories().map(Into::into).collect();
    let mut files: Vec<PathBuf> = directories.iter().flat_map(|directory| in_directory(directory)).collect();
    files.sort_unstable();
    files.extend(directories);
    files.push(world.cwd.join("converse.toml"));
    files.extend(world.config_dir().map(|dir| dir.join("config.toml")));
    files.extend(world.state_dir().map(|dir| dir.join("trust.jsonl")));
    files
}

/// What a project is not trusted with is judged as a whole.
fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error && !finding.code.as_str().starts_with("untrusted-")
}

fn line(finding: &Finding) -> String {
    let place = match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}", finding.file),
        _ => finding.file.clone(),
    };
    format!("{place}: error[{}]: {}", finding.code.as_str(), finding.message)
}
