//! One MCP server as one ensemble: stdio and streamable HTTP, both protocol eras.
//!
//! [`McpConnection`] is the way to a server's tools. Everything a server says is foreign: each of its lines, its list of
//! tools and its answers have a bound in size and in time, and one bad tool never costs the others.
//!
//! What this crate refuses to know: models, terminals, the environment (it is handed one), where eras are remembered.

mod asked;
mod bearer;
mod call;
mod changed;
mod completion;
mod connection;
mod content;
mod desk;
pub mod elicitation;
mod end;
mod errands;
mod error;
mod guard;
mod handler;
mod handshake;
mod http;
mod key;
mod launch;
mod link;
mod listing;
mod log;
mod manifest;
mod oauth;
mod offers;
mod pages;
mod patience;
mod probing;
mod process;
mod progress;
mod prompts;
mod questions;
mod raw;
mod resources;
mod roots;
mod rounds;
mod sampling;
mod selection;
mod server;
mod stdio;
mod steady;
mod subscription;
mod surroundings;
mod survey;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod warnings;
mod words;

pub use asked::{Asked, Consent, Elicitation, Person, Reply, Sampler, Vault};
pub use completion::Reference;
pub use connection::McpConnection;
pub use desk::QUESTION;
pub use manifest::{Manifest, Remembered};
pub use oauth::{LoggedOut, Login, state_of};
pub use offers::OfferError;
pub use pages::Offered;
pub use prompts::{Prompt, PromptArgument, PromptMessage, Speaker};
pub use resources::{Body, Part, Resource, Template};
pub use selection::Idle;
pub use surroundings::{Era, Eras, Lists, Surroundings, Warn};
pub use survey::Survey;
