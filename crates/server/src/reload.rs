//! Configuration that changes while it is served: descriptors, rules and lockfiles.
//!
//! A changed configuration is taken over as a whole or refused as a whole. Ensembles whose plan is the same keep their
//! connection. Others are connected first, then served instead of the old ones, whose connections end with their last
//! call. A project that has changed since it was trusted stays as it was beside the changes of the user; one whose trust
//! was taken back is not served any more, whatever else has changed.

mod connections;
mod difference;
mod reading;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use converse_config::EnsemblePlan;
use converse_ensemble::{Acceptance, Ensemble, Pins, Upstream};
use converse_gateway::Gateway;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::interrupt::Interrupt;
use converse_host::lockfiles::{Lockfiles, State};
use converse_host::options::RuleOptions;
use converse_host::runtime::SideRuntime;
use converse_host::settings::{PROJECT_FILE, user_file};
use converse_host::wiring::Connected;
use converse_host::world::World;
use converse_session::files::FileWatch;
use converse_text::wording::counted;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::connections::Serving;
use self::difference::{Changes, Difference};
use self::reading::Project;
pub use self::reading::{Configuration, VIEWS_NEED_ACCESS};
use crate::front::Front;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Where the configuration comes from, and what connections are made of.
#[derive(Debug, Clone, Copy)]
pub struct ReloadParts<'a> {
    pub world: &'a World,
    pub context: &'a RunContext,
    pub interrupt: &'a Interrupt,
    pub contents: &'a Kept,
    /// Runs the connections over HTTP, beside the judging of calls.
    pub http_runtime: &'a SideRuntime,
    /// The directories of descriptors that the command line names.
    pub directories: &'a [PathBuf],
    /// The ensembles that the command line names; none for all that are enabled.
    pub named: &'a [String],
    /// The rules of the command line.
    pub rules: &'a RuleOptions,
    /// Whether no client is told from another, so that no view can name clients.
    pub is_open: bool,
}

/// Takes over changes of the configuration while a program serves.
pub struct Reloader<'a> {
    parts: ReloadParts<'a>,
    now: Configuration,
    files: FileWatch,
    locks: FileWatch,
    /// The lockfiles that were sound when they were last used. One that is gone is missed.
    sound: BTreeSet<PathBuf>,
    /// Why the files as they are now are not used, as it was last said.
    refused: Option<String>,
    /// What was connected after the start and is in use.
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

