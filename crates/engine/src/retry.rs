//! When a failed model call is made again. Pure: the clock and the dice are the caller's.
//!
//! Tools run only after a whole reply, so a provider request can always be repeated safely. What is repeated is what
//! the official SDKs repeat (408, 409, 429, 5xx, connection errors), never what waiting cannot cure (keys, quotas, bad
//! requests, certificates).

use std::time::Duration;

use converse_provider::{RefusalClass, RetryAdvice};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Retries after the first try.
    pub retries: u32,
    /// The first delay's bound; it doubles, with full jitter.
    pub first: Duration,
    pub cap: Duration,
    /// All waiting together.
    pub total: Duration,
    /// False where what comes next is known already (a replay): everything is decided alike, and no time passes.
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

/// What is known when a try has failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Try {
    /// Failed tries so far, at least 1.
    pub(crate) failed: u32,
    /// Waited so far.
    pub(crate) waited: Duration,
    pub(crate) retryable: bool,
    pub(crate) advice: RetryAdvice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Wait(Duration),
    GiveUp,
    /// The server asks for more patience than there is.
    TooLong(Duration),
}

pub(crate) fn next(policy: &RetryPolicy, attempt: Try, jitter: f64) -> Next {
    if !attempt.advice.should.unwrap_or(attempt.retryable) || attempt.failed > policy.retries {
        return Next::GiveUp;
    }
    let left = policy.total.saturating_sub(attempt.waited);
    if let Some(asked) = attempt.advice.after {
        return if asked > left { Next::TooLong(asked) } else { Next::Wait(asked) };
    }
    let doubled = policy.first.saturating_mul(2u32.saturating_pow(attempt.failed - 1));
    let delay = doubled.min(policy.cap).mul_f64(jitter.clamp(0.0, 1.0));
    if delay > left { Next::GiveUp } else { Next::Wait(delay) }
}

/// Does waiting help against a refusal of this class?
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

    fn attempt(failed: u32) -> Try {
        Try { failed, waited: Duration::ZERO, retryable: true, advice: RetryAdvice::default() }
    }

    fn ask(attempt: Try) -> Next {
        next(&RetryPolicy::default(), attempt, 1.0)
    }

    #[test]
    fn delays_double_to_the_cap_with_full_jitter() {
        let delays: Vec<Next> = (1..=5).map(|failed| ask(attempt(failed))).collect();
        let ms = |ms| Next::Wait(Duration::from_millis(ms));
        assert_eq!(delays, [ms(500), ms(1000), ms(2000), ms(4000), Next::GiveUp]);
        assert_eq!(next(&RetryPolicy::default(), attempt(1), 0.0), ms(0));
        let patient = RetryPolicy { retries: 99, ..RetryPolicy::default() };
        assert_eq!(next(&patient, attempt(40), 1.0), ms(30_000), "no overflow");
    }

    #[test]
    fn the_server_is_obeyed_within_reason() {
        let asked = |seconds| RetryAdvice { after: Some(Duration::from_secs(seconds)), should: None };
        let told = |seconds, waited| Try {
            advice: asked(seconds),
            waited: Duration::from_secs(waited),
            ..attempt(1)
        };
        assert_eq!(ask(told(2, 0)), Next::Wait(Duration::from_secs(2)));
        assert_eq!(ask(told(0, 0)), Next::Wait(Duration::ZERO));
        assert_eq!(ask(told(86_400, 0)), Next::TooLong(Duration::from_secs(86_400)));
        assert_eq!(ask(told(60, 100)), Next::TooLong(Duration::from_secs(60)));
        let should = |should| RetryAdvice { after: None, should: Some(should) };
        assert_eq!(ask(Try { advice: should(false), ..attempt(1) }), Next::GiveUp);
        let insisted = Try { advice: should(true), retryable: false, ..attempt(1) };
        assert_eq!(ask(insisted), Next::Wait(Duration::from_millis(500)));
    }

    #[test]
    fn patience_ends() {
        assert_eq!(ask(Try { retryable: false, ..attempt(1) }), Next::GiveUp);
        assert_eq!(ask(Try { waited: Duration::from_millis(119_900), ..attempt(3) }), Next::GiveUp);
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
