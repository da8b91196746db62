//! The MCP client: one MCP server as one ensemble, over stdio or streamable HTTP, in both protocol eras.
//!
//! ```
//! use converse_mcp::elicitation::{fields, validate};
//! use serde_json::json;
//!
//! // A server asks the user a question with a form. This crate reads the form and checks the answer.
//! let form = json!({ "type": "object", "required": ["guests"], "properties": {
//!     "guests": { "type": "integer", "minimum": 1 } } });
//! let fields = fields(&form)?;
//! assert_eq!((fields[0].name.as_str(), fields[0].required), ("guests", true));
//! let answer = |guests: i32| json!({ "guests": guests }).as_object().cloned().unwrap_or_default();
//! assert!(validate(&form, &answer(4)).is_ok());
//! assert!(validate(&form, &answer(0)).is_err());
//! # Ok::<(), String>(())
//! ```
//!
//! [`McpConnection`] connects to a server and offers its tools. Everything a server sends is foreign data: each line,
//! each list and each answer is bounded in size and time, and one bad tool does not affect the others.
//!
//! The crate does not know models, terminals, the process environment (it is passed in) or where eras are stored.

mod accepted;
mod call;
mod completion;
mod connection;
mod content;
mod detection;
pub mod elicitation;
mod error;
mod guard;
mod handler;
mod handshake;
mod http;
mod in_flight;
mod keeper;
mod key;
mod launch;
mod link;
mod listing;
mod log;
mod manifest;
mod oauth;
mod offer_pins;
mod offers;
mod pacing;
mod pages;
mod process;
mod progress;
mod prompts;
mod question_limit;
mod raw;
mod relay;
mod resources;
mod responders;
mod roots;
mod roots_request;
mod rounds;
mod sampling;
mod sanitize;
mod selection;
mod server;
mod server_requests;
mod stdio;
mod surroundings;
mod survey;
mod task;
#[cfg(test)]
mod testing;
mod warnings;

pub use completion::Reference;
pub use connection::McpConnection;
pub use manifest::{Manifest, RememberedTool};
pub use oauth::{LoggedOut, Login, state_of};
pub use offer_pins::OfferPins;
pub use offers::OfferError;
pub use pacing::Jitter;
pub use pages::Offered;
pub use prompts::{Prompt, PromptArgument, PromptMessage, Speaker};
pub use resources::{Body, Part, Resource, Template};
pub use responders::{Consent, Elicitation, ElicitationReply, Elicitor, Responders, Sampler, Vault};
pub use selection::UnmatchedSetting;
pub use server_requests::QUESTION_TIMEOUT;
pub use surroundings::{Era, EraStore, Surroundings, ToolListStore, Warn};
pub use survey::Survey;

#[cfg(test)]
mod tests {
    //! The whole crate against servers by script.

    mod accepted;
    mod asking;
    mod calling;
    mod connecting;
    mod eras;
    mod keeping;
    mod living;
    mod looking;
    mod offers;
}
