//! The async runtime of a run.

use std::panic::catch_unwind;
use std::time::Duration;

use crate::failure::{Failure, Kind};

/// How long what is still done on threads of its own (a file that is written, a name that is resolved) may take to end.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Runs it to its end. A thread that is stuck is left behind: it never keeps the program.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(LAST_WORK);
    Ok(output)
}

/// One thread: cheaper everywhere that was measured; what is heavy has threads of its own.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    // It panics where the files that it hears signals by are not to be had, and for nothing else.
    let built =
        catch_unwind(build).unwrap_or_else(|_| Err(std::io::Error::other("too few files may be open")));
    built.map_err(|error| denied("runtime", &error))
}

/// What no run can be without (a thread, an open file) is not to be had.
pub fn denied(code: &'static str, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Output, code, format!("the system does not give what a run needs: {error}")).hint(
        "`ulimit -n` is how many files may be open, `ulimit -u` how many processes and threads there may be",
    )
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
}
