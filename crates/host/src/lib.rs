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
//! The examples of this crate show a custom tool and an approver ([`Approver`]). Messages for people go to [`Notices`].
//!
//! Everything on this page is the API. The modules that the program `converse` uses are not on it.

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

mod cache;
mod cassette;
mod conversation;
mod eras;
mod event;
mod history;
mod host;
mod http;
mod own_tool;
mod reach;
mod redacting_connection;
mod results;
mod telemetry;
mod vault;

// For the crates of the program `converse`. These modules are not part of the API and change without notice.
#[doc(hidden)]
pub mod answer;
#[doc(hidden)]
pub mod approvals;
#[doc(hidden)]
pub mod attach;
#[doc(hidden)]
pub mod audit;
#[doc(hidden)]
pub mod catalogue;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod confined;
#[doc(hidden)]
pub mod contents;
#[doc(hidden)]
pub mod context;
#[doc(hidden)]
pub mod descriptor_check;
#[doc(hidden)]
pub mod descriptor_dir;
#[doc(hidden)]
pub mod explanation;
#[doc(hidden)]
pub mod failure;
#[doc(hidden)]
pub mod fetch;
#[doc(hidden)]
pub mod headless_consent;
#[doc(hidden)]
pub mod instructions;
#[doc(hidden)]
pub mod interrupt;
#[doc(hidden)]
pub mod journal;
#[doc(hidden)]
pub mod lockfiles;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod model_lists;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod probe;
#[doc(hidden)]
pub mod provider_call;
#[doc(hidden)]
pub mod routes;
#[doc(hidden)]
pub mod runtime;
#[doc(hidden)]
pub mod sampler;
#[doc(hidden)]
pub mod secrets;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod single_call;
#[doc(hidden)]
pub mod skills;
#[doc(hidden)]
pub mod token_count;
#[doc(hidden)]
pub mod tool_lists;
#[doc(hidden)]
pub mod tool_tests;
#[doc(hidden)]
pub mod trust;
#[doc(hidden)]
pub mod turn;
#[doc(hidden)]
pub mod typed_arguments;
#[doc(hidden)]
pub mod wiring;
#[doc(hidden)]
pub mod world;

use std::ffi::OsString;

pub use converse_canister::{Canister, Content, Cost, Decision, InvocationId, Outcome, Transcript, Usage};
pub use converse_config::Effects;
pub use converse_engine::Approver;
pub use converse_ensemble::{Pending, Roster};
#[doc(hidden)]
pub use converse_process::this_program;
pub use converse_provider::Effort;

pub use crate::context::{NoNotices, Notices};
#[doc(hidden)]
pub use crate::conversation::HostParts;
pub use crate::conversation::{Conversation, ConversationBuilder, Reply, Turn};
pub use crate::event::Event;
pub use crate::failure::{Failure, Kind};
#[doc(hidden)]
pub use crate::history::History;
pub use crate::host::{Host, HostBuilder};
pub use crate::options::{RuleOptions, TurnOptions};
pub use crate::own_tool::OwnTool;

/// Runs the guardian or enters a sandbox if this command line asks for it. A program that starts itself again must call
/// it first. Returns the exit code, or `None` if the program should continue.
pub fn child_process(words: &[OsString]) -> Option<u8> {
    if confined::is_guardian(words) {
        converse_process::guard();
        return Some(0);
    }
    confined::called(words)
}
