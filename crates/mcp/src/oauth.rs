//! Who we are to a server with `auth = "oauth"`: a token of its authorization server, had, kept, renewed.
//!
//! What is said on the wire is rmcp's (discovery, registration, PKCE, `resource`, `iss`); here is when it is said, to
//! whom it may be said ([`destinations`], [`guarded_http`]), and what is kept of it ([`grant`]).
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization> (checked 2026-11).

mod authority;
mod callback;
mod destinations;
mod entry;
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
pub use entry::Login;
pub use login::state_of;
pub use logout::LoggedOut;
