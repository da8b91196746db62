//! Signals and the deadline, watched by their own thread.
//!
//! The first signal cancels the run and lets it clean up; the second one exits at once. A run that cannot clean up (its
//! only thread is stuck in a write to a pipe without a reader) is ended after a time limit, so the program always ends.
//!
//! Signals that the parent process ignores stay ignored (`nohup`, or `&` in a script, which must not end at a Ctrl-C
//! for the foreground process), except SIGTERM.
//!
//! In the REPL a signal interrupts the turn: see [`Attention`].

use std::fs;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::view::{TerminalView, release_question};
use converse_editor::Handover;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::runtime::{denied, runtime};

mod attention;
mod stopping;

pub use attention::Attention;
pub(crate) use attention::{Attended, attend};
pub(crate) use stopping::{stops_restored, suspends};

/// Time to tidy up: running tools have two seconds of grace, servers five to end. What else waits at the end waits beside
/// them, or for the rest of it.
const TIDYING: Duration = Duration::from_secs(10);

const LAST_WORDS: Duration = Duration::from_millis(200);

/// Ends the program with this exit code if it still runs at the deadline and has had some time to tidy up.
pub fn leave_at(deadline: Instant, code: u8) {
    // Without a thread the run still ends at its deadline, unless it is stuck.
    let _ = std::thread::Builder::new().spawn(move || {
        let left = deadline.saturating_duration_since(Instant::now());
        std::thread::sleep(left + TIDYING);
        leave(code, &Arc::default());
    });
}

/// At a file size limit (`ulimit -f`), a write must fail with an error; by default a signal ends the program. The
/// signal gets a handler and is not ignored, because an ignored signal would stay ignored in programs that replace this
/// one.
pub fn outlive_limits_of_files() {
    // Where it cannot be heard, all is as it was.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Watches from now on.
pub fn watch() -> Result<Interrupt, Failure> {
    watch_serving(Duration::ZERO, false).map(|(interrupt, _)| interrupt)
}

/// Like [`watch`], for a run that may continue for `drain` after it was asked to end. With `reloads`, SIGHUP ends nothing
/// and notifies, even if the parent process ignores it.
pub fn watch_serving(drain: Duration, reloads: bool) -> Result<(Interrupt, Arc<Notify>), Failure> {
    let (interrupt, hangup) = (Interrupt::default(), Arc::<Notify>::default());
    let (told, reload) = (interrupt.clone(), Arc::clone(&hangup));
    hear(Arc::default(), async move |mut signals| {
        let heard = signals.hangup.take_if(|_| reloads);
        let unheard = || reloads.then(|| signal(SignalKind::hangup()).ok()).flatten();
        let mut hangups = heard.or_else(unheard);
        let first = next_or_hangups(&mut signals, &mut hangups, &reload).await;
        told.tell(first);
        let second = next_or_hangups(&mut signals, &mut hangups, &reload);
        tokio::time::timeout(drain + TIDYING, second).await.unwrap_or(first)
    })?;
    Ok((interrupt, hangup))
}

/// The number of the next signal that ends something.
async fn next_or_hangups(signals: &mut Signals, hangups: &mut Option<Signal>, reload: &Notify) -> u8 {
    loop {
        tokio::select! {
            number = signals.next() => return number,
            () = next_of(hangups) => reload.notify_one(),
        }
    }
}

/// Signals on a thread of their own; when the hearer is done, so is the program, by the number that it gives back.
fn hear(hooks: Arc<Hooks>, hearer: impl AsyncFnOnce(Signals) -> u8 + Send + 'static) -> Result<(), Failure> {
    let failed = |error: std::io::Error| denied("signals", &error);
    let runtime = runtime()?;
    let entered = runtime.enter();
    let signals = Signals::new(Arc::clone(&hooks)).map_err(failed)?;
    drop(entered);
    let thread = std::thread::Builder::new().name("signals".to_owned());
    let heard = thread.spawn(move || leave(128 + runtime.block_on(hearer(signals)), &hooks));
    heard.map(drop).map_err(failed)
}

/// What a program that draws wants of signals: to step aside before it is stopped, and a last act before it is left.
#[derive(Default)]
struct Hooks {
    /// Runs on any thread, without unwinding, to restore the modes of the terminal.
    last: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    draws: Mutex<Option<Weak<TerminalView>>>,
    reads: Mutex<Option<Handover>>,
}

converse_host::opaque_debug!(Hooks);

impl Hooks {
    fn last_of_all(&self) {
        release_question();
        let last = self.last.lock().take();
        if let Some(last) = last {
            last();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "there is nothing left to wait for")]
fn leave(code: u8, hooks: &Arc<Hooks>) -> ! {
    // A write to a blocked terminal may wait, so it gets little time.
    let (done, ends) = std::sync::mpsc::channel();
    let of_thread = Arc::clone(hooks);
    let begun = std::thread::Builder::new().spawn(move || {
        of_thread.last_of_all();
        let _ = done.send(());
    });
    match begun {
        Ok(_) => drop(ends.recv_timeout(LAST_WORDS)),
        Err(_) => hooks.last_of_all(),
    }
    std::process::exit(i32::from(code))
}

struct Signals {
    hangup: Option<Signal>,
    interrupt: Option<Signal>,
    quit: Option<Signal>,
    terminate: Signal,
    /// Heard by those who draw; by default it stops the program.
    stop: Option<Signal>,
    hooks: Arc<Hooks>,
}

impl Signals {
    fn new(hooks: Arc<Hooks>) -> std::io::Result<Self> {
        let ignored = ignored();
        let unless_ignored = |kind| (!ignored.contains(kind)).then(|| signal(kind)).transpose();
        Ok(Self {
            hangup: unless_ignored(SignalKind::hangup())?,
            interrupt: unless_ignored(SignalKind::interrupt())?,
            quit: unless_ignored(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            stop: None,
            hooks,
        })
    }

    /// The number of the next one that ends or breaks off something.
    async fn next(&mut self) -> u8 {
        loop {
            tokio::select! {
                () = next_of(&mut self.hangup) => return 1,
                () = next_of(&mut self.interrupt) => return 2,
                () = next_of(&mut self.quit) => return 3,
                _ = self.terminate.recv() => return 15,
                () = next_of(&mut self.stop) => {}
            }
            stopping::stops(&self.hooks).await;
        }
    }
}

/// The next one; never where none is heard.
pub(crate) async fn next_of(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Signals, as the kernel tells them: the lowest bit is number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mask(u64);

impl Mask {
    fn contains(self, kind: SignalKind) -> bool {
        let bit = u32::try_from(kind.as_raw_value() - 1).ok().and_then(|shift| 1u64.checked_shl(shift));
        bit.is_some_and(|bit| self.0 & bit != 0)
    }
}

/// The ignored signals. Without `/proc` it is empty, so that all signals are handled.
fn ignored() -> Mask {
    masked(&fs::read_to_string("/proc/self/status").unwrap_or_default())
}

fn masked(status: &str) -> Mask {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    Mask(u64::from_str_radix(mask.trim(), 16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_off() {
        let mask = masked("SigBlk:\t0000000000000007\nSigIgn:\t0000000000000005\nSigCgt:\tffffffff\n");
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()];
        assert_eq!(kinds.map(|kind| mask.contains(kind)), [true, false, true]);
        assert_eq!(masked("Name:\tx\n"), Mask(0));
    }
}
