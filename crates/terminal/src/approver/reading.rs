//! Lines from the terminal.

use std::io::Write as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::signals::next_of;
use converse_editor::without_reports;

/// How long a question reads on after it was withdrawn.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const MAX_LINE: usize = 64 * 1024;
/// A signal that came before a line may be heard so long after it: another thread takes it.
const ON_ITS_WAY: Duration = Duration::from_millis(60);

/// Reads one line on its own thread: a cancelled run does not wait for it, and a withdrawn question takes no line from
/// the next one.
///
/// If the program was stopped and continues, it asks again: the shell had the terminal meanwhile, and a "yes" must
/// refer to what is on the screen.
pub(crate) async fn read_answer(question: String) -> Option<String> {
    let mut goes_on = continued();
    loop {
        let answer = ask(question.clone());
        tokio::select! {
            biased;
            () = next_of(&mut goes_on) => {}
            line = answer => {
                if !is_continued(&mut goes_on).await {
                    return line.ok().flatten();
                }
            }
        }
    }
}

/// The signals that the program continues after it was stopped.
pub(super) fn continued() -> Option<Signal> {
    signal(SignalKind::from_raw(Number::CONT.as_raw())).ok()
}

/// Returns whether the program was stopped before what was read last.
pub(super) async fn is_continued(goes_on: &mut Option<Signal>) -> bool {
    timeout(ON_ITS_WAY, next_of(goes_on)).await.is_ok()
}

/// Asks on a thread. Dropping the receiver withdraws the question.
fn ask(question: String) -> oneshot::Receiver<Option<String>> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut stderr = std::io::stderr().lock();
        // Input from before the question is not an answer.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let asked = stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush());
        drop(stderr);
        let line = asked.ok().and_then(|()| line(&sender));
        let _ = sender.send(line);
    });
    receiver
}

/// A terminal gives whole lines. Nothing is read ahead.
fn line(sender: &oneshot::Sender<Option<String>>) -> Option<String> {
    let (stdin, mut line) = (std::io::stdin(), Vec::new());
    while !line.ends_with(b"\n") {
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let ready = match poll(&mut waits, Some(&LOOK)) {
            Err(rustix::io::Errno::INTR) => 0,
            ready => ready.ok()?,
        };
        if sender.is_closed() {
            return None;
        }
        let mut bytes = [0; 4096];
        if ready > 0 {
            let read = rustix::io::read(&stdin, &mut bytes).ok().filter(|read| *read > 0)?;
            line.extend_from_slice(bytes.get(..read)?);
        }
        if line.len() > MAX_LINE {
            return None;
        }
    }
    Some(without_reports(&String::from_utf8_lossy(&line)))
}
