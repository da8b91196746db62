//! The texts of descriptors and settings, and positions in them.
//!
//! A span is a range of bytes; line and column are computed when they are shown. Texts are kept without their byte order
//! mark, exactly as they were checked. Digests for trust must use these texts, because the files may have changed.

use crate::diagnostic::{Diagnostic, Location};
use crate::{Code, Scope};

/// Interval in bytes at which line numbers are recorded.
const STEP: usize = 4096;

/// Limit on the size of a file.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(crate) usize);

/// Bytes `start..end` of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub source: SourceId,
    pub start: usize,
    pub end: usize,
}

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// A position for people: line and column from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// One source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As shown to people; `builtin:…` for shipped files.
    pub path: String,
    pub scope: Scope,
    pub text: String,
    /// Number of line ends before each multiple of [`STEP`] bytes.
    line_ends: Vec<usize>,
}

/// All source texts of one run.
#[derive(Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, path: impl Into<String>, scope: Scope, text: &str) -> SourceId {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut line_ends = vec![0];
        for part in text.as_bytes().chunks_exact(STEP) {
            line_ends.push(line_ends.last().unwrap_or(&0) + newlines(part));
        }
        self.sources.push(Source { path: path.into(), scope, text: text.to_owned(), line_ends });
        SourceId(self.sources.len() - 1)
    }

    /// Adds a file: at most 1 MiB of UTF-8, otherwise a diagnostic with its location.
    pub fn add_bytes(
        &mut self,
        path: impl Into<String>,
        scope: Scope,
        bytes: &[u8],
    ) -> Result<SourceId, Diagnostic> {
        if bytes.len() > MAX_FILE_BYTES {
            let id = self.add(path, scope, "");
            let message = format!("the file is larger than {MAX_FILE_BYTES} bytes");
            return Err(Diagnostic::error(Code::TooLarge, Location::File(id), message));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(self.add(path, scope, text)),
            Err(error) => {
                let id = self.add(path, scope, &String::from_utf8_lossy(bytes));
                // The text before the invalid byte is unchanged except for the byte order mark.
                let dropped = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
                let start = error.valid_up_to().saturating_sub(dropped);
                let span = Span { source: id, start, end: start + 1 };
                let message = "the file is not UTF-8 at this position";
                let diagnostic = Diagnostic::error(Code::NotUtf8, Location::Span(span), message);
                Err(diagnostic.hint("save it as UTF-8"))
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().enumerate().map(|(at, source)| (SourceId(at), source))
    }

    pub fn path(&self, id: SourceId) -> &str {
        self.sources.get(id.0).map_or("", |source| &source.path)
    }

    pub fn text(&self, id: SourceId) -> &str {
        self.sources.get(id.0).map_or("", |source| &source.text)
    }

    pub fn scope(&self, id: SourceId) -> Scope {
        // An unknown id gets the least trusted scope.
        self.sources.get(id.0).map_or(Scope::Project, |source| source.scope)
    }

    /// Returns the position where a span begins.
    pub fn position(&self, span: Span) -> Position {
        let text = self.text(span.source);
        let before = text.get(..text.floor_char_boundary(span.start)).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Position { line: self.line(span), column }
    }

    /// Returns the line where a span begins, from 1, in constant time.
    pub(crate) fn line(&self, span: Span) -> usize {
        let Some(source) = self.sources.get(span.source.0) else { return 1 };
        let text = source.text.as_bytes();
        let step = span.start.min(text.len()) / STEP;
        let known = source.line_ends.get(step).copied().unwrap_or_default();
        let rest = text.get(step * STEP..span.start.min(text.len())).unwrap_or_default();
        known + newlines(rest) + 1
    }

    /// Returns `file:line` for people.
    pub(crate) fn shown(&self, span: Span) -> String {
        format!("{}:{}", self.path(span.source), self.line(span))
    }

    /// Returns the line where a span begins, without its line end, and the line's start in bytes.
    pub(crate) fn line_of(&self, span: Span) -> (&str, usize) {
        let text = self.text(span.source);
        let at = text.floor_char_boundary(span.start);
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let line = text.get(start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        (line.strip_suffix('\r').unwrap_or(line), start)
    }
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_any_line_end() {
        let mut sources = SourceMap::new();
        let id = sources.add("x.toml", Scope::User, "\u{feff}a = 1\r\nключ = 2\nb");
        let at = |start| sources.position(Span { source: id, start, end: start + 1 });
        assert_eq!(at(0), Position { line: 1, column: 1 });
        assert_eq!(at(4), Position { line: 1, column: 5 });
        assert_eq!(at(7), Position { line: 2, column: 1 });
        assert_eq!(at(11), Position { line: 2, column: 3 });
        assert_eq!(at(12), Position { line: 2, column: 3 }, "inside a character");
        assert_eq!(at(20), Position { line: 3, column: 1 });
        assert_eq!(at(9999), Position { line: 3, column: 2 });
        assert_eq!(sources.line_of(Span { source: id, start: 1, end: 2 }), ("a = 1", 0));
        assert_eq!(sources.line_of(Span { source: id, start: 20, end: 20 }), ("b", 20));
    }

    #[test]
    fn lines_are_counted_right_in_any_step() {
        let mut sources = SourceMap::new();
        let text = format!("{}é\n", "x\n\n".repeat(5000));
        let id = sources.add("x.toml", Scope::User, &text);
        for start in (0..text.len() + 3).step_by(7).chain([4095, 4096, 4097, 8192, text.len()]) {
            let before = &text.as_bytes()[..start.min(text.len())];
            let expected = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert_eq!(sources.line(Span { source: id, start, end: start }), expected, "{start}");
        }
    }

    #[test]
    fn invalid_text_is_reported_with_its_position() {
        let mut sources = SourceMap::new();
        for bytes in [&b"a = 1\nb = \"\xff\""[..], b"\xef\xbb\xbfa = 1\nb = \"\xff\""] {
            let problem = sources.add_bytes("x.toml", Scope::Project, bytes).unwrap_err();
            let finding = problem.finding(&sources);
            assert_eq!((finding.code, finding.line, finding.column), (Code::NotUtf8, Some(2), Some(6)));
        }
        let large = vec![b' '; MAX_FILE_BYTES + 1];
        assert_eq!(sources.add_bytes("x.toml", Scope::User, &large).unwrap_err().code, Code::TooLarge);
        assert!(sources.add_bytes("x.toml", Scope::User, &large[1..]).is_ok());
    }
}
