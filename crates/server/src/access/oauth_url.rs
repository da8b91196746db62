//! URLs of issuers and resources.

use http::Uri;

/// The URL of an issuer or a resource: `https`, or `http` on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OauthUrl {
    pub(super) origin: String,
    /// Without a slash at the end; empty at the root.
    pub(super) path: String,
}

impl OauthUrl {
    /// `None` if the URL is not allowed. It cannot have a query or fragment.
    pub(super) fn read(url: &str) -> Option<Self> {
        if url.contains(['?', '#', ' ']) {
            return None;
        }
        let (scheme, authority) = origin(url)?;
        let uri: Uri = url.parse().ok()?;
        let path = uri.path().trim_end_matches('/').to_owned();
        Some(Self { origin: format!("{scheme}://{authority}"), path })
    }

    /// Returns the well-known URL of that name, which is between host and path (RFC 8414, RFC 9728).
    pub(super) fn well_known(&self, name: &str) -> String {
        format!("{}/.well-known/{name}{}", self.origin, self.path)
    }
}

/// Returns whether keys may be fetched from the URL.
pub(super) fn is_safe(url: &str) -> bool {
    origin(url).is_some()
}

fn origin(url: &str) -> Option<(String, String)> {
    let uri: Uri = url.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let host = authority.host().trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    let is_here =
        host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback());
    let is_good = scheme == "https" || scheme == "http" && is_here;
    let is_plain = !authority.as_str().contains('@');
    (is_good && is_plain && !host.is_empty()).then(|| (scheme.to_owned(), authority.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_addresses_stand_between_host_and_path() {
        for (url, expected) in [
            ("https://a.example", Some("https://a.example/.well-known/x")),
            ("https://a.example/", Some("https://a.example/.well-known/x")),
            ("https://a.example:8443/mcp", Some("https://a.example:8443/.well-known/x/mcp")),
            ("https://a.example/one/two/", Some("https://a.example/.well-known/x/one/two")),
            ("http://127.0.0.1:80/mcp", Some("http://127.0.0.1:80/.well-known/x/mcp")),
            ("http://[::1]/mcp", Some("http://[::1]/.well-known/x/mcp")),
            ("http://localhost/mcp", Some("http://localhost/.well-known/x/mcp")),
            ("http://a.example/mcp", None),
            ("http://127.0.0.1.a.example/mcp", None),
            ("https://user@a.example/mcp", None),
            ("https://a.example/mcp?x=1", None),
            ("https://a.example/mcp#x", None),
            ("ftp://a.example", None),
            ("/mcp", None),
            ("", None),
        ] {
            assert_eq!(OauthUrl::read(url).map(|place| place.well_known("x")).as_deref(), expected, "{url}");
        }
        assert!(is_safe("https://a.example/keys?v=1") && !is_safe("http://a.example/keys"));
    }
}
