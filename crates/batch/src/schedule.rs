//! Which conversation starts when. Pure: the caller has the clock, and runs what is started.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use converse_canister::Cost;

/// Times that a conversation is put back after a refusal by the provider.
const MOST_REPEATS: u8 = 5;

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Conversations at once.
    pub jobs: usize,
    /// For all of them. Checked before each start; `Stops` checks it before each request.
    pub budget: Option<Cost>,
    /// With results in the order of the input: results that may wait for an earlier one.
    pub held: Option<usize>,
}

/// What a schedule wants done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Start this one. `allowance` is what is left of the budget.
    Start {
        job: usize,
        allowance: Option<Cost>,
    },
    /// Ask again after the end of one that runs, or at this time.
    Wait(Option<Duration>),
    Over,
}

/// What became of a conversation that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has its result, and is never started again.
    Done,
    /// The provider was too busy, and nothing has happened yet: it starts again later.
    Again,
    /// It has no result, and is left to another run.
    Left,
}

/// Conversations that wait and run, by their number in the input.
#[derive(Debug)]
pub struct Schedule {
    bounds: Bounds,
    waiting: BTreeSet<usize>,
    running: BTreeSet<usize>,
    repeats: BTreeMap<usize, u8>,
    spent: Cost,
    is_stopped: bool,
}

impl Schedule {
    pub fn new(waiting: impl IntoIterator<Item = usize>, bounds: Bounds) -> Self {
        let (running, repeats) = (BTreeSet::new(), BTreeMap::new());
        let waiting = waiting.into_iter().collect();
        Self { bounds, waiting, running, repeats, spent: Cost(0), is_stopped: false }
    }

    /// `limit` and `until` are those of the provider's [`Pace`](crate::Pace); `held` is the number of results that wait
    /// for an earlier one.
    pub fn next(&mut self, now: Duration, limit: usize, until: Duration, held: usize) -> Next {
        let job = self.waiting.first().copied().filter(|_| !self.is_stopped && !self.is_spent());
        let Some(job) = job else {
            return if self.running.is_empty() { Next::Over } else { Next::Wait(None) };
        };
        let is_earliest = self.running.first().is_none_or(|earliest| job < *earliest);
        let is_far = self.bounds.held.is_some_and(|most| held >= most) && !is_earliest;
        if self.running.len() >= limit.min(self.bounds.jobs).max(1) || is_far {
            return Next::Wait(None);
        }
        if now < until {
            return Next::Wait(Some(until));
        }
        self.waiting.remove(&job);
        self.running.insert(job);
        let left = |budget: Cost| Cost(budget.0.saturating_sub(self.spent.0));
        Next::Start { job, allowance: self.bounds.budget.map(left) }
    }

    /// Counts what a conversation has spent, as soon as it is known.
    pub fn spend(&mut self, cost: Cost) {
        self.spent = self.spent.plus(cost);
    }

    /// Whether a conversation may be put back once more.
    pub fn may_repeat(&self, job: usize) -> bool {
        self.repeats.get(&job).is_none_or(|times| *times < MOST_REPEATS)
    }

    /// How often it was put back.
    pub fn repeats(&self, job: usize) -> u8 {
        self.repeats.get(&job).copied().unwrap_or_default()
    }

    pub fn ended(&mut self, job: usize, fate: Fate) {
        if self.running.remove(&job) && fate == Fate::Again && self.may_repeat(job) {
            *self.repeats.entry(job).or_default() += 1;
            self.waiting.insert(job);
        }
    }

