//! What became of a batch at its provider.

use converse_host::failure::{Failure, Kind};
use converse_provider::{BatchState, BatchStatus};
use converse_text::wording::grouped;

use super::Run;
use super::lookup::{self, Found};
use super::record::Submission;

/// Times that a batch is looked for in a list that cannot be read as a whole.
const MOST_LOOKS: u32 = 5;

impl Run<'_> {
    /// Returns `None` if it is not known yet whether there is a batch, or if there is none.
    pub(super) async fn status(&mut self, submission: &Submission) -> Result<Option<BatchStatus>, Failure> {
        let Some(id) = &submission.batch else { return self.looked_up(submission).await };
        let status = self.calls.find(|api| api.status(id), |api, body| api.read_status(body)).await?;
        if status.is_none() && !lookup::is_recent(submission) {
            self.lose(submission, &gone(id))?;
        }
        Ok(status)
    }

    /// Looks for a batch whose id is not known.
    async fn looked_up(&mut self, submission: &Submission) -> Result<Option<BatchStatus>, Failure> {
        let found = lookup::find(&self.calls, submission, &self.record.batches()).await?;
        let message = match found {
            Found::Batch(status) => {
                self.record.submitted(&submission.mark, &status.id)?;
                self.note(&format!("found {}, which an earlier run has submitted", status.id));
                return Ok(Some(status));
            }
            Found::Perhaps => return Ok(None),
            Found::Nothing | Found::Unread if lookup::is_recent(submission) => return Ok(None),
            Found::Unread => {
                let looks = self.seen.unread.entry(submission.mark.clone()).or_default();
                *looks += 1;
                if *looks < MOST_LOOKS {
                    return Ok(None);
                }
                "and the provider's list of batches cannot be read as a whole"
            }
            Found::Nothing => "and the provider does not list that batch",
        };
        let message = format!("an earlier run ended while it submitted a provider batch, {message}");
        let failure = Failure::new(Kind::Limit, "outcome-unknown", message)
            .hint("`--retry-failed` submits the conversation again");
        self.lose(submission, &failure).map(|()| None)
    }

    /// Gives the conversations of a batch that the provider does not have this result.
    fn lose(&mut self, submission: &Submission, failure: &Failure) -> Result<(), Failure> {
        for (id, _) in &submission.parts {
            let Some(job) = self.open_job(id) else { continue };
            let line = self.work.shared.not_run(id, failure);
            self.work.done(job, line, Some(failure))?;
            self.done.insert(job);
        }
        self.work.results.sync()?;
        self.record.close(&submission.mark)
    }

    pub(super) fn show(&mut self, status: &BatchStatus) {
        let Some((ended, all)) = status.counts else { return };
        if self.seen.progress.insert(status.id.clone(), ended) != Some(ended) && ended > 0 {
            self.note(&format!("{}: {} of {} have ended", status.id, grouped(ended), grouped(all)));
        }
    }

    /// Cancels what was submitted. A batch that is not found yet is cancelled when it is.
    pub(super) async fn cancel_all(&mut self) -> Result<(), Failure> {
        if self.record.open.is_empty() {
            let message = format!("nothing is submitted in `{}`", self.record.path().display());
            return Err(Failure::usage("no-batch", message));
        }
        for submission in self.record.open.clone() {
            if let Some(status) = self.status(&submission).await? {
                self.cancel(&status).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn cancel(&mut self, status: &BatchStatus) -> Result<(), Failure> {
        if matches!(status.state, BatchState::Running) && self.seen.cancelled.insert(status.id.clone()) {
            self.calls.find(|api| api.cancel(&status.id), |api, body| api.read_status(body)).await?;
            self.note(&format!("cancelled {}", status.id));
        }
        Ok(())
    }
}

/// The failure of conversations whose batch the provider does not have.
pub(super) fn gone(batch: &str) -> Failure {
    let message = format!("the provider does not have {batch}: it was removed, or is of another account");
    Failure::new(Kind::ProviderNonsense, "batch-gone", message)
        .hint("`--retry-failed` submits the conversation again")
}
