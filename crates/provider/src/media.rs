//! Delivery of pictures, PDF files and sound, by wire, model and position.
//!
//! One table for all wires. Media that a model is known not to accept ([`Facts::takes`]) are described in text. Without
//! such knowledge the wire's default applies: pictures are sent, PDF files only on wires whose models all read them,
//! sound only where it is common. Checked 2026-11:
//! - Anthropic: the types of SDK 2.11.0 (`Base64ImageSourceParam`, `Base64PDFSourceParam`),
//!   <https://platform.claude.com/docs/en/build-with-claude/vision>; "image exceeds 5 MB maximum" counts base64,
//!   <https://github.com/anthropics/claude-code/issues/14887>.
//! - OpenAI: SDK 3.52.0 (`ChatCompletionContentPartParam`, `ResponseInputContent`, `ResponseFunctionCallOutputItem`),
//!   <https://developers.openai.com/api/docs/guides/images-vision>: no sound in Responses, nothing but text in a
//!   `tool` message of Chat.
//! - Gemini: <https://firebase.google.com/docs/ai-logic/input-file-requirements> (20 MB a request),
//!   <https://ai.google.dev/gemini-api/docs/function-calling>: results hold media from Gemini 3 on.
//! - Ollama: <https://docs.ollama.com/api/chat> (`images`).

mod budget;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Content, Digest};

use crate::grouping::Turn;
use crate::plain::{self, Placeholder};
use crate::{Dialect, Endpoint, Facts, Prompt};

pub(crate) use budget::placed;
pub use budget::{budget, encoded};

/// Kind of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Medium {
    Picture,
    Pdf,
    Sound,
}

/// Position of media in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A user's message or a document.
    UserMessage,
    /// The result of an invocation.
    Result,
}

/// The way in which media are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Sent in their position.
    Inline,
    /// Replaced by a line, and sent in the user's next message.
    Following,
    /// Replaced by a line of text.
    Words,
}

/// Returns how a MIME type is delivered, regardless of size.
pub fn delivery(endpoint: &Endpoint, model: &str, facts: &Facts, place: Position, mime: &str) -> Delivery {
    let mime = canonical(mime);
    let Some(medium) = Medium::of(&mime) else { return Delivery::Words };
    if !types(endpoint.dialect, medium).contains(&mime.as_ref()) || !taken(endpoint.dialect, facts, medium) {
        return Delivery::Words;
    }
    match (place, endpoint.dialect) {
        (Position::UserMessage, _) => Delivery::Inline,
        (Position::Result, Dialect::AnthropicMessages | Dialect::OpenAiResponses) => Delivery::Inline,
        (Position::Result, Dialect::Gemini) if results_hold(model, &mime) => Delivery::Inline,
        (Position::Result, Dialect::Gemini | Dialect::OpenAiChat | Dialect::Ollama) => Delivery::Following,
    }
}

/// Returns the largest file, in bytes before base64, that the wire's server is known to accept.
pub fn most_bytes(dialect: Dialect, medium: Medium) -> Option<usize> {
    match (dialect, medium) {
        (Dialect::AnthropicMessages, Medium::Picture) => Some(5 * 1024 * 1024 / 4 * 3),
        // All that a request has room for.
        (Dialect::Gemini, _) => budget(dialect).map(|most| most / 4 * 3),
        _ => None,
    }
}

impl Medium {
    pub fn of(mime: &str) -> Option<Self> {
        match canonical(mime).as_ref() {
            "application/pdf" => Some(Self::Pdf),
            mime if mime.starts_with("image/") => Some(Self::Picture),
            mime if mime.starts_with("audio/") => Some(Self::Sound),
            _ => None,
        }
    }

    /// Returns the noun for messages, as in "the picture x.png".
    pub fn word(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Pdf => "PDF file",
            Self::Sound => "recording",
        }
    }
}

/// Returns the canonical name of a MIME type, without parameters.
fn canonical(mime: &str) -> Cow<'_, str> {
    let bare = mime.split(';').next().unwrap_or_default().trim();
    let bare = if bare.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(bare.to_ascii_lowercase())
    } else {
        Cow::Borrowed(bare)
    };
    match bare.as_ref() {
        "image/jpg" => Cow::Borrowed("image/jpeg"),
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Cow::Borrowed("audio/wav"),
        "audio/mp3" => Cow::Borrowed("audio/mpeg"),
        "audio/x-aiff" => Cow::Borrowed("audio/aiff"),
        "audio/x-flac" => Cow::Borrowed("audio/flac"),
        _ => bare,
    }
}

fn types(dialect: Dialect, medium: Medium) -> &'static [&'static str] {
    match (dialect, medium) {
        (Dialect::Gemini, Medium::Picture) => {
            &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]
        }
        (Dialect::Ollama, Medium::Picture) => &["image/png", "image/jpeg", "image/webp"],
        (_, Medium::Picture) => &["image/png", "image/jpeg", "image/gif", "image/webp"],
        (Dialect::Ollama, Medium::Pdf) => &[],
        (_, Medium::Pdf) => &["application/pdf"],
        (Dialect::Gemini, Medium::Sound) => {
            &["audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"]
        }
        (Dialect::OpenAiChat, Medium::Sound) => &["audio/wav", "audio/mpeg"],
        (Dialect::AnthropicMessages | Dialect::OpenAiResponses | Dialect::Ollama, Medium::Sound) => &[],
    }
}

/// Returns whether the model accepts the medium, as far as is known.
fn taken(dialect: Dialect, facts: &Facts, medium: Medium) -> bool {
    match medium {
        Medium::Picture => facts.takes.images.unwrap_or(true),
        Medium::Pdf => facts.takes.documents.unwrap_or(dialect != Dialect::OpenAiChat),
        Medium::Sound => facts.takes.audio.unwrap_or(dialect == Dialect::Gemini),
    }
}

