//! Writes messages to a server's stdin, with a time limit.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::error::{ConnectionEnd, EndCause};

/// Messages that may wait to be written.
pub(crate) const QUEUE: usize = 64;
/// Bytes from which on no more messages are joined to one write.
const BATCH: usize = 64 * 1024;
/// Limit for a server that reads nothing.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes queued messages until the queue is closed or the connection is over, then closes the pipe.
pub(crate) async fn write(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut pipe: impl AsyncWrite + Unpin,
    end: ConnectionEnd,
) {
    loop {
        let message = tokio::select! {
            () = end.over() => return,
            message = queue.recv() => message,
        };
        let Some(mut message) = message else { return };
        // One write for all messages that wait.
        while message.len() < BATCH
            && let Ok(next) = queue.try_recv()
        {
            message.extend(next);
        }
        let written = tokio::select! {
            () = end.over() => return,
            written = put(&message, &mut pipe) => written,
        };
        if let Err(cause) = written {
            end.set_cause(cause);
            return;
        }
    }
}

async fn put(message: &[u8], pipe: &mut (impl AsyncWrite + Unpin)) -> Result<(), EndCause> {
    let mut rest = message;
    while !rest.is_empty() {
        let written = bounded(pipe.write(rest)).await?;
        if written == 0 {
            return Err(EndCause::NotReading);
        }
        rest = rest.get(written..).unwrap_or_default();
    }
    bounded(pipe.flush()).await
}

async fn bounded<T>(work: impl Future<Output = std::io::Result<T>>) -> Result<T, EndCause> {
    match tokio::time::timeout(WRITE_TIMEOUT, work).await {
        Ok(Ok(done)) => Ok(done),
        // A broken pipe: the server has closed its input.
        Ok(Err(_)) => Err(EndCause::NotReading),
        Err(_) => Err(EndCause::GivenUp(format!(
            "the server read nothing from its standard input for {} s",
            WRITE_TIMEOUT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_reads_is_given_up() {
        let (pipe, _unread) = tokio::io::duplex(1024);
        let (send, queue) = mpsc::channel(QUEUE);
        let end = ConnectionEnd::default();
        send.send(vec![b'x'; 10_000_000]).await.unwrap();
        let begun = tokio::time::Instant::now();
        write(queue, pipe, end.clone()).await;
        assert_eq!(begun.elapsed().as_secs(), WRITE_TIMEOUT.as_secs());
        assert!(matches!(end.cause(), Some(EndCause::GivenUp(reason)) if reason.contains("for 10 s")));
    }

    #[tokio::test]
    async fn everything_is_written_in_order_and_the_pipe_closed() {
        let (pipe, mut other) = tokio::io::duplex(7);
        let (send, queue) = mpsc::channel(QUEUE);
        let task = tokio::spawn(write(queue, pipe, ConnectionEnd::default()));
        for word in ["one\n", "twenty-two\n", "three\n"] {
            send.send(word.into()).await.unwrap();
        }
        drop(send);
        let mut got = String::new();
        other.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "one\ntwenty-two\nthree\n");
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_closed_input_is_noticed() {
        let (pipe, other) = tokio::io::duplex(7);
        drop(other);
        let (send, queue) = mpsc::channel(QUEUE);
        let end = ConnectionEnd::default();
        send.send(b"one\n".to_vec()).await.unwrap();
        write(queue, pipe, end.clone()).await;
        assert_eq!(end.cause(), Some(EndCause::NotReading));
    }
}
