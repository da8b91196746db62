//! [`Problem`]: what is wrong with a command or a skill, and where.

/// A line and a column, both counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The beginning of a file.
    pub(crate) const TOP: Self = Self { line: 1, column: 1 };
}

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The front matter is not a mapping in YAML.
    Syntax,
    BadName,
    BadValue,
    MissingKey,
    UnknownKey,
    /// A limit of bytes, files or names.
    TooLarge,
    NotUtf8,
    Unreadable,
}

/// A problem of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The path as it is shown. Empty until it is known.
    pub path: String,
    pub place: Place,
    /// One line, which may quote the file.
    pub message: String,
    /// Whether what the file says is not used.
    pub is_error: bool,
}

impl Problem {
    pub(crate) fn error(kind: ProblemKind, place: Place, message: impl Into<String>) -> Self {
        Self { kind, path: String::new(), place, message: message.into(), is_error: true }
    }

    pub(crate) fn warning(kind: ProblemKind, place: Place, message: impl Into<String>) -> Self {
        Self { is_error: false, ..Self::error(kind, place, message) }
    }

    #[must_use]
    pub(crate) fn of(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }
}
