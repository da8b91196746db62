//! Images, recordings and files inside of a request. Links are refused: the server fetches nothing for a client.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::media::magic;
use converse_canister::{Content, Digest};
use sha2::{Digest as _, Sha256};

use super::ApiError;

/// Bytes that a [`Content::Blob`] of the conversation names by digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub digest: Digest,
    pub mime: String,
    pub name: Option<String>,
    pub bytes: Arc<[u8]>,
}

/// What a part of a message holds.
#[derive(Debug)]
pub(super) enum Media {
    Blob(Attachment),
    Text { name: String, mime: String, text: String },
}

impl Attachment {
    fn new(mime: &str, name: Option<String>, bytes: Vec<u8>) -> Self {
        let digest = Digest(Sha256::digest(&bytes).into());
        Self { digest, mime: mime.to_owned(), name, bytes: bytes.into() }
    }

    pub(super) fn content(&self) -> Content {
        let (mime, name) = (self.mime.clone(), self.name.clone());
        Content::Blob { mime, digest: self.digest, name, seal: None }
    }
}

/// An image from a data URL.
pub(super) fn image(url: &str, param: &str) -> Result<Media, ApiError> {
    let (said, bytes) = data_url(url, param)?;
    match magic(&bytes) {
        Some(mime) if mime.starts_with("image/") && agrees(&said, mime) => {
            Ok(Media::Blob(Attachment::new(mime, None, bytes)))
        }
        found => Err(mismatch(param, "an image (PNG, JPEG, GIF, WebP, HEIC)", &said, found)),
    }
}

/// A recording: Base64 without a URL, and `wav` or `mp3`.
pub(super) fn audio(data: &str, format: &str, param: &str) -> Result<Media, ApiError> {
    let bytes = decoded(data, param)?;
    let wanted = if format == "wav" { "audio/wav" } else { "audio/mpeg" };
    match magic(&bytes) {
        Some(mime) if mime == wanted => Ok(Media::Blob(Attachment::new(mime, None, bytes))),
        found => Err(mismatch(param, "a WAV or MP3 recording", wanted, found)),
    }
}

/// A file: a data URL, or Base64 without one. Text becomes a document.
pub(super) fn file(data: &str, name: Option<String>, param: &str) -> Result<Media, ApiError> {
    let (said, bytes) = match data.starts_with("data:") {
        true => data_url(data, param)?,
        false if data.contains("://") => return Err(link(param)),
        false => (String::new(), decoded(data, param)?),
    };
    let name = name.map(|name| name.chars().filter(|c| !c.is_control()).take(128).collect::<String>());
    match magic(&bytes) {
        Some(mime) if agrees(&said, mime) => Ok(Media::Blob(Attachment::new(mime, name, bytes))),
        None if !bytes.is_empty() && !bytes.contains(&0) && is_text(&said) => {
            let text = String::from_utf8(bytes).map_err(|_| {
                mismatch(param, "a PDF file, an image, a recording or UTF-8 text", &said, None)
            })?;
            let mime = if said.is_empty() { "text/plain".to_owned() } else { said };
            Ok(Media::Text { name: name.unwrap_or_else(|| "file".to_owned()), mime, text })
        }
        found => Err(mismatch(param, "a PDF file, an image, a recording or UTF-8 text", &said, found)),
    }
}

fn link(param: &str) -> ApiError {
    ApiError::unsupported_value(param, "a link", "a data URL: `data:image/png;base64,…`")
}

/// Splits `data:MIME;base64,DATA` into the media type and the bytes.
fn data_url(url: &str, param: &str) -> Result<(String, Vec<u8>), ApiError> {
    let Some(rest) = url.strip_prefix("data:") else {
        return Err(match url.contains("://") {
            true => link(param),
            false => ApiError::invalid_value(param, "expected a data URL: `data:image/png;base64,…`"),
        });
    };
    let split = rest.split_once(',').and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data)));
    let (head, data) =
        split.ok_or_else(|| ApiError::invalid_value(param, "the data URL is not `data:MIME;base64,DATA`"))?;
    let mime = head.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok((mime, decoded(data, param)?))
}

fn decoded(data: &str, param: &str) -> Result<Vec<u8>, ApiError> {
    STANDARD.decode(data).map_err(|error| ApiError::invalid_value(param, format!("not Base64: {error}")))
}

/// Returns whether the media type that the client gave fits the detected one. An absent or generic one does.
fn agrees(said: &str, detected: &str) -> bool {
    matches!(said, "" | "application/octet-stream")
        || said == detected
        || matches!(
            (said, detected),
            ("image/jpg", "image/jpeg") | ("audio/mp3", "audio/mpeg") | ("audio/x-wav", "audio/wav")
        )
}

fn is_text(said: &str) -> bool {
    said.starts_with("text/")
        || matches!(
            said,
            "" | "application/octet-stream"
                | "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/toml"
                | "application/javascript"
        )
}

fn mismatch(param: &str, expected: &str, said: &str, found: Option<&str>) -> ApiError {
    let said = if said.is_empty() { "no media type".to_owned() } else { super::fields::shown(said) };
    let found = found.unwrap_or("of another type");
    ApiError::invalid_value(param, format!("expected {expected}; {said} is given and the content is {found}"))
}
