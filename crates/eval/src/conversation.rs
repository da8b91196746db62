//! One run: a case with a model, over tools of its own, and the judge after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_batch::{Acts, Barred, Gate, Line, Outcome, PacedWire, Shared, Spending, Stops};
use converse_canister::Cost;
use converse_config::{EnsemblePlan, Rule, SettingsPlan};
use converse_host::Notices;
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::lockfiles::Lockfiles;
use converse_host::model::UNDERSTUDY;
use converse_host::options::TurnOptions;
use converse_host::settings::Settings;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use parking_lot::Mutex;
use serde_json::Value;

use crate::judge;
use crate::remote::Remote;
use crate::suite::{Case, Judge};
use crate::verdict::{Finished, Miss, Status, verdict};

/// What all runs share.
pub(crate) struct Runs<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) notices: Arc<dyn Notices>,
    pub(crate) world: &'a World,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) files: &'a SettingsPlan,
    pub(crate) turn: &'a TurnOptions,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) lockfiles: &'a Lockfiles,
    pub(crate) stops: Arc<Stops>,
    pub(crate) gate: &'a dyn Fn(&str) -> Gate,
    /// The workers that run the conversations, if this process does not.
    pub(crate) remote: Option<&'a Remote>,
    pub(crate) exit_code: fn(Kind) -> u8,
}

/// One run to do.
pub(crate) struct Task<'a> {
    pub(crate) number: usize,
    /// How often it was put back.
    pub(crate) attempt: u8,
    /// Of the case and the model, from 1.
    pub(crate) run: u32,
    pub(crate) case: &'a Case,
    pub(crate) model: &'a str,
    pub(crate) cassette: Option<Tape>,
    /// What is left of the budget.
    pub(crate) allowance: Option<Cost>,
}

/// The cassette of a run.
pub(crate) enum Tape {
    Record(PathBuf),
    Replay(PathBuf),
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) number: usize,
    pub(crate) status: Status,
    /// The object of `ask -o json`; `None` if the conversation did not begin.
    pub(crate) object: Option<Value>,
    pub(crate) failure: Option<Failure>,
    /// It may run again: nothing has happened yet.
    pub(crate) may_repeat: bool,
    /// Its time passed, much of it in waiting for the provider's pace.
    pub(crate) is_held_up: bool,
    /// It was ended by the budget of all runs.
    pub(crate) is_over_budget: bool,
    /// It was ended by the stop of all runs.
    pub(crate) is_stopped: bool,
    pub(crate) cost: Cost,
    /// The cost of a reply is not known.
    pub(crate) is_cost_unknown: bool,
}

impl Ran {
    fn error(number: usize, failure: Failure) -> Self {
        let status = Status::Error(Miss::new(failure.code, failure.message.clone()));
        Self {
            number,
            status,
            object: None,
            failure: Some(failure),
            may_repeat: false,
            is_held_up: false,
            is_over_budget: false,
            is_stopped: false,
            cost: Cost(0),
            is_cost_unknown: false,
        }
    }

    /// The same run if it could not be judged. What it has cost stays.
    fn failed(self, failure: Failure) -> Self {
        let Self { number, object, cost, is_cost_unknown, .. } = self;
        Self { object, cost, is_cost_unknown, ..Self::error(number, failure) }
    }
}

/// The tools of a run.
struct Place<'a> {
    context: &'a RunContext,
    turn: &'a TurnOptions,
    connected: &'a Connected,
    contents: &'a Kept,
    /// For a conversation that runs on workers: these, and how often it was put back.
    remote: Option<(&'a Remote, u8)>,
}

