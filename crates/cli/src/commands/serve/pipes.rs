//! Standard input and output on threads of their own: what blocks there keeps neither a call nor the end of the program.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use converse_gateway::Pipes;
use tokio::sync::{mpsc, oneshot};

use crate::failure::{Failure, Kind};

const CHUNK: usize = 64 * 1024;
/// Chunks and lines that may wait.
const QUEUE: usize = 16;
/// What a client may take to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Resolves when the last line is written.
pub(super) struct Written(oneshot::Receiver<()>);

impl Written {
    pub(super) async fn wait(self) {
        let _ = tokio::time::timeout(LAST_LINES, self.0).await;
    }
}

pub(super) fn begin() -> Result<(Pipes, Written), Failure> {
    let (chunks, input) = mpsc::channel(QUEUE);
    let (output, lines) = mpsc::channel(QUEUE);
    let (told, written) = oneshot::channel();
    started("stdin", move || read(&chunks))?;
    started("stdout", move || {
        write(lines);
        let _ = told.send(());
    })?;
    Ok((Pipes { input, output }, Written(written)))
}

fn started(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(Kind::Internal, "threads", error.to_string());
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(failed)
}

/// Until the input ends or nobody wants it.
fn read(chunks: &mpsc::Sender<Vec<u8>>) {
    let mut stdin = std::io::stdin().lock();
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
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Until there is nothing more to write or nobody reads it.
fn write(mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut stdout = std::io::stdout().lock();
    while let Some(line) = lines.blocking_recv() {
        if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}
