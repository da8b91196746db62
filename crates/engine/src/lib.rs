//! The conversation loop.
//!
//! ```text
//!            ┌──────────────── Conversation (pure): what is next? ───────────────┐
//!   step() ──┤ CallModel → exchange: nativize → Wire → decode → retry → Reply    │
//!            │ Decide    → roster.judge → rules → Approver → decisions           │
//!            │ Invoke    → roster.invoke, in parallel → results                  │
//!            │ Answer    → results that need no tool to run                      │
//!            └ Done      → how it ended                                          ┘
//! ```
//!
//! [`Conversation`] decides and awaits nothing; [`converse`] is the small driver that does what it says. Everything that
//! happens leaves as one stream of [`Event`]s; the sinks (journal first) have accepted an event before the state moves
//! on, so an invocation is on disk before it runs and a dropped future leaves a lawful transcript.
//!
//! What this crate refuses to know: configuration files, environment, terminals, HTTP clients.

mod conversation;
mod driver;
mod event;
mod exchange;
mod invocations;
mod limits;
mod ports;
mod retry;

pub use conversation::{Conversation, Ending, Step};
pub use driver::{Engine, EngineError, converse};
pub use event::{Event, Restart};
pub use exchange::{ExchangeError, Trouble, noted};
pub use limits::{Limit, Limits, Timeouts};
pub use ports::{Approver, ByteStream, Ports, Sink, SinkError, Wire, WireError, WireErrorKind};
pub use retry::RetryPolicy;
