//! Signals for a program that goes on after something was broken off.
//!
//! SIGINT breaks off what is attended to, a turn mostly, and the program goes on; a second one before that has ended
//! leaves at once. Where nothing is attended to, SIGINT ends the program like the other signals, which always do: with
//! time to tidy up, and at once if they come again. One thread serves all turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::termios::{LocalModes, SpecialCodeIndex, tcgetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::view::TerminalView;
use converse_editor::Handover;

use super::{Hooks, Signals, TIDYING, hear, stopping};
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;

const SIGINT: u8 = 2;
/// Ctrl-C, where nothing else is set.
const CTRL_C: u8 = 3;

/// The receivers of signals.
#[derive(Debug, Clone, Default)]
pub struct Attention {
    /// The program is to end.
    pub end: Interrupt,
    hooks: Arc<Hooks>,
    current: Arc<Mutex<Option<Current>>>,
    /// What was broken off without a signal, until the thread of signals has heard of it.
    escaped: Arc<Mutex<Option<CancellationToken>>>,
    escapes: Arc<Notify>,
    /// A line was asked for or read, or something was over, and no key was passed over since.
    between: Arc<AtomicBool>,
    /// It was at a terminal, and that no line is seen to be asked for since.
    unseen: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
struct Current {
    interrupt: Interrupt,
    over: CancellationToken,
    /// Another program has the terminal, and Ctrl-C is its key: SIGINT is for it.
    lends: bool,
}

/// As long as it lives, SIGINT is for it alone.
#[derive(Debug)]
pub(crate) struct Attended {
    pub interrupt: Interrupt,
    attention: Attention,
    over: CancellationToken,
}

/// Attends from now on.
pub(crate) fn attend() -> Result<Attention, Failure> {
    let attention = Attention::default();
    let (told, is_key) = (attention.clone(), is_a_key());
    hear(Arc::clone(&attention.hooks), async move |mut signals| {
        signals.stop = stopping::hear();
        // The parent process ignores SIGINT, but on a terminal it is the key that interrupts a turn.
        if signals.interrupt.is_none() && is_key {
            signals.interrupt = signal(SignalKind::interrupt()).ok();
        }
        told.hears(signals).await
    })?;
    Ok(attention)
}

impl Attention {
    /// What draws, and steps aside while the program is stopped.
    pub(crate) fn draws(&self, draws: Weak<TerminalView>) {
        *self.hooks.draws.lock() = Some(draws);
    }

    /// What reads lines, and steps aside while the program is stopped.
    pub(crate) fn reads(&self, reads: Handover) {
        *self.hooks.reads.lock() = Some(reads);
    }

    /// Done before the program is left by a signal.
    pub(crate) fn at_leaving(&self, last: impl FnOnce() + Send + 'static) {
        *self.hooks.last.lock() = Some(Box::new(last));
    }

    /// One thing at a time: what was attended to before is not any more.
    pub(crate) fn to_turn(&self) -> Attended {
        self.to(false)
    }

    /// As long as the result lives, SIGINT does nothing here: it is for the program that the user was given the terminal for,
    /// a pager or an editor.
    pub(crate) fn to_program(&self) -> Attended {
        self.to(true)
    }

    fn to(&self, lends: bool) -> Attended {
        let interrupt = self.end.child();
        let over = CancellationToken::new();
        let current = Current { interrupt: interrupt.clone(), over: over.clone(), lends };
        if let Some(number) = self.end.number() {
            interrupt.tell(number);
        }
        *self.current.lock() = Some(current);
        Attended { interrupt, attention: self.clone(), over }
    }

    /// A line is asked for, was read, or something is over: a key that is pressed until the next thing begins is not for
    /// the program. The one after it is, should nothing begin.
    pub(crate) fn passes_on(&self) {
        self.between.store(true, Ordering::SeqCst);
        self.unseen.store(is_a_key(), Ordering::SeqCst);
    }

    /// The user can see that a line is expected. Until it is read, Ctrl-C is not a signal, and a sent SIGINT is for the
    /// program.
    pub(crate) fn asks(&self) {
        self.unseen.store(false, Ordering::SeqCst);
    }

