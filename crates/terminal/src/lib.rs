//! The terminal interface: what a person sees and types.
//!
//! Styled text and Markdown are the crate `converse-screen`. [`render`] has the renderers of a run, and
//! [`repl`] is the interactive session, whose line editor is the crate `converse-editor`.

pub mod approver;
mod changes;
pub mod consent;
pub mod console;
pub mod document;
pub mod person;
pub mod poll_io;
pub mod project_trust;
pub mod render;
pub mod repl;
pub mod signals;
pub mod stdin;
pub mod view;
