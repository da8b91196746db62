//! Types of files that models accept, detected by the first bytes, because names and servers may be wrong.

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, with the media type from the name.
    Text,
    /// An image, PDF file or recording with this MIME type.
    Bytes(&'static str),
}

/// Returns the type of a file.
///
/// # Errors
///
/// Why no model accepts the file.
pub fn of(bytes: &[u8]) -> Result<Kind, &'static str> {
    match foreign(bytes) {
        Some(what) => Err(what),
        None => {
            magic(bytes).map(Kind::Bytes).or_else(|| is_text(bytes).then_some(Kind::Text)).ok_or_else(|| {
                match bytes {
                    [] => "the file is empty",
                    [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                        "the text is UTF-16, not UTF-8; convert it with `iconv -f utf-16 -t utf-8`"
                    }
                    _ if bytes.contains(&0) => "the file type is unknown",
                    _ => "the file type is unknown, and the content is not UTF-8 text",
                }
            })
        }
    }
}

/// Returns the media type of an image, a PDF file or a recording.
pub fn magic(bytes: &[u8]) -> Option<&'static str> {
    let form = bytes.get(8..12);
    Some(match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', ..] if form == Some(b"WEBP") => "image/webp",
        [b'R', b'I', b'F', b'F', ..] if form == Some(b"WAVE") => "audio/wav",
        [b'F', b'O', b'R', b'M', ..] if form == Some(b"AIFF") || form == Some(b"AIFC") => "audio/aiff",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'I', b'D', b'3', ..] | [0xff, 0xfb | 0xfa | 0xf3 | 0xf2, ..] => "audio/mpeg",
        [0xff, 0xf1 | 0xf9, ..] => "audio/aac",
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand {
            [b'h', b'e', b'i' | b'v', b'c' | b'x', ..] => "image/heic",
            [b'm', b'i' | b's', b'f', b'1', ..] => "image/heif",
            _ => return None,
        },
        // PDF readers search the first 1024 bytes: ISO 32000-1, appendix H, note 13.
        _ if bytes.get(..bytes.len().min(1024))?.windows(5).any(|five| five == b"%PDF-") => "application/pdf",
        _ => return None,
    })
}

/// Common types that no model accepts, with names for the message.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => "BMP images are not supported; convert the file to PNG",
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => {
            "TIFF images are not supported; convert the file to PNG"
        }
        [b'P', b'K', 3, 4, ..] => {
            "archives and office documents are not supported; convert the file to PDF or text"
        }
        [0x1f, 0x8b, ..] => "the file is compressed; unpack it",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] if magic(bytes).is_none() => "video is not supported",
        _ => return None,
    })
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty() && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// Returns the media type of a text by the end of its name.
pub fn text_mime(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("xml") => "application/xml",
        Some("svg") => "image/svg+xml",
        Some("toml") => "application/toml",
        Some("yaml" | "yml") => "application/yaml",
        _ => "text/plain",
    }
}

/// Returns the media type of a text by the server's `Content-Type`, if it is a text type.
pub fn declared_text_mime(declared: &str) -> Option<&'static str> {
    let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match declared.as_str() {
        "text/markdown" | "text/x-markdown" => "text/markdown",
        "text/html" => "text/html",
        "text/csv" => "text/csv",
        "application/json" => "application/json",
        "application/xml" | "text/xml" => "application/xml",
        "image/svg+xml" => "image/svg+xml",
        "application/toml" => "application/toml",
        "application/yaml" | "text/yaml" | "application/x-yaml" => "application/yaml",
        _ => return None,
    })
}

/// Returns whether the server's `Content-Type` fits the detected type. A generic one fits every type.
pub fn agrees(declared: &str, kind: Kind) -> bool {
    let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let sort = |mime: &str| mime.split('/').next().unwrap_or_default().to_owned();
    match (declared.as_str(), kind) {
        ("" | "application/octet-stream" | "binary/octet-stream", _) => true,
        ("application/pdf" | "application/x-pdf", kind) => kind == Kind::Bytes("application/pdf"),
        ("image/svg+xml", kind) => kind == Kind::Text,
        // Ogg has both names.
        ("application/ogg" | "video/ogg", kind) => kind == Kind::Bytes("audio/ogg"),
        (declared, Kind::Bytes(mime)) => sort(declared) == sort(mime) && mime != "application/pdf",
        (declared, Kind::Text) => !matches!(sort(declared).as_str(), "image" | "audio" | "video" | "font"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_bytes_are() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"FORM\0\0\0\0AIFF", "audio/aiff"),
            (b"fLaC\0", "audio/flac"),
            (b"OggS\0", "audio/ogg"),
            (b"ID3\x04", "audio/mpeg"),
            (b"\xff\xfb\x90\x44", "audio/mpeg"),
            (b"\xff\xf1\x50", "audio/aac"),
            (b"\0\0\0\x18ftypheic", "image/heic"),
            (b"\0\0\0\x18ftypmif1", "image/heif"),
            (b"\n\n%PDF-1.7\n\xe2\xe3", "application/pdf"),
        ] {
            assert_eq!(of(bytes), Ok(Kind::Bytes(kind)), "{kind}");
        }
        for text in ["plain", "\u{feff}with a mark", "Привет", "<svg/>", "BM is no picture"] {
            assert_eq!(of(text.as_bytes()), Ok(Kind::Text), "{text}");
        }
    }

    #[test]
    fn what_no_model_takes_is_called_by_its_name() {
        for (bytes, word) in [
            (&b""[..], "empty"),
            (b"BM\x10\0\0\0\0\0\0\0", "BMP"),
            (b"II*\0", "TIFF"),
            (b"PK\x03\x04", "office"),
            (b"\x1f\x8b\x08", "compressed"),
            (b"\0\0\0\x18ftypisom", "video"),
            (b"\xff\xfeh\0i\0", "UTF-16"),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", "UTF-8"),
            (b"a\0b", "unknown"),
        ] {
            assert!(of(bytes).unwrap_err().contains(word), "{bytes:?}");
        }
    }

    #[test]
    fn a_server_may_be_vague_and_not_wrong() {
        let (png, pdf) = (Kind::Bytes("image/png"), Kind::Bytes("application/pdf"));
        for (declared, kind, agreed) in [
            ("image/png", png, true),
            ("image/jpeg; q=1", png, true),
            ("", png, true),
            ("application/octet-stream", Kind::Text, true),
            ("text/html", png, false),
            ("text/html; charset=utf-8", Kind::Text, true),
            ("image/png", Kind::Text, false),
            ("image/svg+xml", Kind::Text, true),
            ("application/json", Kind::Text, true),
            ("application/pdf", pdf, true),
            ("application/pdf", Kind::Text, false),
            ("application/json", pdf, false),
        ] {
            assert_eq!(agrees(declared, kind), agreed, "{declared} {kind:?}");
        }
    }
}
