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

pub(crate) use authority::Authority;
pub use login::{Login, state_of};
pub use logout::LoggedOut;

#[cfg(test)]
mod tests {
    //! Tests with a simulated server, authorization server, browser and vault. Requests are checked as strictly as real
    //! servers check them.

    mod granted;
    mod hostile;
    mod network;
    mod stored;
}
