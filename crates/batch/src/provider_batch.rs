//! `--provider-batch`: the conversations over the batch API of their provider, at half the price.
//!
//! A conversation of one step is run twice: over a [`Substitute`] that keeps its request, and, when the provider's answer is
//! there, over one that gives it that answer. So requests, checks and results are the usual ones. What is submitted is
//! in a [`Record`] first. Without the id of a batch, which a kill may have cost, the batch is looked for at the provider; if
//! it is not there, its conversations get the result `outcome-unknown` and are not submitted again by themselves.

mod calls;
mod lines;
mod lookup;
mod record;
mod substitute;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::{Cost, Usage};
use converse_engine::AttemptError;
use converse_host::failure::{Failure, Kind};
use converse_host::settings::Settings;
use converse_host::world::World;
use converse_provider::{BatchApi, BatchEnd, BatchOutcome, BatchPart, BatchState, BatchStatus};
use converse_text::wording::{counted, grouped};
use serde_json::Value;
use tokio::time::Instant;

use crate::BatchOptions;
use crate::conversation::Outcome;
use crate::input::State;
use crate::work::Work;
use calls::{Calls, Uncreated};
use lookup::Found;
pub(crate) use record::Record;
use record::Submission;
pub use substitute::Substitute;
use substitute::{PartEnd, Reply, fingerprint};

/// Parts and bytes of one batch, if the provider does not want less: a batch is in memory until it is submitted.
const MOST_PARTS: usize = 50_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Bytes around the body of a part.
const PART_OVERHEAD: usize = 256;
/// Times that results are read if some are missing.
const MOST_READS: usize = 3;
/// Time after which no provider answers any more: batches expire after 24 hours.
const LONGEST_WAIT: Duration = Duration::from_secs(50 * 3600);
/// The first pause between two looks, as a part of the longest one.
const FIRST_PAUSE: u32 = 12;
/// Bytes of a request for one token, by and large.
const BYTES_PER_TOKEN: usize = 4;

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
        let has_batches = model.row.is_some_and(converse_provider::ProviderRow::has_batches);
        if !has_batches || BatchApi::of(&model.endpoint, &settings.controls).is_none() {
            let message = format!("`--provider-batch` does not support `{}`", model.id);
            return Err(Failure::usage("no-provider-batch", message)
                .hint("expected a model of `anthropic`, `openai`, `openai-chat` or `openai-responses`")
                .hint("without `--provider-batch`, all models answer, at the usual price"));
        }
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
        model.facts.price = model.facts.price.map(|price| price.halved());
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

