//! OAuth for servers with `auth = "oauth"`: logins, stored tokens, their renewal and revocation.
//!
//! rmcp implements the protocol (discovery, registration, PKCE, `resource`, `iss`). This module decides when it runs,
//! which addresses it may contact ([`destinations`], [`guarded_http`]) and what is stored ([`grant`]).
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> (checked 2026-11).

mod authority;
mod callback;
mod destinations;
mod error;
mod grant;
mod guarded_http;
mod login;
mod logout;
mod renewal;
mod scopes;
mod store;

#[cfg(test)]
mod tests;

pub(crate) use authority::Authority;
pub use login::{Login, state_of};
pub use logout::LoggedOut;