    /// Starts nothing more.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub fn spent(&self) -> Cost {
        self.spent
    }

    /// Whether nothing is left of the budget.
    pub fn is_spent(&self) -> bool {
        self.bounds.budget.is_some_and(|budget| self.spent >= budget)
    }

    /// Conversations that have not begun.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn running(&self) -> usize {
        self.running.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pace::{Admission, Ended, Pace, Ticket};

    fn bounds(jobs: usize) -> Bounds {
        Bounds { jobs, budget: None, held: None }
    }

    fn start(job: usize) -> Next {
        Next::Start { job, allowance: None }
    }

    #[test]
    fn the_earliest_one_is_never_held_up_by_results_that_wait_for_it() {
        let mut schedule = Schedule::new(0..4, Bounds { held: Some(1), ..bounds(2) });
        let next = |schedule: &mut Schedule, held| schedule.next(Duration::ZERO, 9, Duration::ZERO, held);
        assert_eq!((next(&mut schedule, 0), next(&mut schedule, 0)), (start(0), start(1)));
        schedule.ended(1, Fate::Done);
        assert_eq!(next(&mut schedule, 1), Next::Wait(None), "the result of 1 waits for 0");
        schedule.ended(0, Fate::Again);
        assert_eq!(next(&mut schedule, 1), start(0));
        assert_eq!(next(&mut schedule, 1), Next::Wait(None));
        schedule.ended(0, Fate::Done);
        assert_eq!((next(&mut schedule, 0), next(&mut schedule, 0)), (start(2), start(3)));
    }

    #[test]
    fn one_that_is_put_back_too_often_is_left() {
        let mut schedule = Schedule::new([7], bounds(1));
        for _ in 0..=MOST_REPEATS {
            assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), start(7));
            schedule.ended(7, Fate::Again);
        }
        assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), Next::Over);
    }

    #[test]
    fn nothing_starts_after_a_stop_or_without_money() {
        let mut schedule = Schedule::new(0..3, Bounds { budget: Some(Cost(10)), ..bounds(1) });
        let allowed = |job, left| Next::Start { job, allowance: Some(Cost(left)) };
        assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), allowed(0, 10));
        schedule.spend(Cost(4));
        schedule.ended(0, Fate::Done);
        assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), allowed(1, 6));
        schedule.spend(Cost(6));
        assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), Next::Wait(None));
        schedule.ended(1, Fate::Done);
        assert_eq!(schedule.next(Duration::ZERO, 1, Duration::ZERO, 0), Next::Over);
        assert_eq!((schedule.waiting(), schedule.is_spent()), (1, true));
    }

    /// One conversation of a simulated run: its duration, its cost, and the answers of the provider before the last one.
    #[derive(Debug, Clone)]
    struct Simulated {
        lasts: u64,
        cost: u64,
        refusals: Vec<Option<u64>>,
    }

    fn simulated() -> impl Strategy<Value = Simulated> {
        let refusals = proptest::collection::vec(proptest::option::of(0u64..50), 0..4);
        (1u64..20, 0u64..10, refusals).prop_map(|(lasts, cost, refusals)| Simulated { lasts, cost, refusals })
    }

    proptest! {
        #[test]
        fn never_more_than_allowed_each_once_and_the_budget_holds(
            all in proptest::collection::vec(simulated(), 0..40),
            jobs in 1usize..9,
            budget in proptest::option::of(1u64..80),
            held in proptest::option::of(1usize..5),
        ) {
            let mut all = all;
            let bounds = Bounds { jobs, budget: budget.map(Cost), held };
            let mut schedule = Schedule::new(0..all.len(), bounds);
            let mut pace = Pace::new(jobs);
            let mut now = Duration::ZERO;
            let mut running: Vec<(Duration, usize, Ticket)> = Vec::new();
            let mut done: Vec<usize> = Vec::new();
            // The costs of those that ran when the budget was used up.
            let mut over = 0;
            for _ in 0..100_000 {
                let first_open = (0..all.len()).find(|job| !done.contains(job)).unwrap_or(all.len());
                let waits = done.iter().filter(|job| **job > first_open).count();
                prop_assert!(held.is_none_or(|most| waits <= most + jobs), "results pile up: {waits}");
                let until = match schedule.next(now, pace.limit(), pace.until(), waits) {
                    Next::Start { job, allowance } => {
                        prop_assert!(!done.contains(&job) && !running.iter().any(|(_, other, _)| *other == job));
                        prop_assert!(allowance.is_none_or(|left| left > Cost(0)));
                        let Admission::Now(ticket) = pace.admit(now) else {
                            return Err(TestCaseError::fail("a start that the pace does not allow"));
                        };
                        running.push((now + Duration::from_millis(all[job].lasts), job, ticket));
                        prop_assert!(running.len() <= jobs && running.len() == schedule.running());
                        continue;
                    }
                    Next::Wait(until) => until,
                    Next::Over => break,
                };
                running.sort_by_key(|(at, job, _)| (*at, *job));
                let first_end = running.first().map(|(at, ..)| *at);
                let next = [first_end, until].into_iter().flatten().min();
                let next = next.ok_or_else(|| TestCaseError::fail("waits for nothing"))?;
                now = now.max(next);
                if first_end.is_none_or(|at| at > now) {
                    continue;
                }
                let (_, job, ticket) = running.remove(0);
                if let Some(asked) = all[job].refusals.pop() {
                    pace.ended(ticket, Ended::Refused(asked.map(Duration::from_millis)), now);
                    schedule.ended(job, Fate::Again);
                    continue;
                }
                pace.ended(ticket, Ended::Otherwise, now);
                if schedule.is_spent() {
                    over += all[job].cost;
                }
                let before = schedule.spent();
                schedule.spend(Cost(all[job].cost));
                if budget.is_none_or(|most| before.0 < most) && schedule.is_spent() {
                    over += all[job].cost;
                }
                schedule.ended(job, Fate::Done);
                done.push(job);
            }
            prop_assert!(running.is_empty());
            match budget {
                Some(most) => prop_assert!(schedule.spent().0 < most + over.max(1)),
                None => prop_assert_eq!(done.len(), all.len()),
            }
            if !schedule.is_spent() {
                prop_assert_eq!(done.len(), all.len());
            }
            let once: BTreeSet<usize> = done.iter().copied().collect();
            prop_assert_eq!(once.len(), done.len());
        }
    }
}
