//! Takes the results of a batch that has ended.

use converse_engine::AttemptError;
use converse_host::failure::{Failure, Kind};
use converse_provider::{BatchEnd, BatchOutcome, BatchState};

use super::Run;
use super::record::Submission;
use super::substitute::{PartEnd, Reply};

/// Times that results are read if some are missing.
const MOST_READS: usize = 3;

impl Run<'_> {
    /// Looks at a batch, and takes its results if it has ended.
    pub(super) async fn look(&mut self, submission: &Submission) -> Result<(), Failure> {
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

    async fn answer(&mut self, submission: &Submission, number: usize, end: PartEnd) -> Result<(), Failure> {
        let Some((id, of)) = submission.parts.get(number) else { return Ok(()) };
        let Some(job) = self.open_job(id) else { return Ok(()) };
        let line = self.work.line(job)?;
        self.substitute.reply(Reply { of: of.clone(), end });
        let outcome = self.work.shared.run(job, line, None).await;
        self.take(outcome)
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
