//! Converts an HTTP response to an answer for the model. Pure, except that it keeps artefacts.

use converse_canister::Content;
use encoding_rs::{Encoding, UTF_8};
use http::StatusCode;
use serde_json::Value;

use crate::roster::Artefacts;
use crate::{Answer, Fetched};

/// A larger JSON body is passed on as text: a parsed value takes many times the memory.
const MAX_STRUCTURED: usize = 1024 * 1024;
/// The largest JSON body of which only a part is passed on.
const MAX_TRIMMED: usize = 4 * 1024 * 1024;
/// Bytes of the body of an error response.
const MAX_EXPLANATION: usize = 16 * 1024;
const MAX_LOCATION: usize = 2 * 1024;

/// `result` is a JSON pointer to the part of a response that counts.
pub(super) fn answer(fetched: &Fetched, artefacts: &dyn Artefacts, result: Option<&str>) -> Answer {
    match fetched.status {
        200..=299 => Answer::new(part(fetched, result).unwrap_or_else(|| content(fetched, artefacts)), false),
        300..=399 => Answer::error(redirect(fetched)),
        _ => Answer::error(failure(fetched)),
    }
}

fn content(fetched: &Fetched, artefacts: &dyn Artefacts) -> Vec<Content> {
    if fetched.body.is_empty() {
        return vec![Content::text(format!("(no content; {})", status(fetched)))];
    }
    let kind = Kind::of(fetched);
    if fetched.truncated {
        return vec![cut(fetched), text(fetched, &kind)];
    }
    let piece = match &kind {
        Kind::Json if fetched.body.len() <= MAX_STRUCTURED => structured(fetched),
        Kind::Media(mime) => artefacts.keep(&fetched.body).map(|digest| Content::Blob {
            mime: mime.clone(),
            digest,
            name: None,
            seal: None,
        }),
        _ => None,
    };
    vec![piece.unwrap_or_else(|| text(fetched, &kind))]
}

fn structured(fetched: &Fetched) -> Option<Content> {
    json(fetched).map(|value| Content::Structured { value })
}

fn json(fetched: &Fetched) -> Option<Value> {
    let body = fetched.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&fetched.body);
    serde_json::from_slice(body).ok()
}

/// Returns the part of a JSON response that `result` points to. A response without that part counts as a whole.
fn part(fetched: &Fetched, result: Option<&str>) -> Option<Vec<Content>> {
    let pointer = result.filter(|_| matches!(Kind::of(fetched), Kind::Json))?;
    if fetched.truncated || fetched.body.len() > MAX_TRIMMED {
        return None;
    }
    let value = json(fetched)?.pointer_mut(pointer).map(Value::take)?;
    let text = value.to_string();
    let large = text.len() > MAX_STRUCTURED;
    Some(vec![if large { Content::text(text) } else { Content::Structured { value } }])
}

/// Said before the body, whose end may be cut again.
fn cut(fetched: &Fetched) -> Content {
    Content::text(format!("[the answer was cut after {} bytes]", fetched.body.len()))
}

fn text(fetched: &Fetched, kind: &Kind) -> Content {
    let more = if fetched.truncated { "more than " } else { "" };
    match kind {
        Kind::Json | Kind::Text(_) => Content::text(decoded(fetched, kind)),
        Kind::Media(mime) => Content::text(format!("[{mime}, {more}{} bytes, not kept]", fetched.body.len())),
        Kind::Other(mime) => Content::text(format!("[{mime}, {more}{} bytes]", fetched.body.len())),
    }
}

fn decoded(fetched: &Fetched, kind: &Kind) -> String {
    let encoding = if let Kind::Text(encoding) = kind { encoding } else { UTF_8 };
    encoding.decode(&fetched.body).0.into_owned()
}

/// `404 Not Found`.
pub(crate) fn status(fetched: &Fetched) -> String {
    let known = StatusCode::from_u16(fetched.status).ok().and_then(|status| status.canonical_reason());
    known.map_or_else(
        || format!("status {}", fetched.status),
        |reason| format!("status {} {reason}", fetched.status),
    )
}

fn redirect(fetched: &Fetched) -> String {
    let place = fetched.location.as_deref().map_or_else(
        || "names no other place".to_owned(),
        |location| format!("points to {}", head(location, MAX_LOCATION)),
    );
    format!("{}: it {place}; redirects are not followed", status(fetched))
}

fn failure(fetched: &Fetched) -> String {
    if fetched.body.is_empty() {
        return status(fetched);
    }
    let body = match text(fetched, &Kind::of(fetched)) {
        Content::Text { text, .. } => text,
        _ => String::new(),
    };
    let kept = head(&body, MAX_EXPLANATION);
    let mark = if kept.len() < body.len() || fetched.truncated { "\n[cut]" } else { "" };
    format!("{}\n{kept}{mark}", status(fetched))
}

fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// What a body is, by its declared type alone: nothing is guessed from its bytes except when no type is declared.
#[derive(Debug)]
pub(crate) enum Kind {
    Json,
    Text(&'static Encoding),
    /// A picture or a sound.
    Media(String),
    Other(String),
}

impl Kind {
    pub(crate) fn of(fetched: &Fetched) -> Self {
        let declared = fetched.content_type.as_deref().unwrap_or_default();
        let mut parts = declared.split(';');
        let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut charset = parts.filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        let encoding =
            charset.next().and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
        let Some((family, kind)) = mime.split_once('/') else {
            let is_text = std::str::from_utf8(&fetched.body).is_ok_and(|text| !text.contains('\0'));
            return if is_text { Self::Text(UTF_8) } else { Self::Other("binary".to_owned()) };
        };
        match (family, kind) {
            (_, "json") => Self::Json,
            (_, kind) if kind.ends_with("+json") => Self::Json,
            (_, kind) if kind.ends_with("+xml") => Self::Text(encoding),
            ("text", _) => Self::Text(encoding),
            ("application", kind) if TEXTS.contains(&kind) => Self::Text(encoding),
            ("image" | "audio", _) => Self::Media(plain(&mime)),
            _ => Self::Other(plain(&mime)),
        }
    }
}

/// Types of `application/` that are texts.
const TEXTS: &[&str] = &[
    "ecmascript",
    "graphql",
    "javascript",
    "jsonl",
    "ndjson",
    "sql",
    "toml",
    "x-javascript",
    "x-ndjson",
    "x-sh",
    "x-www-form-urlencoded",
    "x-yaml",
    "xml",
    "yaml",
];

/// Returns a media type from a server, shortened and without characters that are not allowed in it.
fn plain(mime: &str) -> String {
    let sound = |c: &char| c.is_ascii_alphanumeric() || "/!#$&-^_.+".contains(*c);
    mime.chars().filter(sound).take(128).collect()
}
