//! The library behind `converse`: conversations of models with declared tools, for programs of your own.
//!
//! A [`Host`] reads the settings, connects the ensembles and chooses the model. A [`Conversation`] consists of
//! [`Turn`]s. Each turn yields [`Event`]s and ends in a [`Reply`]. Tools of the embedding program are [`OwnTool`]s.
//!
//! ```
//! use converse_host::{Event, Host};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), converse_host::Failure> {
//! // The understudy needs no key and no network. A model is named as `anthropic/claude-sonnet-4-6`.
//! let directory = std::env::temp_dir().join("converse-host-example");
//! let host = Host::builder().config_dir(&directory).data_dir(&directory).model("understudy").build().await?;
//! let mut conversation = host.conversation().start()?;
//! let mut turn = conversation.ask("What is 15% of 2500?");
//! while let Some(event) = turn.next().await {
//!     if let Event::TextDelta(text) = event {
//!         print!("{text}");
//!     }
//! }
//! let reply = turn.finish().await?;
//! assert!(reply.text.contains("375"));
//! # Ok(())
//! # }
//! ```
//!
//! The examples of this crate show a custom tool and an approver. The modules are internals of `converse`; they change
//! more often than the names above.

// Futures that connect servers nest deeper than the default limit of the optimising compiler.
#![recursion_limit = "256"]

/// Implements `Debug` by the name of the type alone, for types that hold ports or secrets.
#[doc(hidden)]
#[macro_export]
macro_rules! opaque_debug {
    ($type:ty) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($type))
            }
        }
    };
}

pub mod answer;
pub mod approvals;
pub mod attach;
pub mod audit;
pub mod cache;
pub mod cassette;
pub mod catalogue;
pub mod client;
pub mod confined;
pub mod contents;
pub mod context;
mod conversation;
pub mod credentials;
pub mod descriptor_check;
pub mod doctor;
pub mod eras;
mod event;
pub mod explanation;
pub mod failure;
pub mod fetch;
pub mod guardian;
pub mod headless_consent;
mod history;
mod host;
pub mod http;
pub mod inspect;
pub mod interrupt;
pub mod journal;
pub mod lockfiles;
pub mod model;
pub mod model_lists;
pub mod options;
mod own_tool;
pub mod probe;
pub mod progress_connection;
pub mod reach;
pub mod redacted_session;
pub mod redacting_connection;
pub mod results;
pub mod routes;
pub mod runtime;
pub mod sampler;
pub mod secrets;
pub mod settings;
pub mod single_call;
pub mod spent;
pub mod telemetry;
pub mod this_program;
pub mod tool_lists;
pub mod tool_tests;
pub mod trust;
pub mod turn;
pub mod typed_arguments;
pub mod understudy;
pub mod vault;
pub mod wiring;
pub mod world;

use std::ffi::OsString;

pub use converse_canister::{Decision, Outcome};
pub use converse_config::Effects;
pub use converse_engine::Approver;
pub use converse_ensemble::Pending;

pub use crate::context::Notices;
pub use crate::conversation::{Conversation, ConversationBuilder, HostParts, Reply, Turn};
pub use crate::event::Event;
pub use crate::failure::{Failure, Kind};
pub use crate::history::History;
pub use crate::host::{Host, HostBuilder};
pub use crate::options::{RuleOptions, TurnOptions};
pub use crate::own_tool::OwnTool;

/// Runs the guardian or enters a sandbox if this command line asks for it. A program that starts itself again must call
/// it first. Returns the exit code, or `None` if the program should continue.
pub fn child_process(words: &[OsString]) -> Option<u8> {
    if guardian::is_called(words) {
        converse_process::guard();
        return Some(0);
    }
    confined::called(words)
}
