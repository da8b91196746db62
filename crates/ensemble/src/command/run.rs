//! Runs a program to its end.
//!
//! Four things happen at once: a task writes the input (a program that never reads must not keep us from reading), the
//! output is read up to a limit, the last line is reported as progress, and the end of the program is awaited or caused.

use std::process::ExitStatus;
use std::time::Duration;

use converse_process::sandbox::Limits;
use converse_process::{Child, GroupCounter, GroupSize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::outcome::{End, Ended, answer};
use super::progress_lines::{LastLine, report_lines};
use crate::{Answer, Context, InvokeError};

/// Bytes of stdout that are kept. A program that writes more is ended.
const MAX_STDOUT: usize = 16 * 1024 * 1024;
/// Time between the steps of ending a program, within the grace period of the pipeline.
const GRACE: Duration = Duration::from_millis(400);
/// How long the output is awaited after the end of the program: processes that it left running may hold the pipe.
const LEFTOVER: Duration = Duration::from_millis(500);
/// How often a program in a sandbox is counted. A fork bomb that has taken the processors leaves no time to count it, so
/// it must be found while it is small.
const COUNT: Duration = Duration::from_millis(25);

/// Runs the program and returns its answer. `most` limits its processes and threads.
pub(super) async fn run(
    mut child: Child,
    stdin: Option<String>,
    most: Option<Limits>,
    context: &Context,
) -> Result<Answer, InvokeError> {
    let stderr = child.stderr();
    let writer = child
        .stdin
        .take()
        .zip(stdin)
        .map(|(pipe, text)| AbortOnDropHandle::new(tokio::spawn(feed(pipe, text))));
    let last_line = LastLine::default();
    let pipe = child.stdout.take();
    let mut stdout = Output { pipe, kept: Vec::new(), flooded: false, last_line: &last_line };
    let counter = child.counter();
    let end = tokio::select! {
        biased;
        end = to_its_end(&mut child, &mut stdout) => Some(end.map(End::Exit)),
        () = context.cancel.cancelled() => None,
        end = too_many_processes(counter, most) => Some(Ok(end)),
        never = report_lines(&context.host, &last_line, &stderr) => match never {},
    };
    drop(writer);
    let Some(end) = end else {
        child.end(GRACE).await;
        return Err(InvokeError::Interrupted("it was stopped before it had ended".to_owned()));
    };
    // The kernel kills a group at once, so none of its processes can start another one meanwhile.
    if stdout.flooded || matches!(end, Ok(End::Crowded(_))) {
        child.kill();
        // For its last words.
        let _ = timeout(GRACE, child.wait()).await;
    }
    // Its group may have outlived it.
    child.end(GRACE).await;
    let end = match end {
        _ if stdout.flooded => End::Flooded,
        Ok(end) => end,
        Err(error) => return Err(InvokeError::Interrupted(format!("its end was not seen: {error}"))),
    };
    Ok(answer(&Ended { end, stdout: stdout.kept, stderr: stderr.last_words() }))
}

/// Waits until the program has ended and its output is read, or until it has written too much.
async fn to_its_end(child: &mut Child, stdout: &mut Output<'_>) -> std::io::Result<ExitStatus> {
    let early = tokio::select! {
        () = stdout.read() => None,
        status = child.wait() => Some(status),
    };
    match early {
        Some(status) => {
            // What it wrote is in the pipe already; what it started may have a last word.
            let _ = timeout(LEFTOVER, stdout.read()).await;
            status
        }
        None if stdout.flooded => Ok(ExitStatus::default()),
        None => child.wait().await,
    }
}

/// Resolves when there are more processes or threads than allowed.
async fn too_many_processes(mut counter: GroupCounter, most: Option<Limits>) -> End {
    let Some(most) = most else { return std::future::pending().await };
    loop {
        sleep(COUNT).await;
        if counter.exceeds(GroupSize { processes: most.processes, threads: most.threads }) {
            return End::Crowded(most);
        }
    }
}

struct Output<'l> {
    pipe: Option<ChildStdout>,
    kept: Vec<u8>,
    flooded: bool,
    last_line: &'l LastLine,
}

impl Output<'_> {
    /// Reads to the end or the limit. May be dropped and called again: nothing that was read is lost.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        loop {
            let mut room = (&mut *pipe).take((MAX_STDOUT + 1 - self.kept.len()) as u64);
            match room.read_buf(&mut self.kept).await {
                Ok(0) | Err(_) => return,
                Ok(_) if self.kept.len() > MAX_STDOUT => {
                    self.kept.truncate(MAX_STDOUT);
                    self.flooded = true;
                    return;
                }
                Ok(_) => self.last_line.update(&self.kept),
            }
        }
    }
}

/// Writes the input. A program need not read all of it, so a broken pipe is not an error.
async fn feed(mut pipe: ChildStdin, text: String) {
    let _ = pipe.write_all(text.as_bytes()).await;
    let _ = pipe.shutdown().await;
}
