//! The formats of a written session.

use std::io::{self, Write};
use std::path::Path;

use converse_session::Document;
use converse_text::safe;

use super::{html, markdown};
use crate::render::output::print_json;

/// How a session is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Md,
    Html,
    Json,
    Jsonl,
}

impl Format {
    /// Returns the format that the extension of a file names; Markdown if it names none.
    pub fn of(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Self::Json,
            Some("jsonl") => Self::Jsonl,
            Some("html" | "htm") => Self::Html,
            _ => Self::Md,
        }
    }

    /// Writes a session.
    pub fn write(self, document: &Document, out: &mut dyn Write) -> io::Result<()> {
        match self {
            // Such files are often read with `cat`.
            Self::Md => out.write_all(safe(&markdown(document)).as_bytes()),
            Self::Html => out.write_all(html(document).as_bytes()),
            Self::Json => print_json(out, |out| document.write_json(out)),
            Self::Jsonl => print_json(out, |out| document.write_lines(out)),
        }
    }
}
