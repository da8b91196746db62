//! One client over standard input and output: one JSON message per line.
//!
//! The transport of the protocol library accepts lines of any length, ignores invalid lines and drops running calls when
//! the input ends. This transport limits lines and answers invalid ones. It does not read from a client that does not read
//! its answers, and it answers all requests that came before the end of the input.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio> (checked 2026-11)

mod decode;
mod pending;

use std::collections::VecDeque;
use std::time::Duration;

use converse_text::lines::{Lines, Next};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, ServiceExt as _};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;
use crate::message::RejectedMessage;
use decode::Decoder;
use pending::PendingRequests;

/// Maximum bytes of one line; MCP has no limit.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Limit on unanswered requests, beside the calls that run. At the limit, no more input is read. More calls than may wait
/// in the queue, so a tool that hangs does not stop the reading.
const MAX_OPEN: usize = 9 * 1024;
/// Time for answers to cancelled calls; tools have two seconds of grace.
const CANCEL_GRACE: Duration = Duration::from_secs(3);
/// Time for the client to read the answers after the last call ended.
const READ_GRACE: Duration = Duration::from_millis(500);
/// Time for cancelled calls to end after the transport has ended.
const END_GRACE: Duration = Duration::from_secs(1);

/// The input and output of a client. The other ends of the channels do blocking I/O on their own threads.
#[derive(Debug)]
pub struct Pipes {
    /// Chunks of input, cut at any byte; closed at the end of the input.
    pub input: mpsc::Receiver<Vec<u8>>,
    /// Complete lines; closed when the client does not read any more.
    pub output: mpsc::Sender<Vec<u8>>,
}

/// Why serving a client failed.
#[derive(Debug, thiserror::Error)]
#[error("the client could not be served: {0}")]
pub struct StdioError(String);

/// Serves one client until its input ends or `stop` is cancelled. Then running calls may continue for `drain`, or until
/// `stop` is cancelled after the end of the input, or until the output is closed. Returns at most five seconds after that.
///
/// # Errors
///
/// Fails if the protocol library cannot serve the client.
pub async fn serve_stdio(
    gateway: &Gateway,
    pipes: Pipes,
    stop: CancellationToken,
    drain: Duration,
) -> Result<(), StdioError> {
    let transport = Stdio::new(gateway.clone(), pipes, stop, drain);
    let over = transport.over.clone();
    let left = async {
        over.cancelled().await;
        tokio::time::sleep(END_GRACE).await;
    };
    match gateway.for_client().serve(transport).await {
        Ok(service) => tokio::select! {
            ended = service.waiting() => match ended {
                Ok(_) => Ok(()),
                Err(error) => Err(StdioError(error.to_string())),
            },
            () = left => Ok(()),
        },
        // The client sent no request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(StdioError(error.to_string())),
    }
}

struct Stdio {
    gateway: Gateway,
    input: mpsc::Receiver<Vec<u8>>,
    output: mpsc::Sender<Vec<u8>>,
    stop: CancellationToken,
    drain: Duration,
    state: State,
    lines: Lines,
    decoder: Decoder,
    ready: VecDeque<ClientJsonRpcMessage>,
    /// Error answers to invalid lines.
    replies: VecDeque<Vec<u8>>,
    open: PendingRequests,
    max_open: usize,
    /// Cancelled when no more messages are received.
    over: CancellationToken,
    /// Cancelled when the client does not read its answers.
    unread: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Reading,
    /// No more input is read, and running calls may end. `ended`: the input has ended.
    Draining {
        until: Instant,
        ended: bool,
    },
    /// Running calls are cancelled.
    Cancelling {
        until: Instant,
    },
    Over,
}

/// An answer was not sent, because the client does not read.
#[derive(Debug, thiserror::Error)]
#[error("the client does not read the answers")]
struct NotSent;

impl Stdio {
    fn new(gateway: Gateway, pipes: Pipes, stop: CancellationToken, drain: Duration) -> Self {
        let Pipes { input, output } = pipes;
        let max_open = gateway.max_calls().saturating_add(MAX_OPEN);
        Self {
            gateway,
            input,
            output,
            stop,
            drain,
            state: State::Reading,
            lines: Lines::new(MAX_LINE),
            decoder: Decoder::default(),
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            open: PendingRequests::default(),
            max_open,
            over: CancellationToken::new(),
            unread: CancellationToken::new(),
        }
    }