impl Runs<'_> {
    /// Runs a case, and judges it.
    pub(crate) async fn run(&self, task: Task<'_>) -> Ran {
        let number = task.number;
        let context = self.context.of_one_run(Arc::clone(&self.notices));
        let ran = self.on_cassette(task, &context).await;
        let mut ran = ran.unwrap_or_else(|failure| Ran::error(number, failure));
        let is_signalled =
            ran.failure.as_ref().is_some_and(|failure| matches!(failure.kind, Kind::Signal(_)));
        // What is not whole must not take the place of a cassette that is.
        let is_cut = is_signalled || ran.is_over_budget || ran.is_stopped;
        match context.cassette.eject(is_cut) {
            Ok(warning) => context.warn_all(warning),
            Err(failure) => ran = ran.failed(failure),
        }
        ran
    }

    async fn on_cassette(&self, task: Task<'_>, context: &RunContext) -> Result<Ran, Failure> {
        let mut turn = self.turn.clone();
        turn.model = vec![task.model.to_owned()];
        if !task.case.ensembles.is_empty() {
            turn.ensemble.clone_from(&task.case.ensembles);
        }
        turn.deadline = task.case.limits.time.map(|time| time.as_secs_f64()).or(turn.deadline);
        // The one of the options is shared by all runs.
        turn.cassette = TurnOptions::default().cassette;
        match &task.cassette {
            None => {}
            Some(Tape::Record(path)) => {
                make_directory_of(path)?;
                turn.record = Some(path.clone());
            }
            Some(Tape::Replay(path)) => turn.replay = Some(path.clone()),
        }
        context.warn_all(context.cassette.load(&turn, &context.redactor, self.world)?);
        let settings = self.settings(&turn, self.model(&task), None)?;
        let chosen = self.catalogue.select(settings.ensembles.as_deref())?;
        let contents = Kept::rolling();
        let connected = self.connect(&chosen, settings.rules, context, &contents).await?;
        // The instructions of the suite, which workers do not have.
        let system = settings.system.filter(|_| turn.system.is_some());
        let ran = match connected.failure_of(&turn.ensemble) {
            Some(failure) => Err(failure),
            None => {
                connected.roster.searchable();
                let remote = self.remote.map(|remote| (remote, task.attempt));
                let place =
                    Place { context, turn: &turn, connected: &connected, contents: &contents, remote };
                self.judged(&task, system.as_deref(), &place).await
            }
        };
        connected.disconnect(context).await;
        ran
    }

    /// The model that this process has for a run.
    fn model<'t>(&self, task: &Task<'t>) -> &'t str {
        if self.remote.is_some() { UNDERSTUDY } else { task.model }
    }

    /// `max_cost` is that of the options if there is none here.
    fn settings(&self, turn: &TurnOptions, model: &str, max_cost: Option<Cost>) -> Result<Settings, Failure> {
        let turn = TurnOptions { max_cost, ..turn.clone() };
        // As one of several models that are compared: without fallbacks, which would answer in its place.
        Settings::resolve(&turn, None, Some(model), self.files, None, self.world)
    }

    async fn connect(
        &self,
        chosen: &[&EnsemblePlan],
        rules: Vec<Rule>,
        context: &RunContext,
        contents: &Kept,
    ) -> Result<Connected, Failure> {
        let looking = Wiring::looking(self.world, context, self.interrupt, contents);
        let wiring = Wiring { protected: self.catalogue.protected(), lockfiles: self.lockfiles, ..looking };
        let connected = wiring.connect(chosen, rules).await?;
        context.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        Ok(connected)
    }

    async fn judged(&self, task: &Task<'_>, system: Option<&str>, place: &Place<'_>) -> Result<Ran, Failure> {
        let case = task.case;
        let line = match self.remote {
            Some(remote) => remote.line(case, task.run, system),
            None => case.conversation.clone(),
        };
        let own = case.limits.cost;
        let question = line.question.clone();
        let (outcome, spending) =
            self.converse(place, task.number, line, self.model(task), own, task.allowance).await?;
        let finished: Result<Finished, _> = serde_json::from_value(outcome.line.clone());
        // The allowance ended it, and not the limit of the case.
        let is_of_budget = task.allowance.is_some_and(|left| own.is_none_or(|own| left < own));
        let mut ran = Ran {
            number: task.number,
            status: Status::Passed,
            object: Some(outcome.line),
            may_repeat: outcome.acts == Acts::Nothing,
            is_held_up: outcome.is_held_up,
            is_over_budget: outcome.barred == Some(Barred::Budget) || outcome.is_limited && is_of_budget,
            is_stopped: outcome.barred == Some(Barred::Stopped),
            failure: outcome.failure,
            cost: spending.known,
            is_cost_unknown: spending.is_unknown,
        };
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => {
                return Ok(ran.failed(Failure::new(Kind::Internal, "internal", error.to_string())));
            }
        };
        ran.status = verdict(&case.expect, &finished);
        if let Some(judge) = case.expect.judge.as_ref().filter(|_| ran.status == Status::Passed)
            && let Err(failure) =
                self.ask_judge(judge, &question, &finished.answer, (task, place), &mut ran).await
        {
            return Ok(ran.failed(failure));
        }
        Ok(ran)
    }

    /// Asks the judge, without tools.
    async fn ask_judge(
        &self,
        judge: &Judge,
        question: &str,
        answer: &str,
        (task, place): (&Task<'_>, &Place<'_>),
        ran: &mut Ran,
    ) -> Result<(), Failure> {
        let turn = TurnOptions { cassette: place.turn.cassette.clone(), ..TurnOptions::default() };
        let line = Line {
            id: "judge".to_owned(),
            before: Vec::new(),
            question: judge::prompt(judge, question, answer),
            attachments: Vec::new(),
            schema: Some(judge::schema()),
        };
        let connected = self.connect(&[], Vec::new(), place.context, place.contents).await?;
        let place = Place { turn: &turn, connected: &connected, remote: None, ..*place };
        let allowance = task.allowance.map(|left| Cost(left.0.saturating_sub(ran.cost.0)));
        let asked = self.converse(&place, task.number, line, &judge.model, None, allowance).await;
        connected.disconnect(place.context).await;
        let (outcome, spending) = asked?;
        ran.cost = ran.cost.plus(spending.known);
        ran.is_cost_unknown |= spending.is_unknown;
        match outcome.failure {
            Some(failure) => {
                let message = format!("the judge {} did not answer: {}", judge.model, failure.message);
                ran.status = Status::Error(Miss::new(failure.code, message));
                ran.failure = Some(failure);
                // It has no limit of its own.
                ran.is_over_budget = outcome.is_limited || outcome.barred == Some(Barred::Budget);
                ran.is_stopped = outcome.barred == Some(Barred::Stopped);
                ran.may_repeat &= outcome.acts == Acts::Nothing;
            }
            None => {
                ran.status = Status::of(judge::ruling(judge, &outcome.line["value"]).into_iter().collect())
            }
        }
        Ok(())
    }

    /// Runs one conversation. `own` is its limit of cost, `allowance` what is left for all.
    async fn converse(
        &self,
        place: &Place<'_>,
        number: usize,
        line: Line,
        model: &str,
        own: Option<Cost>,
        allowance: Option<Cost>,
    ) -> Result<(Outcome, Spending), Failure> {
        let Place { context, turn, connected, contents, remote } = *place;
        let limit = own.into_iter().chain(allowance).min();
        let settings = self.settings(turn, model, limit)?;
        if !settings.cassette.answers_for_models() {
            settings.model.require_key()?;
        }
        let wires = settings.wires().map(&settings, |model, inner| {
            let gate = (self.gate)(model.endpoint.provider.as_str());
            Arc::new(PacedWire { inner, gate })
        });
        let audit = AuditSink::new(settings.audit, None, context, self.world);
        let shared = Shared {
            context,
            world: self.world,
            interrupt: self.interrupt,
            connected,
            contents,
            wires,
            settings: &settings,
            audit: &audit,
            saves: false,
            begun: None,
            spending: Mutex::new(Spending::default()),
            stops: Arc::clone(&self.stops),
            substitute: None,
            exit_code: self.exit_code,
        };
        let outcome = match remote {
            // The same whatever is left of the budget, so that it can be asked for again.
            Some((remote, attempt)) => remote.ingress.run(&shared, (number, attempt), line, own).await,
            None => shared.run(number, line, limit).await,
        };
        Ok((outcome, shared.spending.into_inner()))
    }
}

fn make_directory_of(path: &Path) -> Result<(), Failure> {
    let Some(directory) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(directory).map_err(|error| {
        Failure::new(Kind::Output, "record-failed", format!("{}: {error}", directory.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_be_judged_has_cost_what_it_has_cost() {
        let begun = Ran::error(7, Failure::usage("x", "x"));
        let ran = Ran { cost: Cost(9), is_cost_unknown: true, is_over_budget: true, ..begun };
        let ran = ran.failed(Failure::new(Kind::Output, "record-failed", "no space"));
        assert_eq!(
            (ran.number, ran.cost, ran.is_cost_unknown, ran.is_over_budget),
            (7, Cost(9), true, false)
        );
        assert_eq!(ran.status, Status::Error(Miss::new("record-failed", "no space")));
    }
}
