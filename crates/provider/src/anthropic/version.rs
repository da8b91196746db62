//! Chooses one of the two API versions for a request.
//!
//! `2026-10-21` refuses `temperature`, `top_p` and `top_k` even at their defaults, `document` blocks that stand directly
//! in an assistant message, and citations on a user's text. `2023-06-01` takes all three, and it is the one that
//! compatible servers know. So unless the settings name a version it is the newer one, but the older one where a
//! sampling parameter is sent or where the server is not Anthropic's own. A newer date than these is taken to keep
//! what the newest known one changed.
//!
//! <https://platform.claude.com/docs/en/api/versioning>, reports of it at
//! <https://codersera.com/blog/anthropic-api-2026-10-21-sdk-migration-guide-2026/> and
//! <https://qiita.com/Synthorai/items/01a0067e88747257a4e6> (checked 2026-11); SDK 2.11.0 sends `2026-10-21`.

use http::{HeaderValue, Uri};

use crate::{Controls, Endpoint, TranslateError};

const OLD: &str = "2023-06-01";
const NEW: &str = "2026-10-21";

/// The parameters that the newer version has taken away.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// A date; dates of this form are in order as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version(String);

impl Version {
    /// The one that suits, or the one that the settings name.
    pub(super) fn of(endpoint: &Endpoint, controls: &Controls) -> Result<Self, TranslateError> {
        let samples = samples(controls);
        let named = endpoint.version.as_deref().map(str::trim).filter(|named| !named.is_empty());
        let Some(named) = named else {
            let version = if samples || !is_anthropics_own(endpoint) { OLD } else { NEW };
            return Ok(Self(version.to_owned()));
        };
        let version = Self(named.to_owned());
        if samples && version.is_strict() {
            return Err(TranslateError::Control(format!(
                "version {named} of this API does not accept temperature, top_p and top_k: leave them out, or set the \
                 provider's version to {OLD}"
            )));
        }
        Ok(version)
    }

    /// Returns whether this version refuses keys that the older one accepts.
    pub(super) fn is_strict(&self) -> bool {
        self.0.as_str() >= NEW
    }

    pub(super) fn header(&self) -> Result<HeaderValue, TranslateError> {
        HeaderValue::from_str(&self.0).map_err(|_| {
            TranslateError::Control(format!(
                "`{}` cannot be sent as a version of the API",
                self.0.escape_debug()
            ))
        })
    }
}

fn samples(controls: &Controls) -> bool {
    let unnamed = SAMPLING.iter().any(|key| controls.extra.contains_key(*key));
    controls.temperature.is_some() || controls.top_p.is_some() || unnamed
}

/// Others speak this wire too, and not all of it.
pub(super) fn is_anthropics_own(endpoint: &Endpoint) -> bool {
    let uri: Option<Uri> = endpoint.base_url.trim().parse().ok();
    uri.is_some_and(|uri| uri.host() == Some("api.anthropic.com"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rows::row;

    #[test]
    fn the_version_follows_the_server_the_settings_and_the_sampling() {
        let warm = Controls { temperature: Some(0.5), ..Controls::default() };
        let mut top_k = Controls::default();
        top_k.extra.insert("top_k".into(), json!(4));
        let plain = Controls::default();
        let own = "https://api.anthropic.com/";
        let fake = "https://api.anthropic.com.example.org";
        for (base, named, controls, expected) in [
            (own, None, &plain, Some(NEW)),
            (own, None, &warm, Some(OLD)),
            (own, None, &top_k, Some(OLD)),
            (fake, None, &plain, Some(OLD)),
            ("http://127.0.0.1:8080", None, &plain, Some(OLD)),
            ("http://127.0.0.1:8080", Some(NEW), &plain, Some(NEW)),
            (own, Some(OLD), &warm, Some(OLD)),
            (own, Some(NEW), &warm, None),
            (own, Some("2027-01-01"), &top_k, None),
            (own, Some(" "), &plain, Some(NEW)),
        ] {
            let mut endpoint = row("anthropic").unwrap().endpoint(Some(base));
            endpoint.version = named.map(str::to_owned);
            let version = Version::of(&endpoint, controls).map(|version| version.0).ok();
            assert_eq!(version.as_deref(), expected, "{base} {named:?}");
        }
    }

    #[test]
    fn a_version_that_is_no_header_is_an_error() {
        assert!(Version("2026\n".into()).header().is_err());
    }
}
