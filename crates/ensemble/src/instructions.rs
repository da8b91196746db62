//! [`Instructions`]: what a server tells models about its tools.

use converse_canister::Digest;
use converse_text::{safe, shorten};
use sha2::{Digest as _, Sha256};

/// Bytes of one server's instructions that a model is shown.
pub const MAX_INSTRUCTIONS: usize = 2 * 1024;
/// Bytes that are kept until secrets are redacted, so that a secret is not cut before it is found.
const MAX_KEPT: usize = 64 * 1024;

/// The instructions of a server: foreign text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    pub text: String,
    /// SHA-256 of the whole text as the server sent it, as in a lockfile.
    pub sha256: Digest,
}

impl Instructions {
    /// Returns `None` if the text is blank.
    pub fn new(text: &str) -> Option<Self> {
        let sha256 = Digest(Sha256::digest(text).into());
        let text = shorten::within_bytes(text.trim(), MAX_KEPT).into_owned();
        (!text.is_empty()).then_some(Self { text, sha256 })
    }

    /// Limits the text to [`MAX_INSTRUCTIONS`].
    #[must_use]
    pub fn shortened(self) -> Self {
        Self { text: shorten::within_bytes(&self.text, MAX_INSTRUCTIONS).into_owned(), ..self }
    }

    /// Returns the text with each line marked as quoted, and with invisible characters escaped.
    pub fn quoted(&self) -> String {
        self.text.lines().map(|line| format!("> {}", safe(line)).trim_end().to_owned() + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short_and_quoted() {
        assert_eq!(Instructions::new(" \n"), None);
        let long = "é".repeat(MAX_KEPT);
        let all = Instructions::new(&long).unwrap();
        assert!(all.text.len() <= MAX_KEPT && all.text.len() > MAX_INSTRUCTIONS);
        assert_eq!(all.sha256, Digest(Sha256::digest(&long).into()));
        assert!(all.shortened().text.len() <= MAX_INSTRUCTIONS);
        let told = Instructions::new("one\r\n\n\u{1b}[31mtwo\u{202e}\n> three\n").unwrap().quoted();
        assert_eq!(told, "> one\n>\n> \\x1b[31mtwo\\u{202e}\n> > three\n");
    }
}
