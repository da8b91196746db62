//! Parts of messages. Chat completions and responses have the same parts under different names.

use serde_json::Value;

use super::ApiError;
use super::fields::{Fields, found, shown};
use super::media::{self, Media};

/// A part of a message.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Media(Media),
}

/// Which parts a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    Text,
    /// Text, images, recordings and files.
    All,
}

const CACHE_HINT: &str = "breakpoints are set by this server";

/// Parses `content` of chat completions: a text or parts.
pub(super) fn chat(value: Value, at: &str, allowed: Allowed) -> Result<Vec<Part>, ApiError> {
    parts(value, at, |mut part| {
        let kind = part.required_string("type")?;
        let parsed = match (kind.as_str(), allowed) {
            ("text", _) => Part::Text(part.required_string("text")?),
            ("image_url", Allowed::All) => Part::Media(chat_image(&mut part)?),
            ("input_audio", Allowed::All) => Part::Media(recording(&mut part)?),
            ("file", Allowed::All) => {
                let at = part.at("file");
                let mut file = Fields::of(part.required("file")?, at)?;
                let media = inline_file(&mut file)?;
                file.end()?;
                Part::Media(media)
            }
            (_, Allowed::Text) => return Err(unknown_kind(&part, &kind, "`text`")),
            _ => return Err(unknown_kind(&part, &kind, "`text`, `image_url`, `input_audio` or `file`")),
        };
        part.refuse("prompt_cache_breakpoint", CACHE_HINT)?;
        part.end()?;
        Ok(parsed)
    })
}

/// Parses the parts of assistant messages of chat completions: text and refusals, joined.
pub(super) fn chat_assistant(value: Value, at: &str) -> Result<String, ApiError> {
    let parts = parts(value, at, |mut part| {
        let text = match part.required_string("type")?.as_str() {
            "text" => part.required_string("text")?,
            "refusal" => part.required_string("refusal")?,
            kind => return Err(unknown_kind(&part, kind, "`text` or `refusal`")),
        };
        part.refuse("prompt_cache_breakpoint", CACHE_HINT)?;
        part.end()?;
        Ok(Part::Text(text))
    })?;
    Ok(text_of(parts))
}

/// Joins the text of parts that may have text only.
pub(super) fn text_of(parts: Vec<Part>) -> String {
    let text = |part| match part {
        Part::Text(text) => Some(text),
        Part::Media(_) => None,
    };
    parts.into_iter().filter_map(text).collect()
}

pub(super) fn parts(
    value: Value,
    at: &str,
    mut parse: impl FnMut(Fields) -> Result<Part, ApiError>,
) -> Result<Vec<Part>, ApiError> {
    match value {
        Value::String(text) => Ok(vec![Part::Text(text)]),
        Value::Array(parts) => {
            let parse = |(index, part)| parse(Fields::of(part, format!("{at}[{index}]"))?);
            parts.into_iter().enumerate().map(parse).collect()
        }
        other => Err(ApiError::invalid_type(at, "a string or an array of parts", found(&other))),
    }
}

pub(super) fn unknown_kind(part: &Fields, kind: &str, expected: &str) -> ApiError {
    ApiError::unsupported_value(&part.at("type"), shown(kind), expected)
}

fn chat_image(part: &mut Fields) -> Result<Media, ApiError> {
    let at = part.at("image_url");
    let mut image = Fields::of(part.required("image_url")?, at)?;
    let url = image.required_string("url")?;
    detail(&mut image)?;
    let media = media::image(&url, &image.at("url"))?;
    image.end()?;
    Ok(media)
}

/// `detail` of an image: no wire of this server can pass another than the default on.
pub(super) fn detail(image: &mut Fields) -> Result<(), ApiError> {
    image.only("detail", &["auto".into()])
}

pub(super) fn recording(part: &mut Fields) -> Result<Media, ApiError> {
    let at = part.at("input_audio");
    let mut audio = Fields::of(part.required("input_audio")?, at)?;
    let data = audio.required_string("data")?;
    let format = audio.word("format", &["wav", "mp3"])?;
    let format = format.ok_or_else(|| ApiError::missing(&audio.at("format")))?;
    let media = media::audio(&data, format, &audio.at("data"))?;
    audio.end()?;
    Ok(media)
}

/// `file_data` and `filename`, of the object that has them.
pub(super) fn inline_file(file: &mut Fields) -> Result<Media, ApiError> {
    file.refuse("file_id", "files cannot be uploaded; send `file_data`")?;
    let data = file.required_string("file_data")?;
    let name = file.string("filename")?;
    media::file(&data, name, &file.at("file_data"))
}
