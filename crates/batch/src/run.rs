//! A batch from its input to its summary.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_host::answer::ReplySchema;
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::options::TurnOptions;
use converse_host::runtime::block_on;
use converse_host::settings::{Files, Settings};
use converse_host::turn::sessions;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stderr;
use converse_terminal::signals;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::conversation::{Shared, Spending};
use crate::gate::{Gate, PacedWire, Stops};
use crate::ingress::Ingress;
use crate::input::{Input, Known, State};
use crate::line::Line;
use crate::provider_batch::{self, Plan, ProviderBatch, Record, Substitute, refuse_pending};
use crate::results::Results;
use crate::running::{Remote, Running};
use crate::schedule::{Bounds, Schedule};
use crate::summary::Tally;
use crate::work::Work;

/// Results that may wait for an earlier one, for each conversation that runs at once.
const HELD: usize = 8;
/// Bytes of a template.
const MOST_TEMPLATE: u64 = 1024 * 1024;

/// The options of a batch.
#[derive(Debug, Clone)]
pub struct BatchOptions {
    pub input: PathBuf,
    /// The file of results; `None` for stdout.
    pub output: Option<PathBuf>,
    /// Conversations at once.
    pub jobs: usize,
    /// Results in the order of the input.
    pub ordered: bool,
    /// Runs failed conversations of the file again.
    pub retry_failed: bool,
    /// Saves each conversation as a session.
    pub save_sessions: bool,
    /// The prompt of lines that have none, or `@FILE`.
    pub template: Option<String>,
    /// The schema of the answers of lines that have none.
    pub schema: Option<PathBuf>,
    /// Runs the conversations over the batch API of their provider. Needs a file of results.
    pub provider: Option<ProviderBatch>,
    /// Runs the conversations on the workers of a Restate server, `restate://HOST:PORT`. Their settings, models and tools count.
    pub runner: Option<String>,
    /// `max_cost` is for all conversations, every other limit for each; with `provider`, `deadline` is for the wait.
    pub turn: TurnOptions,
}

/// Runs a batch. `exit_code` gives the code that a result has for a failure.
///
/// # Errors
///
/// The input or the settings cannot be used, the run was stopped, or conversations have failed.
pub fn run(
    options: &BatchOptions,
    console: &Console,
    world: &World,
    exit_code: fn(Kind) -> u8,
) -> Result<(), Failure> {
    let interrupt = signals::watch()?;
    let (files, warnings) = Files::read(world).checked()?;
    console.warn_all(warnings);
    console.context.redactor.learn(model::keys(&files, world)?);
    let batch = Batch { options, console, world, interrupt, template: template(options, world)? };
    let is_remote = options.runner.is_some();
    let (schema, line_schema) = match &options.schema {
        Some(path) if is_remote => (None, Some(schema_of_lines(path, world)?)),
        schema => (schema.as_deref(), None),
    };
    let mut settings = Settings::resolve(&local(options), schema, None, &files, None, world)?;
    let plan = options.provider.as_ref().map(|provider| Plan::of(options, provider, &mut settings));
    let plan = plan.transpose()?;
    if !is_remote {
        settings.model.require_key()?;
        console.warn_all(settings.fallbacks.left_out.iter().cloned());
        console.note_understudy(&settings.model);
    }
    let (results, known) = match &options.output {
        Some(path) => Results::to_file(&world.cwd.join(path), batch.retries())?,
        None => (Results::to_stdout(), Known::default()),
    };
    let record = results.path().map(Record::read).transpose()?;
    let over_provider = match (plan, record) {
        (Some(plan), Some(record)) => Some((plan, record)),
        (Some(_), None) => {
            let message = "`--provider-batch` needs a file of results";
            return Err(Failure::usage("usage", message).hint("-o FILE"));
        }
        (None, record) => {
            record.as_ref().map_or(Ok(()), refuse_pending)?;
            None
        }
    };
    let remote = options
        .runner
        .as_ref()
        .map(|url| Ok::<_, Failure>(Remote { ingress: Ingress::new(url, results.path())?, line_schema }));
    let remote = remote.transpose()?;
    let (input, failed) = batch.input(&known, &settings)?;
    block_on(batch.connected(settings, input, results, failed, Way { exit_code, over_provider, remote }))?
}

