//! What became of a batch at its provider.

use std::time::Duration;

use converse_host::failure::Failure;
use converse_host::world::World;
use converse_provider::{BatchState, BatchStatus};
use converse_text::wording::grouped;
use tokio::time::Instant;

use super::Run;
use super::kept::not_found;
use super::lookup::{self, Found, UNSEEN};
use super::record::Submission;

impl Run<'_> {
    /// Whether the provider shows all that is open, as far as that can be expected. To another account nothing is submitted.
    pub(super) async fn are_shown(&mut self) -> Result<bool, Failure> {
        for submission in self.record.open.clone() {
            if !self.is_kept(&submission) {
                self.status(&submission).await?;
            }
        }
        Ok(self.kept.is_empty())
    }

    /// Returns `None` if it is not known yet whether there is a batch, or if the provider shows none: it is kept open then.
    pub(super) async fn status(&mut self, submission: &Submission) -> Result<Option<BatchStatus>, Failure> {
        let Some(id) = &submission.batch else { return self.looked_up(submission).await };
        let status = self.calls.find(|api| api.status(id), |api, body| api.read_status(body)).await?;
        if status.is_none() && !lookup::is_recent(submission) {
            self.keep(
                submission,
                vec![not_found(format!("the provider does not have {}", self.shown(submission)))],
            );
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
            Found::Unread if self.may_come(submission)? => return Ok(None),
            Found::Unread => "the provider's list of batches cannot be read as a whole",
            Found::Nothing => "the provider does not list it",
        };
        let shown = self.shown(submission);
        let message = format!("an earlier run ended while it submitted {shown}, and {message}");
        self.keep(submission, vec![not_found(message)]);
        Ok(None)
    }

    fn shown(&self, submission: &Submission) -> String {
        format!("{} of `{}`", submission.name(), self.record.path().display())
    }

    /// Whether what is missing of a batch may still come. It is looked for again after a pause then, with longer and longer
    /// ones. The time counts over several runs.
    pub(super) fn may_come(&mut self, submission: &Submission) -> Result<bool, Failure> {
        let age = match &submission.incomplete {
            Some(since) => lookup::age(since).unwrap_or(UNSEEN),
            None => {
                self.record.incomplete(&submission.mark, &World::now().to_string())?;
                let minutes = UNSEEN.as_secs() / 60;
                let name = submission.name();
                self.note(&format!(
                    "{name}: not all can be read yet; it is read again for {minutes} minutes"
                ));
                Duration::ZERO
            }
        };
        let Some(left) = UNSEEN.checked_sub(age).filter(|left| !left.is_zero()) else { return Ok(false) };
        let first = self.first_pause();
        let before = self.seen.again.get(&submission.mark);
        let pause = before.map_or(first, |(_, pause)| pause.saturating_mul(2)).min(left);
        self.seen.again.insert(submission.mark.clone(), (Instant::now() + pause, pause));
        Ok(true)
    }

    /// Whether a batch rests until it is read again.
    pub(super) fn rests(&self, submission: &Submission) -> bool {
        self.seen.again.get(&submission.mark).is_some_and(|(at, _)| Instant::now() < *at)
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
                self.cancel(&submission, &status).await?;
            }
        }
        Ok(())
    }

    /// Cancels a batch that runs, once.
    pub(super) async fn cancel(
        &mut self,
        submission: &Submission,
        status: &BatchStatus,
    ) -> Result<(), Failure> {
        let id = &status.id;
        if self.seen.cancelled.contains(id) {
            return Ok(());
        }
        if matches!(status.state, BatchState::Running) {
            let accepted = self.calls.find(|api| api.cancel(id), |api, body| api.read_canceled(body)).await?;
            if accepted.is_none() {
                let message = format!("the provider does not have {}", self.shown(submission));
                self.keep(submission, vec![not_found(message)]);
                return Ok(());
            }
            self.note(&format!("cancelled {id}"));
        }
        self.seen.cancelled.insert(id.clone());
        Ok(())
    }
}
