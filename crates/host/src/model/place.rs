//! Compares base URLs with those of vendors.

use http::Uri;

/// Returns whether two URLs are the same place. The case of the host, a default port and trailing slashes do not
/// matter.
pub(super) fn same_base_url(one: &str, other: &str) -> bool {
    matches!((place(one), place(other)), (Some(one), Some(other)) if one == other)
}

/// Returns scheme, host, port and path; `None` if the text is not a URL.
fn place(url: &str) -> Option<(String, String, u16, String)> {
    let uri: Uri = url.trim().parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = match uri.port() {
        Some(port) => port.as_u16(),
        None if scheme == "https" => 443,
        None => 80,
    };
    let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
    Some((scheme, host, port, uri.path().trim_end_matches('/').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_same_however_it_is_written() {
        let own = "https://api.openai.com/v1";
        for (url, same) in [
            ("https://api.openai.com/v1", true),
            ("https://API.OpenAI.com/v1/", true),
            ("https://api.openai.com:443/v1", true),
            ("https://api.openai.com./v1", true),
            ("http://api.openai.com/v1", false),
            ("https://api.openai.com:8443/v1", false),
            ("https://api.openai.com/V1", false),
            ("https://api.openai.com", false),
            ("https://eu.api.openai.com/v1", false),
            ("", false),
        ] {
            assert_eq!(same_base_url(own, url), same, "{url}");
        }
        assert!(!same_base_url("", ""), "nobody's place is nobody's");
    }
}
