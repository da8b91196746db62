//! The message model of converse: plain data.
//!
//! A **canister** is one message. A [`Canister`] is one of six kinds: supervisor (system prompt), user, document,
//! assistant, invocation (call of a tool) or result. A [`Transcript`] is an append-only list of canisters. It enforces a
//! rule that every provider has: each invocation gets exactly one result before anything else is said. Code that is
//! given a `Transcript` need not check that again.
//!
//! ```
//! use converse_canister::*;
//!
//! let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
//! let content = vec![Content::text("I look.")];
//! let (tool, arguments) = ("files__read_file".to_owned(), Arguments::parse(r#"{"path": "notes.txt"}"#));
//!
//! let mut transcript = Transcript::new();
//! transcript.push(Canister::User(User::text("What is in my notes?")))?;
//! let reply = Assistant { turn, content, native: None, stop: Stop::End, response_id: None };
//! transcript.push(Canister::Assistant(reply))?;
//! let call = Invocation { turn, id: id.clone(), wire_id: None, tool, arguments, seal: None };
//! transcript.push(Canister::Invocation(call))?;
//! // The call is open: only its result may follow.
//! assert!(transcript.push(Canister::User(User::text("Hurry!"))).is_err());
//! transcript.push(Canister::Result(InvocationResult::new(id, Outcome::Success, "Buy milk.")))?;
//! assert!(!transcript.has_open());
//! # Ok::<(), TranscriptError>(())
//! ```
//!
//! This crate has no IO, no clock, no randomness and no async code. The name of a provider appears only inside a
//! [`Maker`]. Two canisters with equal fields are equal: the time is part of the journal entry, not of the canister.

mod arguments;
mod canister;
mod canonical;
mod content;
mod diffable;
mod ids;
mod invocation;
mod json_length;
mod labels;
pub mod media;
pub mod questions;
mod transcript;
mod usage;

pub use arguments::{Arguments, Malformed, exact_json};
pub use canister::{Assistant, Canister, Document, Supervisor, User};
pub use canonical::canonical;
pub use content::{Blobs, Content, Digest, Maker, Native, NoBlobs, ReasoningToken};
pub use diffable::diffable;
pub use ids::{BadName, EnsembleName, InvocationId, InvokerName, ProviderName, ToolName, TurnId, ViewName};
pub use invocation::{Artefact, Decision, Declaration, Invocation, InvocationResult, Outcome, PreparedTools};
pub use json_length::json_length;
pub use labels::{Labels, Origin, SeenData};
pub use transcript::{Condensed, Transcript, TranscriptError};
pub use usage::{Cost, Stop, Usage};

/// The version of the serialised form of everything in this crate. Readers refuse a newer one untouched.
pub const FORMAT: u32 = 1;
