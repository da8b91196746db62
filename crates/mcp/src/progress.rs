//! Progress of invocations that run: told to whoever waits for them, but never more often than a person can read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use converse_ensemble::{Host, Word};
use rmcp::model::ProgressToken;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One word is passed on in so much time; of several the last counts.
const WINDOW: Duration = Duration::from_millis(100);

/// The invocations that run on one connection, by their progress tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Callers(Arc<Mutex<HashMap<ProgressToken, Arc<Caller>>>>);

#[derive(Debug)]
struct Caller {
    host: Host,
    /// There was progress.
    stirred: Notify,
    gate: Mutex<Gate>,
}

/// Words pass one by one.
#[derive(Debug)]
struct Gate {
    opens: Instant,
    held: Option<Word>,
}

/// As long as it lives, progress reaches its invocation. What is held then is told when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    token: ProgressToken,
    callers: Callers,
    caller: Arc<Caller>,
}

impl Callers {
    pub(crate) fn listen(&self, token: ProgressToken, host: Host) -> Listening {
        let gate = Mutex::new(Gate { opens: Instant::now(), held: None });
        let caller = Arc::new(Caller { host, stirred: Notify::new(), gate });
        self.lock().insert(token.clone(), Arc::clone(&caller));
        Listening { token, callers: self.clone(), caller }
    }

    /// What a server says of an invocation; of one that is over it is not heard.
    pub(crate) fn hear(&self, token: &ProgressToken, word: Word) {
        let caller = self.lock().get(token).cloned();
        if let Some(caller) = caller {
            caller.hear(word);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Caller>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    fn hear(&self, word: Word) {
        let mut gate = self.gate();
        gate.held = Some(word);
        if gate.opens <= Instant::now() {
            self.pass(gate);
        }
        self.stirred.notify_one();
    }

    fn pass(&self, mut gate: MutexGuard<'_, Gate>) {
        if let Some(word) = gate.held.take() {
            gate.opens = Instant::now() + WINDOW;
            drop(gate);
            self.host.say(word);
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listening {
    /// Resolves when there was progress since the last time, whether it was told or not.
    pub(crate) async fn progress(&self) {
        self.caller.stirred.notified().await;
    }

    /// When a word that is held may be told. `None`: nothing is held; ask again after progress.
    pub(crate) fn opens(&self) -> Option<Instant> {
        let gate = self.caller.gate();
        gate.held.is_some().then_some(gate.opens)
    }

    /// Tells what is held.
    pub(crate) fn pass(&self) {
        self.caller.pass(self.caller.gate());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.callers.lock().remove(&self.token);
        self.pass();
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_words_a_second_and_the_last_one() {
        let (words, mut told) = tokio::sync::mpsc::channel(10_000);
        let (callers, token) = (Callers::default(), ProgressToken(NumberOrString::Number(1)));
        let listening = callers.listen(token.clone(), Host::new(0, words));
        let word = |done: u32| Word::Progress { done: f64::from(done), total: None, message: None };
        assert_eq!(listening.opens(), None);
        for done in 0..5000 {
            callers.hear(&token, word(done));
            listening.progress().await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let so_far = told.len();
        assert!((45..=51).contains(&so_far), "{so_far}");
        tokio::time::sleep_until(listening.opens().unwrap()).await;
        listening.pass();
        assert_eq!((told.len(), listening.opens()), (so_far + 1, None), "the window has opened");
        callers.hear(&token, word(6000));
        assert_eq!(told.len(), so_far + 1, "and has closed again");
        drop(listening);
        let mut last = None;
        while let Ok(next) = told.try_recv() {
            last = Some(next);
        }
        assert_eq!(last, Some((0, word(6000))), "the last word is told at the end");
        callers.hear(&token, word(7000));
        assert!(told.try_recv().is_err(), "nobody listens any more");
    }
}
