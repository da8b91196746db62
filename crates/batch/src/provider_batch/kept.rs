//! What stays open at the end of a run, and why. What was paid for is never given up without the user's word.

use converse_host::failure::Failure;

use super::record::Submission;
use super::{Run, ends_run};

/// Conversations of a batch that a message names.
const MOST_NAMED: usize = 3;

impl Run<'_> {
    /// Leaves a conversation without its answer: it would ask something else than what was submitted, or `failure` says why
    /// it cannot be built.
    ///
    /// # Errors
    ///
    /// It is a failure of the whole run.
    pub(super) fn set_apart(&mut self, job: usize, failure: Option<Failure>) -> Result<(), Failure> {
        match failure {
            Some(failure) if ends_run(&failure) => Err(failure),
            failure => {
                self.apart.insert(job, failure);
                Ok(())
            }
        }
    }

    /// Why conversations of a batch were set apart: at most one failure for those that differ, and one for the others.
    pub(super) fn apart_failures(&self, submission: &Submission) -> Vec<Failure> {
        let (mut changed, mut unbuilt, mut first) = (Vec::new(), Vec::new(), None);
        for (id, _) in &submission.parts {
            match self.open_job(id).and_then(|job| self.apart.get(&job)) {
                Some(None) => changed.push(id.as_str()),
                Some(Some(failure)) => {
                    unbuilt.push(id.as_str());
                    first = first.or(Some(failure));
                }
                None => {}
            }
        }
        let place = format!("of {} in `{}`", submission.name(), self.record.path().display());
        let differ = (!changed.is_empty()).then(|| {
            let is = if changed.len() == 1 { "is" } else { "are" };
            let message = format!(
                "{} {place} {is} not what was submitted: other questions or options",
                named(&changed)
            );
            Failure::usage("pending-batch", message).hint(
                "to get the results: the options, the input and the version of converse that submitted them",
            )
        });
        let unbuilt = first.map(|failure| {
            let message = format!("{} {place} cannot be asked again: {}", named(&unbuilt), failure.message);
            Failure { message, ..failure.clone() }
        });
        differ.into_iter().chain(unbuilt).collect()
    }

    /// Whether a part of a batch has no result and was not set apart.
    pub(super) fn is_awaited(&self, submission: &Submission) -> bool {
        submission.parts.iter().any(|(id, _)| self.awaited_job(id).is_some())
    }

    pub(super) fn awaited_job(&self, id: &str) -> Option<usize> {
        self.open_job(id).filter(|job| !self.apart.contains_key(job))
    }

    /// Leaves a batch open for these reasons, while the others go on.
    pub(super) fn keep(&mut self, submission: &Submission, why: Vec<Failure>) {
        self.kept.push((submission.mark.clone(), why));
    }

    pub(super) fn is_kept(&self, submission: &Submission) -> bool {
        self.kept.iter().any(|(mark, _)| *mark == submission.mark)
    }

    pub(super) fn warn(&self, failure: &Failure) {
        self.work.shared.context.warn(&format!("warning: {}", failure.message));
    }

    /// The failure of a run that leaves batches open, which is the first reason. The others are warnings.
    pub(super) fn kept_failure(&mut self) -> Option<Failure> {
        let mut why = std::mem::take(&mut self.kept).into_iter().flat_map(|(_, why)| why);
        let first = why.next()?;
        why.for_each(|failure| self.warn(&failure));
        Some(self.with_way_out(first))
    }

    /// Adds how what is open is given up.
    fn with_way_out(&self, failure: Failure) -> Failure {
        let path = self.record.path().display();
        let rm = format!("`rm '{path}'`; the conversations without a result are asked anew then");
        match (self.plan.options.cancel, self.uncancelled()) {
            (true, None) => failure.hint(format!("what is open is cancelled; to give it up: {rm}")),
            (true, Some(hint)) => failure.hint(hint),
            _ if failure.code == "batch-not-found" => failure.hint(format!("to give it up: {rm}")),
            _ => failure.hint(format!("to give the results up: `--cancel-batch`, and after that {rm}")),
        }
    }

    /// What a cancellation did not reach: what is open without an id, or without the provider's consent.
    fn uncancelled(&self) -> Option<String> {
        let is_cancelled =
            |one: &&Submission| one.batch.as_ref().is_some_and(|batch| self.seen.cancelled.contains(batch));
        let left: Vec<&str> =
            self.record.open.iter().filter(|one| !is_cancelled(one)).map(Submission::name).collect();
        let (first, others) = left.split_first()?;
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        Some(format!(
            "{first}{more} could not be cancelled, and may go on and cost; run `--cancel-batch` again"
        ))
    }

    /// Adds what becomes of open batches to a failure that has nothing to do with them.
    pub(super) fn with_hints(&self, failure: Failure) -> Failure {
        if self.record.open.is_empty() || failure.code == "pending-batch" {
            return failure;
        }
        match self.plan.options.cancel.then(|| self.uncancelled()) {
            Some(None) => failure.hint("what is open is cancelled; the same command gets what was answered"),
            Some(Some(hint)) => failure.hint(hint),
            None => failure
                .hint("batches go on at the provider; the same command waits for their results")
                .hint("`--cancel-batch` cancels them"),
        }
    }
}

/// The failure of a run to which the provider does not show what was submitted.
pub(super) fn not_found(message: String) -> Failure {
    Failure::usage("batch-not-found", message)
        .hint(
            "the key of another account or another base URL shows other batches: use those of the submission",
        )
        .hint("a batch may have been removed at the provider, or may not have come to be")
}

fn named(ids: &[&str]) -> String {
    let first: Vec<String> = ids.iter().take(MOST_NAMED).map(|id| format!("`{id}`")).collect();
    let noun = if ids.len() == 1 { "conversation" } else { "conversations" };
    let more = match ids.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the {noun} {}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_conversations_are_named_by_the_first_ones() {
        assert_eq!(named(&["a"]), "the conversation `a`");
        assert_eq!(named(&["a", "b", "c", "d", "e"]), "the conversations `a`, `b`, `c` and 2 more");
    }
}
