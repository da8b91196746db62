//! Standard input and output on threads of their own: what blocks there keeps neither a call nor the end of the program.

use std::io::{ErrorKind, Read as _, Write as _, stdin, stdout};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_server::Pipes;
use tokio::sync::{mpsc, oneshot};

use converse_host::failure::Failure;
use converse_terminal::poll_io::Patient;
use converse_terminal::render::output::classify;

const CHUNK: usize = 64 * 1024;
/// Chunks and lines that may wait.
const QUEUE: usize = 16;
/// What a client may take to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Resolves when the last line is written.
pub(super) struct Written {
    over: oneshot::Receiver<()>,
    fault: Fault,
}

/// Why one of the two ended before its time, the first one of them.
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
    let (told, written) = oneshot::channel();
    let fault = Fault::default();
    let (unread, unwritten) = (Arc::clone(&fault), Arc::clone(&fault));
    started("stdin", move || read(&chunks, &unread))?;
    started("stdout", move || {
        write(lines, &unwritten);
        let _ = told.send(());
    })?;
    Ok((Pipes { input, output }, Written { over: written, fault }))
}

fn started(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop).map_err(|error| converse_host::runtime::denied("threads", &error))
}

/// Until the input ends or nobody wants it.
fn read(chunks: &mpsc::Sender<Vec<u8>>, fault: &Fault) {
    let mut stdin = Patient(stdin().lock());
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
            // A client that has gone with something unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => {
                let _ = fault.set(Failure::usage("stdin", format!("stdin cannot be read: {error}")));
                return;
            }
        }
    }
}

/// Until there is nothing more to write or nobody reads it.
fn write(mut lines: mpsc::Receiver<Vec<u8>>, fault: &Fault) {
    let mut stdout = Patient(stdout().lock());
    while let Some(line) = lines.blocking_recv() {
        if let Err(error) = stdout.write_all(&line) {
            let _ = fault.set(classify(error).into());
            return;
        }
    }
}
