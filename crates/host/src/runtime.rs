//! The async runtime of a run.

use std::panic::catch_unwind;
use std::pin::pin;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::failure::{Failure, Kind};

/// Limit for work on other threads (writing a file, resolving a name) at the end of a run.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Runs a future to its end. A stuck thread is abandoned, so that it never blocks the exit.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime()?;
    // A future of a run is large. The runtime would move it twice.
    let output = runtime.block_on(pin!(future));
    runtime.shutdown_timeout(LAST_WORK);
    Ok(output)
}

/// Creates a runtime with one thread, which is cheaper everywhere it was measured. Heavy work has threads of its own.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Tokio panics if it cannot open its files for signals, and for no other reason.
    let built = catch_unwind(build)
        .unwrap_or_else(|_| Err(std::io::Error::other("the limit on open files is too low")));
    built.map_err(|error| denied("runtime", &error))
}

/// A runtime on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct SideRuntime {
    handle: Handle,
    _running: oneshot::Sender<()>,
}

impl SideRuntime {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system lacks threads or open files.
    pub fn start(name: &str) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let handle = runtime.handle().clone();
        let (running, dropped) = oneshot::channel();
        let run = move || {
            let _ = runtime.block_on(dropped);
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|error| denied("runtime", &error))?;
        Ok(Self { handle, _running: running })
    }

    /// Starts tasks on it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// The failure of a run that cannot get a thread or open a file.
pub fn denied(code: &'static str, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Output, code, format!("the system lacks a resource that the run needs: {error}"))
        .hint("`ulimit -n` limits open files, `ulimit -u` processes and threads")
}

/// Stack of the first thread that every system offers by default, and the least with which a run is tried.
const STACK: u64 = 8 * 1024 * 1024;
const LEAST_STACK: u64 = 2 * 1024 * 1024;

/// Raises the limit on the stack of the first thread, which the kernel reads whenever the stack grows. A stack overflow
/// cannot be handled: it ends the program with a signal.
///
/// # Errors
///
/// The hard limit is too low.
pub fn grow_stack() -> Result<(), Failure> {
    let Rlimit { current, maximum } = getrlimit(Resource::Stack);
    if current.is_none_or(|now| now >= STACK) {
        return Ok(());
    }
    let wanted = maximum.map_or(STACK, |most| most.min(STACK));
    // If it cannot be raised, what there is decides.
    let raised = setrlimit(Resource::Stack, Rlimit { current: Some(wanted), maximum }).is_ok();
    let stack = if raised { wanted } else { current.unwrap_or(STACK) };
    if stack >= LEAST_STACK {
        return Ok(());
    }
    let message = format!(
        "the stack is limited to {} KiB; a run needs at least {} KiB",
        stack / 1024,
        LEAST_STACK / 1024
    );
    Err(Failure::new(Kind::Output, "runtime", message).hint("raise the limit: `ulimit -s 8192`"))
}

#[cfg(test)]
mod tests {
    use converse_testkit::hang_guard;

    use super::*;

    #[test]
    fn a_thread_that_is_stuck_does_not_keep_the_program() {
        let (release, stuck) = std::sync::mpsc::channel::<()>();
        let answer = hang_guard::run("a run with a thread that is stuck", || {
            block_on(async {
                tokio::task::spawn_blocking(move || stuck.recv());
                "answer"
            })
        });
        assert_eq!(answer.ok(), Some("answer"));
        drop(release);
    }

    #[test]
    fn work_beside_a_run_goes_on_while_the_run_is_busy() {
        let ends = hang_guard::run("a run with a runtime beside it", || {
            let side = SideRuntime::start("beside").map_err(|failure| failure.message)?;
            let (goes_on, waits) = std::sync::mpsc::channel();
            let task = side.handle().spawn(async move { goes_on.send(()) });
            // Nothing else runs on this thread.
            waits.recv().map_err(|error| error.to_string())?;
            let lives = side.handle().spawn(std::future::pending::<()>());
            drop(side);
            block_on(async { (task.await.is_ok(), lives.await.is_err_and(|error| error.is_cancelled())) })
                .map_err(|failure| failure.message)
        });
        assert_eq!(ends, Ok((true, true)), "the task ran, and what still ran at the end was cancelled");
    }
}
