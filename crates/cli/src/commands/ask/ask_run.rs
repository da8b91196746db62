//! All turns of a run, side by side: one for each model, over ensembles that are connected once.

use std::convert::Infallible;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_ensemble::SharedRuns;
use converse_mcp::{Responders, Sampler};
use futures_util::future::join_all;

use super::output::Output;
use super::turn::Turn;
use super::{Begun, Candidate, Run, internal};
use converse_engine::TurnCosts;
use converse_host::History;
use converse_host::attach::UserInput;
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::instructions::{Instructions, instructions};
use converse_host::interrupt::Interrupt;
use converse_host::runtime::block_on;
use converse_host::sampler::{Around, Models};
use converse_host::settings::Settings;
use converse_host::skills::skills;
use converse_host::wiring::{Connected, Wiring};
use converse_terminal::approver::{Approvers, Memory, TerminalApprover};
use converse_terminal::person::somebody;

pub(super) struct AskRun<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) interrupt: Interrupt,
    pub(super) deadline: Option<Instant>,
    pub(super) said: Arc<UserInput>,
    pub(super) is_instructed: bool,
    /// Of models that are compared.
    pub(super) shared: Option<SharedRuns>,
    /// For servers that ask for one.
    pub(super) models: Arc<Models>,
    pub(super) spent: TurnCosts,
}

/// How a turn ended.
pub(super) struct Ended {
    pub(super) failure: Option<Failure>,
    pub(super) elapsed: Duration,
}

impl Ended {
    fn is_interrupted(&self) -> bool {
        self.failure.as_ref().is_some_and(is_signal)
    }
}

fn is_signal(failure: &Failure) -> bool {
    matches!(failure.kind, Kind::Signal(_))
}

/// What all turns use.
pub(super) struct TurnContext<'a> {
    pub(super) connected: &'a Connected,
    /// All of it is here.
    pub(super) said: &'a UserInput,
    pub(super) contents: &'a Kept,
    pub(super) approvers: Approvers,
}

impl<'a> AskRun<'a> {
    pub(super) fn of(run: &'a Run<'a>, begun: &Begun) -> Self {
        let Begun { interrupt, deadline, said, is_instructed, .. } = begun;
        let (shared, models) = (None, Models::new());
        Self {
            run,
            interrupt: interrupt.clone(),
            deadline: *deadline,
            said: Arc::clone(said),
            is_instructed: *is_instructed,
            shared,
            models,
            spent: TurnCosts::default(),
        }
    }

    /// Returns the ensembles and the instructions of the user and of a trusted project, which each candidate gets.
    pub(super) fn catalogue(
        &self,
        candidates: &mut [Candidate],
    ) -> Result<(Catalogue, Instructions), Failure> {
        let catalogue = self.run.catalogue(common(candidates)?, &self.said, self.is_instructed)?;
        if !self.is_instructed {
            return Ok((catalogue, Instructions::default()));
        }
        let mut found = instructions(&catalogue, self.run.world);
        self.run.console.warn_all(found.warnings.iter().map(|told| format!("warning: {told}")));
        if self.run.options.no_tools {
            found.skills.clear();
        }
        let (text, skills) = (found.text(), found.list_of_skills());
        for Candidate { settings, .. } in candidates {
            settings.instructions.clone_from(&text);
            settings.skills.clone_from(&skills);
        }
        Ok((catalogue, found))
    }

    /// How each turn ended, in the order of the candidates; or why none could begin.
    pub(super) fn run(
        &self,
        candidates: &mut [Candidate],
        outputs: &[Output],
    ) -> Result<Vec<Ended>, Failure> {
        require_keys(candidates)?;
        // The process ends after this run: what is large is not freed before.
        let (catalogue, found) = self.catalogue(candidates)?;
        let catalogue = ManuallyDrop::new(catalogue);
        let contents = Kept::awaiting(candidates.iter().any(Candidate::is_kept));
        let ended = block_on(async {
            let (connected, said) = self.connect(&catalogue, &found, candidates, &contents).await?;
            let connected = ManuallyDrop::new(connected);
            // Only now: nothing is saved of a run that cannot start, and no session continues without the question.
            let kept = self.run.sessions().keep(candidates);
            contents.settle(kept.iter().filter_map(History::contents));
            let candidates = &*candidates;
            let approvers = self.approvers(&connected);
            let turn_context =
                TurnContext { connected: &connected, said: &said, contents: &contents, approvers };
            let session = kept.first().and_then(History::id).map(|id| id.to_string());
            let seats = candidates.iter().zip(outputs).zip(kept).enumerate();
            let turns = seats.map(|(caller, ((candidate, output), history))| {
                let turn = Turn { ask_run: self, settings: &candidate.settings, output, caller };
                timed(turn.run(history, &turn_context), output)
            });
            let asked = self.answering(&catalogue, common(candidates)?, &turn_context, session);
            let ended = tokio::select! {
                ended = self.run.console.progress.during(join_all(turns)) => ended,
                never = asked => match never {},
            };
            let concluded = outputs.iter().try_for_each(|output| output.conclude(&connected.roster));
            connected.disconnect(&self.run.console.context).await;
            concluded?;
            Ok(ended)
        });
        self.eject(ended.flatten())
    }

