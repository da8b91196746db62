//! The authorization response in the redirect of the browser: <https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2>
//! and RFC 9207 (checked 2026-11).

use reqwest::Url;

use super::error::OauthError;
use crate::sanitize;

/// Bytes of an address; a longer one is refused.
const MAX: usize = 16 * 1024;

#[derive(PartialEq, Eq)]
pub(super) struct Callback {
    pub(super) code: String,
    pub(super) state: String,
    /// The issuer that the response names (RFC 9207).
    pub(super) issuer: Option<String>,
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callback").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Callback {
    /// Parses the address that the browser was redirected to. `state` is the request's own; a response with another
    /// state is refused before anything else is read.
    pub(super) fn read(text: &str, redirect_uri: &str, state: &str) -> Result<Self, OauthError> {
        let odd = |what: &str| {
            OauthError::Failed(format!("the address that the browser returned {what}; log in again"))
        };
        let url = Some(text.trim()).filter(|text| text.len() <= MAX).and_then(|text| Url::parse(text).ok());
        let (Some(url), Ok(home)) = (url, Url::parse(redirect_uri)) else {
            return Err(odd("is not valid"));
        };
        if url.origin() != home.origin() || url.path() != home.path() {
            return Err(odd("is not the redirect address"));
        }
        let given = |name: &str| {
            let mut values =
                url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
            // A repeated parameter is ambiguous.
            values.next().filter(|_| values.next().is_none())
        };
        if given("state").is_none_or(|given| given != state) {
            return Err(odd("belongs to another login"));
        }
        if let Some(error) = given("error") {
            let about = given("error_description").map(|about| format!(": {about}")).unwrap_or_default();
            let cause = sanitize::clean(&format!("{error}{about}"), 300);
            return Err(OauthError::Failed(format!("access was not granted ({cause})")));
        }
        let code = given("code").filter(|code| !code.is_empty()).ok_or_else(|| odd("contains no code"))?;
        Ok(Self { code, state: state.to_owned(), issuer: given("iss") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "http://127.0.0.1:4711/callback";

    #[test]
    fn a_matching_response_is_parsed() {
        let read = Callback::read(&format!("{HOME}?code=a%2Bb&state=s&iss=https://as.example\n"), HOME, "s");
        let read = read.unwrap();
        assert_eq!((read.code.as_str(), read.state.as_str()), ("a+b", "s"));
        assert_eq!(read.issuer.as_deref(), Some("https://as.example"));
    }

    #[test]
    fn other_responses_are_refused() {
        for (text, why) in [
            ("no address", "not valid"),
            ("http://127.0.0.1:4712/callback?code=a&state=s", "not the redirect address"),
            ("http://127.0.0.1:4711/other?code=a&state=s", "not the redirect address"),
            ("https://127.0.0.1:4711/callback?code=a&state=s", "not the redirect address"),
            ("http://127.0.0.1:4711/callback?code=a", "another login"),
            ("http://127.0.0.1:4711/callback?code=a&state=t", "another login"),
            ("http://127.0.0.1:4711/callback?code=a&state=s&state=s", "another login"),
            ("http://127.0.0.1:4711/callback?state=s", "no code"),
            ("http://127.0.0.1:4711/callback?code=a&code=b&state=s", "no code"),
            (
                "http://127.0.0.1:4711/callback?error=access_denied&error_description=no&state=s",
                "(access_denied: no)",
            ),
            ("http://127.0.0.1:4711/callback?error=x%1b%0ay&state=s", "(x\\x1b y)"),
        ] {
            let message = Callback::read(text, HOME, "s").unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
