//! `allow_private` of `[configuration]`: places that may be reached although they are not public.

use std::net::{IpAddr, Ipv6Addr};

use url::Host;

use crate::builtin::{BuildError, Settings};

const KEY: &str = "allow_private";

/// The places that the user has listed.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed(Vec<Place>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    host: Host<String>,
    /// Any port if `None`.
    port: Option<u16>,
}

impl Allowed {
    pub(super) fn new(settings: &Settings<'_>) -> Result<Self, BuildError> {
        let failed = |reason| BuildError { key: KEY, reason };
        let Some(texts) = settings.texts(KEY)? else { return Ok(Self::default()) };
        if !settings.trusted {
            // Or a stranger's file would open the user's network.
            return Err(failed("it needs a project that is trusted".to_owned()));
        }
        Self::read(&texts).map_err(failed)
    }

    pub(super) fn read(texts: &[&str]) -> Result<Self, String> {
        texts.iter().map(|text| Place::read(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether the name itself is listed. Then it may resolve to any address.
    pub(super) fn has_name(&self, name: &str, port: u16) -> bool {
        let name = without_dot(name);
        self.any(port, |host| matches!(host, Host::Domain(listed) if listed == name))
    }

    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        self.any(port, |host| match host {
            Host::Domain(_) => false,
            Host::Ipv4(listed) => address == *listed,
            Host::Ipv6(listed) => address == *listed,
        })
    }

    fn any(&self, port: u16, is_it: impl Fn(&Host<String>) -> bool) -> bool {
        self.0.iter().any(|place| place.port.is_none_or(|listed| listed == port) && is_it(&place.host))
    }
}

impl Place {
    /// `10.0.0.5`, `intranet.example:8080`, `::1`, `[::1]:8080`.
    fn read(text: &str) -> Result<Self, String> {
        let failed = || format!("`{text}` is neither a host nor `host:port`");
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self { host: Host::Ipv6(address), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().map_err(|_| failed())?)),
            _ => (text, None),
        };
        let host = Host::parse(host).map_err(|_| failed())?;
        let host =
            if let Host::Domain(name) = host { Host::Domain(without_dot(&name).to_owned()) } else { host };
        Ok(Self { host, port })
    }
}

/// Returns the name without the dot of the root at its end.
pub(super) fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_listed_with_a_port_or_without() {
        let allowed =
            Allowed::read(&["10.0.0.5", "Intranet.Example:8080", "::1", "[fd00::1]:81", "dot.example."]);
        let allowed = allowed.unwrap();
        let address = |text: &str, port| allowed.has_address(text.parse().unwrap(), port);
        assert!(address("10.0.0.5", 80) && address("10.0.0.5", 8080));
        assert!(!address("10.0.0.6", 80));
        assert!(address("::1", 9) && address("fd00::1", 81) && !address("fd00::1", 80));
        assert!(!address("::ffff:10.0.0.5", 80), "another address");
        let name = |text: &str, port| allowed.has_name(text, port);
        assert!(name("intranet.example", 8080) && name("intranet.example.", 8080));
        assert!(!name("intranet.example", 80) && !name("sub.intranet.example", 8080));
        assert!(name("dot.example", 80) && name("dot.example.", 80));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "a b", "host:port", "host:70000", "[::1", "http://host", "10.0.0.0/8", "user@host"] {
            assert!(Allowed::read(&[text]).is_err(), "{text}");
        }
    }
}