/// Submits, waits and writes results.
pub(crate) async fn run(
    work: Work<'_>,
    plan: &Plan,
    record: Record,
    substitute: Arc<Substitute>,
) -> Result<(), Failure> {
    let settings = work.shared.settings;
    let Some(api) = BatchApi::of(&settings.model.endpoint, &settings.controls) else {
        return Err(Failure::new(Kind::Internal, "internal", "the provider has no batch API"));
    };
    let calls = Calls::new(api, settings, work.shared.interrupt);
    let promised = record.open.iter().fold(Cost(0), |sum, one| sum.plus(one.estimate()));
    let done = work.input.of(State::Done).collect();
    let (began, places, shown) = (Instant::now(), HashMap::new(), HashMap::new());
    let mut run = Run { work, plan, record, substitute, calls, promised, done, began, places, shown };
    let ended = run.all().await;
    if let Err(failure) = ended {
        let failure = run.with_hints(failure);
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
    /// The progress of batches that was shown last.
    shown: HashMap<String, u64>,
}

/// Conversations that will be one batch.
#[derive(Default)]
struct Chunk {
    parts: Vec<(String, Bytes)>,
    bytes: usize,
    estimate: Option<Cost>,
}

impl Run<'_> {
    async fn all(&mut self) -> Result<(), Failure> {
        self.work.unknown()?;
        self.places = self.work.input.places(self.work.template)?;
        self.record.belongs(&self.work.shared.settings.model.id, &self.places)?;
        if self.plan.options.cancel {
            self.cancel().await?;
        } else {
            self.submit_open().await?;
        }
        self.wait().await?;
        if self.plan.options.cancel && self.work.tally.left() > 0 {
            let message = "the provider batches were cancelled";
            self.work.stop(Failure::new(Kind::Limit, "batch-canceled", message));
        }
        Ok(())
    }

    fn with_hints(&self, failure: Failure) -> Failure {
        match self.record.open.is_empty() {
            true => failure,
            false => failure
                .hint("batches go on at the provider; the same command waits for their results")
                .hint("`--cancel-batch` cancels them"),
        }
    }

    /// Counts what was spent since the last time.
    fn count(&mut self) {
        let spending = std::mem::take(&mut *self.work.shared.spending.lock());
        self.work.tally.spent = self.work.tally.spent.plus(spending.known);
        self.work.tally.more |= spending.is_unknown;
    }

    /// Submits the conversations that are neither done nor submitted.
    async fn submit_open(&mut self) -> Result<(), Failure> {
        let parts = self.record.open.iter().flat_map(|one| &one.parts);
        let pending: HashSet<usize> = parts.filter_map(|(id, _)| self.places.get(id).copied()).collect();
        let open: Vec<usize> = self.work.input.of(State::Open).filter(|job| !pending.contains(job)).collect();
        let limits = self.calls.api.limits();
        let most = (limits.parts.min(MOST_PARTS), limits.bytes.min(MOST_BYTES));
        let mut chunk = Chunk::default();
        for job in open {
            let Some((id, body)) = self.collect(job).await? else { continue };
            let estimate = self.estimate(&body)?;
            if let Some(failure) = self.exceeds(estimate) {
                self.work.stop(failure);
                break;
            }
            self.promised = self.promised.plus(estimate.unwrap_or_default());
            let size = body.len() + PART_OVERHEAD;
            if !chunk.parts.is_empty() && (chunk.parts.len() >= most.0 || chunk.bytes + size > most.1) {
                self.submit(std::mem::take(&mut chunk)).await?;
            }
            chunk.bytes += size;
            chunk.estimate = estimate.map(|cost| cost.plus(chunk.estimate.unwrap_or_default()));
            chunk.parts.push((id, body));
        }
        if chunk.parts.is_empty() { Ok(()) } else { self.submit(chunk).await }
    }

    /// Returns the id and the request of a conversation; `None` if it has failed before a request.
    async fn collect(&mut self, job: usize) -> Result<Option<(String, Bytes)>, Failure> {
        let line = self.work.line(job)?;
        let id = line.id.clone();
        self.substitute.expect_request();
        let outcome = self.work.shared.run(job, line, None).await;
        match self.substitute.take_request() {
            Some(body) => Ok(Some((id, body))),
            None => self.take(outcome).map(|()| None),
        }
    }

    /// Returns what a request may cost at most, as far as that can be estimated.
    fn estimate(&self, body: &[u8]) -> Result<Option<Cost>, Failure> {
        let facts = &self.work.shared.settings.model.facts;
        let Some(price) = facts.price else { return Ok(None) };
        let output = bound(body).or(facts.max_output);
        if output.is_none() && self.plan.budget.is_some() {
            let message =
                "`--max-cost` needs a bound of the output, because a batch is paid when it is submitted";
            return Err(Failure::usage("unknown-output", message).hint("--max-output-tokens 2000"));
        }
        let input = Some(body.len().div_ceil(BYTES_PER_TOKEN) as u64);
        Ok(price.cost(&Usage { input, output, ..Usage::default() }))
    }

    fn exceeds(&self, estimate: Option<Cost>) -> Option<Failure> {
        let (budget, next) = (self.plan.budget?, estimate.unwrap_or_default());
        (self.promised.plus(next) > budget).then(|| {
            let [budget, promised, next] = [budget, self.promised, next].map(|cost| cost.dollars());
            let message = format!(
                "the budget of {budget} USD allows no more: what is submitted may cost {promised} USD, and the next \
                 conversation {next} USD"
            );
            Failure::new(Kind::Limit, "budget", message)
                .hint("`--max-output-tokens N` limits what a conversation may cost")
        })
    }

    async fn submit(&mut self, chunk: Chunk) -> Result<(), Failure> {
        // A Ctrl-C in the middle would leave a batch without its id.
        let interrupt = self.work.shared.interrupt;
        if interrupt.token.is_cancelled() {
            return Err(interrupt.failure());
        }
        let random = World::random_bytes().map(|byte| format!("{byte:02x}"));
        let mark = format!("cv{}", random.concat());
        let ids: Vec<String> = (0..chunk.parts.len()).map(|number| Submission::id(&mark, number)).collect();
        let parts: Vec<BatchPart<'_>> =
            ids.iter().zip(&chunk.parts).map(|(id, (_, body))| BatchPart { id, body }).collect();
        let file = match self.calls.api.has_upload() {
            true => Some(self.calls.repeat(|api| api.upload(&parts), |api, body| api.uploaded(body)).await?),
            false => None,
        };
        let request = self.calls.api.create(&mark, file.as_deref(), &parts);
        let request = request.map_err(|error| self.calls.failure(error))?;
        let count = parts.len();
        let parts = chunk.parts.into_iter().map(|(id, body)| (id, fingerprint(&body))).collect();
        self.record.submitting(Submission {
            mark: mark.clone(),
            model: self.work.shared.settings.model.id.clone(),
            since: lookup::a_while_ago(),
            estimate: chunk.estimate.map(|cost| cost.0),
            parts,
            batch: None,
        })?;
        let status = match self.calls.create(request).await {
            Ok(status) => status,
            Err(Uncreated::Refused(failure)) => {
                self.record.close(&mark)?;
                return Err(failure);
            }
            Err(Uncreated::Unknown(failure)) => {
                return Err(failure.hint(
                    "the provider may have the batch all the same: the same command looks for it, and submits \
                     nothing twice",
                ));
            }
        };
        self.record.submitted(&mark, &status.id)?;
        self.note(&format!("{} submitted as {}", counted(count, "conversation"), status.id));
        Ok(())
    }

    fn note(&self, text: &str) {
        self.work.shared.context.note(text);
    }

    /// Waits until nothing is open.
    async fn wait(&mut self) -> Result<(), Failure> {
        let longest = self.plan.options.poll;
        let mut pause = longest / FIRST_PAUSE;
        loop {
            for submission in self.record.open.clone() {
                self.look(&submission).await?;
            }
            if self.record.open.is_empty() {
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

    /// Looks at a batch, and takes its results if it has ended.
    async fn look(&mut self, submission: &Submission) -> Result<(), Failure> {
        let Some(status) = self.status(submission).await? else { return Ok(()) };
        let end = match &status.state {
            BatchState::Ended(end) => end.clone(),
            BatchState::Running | BatchState::Canceling => {
                self.show(&status);
                return Ok(());
            }
        };
        for _ in 0..MOST_READS {
            for file in &status.files {
                self.read(submission, file).await?;
            }
            // A connection may end early in a way that looks like the end of the file.
            let is_whole = submission.parts.iter().all(|(id, _)| self.open_job(id).is_none());
            if is_whole || end != BatchEnd::Completed {
                break;
            }
        }
        for (number, (id, _)) in submission.parts.iter().enumerate() {
            if self.open_job(id).is_some() {
                self.answer(submission, number, PartEnd::Failed(missing(&end))).await?;
            }
        }
        self.work.results.sync()?;
        self.record.close(&submission.mark)
    }

    /// Returns `None` if it is not known yet whether there is a batch, or if there is none.
    async fn status(&mut self, submission: &Submission) -> Result<Option<BatchStatus>, Failure> {
        if let Some(id) = &submission.batch {
            let status = self.calls.repeat(|api| api.status(id), |api, body| api.read_status(body)).await?;
            return Ok(Some(status));
        }
        let found = lookup::find(&self.calls, submission, &self.record.batches()).await?;
        match found {
            Found::Batch(status) => {
                self.record.submitted(&submission.mark, &status.id)?;
                self.note(&format!("found {}, which an earlier run has submitted", status.id));
                Ok(Some(status))
            }
            Found::Perhaps => Ok(None),
            Found::Nothing => self.lose(submission).map(|()| None),
        }
    }

    /// Gives the conversations of a batch that the provider does not have the result `outcome-unknown`.
    fn lose(&mut self, submission: &Submission) -> Result<(), Failure> {
        let message = "an earlier run ended while it submitted a provider batch, and the provider does not list that batch";
        let failure = Failure::new(Kind::Limit, "outcome-unknown", message)
            .hint("`--retry-failed` submits the conversation again");
        for (id, _) in &submission.parts {
            let Some(job) = self.open_job(id) else { continue };
            let line = self.work.shared.not_run(id, &failure);
            self.work.done(job, line, Some(&failure))?;
            self.done.insert(job);
        }
        self.work.results.sync()?;
        self.record.close(&submission.mark)
    }

    fn show(&mut self, status: &BatchStatus) {
        let Some((ended, all)) = status.counts else { return };
        if self.shown.insert(status.id.clone(), ended) != Some(ended) && ended > 0 {
            self.note(&format!("{}: {} of {} have ended", status.id, grouped(ended), grouped(all)));
        }
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        if self.record.open.is_empty() {
            let message = format!("nothing is submitted in `{}`", self.record.path().display());
            return Err(Failure::usage("no-batch", message));
        }
        for submission in self.record.open.clone() {
            let Some(status) = self.status(&submission).await? else { continue };
            if matches!(status.state, BatchState::Running) {
                self.calls.repeat(|api| api.cancel(&status.id), |api, body| api.read_status(body)).await?;
                self.note(&format!("cancelled {}", status.id));
            }
        }
        Ok(())
    }

    /// Reads a file of results. If it breaks off, it is read again.
    async fn read(&mut self, submission: &Submission, file: &str) -> Result<(), Failure> {
        for failures in 1.. {
            match self.read_once(submission, file).await? {
                Ok(()) => break,
                Err(cause) => self.calls.pause(cause, failures).await?,
            }
        }
        Ok(())
    }

    async fn read_once(
        &mut self,
        submission: &Submission,
        file: &str,
    ) -> Result<Result<(), AttemptError>, Failure> {
        let interrupt = self.work.shared.interrupt;
        let mut lines = match self.calls.open(file).await {
            Ok(lines) => lines,
            Err(cause) => return Ok(Err(cause)),
        };
        loop {
            let next = tokio::select! {
                biased;
                () = interrupt.token.cancelled() => return Err(interrupt.failure()),
                next = lines.next() => next,
            };
            let (line, is_last) = match next {
                Ok(Some(next)) => next,
                Ok(None) => return Ok(Ok(())),
                Err(cause) => return Ok(Err(cause)),
            };
            match self.calls.api.read_result(&line) {
                Ok(result) => {
                    let Some(number) = submission.number(&result.id) else { continue };
                    self.answer(submission, number, end_of(result.outcome)).await?;
                }
                Err(_) if is_last => return Ok(Err(AttemptError::CutShort)),
                Err(error) => self.work.shared.context.warn(&format!("warning: {file}: {error}")),
            }
        }
    }

    /// The conversation with this id, if it has no result.
    fn open_job(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied().filter(|job| !self.done.contains(job))
    }

    async fn answer(&mut self, submission: &Submission, number: usize, end: PartEnd) -> Result<(), Failure> {
        let Some((id, of)) = submission.parts.get(number) else { return Ok(()) };
        let Some(job) = self.open_job(id) else { return Ok(()) };
        let line = self.work.line(job)?;
        self.substitute.reply(Reply { of: of.clone(), end });
        let outcome = self.work.shared.run(job, line, None).await;
        self.take(outcome)
    }

    /// Writes the result of a conversation, if it has one.
    fn take(&mut self, outcome: Outcome) -> Result<(), Failure> {
        self.count();
        let Outcome { job, line, failure, .. } = outcome;
        if let Some(failure) = &failure
            && (matches!(failure.kind, Kind::Signal(_))
                || matches!(failure.code, "save-failed" | "audit-failed"))
        {
            return Err(failure.clone());
        }
        self.work.done(job, line, failure.as_ref())?;
        self.done.insert(job);
        Ok(())
    }
}

fn end_of(outcome: BatchOutcome) -> PartEnd {
    match outcome {
        BatchOutcome::Response { status, body, request_id } => PartEnd::Response { status, body, request_id },
        BatchOutcome::Expired => PartEnd::Failed(missing(&BatchEnd::Expired)),
        BatchOutcome::Canceled => PartEnd::Failed(missing(&BatchEnd::Canceled)),
    }
}

/// The failure of a conversation that its batch has not answered.
fn missing(end: &BatchEnd) -> Failure {
    let again = "`--retry-failed` submits the conversation again";
    match end {
        BatchEnd::Completed => {
            let message = "the provider batch ended without a result for this conversation";
            Failure::new(Kind::ProviderNonsense, "batch-incomplete", message)
        }
        BatchEnd::Expired => {
            let message = "the provider batch expired before this conversation was answered";
            Failure::new(Kind::ProviderUnreachable, "batch-expired", message)
        }
        BatchEnd::Canceled => {
            let message = "the provider batch was cancelled before this conversation was answered";
            Failure::new(Kind::Limit, "batch-canceled", message)
        }
        BatchEnd::Failed(why) => {
            let message = format!("the provider refused the batch: {why}");
            return Failure::new(Kind::ProviderNonsense, "batch-rejected", message);
        }
    }
    .hint(again)
}

/// The bound of the output that a request names.
fn bound(body: &[u8]) -> Option<u64> {
    let body: Value = serde_json::from_slice(body).ok()?;
    ["max_tokens", "max_completion_tokens", "max_output_tokens"].iter().find_map(|key| body[*key].as_u64())
}
