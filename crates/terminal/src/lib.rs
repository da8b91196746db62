//! What a person sees and types: styled text, Markdown and a region that is redrawn in place ([`screen`]), the line
//! editor ([`editor`]), the renderers of a run ([`render`]), and the conversation at the terminal ([`repl`]).

// Futures that connect servers nest deeper than the default limit of the optimising compiler.
#![recursion_limit = "256"]

pub mod approver;
pub mod consent;
pub mod console;
pub mod declared;
pub mod editor;
pub mod person;
pub mod poll_io;
pub mod project_trust;
pub mod render;
pub mod repl;
pub mod screen;
pub mod signals;
pub mod stdin;
