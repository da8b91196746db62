//! Progress of running invocations, shown to people at most ten times a second. A client that made the call itself gets
//! every report.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{Host, ToolProgress};
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::ProgressToken;
use tokio::sync::Notify;
use tokio::time::Instant;

/// At most one progress report is passed on in this time: the latest.
const WINDOW: Duration = Duration::from_millis(100);

/// The running invocations of one connection by progress token.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressListeners(Arc<Mutex<HashMap<ProgressToken, Arc<Listener>>>>);

#[derive(Debug)]
struct Listener {
    host: Host,
    /// Notified of each progress report.
    arrived: Notify,
    gate: Mutex<RateGate>,
}

/// Limits the rate of progress reports.
#[derive(Debug)]
struct RateGate {
    opens: Instant,
    pending: Option<ToolProgress>,
}

/// Passes progress to its invocation until dropped. A pending report is passed on then.
#[derive(Debug)]
pub(crate) struct ProgressListener {
    token: ProgressToken,
    progress_listeners: ProgressListeners,
    listener: Arc<Listener>,
}

impl ProgressListeners {
    pub(crate) fn listen(&self, token: ProgressToken, host: Host) -> ProgressListener {
        let gate = Mutex::new(RateGate { opens: Instant::now(), pending: None });
        let listener = Arc::new(Listener { host, arrived: Notify::new(), gate });
        self.lock().insert(token.clone(), Arc::clone(&listener));
        ProgressListener { token, progress_listeners: self.clone(), listener }
    }

    /// Reports progress of an invocation. Ignored if the invocation is over.
    pub(crate) fn report(&self, token: &ProgressToken, progress: ToolProgress) {
        let listener = self.lock().get(token).cloned();
        if let Some(listener) = listener {
            listener.report(progress);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Listener>>> {
        self.0.lock()
    }
}

impl Listener {
    fn report(&self, progress: ToolProgress) {
        if self.host.client().is_some() {
            self.host.say(progress);
            self.arrived.notify_one();
            return;
        }
        let mut gate = self.gate();
        gate.pending = Some(progress);
        if gate.opens <= Instant::now() {
            self.pass(gate);
        }
        self.arrived.notify_one();
    }

    fn pass(&self, mut gate: MutexGuard<'_, RateGate>) {
        if let Some(progress) = gate.pending.take() {
            gate.opens = Instant::now() + WINDOW;
            drop(gate);
            self.host.say(progress);
        }
    }

    fn gate(&self) -> MutexGuard<'_, RateGate> {
        self.gate.lock()
    }
}

impl ProgressListener {
    /// Resolves when progress was reported since the last call, whether it was passed on or not.
    pub(crate) async fn progress(&self) {
        self.listener.arrived.notified().await;
    }

    /// Returns when a pending report may be passed on; `None` if none is pending.
    pub(crate) fn opens(&self) -> Option<Instant> {
        let gate = self.listener.gate();
        gate.pending.is_some().then_some(gate.opens)
    }

    /// Passes a pending report on.
    pub(crate) fn pass(&self) {
        self.listener.pass(self.listener.gate());
    }
}

impl Drop for ProgressListener {
    fn drop(&mut self) {
        self.progress_listeners.lock().remove(&self.token);
        self.pass();
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_reports_a_second_and_the_last_one_are_passed_on() {
        let (words, mut reported) = tokio::sync::mpsc::channel(10_000);
        let (progress_listeners, token) =
            (ProgressListeners::default(), ProgressToken(NumberOrString::Number(1)));
        let listening = progress_listeners.listen(token.clone(), Host::new(0, words));
        let word = |done: u32| ToolProgress::Progress { done: f64::from(done), total: None, message: None };
        assert_eq!(listening.opens(), None);
        for done in 0..5000 {
            progress_listeners.report(&token, word(done));
            listening.progress().await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let so_far = reported.len();
        assert!((45..=51).contains(&so_far), "{so_far}");
        tokio::time::sleep_until(listening.opens().unwrap()).await;
        listening.pass();
        assert_eq!((reported.len(), listening.opens()), (so_far + 1, None), "the window has opened");
        progress_listeners.report(&token, word(6000));
        assert_eq!(reported.len(), so_far + 1, "and has closed again");
        drop(listening);
        let mut last = None;
        while let Ok(next) = reported.try_recv() {
            last = Some(next);
        }
        assert_eq!(last, Some((0, word(6000))), "the last word is told at the end");
        progress_listeners.report(&token, word(7000));
        assert!(reported.try_recv().is_err(), "nobody listens any more");
    }
}
