//! `--record` and `--replay`: the cassette of a run, between the loop and everything that it would reach.
//!
//! [`CassetteMode::load`] opens it once. The same [`CassetteMode`] is in the options, the context and the settings, so
//! that every wire and every connection uses it. [`CassetteMode::verdict`] fails a turn that made an unrecorded
//! request, and [`CassetteMode::eject`] moves a finished recording into place.

mod failure;
mod given;
mod recorded;
mod replayed;
mod wires;

use std::sync::{Arc, OnceLock};

use converse_config::EnsemblePlan;
use converse_engine::{Ending, Limit, RetryPolicy, Wire};
use converse_ensemble::Connection;
use converse_session::cassette::{Cassette, Player, Recorder};

use crate::contents::Kept;
use crate::failure::Failure;
use crate::model::Model;
use crate::options::TurnOptions;
use crate::secrets::Redactor;
use crate::world::World;

use recorded::Recorded;
use replayed::Replayed;
use wires::{GuardedWire, RecordedWire, ReplayedWire};

/// Cheap to share; a clone is the same one. Without a cassette it changes nothing.
#[derive(Debug, Clone, Default)]
pub struct CassetteMode(Arc<OnceLock<Loaded>>);

#[derive(Debug, Clone)]
enum Loaded {
    Recording(Arc<Recorder>),
    Replaying { player: Arc<Player>, redactor: Redactor, model: bool, tools: bool },
}

impl CassetteMode {
    /// Opens the cassette of the flags, if any, for all clones of this value. Call it once, before settings are resolved.
    /// Returns a warning if the cassette is incomplete.
    pub fn load(
        &self,
        talk: &TurnOptions,
        redactor: &Redactor,
        world: &World,
    ) -> Result<Option<String>, Failure> {
        let mut warning = None;
        let loaded = if let Some(path) = &talk.record {
            let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
            let redact = Arc::new(redactor.clone());
            // Seconds are precise enough.
            let created = World::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let recorder = Recorder::create(&world.cwd.join(path), program, &created, redact);
            Loaded::Recording(Arc::new(recorder.map_err(failure::unwritable)?))
        } else if let Some(path) = &talk.replay {
            if talk.live_model && talk.live_tools {
                let message = "with both `--live-model` and `--live-tools` nothing is replayed";
                return Err(Failure::usage("nothing-replayed", message));
            }
            let cassette = Cassette::read(&world.cwd.join(path)).map_err(failure::unreadable)?;
            let shown = path.display();
            if let Some(line) = cassette.torn {
                warning = Some(format!(
                    "warning: {shown}:{line}: the last line is incomplete and left out, because the recording was interrupted"
                ));
            }
            let player = Arc::new(Player::new(cassette, path));
            let (model, tools) = (!talk.live_model, !talk.live_tools);
            Loaded::Replaying { player, redactor: redactor.clone(), model, tools }
        } else {
            return Ok(None);
        };
        failure::refused(talk)?;
        for cassette in [&talk.cassette, self] {
            cassette.0.get_or_init(|| loaded.clone());
        }
        Ok(warning)
    }

    fn player(&self) -> Option<&Arc<Player>> {
        match self.0.get()? {
            Loaded::Replaying { player, .. } => Some(player),
            Loaded::Recording(_) => None,
        }
    }

