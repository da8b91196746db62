//! OAuth of a server, as other programs write it: `auth = "oauth"` and `[connection.oauth]` here.
//!
//! | program | its keys | documented at (checked 2026-11) |
//! | --- | --- | --- |
//! | Claude Code | `oauth`: `clientId`, `callbackPort`, `scopes` (one text), `authServerMetadataUrl` | <https://code.claude.com/docs/en/mcp> |
//! | Gemini CLI | `oauth`: `enabled`, `clientId`, `clientSecret`, `scopes`, `redirectUri`, `authorizationUrl`, `tokenUrl` | <https://geminicli.com/docs/tools/mcp-server> |
//! | VS Code | `oauth`: `clientId` | <https://code.visualstudio.com/docs/agents/reference/mcp-configuration> |
//! | Cursor | `auth`: `CLIENT_ID`, `CLIENT_SECRET`, `scopes` | <https://cursor.com/docs/mcp> |
//! | opencode | `oauth`: `clientId`, `clientSecret`, `scope`; `false` | <https://opencode.ai/docs/mcp-servers> |
//!
//! One reader for all: the words are the same but for their casing. Where tokens are had a server says itself, so no
//! address of an authorization server is taken over.

use serde_json::{Map, Value};

use crate::draft::{DraftOauth, DraftReach, RawText};
use crate::entry::Entry;
use crate::note::quoted;

/// Bytes of one text.
const MAX_TEXT: usize = 4 * 1024;
/// Scopes of one server.
const MAX_SCOPES: usize = 100;
const NO_OTHER: &str =
    "of what a server may ask for, OAuth with a browser is supported; a token goes into `headers`";

/// What these keys say, the first that says anything; all of them are known then.
pub(crate) fn read<'a>(entry: &mut Entry<'a>, keys: &[&'a str], reach: &DraftReach) -> Option<DraftOauth> {
    if matches!(reach, DraftReach::Stdio { .. }) {
        entry.ignored(keys, "a program has no OAuth login");
        return None;
    }
    let mut read = None;
    for key in keys {
        match entry.value(key) {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => read = read.or_else(|| Some(DraftOauth::default())),
            Some(Value::Object(map)) => {
                let found = client(entry, key, map);
                read = read.or(found);
            }
            Some(Value::String(word)) if is_oauth(word) => {
                read = read.or_else(|| Some(DraftOauth::default()))
            }
            Some(_) => entry.note(format!("{} is not imported: {NO_OTHER}", quoted(key))),
        }
    }
    read
}

/// The words of codex and of Gemini CLI for it.
fn is_oauth(word: &str) -> bool {
    ["oauth", "dynamic_discovery"].iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn client(entry: &mut Entry<'_>, key: &str, map: &Map<String, Value>) -> Option<DraftOauth> {
    let mut oauth = DraftOauth::default();
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let plain = name.replace(['_', '-'], "").to_ascii_lowercase();
        let text = value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_TEXT);
        let written = || text.map(|text| RawText::Foreign(text.to_owned()));
        let taken = match plain.as_str() {
            "enabled" if *value == Value::Bool(false) => return None,
            "enabled" => true,
            "clientid" => kept(&mut oauth.client_id, written()),
            "clientsecret" => kept(&mut oauth.client_secret, written()),
            "scope" | "scopes" => scopes(value).is_some_and(|scopes| {
                oauth.scopes = scopes;
                true
            }),
            "callbackport" | "redirectport" => kept(&mut oauth.redirect_port, port(value)),
            "redirecturi" => kept(&mut oauth.redirect_port, text.and_then(port_of)),
            "clientmetadataurl" => {
                kept(&mut oauth.client_metadata_url, text.filter(|url| is_address(url)).map(str::to_owned))
            }
            _ => false,
        };
        if !taken {
            entry.note(format!("{} in {} has no counterpart and is not imported", quoted(name), quoted(key)));
        }
    }
    if oauth.client_secret.is_some() && oauth.client_id.is_none() {
        entry.note("its client secret has no client id and is left out");
        oauth.client_secret = None;
    }
    Some(oauth)
}

fn kept<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let taken = value.is_some();
    *place = value.or(place.take());
    taken
}

/// A list, or one text with blanks in it.
fn scopes(value: &Value) -> Option<Vec<String>> {
    let words: Vec<&str> = match value {
        Value::String(text) => text.split_whitespace().collect(),
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    // RFC 6749, section 3.3.
    let good = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    let sound = |word: &&str| !word.is_empty() && word.chars().all(good);
    let fits = words.len() <= MAX_SCOPES && words.iter().all(sound);
    fits.then(|| words.into_iter().map(str::to_owned).collect())
}

fn port(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// Of `http://localhost:PORT/callback`, which is where the browser comes back to here too.
fn port_of(address: &str) -> Option<u16> {
    let rest =
        ["http://localhost:", "http://127.0.0.1:"].iter().find_map(|home| address.strip_prefix(home))?;
    rest.strip_suffix("/callback")?.parse().ok().filter(|port| *port > 0)
}

fn is_address(url: &str) -> bool {
    url.starts_with("https://")
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '$' | '{' | '?' | '@'))
}
