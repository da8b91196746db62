//! Takes the results of a batch that has ended.

use converse_engine::AttemptError;
use converse_host::failure::{Failure, Kind};
use converse_provider::{BatchEnd, BatchOutcome, BatchState, BatchStatus};

use super::Run;
use super::calls::is_absent;
use super::record::Submission;
use super::status::gone;
use super::submit::ANOTHER;
use super::substitute::{PartEnd, Reply, Unused};

/// Times that results are read if some are missing.
const MOST_READS: usize = 4;
/// Lines of a file of results beside two for each part.
const MOST_OTHERS: usize = 1000;
/// Lines that are not results and are warned of, each by itself.
const MOST_WARNINGS: usize = 10;

impl Run<'_> {
    /// Looks at a batch, and takes its results if it has ended.
    pub(super) async fn look(&mut self, submission: &Submission) -> Result<(), Failure> {
        let Some(status) = self.status(submission).await? else { return Ok(()) };
        let end = match &status.state {
            BatchState::Ended(end) => end.clone(),
            BatchState::Running | BatchState::Canceling => {
                if self.plan.options.cancel {
                    self.cancel(&status).await?;
                }
                self.show(&status);
                return Ok(());
            }
        };
        let has_all_files = self.read_all(submission, status.clone(), &end).await?;
        for (number, (id, _)) in submission.parts.iter().enumerate() {
            if self.open_job(id).is_some() {
                let failure = if has_all_files { missing(&end) } else { gone(&status.id) };
                self.answer(submission, number, PartEnd::Failed(failure)).await?;
            }
        }
        self.work.results.sync()?;
        self.record.close(&submission.mark)
    }

    /// Reads the results, again if some are missing: a connection may end early in a way that looks like the end of a
    /// file, and lines and files may come after the end of the batch. Returns whether all files were there.
    async fn read_all(
        &mut self,
        submission: &Submission,
        mut status: BatchStatus,
        end: &BatchEnd,
    ) -> Result<bool, Failure> {
        let mut pause = self.first_pause();
        for reads in 1.. {
            let mut is_there = true;
            for file in &status.files {
                is_there &= self.read(submission, file).await?;
            }
            let is_whole = submission.parts.iter().all(|(id, _)| self.open_job(id).is_none());
            if is_whole || matches!(end, BatchEnd::Failed(_)) || reads >= MOST_READS {
                return Ok(is_there);
            }
            self.calls.sleep(pause).await?;
            pause *= 2;
            let id = &status.id;
            let later = self.calls.find(|api| api.status(id), |api, body| api.read_status(body)).await?;
            status = later.filter(|later| !later.files.is_empty()).unwrap_or(status);
        }
        Ok(true)
    }

    /// Reads a file of results. If it breaks off, it is read again. Returns false if the provider does not have it.
    async fn read(&mut self, submission: &Submission, file: &str) -> Result<bool, Failure> {
        for failures in 1.. {
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
                    self.answer(submission, number, end_of(result.outcome)).await?;
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

    async fn answer(&mut self, submission: &Submission, number: usize, end: PartEnd) -> Result<(), Failure> {
        let Some((id, of)) = submission.parts.get(number) else { return Ok(()) };
        let Some(job) = self.open_job(id) else { return Ok(()) };
        let line = self.work.line(job)?;
        self.substitute.reply(Reply { of: of.clone(), end });
        let outcome = self.work.shared.run(job, line, None).await;
        match self.substitute.unused() {
            None => self.take(outcome),
            Some(Unused::Changed) => Err(self.record.differs(submission, id, ANOTHER)),
            Some(Unused::NotAsked) => Err(self.unasked(submission, id, &outcome)),
        }
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
