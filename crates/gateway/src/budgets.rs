//! Budgets: how much each principal, or each view, may take in a minute and in a day.
//!
//! Figures live as long as the program. What a call costs and how many bytes it has is known at its end, so calls that run
//! at the same time may together take more than is left.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use converse_canister::Cost;
use converse_config::BudgetPlan;
use parking_lot::Mutex;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// So many keys are kept before those are removed that have a whole budget again.
const KEPT: usize = 1_024;

/// One plan, and what each key has taken of it.
#[derive(Debug)]
pub(crate) struct Budgets<K> {
    plan: Mutex<BudgetPlan>,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    keys: HashMap<K, Spending>,
    /// The number of keys at which idle ones are removed.
    full: usize,
}

/// What one key has taken.
#[derive(Debug)]
struct Spending {
    /// The time at which the calls so far would have been even: one call takes a part of a minute.
    even: Instant,
    /// The begin of its day.
    since: Instant,
    cost: Cost,
    bytes: u64,
}

/// A limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded {
    /// The key of the settings.
    pub(crate) limit: &'static str,
    /// The time after which a call is accepted again.
    pub(crate) retry_after: Duration,
}

impl<K: Clone + Eq + Hash> Budgets<K> {
    pub(crate) fn new(plan: BudgetPlan) -> Self {
        let taken = Mutex::new(Taken { keys: HashMap::new(), full: KEPT });
        Self { plan: Mutex::new(plan), taken }
    }

    /// Limits by another plan from now on. What was counted so far stays.
    pub(crate) fn replace(&self, plan: BudgetPlan) {
        *self.plan.lock() = plan;
    }

    /// Takes one call of `key`.
    ///
    /// # Errors
    ///
    /// Fails if a limit is reached. Nothing is taken then.
    pub(crate) fn admit(&self, key: &K) -> Result<(), Exceeded> {
        let plan = *self.plan.lock();
        if plan == BudgetPlan::default() {
            return Ok(());
        }
        let now = Instant::now();
        let mut taken = self.taken.lock();
        let spending = taken.of(key, now);
        let tomorrow = (spending.since + DAY).saturating_duration_since(now);
        if plan.cost_per_day.is_some_and(|limit| spending.cost >= limit) {
            return Err(Exceeded { limit: "cost_per_day", retry_after: tomorrow });
        }
        if plan.bytes_per_day.is_some_and(|limit| spending.bytes >= limit) {
            return Err(Exceeded { limit: "bytes_per_day", retry_after: tomorrow });
        }
        spending.pace(plan, now)
    }

    /// Takes a repetition of what `key` has paid for: only the calls of a minute limit it.
    ///
    /// # Errors
    ///
    /// Fails if that limit is reached. Nothing is taken then.
    pub(crate) fn repeat(&self, key: &K) -> Result<(), Exceeded> {
        let (plan, now) = (*self.plan.lock(), Instant::now());
        match plan.calls_per_minute {
            Some(_) => self.taken.lock().of(key, now).pace(plan, now),
            None => Ok(()),
        }
    }

    /// Adds what a call of `key` has taken. The bytes are counted only if they are limited.
    pub(crate) fn spend(&self, key: &K, cost: Option<Cost>, bytes: impl FnOnce() -> usize) {
        let plan = *self.plan.lock();
        let bytes = match (plan.bytes_per_day, plan.cost_per_day) {
            (Some(_), _) => bytes() as u64,
            (None, Some(_)) => 0,
            (None, None) => return,
        };
        let mut taken = self.taken.lock();
        let spending = taken.of(key, Instant::now());
        spending.cost = spending.cost.plus(cost.unwrap_or_default());
        spending.bytes = spending.bytes.saturating_add(bytes);
    }
}

impl<K: Clone + Eq + Hash> Taken<K> {
    /// Returns the figures of a key, whose day begins again when it is over.
    fn of(&mut self, key: &K, now: Instant) -> &mut Spending {
        if self.keys.len() >= self.full && !self.keys.contains_key(key) {
            self.keys.retain(|_, spending| !spending.is_whole(now));
            self.full = KEPT.max(self.keys.len() * 2);
        }
        let fresh = || Spending { even: now, since: now, cost: Cost::default(), bytes: 0 };
        let spending = self.keys.entry(key.clone()).or_insert_with(fresh);
        if now.saturating_duration_since(spending.since) >= DAY {
            *spending = Spending { even: spending.even, ..fresh() };
        }
        spending
    }
}

