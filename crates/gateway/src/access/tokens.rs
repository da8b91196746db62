//! Tokens that were agreed on beforehand. Kept as digests: what is not here cannot leak from here.

use std::sync::{PoisonError, RwLock};

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::bearer::is_token;

/// Shorter ones can be guessed.
const MIN_BYTES: usize = 16;
const MAX_TOKENS: usize = 1_000;

/// The tokens that are let in; they may change while requests come.
#[derive(Debug)]
pub struct Tokens(RwLock<Vec<[u8; 32]>>);

/// Why a list of tokens is not taken. Says the line, never what stands there.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TokenError {
    #[error("there is no token: put one on a line of its own, for example from `openssl rand -hex 32`")]
    Empty,
    #[error("line {0} is no token: letters, digits and -._~+/ with no blank between them")]
    Malformed(usize),
    #[error(
        "the token of line {0} is too short: at least {MIN_BYTES} characters, for example from `openssl rand -hex 32`"
    )]
    Short(usize),
    #[error("there are more than {MAX_TOKENS} tokens: use an authorization server")]
    Many,
}

impl Tokens {
    /// One a line; empty lines and those that begin with `#` are passed over.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        Ok(Self(RwLock::new(digests(text)?)))
    }

    /// From now on these. If they cannot be read the old ones stay.
    pub fn replace(&self, text: &str) -> Result<(), TokenError> {
        let digests = digests(text)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = digests;
        Ok(())
    }

    /// Which one it is, counted from 1. Takes as long whether it is there or not.
    pub(super) fn find(&self, token: &str) -> Option<usize> {
        let asked: [u8; 32] = Sha256::digest(token).into();
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for (index, digest) in known.iter().enumerate() {
            let differs = digest.iter().zip(asked).fold(0, |differs, (one, other)| differs | (one ^ other));
            if differs == 0 {
                found = Some(index + 1);
            }
        }
        found
    }
}

fn digests(text: &str) -> Result<Vec<[u8; 32]>, TokenError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let digests: Vec<[u8; 32]> =
        lines.map(|(number, line)| digest(number, line)).collect::<Result<_, _>>()?;
    match digests.len() {
        0 => Err(TokenError::Empty),
        count if count > MAX_TOKENS => Err(TokenError::Many),
        _ => Ok(digests),
    }
}

fn digest(number: usize, line: &str) -> Result<[u8; 32], TokenError> {
    match () {
        () if !is_token(line) => Err(TokenError::Malformed(number)),
        () if line.len() < MIN_BYTES => Err(TokenError::Short(number)),
        () => Ok(Sha256::digest(line).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef";
    const TWO: &str = "fedcba9876543210";

    #[test]
    fn tokens_are_found_by_their_digest_only() {
        let tokens = Tokens::read(&format!("# of the build\n{ONE}\r\n\n  {TWO}\n")).unwrap();
        assert_eq!([ONE, TWO].map(|token| tokens.find(token)), [Some(1), Some(2)]);
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "# of the build"] {
            assert_eq!(tokens.find(other), None, "{other}");
        }
        assert!(!format!("{tokens:?}").contains(ONE));
    }

    #[test]
    fn a_list_that_cannot_be_read_changes_nothing() {
        let tokens = Tokens::read(ONE).unwrap();
        for (text, error) in [
            ("", TokenError::Empty),
            ("# nothing\n", TokenError::Empty),
            ("0123456789abcdef\nshort", TokenError::Short(2)),
            ("0123456789 abcdef", TokenError::Malformed(1)),
        ] {
            assert_eq!(tokens.replace(text), Err(error), "{text}");
            assert_eq!(tokens.find(ONE), Some(1));
        }
        let many: String = (0..=MAX_TOKENS).map(|index| format!("{ONE}{index}\n")).collect();
        assert_eq!(tokens.replace(&many), Err(TokenError::Many));
        tokens.replace(TWO).unwrap();
        assert_eq!([ONE, TWO].map(|token| tokens.find(token)), [None, Some(1)]);
    }
}
