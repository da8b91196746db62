//! A key in all the ways in which it may have been written.

/// What every key of the tests has in it (`crates/cli/tests/it/canary.rs`).
const KEY: &str = "canary-0123456789";

/// What is looked for, and how the key is written there.
#[derive(Debug)]
pub(super) struct Needle {
    pub(super) how: &'static str,
    pub(super) text: String,
}

pub(super) fn needles() -> Vec<Needle> {
    let key = KEY;
    let each = |write: fn(u8) -> String| key.bytes().map(write).collect::<String>();
    let mut forms = vec![
        Needle { how: "as it is", text: key.to_owned() },
        Needle { how: "backwards", text: key.chars().rev().collect() },
        Needle { how: "URL-encoded", text: key.replace('-', "%2D") },
        Needle { how: "URL-encoded in small letters", text: key.replace('-', "%2d") },
        Needle { how: "wholly URL-encoded", text: each(|byte| format!("%{byte:02X}")) },
        Needle { how: "escaped as JSON may be", text: key.replace('-', "\\u002d") },
        Needle { how: "escaped as JSON may be, in capitals", text: key.replace('-', "\\u002D") },
        Needle { how: "as an entity", text: key.replace('-', "&#45;") },
        Needle { how: "in hexadecimal", text: each(|byte| format!("{byte:02x}")) },
        Needle { how: "in hexadecimal capitals", text: each(|byte| format!("{byte:02X}")) },
        Needle {
            how: "as a list of bytes",
            text: key.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", "),
        },
        Needle { how: "in capitals", text: key.to_uppercase() },
    ];
    forms.extend((0..3).map(|before| Needle { how: "in base64", text: base64(key.as_bytes(), before) }));
    forms
}

/// What a text that has the key behind `before` more bytes (of three) surely has in it, whatever stands around. The key is
/// of letters, digits and `-`: none of its base64 is `+` or `/`, so both alphabets write it alike.
fn base64(key: &[u8], before: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Only groups of three bytes that are wholly the key's.
    let whole = key.get((3 - before) % 3..).unwrap_or_default();
    let sextets = whole.as_chunks::<3>().0.iter().flat_map(|[a, b, c]| {
        let bits = u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c);
        [18, 12, 6, 0].map(|shift| (bits >> shift) as usize & 63)
    });
    sextets.filter_map(|sextet| ALPHABET.get(sextet)).map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_wherever_the_key_begins() {
        // As `printf 'xxcanary-0123456789y' | base64` and so on write it.
        for (before, whole) in [
            (0, "Y2FuYXJ5LTAxMjM0NTY3ODl5"),
            (1, "eGNhbmFyeS0wMTIzNDU2Nzg5eQ=="),
            (2, "eHhjYW5hcnktMDEyMzQ1Njc4OXk="),
        ] {
            let needle = base64(b"canary-0123456789", before);
            assert!(needle.len() >= 16 && whole.contains(&needle), "{needle} {whole}");
        }
    }

    #[test]
    fn every_form_tells_enough() {
        assert!(needles().iter().all(|needle| needle.text.len() >= 16), "{:#?}", needles());
        assert_eq!(needles().len(), 15);
    }
}