/// With a runner, this process calls no model and no tool.
fn local(options: &BatchOptions) -> TurnOptions {
    let mut turn = options.turn.clone();
    if options.runner.is_some() {
        turn.model = vec![model::UNDERSTUDY.to_owned()];
        turn.no_tools = true;
    }
    turn
}

/// Reads the schema of lines that have none.
fn schema_of_lines(path: &Path, world: &World) -> Result<Value, Failure> {
    ReplySchema::read(path, world)?;
    let text = std::fs::read(world.cwd.join(path)).map_err(|error| error.to_string());
    let value = text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    value.map_err(|why| Failure::usage("schema-file", format!("`{}` cannot be used: {why}", path.display())))
}

fn template(options: &BatchOptions, world: &World) -> Result<Option<String>, Failure> {
    let Some(text) = &options.template else { return Ok(None) };
    let Some(file) = text.strip_prefix('@') else { return Ok(Some(text.clone())) };
    let failed = |why: String| Failure::usage("template-file", format!("`{file}` cannot be used: {why}"));
    let path = world.cwd.join(file);
    let metadata = std::fs::metadata(&path).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MOST_TEMPLATE {
        return Err(failed("expected a text file of at most 1 MiB".to_owned()));
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| failed(error.to_string()))
}

/// How the conversations are run.
struct Way {
    /// The code that a result has for a failure.
    exit_code: fn(Kind) -> u8,
    /// For a provider batch: its plan, and what is open of earlier ones.
    over_provider: Option<(Plan, Record)>,
    remote: Option<Remote>,
}

struct Batch<'a> {
    options: &'a BatchOptions,
    console: &'a Console,
    world: &'a World,
    interrupt: Interrupt,
    template: Option<String>,
}

