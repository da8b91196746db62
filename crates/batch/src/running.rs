//! [`Running`]: the conversations of a batch while they run, and what becomes of each.

use converse_canister::Cost;
use converse_host::failure::{Failure, Kind};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::conversation::{Acts, Outcome};
use crate::gate::{Barred, Gate};
use crate::ingress::Ingress;
use crate::line::Line;
use crate::pace::LONGEST_PAUSE;
use crate::schedule::{Fate, Next, Schedule};
use crate::summary::Tally;
use crate::work::Work;

/// Where conversations run that do not run here.
pub(crate) struct Remote {
    pub(crate) ingress: Ingress,
    /// The schema of lines that have none.
    pub(crate) line_schema: Option<Value>,
}

/// The conversations of a batch while they run.
pub(crate) struct Running<'r> {
    pub(crate) work: Work<'r>,
    pub(crate) schedule: Schedule,
    /// Of the first model's provider.
    pub(crate) gate: Gate,
    pub(crate) began: Instant,
    pub(crate) show: &'r dyn Fn(&Tally),
    pub(crate) remote: Option<&'r Remote>,
}

impl<'r> Running<'r> {
    /// Runs them until each has ended or the batch was stopped.
    pub(crate) async fn all(&mut self) {
        let shared = self.work.shared;
        if let Err(failure) = self.work.unknown() {
            self.stop(failure);
        }
        let mut running = FuturesUnordered::new();
        let mut is_interrupted = false;
        loop {
            self.count();
            self.show();
            let (limit, until) = self.gate.limits();
            let next = self.schedule.next(self.began.elapsed(), limit, until, self.work.results.held());
            let until = match next {
                Next::Start { job, allowance } => {
                    match self.work.line(job) {
                        Ok(line) => running.push(self.conversation(job, line, allowance)),
                        Err(failure) => {
                            self.schedule.ended(job, Fate::Left);
                            self.stop(failure);
                        }
                    }
                    continue;
                }
                Next::Wait(until) => until,
                Next::Over => return,
            };
            let began = self.began;
            let pause = async move {
                match until {
                    Some(until) => sleep_until(began + until).await,
                    None => std::future::pending().await,
                }
            };
            let interrupt = &shared.interrupt;
            tokio::select! {
                Some(outcome) = running.next(), if !running.is_empty() => self.ended(outcome),
                () = self.gate.changed() => {}
                () = pause => {}
                () = interrupt.token.cancelled(), if !is_interrupted => {
                    is_interrupted = true;
                    self.stop(interrupt.failure());
                }
            }
        }
    }

    fn conversation(
        &self,
        job: usize,
        mut line: Line,
        allowance: Option<Cost>,
    ) -> LocalBoxFuture<'r, Outcome> {
        let shared = self.work.shared;
        let Some(Remote { ingress, line_schema }) = self.remote else {
            return shared.run(job, line, allowance).boxed_local();
        };
        line.schema = line.schema.or_else(|| line_schema.clone());
        let attempt = self.schedule.repeats(job);
        ingress.run(shared, (job, attempt), line, allowance).boxed_local()
    }

    fn stop(&mut self, failure: Failure) {
        self.schedule.stop();
        self.work.stop(failure);
    }

    /// Counts what was spent since the last time, also by conversations that still run.
    fn count(&mut self) {
        let spending = std::mem::take(&mut *self.work.shared.spending.lock());
        self.schedule.spend(spending.known);
        self.work.tally.more |= spending.is_unknown;
    }

    fn ended(&mut self, outcome: Outcome) {
        self.count();
        let fate = self.fate(&outcome);
        let Outcome { job, line, failure, .. } = outcome;
        self.schedule.ended(job, fate);
        if fate != Fate::Done {
            return;
        }
        if let Err(failure) = self.work.done(job, line, failure.as_ref()) {
            self.work.shared.interrupt.token.cancel();
            self.stop(failure);
        }
    }

    /// What becomes of a conversation that failed. Failures that all others would share stop the batch.
    fn fate(&mut self, outcome: &Outcome) -> Fate {
        let Outcome { job, acts, is_limited, barred, is_held_up, .. } = *outcome;
        let Some(failure) = &outcome.failure else { return Fate::Done };
        // What has had an effect is not done again.
        let unless_acted = |fate| if acts == Acts::Effects { Fate::Done } else { fate };
        let is_common = matches!(failure.code, "auth" | "quota" | "save-failed" | "audit-failed")
            || Ingress::is_common(failure.code);
        let asked = failure.facts.iter().find(|(name, _)| *name == "retry_after_s");
        let is_long =
            asked.and_then(|(_, value)| value.as_f64()).is_some_and(|s| s > LONGEST_PAUSE.as_secs_f64());
        match failure.kind {
            Kind::Signal(_) => unless_acted(Fate::Left),
            _ if barred == Some(Barred::Stopped) => unless_acted(Fate::Left),
            _ if is_limited || barred == Some(Barred::Budget) => {
                if !self.schedule.is_spent() {
                    let message = format!("the budget allows no more: {}", failure.message);
                    self.stop(Failure::new(Kind::Limit, "budget", message));
                }
                unless_acted(Fate::Left)
            }
            _ if is_common || is_long => {
                self.work.shared.stops.close();
                self.stop(failure.clone());
                unless_acted(Fate::Left)
            }
            _ if (is_held_up || matches!(failure.code, "rate-limit" | "overloaded"))
                && acts == Acts::Nothing =>
            {
                if self.schedule.may_repeat(job) {
                    Fate::Again
                } else {
                    Fate::Done
                }
            }
            _ => Fate::Done,
        }
    }

    fn show(&mut self) {
        self.work.tally.spent = self.schedule.spent();
        self.work.tally.elapsed = self.began.elapsed();
        (self.show)(&self.work.tally);
    }
}
