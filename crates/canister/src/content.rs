//! What a message is made of, and the opaque parts that travel with it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ProviderName;

/// One piece of a message. Every kind may carry a seal: Gemini signs even empty text, Anthropic redacts reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// What a model thought aloud. Shown on demand, replayed only through the maker's own [`Native`].
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// Bytes kept elsewhere, by digest: an image, a recording, a document.
    Blob {
        mime: String,
        digest: Digest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<ReasoningToken>,
    },
    /// A pointer that a tool handed out (an MCP resource link); never read automatically.
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

    /// The words in it, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Who made an opaque part, precisely enough that it is never replayed to anyone else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    pub provider: ProviderName,
    /// The wire it was written for, e.g. `anthropic-messages`.
    pub dialect: String,
    /// The model as it was *requested* (a response may name a dated snapshot of it).
    pub model: String,
    /// The base URL it came from: a signature of one account's proxy is not another's.
    pub endpoint: String,
}

/// Something a provider wants back untouched (a signature, encrypted reasoning): opaque, replayed to its maker only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReasoningToken {
    pub maker: Maker,
    pub value: Value,
}

/// A whole reply as its provider wrote it, item by item, for a replay that changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Native {
    pub maker: Maker,
    pub items: Vec<Value>,
}

/// The SHA-256 of some bytes; written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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

/// Where the bytes behind a [`Content::Blob`] are found.
pub trait Blobs: Send + Sync {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>>;
}

/// No blobs at all: for transcripts that are known to hold none.
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