impl Batch<'_> {
    /// Whether failed conversations run again. A cancellation runs nothing.
    fn retries(&self) -> bool {
        let cancels = self.options.provider.as_ref().is_some_and(|provider| provider.cancel);
        self.options.retry_failed && !cancels
    }

    /// Whether each conversation is a session. Warns once if there is no place for sessions.
    fn saves(&self) -> bool {
        let saves = self.options.save_sessions;
        let has_store = sessions::store(self.world).is_some();
        if saves && !has_store {
            self.console.context.warn("warning: no home directory: sessions are not saved");
        }
        saves && has_store
    }

    /// Reads the input. Returns the ids of its conversations that have failed before, too.
    fn input(&self, known: &Known, settings: &Settings) -> Result<(Input, HashSet<String>), Failure> {
        let path = self.world.cwd.join(&self.options.input);
        let shown = &self.options.input;
        let check = |line: &Line| self.check(line, settings);
        let failed = RefCell::new(HashSet::new());
        let state = |id: &str| {
            failed.borrow_mut().extend(known.failed.get(id).cloned());
            known.state(id)
        };
        let input = Input::check(&path, shown, self.template.as_deref(), state, check);
        let input = input.map_err(|rejected| {
            rejected.faults.iter().for_each(|fault| write_stderr(&fault.lines()));
            rejected.failure
        })?;
        Ok((input, failed.into_inner()))
    }

    /// Checks what only the environment shows. Returns the field at fault too.
    fn check(&self, line: &Line, settings: &Settings) -> Result<(), (&'static str, Failure)> {
        if let Some(schema) = &line.schema {
            if settings.model.is_understudy() && self.options.runner.is_none() {
                let failure = Failure::usage("schema-understudy", "`schema` needs a language model");
                return Err(("schema", failure.hint("-m ollama/NAME for a local model")));
            }
            ReplySchema::of(schema.clone()).map_err(|why| {
                ("schema", Failure::usage("bad-schema", why).hint(r#""schema": {"type": "object"}"#))
            })?;
        }
        let is_missing = |name: &&String| !name.contains("://") && !self.world.cwd.join(name).is_file();
        if self.options.runner.is_some()
            && let Some(name) = line.attachments.first()
        {
            // A worker reads no file and no address that somebody else names.
            let message = format!("`{name}` cannot be attached with `--runner`");
            let failure = Failure::usage("attachment", message);
            return Err(("attachments", failure.hint("put its text into the prompt")));
        }
        match line.attachments.iter().find(is_missing) {
            None => Ok(()),
            Some(name) => {
                let failure = Failure::usage("attachment", format!("`{name}` is not a file"));
                Err(("attachments", failure.hint("paths begin at the working directory")))
            }
        }
    }

    /// Connects the ensembles once, for all conversations.
    async fn connected(
        &self,
        settings: Settings,
        input: Input,
        mut results: Results,
        failed: HashSet<String>,
        way: Way,
    ) -> Result<(), Failure> {
        let Self { options, console, world, interrupt, .. } = self;
        let catalogue = Catalogue::find(world, &options.turn.directories);
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        console.warn_all(catalogue.lines_for(settings.ensembles.as_deref()));
        let contents = Kept::rolling();
        let looking = Wiring::looking(world, &console.context, interrupt, &contents);
        let wiring =
            Wiring { protected: catalogue.protected(), lockfiles: &catalogue.lockfiles(), ..looking };
        let connected = wiring.connect(&chosen, settings.rules.clone()).await?;
        let named = connected.failure_of(&options.turn.ensemble);
        let ended = match named {
            Some(failure) => Err(failure),
            None => {
                connected.roster.searchable();
                console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
                // A provider batch has checks of its own before that.
                let forgets = self.retries() && way.over_provider.is_none();
                match forgets.then(|| results.forget(&failed)) {
                    Some(Err(failure)) => Err(failure),
                    _ => self.run(&settings, input, results, failed, (&connected, &contents, way)).await,
                }
            }
        };
        connected.disconnect(&console.context).await;
        ended
    }

    async fn run(
        &self,
        settings: &Settings,
        input: Input,
        results: Results,
        failed: HashSet<String>,
        (connected, contents, way): (&Connected, &Kept, Way),
    ) -> Result<(), Failure> {
        let Way { exit_code, over_provider, remote } = way;
        let began = Instant::now();
        let jobs = self.options.jobs;
        let gates: Mutex<HashMap<String, Gate>> = Mutex::default();
        let gate = |provider: &str| {
            let mut gates = gates.lock();
            gates.entry(provider.to_owned()).or_insert_with(|| Gate::new(jobs, began)).clone()
        };
        let substitute = over_provider.is_some().then(|| Arc::new(Substitute::default()));
        let wires = settings.wires().map(settings, |model, inner| match &substitute {
            Some(substitute) => substitute.clone(),
            None => Arc::new(PacedWire { inner, gate: gate(model.endpoint.provider.as_str()) }),
        });
        let gate = gate(settings.model.endpoint.provider.as_str());
        let (failed_before, again) =
            if self.retries() { (0, failed) } else { (failed.len(), HashSet::new()) };
        let before = input.of(State::Done).count();
        let tally = Tally::new(input.len(), before, failed_before);
        let open: Vec<usize> = input.of(State::Open).collect();
        let mut results = results;
        if self.options.ordered {
            results = results.ordered(input.of(State::Open).chain(input.of(State::Unknown)));
        }
        let begun = results.begun();
        let is_ordered = self.options.ordered;
        let held = is_ordered.then_some(HELD * jobs);
        let bounds = Bounds { jobs, budget: settings.limits.cost, held };
        let audit = AuditSink::new(settings.audit, None, &self.console.context, self.world);
        let shared = Shared {
            context: &self.console.context,
            world: self.world,
            interrupt: &self.interrupt,
            connected,
            contents,
            wires,
            settings,
            audit: &audit,
            saves: self.saves(),
            begun: begun.as_deref(),
            spending: Mutex::new(Spending::default()),
            stops: Arc::new(Stops::new(settings.limits.cost)),
            substitute: substitute.clone(),
            exit_code,
        };
        let (shared, stopped, template) = (&shared, None, self.template.as_deref());
        let bar_length = tally.all;
        let work = Work { shared, input, results, tally, stopped, template, is_ordered };
        if let Some(((plan, record), substitute)) = over_provider.zip(substitute) {
            return provider_batch::run(work, &plan, record, substitute, again).await;
        }
        let schedule = Schedule::new(open, bounds);
        let bar = self.console.progress_bar(bar_length, "");
        let show = |tally: &Tally| {
            bar.set_position(tally.done() as u64);
            bar.set_message(tally.progress());
        };
        let results = work.results.path().map(Path::to_owned);
        let remote = remote.as_ref();
        let mut running = Running { work, schedule, gate, began, show: &show, remote };
        running.all().await;
        bar.finish_and_clear();
        let is_over = running.work.tally.left() == 0;
        let ended = running.work.end(settings.limits.cost);
        if let Some(results) = results.filter(|_| remote.is_some() && is_over) {
            Ingress::conclude(&results);
        }
        ended
    }
}
