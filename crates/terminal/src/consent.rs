//! Who takes a person through the page where access to a server is granted.
//!
//! [`Listener`] opens the browser and is where it comes back to; [`Pasted`] is for machines without one; [`Headless`] is
//! for test servers, whose page sends back by itself.

mod browser;
mod listener;
mod pasted;
mod request;

pub use browser::Browser;
pub use listener::Listener;
pub use pasted::Pasted;

use std::time::Duration;

/// People look for their password first.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
