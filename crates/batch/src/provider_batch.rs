//! `--provider-batch`: the conversations over the batch API of their provider, at half the price.
//!
//! A conversation of one step is run twice: over a [`Substitute`] that keeps its request, and, when the provider's answer is
//! there, over one that gives it that answer. So requests, checks and results are the usual ones. What is submitted is
//! in a [`Record`] first. Without the id of a batch, which a kill may have cost, the batch is looked for at the provider. A
//! batch that the provider does not show stays in the record, because another key or another base URL hides it, too: only
//! the user gives it up. A run that would ask something else than what was submitted submits nothing new, and takes the
//! results of those conversations that would ask the same.

mod answers;
mod calls;
mod kept;
mod lines;
mod lookup;
mod record;
mod status;
mod submit;
mod substitute;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use converse_canister::Cost;
use converse_host::failure::{Failure, Kind};
use converse_host::settings::Settings;
use converse_provider::BatchApi;
use converse_text::wording::counted;
use tokio::time::Instant;

use crate::BatchOptions;
use crate::conversation::Outcome;
use crate::input::State;
use crate::work::Work;
use calls::Calls;
pub(crate) use record::Record;
pub use substitute::Substitute;

/// Time after which no provider answers any more: batches expire after 24 or 48 hours.
const LONGEST_WAIT: Duration = Duration::from_secs(50 * 3600);
/// The first pause between two looks, as a part of the longest one.
const FIRST_PAUSE: u32 = 12;

/// The options of a run over the batch API of a provider.
#[derive(Debug, Clone)]
pub struct ProviderBatch {
    /// The longest time between two looks at a batch.
    pub poll: Duration,
    /// Cancels what was submitted, and submits nothing.
    pub cancel: bool,
}

/// What all conversations together may take.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    options: ProviderBatch,
    budget: Option<Cost>,
    wait: Duration,
}

impl Plan {
    /// Checks that the conversations can be a provider batch, and changes their settings for that.
    ///
    /// # Errors
    ///
    /// The model, the tools or the fallbacks do not allow it.
    pub(crate) fn of(
        options: &BatchOptions,
        provider: &ProviderBatch,
        settings: &mut Settings,
    ) -> Result<Self, Failure> {
        let model = &mut settings.model;
        let row = model.row.filter(|row| row.has_batches());
        let row = row.filter(|_| BatchApi::of(&model.endpoint, &model.name, &settings.controls).is_some());
        let Some(row) = row else {
            let message = format!("`--provider-batch` does not support `{}`", model.id);
            return Err(Failure::usage("no-provider-batch", message)
                .hint("expected a model of `anthropic`, `gemini`, `openai`, `openai-chat` or `openai-responses`")
                .hint("without `--provider-batch`, all models answer, at the usual price"));
        };
        let turn = &options.turn;
        if !turn.ensemble.is_empty() || !turn.directories.is_empty() {
            let message = "`--provider-batch` cannot offer tools: a provider batch has one step";
            return Err(Failure::usage("provider-batch-tools", message)
                .hint("leave out `-e` and `--ensembles`, or leave out `--provider-batch`"));
        }
        if !turn.fallback.is_empty() {
            let message = "`--provider-batch` cannot ask a fallback";
            return Err(Failure::usage("provider-batch-fallback", message).hint("leave out `--fallback`"));
        }
        model.facts.price = model.facts.price.map(|price| row.batch_price(price));
        settings.fallbacks = Default::default();
        settings.ensembles = Some(Vec::new());
        settings.controls.stream = false;
        settings.retry.retries = 0;
        let (budget, wait) = (settings.limits.cost.take(), settings.limits.deadline.take());
        let wait = wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        Ok(Self { options: provider.clone(), budget, wait })
    }
}

/// Refuses to run conversations that a provider batch has already.
pub(crate) fn refuse_pending(record: &Record) -> Result<(), Failure> {
    let open: usize = record.open.iter().map(|one| one.parts.len()).sum();
    if open == 0 {
        return Ok(());
    }
    let path = record.path().display();
    let message = format!("{} of a provider batch wait in `{path}`", counted(open, "conversation"));
    Err(Failure::usage("pending-batch", message)
        .hint("`--provider-batch` gets their results")
        .hint("`--provider-batch --cancel-batch` cancels them"))
}

