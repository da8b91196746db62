//! The allowed hosts and origins.
//!
//! A web page can make its own name resolve to an address of this machine (DNS rebinding). Its requests then have its
//! name as `Host` and in `Origin`, which are not allowed here.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#security-warning> (checked 2026-11)

use std::net::SocketAddr;

use converse_gateway::RefusalReason;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri};

use super::HttpError;

/// Names of this machine that nobody else can own.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The allowed hosts and origins.
#[derive(Debug, Clone)]
pub struct Hosts {
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    /// `None`: any port in a list; the default port of the scheme in a request.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: Host,
}

impl Hosts {
    /// Allows loopback names, the address `at`, the given hosts, and the given origins.
    ///
    /// # Errors
    ///
    /// Fails if a host or an origin is not valid.
    pub fn new(at: SocketAddr, hosts: &[String], origins: &[String]) -> Result<Self, HttpError> {
        let of = |name: &str| Host { name: name.to_owned(), port: None };
        let mut known: Vec<_> = HERE.into_iter().map(of).collect();
        if !at.ip().is_unspecified() {
            known.push(of(&at.ip().to_string()));
        }
        for host in hosts {
            known.push(Host::read(host).ok_or_else(|| HttpError::Host(host.clone()))?);
        }
        let read = |origin: &String| Origin::listed(origin).ok_or_else(|| HttpError::Origin(origin.clone()));
        Ok(Self { hosts: known, origins: origins.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Checks host and origin. Returns the origin if it is allowed to read answers.
    pub(super) fn judge<'h>(&self, headers: &'h HeaderMap) -> Result<Option<&'h HeaderValue>, RefusalReason> {
        let host = one(headers, &HOST).ok_or(RefusalReason::Host)?;
        let host = host.to_str().ok().and_then(Host::read).ok_or(RefusalReason::Host)?;
        if !self.hosts.iter().any(|known| known.covers(&host)) {
            return Err(RefusalReason::Host);
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        let value = one(headers, &ORIGIN).ok_or(RefusalReason::Origin)?;
        let origin = value.to_str().ok().and_then(Origin::read).ok_or(RefusalReason::Origin)?;
        let is_known =
            self.origins.iter().any(|known| known.scheme == origin.scheme && known.host.covers(&origin.host));
        match is_known {
            true => Ok(Some(value)),
            // This server has no pages, but some clients send its own origin.
            false if origin.is_same_as(&host) => Ok(None),
            false => Err(RefusalReason::Origin),
        }
    }
}

/// Returns whether the origin has the name of the host. Behind a proxy with a port of its own, only the names are equal.
pub(super) fn is_of_host(headers: &HeaderMap) -> bool {
    let text = |name| one(headers, name).and_then(|value| value.to_str().ok());
    let (host, origin) = (text(&HOST).and_then(Host::read), text(&ORIGIN).and_then(Origin::read));
    host.zip(origin).is_some_and(|(host, origin)| host.name == origin.host.name)
}

fn one<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

impl Host {
    fn read(text: &str) -> Option<Self> {
        // An IPv6 address without brackets.
        if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
            return Some(Self { name: address.to_string(), port: None });
        }
        let authority: Authority = text.parse().ok()?;
        let name = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        let has_odd_port = authority.port_u16().is_none() && authority.as_str().ends_with(':');
        let is_odd = name.is_empty() || authority.as_str().contains('@') || has_odd_port;
        (!is_odd).then_some(Self { name, port: authority.port_u16() })
    }

    fn covers(&self, other: &Self) -> bool {
        self.name == other.name && self.port.is_none_or(|port| other.port == Some(port))
    }
}

impl Origin {
    /// Parses an origin as browsers send it. Without a port, it has the default port of the scheme.
    fn read(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let default = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let mut host = Host::read(uri.authority()?.as_str())?;
        host.port = host.port.or(default);
        (matches!(uri.path(), "" | "/") && uri.query().is_none()).then_some(Self { scheme, host })
    }

    fn is_same_as(&self, asked: &Host) -> bool {
        let default = if self.scheme == "https" { 443 } else { 80 };
        let of_web = matches!(self.scheme.as_str(), "http" | "https");
        of_web && self.host.name == asked.name && self.host.port == Some(asked.port.unwrap_or(default))
    }

