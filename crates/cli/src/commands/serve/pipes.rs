//! Standard input and output on their own threads: blocking I/O delays neither calls nor the end of the program.

use std::io::{ErrorKind, Read as _, Write as _, stdin, stdout};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_gateway::Pipes;
use tokio::sync::{mpsc, oneshot};

use converse_host::failure::Failure;
use converse_terminal::poll_io::PollIo;
use converse_terminal::render::output::classify;

const CHUNK: usize = 64 * 1024;
/// The number of waiting chunks, and of waiting lines.
const QUEUE: usize = 16;
/// The time for a client to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Resolves when the last line is written.
pub(super) struct Written {
    over: oneshot::Receiver<()>,
    fault: Fault,
}

/// Why reading or writing failed; the first failure counts.
type Fault = Arc<OnceLock<Failure>>;

impl Written {
    pub(super) async fn wait(self) -> Result<(), Failure> {
        let _ = tokio::time::timeout(LAST_LINES, self.over).await;
        self.fault.get().cloned().map_or(Ok(()), Err)
    }
}

pub(super) fn begin() -> Result<(Pipes, Written), Failure> {
    let (chunks, input) = mpsc::channel(QUEUE);
    let (output, lines) = mpsc::channel(QUEUE);
    let (done, written) = oneshot::channel();
    let fault = Fault::default();
    let (unread, unwritten) = (Arc::clone(&fault), Arc::clone(&fault));
    started("stdin", move || read(&chunks, &unread))?;
    started("stdout", move || {
        write(lines, &unwritten);
        let _ = done.send(());
    })?;
    Ok((Pipes { input, output }, Written { over: written, fault }))
}

fn started(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop).map_err(|error| converse_host::runtime::denied("threads", &error))
}

/// Reads until the input ends or the receiver is dropped.
fn read(chunks: &mpsc::Sender<Vec<u8>>, fault: &Fault) {
    let mut stdin = PollIo(stdin().lock());
    let mut chunk = vec![0; CHUNK];
    loop {
        match stdin.read(&mut chunk) {
            Ok(0) => return,
            Ok(bytes) => {
                let read = chunk.get(..bytes).unwrap_or_default().to_vec();
                if chunks.blocking_send(read).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The client left with unread output.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => {
                let _ = fault.set(Failure::usage("stdin", format!("stdin cannot be read: {error}")));
                return;
            }
        }
    }
}

/// Writes until the channel is closed or stdout cannot be written.
fn write(mut lines: mpsc::Receiver<Vec<u8>>, fault: &Fault) {
    let mut stdout = PollIo(stdout().lock());
    while let Some(mut line) = lines.blocking_recv() {
        // One write for all lines that wait.
        while line.len() < CHUNK
            && let Ok(next) = lines.try_recv()
        {
            line.extend(next);
        }
        if let Err(error) = stdout.write_all(&line) {
            let _ = fault.set(classify(error).into());
            return;
        }
    }
}
