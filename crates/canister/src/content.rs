//! Content of messages, and the opaque parts that providers attach.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ProviderName;

/// One piece of a message. Text, reasoning and blobs may have an opaque token: Gemini signs even empty text, Anthropic
/// encrypts reasoning. It is serialised as `seal`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// A model's reasoning. Shown on demand, replayed only through the maker's own [`Native`].
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// Bytes stored elsewhere, by digest: an image, a recording, a document.
    Blob {
        mime: String,
        digest: Digest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// A link from a tool (an MCP resource link); never read automatically.
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
    },
    /// A machine-readable result, any JSON.
    Structured { value: Value },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), seal: None }
    }

    /// Returns the text, if this is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Origin of an opaque part: it is replayed only to an endpoint and model that are equal to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    pub provider: ProviderName,
    /// The wire it was written for, e.g. `anthropic-messages`.
    pub dialect: String,
    /// The model as it was *requested* (a response may name a dated snapshot of it).
    pub model: String,
    /// Base URL it came from.
    pub endpoint: String,
}

/// Opaque data that a provider wants back unchanged (a signature, encrypted reasoning); replayed only to its maker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReasoningToken {
    pub maker: Maker,
    pub value: Value,
}

/// A whole reply as its provider wrote it, item by item, for unchanged replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Native {
    pub maker: Maker,
    pub items: Vec<Value>,
}

/// A SHA-256 digest, serialised as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut hex = String::with_capacity(2 * self.0.len());
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        hex.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        f.write_str(&hex)
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(hex: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "a digest is 64 lower-case hex digits";
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(WRONG);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| WRONG)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| WRONG)?;
        }
        Ok(Self(bytes))
    }
}

/// Storage of the bytes of [`Content::Blob`].
pub trait Blobs: Send + Sync {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>>;
}

/// Empty storage, for transcripts without blobs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBlobs;

impl Blobs for NoBlobs {
    fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_hex_both_ways() {
        let digest = Digest(std::array::from_fn(|i| i as u8 * 7));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json.len(), 66);
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        for bad in ["\"\"", "\"zz\"", &format!("\"{}\"", "A".repeat(64))] {
            assert!(serde_json::from_str::<Digest>(bad).is_err(), "{bad}");
        }
    }
}