    fn listed(text: &str) -> Option<Self> {
        match text.strip_suffix(":*") {
            Some(base) => {
                let has_port = base.parse::<Uri>().ok()?.port().is_some();
                let origin = Self::read(base).filter(|_| !has_port)?;
                Some(Self { host: Host { port: None, ..origin.host }, ..origin })
            }
            None => Self::read(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(at: &str, host: &str, origin: Option<&str>) -> Result<bool, RefusalReason> {
        let hosts = ["gw.example", "other.example:8443"].map(str::to_owned);
        let origins =
            ["https://app.example", "http://localhost:*", "https://odd.example:8443"].map(str::to_owned);
        let hosts = Hosts::new(at.parse().unwrap(), &hosts, &origins).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        hosts.judge(&headers).map(|origin| origin.is_some())
    }

    #[test]
    fn hosts_are_known_or_refused() {
        let at = "192.0.2.7:80";
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:8080",
            "[::1]:9",
            "192.0.2.7",
            "gw.example",
            "GW.example:1",
            "other.example:8443",
        ] {
            assert_eq!(judged(at, host, None), Ok(false), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "gw.example.evil",
            "127.0.0.1.evil.example",
            "other.example",
            "other.example:1",
            "gw.example@evil.example",
            "gw.example:",
            "127.0.0.2",
            "0.0.0.0",
        ] {
            assert_eq!(judged(at, host, None), Err(RefusalReason::Host), "{host}");
        }
        assert_eq!(judged("0.0.0.0:80", "0.0.0.0", None), Err(RefusalReason::Host));
        assert_eq!(judged("127.0.0.2:80", "127.0.0.2", None), Ok(false));
    }

    #[test]
    fn origins_are_known_or_refused() {
        for origin in [
            "https://app.example",
            "https://app.example:443",
            "http://localhost:3000",
            "http://localhost",
            "https://odd.example:8443",
        ] {
            assert_eq!(judged("127.0.0.1:1", "localhost", Some(origin)), Ok(true), "{origin}");
        }
        for origin in [
            "http://app.example",
            "https://app.example:444",
            "https://evil.example",
            "null",
            "localhost",
            "https://odd.example",
            "https://localhost:3000",
            "http://localhost.evil.example",
            "http://127.0.0.1",
        ] {
            assert_eq!(
                judged("127.0.0.1:1", "localhost", Some(origin)),
                Err(RefusalReason::Origin),
                "{origin}"
            );
        }
    }

    #[test]
    fn our_own_origin_is_no_stranger_and_no_other_site() {
        let at = "127.0.0.1:1";
        for (host, origin) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("gw.example", "https://gw.example"),
            ("gw.example", "http://gw.example:80"),
        ] {
            assert_eq!(judged(at, host, Some(origin)), Ok(false), "{host} {origin}");
        }
        for (host, origin) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8081"),
            ("127.0.0.1:8080", "http://127.0.0.1"),
            ("gw.example:8443", "https://gw.example"),
            ("gw.example", "ftp://gw.example:80"),
        ] {
            assert_eq!(judged(at, host, Some(origin)), Err(RefusalReason::Origin), "{host} {origin}");
        }
        assert_eq!(judged(at, "evil.example", Some("http://evil.example")), Err(RefusalReason::Host));
    }

    #[test]
    fn two_hosts_are_none() {
        let hosts = Hosts::new("127.0.0.1:1".parse().unwrap(), &[], &[]).unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(hosts.judge(&headers), Err(RefusalReason::Host));
        headers.append(HOST, "localhost".parse().unwrap());
        assert_eq!(hosts.judge(&headers), Ok(None));
        headers.append(HOST, "localhost".parse().unwrap());
        assert_eq!(hosts.judge(&headers), Err(RefusalReason::Host));
    }

    #[test]
    fn lists_are_checked_before_anything_is_served() {
        let of = |host: &[&str], origin: &[&str]| {
            let [host, origin] =
                [host, origin].map(|list| list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>());
            Hosts::new("127.0.0.1:1".parse().unwrap(), &host, &origin).is_ok()
        };
        assert!(of(&["a", "a:1", "[::1]:1", "::1"], &["http://a", "chrome-extension://abc"]));
        for bad in ["", "http://a", "a/b", "a b", "a@b", "a:"] {
            assert!(!of(&[bad], &[]), "{bad}");
        }
        for bad in ["", "a", "*", "http://", "http://a/b", "http://a:1:*"] {
            assert!(!of(&[], &[bad]), "{bad}");
        }
    }
}
