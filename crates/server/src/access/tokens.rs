//! A list of tokens. Only their digests are kept, so that a token cannot leak.

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::sync::watch;

use super::bearer::is_token;

/// Minimum bytes of a token; shorter tokens can be guessed.
const MIN_BYTES: usize = 16;
const MAX_TOKENS: usize = 1_000;

/// The tokens that give access. They can be replaced at any time.
#[derive(Debug)]
pub struct Tokens(watch::Sender<Vec<Digest>>);

/// SHA-256 of a token.
pub(super) type Digest = [u8; 32];

/// Why a list of tokens is not valid. Names the line, never its text.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TokenError {
    #[error("there is no token; write one per line, for example from `openssl rand -hex 32`")]
    Empty,
    #[error("line {0} is not a token: expected letters, digits and -._~+/ without blanks")]
    Malformed(usize),
    #[error(
        "the token in line {0} is too short: expected at least {MIN_BYTES} characters, for example from `openssl rand -hex 32`"
    )]
    Short(usize),
    #[error("there are more than {MAX_TOKENS} tokens; use an authorization server")]
    Many,
}

impl Tokens {
    /// Reads one token per line. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    ///
    /// Fails if a line is not a token, or if there are too many tokens or none.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        match digests(text)? {
            none if none.is_empty() => Err(TokenError::Empty),
            digests => Ok(Self(watch::Sender::new(digests))),
        }
    }

    /// Replaces the tokens; an empty list admits no request.
    ///
    /// # Errors
    ///
    /// Fails if the list is not valid. Then the old tokens stay.
    pub fn replace(&self, text: &str) -> Result<(), TokenError> {
        self.0.send_replace(digests(text)?);
        Ok(())
    }

    /// Returns whether the list is empty, so that no request is admitted.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Returns the digest of a known token, in constant time.
    pub(super) fn find(&self, token: &str) -> Option<Digest> {
        let asked: Digest = Sha256::digest(token).into();
        let mut is_known = false;
        for digest in self.0.borrow().iter() {
            let differs = digest.iter().zip(asked).fold(0, |differs, (one, other)| differs | (one ^ other));
            is_known |= differs == 0;
        }
        is_known.then_some(asked)
    }

    /// Resolves when the token is removed from the list.
    pub(super) async fn removed(&self, digest: &Digest) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.0.subscribe().wait_for(|known| !known.contains(digest)).await;
    }
}

/// Returns a label for records: the beginning of the digest, from which the token cannot be guessed.
pub(super) fn label(digest: &Digest) -> String {
    let start: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("token {start}")
}

fn digests(text: &str) -> Result<Vec<Digest>, TokenError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let digests: Vec<Digest> = lines.map(|(number, line)| digest(number, line)).collect::<Result<_, _>>()?;
    match digests.len() {
        count if count > MAX_TOKENS => Err(TokenError::Many),
        _ => Ok(digests),
    }
}

fn digest(number: usize, line: &str) -> Result<Digest, TokenError> {
    match () {
        () if !is_token(line) => Err(TokenError::Malformed(number)),
        () if line.len() < MIN_BYTES => Err(TokenError::Short(number)),
        () => Ok(Sha256::digest(line).into()),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const ONE: &str = "0123456789abcdef";
    const TWO: &str = "fedcba9876543210";

    #[test]
    fn tokens_are_found_by_their_digest_only() {
        let tokens = Tokens::read(&format!("# of the build\n{ONE}\r\n\n  {TWO}\n")).unwrap();
        // `printf 0123456789abcdef | sha256sum`
        assert_eq!(tokens.find(ONE).as_ref().map(label).as_deref(), Some("token 9f9f5111"));
        assert!(tokens.find(TWO).is_some());
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "# of the build"] {
            assert_eq!(tokens.find(other), None, "{other}");
        }
        assert!(!format!("{tokens:?}").contains(ONE));
    }

    #[test]
    fn a_list_that_cannot_be_read_changes_nothing() {
        let tokens = Tokens::read(ONE).unwrap();
        for (text, error) in [
            ("0123456789abcdef\nshort", TokenError::Short(2)),
            ("0123456789 abcdef", TokenError::Malformed(1)),
        ] {
            assert_eq!(tokens.replace(text), Err(error), "{text}");
            assert!(tokens.find(ONE).is_some());
        }
        let many: String = (0..=MAX_TOKENS).map(|index| format!("{ONE}{index}\n")).collect();
        assert_eq!(tokens.replace(&many), Err(TokenError::Many));
        tokens.replace(TWO).unwrap();
        assert_eq!([ONE, TWO].map(|token| tokens.find(token).is_some()), [false, true]);
    }

    #[tokio::test]
    async fn an_empty_list_lets_nobody_in_and_is_none_to_begin_with() {
        for text in ["", "# nothing\n"] {
            assert_eq!(Tokens::read(text).map(|_| ()), Err(TokenError::Empty), "{text}");
            let tokens = Tokens::read(ONE).unwrap();
            let digest = tokens.find(ONE).unwrap();
            assert!(!tokens.is_empty() && tokens.removed(&digest).now_or_never().is_none());
            tokens.replace(text).unwrap();
            assert!(tokens.is_empty() && tokens.find(ONE).is_none());
            assert!(tokens.removed(&digest).now_or_never().is_some());
        }
    }
}
