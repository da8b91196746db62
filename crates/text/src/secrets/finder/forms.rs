//! The texts in which a secret is looked for: as it is, and in encodings that hide it from a plain search.
//!
//! Base64 depends on what precedes the secret: the encoding of a longer text has it in one of three alignments. Only the
//! characters that are made of the secret alone are looked for. Percent encoding and line breaks are not forms but
//! [folded](super::folded()) away, because an encoder may choose which bytes it encodes.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::folded::{folded, joined};

/// A shorter beginning is not specific enough.
const SHORTEST: usize = 6;

/// A text that shows a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) text: Vec<u8>,
    /// Bytes at the beginning that are enough to recognise the secret.
    pub(super) telling: usize,
    /// Whether another character of Base64 has the last bits of the secret.
    pub(super) is_partial: bool,
    /// Whether padding may follow.
    pub(super) is_padded: bool,
}

/// Returns the forms of a secret that is recognised by its first `telling` bytes.
pub(super) fn forms(secret: &[u8], telling: usize) -> Vec<Form> {
    let beginning = secret.get(..telling).unwrap_or(secret);
    let plain = |text: Vec<u8>, telling: usize| {
        let telling = telling.min(text.len());
        Form { text, telling, is_partial: false, is_padded: false }
    };
    let mut forms = vec![plain(secret.to_vec(), telling)];
    // What folding makes of the secret, and of its percent encoding.
    for fold in [folded, joined] {
        let (text, start) = (fold(secret), fold(beginning).len());
        let spaced = text.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect();
        forms.extend([plain(text, start), plain(spaced, start)]);
    }
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        forms.push(plain(hex(secret, digits), 2 * telling));
    }
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let (text, is_partial) = within(engine, secret, before);
            let (start, _) = within(engine, beginning, before);
            forms.push(Form { text, telling: start.len(), is_partial, is_padded: true });
        }
    }
    let mut distinct = Vec::with_capacity(forms.len());
    for form in forms {
        if form.telling >= SHORTEST && !distinct.contains(&form) {
            distinct.push(form);
        }
    }
    distinct
}

fn hex(bytes: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let digit = |nibble: u8| digits.get(usize::from(nibble)).copied().unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the characters of an encoding that have bits of `secret` only, if so many bytes are `before` it, and whether
/// bits are left over.
fn within(engine: &GeneralPurpose, secret: &[u8], before: usize) -> (Vec<u8>, bool) {
    let whole = [vec![0; before], secret.to_vec()].concat();
    let is_partial = !whole.len().is_multiple_of(3);
    let mut text = engine.encode(whole).into_bytes();
    if is_partial {
        text.pop();
    }
    (text.split_off((8 * before).div_ceil(6).min(text.len())), is_partial)
}
