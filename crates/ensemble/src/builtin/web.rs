//! `fetch` and `web_search`: pages of the web as text, and lists of them.
//!
//! `fetch` goes where a model tells it to, so it reaches public addresses only, whatever the user allows: a URL is read
//! as browsers read it ([`target`]), its name is resolved by us, every address is judged ([`address`]), and the
//! connection goes to the addresses that were judged; each redirect begins anew ([`journey`]). `web_search` goes where
//! the user's settings say and nowhere else, so it uses the ordinary port.

mod address;
mod allowed;
mod charset;
mod fetch;
mod html;
mod journey;
mod page;
mod search;
mod target;

#[cfg(test)]
mod tests;

pub use address::is_public;
pub(super) use fetch::build as build_fetch;
pub(super) use search::{VARIABLES as SEARCH_VARIABLES, build as build_search};
