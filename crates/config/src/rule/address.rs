//! URLs in the form in which a client reads them: `https:127.1`, `https://0x7f000001:0443/` and `https://u@127.0.0.1?` are
//! the same host. The `url` crate implements the URL Standard (<https://url.spec.whatwg.org>, checked 2026-11), and so
//! does the client of the tools.

use url::Url;

use super::reading::percent_decoded;

/// A URL in normal form.
#[derive(Debug)]
pub(super) struct Address {
    /// Without user name, fragment and default port; an empty path is `/`.
    pub(super) text: String,
    /// Other spellings of the same URL.
    pub(super) others: Vec<String>,
}

/// Normalises a URL. `None` if the text is not a URL with a host.
pub(super) fn address(text: &str) -> Option<Address> {
    let mut url = Url::parse(text).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty() && url.scheme() != "file")?.to_lowercase();
    // These fail only for URLs without a host.
    let _ = url.set_host(Some(host.strip_suffix('.').filter(|host| !host.is_empty()).unwrap_or(&host)));
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let text = String::from(url);
    let bare = text.strip_suffix('/').filter(|bare| bare.matches('/').count() == 2).map(str::to_owned);
    let others = bare.into_iter().chain(percent_decoded(&text)).collect();
    Some(Address { text, others })
}

/// Returns the paths of a file URI: `FILE:/x`, `file://localhost/x`, `file:x`.
pub(super) fn file_paths(text: &str) -> Vec<String> {
    let scheme = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let bare = scheme.and_then(|_| text.get(5..)).map(|rest| match rest.strip_prefix("//") {
        // Programs ignore the host of a file URI.
        Some(rest) => rest.find('/').and_then(|path| rest.get(path..)).unwrap_or(rest).to_owned(),
        None => rest.to_owned(),
    });
    let read = Url::parse(text).ok().filter(|url| url.scheme() == "file").map(|url| url.path().to_owned());
    bare.into_iter().chain(read).collect()
}

/// Normalises scheme and host of a URL glob whose host is written out.
pub(super) fn plain_glob(glob: &str) -> Option<String> {
    let (scheme, rest) = glob.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let special = |c: char| matches!(c, '*' | '[' | ']' | '{' | '}' | '\\' | '!');
    // A `?` within the host cannot be distinguished from a query.
    if authority.is_empty() || authority.contains(special) || rest.starts_with('?') {
        return None;
    }
    let plain = address(&format!("{scheme}://{authority}/"))?;
    Some(format!("{}{rest}", plain.text.trim_end_matches('/'))).filter(|plain| plain != glob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_form() {
        for (text, expected) in [
            ("https://U:P@Evil.Example.:443/a/../b?c=../d#e", "https://evil.example/b?c=../d"),
            ("http://x.example:8080", "http://x.example:8080/"),
            ("https://127.0.0.1?d=1", "https://127.0.0.1/?d=1"),
            ("https:127.0.0.1/a", "https://127.0.0.1/a"),
            ("https:/127.0.0.1/a", "https://127.0.0.1/a"),
            ("https:///127.0.0.1/a", "https://127.0.0.1/a"),
            ("https:\\\\127.0.0.1\\a", "https://127.0.0.1/a"),
            ("https://127.0.0.1:0443/a", "https://127.0.0.1/a"),
            ("htt\tps://127.0\t.0.1/a", "https://127.0.0.1/a"),
            ("https://127.1/a", "https://127.0.0.1/a"),
            ("https://0x7f000001/", "https://127.0.0.1/"),
            ("https://２130706433/", "https://127.0.0.1/"),
            ("https://１２７.0.0.1/#x", "https://127.0.0.1/"),
            ("git+ssh://GIT@Host/a", "git+ssh://host/a"),
        ] {
            assert_eq!(address(text).unwrap().text, expected, "{text}");
        }
        for none in ["", "a/b", "C:\\x", "mailto:a@b", "file:///x", "x:/y", "50%", "two words"] {
            assert!(address(none).is_none(), "{none}");
        }
    }

    #[test]
    fn a_file_uri_is_a_path() {
        for text in ["file:///a/b", "FILE:/a/b", "file://localhost/a/b", "fi\tle:///a/b", "file:\\a\\b"] {
            assert!(file_paths(text).iter().any(|path| path.replace('\\', "/") == "/a/b"), "{text}");
        }
        assert!(file_paths("file:a/b").contains(&"a/b".to_owned()));
        assert!(file_paths("profile:a").is_empty() && file_paths("fil\u{e9}:a").is_empty());
    }

    #[test]
    fn a_glob_is_about_the_host_and_not_its_spelling() {
        for (glob, expected) in [
            ("https://Evil.Example:443/*", Some("https://evil.example/*")),
            ("http://127.1/**", Some("http://127.0.0.1/**")),
            ("https://evil.example./a*", Some("https://evil.example/a*")),
            ("https://evil.example/*", None),
            ("https://*.Example/*", None),
            ("src/**", None),
        ] {
            assert_eq!(plain_glob(glob).as_deref(), expected, "{glob}");
        }
    }
}
