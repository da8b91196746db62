//! Checks of the addresses that a server names for obtaining tokens. Pure functions.
//!
//! The server chooses these addresses, so each must use HTTPS and must not be on this machine or in a private network
//! unless the server is there itself
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/security_best_practices>, checked 2026-11).

use std::net::IpAddr;

use converse_ensemble::is_public;
use reqwest::Url;

use crate::sanitize;

/// Top-level names that exist only in private networks.
const LOCAL_NAMES: [&str; 8] =
    ["local", "localdomain", "internal", "intranet", "lan", "home", "corp", "home.arpa"];

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Public,
    /// In a private network.
    Private,
    /// On this machine.
    Loopback,
    /// Never allowed: link-local (cloud metadata), reserved, multicast.
    Blocked,
}

impl Class {
    pub(super) fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let of_this_network = match address {
            IpAddr::V4(four) => {
                let [a, b, ..] = four.octets();
                four.is_private() || (a == 100 && (64..128).contains(&b))
            }
            IpAddr::V6(six) => six.is_unique_local(),
        };
        match () {
            () if address.is_loopback() => Self::Loopback,
            () if of_this_network => Self::Private,
            () if is_public(address) => Self::Public,
            () => Self::Blocked,
        }
    }
}

/// The address of the server itself and its class.
#[derive(Debug, Clone)]
pub(super) struct ServerOrigin {
    pub(super) url: Url,
    class: Class,
}

impl ServerOrigin {
    /// Classifies the address that the user configured. Its name is not resolved, because the server's owner controls
    /// what it resolves to.
    pub(super) fn new(mut url: Url) -> Result<Self, String> {
        let class = match (address(&url), url.domain()) {
            (Some(address), _) => Class::of(address),
            (None, Some(name)) if is_localhost(name) => Class::Loopback,
            (None, Some(name)) if is_local(name) => Class::Private,
            _ => Class::Public,
        };
        if url.scheme() != "https" && class != Class::Loopback {
            return Err("`auth = \"oauth\"` needs an `https://` address".to_owned());
        }
        // Secrets in the address are for the server and not for the authorization server.
        let _ = (url.set_username(""), url.set_password(None));
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self { url, class })
    }

    /// Checks an address before its name is resolved.
    pub(super) fn check(&self, text: &str) -> Result<Url, String> {
        let refused = |why: &str| Err(format!("{} is not allowed: {why}", sanitize::clean(text, 200)));
        let Ok(url) = Url::parse(text) else { return refused("it is not an address") };
        let here = address(&url).map_or_else(
            || url.domain().is_some_and(is_localhost),
            |address| Class::of(address) == Class::Loopback,
        );
        match url.scheme() {
            "https" => {}
            "http" if here && self.class == Class::Loopback => {}
            _ => return refused("it is not https"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it contains a user name");
        }
        if self.is_own(&url) {
            return Ok(url);
        }
        let class = match (address(&url), url.domain()) {
            (Some(address), _) => Class::of(address),
            (None, Some(name)) if is_localhost(name) => Class::Loopback,
            (None, Some(name)) if is_local(name) => Class::Private,
            (None, Some(_)) => Class::Public,
            (None, None) => return refused("it names no host"),
        };
        if self.admits(class) { Ok(url) } else { refused(why(class)) }
    }

    /// Checks the addresses that a name resolved to. All must be allowed.
    pub(super) fn check_addresses(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), String> {
        if self.is_own(url) {
            return Ok(());
        }
        let odd = addresses.iter().map(|address| Class::of(*address)).find(|class| !self.admits(*class));
        let name = sanitize::clean(url.host_str().unwrap_or_default(), 200);
        odd.map_or(Ok(()), |class| Err(format!("{name} is not allowed: {}", why(class))))
    }

    /// Returns whether the address is on the server's own host, which is contacted anyway.
    fn is_own(&self, url: &Url) -> bool {
        self.url.host() == url.host() && self.url.scheme() == url.scheme()
    }

    fn admits(&self, class: Class) -> bool {
        class == Class::Public || (class != Class::Blocked && class == self.class)
    }
}

