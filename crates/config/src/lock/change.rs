//! One difference between two definitions.

/// Where it is, and what it is in a line. The line is safe to be shown: what is invisible in it is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// An RFC 6901 pointer into the definition.
    pub pointer: String,
    /// ``default of `limit`: 10 → 1000``.
    pub line: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}
