//! What came to the listener, and whether it is the answer that is waited for. Pure.
//!
//! Any page that the user has open can make the browser send something here, so the host, the path and the state must
//! be the very ones that were handed out.

use url::Url;

pub(super) const PATH: &str = "/callback";

/// What is waited for.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// As a browser names it: `127.0.0.1:PORT`.
    pub(super) host: String,
    pub(super) state: String,
}

/// Returns whether the answer says that access was not granted.
pub(super) fn is_refusal(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.query_pairs().any(|(name, _)| name == "error"))
}

impl Expected {
    /// The whole address that the browser came back to, if this head of a request is that.
    pub(super) fn read(&self, head: &[u8]) -> Option<String> {
        let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method != "GET" || !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let mut hosts = lines
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let (_, host) = hosts.next()?;
        if hosts.next().is_some() || host.trim() != self.host {
            return None;
        }
        let (path, _) = target.split_once('?')?;
        let address = format!("http://{}{target}", self.host);
        let url = Url::parse(&address).ok()?;
        let mut states = url.query_pairs().filter(|(name, _)| name == "state");
        let state = states.next()?.1;
        (path == PATH && state == self.state.as_str() && states.next().is_none()).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "GET /callback?code=c&state=s%2Bt HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nAccept: */*\r\n\r\n";

    fn read(head: &str) -> Option<String> {
        Expected { host: "127.0.0.1:4711".to_owned(), state: "s+t".to_owned() }.read(head.as_bytes())
    }

    /// An authorization server accepts any port of a loopback address (RFC 8252, 7.3), but only this path.
    #[test]
    fn the_published_document_has_the_address_that_is_listened_at() {
        let document = include_str!("../../../../docs/reference/client-metadata.json");
        let document: serde_json::Value = serde_json::from_str(document).unwrap();
        assert_eq!(document["redirect_uris"], serde_json::json!([format!("http://127.0.0.1{PATH}")]));
        assert_eq!(document["token_endpoint_auth_method"], "none");
    }

    #[test]
    fn the_answer_is_known_by_host_path_and_state() {
        let address = "http://127.0.0.1:4711/callback?code=c&state=s%2Bt";
        assert_eq!(read(HEAD).as_deref(), Some(address));
        for (old, new) in [
            ("GET", "POST"),
            ("/callback", "/callback/"),
            ("/callback", "/favicon.ico"),
            ("/callback", "http://127.0.0.1:4711/callback"),
            ("s%2Bt", "other"),
            ("&state=s%2Bt", ""),
            ("s%2Bt", "s%2Bt&state=s%2Bt"),
            ("HTTP/1.1", "HTTP/2"),
            ("Host: 127.0.0.1:4711", "Host: evil.example:4711"),
            ("Host: 127.0.0.1:4711", "Host: localhost:4711"),
            ("Host: 127.0.0.1:4711", "Host: 127.0.0.1"),
            ("Host: 127.0.0.1:4711\r\n", ""),
            ("Accept: */*", "host: evil.example"),
        ] {
            assert_eq!(read(&HEAD.replace(old, new)), None, "{new}");
        }
        assert_eq!(read(""), None);
    }

    #[test]
    fn what_it_brings_may_be_a_refusal() {
        let host = "http://127.0.0.1:4711/callback";
        for (query, refused) in [
            ("code=c&state=s", false),
            ("code=error%3D&state=s", false),
            ("error=access_denied&state=s", true),
            ("state=s&error=", true),
        ] {
            assert_eq!(is_refusal(&format!("{host}?{query}")), refused, "{query}");
        }
    }
}