/// Returns whether this Gemini model accepts media within a function result. Names without a number are the newest.
fn results_hold(model: &str, mime: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let number = name.strip_prefix("gemini-").unwrap_or(name).split(['.', '-']).next().unwrap_or_default();
    number.parse::<u32>().map_or(name.starts_with("gemini-"), |number| number >= 3)
        && matches!(mime, "image/png" | "image/jpeg" | "image/webp" | "application/pdf")
}

/// Media as a wire sends them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedMedia<'a> {
    pub(crate) medium: Medium,
    /// Canonical MIME type.
    pub(crate) mime: Cow<'a, str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) base64: String,
}

impl EncodedMedia<'_> {
    /// `data:image/png;base64,…`
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.base64)
    }
}

/// Why media are not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmissionReason {
    /// The wire or the model does not accept them, or not in this position.
    NotTaken,
    /// They exceed the server's limit, in bytes.
    TooLarge { bytes: usize, most: usize },
    /// Newer media fill the request.
    NoRoom,
    /// The bytes are no longer available.
    Gone,
}

/// How media are delivered, with their bytes, or why they are not.
type DeliveryResult = Result<(Delivery, Arc<[u8]>), OmissionReason>;

/// Returns the heading of media that follow the results they belong to.
pub(crate) fn heading(shown: &[EncodedMedia<'_>]) -> String {
    let pictures = shown.iter().all(|shown| shown.medium == Medium::Picture);
    let what = if pictures { "images" } else { "files" };
    format!("The {what} from the results above, in their order:")
}

/// Media decisions for one request.
#[derive(Clone)]
pub(crate) struct Media<'a> {
    endpoint: &'a Endpoint,
    model: &'a str,
    facts: &'a Facts,
    blobs: &'a dyn Blobs,
    left_out: HashSet<Digest>,
}

impl std::fmt::Debug for Media<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Media").field("model", &self.model).finish_non_exhaustive()
    }
}

impl<'a> Media<'a> {
    pub(crate) fn of(prompt: &Prompt<'a>, endpoint: &'a Endpoint) -> Self {
        let Prompt { model, facts, blobs, .. } = *prompt;
        let mut media = Self { endpoint, model, facts, blobs, left_out: HashSet::new() };
        media.left_out = budget::left_out(&media, prompt.view);
        media
    }

    /// Returns the content's media, if it is a blob that is sent in its position.
    pub(crate) fn inline<'c>(&self, content: &'c Content, place: Position) -> Option<EncodedMedia<'c>> {
        self.with(content, place, Delivery::Inline)
    }

    /// Returns the media of a result's content, if they follow in the user's next message.
    pub(crate) fn following<'c>(&self, content: &'c Content) -> Option<EncodedMedia<'c>> {
        self.with(content, Position::Result, Delivery::Following)
    }

    /// Returns the media of all successful results of a turn that follow them, in order.
    pub(crate) fn behind<'c>(&self, turn: &Turn<'c>) -> Vec<EncodedMedia<'c>> {
        let successes = turn.calls().filter(|call| call.answer.outcome().is_success());
        let contents = successes.flat_map(|call| plain::contents(&call.answer));
        contents.filter_map(|content| self.following(content)).collect()
    }

    /// Returns the content as text, used where [`Self::inline`] returns `None`.
    pub(crate) fn words(&self, content: &Content, place: Position) -> Option<String> {
        let placeholder = match self.judge(content, place) {
            Some(Ok((Delivery::Following, _))) => Placeholder::ShownNext,
            Some(Err(OmissionReason::TooLarge { .. })) => Placeholder::TooLarge,
            Some(Err(OmissionReason::NoRoom)) => Placeholder::NoRoom,
            _ => Placeholder::NotShown,
        };
        plain::text(content, self.blobs, placeholder)
    }

    /// Returns why a blob is replaced by text, if it is.
    pub(crate) fn refused(&self, content: &Content, place: Position) -> Option<OmissionReason> {
        self.judge(content, place)?.err()
    }

    fn with<'c>(&self, content: &'c Content, place: Position, wanted: Delivery) -> Option<EncodedMedia<'c>> {
        let (delivery, bytes) = self.judge(content, place)?.ok()?;
        let Content::Blob { mime, name, .. } = content else { return None };
        let mime = canonical(mime);
        (delivery == wanted).then_some(())?;
        Some(EncodedMedia {
            medium: Medium::of(&mime)?,
            mime,
            name: name.as_deref(),
            base64: STANDARD.encode(&bytes),
        })
    }

    /// Decides one content; `None` if it is not a blob. Never [`Delivery::Words`] without a reason.
    fn judge(&self, content: &Content, place: Position) -> Option<DeliveryResult> {
        let Content::Blob { mime, digest, .. } = content else { return None };
        let delivery = delivery(self.endpoint, self.model, self.facts, place, mime);
        let Some(medium) = Medium::of(mime).filter(|_| delivery != Delivery::Words) else {
            return Some(Err(OmissionReason::NotTaken));
        };
        if self.left_out.contains(digest) {
            return Some(Err(OmissionReason::NoRoom));
        }
        let Some(bytes) = self.blobs.bytes(digest).filter(|bytes| !bytes.is_empty()) else {
            return Some(Err(OmissionReason::Gone));
        };
        Some(match most_bytes(self.endpoint.dialect, medium) {
            Some(most) if bytes.len() > most => Err(OmissionReason::TooLarge { bytes: bytes.len(), most }),
            _ => Ok((delivery, bytes)),
        })
    }
}

#[cfg(test)]
mod tests;
