//! The target of a request, and whether it is allowed. Pure.
//!
//! A URL is parsed once, by the rules of browsers (<https://url.spec.whatwg.org/>, checked 2026-11), and the parsed URL is
//! requested: `0x7f.1`, `2130706433`, fullwidth digits and `%31` are the address they mean, and the text is not parsed again.

use std::net::IpAddr;

use http::Uri;
use url::{Host, Url};

use super::address::is_public;
use super::allowed::{Allowed, without_dot};
use crate::builtin::arguments::shown;

/// Maximum length that servers commonly accept.
const MAX_URL: usize = 8 * 1024;

/// Names that mean something on this machine or in this network only, and all that end with them. Where a proxy
/// resolves, no address tells.
/// <https://www.iana.org/assignments/special-use-domain-names> (checked 2026-11), and what networks use beside it.
const LOCAL_NAMES: &[&str] =
    &["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "home.arpa"];

/// Why a URL is not requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The text is not a URL that can be fetched.
    Invalid(String),
    /// The URL is valid but not allowed.
    Private(String),
}

impl Refusal {
    pub(super) fn into_text(self) -> String {
        let (Self::Invalid(text) | Self::Private(text)) = self;
        text
    }
}

/// A URL that can be requested, if it is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target(Url);

impl Target {
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let url = Url::parse(text.trim());
        let url = url.map_err(|_| invalid("`url` is not a URL: expected http:// or https://"))?;
        Self::of(url)
    }

    /// Returns the target of a redirect from here.
    pub(super) fn follow(&self, location: &str) -> Result<Self, Refusal> {
        let url = self.0.join(location.trim());
        let next = Self::of(url.map_err(|_| invalid("the page redirects to an invalid URL"))?)?;
        if self.0.scheme() == "https" && next.0.scheme() != "https" {
            return Err(invalid(
                "it is redirected from https to http; ask for the http address itself if need be",
            ));
        }
        Ok(next)
    }

    fn of(mut url: Url) -> Result<Self, Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("only http:// and https:// are fetched"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("a URL with a user name or a password is not fetched"));
        }
        url.set_fragment(None);
        if url.as_str().len() > MAX_URL {
            return Err(invalid(&format!("a URL has at most {MAX_URL} bytes")));
        }
        if url.host().is_none_or(|host| matches!(host, Host::Domain(name) if has_empty_label(name))) {
            return Err(invalid("the URL names no server"));
        }
        Ok(Self(url))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL as a `Uri`.
    pub(super) fn uri(&self) -> Result<Uri, Refusal> {
        // What the one standard allows in a path or a query and the other does not is left to the percent sign.
        let text = self.0.as_str();
        let text: String = text.chars().flat_map(escaped).collect();
        text.parse().map_err(|_| invalid("the URL cannot be requested"))
    }

    /// Returns the name to resolve, or `None` if the URL has an address.
    pub(super) fn name(&self) -> Option<&str> {
        self.0.domain()
    }

    /// Returns the address in the URL.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// Checks the URL alone, before anything is resolved.
    pub(super) fn judge(&self, allowed: &Allowed) -> Result<(), Refusal> {
        match (self.name(), self.address()) {
            (Some(name), _) if is_local(name) && !allowed.has_name(name, self.port()) => {
                Err(private(&format!("`{}` is a name of this machine or network", shown(name))))
            }
            (None, Some(address)) => self.judge_addresses(&[address], allowed),
            _ => Ok(()),
        }
    }

    /// Checks the resolved addresses. One that is not public rules out all: a server with both kinds is suspicious.
    pub(super) fn judge_addresses(&self, addresses: &[IpAddr], allowed: &Allowed) -> Result<(), Refusal> {
        let port = self.port();
        if self.name().is_some_and(|name| allowed.has_name(name, port)) {
            return Ok(());
        }
        let closed = |address: &&IpAddr| !is_public(**address) && !allowed.has_address(**address, port);
        match (addresses.iter().find(closed), self.name()) {
            (None, _) => Ok(()),
            (Some(address), None) => Err(private(&format!("{address} is a private address"))),
            (Some(address), Some(name)) => {
                Err(private(&format!("`{}` has the private address {address}", shown(name))))
            }
        }
    }

    /// Returns whether another URL is of the same server: the same name or address, and the same port or both times the
    /// usual one.
    pub(super) fn has_host_of(&self, other: &Self) -> bool {
        self.0.host() == other.0.host() && self.0.port() == other.0.port()
    }

    fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }
}

fn has_empty_label(name: &str) -> bool {
    without_dot(name).split('.').any(str::is_empty)
}

/// Returns whether the name is local. A name without a dot is local too.
fn is_local(name: &str) -> bool {
    let name = without_dot(name);
    let ends_with =
        |local: &&str| name.strip_suffix(*local).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || LOCAL_NAMES.iter().any(ends_with)
}

fn escaped(character: char) -> impl Iterator<Item = char> {
    let text = match character {
        '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => format!("%{:02X}", u32::from(character)),
        _ => character.to_string(),
    };
    text.chars().collect::<Vec<_>>().into_iter()
}

fn invalid(text: &str) -> Refusal {
    Refusal::Invalid(text.to_owned())
}

fn private(what: &str) -> Refusal {
    Refusal::Private(format!(
        "{what}, and only public ones are fetched. Whoever runs this can list it in `allow_private` of the ensemble's \
         [configuration]"
    ))
}
