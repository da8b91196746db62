//! One content block of a result, read field by field; unknown fields are skipped.

use std::borrow::Cow;

use converse_canister::Content;
use converse_ensemble::Artefacts;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::media::{self, Refused};
use crate::sanitize;

const MAX_NAME: usize = 300;
/// Media blocks of one result; each may cost a model as much as pages of text.
const MAX_MEDIA: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    mime_type: Option<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

/// Reads the blocks of one result.
pub(super) struct Reader<'a> {
    artefacts: &'a dyn Artefacts,
    media: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(artefacts: &'a dyn Artefacts) -> Self {
        Self { artefacts, media: 0 }
    }

    pub(super) fn read(&mut self, block: &RawValue) -> Content {
        // An unknown or incomplete block is passed on as JSON.
        self.known(block).unwrap_or_else(|| Content::text(block.get()))
    }

    fn known(&mut self, block: &RawValue) -> Option<Content> {
        if !block.get().starts_with('{') {
            return None;
        }
        let block: Block<'_> = serde_json::from_str(block.get()).ok()?;
        match &*block.kind {
            "text" => string(block.text).map(Content::text),
            "image" | "audio" => {
                Some(self.media(&string(block.data)?, string(block.mime_type).as_deref(), None))
            }
            "resource" => self.embedded(serde_json::from_str(block.resource?.get()).ok()?),
            "resource_link" => Some(Content::Resource {
                uri: sanitize::clean(&string(block.uri)?, sanitize::MAX_ERROR),
                name: string(block.name)
                    .or_else(|| string(block.title))
                    .map(|name| sanitize::clean(&name, MAX_NAME)),
                mime: string(block.mime_type).as_deref().map(mime),
            }),
            _ => None,
        }
    }

    fn embedded(&mut self, resource: Embedded) -> Option<Content> {
        let uri = sanitize::clean(&resource.uri, MAX_NAME);
        match resource {
            Embedded { text: Some(text), .. } => Some(Content::text(format!("[resource {uri}]\n{text}"))),
            Embedded { blob: Some(data), mime_type, .. } => {
                let words = mime_type.as_deref().filter(|mime| mime.starts_with("text/"));
                let text = words.and_then(|_| media::words(&data));
                Some(match text {
                    Some(text) => Content::text(format!("[resource {uri}]\n{text}")),
                    None => self.media(&data, mime_type.as_deref(), Some(uri)),
                })
            }
            _ => None,
        }
    }

    fn media(&mut self, data: &str, mime_type: Option<&str>, name: Option<String>) -> Content {
        let mime = mime(mime_type.unwrap_or_default());
        let bytes = media::size(data);
        let untold = |why: &str| Content::text(format!("[{mime}, {bytes} bytes, {why}]"));
        if self.media == MAX_MEDIA {
            return untold("not shown");
        }
        let decoded = match media::decoded(data, &mime) {
            Ok(decoded) => decoded,
            Err(Refused::NotBase64) => return Content::text(format!("[{mime}, not valid base64, not kept]")),
            Err(Refused::NotShown) => return untold("not shown"),
        };
        let Some(digest) = self.artefacts.keep(&decoded) else { return untold("not kept") };
        self.media += 1;
        Content::Blob { mime, digest, name, seal: None }
    }
}

fn string(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns a valid media type in lower case, or `application/octet-stream`.
fn mime(mime: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    let usable = mime.len() <= 100 && mime.contains('/') && mime.chars().all(plain);
    if usable { mime.to_ascii_lowercase() } else { "application/octet-stream".to_owned() }
}
