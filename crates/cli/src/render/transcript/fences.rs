//! Code blocks in a text of Markdown: the only thing of it that is understood here. What stands in one is code, whatever
//! it looks like; one that is never closed goes to the end, and no further.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Words(&'t str),
    Code { language: &'t str, code: &'t str },
}

/// The pieces of a text, in their order; without the lines of the fences.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut fenced_from) = (0, 0, 0);
    let mut open: Option<(Fence, &str)> = None;
    for line in text.split_inclusive('\n') {
        let (begins, ends) = (at, at + line.len());
        at = ends;
        match (&open, Fence::of(line)) {
            (None, Some((fence, language))) => {
                push(&mut pieces, Piece::Words(text.get(start..begins).unwrap_or_default()));
                open = Some((fence, language));
                (start, fenced_from) = (ends, begins);
            }
            (Some((opened, language)), Some((fence, ""))) if fence.closes(*opened) => {
                let code = text.get(start..begins).unwrap_or_default();
                pieces.push(Piece::Code { language, code });
                open = None;
                start = ends;
            }
            _ => {}
        }
    }
    let rest = text.get(start..).unwrap_or_default();
    match open {
        // A box with nothing in it: somebody ended what had not begun.
        Some(_) if rest.trim().is_empty() => {
            push(&mut pieces, Piece::Words(text.get(fenced_from..).unwrap_or_default()));
        }
        Some((_, language)) => pieces.push(Piece::Code { language, code: rest }),
        None => push(&mut pieces, Piece::Words(rest)),
    }
    pieces
}

fn push<'t>(pieces: &mut Vec<Piece<'t>>, piece: Piece<'t>) {
    if !matches!(piece, Piece::Words(words) if words.trim().is_empty()) {
        pieces.push(piece);
    }
}

/// The text, with what is open at its end closed: so that what follows is not part of it.
pub(super) fn closed(text: &str) -> String {
    let mut open: Option<Fence> = None;
    for line in text.lines() {
        match (open, Fence::of(line)) {
            (None, Some((fence, _))) => open = Some(fence),
            (Some(opened), Some((fence, ""))) if fence.closes(opened) => open = None,
            _ => {}
        }
    }
    let text = text.trim_end_matches('\n');
    match open {
        Some(Fence { sign, length }) => format!("{text}\n{}", sign.to_string().repeat(length)),
        None => text.to_owned(),
    }
}

/// Code in a fence that is longer than any in it.
pub(super) fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", code.trim_end_matches('\n'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    /// CommonMark 0.31, section 4.5 (spec.commonmark.org, checked 2026-11): three or more of a sign, at most three
    /// blanks before it, and no backtick behind backticks. With what is said of the code.
    fn of(line: &str) -> Option<(Self, &str)> {
        let line = line.trim_end();
        let inner = line.trim_start_matches(' ');
        let sign = inner.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let rest = inner.trim_start_matches(sign);
        let length = inner.len() - rest.len();
        let sound = line.len() - inner.len() <= 3 && length >= 3 && !(sign == '`' && rest.contains('`'));
        sound.then_some((Self { sign, length }, rest.trim()))
    }

    fn closes(self, opened: Self) -> bool {
        self.sign == opened.sign && self.length >= opened.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_words() {
        use Piece::{Code, Words};
        for (text, expected) in [
            ("plain", vec![Words("plain")]),
            (
                "a\n```rust\nfn x() {}\n```\nb",
                vec![Words("a\n"), Code { language: "rust", code: "fn x() {}\n" }, Words("b")],
            ),
            ("````\n```\n````\n", vec![Code { language: "", code: "```\n" }]),
            ("~~~\n```\n~~~", vec![Code { language: "", code: "```\n" }]),
            ("```\nnever closed", vec![Code { language: "", code: "never closed" }]),
            ("```\n``` not closing\nx\n```", vec![Code { language: "", code: "``` not closing\nx\n" }]),
            ("words\n```\n", vec![Words("words\n"), Words("```\n")]),
            ("    ```\nindented", vec![Words("    ```\nindented")]),
            ("``` a`b", vec![Words("``` a`b")]),
            ("", vec![]),
        ] {
            assert_eq!(pieces(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_code_gets_out_of_its_fence() {
        for code in ["x", "```\nout", "a ````` b", "~~~", ""] {
            let text = format!("{}\nafter", fenced("", code));
            let [Piece::Code { code: inside, .. }, Piece::Words("after")] = pieces(&text)[..] else {
                panic!("{text}")
            };
            assert_eq!(inside.trim_end_matches('\n'), code);
        }
        for text in ["```\nopen", "~~~~\n~~~", "fine", "```\nx\n```"] {
            let text = format!("{}\n\nafter", closed(text));
            assert!(
                matches!(pieces(&text).last(), Some(Piece::Words(words)) if words.contains("after")),
                "{text}"
            );
        }
    }
}
