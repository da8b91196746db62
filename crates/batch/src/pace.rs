//! How fast one provider may be asked. Pure: the caller has the clock.
//!
//! The number of requests in flight is halved when the provider refuses one because of its rate or load, and grows by one
//! after as many answers in a row as are allowed at once. Requests that were sent before the last cut say nothing new:
//! their refusals do not cut again. Until the time that the provider asks for, nothing is sent.

use std::time::Duration;

/// First pause after a refusal that names no time. It doubles with each further refusal.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_OWN_PAUSE: Duration = Duration::from_secs(60);
/// Limit of every pause, whatever a provider asks for.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The pace of one provider. Times are since the beginning of the run.
#[derive(Debug)]
pub struct Pace {
    most: usize,
    limit: usize,
    running: usize,
    /// Answers since the last change of the limit.
    answers: usize,
    /// Refusals that cut the limit since the last answer.
    refusals: u32,
    cuts: u64,
    until: Duration,
}

/// Whether a request may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It counts as running. The ticket goes back with its end.
    Now(Ticket),
    /// Not before this time.
    At(Duration),
    /// Once another one has ended.
    WhenFree,
}

/// A request that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    cuts: u64,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an answer, or for a reason that says nothing about the pace.
    Otherwise,
    /// Refused because of the rate or the load, with the time that the provider asks to wait.
    Refused(Option<Duration>),
}

impl Pace {
    /// At most `most` requests at once, and at first as many.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self { most, limit: most, running: 0, answers: 0, refusals: 0, cuts: 0, until: Duration::ZERO }
    }

    /// Requests that may be in flight.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Nothing is sent before this time.
    pub fn until(&self) -> Duration {
        self.until
    }

    pub fn admit(&mut self, now: Duration) -> Admission {
        if now < self.until {
            return Admission::At(self.until);
        }
        if self.running >= self.limit {
            return Admission::WhenFree;
        }
        self.running += 1;
        Admission::Now(Ticket { cuts: self.cuts })
    }

    pub fn ended(&mut self, ticket: Ticket, ended: Ended, now: Duration) {
        self.running = self.running.saturating_sub(1);
        match ended {
            Ended::Otherwise => self.answered(),
            Ended::Refused(asked) => self.refused(ticket, asked, now),
        }
    }

    fn answered(&mut self) {
        self.refusals = 0;
        self.answers += 1;
        if self.answers >= self.limit && self.limit < self.most {
            self.limit += 1;
            self.answers = 0;
        }
    }

    fn refused(&mut self, ticket: Ticket, asked: Option<Duration>, now: Duration) {
        self.answers = 0;
        if ticket.cuts == self.cuts {
            self.limit = (self.limit / 2).max(1);
            self.refusals = self.refusals.saturating_add(1);
            self.cuts += 1;
        }
        let doubled = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(self.refusals.saturating_sub(1)));
        let pause = asked.unwrap_or(doubled.min(LONGEST_OWN_PAUSE)).min(LONGEST_PAUSE);
        self.until = self.until.max(now.saturating_add(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[track_caller]
    fn ticket(pace: &mut Pace, now: Duration) -> Ticket {
        match pace.admit(now) {
            Admission::Now(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_burst_of_refusals_cuts_once_and_all_wait() {
        let mut pace = Pace::new(8);
        let burst: Vec<Ticket> = (0..8).map(|_| ticket(&mut pace, S)).collect();
        assert_eq!(pace.admit(S), Admission::WhenFree);
        for (n, sent) in burst.into_iter().enumerate() {
            pace.ended(sent, Ended::Refused((n == 3).then_some(S * 20)), S * 2);
        }
        assert_eq!((pace.limit(), pace.admit(S * 21)), (4, Admission::At(S * 22)));
        let next = ticket(&mut pace, S * 22);
        pace.ended(next, Ended::Refused(None), S * 22);
        assert_eq!(pace.limit(), 2, "a request after the cut was refused too");
        assert_eq!(pace.until(), S * 23, "the second pause is twice the first");
    }

    #[test]
    fn the_number_grows_again_and_never_beyond_what_is_allowed() {
        let mut pace = Pace::new(3);
        let first = ticket(&mut pace, S);
        pace.ended(first, Ended::Refused(Some(Duration::ZERO)), S);
        let mut limits = Vec::new();
        for _ in 0..8 {
            limits.push(pace.limit());
            let sent = ticket(&mut pace, S);
            pace.ended(sent, Ended::Otherwise, S);
        }
        assert_eq!(limits, [1, 2, 2, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn no_pause_is_longer_than_the_limit() {
        let mut pace = Pace::new(1);
        let sent = ticket(&mut pace, S);
        pace.ended(sent, Ended::Refused(Some(S * 100_000)), S);
        assert_eq!(pace.until(), S + LONGEST_PAUSE);
        assert_eq!(pace.limit(), 1, "one is always allowed");
    }
}
