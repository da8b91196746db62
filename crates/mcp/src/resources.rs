//! Resources: their declarations and contents.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/resources> (checked 2026-11).
//!
//! The URI of a resource is never fetched directly; the server is asked for its contents. Annotations (audience,
//! priority) are ignored.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content::{Refused, plain_bytes};
use crate::pages::{label, object, string};
use crate::raw::First;
use crate::sanitize;

const MAX_URI: usize = 8 * 1024;
pub(crate) const MAX_NAME: usize = 300;
pub(crate) const MAX_DESCRIPTION: usize = 2048;
/// Parts of one resource: a directory may come as its files.
const MAX_PARTS: usize = 100;
/// Bytes of all parts of one resource together.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// A resource as the server lists it. All text is foreign, bounded and without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The URI that requests use.
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
    /// Size in bytes, if the server declares it.
    pub size: Option<u64>,
}

/// A resource template: its URI (RFC 6570) contains `{variables}` that the user sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
}

impl Template {
    /// Returns the names of the variables, each once, in order of appearance.
    pub fn variables(&self) -> Vec<String> {
        variables(&self.uri)
    }
}

/// Returns the variables of an RFC 6570 template.
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

/// A part of the contents of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The URI of the part, which may be below that of the resource. Foreign, bounded, cleaned.
    pub uri: String,
    pub mime: Option<String>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(String),
    /// Decoded bytes of any type.
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

pub(crate) fn resource(entry: &RawValue) -> Result<Resource, String> {
    let declared: Declared<'_> = object(entry)?;
    let uri = address(declared.uri, "uri")?;
    let name = label(declared.name, MAX_NAME).unwrap_or_else(|| sanitize::clean(&uri, MAX_NAME));
    let size = declared.size.and_then(|raw| raw.get().parse().ok());
    let [title, description, mime] = about(&declared);
    Ok(Resource { uri, name, title, description, mime, size })
}

pub(crate) fn template(entry: &RawValue) -> Result<Template, String> {
    let declared: Declared<'_> = object(entry)?;
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

/// Returns a URI that can be typed, shown and sent back unchanged.
fn address(raw: Option<&RawValue>, field: &str) -> Result<String, String> {
    let uri = string(raw).ok_or_else(|| format!("`{field}` is missing"))?;
    if uri.is_empty() || uri.len() > MAX_URI {
        return Err(format!("`{field}` has {} bytes, expected 1 to {MAX_URI}", uri.len()));
    }
    if uri.chars().any(char::is_control) {
        return Err(format!("`{field}` contains control characters"));
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

/// Parses the result of `resources/read`. A resource with an invalid part is refused as a whole, because half of a
/// document is a different document.
pub(crate) fn parts(result: &str, requested: &str) -> Result<Vec<Part>, String> {
    let cause = |error: serde_json::Error| {
        format!("the server's answer could not be read: {}", sanitize::clean(&error.to_string(), 300))
    };
    let Contents { contents } = serde_json::from_str(result).map_err(cause)?;
    let contents: First<&RawValue, MAX_PARTS> = match contents.get().starts_with('{') {
        // A single part without an array.
        true => First { items: vec![contents], left: 0 },
        false => serde_json::from_str(contents.get()).map_err(cause)?,
    };
    if contents.left > 0 {
        return Err(format!("the resource has more than {MAX_PARTS} parts"));
    }
    let mut parts = Vec::new();
    let mut bytes = 0;
    for (place, raw) in contents.items.into_iter().enumerate() {
        let part = part(raw, requested).map_err(|why| format!("part {} {why}", place + 1))?;
        bytes += part.body.len();
        if bytes > MAX_BYTES {
            return Err(format!("the resource has more than {MAX_BYTES} bytes"));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn part(raw: &RawValue, requested: &str) -> Result<Part, String> {
    let odd = || "contains neither text nor bytes".to_owned();
    let content: Content<'_> = object(raw).map_err(|_| odd())?;
    let uri = label(content.uri, MAX_NAME).unwrap_or_else(|| sanitize::clean(requested, MAX_NAME));
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