/// Submits, waits and writes results. `again` have failed in earlier runs and run again.
pub(crate) async fn run(
    work: Work<'_>,
    plan: &Plan,
    record: Record,
    substitute: Arc<Substitute>,
    again: HashSet<String>,
) -> Result<(), Failure> {
    let settings = work.shared.settings;
    let model = &settings.model;
    let Some(api) = BatchApi::of(&model.endpoint, &model.name, &settings.controls) else {
        return Err(Failure::new(Kind::Internal, "internal", "the provider has no batch API"));
    };
    let calls = Calls::new(api, settings, work.shared.interrupt);
    let promised = record.open.iter().fold(Cost(0), |sum, one| sum.plus(one.estimate()));
    let done = work.input.of(State::Done).collect();
    let (began, places, seen) = (Instant::now(), HashMap::new(), Seen::default());
    let (apart, kept) = (HashMap::new(), Vec::new());
    let mut run =
        Run { work, plan, record, substitute, calls, promised, done, began, places, seen, apart, kept };
    let ended = run.all(&again).await;
    if let Err(failure) = ended {
        let failure = run.with_hints(failure);
        run.work.stop(failure);
    }
    if let Some(failure) = run.kept_failure() {
        run.work.stop(failure);
    }
    run.count();
    run.work.tally.elapsed = run.began.elapsed();
    run.work.end(plan.budget)
}

struct Run<'r> {
    work: Work<'r>,
    plan: &'r Plan,
    record: Record,
    substitute: Arc<Substitute>,
    calls: Calls<'r>,
    /// What all that was submitted may cost.
    promised: Cost,
    /// Conversations with a result.
    done: HashSet<usize>,
    began: Instant,
    /// The place of each id in the input.
    places: HashMap<String, usize>,
    seen: Seen,
    /// Conversations whose answers they cannot take, and why they cannot be built; `None` if they differ.
    apart: HashMap<usize, Option<Failure>>,
    /// The marks of batches that stay open at the end, and why.
    kept: Vec<(String, Vec<Failure>)>,
}

/// What was seen and shown of batches so far.
#[derive(Default)]
struct Seen {
    /// The progress of each that was shown last.
    progress: HashMap<String, u64>,
    /// Those whose cancellation was accepted, or that need none.
    cancelled: HashSet<String>,
    /// When those of which something is missing are read again, by their marks, and the pause before that.
    again: HashMap<String, (Instant, Duration)>,
    /// Lines of results that could not be read.
    odd_lines: usize,
}

/// Whether a failure of a conversation is one of the whole run.
fn ends_run(failure: &Failure) -> bool {
    matches!(failure.kind, Kind::Signal(_)) || matches!(failure.code, "save-failed" | "audit-failed")
}

impl Run<'_> {
    async fn all(&mut self, again: &HashSet<String>) -> Result<(), Failure> {
        self.places = self.work.input.places(self.work.template)?;
        self.record.belongs(&self.work.shared.settings.model.id, &self.places)?;
        let submits = !self.plan.options.cancel && self.unchanged().await? && self.are_shown().await?;
        if submits {
            self.work.results.forget(again)?;
        } else {
            self.done.extend(again.iter().filter_map(|id| self.places.get(id)));
        }
        self.work.unknown()?;
        if self.plan.options.cancel {
            self.cancel_all().await?;
        } else if submits {
            self.submit_open().await?;
        }
        self.wait().await?;
        if self.plan.options.cancel && self.record.open.is_empty() && self.work.tally.left() > 0 {
            let message = "the provider batches were cancelled";
            self.work.stop(Failure::new(Kind::Limit, "batch-canceled", message));
        }
        Ok(())
    }

    /// Counts what was spent since the last time.
    fn count(&mut self) {
        let spending = std::mem::take(&mut *self.work.shared.spending.lock());
        self.work.tally.spent = self.work.tally.spent.plus(spending.known);
        self.work.tally.more |= spending.is_unknown;
    }

    fn note(&self, text: &str) {
        self.work.shared.context.note(text);
    }

    /// The pause before a second look.
    fn first_pause(&self) -> Duration {
        self.plan.options.poll / FIRST_PAUSE
    }

    /// Waits until nothing is open but what stays so.
    async fn wait(&mut self) -> Result<(), Failure> {
        let longest = self.plan.options.poll;
        let mut pause = self.first_pause();
        loop {
            for submission in self.record.open.clone() {
                if !self.is_kept(&submission) {
                    self.look(&submission).await?;
                }
            }
            if self.record.open.iter().all(|one| self.is_kept(one)) {
                return Ok(());
            }
            let left = self.plan.wait.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                let message = format!("no end after {} s", self.plan.wait.as_secs_f64());
                return Err(Failure::new(Kind::Limit, "deadline", message));
            }
            self.calls.sleep(pause.min(left)).await?;
            pause = (pause * 3 / 2).min(longest);
        }
    }

    /// The conversation with this id, if it has no result.
    fn open_job(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied().filter(|job| !self.done.contains(job))
    }

    /// Writes the result of a conversation, if it has one.
    fn take(&mut self, outcome: Outcome) -> Result<(), Failure> {
        self.count();
        let Outcome { job, line, failure, .. } = outcome;
        if let Some(failure) = failure.as_ref().filter(|failure| ends_run(failure)) {
            return Err(failure.clone());
        }
        self.work.done(job, line, failure.as_ref())?;
        self.done.insert(job);
        Ok(())
    }
}
