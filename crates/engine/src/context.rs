//! What of a conversation, and of its tools, fits into a model's window.
//!
//! The journal keeps everything; what a model is shown is a projection of it ([`view()`]). Near the window, and only
//! there, results that later ones have superseded go first, then the bulk of old ones, then the older part of the
//! conversation is summarised by the model itself. What the user asked stays word for word as long as anything else can go,
//! and so does the system text always.
//! All of this is pure; the driver's `condensing.rs` does what is decided here.

mod care;
mod ledger;
mod offered;
mod record;
mod room;
mod said;
mod trimming;
mod upkeep;
mod view;
mod weight;

pub use care::Care;
pub use ledger::{Ledger, Part, Row};
pub use offered::{offered, tokens_of};
pub use upkeep::Upkeep;

pub(crate) use ledger::{weight, window};
pub(crate) use record::{bounded, request};
pub(crate) use room::{Room, cut, share};
pub(crate) use said::last_question;
pub(crate) use trimming::Trims;
pub(crate) use view::{shortened, view};
pub(crate) use weight::BYTES;

#[cfg(test)]
mod testing;
