//! `auth = "oauth"` and `[connection.oauth]`: authentication at a server.

use crate::Code;
use crate::plan::SecretRef;
use crate::program::secret;
use crate::source::Spanned;
use crate::table::Table;

pub(crate) const AUTHS: [(&str, Auth); 1] = [("oauth", Auth::Oauth)];
/// Limit on the scopes.
pub(crate) const MAX_SCOPES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Auth {
    Oauth,
}

/// All keys are optional: servers announce where to get tokens, and most accept an unregistered client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OauthDescriptor {
    pub client_id: Option<Spanned<SecretRef>>,
    pub client_secret: Option<Spanned<SecretRef>>,
    pub scopes: Vec<String>,
    pub client_metadata_url: Option<String>,
    pub redirect_port: Option<u16>,
}

/// How to get tokens. Secrets are named, never stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OauthPlan {
    /// Id of a client that was registered by hand.
    pub client_id: Option<SecretRef>,
    pub client_secret: Option<SecretRef>,
    /// Scopes to request; if empty, the scopes that the server names.
    pub scopes: Vec<String>,
    /// HTTPS URL of a document that describes the client.
    pub client_metadata_url: Option<String>,
    /// Port on this machine to which the browser returns; `None` for any free port.
    pub redirect_port: Option<u16>,
}

impl OauthDescriptor {
    /// Returns `None` without `auth = "oauth"`.
    pub(crate) fn read(connection: &Table<'_, '_>) -> Option<Self> {
        let auth = connection.choice("auth", &AUTHS);
        let Some(table) = connection.table("oauth") else { return auth.map(|_| Self::default()) };
        let span = table.span;
        let named = |key| table.string(key).and_then(|text| secret(&table, text));
        let read = Self {
            client_id: named("client_id"),
            client_secret: named("client_secret"),
            scopes: scopes(&table),
            client_metadata_url: metadata_url(&table),
            redirect_port: table
                .integer("redirect_port", 1..=65535)
                .and_then(|port| u16::try_from(port.value).ok()),
        };
        if let (None, Some(secret)) = (&read.client_id, &read.client_secret) {
            let hint = "add `client_id = \"…\"`, which the provider shows beside the secret, or remove `client_secret`";
            table.problems.bad_value(secret.span, "`client_secret` requires `client_id`", hint);
        }
        let problems = table.problems;
        table.finish();
        if auth.is_none() {
            let message = "`[connection.oauth]` requires `auth = \"oauth\"` in `[connection]`";
            problems.bad_value(span, message, "add `auth = \"oauth\"` below `[connection]`");
        }
        auth.map(|_| read)
    }
}

fn scopes(table: &Table<'_, '_>) -> Vec<String> {
    let Some(scopes) = table.strings("scopes") else { return Vec::new() };
    if let Some(beyond) = scopes.value.get(MAX_SCOPES) {
        table.problems.error(Code::TooMany, beyond.span, format!("more than {MAX_SCOPES} scopes"));
    }
    let mut valid = Vec::new();
    for scope in scopes.value {
        // RFC 6749, section 3.3.
        let is_allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if scope.value.is_empty() || !scope.value.chars().all(is_allowed) {
            let message = "a scope must be visible ASCII without blanks, quotes and `\\`";
            let words: Vec<_> = scope.value.split_whitespace().map(|word| format!("\"{word}\"")).collect();
            let splits = words.len() > 1 && scope.value.chars().all(|c| is_allowed(c) || c == ' ');
            let hint = match splits && scope.value.len() <= 200 {
                true => format!("write each scope as an element of its own: `{}`", words.join(", ")),
                false => "for example: `scopes = [\"files:read\", \"files:write\"]`".to_owned(),
            };
            table.problems.bad_value(scope.span, message, hint);
        } else {
            valid.push(scope.value);
        }
    }
    valid
}

fn metadata_url(table: &Table<'_, '_>) -> Option<String> {
    let url = table.string("client_metadata_url")?;
    if !url.value.starts_with("https://") || url.value.chars().any(|c| c.is_whitespace() || c.is_control()) {
        let hint = "for example: `client_metadata_url = \"https://example.com/client.json\"`";
        table.problems.bad_value(url.span, "`client_metadata_url` must begin with `https://`", hint);
        return None;
    }
    Some(url.value)
}
