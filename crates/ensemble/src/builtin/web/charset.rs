//! From bytes to text: by the mark at the beginning, by what the server says, by what the page says, by looking.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far browsers look for `<meta charset>`: <https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding>
/// (checked 2026-11).
const PRESCAN: usize = 1024;

/// `declared` is the `Content-Type`. A mark at the beginning outranks everything.
pub(super) fn decode(bytes: &[u8], declared: Option<&str>, is_html: bool) -> String {
    let said = declared.and_then(of_header).or_else(|| is_html.then(|| of_meta(bytes)).flatten());
    let encoding = said.unwrap_or_else(|| guess(bytes));
    encoding.decode(bytes).0.into_owned()
}

fn of_header(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let label = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(label.as_bytes()))?
    })
}

/// `<meta charset="x">`, or `<meta http-equiv="Content-Type" content="text/html; charset=x">`: in both the label
/// follows the word.
fn of_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..PRESCAN).unwrap_or(bytes).to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let tags = head.split("<meta").skip(1).map(|rest| rest.split_once('>').map_or(rest, |(tag, _)| tag));
    let labels = tags.filter_map(|tag| {
        let (_, after) = tag.split_once("charset")?;
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        value.split(['"', '\'', ';', ' ', '/']).next()
    });
    let found = labels.filter_map(|label| Encoding::for_label(label.as_bytes())).next()?;
    // If the tags can be read as ASCII, the page does not have such an encoding, even if it declares one.
    let wide = found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE;
    Some(if wide { UTF_8 } else { found })
}

/// Text is UTF-8 or it is old. A cut may have gone through the last character.
fn guess(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_found() {
        let html = |bytes: &[u8], declared| decode(bytes, declared, true);
        let old = b"<meta charset='windows-1251'>\xcf\xf0\xe8";
        assert!(html(old, None).ends_with("При"));
        assert!(html(old, Some("text/html")).ends_with("При"));
        assert!(
            html(b"<meta http-equiv=Content-Type content=\"text/html; charset=koi8-r\">\xf0", None)
                .ends_with('П')
        );
        assert_eq!(html(b"\xcf\xf0\xe8", Some("text/html; Charset=\"windows-1251\"")), "При");
        assert!(html(b"<meta charset=koi8-r>\xcf", Some("text/html;charset=windows-1251")).ends_with('П'));
        assert!(html(b"<META CHARSET=utf-16le>\xd0\x9f", None).ends_with('П'));
        assert_eq!(
            html(b"\xef\xbb\xbf\xd0\x9f", Some("text/html; charset=windows-1251")),
            "П",
            "a mark wins"
        );
        assert_eq!(html(b"\xff\xfeA\0", None), "A");
        assert_eq!(html("Привет".as_bytes(), None), "Привет");
        assert_eq!(html(&"я".as_bytes()[..1], None), "\u{fffd}", "a cut, and not an old text");
        assert_eq!(html(b"caf\xe9!", None), "café!");
        assert_eq!(html(b"caf\xe9!", Some("text/html; charset=none-such")), "café!");
        assert_eq!(decode(b"<meta charset=koi8-r>\xcf!", None, false), "<meta charset=koi8-r>Ï!");
    }
}
