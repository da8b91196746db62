//! When a failed model call is repeated. Pure: the caller has the clock and the random numbers.
//!
//! Tools run only after a complete reply, so a provider request can always be repeated safely. The same errors are
//! retried as in the official SDKs (408, 409, 429, 5xx, connection errors), never errors that waiting cannot cure (keys,
//! quotas, bad requests, certificates).

use std::time::Duration;

use converse_provider::{RefusalClass, RetryAdvice};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Retries after the first attempt.
    pub retries: u32,
    /// Upper bound of the first delay. It doubles with each retry, with full jitter.
    pub first: Duration,
    pub cap: Duration,
    /// Limit of all delays together.
    pub total: Duration,
    /// False for a replay: the decisions are the same, and no time passes.
    pub waits: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 4,
            first: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            total: Duration::from_secs(120),
            waits: true,
        }
    }
}

/// The facts about a failed attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedAttempt {
    /// Failed attempts so far, at least 1.
    pub(crate) failed: u32,
    /// Waited so far.
    pub(crate) waited: Duration,
    pub(crate) retryable: bool,
    pub(crate) advice: RetryAdvice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    Wait(Duration),
    GiveUp,
    /// The server requests a longer delay than all retries may take.
    TooLong(Duration),
}

pub(crate) fn decide(policy: &RetryPolicy, attempt: FailedAttempt, jitter: f64) -> RetryDecision {
    if !attempt.advice.should.unwrap_or(attempt.retryable) || attempt.failed > policy.retries {
        return RetryDecision::GiveUp;
    }
    let left = policy.total.saturating_sub(attempt.waited);
    if let Some(wait) = attempt.advice.after {
        return if wait > left { RetryDecision::TooLong(wait) } else { RetryDecision::Wait(wait) };
    }
    let doubled = policy.first.saturating_mul(2u32.saturating_pow(attempt.failed - 1));
    let delay = doubled.min(policy.cap).mul_f64(jitter.clamp(0.0, 1.0));
    if delay > left { RetryDecision::GiveUp } else { RetryDecision::Wait(delay) }
}

/// Returns whether waiting may help after a refusal of this class.
pub(crate) fn may_pass(class: RefusalClass, status: u16) -> bool {
    match class {
        RefusalClass::RateLimit | RefusalClass::Overload => true,
        RefusalClass::Nonsense => status >= 500,
        RefusalClass::Auth
        | RefusalClass::Quota
        | RefusalClass::ContextTooLong
        | RefusalClass::BadRequest => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(failed: u32) -> FailedAttempt {
        FailedAttempt { failed, waited: Duration::ZERO, retryable: true, advice: RetryAdvice::default() }
    }

    fn ask(attempt: FailedAttempt) -> RetryDecision {
        decide(&RetryPolicy::default(), attempt, 1.0)
    }

    #[test]
    fn delays_double_to_the_cap_with_full_jitter() {
        let delays: Vec<RetryDecision> = (1..=5).map(|failed| ask(attempt(failed))).collect();
        let ms = |ms| RetryDecision::Wait(Duration::from_millis(ms));
        assert_eq!(delays, [ms(500), ms(1000), ms(2000), ms(4000), RetryDecision::GiveUp]);
        assert_eq!(decide(&RetryPolicy::default(), attempt(1), 0.0), ms(0));
        let patient = RetryPolicy { retries: 99, ..RetryPolicy::default() };
        assert_eq!(decide(&patient, attempt(40), 1.0), ms(30_000), "no overflow");
    }

    #[test]
    fn the_server_is_obeyed_within_reason() {
        let after = |seconds| RetryAdvice { after: Some(Duration::from_secs(seconds)), should: None };
        let failed = |seconds, waited| FailedAttempt {
            advice: after(seconds),
            waited: Duration::from_secs(waited),
            ..attempt(1)
        };
        assert_eq!(ask(failed(2, 0)), RetryDecision::Wait(Duration::from_secs(2)));
        assert_eq!(ask(failed(0, 0)), RetryDecision::Wait(Duration::ZERO));
        assert_eq!(ask(failed(86_400, 0)), RetryDecision::TooLong(Duration::from_secs(86_400)));
        assert_eq!(ask(failed(60, 100)), RetryDecision::TooLong(Duration::from_secs(60)));
        let should = |should| RetryAdvice { after: None, should: Some(should) };
        assert_eq!(ask(FailedAttempt { advice: should(false), ..attempt(1) }), RetryDecision::GiveUp);
        let insisted = FailedAttempt { advice: should(true), retryable: false, ..attempt(1) };
        assert_eq!(ask(insisted), RetryDecision::Wait(Duration::from_millis(500)));
    }

    #[test]
    fn patience_ends() {
        assert_eq!(ask(FailedAttempt { retryable: false, ..attempt(1) }), RetryDecision::GiveUp);
        assert_eq!(
            ask(FailedAttempt { waited: Duration::from_millis(119_900), ..attempt(3) }),
            RetryDecision::GiveUp
        );
    }

    #[test]
    fn only_what_may_pass_is_repeated() {
        use RefusalClass::{Auth, BadRequest, ContextTooLong, Nonsense, Overload, Quota, RateLimit};
        for (class, status, passes) in [
            (RateLimit, 429, true),
            (Overload, 529, true),
            (Overload, 200, true),
            (Nonsense, 502, true),
            (Nonsense, 200, false),
            (Auth, 401, false),
            (Quota, 429, false),
            (ContextTooLong, 400, false),
            (BadRequest, 422, false),
        ] {
            assert_eq!(may_pass(class, status), passes, "{class:?} {status}");
        }
    }
}
