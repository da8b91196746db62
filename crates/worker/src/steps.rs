//! The runner of one turn: it begins a step when Restate wants it, and reports when the step is over.

use std::time::Duration;

use converse_engine::{Act, Released, Runner};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::message::{Advanced, Next};

/// Time that a turn waits for its next step. Then it is released, so that another process can take it up.
const GRACE: Duration = Duration::from_secs(5);

/// Why a step has no outcome here: Restate tries it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Later(pub(crate) String);

pub(crate) type Reply = oneshot::Sender<Result<Advanced, Later>>;

/// A turn of this process between its steps. Clones of the `Arc` around it are shared with the queue.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    place: Place,
    /// Who waits for the outcome of the step.
    reply: Option<Reply>,
    /// The worker ends.
    is_released: bool,
}

/// Where the turn is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before its first step, which may begin.
    #[default]
    Before,
    InStep,
    Between,
    /// Nothing begins any more.
    Ended,
}

impl Steps {
    pub(crate) fn new(reply: Reply) -> Self {
        Self { state: Mutex::new(State { reply: Some(reply), ..State::default() }), ..Self::default() }
    }

    /// Lets the next step begin. If one runs, because the process that wanted it has lost its connection, its outcome goes to
    /// this reply. Gives the reply back if the turn has ended here.
    pub(crate) fn go_on(&self, reply: Reply) -> Result<(), Reply> {
        let mut state = self.state.lock();
        if state.place == Place::Ended {
            return Err(reply);
        }
        if state.place == Place::Between {
            state.place = Place::InStep;
        }
        state.reply = Some(reply);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Lets no other step begin. One that runs comes to its end.
    pub(crate) fn release(&self) {
        let mut state = self.state.lock();
        state.is_released = true;
        if state.place == Place::Between {
            state.place = Place::Ended;
        }
        self.changed.notify_waiters();
    }

    /// Reports the end of the turn, or of its time in this process.
    pub(crate) fn end(&self, outcome: Result<Advanced, Later>) {
        let mut state = self.state.lock();
        state.place = Place::Ended;
        if let Some(reply) = state.reply.take() {
            let _ = reply.send(outcome);
        }
    }

    /// Reports the end of a step. Returns whether the next one may begin at once.
    fn step_over(&self, next: Next) -> bool {
        let mut state = self.state.lock();
        if state.place == Place::Before {
            state.place = Place::InStep;
            return true;
        }
        state.place = if state.is_released { Place::Ended } else { Place::Between };
        if let Some(reply) = state.reply.take() {
            let _ = reply.send(Ok(Advanced::More { next }));
        }
        false
    }

    /// Waits until the next step may begin.
    async fn between(&self) -> Result<(), Released> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.state.lock().place {
                Place::Between => {}
                Place::Ended => return Err(Released),
                Place::Before | Place::InStep => return Ok(()),
            }
            changed.await;
        }
    }
}

impl Runner for Steps {
    fn begin(&self, act: Act) -> BoxFuture<'_, Result<(), Released>> {
        let next = match act {
            Act::CallModel => Next::Model,
            Act::Invoke => Next::Tools,
        };
        async move {
            if self.step_over(next) {
                return Ok(());
            }
            if let Ok(begun) = tokio::time::timeout(GRACE, self.between()).await {
                return begun;
            }
            let mut state = self.state.lock();
            // It may have been wanted at the last moment.
            if state.place == Place::InStep {
                return Ok(());
            }
            state.place = Place::Ended;
            Err(Released)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Outcome = oneshot::Receiver<Result<Advanced, Later>>;

    fn begun() -> (Arc<Steps>, Outcome) {
        let (reply, outcome) = oneshot::channel();
        (Arc::new(Steps::new(reply)), outcome)
    }

    const MORE: Result<Result<Advanced, Later>, oneshot::error::RecvError> =
        Ok(Ok(Advanced::More { next: Next::Tools }));

    #[tokio::test(start_paused = true)]
    async fn the_first_step_begins_at_once_and_each_other_when_it_is_wanted() {
        let (steps, outcome) = begun();
        assert_eq!(steps.begin(Act::CallModel).now_or_never(), Some(Ok(())));
        let mut second = steps.begin(Act::Invoke);
        assert_eq!((&mut second).now_or_never(), None);
        assert_eq!(outcome.await, MORE);
        let (reply, outcome) = oneshot::channel();
        steps.go_on(reply).unwrap();
        assert_eq!(second.await, Ok(()));
        steps.end(Err(Later("over".to_owned())));
        assert_eq!(outcome.await, Ok(Err(Later("over".to_owned()))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_that_runs_is_not_begun_twice() {
        let (steps, first) = begun();
        assert_eq!(steps.begin(Act::CallModel).now_or_never(), Some(Ok(())));
        let (reply, second) = oneshot::channel();
        steps.go_on(reply).unwrap();
        assert!(first.await.is_err(), "who wanted it before gets nothing");
        let mut next = steps.begin(Act::Invoke);
        assert_eq!((&mut next).now_or_never(), None, "the reply is for the step that ran");
        assert_eq!(second.await, MORE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_goes_on_with_is_released() {
        let (steps, _outcome) = begun();
        steps.begin(Act::CallModel).await.unwrap();
        assert_eq!(steps.begin(Act::Invoke).await, Err(Released));
        let (reply, _outcome) = oneshot::channel();
        assert!(steps.go_on(reply).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_ends_begins_no_step() {
        let (steps, outcome) = begun();
        steps.begin(Act::CallModel).await.unwrap();
        steps.release();
        assert_eq!(steps.begin(Act::Invoke).now_or_never(), Some(Err(Released)));
        assert_eq!(outcome.await, MORE, "the step that ran has its outcome");
        let (steps, _outcome) = begun();
        steps.begin(Act::CallModel).await.unwrap();
        let mut next = steps.begin(Act::Invoke);
        assert_eq!((&mut next).now_or_never(), None);
        steps.release();
        assert_eq!(next.now_or_never(), Some(Err(Released)));
    }
}
