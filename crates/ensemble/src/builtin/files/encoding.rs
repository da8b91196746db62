//! Text in the encodings people still have files in.
//!
//! Names are those of the WHATWG Encoding Standard (<https://encoding.spec.whatwg.org/#names-and-labels>) and
//! `cp866`. The surprising part: there `latin1` is windows-1252, which has more characters. Nothing is
//! replaced silently: bytes or characters that do not fit are an error.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::InvokeError;
use crate::builtin::arguments::shown;

/// How far into a file a NUL makes it binary.
const BINARY_PROBE: usize = 8 * 1024;

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// By name; UTF-8 if none is given.
    pub(super) fn named(name: Option<&str>) -> Result<Self, InvokeError> {
        let Some(name) = name else { return Ok(Self(UTF_8)) };
        let label = match name.trim().to_ascii_lowercase().replace('_', "-").as_str() {
            "cp1251" => "windows-1251".to_owned(),
            "cp1252" => "windows-1252".to_owned(),
            "koi8r" => "koi8-r".to_owned(),
            other => other.to_owned(),
        };
        Encoding::for_label_no_replacement(label.as_bytes()).map(Self).ok_or_else(|| {
            InvokeError::Invalid(format!(
                "`{}` is not a known encoding; known are utf-8, utf-16le, utf-16be, latin1, windows-1251, cp866, koi8-r, \
                 shift_jis, gb18030 and the others of the WHATWG standard",
                shown(name)
            ))
        })
    }

    /// The text of a file without its byte order mark, or what is wrong with it.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<String, String> {
        if self.0 == UTF_8 {
            return utf8(bytes);
        }
        let (text, malformed) = self.0.decode_with_bom_removal(bytes);
        if malformed {
            return Err(format!("its bytes are not {}", self.name()));
        }
        Ok(text.into_owned())
    }

    /// Returns the byte order mark of this encoding, if the bytes begin with it.
    pub(super) fn mark(self, bytes: &[u8]) -> &[u8] {
        match Encoding::for_bom(bytes) {
            Some((encoding, length)) if encoding == self.0 => bytes.get(..length).unwrap_or_default(),
            _ => &[],
        }
    }

    /// That these bytes, which are this text, would be the same when they are written again. One character may have
    /// several spellings, of which only one is written.
    pub(super) fn keeps(self, bytes: &[u8], text: &str) -> Result<(), String> {
        let unmarked = bytes.get(self.mark(bytes).len()..).unwrap_or_default();
        let again = self.encode(text);
        if again.as_deref() == Ok(unmarked) {
            return Ok(());
        }
        Err(format!(
            "the file has bytes that {} would encode differently, so the edit would change more than the passage",
            self.name()
        ))
    }

    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        // encoding_rs writes UTF-8 where UTF-16 is asked for, as web forms do.
        if self.0 == UTF_16LE {
            return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        }
        if self.0 == UTF_16BE {
            return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
        }
        let mut buffer = [0; 4];
        let fits = |character: char| !self.0.encode(character.encode_utf8(&mut buffer)).2;
        let (bytes, _, unmappable) = self.0.encode(text);
        if unmappable {
            let mut fits = fits;
            let first = text.chars().find(|character| !fits(*character)).unwrap_or_default();
            return Err(format!("{} has no character `{}`", self.name(), shown(&first.to_string())));
        }
        Ok(bytes.into_owned())
    }

    fn name(self) -> String {
        self.0.name().to_ascii_lowercase()
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (mark, name) in [(b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be")] {
        if bytes.starts_with(mark) {
            return Err(format!("it is not utf-8; it begins as {name} does: name that as `encoding`"));
        }
    }
    if is_binary(rest) {
        return Err(format!("it looks binary ({} bytes, with NUL bytes near its beginning)", bytes.len()));
    }
    std::str::from_utf8(rest).map(str::to_owned).map_err(|error| {
        let at = error.valid_up_to() + bytes.len() - rest.len();
        format!("it is not utf-8 (byte {at} does not fit); name its `encoding`, such as windows-1251, cp866, koi8-r or latin1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(name: &str) -> TextEncoding {
        TextEncoding::named(Some(name)).unwrap()
    }

    #[test]
    fn bytes_become_text_and_text_becomes_bytes() {
        for (name, bytes, text) in [
            ("utf-8", &b"\xd0\xb6"[..], "ж"),
            ("UTF8", b"a", "a"),
            ("windows-1251", b"\xe6", "ж"),
            ("cp1251", b"\xe6", "ж"),
            ("cp866", b"\xa6", "ж"),
            ("koi8-r", b"\xd6", "ж"),
            ("KOI8_R", b"\xd6", "ж"),
            ("latin1", b"\xe9", "é"),
            ("utf-16le", b"\x36\x04", "ж"),
            ("utf-16be", b"\x04\x36", "ж"),
            ("shift_jis", b"\x82\xa0", "あ"),
        ] {
            assert_eq!(encoding(name).decode(bytes).as_deref(), Ok(text), "{name}");
            assert_eq!(encoding(name).encode(text).as_deref(), Ok(bytes), "{name}");
        }
    }

    #[test]
    fn byte_order_marks_are_taken_off() {
        for (name, bytes) in
            [("utf-8", &b"\xef\xbb\xbfa"[..]), ("utf-16le", b"\xff\xfea\0"), ("utf-16be", b"\xfe\xff\0a")]
        {
            assert_eq!(encoding(name).decode(bytes).as_deref(), Ok("a"), "{name}");
        }
    }

    #[test]
    fn a_nul_near_the_beginning_makes_it_binary() {
        assert!(is_binary(b"a\0b") && !is_binary(b"abc") && !is_binary(b""));
        let late = [&[b'x'; BINARY_PROBE][..], b"\0"].concat();
        assert!(!is_binary(&late) && is_binary(&late[1..]));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (name, bytes, said) in [
            ("utf-8", &b"ab\xff"[..], "byte 2"),
            ("utf-8", b"\xef\xbb\xbfab\xff", "byte 5"),
            ("utf-8", b"a\0b", "binary (3 bytes"),
            ("utf-8", b"\xff\xfea\0", "utf-16le"),
            ("utf-8", b"\xfe\xff\0a", "utf-16be"),
            ("utf-16le", b"a", "not utf-16le"),
            ("utf-16le", b"\x00\xd8", "not utf-16le"),
            ("shift_jis", b"\x82", "not shift_jis"),
        ] {
            let error = encoding(name).decode(bytes).unwrap_err();
            assert!(error.contains(said), "{name}: {error}");
        }
        assert!(encoding("cp866").encode("a€b").unwrap_err().contains("`€`"));
        for name in ["ebcdic", "", "iso-2022-kr", "replacement"] {
            assert!(TextEncoding::named(Some(name)).is_err(), "{name}");
        }
    }
}
