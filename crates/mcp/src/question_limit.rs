//! How often a server may ask a person while it does one thing. Its patience is the server's; the person's is not.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use crate::responders::ElicitationReply;

/// Questions of one errand.
const MOST: u32 = 10;
/// So often no, one after the other, is a no to the rest.
const ENOUGH: u32 = 2;

/// Those of one errand. Clone = the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuestionLimit(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
pub(crate) struct Count {
    asked: u32,
    /// In a row.
    refused: u32,
    reported: bool,
}

/// Nobody is asked.
#[derive(Debug, PartialEq)]
pub(crate) enum LimitReached {
    /// The first time: why, in words.
    First(&'static str),
    Repeated,
}

impl QuestionLimit {
    /// They are asked one after the other: what was answered before counts.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().await
    }
}

impl Count {
    /// One that is never answered is refused.
    pub(crate) fn try_ask(&mut self) -> Result<(), LimitReached> {
        let why = match () {
            () if self.refused >= ENOUGH => "you declined twice: what else it asks in this call is declined",
            () if self.asked >= MOST => "it has asked ten times: what else it asks in this call is declined",
            () => {
                self.asked += 1;
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
        for (replies, asked) in [
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
            assert_eq!(answered.count(), asked, "{replies:?}");
            assert_eq!(reported, usize::from(asked < replies.len()), "once: {replies:?}");
        }
    }
}