    /// Finishes the recording, even after an error. An error of the run takes precedence over an error of the
    /// recording.
    fn eject(&self, ended: Result<Vec<Ended>, Failure>) -> Result<Vec<Ended>, Failure> {
        let console = self.run.console;
        let (failed, interrupted) = match &ended {
            Ok(turns) => {
                (turns.iter().any(|turn| turn.failure.is_some()), turns.iter().any(Ended::is_interrupted))
            }
            Err(failure) => (true, is_signal(failure) || self.is_late()),
        };
        match console.context.cassette.eject(interrupted) {
            Err(failure) if failed => console.warn(&format!("warning: {}", failure.message)),
            ejected => console.warn_all(ejected?),
        }
        ended
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Answers servers that ask for a model, as long as turns run.
    async fn answering(
        &self,
        catalogue: &Catalogue,
        settings: &Settings,
        turn_context: &TurnContext<'_>,
        session: Option<String>,
    ) -> Infallible {
        let Run { console, world, .. } = self.run;
        let approver = TerminalApprover::new(console.context.can_ask, Arc::clone(&console.progress));
        let audit = AuditSink::new(settings.audit, session, &console.context, world);
        let around = Around {
            settings,
            catalogue,
            rules: turn_context.connected.roster.rules(),
            approver: &approver,
            audit: &audit,
            artefacts: Arc::new(turn_context.contents.clone()),
            spent: &self.spent,
            cancel: &self.interrupt.token,
        };
        self.models.serve(around).await
    }

    fn approvers(&self, connected: &Connected) -> Approvers {
        let Run { console, world, .. } = self.run;
        let memory = Memory::new(connected.roster.rules(), &console.context.redactor, world);
        let approver = TerminalApprover::new(console.context.can_ask, Arc::clone(&console.progress));
        Approvers::new(approver.remembering(memory, world))
    }

    /// Connects the ensembles, and adds the parts of the question that come from servers.
    pub(super) async fn connect(
        &self,
        catalogue: &Catalogue,
        found: &Instructions,
        candidates: &[Candidate],
        contents: &Kept,
    ) -> Result<(Connected, Arc<UserInput>), Failure> {
        let settings = common(candidates)?;
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        let read_from = self.read_from(catalogue)?;
        let (world, console) = (self.run.world, self.run.console);
        let (interrupt, deadline) = (&self.interrupt, self.deadline);
        let protected = catalogue.protected();
        let lockfiles = &catalogue.lockfiles();
        let sampler = Some(Arc::clone(&self.models) as Arc<dyn Sampler>);
        let responders = Responders { elicitor: somebody(console), sampler, ..Responders::default() };
        let looking = Wiring::looking(world, &console.context, interrupt, contents);
        let wiring = Wiring { deadline, protected, lockfiles, responders, ..looking };
        let own = skills(found, &console.context.redactor).into_iter().collect();
        let (rules, shared) = (settings.rules.clone(), self.shared.as_ref());
        let connected = wiring.connect_with(&chosen, rules, shared, own).await?;
        if let Some(failure) = connected.failure_of(&self.run.options.ensemble) {
            connected.disconnect(&console.context).await;
            return Err(failure);
        }
        connected.roster.searchable();
        console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        match self.gathered(&read_from, &wiring, &connected, candidates).await {
            Ok(said) => Ok((connected, self.with_command(found, said))),
            Err(failure) => {
                connected.disconnect(&console.context).await;
                Err(failure)
            }
        }
    }
}

impl AskRun<'_> {
    /// Replaces `/name …` by the text of the command, if the words of the command line begin with it. What only stdin says
    /// is never a command.
    fn with_command(&self, found: &Instructions, said: Arc<UserInput>) -> Arc<UserInput> {
        let is_typed = self.run.args.prompt.first().is_some_and(|word| word.starts_with('/'));
        match found.named_by(said.words()).filter(|_| is_typed) {
            Some((command, arguments)) => Arc::new(said.saying(command.message(arguments))),
            None => said,
        }
    }
}

async fn timed(turn: impl Future<Output = Result<(), Failure>>, output: &Output) -> Ended {
    let began = Instant::now();
    let failure = turn.await.err();
    let ended = Ended { failure, elapsed: began.elapsed() };
    if let Output::Compared(compared) = output {
        compared.progress.ended(ended.failure.is_none(), ended.elapsed);
    }
    ended
}

/// Of several models one may have none: it is named, and none is asked.
fn require_keys(candidates: &[Candidate]) -> Result<(), Failure> {
    let asked = candidates.iter().filter(|candidate| !candidate.settings.cassette.answers_for_models());
    for Candidate { settings, .. } in asked {
        settings.model.require_key().map_err(|failure| match candidates {
            [_] => failure,
            _ => {
                let id = &settings.model.id;
                Failure { message: format!("{id}: {}", failure.message), ..failure }.of_model(id)
            }
        })?;
    }
    Ok(())
}

/// Ensembles and rules are the same in the settings of all of them.
fn common(candidates: &[Candidate]) -> Result<&Settings, Failure> {
    candidates.first().map(|candidate| &candidate.settings).ok_or_else(|| internal("no model is asked"))
}
