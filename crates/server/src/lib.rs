//! Serves the roster (all tools of a run) to other programs, as an MCP server over stdio or HTTP.
//!
//! Calls of clients take the same path as a model's calls: arguments are checked, rules are judged, limits are kept, and
//! every call is in the audit log. This crate does not know terminals, the environment or configuration files.
//!
//! ```
//! use std::sync::Arc;
//!
//! use converse_server::{Access, TokenError, Tokens};
//!
//! let tokens = Tokens::read("# of the build machine\n5d41402abc4b2a76b9719d911017c592\n")?;
//! let access = Access::open().with_tokens(Arc::new(tokens));
//! assert!(!access.is_open());
//! // A token that could be guessed is refused.
//! assert_eq!(Tokens::read("guessable").err(), Some(TokenError::Short(1)));
//! # Ok::<(), TokenError>(())
//! ```

mod access;
mod call;
mod caller;
mod content;
mod counters;
mod front;
mod gateway;
mod handler;
mod http_server;
mod message;
mod notifier;
#[doc(hidden)]
pub mod openai;
mod output_schema;
mod queue;
mod raw_arguments;
mod served_tools;
mod shares;
mod stdio;

pub use access::{Access, AccessError, Issuer, KeyFetcher, TokenError, Tokens};
pub use caller::{Caller, Remote};
pub use counters::{Call, Counters};
pub use front::{Front, FrontOptions, FrontParts, Renderers, TurnParts, TurnQueue};
pub use gateway::{Audit, Gateway, GatewayParts};
pub use http_server::{Hosts, HttpError, HttpListener, HttpOptions, Limits, PATH, listen};
pub use served_tools::NameConflict;
pub use stdio::{Pipes, StdioError, serve_stdio};
