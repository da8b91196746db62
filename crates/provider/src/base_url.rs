//! Compares base URLs with those of vendors.

use core::net::IpAddr;

use http::Uri;

use crate::Endpoint;

/// Returns whether two URLs are the same place. The case of the host, a default port and trailing slashes do not
/// matter.
pub fn same_base_url(one: &str, other: &str) -> bool {
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

impl Endpoint {
    /// Returns whether the server runs on this machine.
    pub fn is_loopback(&self) -> bool {
        let uri: Option<Uri> = self.base_url.parse().ok().filter(|uri: &Uri| uri.scheme().is_some());
        uri.as_ref().and_then(Uri::host).is_some_and(|host| {
            let address = host.trim_matches(['[', ']']).parse();
            address.is_ok_and(|ip: IpAddr| ip.is_loopback()) || host.eq_ignore_ascii_case("localhost")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row;

    #[test]
    fn a_server_of_this_machine_is_known_by_its_address() {
        for (url, is_loopback) in [
            ("http://localhost:11434/v1", true),
            ("http://LOCALHOST", true),
            ("http://127.0.0.2/v1", true),
            ("http://[::1]:8080/v1", true),
            ("http://192.168.1.2:11434", false),
            ("https://localhost.example.org/v1", false),
            ("localhost", false),
            ("", false),
        ] {
            let endpoint = row("ollama").unwrap().endpoint(Some(url));
            let endpoint = Endpoint { base_url: url.to_owned(), ..endpoint };
            assert_eq!(endpoint.is_loopback(), is_loopback, "{url}");
        }
    }

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