    /// Until the program must be left; by which signal.
    async fn hears(&self, mut signals: Signals) -> u8 {
        loop {
            let number = tokio::select! {
                number = signals.next() => Some(number),
                () = self.escapes.notified() => None,
            };
            let over = match number {
                Some(SIGINT) if self.is_lent() || self.came_late() => continue,
                Some(number) => self.broken_off(number),
                // It may be over by now.
                None => match self.escaped.lock().take() {
                    None => continue,
                    over => over,
                },
            };
            let number = number.unwrap_or(SIGINT);
            let Some(over) = over else {
                self.ends(number);
                return timeout(TIDYING, signals.next()).await.unwrap_or(number);
            };
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = sleep(TIDYING) => return number,
                again = signals.next() => {
                    if again == SIGINT {
                        return again;
                    }
                    self.ends(again);
                    return timeout(TIDYING, signals.next()).await.unwrap_or(again);
                }
            }
        }
    }

    /// Interrupts the current receiver of SIGINT and returns a token that is cancelled when it has ended. `None`: the
    /// signal is for the program itself.
    fn broken_off(&self, number: u8) -> Option<CancellationToken> {
        let current = self.current.lock().clone().filter(|_| number == SIGINT)?;
        current.interrupt.tell(number);
        Some(current.over)
    }

    /// Returns whether Ctrl-C was pressed between two possible receivers. A line may be read since, where it is no
    /// longer a signal.
    fn came_late(&self) -> bool {
        let can_be_a_key = || is_a_key() || self.unseen.load(Ordering::SeqCst);
        self.current.lock().is_none() && can_be_a_key() && self.between.swap(false, Ordering::SeqCst)
    }

    fn is_lent(&self) -> bool {
        self.current.lock().as_ref().is_some_and(|current| current.lends)
    }

    fn ends(&self, number: u8) {
        if let Some(current) = &*self.current.lock() {
            current.interrupt.tell(number);
        }
        self.end.tell(number);
    }
}

impl Attended {
    /// Does what SIGINT would do, for this alone: a SIGINT before it has ended leaves the program.
    pub(crate) fn break_off(&self) {
        self.interrupt.tell(SIGINT);
        *self.attention.escaped.lock() = Some(self.over.clone());
        self.attention.escapes.notify_one();
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.attention.passes_on();
        *self.attention.current.lock() = None;
        self.over.cancel();
    }
}

/// Returns whether the terminal turns Ctrl-C into a signal.
fn is_a_key() -> bool {
    let modes = tcgetattr(std::io::stdin()).ok();
    modes.is_some_and(|modes| {
        modes.local_modes.contains(LocalModes::ISIG) && modes.special_codes[SpecialCodeIndex::VINTR] == CTRL_C
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_for_what_is_attended_to_and_the_others_are_for_all() {
        let attention = Attention::default();
        assert!(attention.broken_off(SIGINT).is_none(), "nothing is attended to");
        let turn = attention.to_turn();
        assert!(attention.broken_off(15).is_none());
        let over = attention.broken_off(SIGINT).unwrap();
        assert_eq!((turn.interrupt.number(), attention.end.number()), (Some(2), None));
        assert!(turn.interrupt.token.is_cancelled() && !over.is_cancelled());
        drop(turn);
        assert!(over.is_cancelled() && !attention.end.token.is_cancelled());
        let next = attention.to_turn();
        assert!(!next.interrupt.token.is_cancelled(), "each turn begins anew");
        next.break_off();
        let escaped = attention.escaped.lock().clone().unwrap();
        assert!(next.interrupt.number() == Some(2) && !escaped.is_cancelled());
        drop(next);
        assert!(escaped.is_cancelled(), "what comes now is not for it");
        let next = attention.to_turn();
        assert!(!next.interrupt.token.is_cancelled());
        attention.ends(15);
        assert_eq!((next.interrupt.number(), attention.end.number()), (Some(15), Some(15)));
        assert!(next.interrupt.token.is_cancelled());
        assert_eq!(attention.to_turn().interrupt.number(), Some(15), "nothing begins any more");
    }

    #[test]
    fn a_key_between_two_things_is_passed_over_once() {
        let attention = Attention::default();
        assert!(!attention.came_late(), "nothing was over");
        // As at a terminal.
        let passes_on = || {
            attention.between.store(true, Ordering::SeqCst);
            attention.unseen.store(true, Ordering::SeqCst);
        };
        let turn = attention.to_turn();
        passes_on();
        assert!(!attention.came_late(), "it is for the turn");
        drop(turn);
        passes_on();
        assert!(attention.came_late() && !attention.came_late());
        passes_on();
        attention.asks();
        assert!(!attention.came_late(), "no key is a signal at a prompt");
    }
}