    /// Runs one step. It is cancel-safe.
    async fn step(&mut self) {
        match self.state {
            State::Reading => self.read().await,
            State::Draining { until, ended } => {
                let cancel = tokio::select! {
                    biased;
                    () = self.open.below(1) => false,
                    () = self.output.closed() => true,
                    () = self.stop.cancelled(), if ended => true,
                    () = sleep_until(until) => true,
                };
                self.state = State::Over;
                // Nobody can ask for the results of tasks any more.
                if cancel || self.gateway.has_tasks() {
                    self.gateway.cancel_calls();
                    self.state = State::Cancelling { until: Instant::now() + CANCEL_GRACE };
                }
            }
            State::Cancelling { until } => {
                let ended = async {
                    self.gateway.idle().await;
                    tokio::time::sleep(READ_GRACE).await;
                };
                // The call of a task has no open request.
                let answered = async {
                    self.open.below(1).await;
                    self.gateway.idle().await;
                };
                tokio::select! {
                    () = answered => {}
                    () = ended => self.unread.cancel(),
                    () = sleep_until(until) => self.unread.cancel(),
                }
                self.state = State::Over;
            }
            State::Over => {}
        }
    }

    async fn read(&mut self) {
        if let Some(reply) = self.replies.front() {
            tokio::select! {
                biased;
                place = self.output.reserve() => if let Ok(place) = place {
                    place.send(reply.clone());
                },
                () = self.stop.cancelled() => {}
            }
            self.replies.pop_front();
            return;
        }
        match self.lines.next() {
            Next::Line(line) => {
                let refusal = self.decoder.decode(line, &mut self.ready);
                self.reply(refusal);
            }
            Next::TooLong => {
                let limit = MAX_LINE / 1024 / 1024;
                let text = format!("the line has more than {limit} MiB");
                self.reply(Some(ErrorData::invalid_request(text, None).into()));
            }
            Next::More => self.more().await,
        }
    }

    async fn more(&mut self) {
        let chunk = tokio::select! {
            biased;
            () = self.stop.cancelled() => return self.end(self.input.is_closed()),
            () = self.output.closed() => return self.end(true),
            chunk = async {
                self.open.below(self.max_open).await;
                self.input.recv().await
            } => chunk,
        };
        match chunk {
            Some(chunk) => self.lines.push(&chunk),
            None => {
                // The last line counts even without a line end.
                let refusal = self.decoder.decode(self.lines.rest(), &mut self.ready);
                self.reply(refusal);
                self.end(true);
            }
        }
    }

    fn end(&mut self, ended: bool) {
        self.gateway.stop_asking();
        self.state = State::Draining { until: Instant::now() + self.drain, ended };
    }

    fn reply(&mut self, refusal: Option<RejectedMessage>) {
        let Some(RejectedMessage { id, error }) = refusal else { return };
        let message: ServerJsonRpcMessage = JsonRpcMessage::error(*error, id);
        self.replies.extend(json_line(&message));
    }
}

fn json_line(message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message).ok()?;
    line.push(b'\n');
    Some(line)
}

impl Transport<RoleServer> for Stdio {
    type Error = NotSent;

    fn name() -> std::borrow::Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), NotSent>> + Send + 'static {
        let (output, open, unread) = (self.output.clone(), self.open.clone(), self.unread.clone());
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let sent = match json_line(&message) {
                Some(line) => match unread.run_until_cancelled(output.send(line)).await {
                    Some(Ok(())) => Ok(()),
                    _ => Err(NotSent),
                },
                None => Err(NotSent),
            };
            if let Some(id) = answered {
                open.answered(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.open.received(&message);
                return Some(message);
            }
            if let State::Over = self.state {
                self.gateway.close();
                self.over.cancel();
                return None;
            }
            self.step().await;
        }
    }

    async fn close(&mut self) -> Result<(), NotSent> {
        self.gateway.close();
        Ok(())
    }
}