impl Spending {
    /// Takes one call of the minute.
    fn pace(&mut self, plan: BudgetPlan, now: Instant) -> Result<(), Exceeded> {
        let Some(calls) = plan.calls_per_minute else { return Ok(()) };
        let each = MINUTE / calls.max(1);
        let even = self.even.max(now) + each;
        let ahead = even.saturating_duration_since(now);
        if ahead > MINUTE {
            return Err(Exceeded { limit: "calls_per_minute", retry_after: ahead - MINUTE });
        }
        self.even = even;
        Ok(())
    }

    /// Returns whether nothing of the budget is taken any more.
    fn is_whole(&self, now: Instant) -> bool {
        let is_new_day = now.saturating_duration_since(self.since) >= DAY;
        self.even <= now && (is_new_day || (self.cost == Cost::default() && self.bytes == 0))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn exceeded(limit: &'static str, seconds: u64) -> Result<(), Exceeded> {
        Err(Exceeded { limit, retry_after: Duration::from_secs(seconds) })
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_a_minute_come_back_one_by_one_and_each_key_has_its_own() {
        let budgets = Budgets::new(BudgetPlan { calls_per_minute: Some(6), ..BudgetPlan::default() });
        assert_eq!([(); 6].map(|()| budgets.admit(&"a")), [Ok(()); 6]);
        for _ in 0..3 {
            assert_eq!(budgets.admit(&"a"), exceeded("calls_per_minute", 10));
        }
        assert_eq!(budgets.admit(&"b"), Ok(()));
        advance(Duration::from_secs(4)).await;
        assert_eq!(budgets.admit(&"a"), exceeded("calls_per_minute", 6));
        advance(Duration::from_secs(6)).await;
        assert_eq!([budgets.admit(&"a"), budgets.admit(&"a")], [Ok(()), exceeded("calls_per_minute", 10)]);
        // What was not used is not saved up.
        advance(Duration::from_secs(3600)).await;
        let calls = [(); 7].map(|()| budgets.admit(&"a"));
        assert_eq!((calls[5], calls[6]), (Ok(()), exceeded("calls_per_minute", 10)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_day_allows_is_back_after_a_day() {
        let plan =
            BudgetPlan { cost_per_day: Some(Cost(100)), bytes_per_day: Some(10), ..BudgetPlan::default() };
        let budgets = Budgets::new(plan);
        assert_eq!(budgets.admit(&"a"), Ok(()));
        advance(Duration::from_secs(3600)).await;
        budgets.spend(&"a", Some(Cost(99)), || 9);
        assert_eq!(budgets.admit(&"a"), Ok(()));
        budgets.spend(&"a", None, || 1);
        assert_eq!(budgets.admit(&"a"), exceeded("bytes_per_day", 23 * 3600));
        budgets.spend(&"a", Some(Cost(1)), || 0);
        assert_eq!((budgets.admit(&"a"), budgets.admit(&"b")), (exceeded("cost_per_day", 23 * 3600), Ok(())));
        advance(Duration::from_secs(23 * 3600)).await;
        assert_eq!(budgets.admit(&"a"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn another_plan_counts_at_once_with_what_was_taken() {
        let bytes = |most| BudgetPlan { bytes_per_day: Some(most), ..BudgetPlan::default() };
        let budgets = Budgets::new(bytes(10));
        budgets.spend(&"a", None, || 7);
        budgets.replace(bytes(7));
        assert_eq!(budgets.admit(&"a"), exceeded("bytes_per_day", 24 * 3600));
        budgets.replace(bytes(8));
        assert_eq!(budgets.admit(&"a"), Ok(()));
        budgets.replace(BudgetPlan::default());
        budgets.spend(&"a", None, || 7);
        assert_eq!(budgets.admit(&"a"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_have_taken_nothing_lately_are_forgotten() {
        let plan = BudgetPlan { calls_per_minute: Some(60), bytes_per_day: Some(1), ..BudgetPlan::default() };
        let budgets = Budgets::new(plan);
        budgets.spend(&"big".to_owned(), None, || 2);
        (0..5 * KEPT).for_each(|number| {
            let _ = budgets.admit(&number.to_string());
        });
        advance(MINUTE).await;
        (0..5 * KEPT).for_each(|number| {
            let _ = budgets.admit(&format!("later {number}"));
        });
        assert!(budgets.taken.lock().keys.len() < 8 * KEPT, "{}", budgets.taken.lock().keys.len());
        assert!(budgets.admit(&"big".to_owned()).is_err(), "who has taken something is remembered");
    }
}
