//! Decodes bytes in a result and checks their size and type. A provider refuses the whole request for one invalid
//! picture.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use converse_canister::media::magic;

/// Bytes of one media block.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Some servers omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why bytes were rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    NotBase64,
    /// Too long, or not of the declared type.
    NotShown,
}

/// Returns the number of bytes after decoding.
pub(super) fn size(data: &str) -> usize {
    data.trim().trim_end_matches('=').len() * 3 / 4
}

/// Decodes at most `most` bytes of any type.
pub(crate) fn plain(data: &str, most: usize) -> Result<Vec<u8>, Refused> {
    if size(data) > most {
        return Err(Refused::NotShown);
    }
    BASE64.decode(data.trim()).map_err(|_| Refused::NotBase64)
}

pub(super) fn decoded(data: &str, mime: &str) -> Result<Vec<u8>, Refused> {
    let bytes = plain(data, MAX_BYTES)?;
    if is_what_it_says(mime, &bytes) { Ok(bytes) } else { Err(Refused::NotShown) }
}

/// Decodes a text that was sent as base64.
pub(super) fn words(data: &str) -> Option<String> {
    String::from_utf8(plain(data, MAX_BYTES).ok()?).ok().filter(|text| !text.contains('\0'))
}

/// Checks the first bytes of picture types; other types are trusted.
fn is_what_it_says(mime: &str, bytes: &[u8]) -> bool {
    match mime {
        "image/jpg" => magic(bytes) == Some("image/jpeg"),
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => magic(bytes) == Some(mime),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        let (png, jpeg, gif) = (&b"\x89PNG\r\n\x1a\n..."[..], &b"\xff\xd8\xff\xe0"[..], &b"GIF89a"[..]);
        let webp = b"RIFF\x01\x02\x03\x04WEBPVP8 ";
        for (mime, bytes) in [
            ("image/png", png),
            ("image/jpeg", jpeg),
            ("image/jpg", jpeg),
            ("image/gif", gif),
            ("image/gif", b"GIF87a"),
            ("image/webp", webp),
        ] {
            let data = BASE64.encode(bytes);
            assert_eq!(decoded(&data, mime), Ok(bytes.to_vec()), "{mime}");
            let other = if mime == "image/png" { jpeg } else { png };
            assert_eq!(decoded(&BASE64.encode(other), mime), Err(Refused::NotShown), "{mime}");
            assert_eq!(decoded("", mime), Err(Refused::NotShown), "{mime}");
        }
        assert_eq!(
            decoded(&BASE64.encode(b"RIFF\x01\x02\x03\x04WAVE"), "image/webp"),
            Err(Refused::NotShown)
        );
        for mime in ["image/svg+xml", "audio/wav", "application/octet-stream"] {
            assert_eq!(decoded("AAAA", mime), Ok(vec![0; 3]), "{mime}");
        }
    }

    #[test]
    fn sizes_are_known_without_decoding() {
        for bytes in 0..20 {
            let data = BASE64.encode(vec![7; bytes]);
            assert_eq!(size(&data), bytes);
            assert_eq!(size(data.trim_end_matches('=')), bytes);
        }
        let (most, more) = (BASE64.encode(vec![0; MAX_BYTES]), BASE64.encode(vec![0; MAX_BYTES + 1]));
        assert_eq!(decoded(&most, "audio/wav").map(|bytes| bytes.len()), Ok(MAX_BYTES));
        assert_eq!(decoded(&more, "audio/wav"), Err(Refused::NotShown));
    }
}
