//! Taking a person through the page of a server on which access is granted.
//!
//! [`Listener`] opens the browser and receives its redirect. [`Pasted`] is for machines without a browser. For test servers
//! there is [`converse_host::headless_consent`].

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
