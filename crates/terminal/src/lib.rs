//! The terminal interface: what a person sees and types.
//!
//! [`screen`] has styled text, Markdown and a region that is redrawn in place, [`render`] has the renderers of a run, and
//! [`repl`] is the interactive session, whose line editor is the crate `converse-editor`.
//!
//! ```
//! use converse_terminal::screen::{Look, markdown};
//!
//! let lines = markdown("# Notes\n\nBuy *milk*.\u{1b}[2J", &Look::plain(40));
//! let text: Vec<String> = lines.iter().map(|line| line.text()).collect();
//! assert!(text.iter().any(|line| line.contains("Buy milk.")));
//! // Control characters in foreign text never reach the terminal.
//! assert!(!text.concat().contains('\u{1b}'));
//! ```

pub mod approver;
pub mod consent;
pub mod console;
pub mod document;
pub mod person;
pub mod poll_io;
pub mod project_trust;
pub mod render;
pub mod repl;
pub mod screen;
pub mod signals;
pub mod stdin;
pub mod view;
