//! A problem as a value: code, severity, message, location, hints.
//!
//! Messages contain text from files only through [`quoted`]. [`Diagnostic::render`] escapes the line and the path that
//! it shows, and aligns the carets with the escaped text.

use std::fmt::Write as _;

use converse_text::escape::escape;
use converse_text::secrets::known_secret;
use converse_text::shorten::within_bytes;
use serde_json::{Value, json};

use crate::Code;
use crate::source::{SourceId, SourceMap, Span};
use excerpt::Excerpt;

mod excerpt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// The location of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    Span(Span),
    /// The file as a whole, such as a file that cannot be read.
    File(SourceId),
}

impl Location {
    pub fn source(self) -> SourceId {
        match self {
            Self::Span(span) => span.source,
            Self::File(source) => source,
        }
    }
}

impl From<Span> for Location {
    fn from(span: Span) -> Self {
        Self::Span(span)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub place: Location,
    /// Other locations, each with a label.
    pub related: Vec<(Span, String)>,
    /// If empty, [`Code::hint`] is shown.
    pub hints: Vec<String>,
    /// The source line may contain a secret, so it is not shown.
    pub hide_excerpt: bool,
}

/// A diagnostic for other programs. JSON keys have the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub file: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// Several hints are joined by `; `.
    pub hint: Option<String>,
}

impl Finding {
    pub fn to_json(&self) -> Value {
        json!({
            "code": self.code.as_str(),
            "severity": self.severity.as_str(),
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
        })
    }
}

impl Diagnostic {
    pub fn error(code: Code, place: impl Into<Location>, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, place.into(), message.into())
    }

    /// Returns an error about a value. Its hint is something to write instead.
    pub fn bad_value(
        place: impl Into<Location>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::error(Code::BadValue, place, message).hint(hint)
    }

    pub fn warning(code: Code, place: impl Into<Location>, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, place.into(), message.into())
    }

    fn new(code: Code, severity: Severity, place: Location, message: String) -> Self {
        Self { code, severity, message, place, related: Vec::new(), hints: Vec::new(), hide_excerpt: false }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn related(mut self, span: Span, what: impl Into<String>) -> Self {
        self.related.push((span, what.into()));
        self
    }

    #[must_use]
    pub fn without_excerpt(mut self) -> Self {
        self.hide_excerpt = true;
        self
    }

    /// Returns the diagnostic's own hints, or the hint of its code.
    fn all_hints(&self) -> Vec<&str> {
        match self.hints.as_slice() {
            [] => vec![self.code.hint()],
            hints => hints.iter().map(String::as_str).collect(),
        }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub fn finding(&self, sources: &SourceMap) -> Finding {
        let position = match self.place {
            Location::Span(span) => Some(sources.position(span)),
            Location::File(_) => None,
        };
        Finding {
            code: self.code,
            severity: self.severity,
            message: self.message.clone(),
            file: escape(sources.path(self.place.source())),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            hint: Some(self.all_hints().join("; ")),
        }
    }

    /// Returns the diagnostic for people: several lines without colour, with a final newline.
    ///
    ///
    /// ```text
    /// error[unknown-key]: `timout` is not a key of [defaults]
    ///  --> ensembles/io.toml:6:1
    ///   |
    /// 6 | timout = 30
    ///   | ^^^^^^
    ///   = hint: did you mean `timeout`?
    /// ```
    pub fn render(&self, sources: &SourceMap) -> String {
        let finding = self.finding(sources);
        let mut picture = format!("{}[{}]: {}\n", self.severity.as_str(), self.code, self.message);
        let number = finding.line.map(|line| line.to_string()).unwrap_or_default();
        let margin = " ".repeat(number.len().max(1));
        match self.place {
            Location::File(_) => picture.push_str(&format!("{margin}--> {}\n", finding.file)),
            Location::Span(span) => {
                let column = finding.column.unwrap_or(1);
                // Writing into a String cannot fail.
                let _ = writeln!(picture, "{margin}--> {}:{number}:{column}", finding.file);
                if !self.hide_excerpt {
                    Excerpt::of(sources, span, self.code == Code::UnknownKey).draw(&mut picture, &number);
                }
            }
        }
        for (span, what) in &self.related {
            let (path, position) = (escape(sources.path(span.source)), sources.position(*span));
            let _ =
                writeln!(picture, "{margin} = note: {what}: {path}:{}:{}", position.line, position.column);
        }
        for hint in self.all_hints() {
            let _ = writeln!(picture, "{margin} = hint: {hint}");
        }
        picture
    }
}

/// Cuts text to at most `most` bytes, including the mark of the cut.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    within_bytes(text, most).into_owned()
}

/// Returns a name or value from a file in backticks, escaped, with at most about 80 bytes. A secret is not shown.
pub(crate) fn quoted(text: &str) -> String {
    if known_secret(text).is_some() {
        return "`…`".to_owned();
    }
    // Cut before escaping, so that no escape is cut.
    format!("`{}`", escape(&within_bytes(text, 80)))
}

