//! The conversation loop: it asks the model, runs the approved tools, and repeats until the model answers.
//!
//! ```
//! use converse_canister::{Canister, Transcript, User};
//! use converse_engine::{Conversation, Limits, Step};
//!
//! let mut transcript = Transcript::new();
//! transcript.push(Canister::User(User::text("What is 15% of 2500?")))?;
//! let conversation = Conversation::resume(transcript, Limits::default());
//! // The state machine says what must happen next, and does not wait for it.
//! assert_eq!(conversation.step(), Step::CallModel);
//! # Ok::<(), converse_canister::TranscriptError>(())
//! ```
//!
//! ```text
//!            ┌──────────────── Conversation (pure): what is next? ───────────────┐
//!   step() ──┤ CallModel → exchange: nativize → Wire → decode → retry → Reply    │
//!            │ Decide    → roster.judge → rules → Approver → decisions           │
//!            │ Invoke    → roster.invoke, in parallel → results                  │
//!            │ Answer    → results that need no tool to run                      │
//!            │ Check     → are the last words what was asked for?                │
//!            └ Done      → how it ended                                          ┘
//! ```
//!
//! [`Conversation`] decides and awaits nothing; [`converse`] is the small driver that carries the decisions out. Everything that
//! happens leaves as one stream of [`Event`]s; the sinks (journal first) have accepted an event before the state moves
//! on, so an invocation is on disk before it runs and a dropped future leaves a lawful transcript.
//!
//! This crate does not know configuration files, the environment, terminals or HTTP clients.

mod answer;
mod bill;
mod call_span;
mod context;
mod conversation;
mod driver;
mod engine;
mod event;
mod exchange;
mod exchange_error;
mod invocations;
mod limits;
mod ports;
mod reply_warnings;
mod response_body;
mod retry;
mod route;
mod sampling_budget;
mod single_invocation;
mod spending;
mod turn_costs;
mod withheld_reasoning;

pub use call_span::{CallSpan, CallSpans};
pub use context::{CompactionPolicy, ContextState, Ledger, Part, Row, offered, tokens_of};
pub use conversation::{Conversation, Progress, Step};
pub use driver::{CondenseOutcome, NOBODY, condense_now, converse, ledger};
pub use engine::{Ending, Engine, EngineError};
pub use event::{Event, Restart};
pub use exchange::with_note;
pub use exchange_error::{AttemptError, ExchangeError};
pub use limits::{Limit, Limits, Timeouts};
pub use ports::{
    Act, Admitted, AnswerCheck, Approver, ByteStream, Ports, Released, Runner, Sink, SinkError, Steering,
    Wire, WireError, WireErrorKind,
};
pub use retry::RetryPolicy;
pub use route::{RequestExtras, Route, request_extras};
pub use sampling_budget::{SamplingBudget, most_usage};
pub use single_invocation::{
    ApprovalPolicy, AskApprover, InvocationReport, PolicyDecision, SingleInvocation,
};
pub use turn_costs::{TurnCostMeter, TurnCosts};