fn why(class: Class) -> &'static str {
    match class {
        Class::Loopback => "it is on this machine, and the server is not",
        Class::Private => "it is in a private network, and the server is not",
        Class::Public | Class::Blocked => "it is a reserved address",
    }
}

/// Returns the IP address if the host is one, in any notation.
pub(super) fn address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_localhost(name: &str) -> bool {
    is_or_ends(name, "localhost")
}

fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.contains('.') || LOCAL_NAMES.iter().any(|local| is_or_ends(name, local))
}

fn is_or_ends(name: &str, end: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_origin(url: &str) -> ServerOrigin {
        ServerOrigin::new(Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn a_public_server_may_name_public_addresses_only() {
        let server_origin = server_origin("https://mcp.example/mcp");
        for good in [
            "https://mcp.example/x",
            "https://as.example:8443/x",
            "https://8.8.8.8/",
            "https://[2606:4700::1]/",
        ] {
            assert!(server_origin.check(good).is_ok(), "{good}");
        }
        for bad in [
            "http://as.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "-x",
            "$(touch x)",
            "data:text/html,x",
            "https://user:word@as.example/",
            "https://169.254.169.254/latest",
            "https://[::ffff:10.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0251.0376.0251.0376/",
            "https://127.0.0.1/",
            "https://10.0.0.1/",
            "https://100.100.100.200/",
            "https://[fe80::1]/",
            "https://[fd00:ec2::254]/",
            "https://0.0.0.0/",
            "https://localhost/",
            "https://a.localhost./",
            "https://metadata.google.internal/",
            "https://router/",
            "",
        ] {
            assert!(server_origin.check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_local_server_may_name_local_addresses() {
        let here = server_origin("http://localhost:3000/mcp");
        for (place, good) in [
            ("http://localhost:4000/", true),
            ("http://127.0.0.1:4000/", true),
            ("https://[::1]/", true),
            ("https://as.example/", true),
            ("http://as.example/", false),
            ("https://10.0.0.1/", false),
            ("https://169.254.169.254/", false),
        ] {
            assert_eq!(here.check(place).is_ok(), good, "{place}");
        }
        for network in [server_origin("https://10.0.0.5/mcp"), server_origin("https://mcp.corp/mcp")] {
            for (place, good) in [
                ("https://10.0.0.6/", true),
                ("https://sso.corp/", true),
                ("http://10.0.0.6/", false),
                ("https://127.0.0.1/", false),
                ("https://169.254.169.254/", false),
            ] {
                assert_eq!(network.check(place).is_ok(), good, "{place}");
            }
        }
        assert!(ServerOrigin::new(Url::parse("http://10.0.0.5/mcp").unwrap()).is_err());
        assert!(ServerOrigin::new(Url::parse("http://mcp.example/mcp").unwrap()).is_err());
    }

    #[test]
    fn resolved_addresses_are_checked() {
        let server_origin = server_origin("https://mcp.example/mcp");
        let other = Url::parse("https://as.example/").unwrap();
        let check_endpoints = |addresses: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            server_origin.check_addresses(&other, &addresses).is_ok()
        };
        assert!(check_endpoints(&["8.8.8.8", "2606:4700::1"]));
        for bad in [["127.0.0.1", "8.8.8.8"], ["8.8.8.8", "10.0.0.1"], ["8.8.8.8", "::ffff:169.254.169.254"]]
        {
            assert!(!check_endpoints(&bad), "{bad:?}");
        }
        // The server's own host is contacted anyway.
        assert!(
            server_origin
                .check_addresses(
                    &Url::parse("https://mcp.example/x").unwrap(),
                    &["10.0.0.1".parse().unwrap()]
                )
                .is_ok()
        );
    }

    #[test]
    fn secret_parts_of_an_address_are_removed() {
        assert_eq!(
            server_origin("https://user:word@mcp.example/mcp?key=s3cret#x").url.as_str(),
            "https://mcp.example/mcp"
        );
    }
}
