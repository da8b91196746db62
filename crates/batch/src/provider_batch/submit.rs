//! Submits what is open, in batches that the provider accepts.

use std::collections::HashSet;

use bytes::Bytes;
use converse_canister::{Cost, Usage};
use converse_host::failure::{Failure, Kind};
use converse_host::world::World;
use converse_provider::BatchPart;
use converse_text::wording::counted;
use serde_json::Value;

use super::calls::Uncreated;
use super::record::Submission;
use super::substitute::fingerprint;
use super::{Run, lookup};
use crate::conversation::Outcome;
use crate::input::State;
use crate::line::Line;

/// Parts and bytes of one batch, if the provider does not want less: a batch is in memory until it is submitted.
const MOST_PARTS: usize = 50_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Bytes around the body of a part.
const PART_OVERHEAD: usize = 256;
/// Bytes of a request for one token, by and large.
const BYTES_PER_TOKEN: usize = 4;

/// Conversations that will be one batch.
#[derive(Default)]
struct Chunk {
    parts: Vec<(String, Bytes)>,
    bytes: usize,
    estimate: Option<Cost>,
}

impl Run<'_> {
    /// Submits the conversations that are neither done nor submitted.
    pub(super) async fn submit_open(&mut self) -> Result<(), Failure> {
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
        match self.request(job, line).await {
            Ok(body) => Ok(Some((id, body))),
            Err(outcome) => self.take(*outcome).map(|()| None),
        }
    }

    /// Returns what a conversation asks, or how it ended before that.
    async fn request(&mut self, job: usize, line: Line) -> Result<Bytes, Box<Outcome>> {
        self.substitute.expect_request();
        let outcome = self.work.shared.run(job, line, None).await;
        self.substitute.take_request().ok_or_else(|| Box::new(outcome))
    }

    /// Returns whether the open conversations of all batches would ask what was submitted. If not, nothing new is submitted.
    /// A batch in which none would is not waited for.
    ///
    /// # Errors
    ///
    /// The run is interrupted, or the input has changed.
    pub(super) async fn unchanged(&mut self) -> Result<bool, Failure> {
        let mut is_same = true;
        for submission in self.record.open.clone() {
            for (id, of) in &submission.parts {
                let Some(job) = self.open_job(id) else { continue };
                let line = self.work.line(job)?;
                match self.request(job, line).await {
                    Ok(body) if fingerprint(&body) == *of => {}
                    Ok(_) => self.set_apart(job, None)?,
                    Err(outcome) => self.set_apart(job, outcome.failure)?,
                }
            }
            let failures = self.apart_failures(&submission);
            is_same &= failures.is_empty();
            if self.is_awaited(&submission) {
                // What is attached may be there again when the answer comes.
                self.apart.clear();
                failures.iter().for_each(|failure| self.warn(failure));
            } else {
                self.keep(&submission, failures);
            }
        }
        Ok(is_same)
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
            incomplete: None,
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
}

/// The bound of the output that a request names.
fn bound(body: &[u8]) -> Option<u64> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let keys =
        ["/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
    keys.iter().find_map(|key| body.pointer(key)?.as_u64())
}
