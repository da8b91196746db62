//! A run of a suite, from its file to its reports.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use converse_batch::{Bounds, Fate, Gate, Next, Schedule, Stops};
use converse_canister::Cost;
use converse_config::SettingsPlan;
use converse_host::Notices;
use converse_host::catalogue::Catalogue;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::options::TurnOptions;
use converse_host::runtime::block_on;
use converse_host::settings::{Files, Settings};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stderr;
use converse_terminal::signals;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::baseline::Baseline;
use crate::conversation::{Ran, Runs, Tape, Task};
use crate::ending::{Ended, fate, stops_all};
use crate::files::{self, Results};
use crate::plan::{Planned, cassette, plan};
use crate::remote::Remote;
use crate::report::Report;
use crate::suite::Suite;
use crate::tally::{Judged, Tally};

/// Distinct notices of runs that are shown.
const MOST_NOTICES: usize = 50;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    pub suite: PathBuf,
    /// The models to run; empty for those of the suite.
    pub models: Vec<String>,
    /// How often each case runs with each model; `None` for the number in the suite.
    pub repeat: Option<u32>,
    /// Conversations at once.
    pub jobs: usize,
    /// A part of the names of the cases to run.
    pub filter: Option<String>,
    /// The directory to which each run is recorded.
    pub record: Option<PathBuf>,
    /// The directory from which each run is replayed.
    pub replay: Option<PathBuf>,
    pub baseline: Option<PathBuf>,
    /// The fall of a pass rate below the baseline that is allowed, from 0 to 1.
    pub threshold: f64,
    pub save_baseline: Option<PathBuf>,
    pub junit: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    /// The file of results, a JSON object on each line.
    pub output: Option<PathBuf>,
    /// Runs the conversations on the workers of a Restate server, `restate://HOST:PORT`, which must have the model and the
    /// ensembles that the suite names.
    pub runner: Option<String>,
    /// `max_cost` is for all conversations, every other limit for each.
    pub turn: TurnOptions,
}

/// Runs a suite. `exit_code` gives the code that a result has for a failure.
///
/// # Errors
///
/// The suite or the settings cannot be used, the run was stopped, or cases have failed.
pub fn run(
    options: &EvalOptions,
    console: &Console,
    world: &World,
    exit_code: fn(Kind) -> u8,
) -> Result<(), Failure> {
    let interrupt = signals::watch()?;
    let (settings, warnings) = Files::read(world).checked()?;
    console.warn_all(warnings);
    console.context.redactor.learn(model::keys(&settings, world)?);
    let mut suite = files::suite(&world.cwd.join(&options.suite), &options.suite)?;
    let mut turn = options.turn.clone();
    if turn.ensemble.is_empty() && !turn.no_tools {
        turn.ensemble.clone_from(&suite.ensembles);
    } else {
        suite.cases.iter_mut().for_each(|case| case.ensembles.clear());
    }
    turn.system = turn.system.or_else(|| suite.system.clone());
    let read_baseline = |path: &PathBuf| files::baseline(&world.cwd.join(path), path);
    let baseline = options.baseline.as_ref().map(read_baseline).transpose()?;
    let remote = |url: &String| Remote::new(url, options, &suite, &interrupt, world);
    let remote = options.runner.as_ref().map(remote).transpose()?;
    let models = match &remote {
        Some(remote) => vec![remote.settings.model.clone()],
        None => models(options, &suite, &turn, (&settings, world), console)?,
    };
    check(&mut suite, options, &models, remote.as_ref(), world)?;
    if remote.is_some() {
        turn = Remote::local(&turn);
        suite.cases.iter_mut().for_each(|case| case.ensembles.clear());
    }
    let repeat = options.repeat.unwrap_or(suite.repeat);
    let planned = plan(&suite, models.len(), repeat, options.filter.as_deref());
    if planned.is_empty() {
        let message = "no case of the suite has such a name".to_owned();
        let names = suite.cases.iter().map(|case| case.name.as_str());
        let asked = options.filter.as_deref().unwrap_or_default();
        return Err(Failure::usage("no-cases", message).did_you_mean(
            asked,
            names,
            "without `--filter`, all cases run",
        ));
    }
    judges(&planned, &suite, options, (&settings, world))?;
    let results = options.output.as_ref().map(|path| Results::create(&world.cwd.join(path))).transpose()?;
    let (suite, models, turn, remote) = (&suite, &*models, &turn, remote.as_ref());
    let eval = Eval { options, console, world, interrupt, settings, suite, models, turn, remote };
    let ran = block_on(eval.all(&planned, results, exit_code))?;
    if let Some(remote) = remote.filter(|_| ran.left == 0 && ran.stopped.is_none()) {
        remote.conclude();
    }
    eval.report(&ran, baseline.as_ref())
}