impl<'a> Reloader<'a> {
    /// Watches the files of a configuration from now on.
    pub fn new(parts: ReloadParts<'a>, now: Configuration, read: &Lockfiles) -> Self {
        let files = FileWatch::new(watched(parts.world, &now.catalogue));
        let locks = FileWatch::new(read.iter().map(|locked| locked.path.clone()).collect());
        Self {
            parts,
            now,
            files,
            locks,
            sound: sound(read),
            refused: None,
            later: Vec::new(),
            retired: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Takes over changes of files, and looks at all of them when `hangup` is notified, until the future is dropped.
    pub async fn run(
        &mut self,
        connected: &Connected,
        gateway: &Gateway,
        front: Option<&Front>,
        hangup: &Notify,
    ) {
        let serving = Serving { connected, gateway, front };
        loop {
            let is_asked = tokio::select! {
                () = sleep(LOOK) => false,
                () = hangup.notified() => true,
            };
            while self.tasks.try_join_next().is_some() {}
            self.end_retired();
            self.free_unused(connected);
            let mut is_due = is_asked;
            if self.locks.has_changed() {
                self.accept(connected);
                gateway.refresh_now().await;
                // A missing lockfile may have been why it was refused.
                is_due |= self.refused.is_some();
            }
            if self.files.has_changed() || is_due {
                self.reload(serving, is_asked).await;
            }
        }
    }

    /// Takes over what the user accepts. A lockfile that cannot be used, or is gone, changes nothing until the next start.
    fn accept(&mut self, connected: &Connected) {
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
        self.sound.extend(sound(&now));
        let context = self.parts.context;
        for locked in now.iter().filter(|locked| self.now.plans.iter().any(|plan| locked.covers(plan))) {
            match &locked.state {
                State::Sound(_) => context.note(&format!("note: {} was read again", locked.shown)),
                State::Absent if self.sound.contains(&locked.path) => context.warn(&format!(
                    "warning: {} is gone, so what was accepted before stays, and servers that change are refused \
                     until it is there again or the program is restarted",
                    locked.shown
                )),
                State::Absent => {}
                State::Damaged(why) => context.warn(&format!(
                    "warning: {} cannot be used, so what was accepted before stays: {why}",
                    locked.shown
                )),
            }
        }
    }

    async fn reload(&mut self, serving: Serving<'_>, is_asked: bool) {
        // A file that changes while it is read is looked at again.
        self.files = FileWatch::new(watched(self.parts.world, &self.now.catalogue));
        let catalogue = Catalogue::find(self.parts.world, self.parts.directories);
        let project = Project::of(&self.now, &catalogue);
        let is_revoked = project == Project::Revoked;
        if is_revoked {
            // Before anything can refuse the rest.
            self.revoke(serving).await;
        }
        let why_kept = (project == Project::Kept).then(|| reason_to_keep(&catalogue));
        let taken_over = match self.parts.changed(catalogue, &self.now, &project) {
            Ok(new) => self.take_over(new, serving).await,
            Err(why) => Err(why),
        };
        let context = self.parts.context;
        let unused = match &taken_over {
            Ok(_) => why_kept
                .map(|why| format!("the changed project is not used, and the one before stays: {why}")),
            Err(why) => {
                let text = "the changed configuration is not used, and the one before stays";
                Some(format!("{text}: {}", first_of(why)))
            }
        };
        let counters = serving.gateway.counters();
        if let Some(unused) = &unused {
            counters.reloaded(false);
            // Other files may change many times while the project is not trusted.
            if taken_over.is_err() || is_asked || self.refused.as_ref() != Some(unused) {
                context.warn(&format!("warning: {unused}"));
            }
        }
        match taken_over {
            Ok(Some(what)) => {
                counters.reloaded(true);
                context.note(&format!("note: the configuration was read again: {what}"));
            }
            Ok(None) if unused.is_none() && self.refused.is_some() => {
                context.note("note: the configuration is sound again, and is what is served");
            }
            Ok(None) if unused.is_none() && is_asked && !is_revoked => {
                context.note("note: the configuration has not changed");
            }
            _ => {}
        }
        self.refused = unused;
    }

    /// Stops serving the project, whose trust the user has taken back.
    async fn revoke(&mut self, serving: Serving<'_>) {
        let before = self.now.plans.len();
        self.now.revoke();
        let removed = before - self.now.plans.len();
        self.parts.context.warn(&format!(
            "warning: this project is not trusted any more, so its settings and its {} are not served",
            counted(removed, "ensemble")
        ));
        let changes = Changes { turns: true, ..Changes::default() };
        self.serve(serving, None, &changes).await;
        serving.gateway.counters().reloaded(true);
    }

    /// Connects what is new and serves it. Returns what has changed, if anything has.
    async fn take_over(
        &mut self,
        new: Configuration,
        serving: Serving<'_>,
    ) -> Result<Option<String>, Vec<String>> {
        let paths = |of: &Configuration| of.protected.iter().cloned().collect::<BTreeSet<PathBuf>>();
        let has_same_paths = paths(&new) == paths(&self.now);
        let difference = Difference::of(&self.now.plans, &new.plans, has_same_paths);
        let changes = Changes::of(&self.now, &new, serving.front.is_some());
        if changes.fixed {
            let text = "warning: `[audit]` and `[sandbox]` of the settings count from the next start";
            self.parts.context.warn(text);
        }
        let lockfiles = new.catalogue.lockfiles();
        self.stop_for_missing(&lockfiles, &difference.fresh)?;
        if difference.is_empty() && changes.names().is_empty() {
            self.now = new;
            return Ok(None);
        }
        let mut fresh = None;
        if !difference.fresh.is_empty() {
            let replaced: Vec<Arc<Ensemble>> = self
                .retired
                .iter()
                .map(|(old, _)| old)
                .chain(&*serving.connected.roster.ensembles())
                .cloned()
                .collect();
            let what = (difference.fresh.as_slice(), &lockfiles);
            let beside = (serving.connected, replaced.as_slice());
            let connecting = self.parts.connect(&new, what, beside, &mut self.tasks);
            fresh = Some(connecting.await.map_err(|why| vec![why.message])?);
        }
        let what = difference.told(&changes.names());
        self.sound.extend(sound(&lockfiles));
        self.now = new;
        self.serve(serving, fresh, &changes).await;
        Ok(Some(what))
    }

    /// Refuses servers that a lockfile held back and that would be served without it.
    fn stop_for_missing(&self, lockfiles: &Lockfiles, plans: &[&EnsemblePlan]) -> Result<(), Vec<String>> {
        let missing = |plan: &&EnsemblePlan| {
            let locked = lockfiles.of(plan)?;
            let is_missing = locked.state == State::Absent && self.sound.contains(&locked.path);
            is_missing.then(|| {
                format!(
                    "{} is gone, and `{}` would be served without it: restore the lockfile, or restart the program",
                    locked.shown, plan.name
                )
            })
        };
        let missing: Vec<String> = plans.iter().filter_map(missing).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
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
    files.push(world.cwd.join(PROJECT_FILE));
    files.extend(user_file(world));
    files.extend(world.state_dir().map(|dir| dir.join("trust.jsonl")));
    files
}

/// Returns the lockfiles that can be used.
fn sound(lockfiles: &Lockfiles) -> BTreeSet<PathBuf> {
    lockfiles.iter().filter(|locked| locked.sound().is_some()).map(|locked| locked.path.clone()).collect()
}

/// Returns why the project is served as it was.
fn reason_to_keep(catalogue: &Catalogue) -> String {
    let notes = catalogue.notes();
    let plain = notes.iter().map(|note| note.trim_start_matches("warning: "));
    plain.collect::<Vec<_>>().join("; ")
}

/// Returns the first line of the first text, and the number of the others.
fn first_of(why: &[String]) -> String {
    let more = why.len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let first = why.first().and_then(|text| text.lines().next()).unwrap_or_default();
    format!("{first}{more}")
}
