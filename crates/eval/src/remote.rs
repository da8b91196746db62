//! `--runner`: the conversations of a suite run on the workers of a Restate server. Verdicts, judges and reports stay here.

use std::collections::BTreeSet;
use std::path::PathBuf;

use converse_batch::{Ingress, Line, Message, WorkerSettings};
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::options::TurnOptions;
use converse_host::runtime::block_on;
use converse_host::world::World;
use converse_session::digest;
use serde_json::json;

use crate::run::EvalOptions;
use crate::suite::{Case, Suite};

/// The workers that a suite runs on.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) ingress: Ingress,
    pub(crate) settings: WorkerSettings,
    /// The file of results.
    results: Option<PathBuf>,
}

impl Remote {
    /// Asks the workers at this address whether they are as the suite wants them.
    ///
    /// # Errors
    ///
    /// They are not, there are none, or an option cannot be used with them.
    pub(crate) fn new(
        url: &str,
        options: &EvalOptions,
        suite: &Suite,
        interrupt: &Interrupt,
        world: &World,
    ) -> Result<Self, Failure> {
        if options.record.is_some() || options.replay.is_some() {
            let message = "cassettes do not work with `--runner`: the workers call the models and the tools";
            return Err(Failure::usage("runner-cassette", message)
                .hint("leave out `--record` and `--replay`, or `--runner`"));
        }
        let results = options.output.as_ref().map(|path| world.cwd.join(path));
        // Its connections belong to the runtime of this question.
        let asked = Ingress::new(url, None)?;
        let settings = block_on(asked.worker_settings(interrupt))??;
        let named = if options.models.is_empty() { &suite.models } else { &options.models };
        fits(&settings, named, &suite.ensembles)?;
        let ingress = Ingress::new(url, results.as_deref())?;
        Ok(Self { ingress, settings, results })
    }

    /// Returns what a case has that workers cannot do: a code, a message and a hint.
    pub(crate) fn fault(&self, case: &Case) -> Option<(&'static str, String, &'static str)> {
        if let Some(name) = case.conversation.attachments.first() {
            let message = format!("`{name}` cannot be attached with `--runner`");
            return Some(("attachment", message, "put its text into the prompt"));
        }
        if case.limits.time.is_some() {
            let message =
                "`limits.time` does not work with `--runner`: a run may wait for a worker".to_owned();
            return Some(("runner-limit", message, "leave it out; `limits.cost` works"));
        }
        if !is_same(&self.settings, &case.ensembles) {
            let message = "the workers have other ensembles than the case".to_owned();
            return Some((
                "runner-ensembles",
                message,
                "put the case into a suite of its own, with workers of its own",
            ));
        }
        None
    }

    /// Returns the options of this process, which calls no tool, and no model but a judge.
    pub(crate) fn local(turn: &TurnOptions) -> TurnOptions {
        TurnOptions { no_tools: true, ensemble: Vec::new(), ..turn.clone() }
    }

    /// Returns the conversation of a run. `system` are the instructions of the suite. Its id is that of the run and of all that
    /// decides its result, so that the same command finds a run that was begun, and a suite that was changed begins another.
    pub(crate) fn line(&self, case: &Case, run: u32, system: Option<&str>) -> Line {
        let mut line = case.conversation.clone();
        let has_own = line.before.first().is_some_and(|first| first.system().is_some());
        if let Some(text) = system.filter(|_| !has_own) {
            line.before.insert(0, Message::of_system(text));
        }
        let digest = digest(json!([line, case.limits.cost, self.settings]).to_string().as_bytes());
        line.id = format!("{} {run} {digest}", case.name);
        line
    }

    /// Forgets a run that left nothing open.
    pub(crate) fn conclude(&self) {
        if let Some(results) = &self.results {
            Ingress::conclude(results);
        }
    }
}

/// Compares the workers with the models and ensembles that are wanted, each empty for any.
fn fits(workers: &WorkerSettings, models: &[String], ensembles: &[String]) -> Result<(), Failure> {
    let WorkerSettings { model, .. } = workers;
    if let Some(other) = models.iter().find(|wanted| *wanted != model) {
        let message = format!("the workers run `{model}`, and `{other}` is to be evaluated");
        return Err(Failure::usage("runner-model", message)
            .hint(format!("start them with `converse-worker -m {other}`"))
            .hint(format!("`-m {model}` evaluates this model alone")));
    }
    if !is_same(workers, ensembles) {
        let flags: Vec<String> = ensembles.iter().map(|name| format!("-e {name}")).collect();
        let message = match &workers.ensembles {
            Some(names) => {
                format!("the workers use the ensembles {}, and the suite names others", names.join(", "))
            }
            None => "the workers use all ensembles, and the suite names some".to_owned(),
        };
        return Err(Failure::usage("runner-ensembles", message)
            .hint(format!("start them with `converse-worker {}`", flags.join(" "))));
    }
    Ok(())
}

/// Whether workers use just these ensembles. Empty for any.
fn is_same(workers: &WorkerSettings, ensembles: &[String]) -> bool {
    let wanted: BTreeSet<&String> = ensembles.iter().collect();
    wanted.is_empty()
        || workers.ensembles.as_ref().is_some_and(|names| names.iter().collect::<BTreeSet<_>>() == wanted)
}