/// The models to run, by their full names.
fn models(
    options: &EvalOptions,
    suite: &Suite,
    turn: &TurnOptions,
    (settings, world): (&SettingsPlan, &World),
    console: &Console,
) -> Result<Vec<String>, Failure> {
    let resolved = |name: Option<&str>| {
        let found = Settings::resolve(turn, None, name, settings, None, world)?;
        if options.replay.is_none() {
            found.model.require_key()?;
        }
        if name.is_none() {
            console.note_understudy(&found.model);
        }
        Ok::<String, Failure>(found.model.id)
    };
    let named = if options.models.is_empty() { &suite.models } else { &options.models };
    let mut models: Vec<String> = Vec::new();
    for name in named {
        let id = resolved(Some(name))?;
        if !models.contains(&id) {
            models.push(id);
        }
    }
    if models.is_empty() {
        models.push(resolved(None)?);
    }
    Ok(models)
}

/// Checks that the judges of these runs can be asked, before anything is paid.
fn judges(
    planned: &[Planned],
    suite: &Suite,
    options: &EvalOptions,
    (settings, world): (&SettingsPlan, &World),
) -> Result<(), Failure> {
    // As a judge is asked: with nothing of the options but the budget.
    let turn = TurnOptions { max_cost: options.turn.max_cost, ..TurnOptions::default() };
    let check = |model: &str| {
        let found = Settings::resolve(&turn, None, Some(model), settings, None, world)?;
        if found.model.is_understudy() {
            let failure = Failure::usage("schema-understudy", "the understudy cannot judge");
            return Err(failure.hint("name a language model, such as `model = \"ollama/NAME\"`"));
        }
        if options.replay.is_none() { found.model.require_key() } else { Ok(()) }
    };
    let mut seen = BTreeSet::new();
    for case in planned.iter().filter_map(|one| suite.cases.get(one.case)) {
        let judge = case.expect.judge.as_ref().map(|judge| judge.model.as_str());
        let Some(model) = judge.filter(|model| seen.insert(*model)) else { continue };
        check(model).map_err(|failure| {
            let place = format!("{}:{}", options.suite.display(), case.line);
            let message = format!("{place}: the judge `{model}` cannot be asked: {}", failure.message);
            Failure { message, ..failure }
        })?;
    }
    Ok(())
}

/// Checks what only the environment shows, and reads the schemas of answers.
fn check(
    suite: &mut Suite,
    options: &EvalOptions,
    models: &[String],
    remote: Option<&Remote>,
    world: &World,
) -> Result<(), Failure> {
    let shown = options.suite.display().to_string();
    let mut faults = Vec::new();
    for case in &mut suite.cases {
        let place = format!("{shown}:{}", case.line);
        let mut fault = |code, message: String, hint: &str| {
            faults.push(Failure::usage(code, format!("{place}: {message}")).hint(hint));
        };
        if let Some(path) = &case.schema {
            match files::schema(&world.cwd.join(path)) {
                Ok(schema) => case.conversation.schema = Some(schema),
                Err(why) => {
                    let message = format!("`{}` cannot be used: {why}", path.display());
                    fault("schema-file", message, "paths begin at the working directory");
                }
            }
            if models.iter().any(|model| model.starts_with(model::UNDERSTUDY)) {
                let message = "`answer.schema` needs a language model".to_owned();
                fault("schema-understudy", message, "-m ollama/NAME for a local model");
            }
        }
        if let Some((code, message, hint)) = remote.and_then(|remote| remote.fault(case)) {
            fault(code, message, hint);
            continue;
        }
        let is_missing = |name: &&String| !name.contains("://") && !world.cwd.join(name).is_file();
        if let Some(name) = case.conversation.attachments.iter().find(is_missing) {
            fault("attachment", format!("`{name}` is not a file"), "paths begin at the working directory");
        }
    }
    faults.iter().for_each(|fault| write_stderr(&fault.lines()));
    if faults.is_empty() { Ok(()) } else { Err(files::bad_suite(&shown, faults.len())) }
}

