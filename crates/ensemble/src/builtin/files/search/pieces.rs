//! Finds the matches of an expression in a line, piece by piece.
//!
//! A search cannot be stopped, and a deliberately slow expression takes time with every byte. So a long line is
//! searched in pieces, with a check for cancellation before each. Pieces overlap; a match that is longer than the
//! overlap and crosses a cut may be missed.

use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::super::{JobError, cancelled};

/// Bytes that are searched at a time: less than half a second for the slowest expressions there can be.
const PIECE: usize = 8 * 1024;
const OVERLAP: usize = 2 * 1024;

/// The beginning of the first match in a line.
pub(super) fn first(
    pattern: &Regex,
    line: &str,
    cancel: &CancellationToken,
) -> Result<Option<usize>, JobError> {
    let mut from = 0;
    loop {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let end = line.floor_char_boundary(from + PIECE);
        // The text before a piece is visible to the expression (`^`, `\b`), the text after it is not.
        let found = pattern.find_at(line.get(..end).unwrap_or(line), from);
        from = match found {
            // `$` matches at a cut too: there it is looked at again, with the cut farther on.
            Some(found) if end < line.len() && found.end() == end && found.start() > from => found.start(),
            Some(found) => return Ok(Some(found.start())),
            None if end == line.len() => return Ok(None),
            None => line.floor_char_boundary(end - OVERLAP),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, line: &str) -> Option<usize> {
        first(&Regex::new(pattern).unwrap(), line, &CancellationToken::new()).unwrap()
    }

    #[test]
    fn a_match_is_found_wherever_it_stands() {
        assert_eq!(found("b+", "abb"), Some(1));
        assert_eq!((found("$", ""), found("x", "")), (Some(0), None));
        for at in [PIECE - 3, PIECE - 1, PIECE, PIECE - OVERLAP, 2 * PIECE - OVERLAP - 2, 5 * PIECE] {
            let line = format!("{}NEEDLE{}", "ж".repeat(at / 2), "x".repeat(PIECE));
            assert_eq!(found("NEEDLE", &line), Some(at / 2 * 2), "{at}");
            assert_eq!(found("NEEDLE.*", &line), Some(at / 2 * 2), "{at}");
        }
    }

    #[test]
    fn a_cut_is_neither_the_beginning_nor_the_end_of_a_line() {
        let line = "x".repeat(3 * PIECE);
        assert_eq!(found("^xy|y$", &line), None);
        assert_eq!(found("x$", &line), Some(line.len() - 1));
        assert_eq!(found("$", &line), Some(line.len()));
        assert_eq!(found(r"\bx\b", &line), None);
        assert_eq!(found("^x", &line), Some(0));
    }

    #[test]
    fn a_search_is_given_up_between_two_pieces() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(first(&Regex::new("x").unwrap(), "x", &cancel).is_err());
    }
}
