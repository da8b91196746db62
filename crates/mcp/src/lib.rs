//! One MCP server as one ensemble: stdio and streamable HTTP, both protocol eras.
//!
//! [`McpConnection`] is the way to a server's tools. Everything a server says is foreign: each of its lines, its list of
//! tools and its answers have a bound in size and in time, and one bad tool never costs the others.
//!
//! What this crate refuses to know: models, terminals, the environment (it is handed one), where eras are remembered.

mod accepted;
mod bearer;
mod call;
mod changed;
mod completion;
mod connection;
mod content;
pub mod elicitation;
mod end;
mod error;
mod guard;
mod handler;
mod handshake;
mod http;
mod in_flight;
mod key;
mod launch;
mod link;
mod listing;
mod log;
mod manifest;
mod oauth;
mod offers;
mod pages;
mod probing;
mod process;
mod progress;
mod prompts;
mod question_limit;
mod raw;
mod resources;
mod responders;
mod retry;
mod roots;
mod rounds;
mod sampling;
mod sanitize;
mod selection;
mod server;
mod server_requests;
mod stdio;
mod subscription;
mod surroundings;
mod survey;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod warnings;

pub use completion::Reference;
pub use connection::McpConnection;
pub use manifest::{Manifest, RememberedTool};
pub use oauth::{LoggedOut, Login, state_of};
pub use offers::OfferError;
pub use pages::Offered;
pub use prompts::{Prompt, PromptArgument, PromptMessage, Speaker};
pub use resources::{Body, Part, Resource, Template};
pub use responders::{Consent, Elicitation, ElicitationReply, Elicitor, Responders, Sampler, Vault};
pub use selection::UnmatchedSetting;
pub use server_requests::QUESTION_TIMEOUT;
pub use surroundings::{Era, EraStore, Surroundings, ToolListStore, Warn};
pub use survey::Survey;
