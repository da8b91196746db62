//! Living with a program until it has ended.
//!
//! Four things go on at once: it is given its input by a task of its own (one that never reads must not keep us from
//! reading), its output is read up to a bound, its last line is told, and we look whether it has ended or must end.

use std::process::ExitStatus;
use std::time::Duration;

use converse_process::sandbox::Limits;
use converse_process::{Child, GroupCounter};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::outcome::{End, Ended, answer};
use super::telling::{LastLine, tell};
use crate::{Answer, Context, InvokeError};

/// The most that is kept of stdout; a program that writes more is ended.
const MAX_STDOUT: usize = 16 * 1024 * 1024;
/// Between the steps of ending it, within the grace of the pipeline.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long its output is awaited after its own end: what it left running may hold the pipe for ever.
const LEFTOVER: Duration = Duration::from_millis(500);
/// How often a program in a sandbox is counted.
const COUNT: Duration = Duration::from_millis(100);

/// `most`: how many processes and threads it may become.
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
        never = tell(&context.host, &last_line, &stderr) => match never {},
    };
    drop(writer);
    let Some(end) = end else {
        child.end(PATIENCE).await;
        return Err(InvokeError::Interrupted("it was stopped before it had ended".to_owned()));
    };
    // The kernel kills a group as one: nobody of it can start another meanwhile.
    if stdout.flooded || matches!(end, Ok(End::Crowded(_))) {
        child.kill();
        // For its last words.
        let _ = timeout(PATIENCE, child.wait()).await;
    }
    // Its group may have outlived it.
    child.end(PATIENCE).await;
    let end = match end {
        _ if stdout.flooded => End::Flooded,
        Ok(end) => end,
        Err(error) => return Err(InvokeError::Interrupted(format!("its end was not seen: {error}"))),
    };
    Ok(answer(&Ended { end, stdout: stdout.kept, stderr: stderr.last_words() }))
}

/// Until it has ended and its output is read, or it has written too much.
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

/// Resolves when it is more than it may be.
async fn too_many_processes(counter: GroupCounter, most: Option<Limits>) -> End {
    let Some(most) = most else { return std::future::pending().await };
    loop {
        sleep(COUNT).await;
        let size = counter.count();
        if size.processes > most.processes || size.threads > most.threads {
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
    /// To the end or the bound. May be dropped and called again: nothing that was read is lost.
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
                Ok(_) => self.last_line.hears(&self.kept),
            }
        }
    }
}

/// A program need not read all it is given: a broken pipe is its own affair.
async fn feed(mut pipe: ChildStdin, text: String) {
    let _ = pipe.write_all(text.as_bytes()).await;
    let _ = pipe.shutdown().await;
}