struct Eval<'a> {
    options: &'a EvalOptions,
    console: &'a Console,
    world: &'a World,
    interrupt: Interrupt,
    settings: SettingsPlan,
    suite: &'a Suite,
    models: &'a [String],
    turn: &'a TurnOptions,
    remote: Option<&'a Remote>,
}

impl<'a> Eval<'a> {
    async fn all(
        &self,
        planned: &[Planned],
        mut results: Option<Results>,
        exit_code: fn(Kind) -> u8,
    ) -> Ended<'a> {
        let began = Instant::now();
        let Self { options, console, world, interrupt, settings, suite, models, turn, remote } = self;
        let gates: Mutex<HashMap<String, Gate>> = Mutex::default();
        let gate = |provider: &str| {
            let mut gates = gates.lock();
            gates.entry(provider.to_owned()).or_insert_with(|| Gate::new(options.jobs, began)).clone()
        };
        let catalogue = Catalogue::find(world, &turn.directories);
        let named = (!turn.ensemble.is_empty()).then_some(turn.ensemble.as_slice());
        console.warn_all(catalogue.lines_for(named));
        let lockfiles = catalogue.lockfiles();
        let (stops, notices) = (Arc::new(Stops::new(turn.max_cost)), Arc::new(Collected::default()));
        let runs = Runs {
            context: &console.context,
            notices: Arc::clone(&notices) as Arc<dyn Notices>,
            world,
            interrupt,
            files: settings,
            turn,
            catalogue: &catalogue,
            lockfiles: &lockfiles,
            stops: Arc::clone(&stops),
            gate: &gate,
            remote: *remote,
            exit_code,
        };
        let bounds = Bounds { jobs: options.jobs, budget: turn.max_cost, held: None };
        let mut schedule = Schedule::new(0..planned.len(), bounds);
        let mut ended = Ended {
            tally: Tally::new(suite, models, planned),
            stopped: None,
            spent: Cost(0),
            is_cost_unknown: false,
            left: planned.len(),
            elapsed: Duration::ZERO,
        };
        let bar = console.progress_bar(planned.len(), "");
        let mut running = FuturesUnordered::new();
        let mut is_interrupted = false;
        loop {
            bar.set_position((planned.len() - ended.left) as u64);
            bar.set_message(ended.progress());
            match schedule.next(began.elapsed(), options.jobs, Duration::ZERO, 0) {
                Next::Start { job, allowance } => {
                    let number = (job, schedule.repeats(job));
                    let task = planned.get(job).and_then(|one| self.task(number, *one, allowance));
                    match task {
                        Some(task) => running.push(runs.run(task).boxed_local()),
                        None => schedule.ended(job, Fate::Left),
                    }
                    continue;
                }
                Next::Wait(_) => {}
                Next::Over => break,
            }
            tokio::select! {
                Some(ran) = running.next(), if !running.is_empty() => {
                    let number = ran.number;
                    schedule.spend(ran.cost);
                    ended.spend(&ran);
                    let fate = fate(&ran, &schedule);
                    if let Fate::Done = fate
                        && let Some(one) = planned.get(number)
                        && let Err(failure) = self.take(*one, &ran, &mut ended, results.as_mut())
                    {
                        interrupt.token.cancel();
                        ended.stop(failure);
                    }
                    if let Some(failure) = stops_all(ran) {
                        stops.close();
                        ended.stop(failure);
                    }
                    schedule.ended(number, fate);
                }
                () = interrupt.token.cancelled(), if !is_interrupted => {}
            }
            // A run that the signal ended may be seen before the signal.
            if interrupt.token.is_cancelled() {
                is_interrupted = true;
                ended.stop(interrupt.failure());
            }
            if ended.stopped.is_some() {
                schedule.stop();
            }
        }
        bar.finish_and_clear();
        ended.elapsed = began.elapsed();
        notices.take().iter().for_each(|text| console.note(text));
        ended
    }

    fn task(
        &self,
        (number, attempt): (usize, u8),
        one: Planned,
        allowance: Option<Cost>,
    ) -> Option<Task<'a>> {
        let (case, model) = (self.suite.cases.get(one.case)?, self.models.get(one.model)?);
        let path = |directory: &PathBuf| cassette(directory, &case.name, model, one.run);
        let cassette = match (&self.options.record, &self.options.replay) {
            (Some(directory), _) => Some(Tape::Record(path(directory))),
            (None, Some(directory)) => Some(Tape::Replay(path(directory))),
            (None, None) => None,
        };
        Some(Task { number, attempt, run: one.run, case, model, cassette, allowance })
    }

    /// Keeps the verdict of a run.
    fn take(
        &self,
        one: Planned,
        ran: &Ran,
        ended: &mut Ended<'_>,
        results: Option<&mut Results>,
    ) -> Result<(), Failure> {
        let Some((case, model)) = self.suite.cases.get(one.case).zip(self.models.get(one.model)) else {
            return Ok(());
        };
        ended.left -= 1;
        let milliseconds = ran.object.as_ref().and_then(|object| object["milliseconds"].as_u64());
        let judged = Judged {
            run: one.run,
            status: ran.status.clone(),
            cost: ran.cost,
            milliseconds: milliseconds.unwrap_or_default(),
        };
        ended.tally.add(&case.name, model, judged);
        let Some(results) = results else { return Ok(()) };
        let misses = ran.status.misses().iter();
        let misses: Vec<Value> =
            misses.map(|miss| json!({ "key": miss.key, "message": miss.message })).collect();
        let mut result = ran.object.clone();
        if let Some(Value::Object(object)) = &mut result {
            object.shift_remove("id");
        }
        let mut line = json!({
            "case": case.name,
            "model": model,
            "run": one.run,
            "status": ran.status.as_str(),
            "misses": misses,
            "cost": (!ran.is_cost_unknown).then(|| ran.cost.dollars()),
            "result": result,
        });
        self.console.context.redactor.clean_json(&mut line);
        results.take(&line)
    }

    /// Writes all reports, and returns why the run is not a success.
    fn report(&self, ended: &Ended<'_>, baseline: Option<&Baseline>) -> Result<(), Failure> {
        let Self { options, console, .. } = self;
        let comparison = baseline.map(|baseline| baseline.compare(&ended.tally, options.threshold));
        let file = options.suite.display().to_string();
        let report = Report {
            name: &self.suite.name,
            file: &file,
            tally: &ended.tally,
            comparison: comparison.as_ref(),
        };
        let written = [
            console.print(&report.text()).map_err(Failure::from),
            self.write(options.junit.as_ref(), || report.junit()),
            self.write(options.markdown.as_ref(), || report.markdown()),
            self.save_baseline(ended),
        ];
        console.note(&ended.summary());
        let mut unwritten: VecDeque<Failure> = written.into_iter().filter_map(Result::err).collect();
        // A reader that went away says nothing about the reports.
        unwritten.make_contiguous().sort_by_key(|failure| failure.kind == Kind::Closed);
        let conclusion = ended.conclusion(comparison.as_ref()).err();
        let ended = conclusion.or_else(|| unwritten.pop_front());
        let others = unwritten.iter().filter(|failure| failure.kind != Kind::Closed);
        others.for_each(|failure| write_stderr(&failure.lines()));
        ended.map_or(Ok(()), Err)
    }

    fn write(&self, path: Option<&PathBuf>, text: impl Fn() -> String) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        files::write(&self.world.cwd.join(path), &self.console.context.redactor.clean(&text()))
    }

    /// Writes the pass rates, and warns of those that are not in the file.
    fn save_baseline(&self, ended: &Ended<'_>) -> Result<(), Failure> {
        let path = self.options.save_baseline.as_ref();
        if path.is_some() && ended.left > 0 {
            self.console.warn("warning: the baseline was not written, because the run ended early");
            return Ok(());
        }
        if path.is_some() {
            self.console.warn_all(Baseline::left_out(&ended.tally));
        }
        self.write(path, || {
            let baseline = Baseline::of(&self.suite.name, &ended.tally);
            serde_json::to_string_pretty(&baseline).unwrap_or_default() + "\n"
        })
    }
}

/// Collects the notices of runs, each once, until the progress bar is gone.
#[derive(Default)]
struct Collected(Mutex<Vec<String>>);

impl Collected {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Notices for Collected {
    fn show(&self, text: &str) {
        let mut texts = self.0.lock();
        if texts.len() < MOST_NOTICES && !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
    }
}
