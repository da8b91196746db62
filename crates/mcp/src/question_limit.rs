//! [`QuestionLimit`]: limits how often a server may ask the user during one request.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use crate::responders::ElicitationReply;

/// Questions per request.
const MAX_QUESTIONS: u32 = 10;
/// Consecutive refusals after which further questions are declined.
const MAX_REFUSALS: u32 = 2;

/// The questions of one request. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuestionLimit(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
pub(crate) struct Count {
    count: u32,
    /// Consecutive refusals.
    refused: u32,
    reported: bool,
}

/// The question is declined without asking.
#[derive(Debug, PartialEq)]
pub(crate) enum LimitReached {
    /// The first declined question: why, for the user.
    First(&'static str),
    Repeated,
}

impl QuestionLimit {
    /// Locks the count, so that questions are asked one after the other.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().await
    }
}

impl Count {
    /// Counts a question. Counts as refused until [`Count::record`] says otherwise.
    pub(crate) fn try_ask(&mut self) -> Result<(), LimitReached> {
        let why = match () {
            () if self.refused >= MAX_REFUSALS => {
                "you declined twice: further questions in this call are declined"
            }
            () if self.count >= MAX_QUESTIONS => {
                "the server asked ten times: further questions in this call are declined"
            }
            () => {
                self.count += 1;
                self.refused += 1;
                return Ok(());
            }
        };
        let reported = std::mem::replace(&mut self.reported, true);
        Err(if reported { LimitReached::Repeated } else { LimitReached::First(why) })
    }

    pub(crate) fn record(&mut self, reply: &ElicitationReply) {
        if let ElicitationReply::Accept(_) = reply {
            self.refused = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_asked_and_two_refusals_are_enough() {
        for (replies, expected) in [
            (vec![ElicitationReply::Accept(None); 20], 10),
            (vec![ElicitationReply::Decline; 20], 2),
            (vec![ElicitationReply::Cancel, ElicitationReply::Decline, ElicitationReply::Accept(None)], 2),
            (
                vec![
                    ElicitationReply::Decline,
                    ElicitationReply::Accept(None),
                    ElicitationReply::Cancel,
                    ElicitationReply::Accept(None),
                ],
                4,
            ),
        ] {
            let mut count = Count::default();
            let mut reported = 0;
            let answered = replies.iter().filter(|reply| match count.try_ask() {
                Ok(()) => {
                    count.record(reply);
                    true
                }
                Err(enough) => {
                    reported += usize::from(matches!(enough, LimitReached::First(_)));
                    false
                }
            });
            assert_eq!(answered.count(), expected, "{replies:?}");
            assert_eq!(reported, usize::from(expected < replies.len()), "once: {replies:?}");
        }
    }
}
