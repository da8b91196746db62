//! What is sent to a server's stdin: one message after the other, and none of them for ever.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::end::{ConnectionEnd, EndCause};

/// Messages that may wait to be written.
pub(crate) const QUEUE: usize = 64;
/// How long a server may take to read anything at all of what waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Writes what comes until nobody can send any more or the connection is over. The pipe is closed then.
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
        let Some(message) = message else { return };
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
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(done)) => Ok(done),
        // A broken pipe: the server does not read any more.
        Ok(Err(_)) => Err(EndCause::NotReading),
        Err(_) => Err(EndCause::GivenUp(format!(
            "the server has read nothing of what was sent to it for {} s",
            PATIENCE.as_secs()
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
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.as_secs());
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
    async fn a_server_that_closed_its_ear_is_noticed() {
        let (pipe, other) = tokio::io::duplex(7);
        drop(other);
        let (send, queue) = mpsc::channel(QUEUE);
        let end = ConnectionEnd::default();
        send.send(b"one\n".to_vec()).await.unwrap();
        write(queue, pipe, end.clone()).await;
        assert_eq!(end.cause(), Some(EndCause::NotReading));
    }
}
