//! Resources: what a server lists, and what one of them holds.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/resources> (checked 2026-11).
//!
//! What a resource points to is never fetched by us, whatever its URI says: the server is asked for it. Annotations
//! (audience, priority) change nothing here.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content::{Refused, plain_bytes};
use crate::pages::{label, string};
use crate::raw::First;
use crate::sanitize;

const MAX_URI: usize = 8 * 1024;
pub(crate) const MAX_NAME: usize = 300;
pub(crate) const MAX_DESCRIPTION: usize = 2048;
/// Parts of one resource: a directory may come as its files.
const MAX_PARTS: usize = 100;
/// Bytes of all parts of one resource together.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// A resource as a server lists it. All of it is foreign; but for the URI, texts are bounded and without control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// As it is asked for.
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
    /// Bytes, if the server says.
    pub size: Option<u64>,
}

/// A family of resources: `{variables}` of its URI (RFC 6570) stand for what the user has to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
}

impl Template {
    /// The names of its variables, each once, in the order they stand in.
    pub fn variables(&self) -> Vec<String> {
        variables(&self.uri)
    }
}

/// The variables of a template of RFC 6570.
fn variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in template.split('{').skip(1) {
        let Some((expression, _)) = piece.split_once('}') else { continue };
        let listed = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        for name in listed.split(',') {
            let name = name.split(':').next().unwrap_or_default().trim_end_matches('*').trim();
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// One part of what a resource holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its own, which may be below that of the resource. Foreign, bounded, cleaned.
    pub uri: String,
    pub mime: Option<String>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(String),
    /// Decoded; nobody has looked what they are.
    Bytes(Vec<u8>),
}

impl Body {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    uri_template: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow)]
    size: Option<&'a RawValue>,
}

fn declared(entry: &RawValue) -> Result<Declared<'_>, String> {
    // An array would be taken for the fields in their order.
    if !entry.get().starts_with('{') {
        return Err("it is no object".to_owned());
    }
    serde_json::from_str(entry.get()).map_err(|error| error.to_string())
}

pub(crate) fn resource(entry: &RawValue) -> Result<Resource, String> {
    let declared = declared(entry)?;
    let uri = address(declared.uri, "uri")?;
    let name = label(declared.name, MAX_NAME).unwrap_or_else(|| sanitize::clean(&uri, MAX_NAME));
    let size = declared.size.and_then(|raw| raw.get().parse().ok());
    let [title, description, mime] = about(&declared);
    Ok(Resource { uri, name, title, description, mime, size })
}

pub(crate) fn template(entry: &RawValue) -> Result<Template, String> {
    let declared = declared(entry)?;
    let uri = address(declared.uri_template, "uriTemplate")?;
    let name = label(declared.name, MAX_NAME).unwrap_or_else(|| sanitize::clean(&uri, MAX_NAME));
    let [title, description, mime] = about(&declared);
    Ok(Template { uri, name, title, description, mime })
}

fn about(declared: &Declared<'_>) -> [Option<String>; 3] {
    [
        label(declared.title, MAX_NAME),
        label(declared.description, MAX_DESCRIPTION),
        label(declared.mime_type, 100),
    ]
}

/// One that can be typed, shown and sent back as it is.
fn address(raw: Option<&RawValue>, field: &str) -> Result<String, String> {
    let uri = string(raw).ok_or_else(|| format!("it has no `{field}`"))?;
    if uri.is_empty() || uri.len() > MAX_URI {
        return Err(format!("its `{field}` has {} bytes; 1 to {MAX_URI} can be used", uri.len()));
    }
    if uri.chars().any(char::is_control) {
        return Err(format!("its `{field}` holds control characters"));
    }
    Ok(uri)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents<'a> {
    #[serde(borrow)]
    contents: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    blob: Option<&'a RawValue>,
}

/// What a `resources/read` was answered with. All of it or nothing: half of a document is another one.
pub(crate) fn parts(result: &str, asked: &str) -> Result<Vec<Part>, String> {
    let said = |error: serde_json::Error| {
        format!("its answer could not be read: {}", sanitize::clean(&error.to_string(), 300))
    };
    let Contents { contents } = serde_json::from_str(result).map_err(said)?;
    let found: First<&RawValue, MAX_PARTS> = match contents.get().starts_with('{') {
        // One that stands alone.
        true => First { items: vec![contents], left: 0 },
        false => serde_json::from_str(contents.get()).map_err(said)?,
    };
    if found.left > 0 {
        return Err(format!("it comes in more than {MAX_PARTS} parts"));
    }
    let mut parts = Vec::new();
    let mut bytes = 0;
    for (place, raw) in found.items.into_iter().enumerate() {
        let part = part(raw, asked).map_err(|why| format!("part {} of it {why}", place + 1))?;
        bytes += part.body.len();
        if bytes > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn part(raw: &RawValue, asked: &str) -> Result<Part, String> {
    let odd = || "holds neither text nor bytes".to_owned();
    if !raw.get().starts_with('{') {
        return Err(odd());
    }
    let content: Content<'_> = serde_json::from_str(raw.get()).map_err(|_| odd())?;
    let uri = label(content.uri, MAX_NAME).unwrap_or_else(|| sanitize::clean(asked, MAX_NAME));
    let body = match (string(content.text), string(content.blob)) {
        (Some(text), _) => Body::Text(text),
        (None, Some(data)) => Body::Bytes(plain_bytes(&data, MAX_BYTES).map_err(|why| match why {
            Refused::NotBase64 => "is not valid base64".to_owned(),
            Refused::NotShown => format!("has more than {MAX_BYTES} bytes"),
        })?),
        (None, None) => return Err(odd()),
    };
    Ok(Part { uri, mime: label(content.mime_type, 100), body })
}

#[cfg(test)]
mod tests;
