//! What an import says about a document: findings with a code and a place.

use converse_config::{Code, Finding, Severity, escape};
use converse_text::shorten;
use converse_text::wording::counted;

/// The largest number of findings; the rest is counted.
const MAX_FINDINGS: usize = 200;

/// A position from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn step(&mut self, passed: char) {
        if passed == '\n' {
            *self = Self { line: self.line + 1, column: 1 };
        } else {
            self.column += 1;
        }
    }
}

/// All findings about one document.
pub(super) struct Findings {
    file: String,
    list: Vec<Finding>,
    more: usize,
}

impl Findings {
    pub(super) fn of(file: &str) -> Self {
        Self { file: escape(file), list: Vec::new(), more: 0 }
    }

    /// Findings about the same document, to be added or dropped.
    pub(super) fn nested(&self) -> Self {
        Self { file: self.file.clone(), list: Vec::new(), more: 0 }
    }

    pub(super) fn add(&mut self, said: Self) {
        for finding in said.list {
            if self.list.len() < MAX_FINDINGS { self.list.push(finding) } else { self.more += 1 }
        }
        self.more += said.more;
    }

    pub(super) fn error(&mut self, code: Code, place: Place, message: String, hint: Option<String>) {
        self.push(Severity::Error, code, Some(place), message, hint);
    }

    /// A finding about an option, which is named without its dashes.
    pub(super) fn option(
        &mut self,
        severity: Severity,
        code: Code,
        option: &str,
        message: String,
        hint: Option<String>,
    ) {
        let mut own = Self { file: format!("--{option}"), list: Vec::new(), more: 0 };
        own.push(severity, code, None, message, hint);
        self.list.append(&mut own.list);
    }

    /// An error of the document as a whole.
    pub(super) fn whole(&mut self, code: Code, message: String, hint: Option<String>) {
        self.push(Severity::Error, code, None, message, hint);
    }

    pub(super) fn warning(&mut self, code: Code, place: Place, message: String) {
        self.push(Severity::Warning, code, Some(place), message, None);
    }

    fn push(
        &mut self,
        severity: Severity,
        code: Code,
        place: Option<Place>,
        message: String,
        hint: Option<String>,
    ) {
        if severity == Severity::Warning && self.list.len() >= MAX_FINDINGS {
            self.more += 1;
            return;
        }
        let hint = Some(hint.unwrap_or_else(|| code.hint().to_owned()));
        let (line, column) = (place.map(|place| place.line), place.map(|place| place.column));
        let finding = Finding { code, severity, message, file: self.file.clone(), line, column, hint };
        if !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    pub(super) fn into_list(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let message = format!("{} in the document not shown", counted(self.more, "more finding"));
            self.list.push(Finding {
                code: Code::MoreProblems,
                severity: Severity::Warning,
                message,
                file: self.file,
                line: None,
                column: None,
                hint: None,
            });
        }
        self.list
    }
}

/// A text of the document on one line, shortened and escaped.
pub(super) fn shown(text: &str) -> String {
    escape(&shorten::bytes(text, 80))
}

/// The same in backticks.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shown(text))
}

/// A text for a model: one line of at most so many bytes, and nothing if it may hold a secret.
pub(super) fn prose(text: &str, most: usize) -> String {
    let head = text.get(..text.floor_char_boundary(most * 4)).unwrap_or(text);
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !converse_text::is_unsafe(*c)).collect();
    if crate::text::text_holds_secret(&line) {
        return String::new();
    }
    shorten::within_bytes(&line, most).into_owned()
}
