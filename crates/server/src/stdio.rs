//! One client over standard input and output: one JSON message per line.
//!
//! Instead of the library's own transport, which takes lines of any length, drops what it cannot read without a word,
//! and forgets calls that run when the input ends. Here a line has a limit, nonsense is answered, a client that does not
//! read its answers is not read either, and whatever was asked before the end of the input is answered after it.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio> (checked 2026-11)

mod decode;
mod open;

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
use crate::message::Refused;
use decode::Decoder;
use open::Open;

/// Bytes of one line; MCP itself sets no limit.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Requests that may be unanswered, at least; more are not read.
const MAX_OPEN: usize = 1024;
/// What cancelled calls may take to be answered: tools have two seconds of grace.
const CUTTING: Duration = Duration::from_secs(3);
/// What a client may take to read the answers once no call runs any more.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// What is left may take to end once nothing more is heard: answers nobody waits for, calls that were taken back.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The two ends of a client. Whoever reads and writes for us blocks on threads of its own.
#[derive(Debug)]
pub struct Pipes {
    /// Bytes as they come, cut anywhere; closed at the end of the input.
    pub input: mpsc::Receiver<Vec<u8>>,
    /// Whole lines; closed when nobody reads them.
    pub output: mpsc::Sender<Vec<u8>>,
}

/// Why a client could not be served to its end.
#[derive(Debug, thiserror::Error)]
#[error("the client could not be served: {0}")]
pub struct StdioError(String);

/// Serves one client until its input ends or `stop` says so. Calls that run then may go on for `drain`; a `stop` after
/// the end of the input, or an output that nobody reads, cuts that short. At the latest `drain` and five seconds after
/// it was to end it has, whatever the client does.
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
        tokio::time::sleep(LAST_CALLS).await;
    };
    match gateway.for_client().serve(transport).await {
        Ok(service) => tokio::select! {
            ended = service.waiting() => match ended {
                Ok(_) => Ok(()),
                Err(error) => Err(StdioError(error.to_string())),
            },
            () = left => Ok(()),
        },
        // It has asked for nothing.
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
    /// Our own answers to what was no request.
    replies: VecDeque<Vec<u8>>,
    open: Open,
    max_open: usize,
    /// Nothing more is heard.
    over: CancellationToken,
    /// Nor said: nobody reads.
    stuck: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Reading,
    /// Nothing more is read; what runs may end. `ended`: the input has.
    Draining {
        until: Instant,
        ended: bool,
    },
    /// What runs was told to stop.
    Cutting {
        until: Instant,
    },
    Over,
}

/// An answer was not sent: nobody reads any more.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the answers")]
struct NotSent;

impl Stdio {
    fn new(gateway: Gateway, pipes: Pipes, stop: CancellationToken, drain: Duration) -> Self {
        let Pipes { input, output } = pipes;
        let max_open = MAX_OPEN.max(gateway.max_calls().saturating_mul(2));
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
            open: Open::default(),
            max_open,
            over: CancellationToken::new(),
            stuck: CancellationToken::new(),
        }
    }

    /// One step; losing the future loses nothing.
    async fn step(&mut self) {
        match self.state {
            State::Reading => self.read().await,
            State::Draining { until, ended } => {
                let cut = tokio::select! {
                    biased;
                    () = self.open.below(1) => false,
                    () = self.output.closed() => true,
                    () = self.stop.cancelled(), if ended => true,
                    () = sleep_until(until) => true,
                };
                self.state = State::Over;
                if cut {
                    self.gateway.cut();
                    self.state = State::Cutting { until: Instant::now() + CUTTING };
                }
            }
            State::Cutting { until } => {
                let unread = async {
                    self.gateway.idle().await;
                    tokio::time::sleep(LAST_ANSWERS).await;
                };
                tokio::select! {
                    () = self.open.below(1) => {}
                    () = unread => self.stuck.cancel(),
                    () = sleep_until(until) => self.stuck.cancel(),
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
                let text = format!("a line of more than {limit} MiB is not read");
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
                // A request whose line was never ended still counts.
                let refusal = self.decoder.decode(self.lines.rest(), &mut self.ready);
                self.reply(refusal);
                self.end(true);
            }
        }
    }

    fn end(&mut self, ended: bool) {
        self.state = State::Draining { until: Instant::now() + self.drain, ended };
    }

    fn reply(&mut self, refusal: Option<Refused>) {
        let Some(Refused { id, error }) = refusal else { return };
        let message: ServerJsonRpcMessage = JsonRpcMessage::error(*error, id);
        self.replies.extend(line(&message));
    }
}

fn line(message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
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
        let (output, open, stuck) = (self.output.clone(), self.open.clone(), self.stuck.clone());
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let sent = match line(&message) {
                Some(line) => match stuck.run_until_cancelled(output.send(line)).await {
                    Some(Ok(())) => Ok(()),
                    _ => Err(NotSent),
                },
                None => Err(NotSent),
            };
            if let Some(id) = answered {
                open.close(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.open.heard(&message);
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
