//! The caller, for audit records only, never for a decision: a client can give any name.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use converse_canister::ViewName;
use converse_text::invisible::is_treacherous;
use converse_text::shorten;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::sessions::is_sessionless;

/// Maximum characters of the name of a client. With the longest other parts it fits in a record.
const NAME: usize = 60;

/// A client that calls tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The name and version that the client gives: shortened, quoted, without control and invisible characters.
    pub client: Option<String>,
    /// Only for clients over HTTP.
    pub remote: Option<Remote>,
    /// The view that the client uses.
    pub view: Option<ViewName>,
}

/// What the HTTP server knows of a caller. An extension of the HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The label of the token, if the request has one.
    pub who: Option<Arc<str>>,
    pub from: IpAddr,
}

impl Caller {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<http::request::Parts>();
        // Outside of a session only the request itself names the client; rmcp would give its own name.
        let info = if is_sessionless(context) { context.meta.client_info() } else { context.client_info() };
        let client = info.map(|info| quoted(&format!("{} {}", info.name, info.version), NAME));
        Self { client, remote: parts.and_then(|parts| parts.extensions.get::<Remote>()).cloned(), view: None }
    }

    /// Returns one line, such as `"claude-code 2.1" via token 9f9f5111 at 10.0.0.7 in view data`. Text that the client or the issuer
    /// chose is in quotes, so a name cannot imitate the other parts.
    pub fn line(&self) -> Option<String> {
        let remote = self.remote.as_ref().map(Remote::to_string);
        let view = self.view.as_ref().map(|view| format!("in view {view}"));
        let parts: Vec<_> = [self.client.clone(), remote, view].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(who) = &self.who {
            write!(f, "via {who} ")?;
        }
        write!(f, "at {}", self.from)
    }
}

/// Returns foreign text for a record: the first `most` characters, in quotes, without quotes inside.
pub fn quoted(words: &str, most: usize) -> String {
    let kept = words.chars().filter(|c| !is_treacherous(*c)).map(|c| if c == '"' { '\'' } else { c });
    format!("\"{}\"", shorten::chars(&kept.take(most + 1).collect::<String>(), most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: Option<&str>, who: Option<&str>, from: Option<&str>) -> Option<String> {
        let remote = from.map(|from| Remote { who: who.map(Into::into), from: from.parse().unwrap() });
        Caller { client: name.map(|name| quoted(name, NAME)), remote, view: None }.line()
    }

    #[test]
    fn name_token_and_address_are_told_apart() {
        let token = Some("token 9f9f5111");
        for (name, who, from, expected) in [
            (None, None, None, None),
            (Some("code 2"), None, None, Some(r#""code 2""#)),
            (None, None, Some("10.0.0.7"), Some("at 10.0.0.7")),
            (None, token, Some("10.0.0.7"), Some("via token 9f9f5111 at 10.0.0.7")),
            (Some("code 2"), token, Some("::1"), Some(r#""code 2" via token 9f9f5111 at ::1"#)),
            (
                Some("x\" via token 00000000 at 10.0.0.1"),
                token,
                Some("10.0.0.7"),
                Some(r#""x' via token 00000000 at 10.0.0.1" via token 9f9f5111 at 10.0.0.7"#),
            ),
        ] {
            assert_eq!(line(name, who, from).as_deref(), expected);
        }
    }

    #[test]
    fn what_a_client_says_is_short_and_does_nothing() {
        assert_eq!(quoted("a\u{1b}[2J\n\u{202e}b\u{2066}\u{200b}\u{feff}\u{e0041}é", 60), "\"a[2Jbé\"");
        assert_eq!(quoted(&"é".repeat(60), 60), format!("\"{}\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(61), 60), format!("\"{}…\"", "é".repeat(60)));
        let (name, who) = ("n".repeat(900), format!("subject {}", quoted(&"s".repeat(900), 80)));
        let from = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255".parse().unwrap();
        let remote = Some(Remote { who: Some(who.into()), from });
        let view = Some(ViewName::new("v".repeat(32)).unwrap());
        let longest = Caller { client: Some(quoted(&name, NAME)), remote, view }.line().unwrap();
        assert!(longest.ends_with(&"v".repeat(32)) && longest.contains(" in view v"));
        assert!(longest.chars().count() <= 256, "a record would cut off where it came from");
    }
}