/// A value, possibly partial, and all problems found while reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T> {
    pub value: T,
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Checked<T> {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn picture(text: &str, marked: &str) -> String {
        picture_of(Code::BadValue, text, marked)
    }

    fn picture_of(code: Code, text: &str, marked: &str) -> String {
        let mut sources = SourceMap::new();
        let source = sources.add("ensembles/io\u{1b}.toml", Scope::Project, text);
        let start = text.find(marked).unwrap();
        let span = Span { source, start, end: start + marked.len() };
        Diagnostic::error(code, span, "`timout` is not a key of [defaults]")
            .hint("did you mean `timeout`?")
            .related(Span { source, start: 0, end: 1 }, "the table")
            .render(&sources)
    }

    #[test]
    fn a_quoted_text_is_bounded() {
        assert!(quoted(&"\u{1b}".repeat(500)).len() < 700);
    }

    #[test]
    fn a_picture_shows_the_place() {
        assert_eq!(
            picture("[defaults]\r\n\ttimout = \"время\"\r\n", "timout"),
            "error[bad-value]: `timout` is not a key of [defaults]\n \
             --> ensembles/io\\u{1b}.toml:2:2\n  |\n2 |  timout = \"время\"\n  |  ^^^^^^\n  \
             = note: the table: ensembles/io\\u{1b}.toml:1:1\n  = hint: did you mean `timeout`?\n"
        );
    }

    #[test]
    fn no_secret_of_a_source_line_is_shown() {
        let secret = "a8Kd02LqZx7Vb3Nm5Tp9";
        for (code, line, marked) in [
            (Code::UnknownKey, "tokn = \"hunter2\"", "tokn"),
            (Code::UnknownKey, "wrod = \"hunter2\"", "wrod"),
            (Code::UnknownKey, "API_KYE = 'hunter2'", "API_KYE"),
            (Code::UnknownKey, "pas_phrse = 12345678", "pas_phrse"),
            (Code::UnknownKey, "headrs = { Authorization = \"Bearer hunter2\" }", "headrs"),
            (Code::UnknownKey, "enviroment = { X = \"hunter2\" }", "enviroment"),
            (Code::UnknownKey, "x = { DB_PASS = \"hunter2\", timout = 3 }", "timout"),
            (Code::UnknownKey, "x = { API_KYE = \"hunter2\", timout = 3 }", "timout"),
            (Code::WrongType, "command = [\"x\", \"--token\", \"hunter2\", 3]", "3"),
            (Code::WrongType, "command = [\"x\", \"--api-key=hunter2\", 3]", "3"),
            (Code::WrongType, "environment = \"API_KEY=hunter2\"", "\"API_KEY"),
            (Code::Syntax, "password = \"hunter2", "\"hunter2"),
            (Code::Syntax, "password = hunter2", "hunter2"),
            (Code::Syntax, "\"api-key\" = \"\"\"hunter2", "hunter2"),
            (Code::BadValue, "url = \"https://me:hunter2@h/\" # x", "# x"),
            (Code::BadValue, "token = 'a\\' # Bearer hunter2", "token"),
            (Code::BadValue, "token = \"a\\\"hunter2\"", "token"),
            (Code::BadValue, "cwd = \"SECRET\"", "SECRET"),
            (Code::DuplicateKey, "x = SECRET", "x"),
        ] {
            let line = line.replace("SECRET", secret);
            let shown = picture_of(code, &line, &marked.replace("SECRET", secret));
            for part in ["hunter2", "12345678", secret] {
                assert!(!shown.contains(part), "{line}\n{shown}");
            }
        }
        for line in
            ["timout = 30", "name = \"notes and tasks\" # here", "tokens = \"true\"", "keep = \"a-b/c\" # x"]
        {
            assert!(
                picture(line, line.split(' ').next_back().unwrap()).contains(&format!("1 | {line}\n")),
                "{line}"
            );
        }
        let named = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        assert_eq!(quoted(named), "`…`");
    }

    #[test]
    fn a_file_is_a_location() {
        let mut sources = SourceMap::new();
        let id = sources.add("x.toml", Scope::User, "");
        let shown = Diagnostic::error(Code::Unreadable, Location::File(id), "m").render(&sources);
        assert!(shown.starts_with("error[unreadable]: m\n --> x.toml\n  = hint: "), "{shown}");
    }

    #[test]
    fn rendered_text_is_escaped_and_short() {
        let shown = picture("a = \"\u{202e}\u{1b}]0;x\u{7}\" # here", "# here");
        assert!(shown.contains("1 | a = \"\\u{202e}\\u{1b}]0;x\\u{7}\" # here\n"), "{shown}");
        let carets = shown.lines().find(|line| line.contains('^')).unwrap();
        let line = shown.lines().find(|line| line.starts_with("1 |")).unwrap();
        assert_eq!(carets.find('^'), line.find("# here"));
        let long = format!("{} = here # {}", "k".repeat(5000), "c".repeat(5000));
        assert!(picture(&long, "here").lines().all(|line| line.chars().count() < 220));
    }

    #[test]
    fn omitted_text_is_marked() {
        const SHOWN: usize = excerpt::SHOWN;
        for (marked, shown) in [
            ("m".repeat(SHOWN), "m".repeat(SHOWN)),
            ("m".repeat(SHOWN + 1), "m".repeat(SHOWN - 1) + "…"),
            ("я".repeat(400), "я".repeat(SHOWN - 1) + "…"),
        ] {
            let drawn = picture(&format!("a = [\"{marked}\"] }}"), &marked);
            assert!(drawn.contains(&format!("\n1 | a = [\"{shown}\"] }}\n")), "{drawn}");
            assert!(drawn.contains(&format!(" {}\n", "^".repeat(SHOWN))), "{drawn}");
        }
    }

    #[test]
    fn the_keys_of_json_have_an_order() {
        let mut sources = SourceMap::new();
        let id = sources.add("x.toml", Scope::User, "");
        let finding = Diagnostic::warning(Code::TooLarge, Location::File(id), "m").finding(&sources);
        let text = finding.to_json().to_string();
        assert_eq!(
            text,
            r#"{"code":"too-large","severity":"warning","message":"m","file":"x.toml","line":null,"column":null,"hint":"split the content, or remove a part of it"}"#
        );
    }
}
