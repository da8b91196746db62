//! What a run works through: its input, its results and its end.

use converse_canister::Cost;
use converse_host::failure::{Failure, Kind};
use serde_json::Value;

use crate::conversation::Shared;
use crate::input::{Input, State};
use crate::line::Line;
use crate::results::Results;
use crate::summary::Tally;

/// The input and the results of a run.
pub(crate) struct Work<'r> {
    pub(crate) shared: &'r Shared<'r>,
    pub(crate) input: Input,
    pub(crate) results: Results,
    pub(crate) tally: Tally,
    /// Why no more conversations start.
    pub(crate) stopped: Option<Failure>,
    /// The prompt of lines that have none.
    pub(crate) template: Option<&'r str>,
    /// Results in the order of the input.
    pub(crate) is_ordered: bool,
}

impl Work<'_> {
    /// Reads a line again.
    pub(crate) fn line(&mut self, job: usize) -> Result<Line, Failure> {
        self.input.line(job, self.template)
    }

    /// Counts and writes the result of a conversation.
    pub(crate) fn done(&mut self, job: usize, line: Value, failure: Option<&Failure>) -> Result<(), Failure> {
        match failure {
            Some(failure) => {
                // A worker names the failure in its result alone.
                let reason = line.get("reason").and_then(Value::as_str);
                self.tally.fail(reason.unwrap_or(failure.code));
            }
            None => self.tally.answered += 1,
        }
        self.results.take(job, line)
    }

    /// Gives their result to conversations whose tools have begun in a run that was killed: nobody knows what they did.
    pub(crate) fn unknown(&mut self) -> Result<(), Failure> {
        let message = "an earlier run ended while tools with effects ran; what they did is not known";
        let failure = Failure::new(Kind::Limit, "outcome-unknown", message)
            .hint("`converse audit verify` checks the log of what was called")
            .hint("`--retry-failed` runs the conversation again");
        let unknown: Vec<usize> = self.input.of(State::Unknown).collect();
        for job in unknown {
            let id = self.line(job)?.id;
            let line = self.shared.not_run(&id, &failure);
            self.done(job, line, Some(&failure))?;
        }
        Ok(())
    }

    /// Starts no more conversations.
    pub(crate) fn stop(&mut self, failure: Failure) {
        stop(&mut self.stopped, failure);
    }

    /// Sorts a file of results, if that is wanted.
    fn sort(&mut self) -> Result<(), Failure> {
        if !self.is_ordered {
            return Ok(());
        }
        let places = self.input.places(self.template)?;
        self.results.sort(&places)
    }

    /// Prints the summary, and returns why the batch is not a success.
    pub(crate) fn end(mut self, budget: Option<Cost>) -> Result<(), Failure> {
        let flushed = self.results.flush().and_then(|()| self.sort());
        self.shared.context.note(&self.tally.summary());
        let left = self.tally.left();
        if let Some(failure) = self.stopped {
            return Err(again(failure, left));
        }
        flushed?;
        if left > 0 {
            let budget = budget.unwrap_or_default().dollars();
            let message =
                format!("the budget of {budget} USD is used up; {left} of the conversations were not run");
            return Err(again(Failure::new(Kind::Limit, "budget", message), left));
        }
        self.results.conclude();
        match self.tally.failed() + self.tally.failed_before {
            0 => Ok(()),
            failed => {
                let message = format!("{failed} of {} conversations failed", self.tally.all);
                let failure = Failure::new(Kind::Ensemble, "batch-failed", message);
                Err(failure
                    .hint("each line has its `error`; with `-o FILE`, `--retry-failed` runs them again"))
            }
        }
    }
}

/// Keeps why a run ends early. The first failure counts, but a limit gives way to what ends the run while it waits.
pub fn stop(stopped: &mut Option<Failure>, failure: Failure) {
    if stopped.as_ref().is_none_or(|first| first.kind == Kind::Limit && failure.kind != Kind::Limit) {
        *stopped = Some(failure);
    }
}

fn again(failure: Failure, left: usize) -> Failure {
    match left {
        // The same command would fail in the same way.
        _ if failure.kind == Kind::Usage => failure,
        0 => failure,
        _ => failure.hint("with `-o FILE`, the same command runs the conversations that have no result"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_counts_more_than_a_limit_before_it() {
        let failure = |kind, code| Failure::new(kind, code, "");
        let (budget, deadline) = (failure(Kind::Limit, "budget"), failure(Kind::Limit, "deadline"));
        let (signal, unwritten) =
            (failure(Kind::Signal(2), "interrupted"), failure(Kind::Output, "results-failed"));
        for (order, code) in [
            ([&budget, &deadline], "budget"),
            ([&budget, &signal], "interrupted"),
            ([&signal, &budget], "interrupted"),
            ([&unwritten, &signal], "results-failed"),
        ] {
            let mut stopped = None;
            order.into_iter().for_each(|failure| stop(&mut stopped, failure.clone()));
            assert_eq!(stopped.unwrap().code, code);
        }
    }
}
