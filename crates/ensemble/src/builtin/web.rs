//! `fetch` and `web_search`: pages of the web as text, and lists of them.
//!
//! A model chooses the target of `fetch`, so it reaches only public addresses, even if the user allows it: a URL is
//! parsed as browsers do ([`target`]), converse resolves its name, every address is checked ([`address`]), and the
//! connection goes to the checked addresses; each redirect is checked again ([`journey`]). `web_search` goes only where
//! the settings of the user point, so it uses the ordinary port.

mod address;
mod allowed;
mod charset;
mod fetch;
mod journey;
mod page;
mod search;
mod target;

#[cfg(test)]
mod tests;

pub use address::is_public;
pub(super) use fetch::build as build_fetch;
pub(super) use search::{VARIABLES as SEARCH_VARIABLES, build as build_search};
