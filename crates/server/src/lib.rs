//! The roster as an MCP server.
//!
//! Any other agent gets what the loop gets: arguments checked, rules judged, limits kept, every call in the audit. What
//! this crate refuses to know: terminals, the environment, configuration files.

mod access;
mod call;
mod caller;
mod content;
mod counters;
mod front;
mod gateway;
mod handler;
mod message;
mod offer;
mod promise;
mod queue;
mod stdio;
mod telling;
mod written;

pub use access::{Access, AccessError, Issuer, Keys, TokenError, Tokens};
pub use caller::{Caller, Remote};
pub use counters::{Call, Counters};
pub use front::{Bound, Front, FrontError, Hosts, Limits, PATH, listen};
pub use gateway::{Audit, Backing, Gateway};
pub use offer::Clash;
pub use stdio::{Pipes, StdioError, serve_stdio};
