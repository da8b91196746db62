//! What became of a batch at its provider.

use converse_host::failure::{Failure, Kind};
use converse_provider::{BatchState, BatchStatus};
use converse_text::wording::grouped;

use super::Run;
use super::lookup::{self, Found};
use super::record::Submission;

impl Run<'_> {
    /// Returns `None` if it is not known yet whether there is a batch, or if there is none.
    pub(super) async fn status(&mut self, submission: &Submission) -> Result<Option<BatchStatus>, Failure> {
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

    pub(super) fn show(&mut self, status: &BatchStatus) {
        let Some((ended, all)) = status.counts else { return };
        if self.shown.insert(status.id.clone(), ended) != Some(ended) && ended > 0 {
            self.note(&format!("{}: {} of {} have ended", status.id, grouped(ended), grouped(all)));
        }
    }

    pub(super) async fn cancel(&mut self) -> Result<(), Failure> {
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
}
