//! The lines of a cassette; `docs/guides/cassettes.md` has them in words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cassette::{Given, Kept};

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format.
    pub cassette: u32,
    /// `converse 0.1.0`.
    pub program: String,
    /// RFC 3339.
    pub created: String,
    /// The possible models, as `provider/model`; the intended one is first.
    pub models: Vec<String>,
}

/// Any other line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    Offer(Offer),
    Model(Exchange),
    Invocation(Call),
}

/// What an ensemble had to offer when it was connected, or when its tools changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub ensemble: String,
    /// 0: as it was connected; n: as the nth look for changes found it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub look: u64,
    #[serde(flatten)]
    pub offered: Offered,
    /// What its server told models when it was connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<ServerInstructions>,
}

/// What a model was shown, and the digest of all that the server sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerInstructions {
    pub text: String,
    pub sha256: Digest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// Of a server.
    Tools(Vec<Tool>),
    /// So many that its own descriptor declares, and that are taken from there.
    Declared(usize),
    /// It could not be connected, and why.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub arguments: Value,
    /// All that its server said of it, if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

/// One request to a model, and what came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// `provider/model`.
    pub model: String,
    /// The wire, for readers; it is the model's.
    pub dialect: String,
    pub request: Request,
    /// The number in the order of start; lines are in the order of end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began: u64,
    #[serde(flatten)]
    pub reply: Reply,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub method: String,
    /// Below the base URL, with the query.
    pub path: String,
    /// As a [`Question`](crate::cassette::Question) has it.
    pub body: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Response(Response),
    /// None came.
    Failed(Broken),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    pub status: u16,
    /// Those that something depends on.
    pub headers: Map<String, Value>,
    pub body: Kept,
    /// The connection broke then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// What went wrong with a connection; the kinds are those of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    pub kind: String,
    pub message: String,
}

/// One invocation, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// `ensemble.invoker`.
    pub tool: String,
    pub arguments: Value,
    pub given: Given,
    /// As of an [`Exchange`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub began: u64,
    /// The bytes of what the answer shows by its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<Blob>,
    /// Millionths of a US dollar that it ran up beside its own price.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: u64,
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    pub digest: Digest,
    pub base64: String,
}

impl Blob {
    pub fn new(digest: Digest, bytes: &[u8]) -> Self {
        Self { digest, base64: STANDARD.encode(bytes) }
    }

    /// `None`: it is damaged, which a [`Cassette`](crate::cassette::Cassette) that was read is not.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.base64).ok()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
