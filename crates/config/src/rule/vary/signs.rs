//! Characters that no `*` of an answer passes.

use converse_text::invisible::is_treacherous;

/// What a shell acts upon, or takes for the end of a command.
const ACTING: [char; 9] = [';', '|', '&', '$', '`', '<', '>', '(', ')'];
/// What could begin a quotation that goes on into what is written out.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

pub(super) fn acts(text: &str) -> bool {
    text.contains(ACTING)
}

/// Has no shape, or that of a blank.
pub(super) fn is_hidden(c: char) -> bool {
    is_treacherous(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{34f}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{fe00}'..='\u{fe0f}')
}

/// Looks like a sign of a shell, a dot or a slash, and may become one on the way.
fn is_lookalike(c: char) -> bool {
    matches!(c,
        '\u{37e}' | '\u{1fef}' // canonically `;` and a backquote
        | '\u{2024}'..='\u{2026}' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{2236}' // dots, slashes, a colon
        | '\u{2039}' | '\u{203a}' | '\u{2216}' | '\u{29f5}' | '\u{2223}' | '\u{a789}'
        | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe6f}' // forms for vertical text, small forms
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}'
        | '\u{3002}' | '\u{ffe0}'..='\u{ffee}')
}

/// May a `*` within a word stand for something with this in it? In an address `&` parts what is asked for.
pub(super) fn passes(text: &str, address: bool) -> bool {
    let stops = |c: char| {
        (ACTING.contains(&c) && !(address && c == '&'))
            || QUOTES.contains(&c)
            || c == ' '
            || is_hidden(c)
            || is_lookalike(c)
    };
    !text.contains(stops)
}

/// One of the words that may follow: nothing comes after them, so they may be quoted.
pub(super) fn passes_further(text: &str) -> bool {
    let stops = |c: char| ACTING.contains(&c) || is_hidden(c) || is_lookalike(c);
    !text.is_empty() && !text.contains(stops)
}
