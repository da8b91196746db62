//! What a person sees and types: styled text, Markdown and a region that is redrawn in place ([`screen`]), and the line
//! editor ([`editor`]).

pub mod editor;
pub mod screen;