    /// Who might be asked, the one that is meant first.
    pub fn names<'m>(&self, models: impl IntoIterator<Item = &'m Model>) {
        if let Some(Loaded::Recording(recorder)) = self.0.get() {
            models.into_iter().for_each(|model| recorder.model(&model.id));
        }
    }

    /// No model is asked: it takes no key and no network.
    pub fn answers_for_models(&self) -> bool {
        matches!(self.0.get(), Some(Loaded::Replaying { model: true, .. }))
    }

    /// No tool is run.
    pub fn answers_for_tools(&self) -> bool {
        matches!(self.0.get(), Some(Loaded::Replaying { tools: true, .. }))
    }

    /// The note about the replay in a session.
    pub fn replay_note(&self) -> Option<&'static str> {
        match self.0.get()? {
            Loaded::Recording(_) => None,
            Loaded::Replaying { model: true, tools: true, .. } => Some("replayed from a cassette"),
            Loaded::Replaying { model: true, .. } => Some("the model is replayed from a cassette"),
            Loaded::Replaying { .. } => Some("the tools are replayed from a cassette"),
        }
    }

    /// The model that was recorded, for who names none.
    pub fn model(&self) -> Option<&str> {
        self.player().and_then(|player| player.models().first()).map(String::as_str)
    }

    /// False for a fallback that was none when it was recorded: it had no key then.
    pub fn has_model(&self, model: &str) -> bool {
        !self.answers_for_models()
            || self.player().is_none_or(|player| player.models().iter().any(|known| known == model))
    }

    /// What is recorded is waited for no second time.
    pub(crate) fn without_waits(&self, retry: RetryPolicy) -> RetryPolicy {
        RetryPolicy { waits: retry.waits && !self.answers_for_models(), ..retry }
    }

    pub fn wire(&self, model: &Model, live: impl FnOnce() -> Box<dyn Wire>) -> Box<dyn Wire> {
        match self.0.get() {
            None => live(),
            Some(Loaded::Recording(recorder)) => {
                Box::new(RecordedWire::new(live(), Arc::clone(recorder), model))
            }
            Some(Loaded::Replaying { player, redactor, model: true, .. }) => {
                Box::new(ReplayedWire::new(Arc::clone(player), redactor.clone(), model))
            }
            Some(Loaded::Replaying { player, model: false, .. }) => {
                Box::new(GuardedWire { inner: live(), player: Arc::clone(player) })
            }
        }
    }

    pub fn connection(
        &self,
        plan: &EnsemblePlan,
        contents: &Kept,
        live: impl FnOnce() -> Box<dyn Connection>,
    ) -> Box<dyn Connection> {
        match self.0.get() {
            None | Some(Loaded::Replaying { tools: false, .. }) => live(),
            Some(Loaded::Recording(recorder)) => {
                Box::new(Recorded::new(live(), plan, Arc::clone(recorder), contents.clone()))
            }
            Some(Loaded::Replaying { player, redactor, tools: true, .. }) => {
                Box::new(Replayed::new(plan, Arc::clone(player), redactor.clone(), contents.clone()))
            }
        }
    }

    /// The ensembles whose tools a replay has. What else the user has here was not there when it was recorded, so it is
    /// left out, with a warning.
    pub fn recorded<'p>(&self, plans: &[&'p EnsemblePlan]) -> (Vec<&'p EnsemblePlan>, Option<String>) {
        let Some(Loaded::Replaying { player, tools: true, .. }) = self.0.get() else {
            return (plans.to_vec(), None);
        };
        let is_known = |plan: &EnsemblePlan| player.offer(plan.name.as_str(), 0).is_some();
        let (known, unknown): (Vec<&EnsemblePlan>, Vec<&EnsemblePlan>) =
            plans.iter().partition(|plan| is_known(plan));
        let names: Vec<&str> = unknown.iter().map(|plan| plan.name.as_str()).collect();
        let warning = (!names.is_empty())
            .then(|| format!("warning: not on the cassette, and left out: {}", names.join(", ")));
        (known, warning)
    }

    /// Returns the result of a turn: an unrecorded request takes precedence over other errors.
    pub fn verdict<T>(&self, ended: Result<T, Failure>) -> Result<T, Failure> {
        match self.player().and_then(|player| player.miss()) {
            Some(miss) => Err(failure::missed(miss)),
            None => ended,
        }
    }

    /// How a turn ended, for a recording: by what was said, which a replay ends by too, or by a clock or a hand.
    pub fn turned(&self, ending: Option<&Ending>) {
        if let Some(Ending::Cancelled | Ending::Limit(Limit::Deadline)) = ending
            && let Some(Loaded::Recording(recorder)) = self.0.get()
        {
            recorder.cut();
        }
    }

    /// Ends the run and moves the recording into place. If the run or a turn was `interrupted`, the recording stays
    /// next to it. A run without requests leaves nothing. Returns a warning for a recording that stays next to it.
    pub fn eject(&self, interrupted: bool) -> Result<Option<String>, Failure> {
        let Some(Loaded::Recording(recorder)) = self.0.get() else { return Ok(None) };
        if !recorder.has_begun() {
            return Ok(None);
        }
        let partial = recorder.finish(!interrupted).map_err(failure::unwritable)?;
        Ok(partial.map(|partial| {
            let shown = partial.display();
            format!("warning: the run was interrupted; the recording until then is in {shown}")
        }))
    }
}
