//! How often a server may ask a person while it does one thing. Its patience is the server's; the person's is not.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use crate::asked::Reply;

/// Questions of one errand.
const MOST: u32 = 10;
/// So often no, one after the other, is a no to the rest.
const ENOUGH: u32 = 2;

/// Those of one errand. Clone = the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
pub(crate) struct Count {
    asked: u32,
    /// In a row.
    refused: u32,
    told: bool,
}

/// Nobody is asked.
#[derive(Debug, PartialEq)]
pub(crate) enum Enough {
    /// The first time: why, in words.
    Tell(&'static str),
    Told,
}

impl Questions {
    /// They are asked one after the other: what was answered before counts.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, Count> {
        self.0.lock().await
    }
}

impl Count {
    /// One that is never answered is refused.
    pub(crate) fn ask(&mut self) -> Result<(), Enough> {
        let why = match () {
            () if self.refused >= ENOUGH => "you declined twice: what else it asks in this call is declined",
            () if self.asked >= MOST => "it has asked ten times: what else it asks in this call is declined",
            () => {
                self.asked += 1;
                self.refused += 1;
                return Ok(());
            }
        };
        let told = std::mem::replace(&mut self.told, true);
        Err(if told { Enough::Told } else { Enough::Tell(why) })
    }

    pub(crate) fn heard(&mut self, reply: &Reply) {
        if let Reply::Accept(_) = reply {
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
            (vec![Reply::Accept(None); 20], 10),
            (vec![Reply::Decline; 20], 2),
            (vec![Reply::Cancel, Reply::Decline, Reply::Accept(None)], 2),
            (vec![Reply::Decline, Reply::Accept(None), Reply::Cancel, Reply::Accept(None)], 4),
        ] {
            let mut count = Count::default();
            let mut told = 0;
            let answered = replies.iter().filter(|reply| match count.ask() {
                Ok(()) => {
                    count.heard(reply);
                    true
                }
                Err(enough) => {
                    told += usize::from(matches!(enough, Enough::Tell(_)));
                    false
                }
            });
            assert_eq!(answered.count(), asked, "{replies:?}");
            assert_eq!(told, usize::from(asked < replies.len()), "once: {replies:?}");
        }
    }
}
