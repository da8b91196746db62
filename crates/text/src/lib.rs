//! Pure functions on text, for all other crates: no IO, no async.
//!
//! ```
//! use converse_text::{safe, width};
//!
//! assert_eq!(safe("\x1b[31mred"), "\\x1b[31mred");
//! assert_eq!(width("日本"), 4);
//! ```

pub mod difference;
pub mod escape;
pub mod html;
pub mod invisible;
pub mod junit;
pub mod lines;
pub mod ranking;
pub mod secrets;
pub mod shorten;
pub mod suggest;
pub mod trace_context;
pub mod uri_template;
mod width;
pub mod wording;

pub use escape::{safe, safe_line};
pub use invisible::is_unsafe;
pub use width::{clusters, width};
