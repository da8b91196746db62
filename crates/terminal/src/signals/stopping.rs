//! SIGTSTP, for a program that draws: while it is stopped the terminal is as it was found, and then all is drawn anew.
//!
//! Ctrl-Z at the prompt is a key of the line editor, which then sends the signal; in the middle of a turn others send it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use converse_host::runtime::runtime;
use converse_process::has_shell;
use rustix::process::{Signal as Number, getpid, kill_current_process_group, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::{Hooks, next_of};
use crate::view::release_question;

/// A program that was asked to stop has stopped after this time, or never will.
const STOPS_WITHIN: Duration = Duration::from_secs(2);
/// Time limit for the drawing code to leave the screen; on a blocked terminal it never does.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// Whether the signal is heard.
static HEARD: AtomicBool = AtomicBool::new(false);

/// From now on the signal is heard and does nothing by itself.
pub(super) fn hear() -> Option<Signal> {
    HEARD.store(true, Ordering::SeqCst);
    signal(SignalKind::from_raw(Number::TSTP.as_raw())).ok()
}

/// From now on the terminal is as it was found while the program is stopped, also where nothing else hears the signal. For
/// a question that is answered by keys.
pub(crate) fn stops_restored() {
    let is_ignored = || super::ignored().contains(SignalKind::from_raw(Number::TSTP.as_raw()));
    if HEARD.load(Ordering::SeqCst) || is_ignored() || HEARD.swap(true, Ordering::SeqCst) {
        return;
    }
    let Ok(runtime) = runtime() else { return };
    // Without a thread the signal does what it did.
    let _ = std::thread::Builder::new().name("stops".to_owned()).spawn(move || {
        runtime.block_on(async {
            let Some(mut stop) = hear() else { return };
            while stop.recv().await.is_some() {
                stops(&Hooks::default()).await;
            }
        });
    });
}

/// Does what Ctrl-Z does in a terminal that gives lines. `goes_on` hears when the program continues.
pub(crate) async fn suspends(goes_on: &mut Option<Signal>) {
    if kill_current_process_group(Number::TSTP).is_ok() {
        let _ = timeout(STOPS_WITHIN, next_of(goes_on)).await;
    }
}

/// Stops the program; is over when that goes on.
pub(super) async fn stops(hooks: &Hooks) {
    if !has_shell() {
        return;
    }
    let Ok(mut goes_on) = signal(SignalKind::from_raw(Number::CONT.as_raw())) else { return };
    let reads = hooks.reads.lock().clone();
    let unread = reads.and_then(|reads| reads.ask(LEAVES_WITHIN));
    release_question();
    let away = aside(hooks);
    if kill_process(getpid(), Number::STOP).is_ok() {
        // Another thread may take it, and this one stops a moment later.
        let _ = timeout(STOPS_WITHIN, goes_on.recv()).await;
    }
    drop(away);
    drop(unread);
}

/// Makes the drawing code leave the screen, and return when the result is dropped. Runs on its own thread with a time
/// limit, because the terminal may be blocked.
fn aside(hooks: &Hooks) -> Option<Sender<()>> {
    let draws = hooks.draws.lock().as_ref()?.upgrade()?;
    let (left, has_left) = channel();
    let (held, until) = channel();
    let thread = std::thread::Builder::new();
    let begun = thread.spawn(move || {
        draws.leave();
        draws.restore_title();
        let _ = left.send(());
        // Only ever ends by an error: the other end is gone.
        let _: Result<(), _> = until.recv();
        draws.set_title();
        draws.come_back(false);
    });
    begun.ok()?;
    let _ = has_left.recv_timeout(LEAVES_WITHIN);
    Some(held)
}
