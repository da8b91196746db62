//! Which addresses a terminal is given to open.

use std::fmt::Write as _;
use std::sync::Arc;

const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// Terminals give up on longer ones (VTE takes 2083 bytes).
const MOST: usize = 2000;
/// Characters behind a host.
const MOST_BEHIND: usize = 40;

/// Returns a URL for an escape sequence: of a known scheme, in printable ASCII, the rest percent-encoded.
pub(crate) fn address(url: &str) -> Option<Arc<str>> {
    let lower = url.get(..url.len().min(8)).unwrap_or_default().to_ascii_lowercase();
    let known = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    if !known || url.len() > MOST {
        return None;
    }
    let mut out = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'!' | b'#'..=b';' | b'=' | b'?'..=b'[' | b']' | b'_' | b'a'..=b'z' | b'~' => {
                out.push(byte.into())
            }
            other => write!(out, "%{other:02X}").ok()?,
        }
    }
    Some(out.into())
}

/// Do the words that are shown say where the link leads? The whole address does, and its host.
pub(crate) fn says_where(shown: &str, url: &str) -> bool {
    let shown = shown.trim().to_lowercase();
    let url = url.to_lowercase();
    let bare = |text: &str| -> String {
        let text = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        text.strip_prefix("mailto:").unwrap_or(text).trim_end_matches('/').to_owned()
    };
    let (said, leads) = (bare(&shown), bare(&url));
    // The part before an `@` is not the host.
    let host = leads.split(['/', '?', '#']).next().unwrap_or_default();
    said == leads || (said == host && !host.contains(['@', '\\']))
}

/// Returns the URL for display: the whole host, and the beginning of the rest.
pub(crate) fn place(address: &str) -> String {
    let known = SCHEMES
        .iter()
        .find(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let rest = address.get(known.map_or(0, |scheme| scheme.len())..).unwrap_or_default();
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let behind = rest.get(host..).unwrap_or_default().trim_end_matches('/');
    let host = rest.get(..host).unwrap_or_default();
    format!("{host}{}", converse_text::shorten::chars(behind, MOST_BEHIND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_schemes_and_clean_bytes() {
        for (url, address_of) in [
            ("https://example.com/a?b=c#d", Some("https://example.com/a?b=c#d")),
            ("HTTP://example.com", Some("HTTP://example.com")),
            ("mailto:a@example.com", Some("mailto:a@example.com")),
            ("https://e.com/\x1b\\x\x07", Some("https://e.com/%1B%5Cx%07")),
            ("https://e.com/ä\u{9c}", Some("https://e.com/%C3%A4%C2%9C")),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("/relative", None),
            ("", None),
        ] {
            assert_eq!(address(url).as_deref(), address_of, "{url:?}");
        }
        assert_eq!(address(&format!("https://e.com/{}", "a".repeat(MOST))), None);
    }

    #[test]
    fn words_that_name_another_place_do_not_say_where() {
        for (shown, url, says) in [
            ("https://example.com/a", "https://example.com/a", true),
            ("example.com", "https://example.com/a/b", true),
            ("Example.com/", "https://example.com", true),
            ("a@example.com", "mailto:a@example.com", true),
            ("here", "https://example.com", false),
            ("https://bank.com", "https://evil.com", false),
            ("bank.com", "https://bank.com@evil.com", false),
            ("bank.com@evil.com", "https://bank.com@evil.com/x", false),
        ] {
            assert_eq!(says_where(shown, url), says, "{shown} {url}");
        }
    }

    #[test]
    fn a_host_is_always_whole() {
        let long = format!("https://bank.com.{}evil.com/{}", "a".repeat(90), "p".repeat(90));
        let shown = format!("bank.com.{}evil.com/{}…", "a".repeat(90), "p".repeat(39));
        for (url, shown) in [
            ("https://example.com/", "example.com"),
            ("HTTP://example.com/a?b#c", "example.com/a?b#c"),
            ("https://bank.com@evil.com/x", "bank.com@evil.com/x"),
            ("mailto:a@example.com", "a@example.com"),
            (long.as_str(), shown.as_str()),
        ] {
            assert_eq!(place(url), shown, "{url}");
        }
    }
}
