//! Takes the results of a batch that has ended.

use converse_engine::AttemptError;
use converse_host::failure::{Failure, Kind};
use converse_provider::{BatchEnd, BatchOutcome, BatchState};

use super::Run;
use super::calls::is_absent;
use super::kept::not_found;
use super::record::Submission;
use super::substitute::{PartEnd, Reply, Unused};

/// Lines of a file of results beside two for each part.
const MOST_OTHERS: usize = 1000;
/// Lines that are not results and are warned of, each by itself.
const MOST_WARNINGS: usize = 10;

impl Run<'_> {
    /// Looks at a batch, and takes its results if it has ended. If some are missing, they are read again: a connection may
    /// end early in a way that looks like the end of a file, and lines and files may come after the end of the batch.
    pub(super) async fn look(&mut self, submission: &Submission) -> Result<(), Failure> {
        if self.rests(submission) {
            return Ok(());
        }
        let Some(status) = self.status(submission).await? else { return Ok(()) };
        if self.plan.options.cancel {
            self.cancel(submission, &status).await?;
        }
        let BatchState::Ended(end) = &status.state else {
            self.show(&status);
            return Ok(());
        };
        let mut is_there = true;
        for file in &status.files {
            is_there &= self.read(submission, file).await?;
        }
        self.work.results.sync()?;
        let is_final = matches!(end, BatchEnd::Failed(_)) || status.is_without_results;
        if self.is_awaited(submission) && !is_final && self.may_come(submission)? {
            return Ok(());
        }
        self.conclude(submission, end, is_there || is_final).await
    }

    /// Gives a batch that has ended its last results, and closes it if each conversation has one.
    async fn conclude(
        &mut self,
        submission: &Submission,
        end: &BatchEnd,
        is_read: bool,
    ) -> Result<(), Failure> {
        let mut why = Vec::new();
        if self.is_awaited(submission) && !is_read {
            let name = submission.name();
            why.push(not_found(format!("the provider does not have all results of {name}, which has ended")));
        } else {
            for (number, (id, _)) in submission.parts.iter().enumerate() {
                if self.awaited_job(id).is_some() {
                    self.answer(submission, number, PartEnd::Failed(missing(end))).await?;
                }
            }
        }
        why.extend(self.apart_failures(submission));
        if !why.is_empty() {
            self.keep(submission, why);
            return Ok(());
        }
        self.work.results.sync()?;
        self.record.close(&submission.mark)
    }

    /// Reads a file of results as far as they are awaited. If it breaks off, it is read again. Returns false if the provider
    /// does not have it.
    async fn read(&mut self, submission: &Submission, file: &str) -> Result<bool, Failure> {
        for failures in 1.. {
            if !self.is_awaited(submission) {
                break;
            }
            match self.read_once(submission, file).await? {
                Ok(()) => break,
                Err(cause) if is_absent(&cause) => return Ok(false),
                Err(cause) => self.calls.pause(cause, failures).await?,
            }
        }
        Ok(true)
    }

    async fn read_once(
        &mut self,
        submission: &Submission,
        file: &str,
    ) -> Result<Result<(), AttemptError>, Failure> {
        let interrupt = self.work.shared.interrupt;
        // Each part has one line, in one file or another.
        let most = 2 * submission.parts.len() + MOST_OTHERS;
        let mut left = submission.parts.iter().filter(|(id, _)| self.awaited_job(id).is_some()).count();
        let mut lines = match self.calls.open(file, most).await {
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
                    left -= usize::from(self.answer(submission, number, end_of(result.outcome)).await?);
                    if left == 0 {
                        return Ok(Ok(()));
                    }
                }
                Err(_) if is_last => return Ok(Err(AttemptError::CutShort)),
                Err(error) => self.warn_of_line(&format!("{file}: {error}")),
            }
        }
    }

    /// Warns of a line that is not a result. How many there are is up to the provider.
    fn warn_of_line(&mut self, what: &str) {
        self.seen.odd_lines += 1;
        let context = self.work.shared.context;
        match self.seen.odd_lines {
            ..=MOST_WARNINGS => context.warn(&format!("warning: {what}")),
            number if number == MOST_WARNINGS + 1 => context.warn("warning: more lines are not results"),
            _ => {}
        }
    }

    /// Gives a conversation its answer. Returns whether it was awaited.
    async fn answer(
        &mut self,
        submission: &Submission,
        number: usize,
        end: PartEnd,
    ) -> Result<bool, Failure> {
        let Some((id, of)) = submission.parts.get(number) else { return Ok(false) };
        let Some(job) = self.awaited_job(id) else { return Ok(false) };
        let line = self.work.line(job)?;
        self.substitute.reply(Reply { of: of.clone(), end });
        let outcome = self.work.shared.run(job, line, None).await;
        match self.substitute.unused() {
            None => self.take(outcome),
            Some(Unused::Changed) => self.set_apart(job, None),
            Some(Unused::NotAsked) => self.set_apart(job, outcome.failure),
        }?;
        Ok(true)
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
