//! The message model of converse, as inert data.
//!
//! Messages are **canisters** of six kinds. A [`Transcript`] is an append-only list of them that enforces the rule of
//! every provider: each invocation is answered by exactly one result before any other message. Processors, engine,
//! journal and renderers rely on it.
//!
//! This crate has no IO, no clock, no randomness, no async, and no provider's name anywhere but inside
//! a [`Maker`]. Two canisters with equal fields are equal; the time belongs to the journal entry that holds one.

mod arguments;
mod canister;
mod canonical;
mod content;
mod ids;
mod invocation;
mod transcript;
mod usage;

pub use arguments::{Arguments, Malformed, exact_json};
pub use canister::{Assistant, Canister, Document, Supervisor, User};
pub use canonical::canonical;
pub use content::{Blobs, Content, Digest, Maker, Native, NoBlobs, ReasoningToken};
pub use ids::{BadName, EnsembleName, InvocationId, InvokerName, ProviderName, ToolName, TurnId};
pub use invocation::{Artefact, Decision, Declaration, Invocation, InvocationResult, Outcome};
pub use transcript::{Condensed, Transcript, TranscriptError};
pub use usage::{Cost, Stop, Usage};

/// The version of the serialised form of everything in this crate. Readers refuse a newer one untouched.
pub const FORMAT: u32 = 1;
