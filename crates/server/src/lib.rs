//! Serves the gateway, models, sessions and the web panel over HTTP.
//!
//! `/mcp` is the gateway, beside it are the OpenAI-compatible API, the API of sessions and the panel. This crate checks
//! hosts, origins, tokens and limits. It does not know terminals or configuration files.
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
mod front;
mod http_server;
mod reload;
mod shares;

pub use access::{Access, AccessError, Issuer, IssuerKeys, KeyFetcher, TokenError, TokenList, Tokens};
pub use front::{Front, FrontOptions, FrontParts, Renderers, TurnParts, TurnQueue};
pub use http_server::{Handlers, Hosts, HttpError, HttpListener, HttpOptions, Limits, PATH, listen};
pub use reload::{Configuration, ReloadParts, Reloader, VIEWS_NEED_ACCESS};
