//! Translates between canisters (messages) and the wire formats of model providers.
//!
//! A [`Processor`] turns a [`Prompt`] into an HTTP request *value*, and a response's bytes, in pieces of any size, back
//! into canisters. It opens no socket, reads no clock and knows no key; the owner of the connection feeds it. A stream,
//! a whole JSON body and a proxy's error page go through the same decoder, so a wire is tested by cutting recorded bytes
//! in every possible way.
//!
//! ```
//! use converse_canister::{Canister, NoBlobs, ProviderName, User};
//! use converse_provider::{AuthScheme, Controls, Dialect, Endpoint, Facts, Prompt, Quirks, processor_of};
//!
//! let name = ProviderName::try_from("example".to_owned())?;
//! let url = "https://llm.example/v1".to_owned();
//! let endpoint = Endpoint::new(name, Dialect::OpenAiChat, url, AuthScheme::Bearer, Quirks::default());
//! let view = [Canister::User(User::text("Say hello."))];
//! let (controls, facts) = (Controls::default(), Facts::default());
//! let prompt =
//!     Prompt { model: "m", view: &view, tools: &[], controls: &controls, facts: &facts, blobs: &NoBlobs };
//!
//! let request = processor_of(&endpoint).nativize(&prompt, &endpoint)?;
//! assert_eq!(request.uri(), "https://llm.example/v1/chat/completions");
//! // The sender adds the key.
//! assert!(!request.headers().contains_key("authorization"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `processor_alone` of this crate also decodes a response.
//!
//! What a provider *says* is rarely trusted. Calls are found by looking for calls, not by the stop reason. A reply is
//! complete when its terminal marker came, not when the connection closed. Ids are echoed only to the server that sent
//! them.

mod anthropic;
mod base_url;
mod batches;
mod body;
mod catalog;
mod compact_vec;
mod compose;
mod controls;
mod degraded;
mod endpoint;
mod error;
mod facts;
mod gemini;
mod grouping;
mod head;
mod hidden;
mod html;
mod kept_messages;
mod lenient;
mod lines;
mod lint;
mod listing;
mod media;
mod ollama;
mod opaque_reasoning;
mod openai_chat;
mod openai_responses;
mod patch;
mod plain;
mod processor;
mod prompt;
mod prompted;
mod refusal;
mod repeated;
mod request;
mod retry_after;
mod rows;
mod schema;
mod shown;
mod sse;
mod text_calls;
mod thoughts;
mod wire_ids;
mod wrapped;

pub use base_url::same_base_url;
pub use batches::{
    BatchApi, BatchEnd, BatchError, BatchLimits, BatchOutcome, BatchPage, BatchPart, BatchResult, BatchState,
    BatchStatus,
};
pub use catalog::{KnownModel, known, known_models};
pub use degraded::{Degraded, degraded};
pub use endpoint::{AuthScheme, Dialect, Endpoint, Quirks, ReasoningReplay, Structured, ToolProtocol};
pub use error::{DecodeError, Refusal, RefusalClass, ReplyError, RetryAdvice, TranslateError};
pub use facts::{AcceptedMedia, Facts, LongPromptPrice, Price, Thinking};
pub use head::request_id;
pub use hidden::has_hidden_thinking;
pub use kept_messages::{KeptMessages, Prepared};
pub use lint::{LintTarget, Objection, Remedy, lint, lint_name};
pub use listing::{ListError, ListedModel, Page, list_request, read_list};
pub use media::{Delivery, Medium, OmissionReason, Position, budget, delivery, encoded, most_bytes};
pub use patch::{Change, Patch};
pub use processor::{Decoder, Delta, Processor, Reply, ReplyOrigin};
pub use prompt::{AnswerFormat, Controls, Effort, ForcedCall, Prompt};
pub use prompted::echoes_data;
pub use rows::{ProviderRow, row, row_for_bare_model, rows};
pub use shown::without_blobs;
pub use text_calls::{TextCall, text_calls};
pub use thoughts::replays_reasoning;
pub use wrapped::{WRAPPED, wrapped};

use prompted::Prompted;

/// Returns the processor of a wire.
pub fn processor(dialect: Dialect) -> &'static dyn Processor {
    match dialect {
        Dialect::AnthropicMessages => &anthropic::Anthropic,
        Dialect::OpenAiChat => &openai_chat::OpenAiChat,
        Dialect::OpenAiResponses => &openai_responses::OpenAiResponses,
        Dialect::Gemini => &gemini::Gemini,
        Dialect::Ollama => &ollama::Ollama,
    }
}

/// Returns the processor of an endpoint: that of its wire, or one that describes tools in the system text.
pub fn processor_of(endpoint: &Endpoint) -> &'static dyn Processor {
    match (endpoint.tools, endpoint.dialect) {
        (ToolProtocol::Native, dialect) => processor(dialect),
        (ToolProtocol::Prompted, Dialect::AnthropicMessages) => &Prompted(Dialect::AnthropicMessages),
        (ToolProtocol::Prompted, Dialect::OpenAiChat) => &Prompted(Dialect::OpenAiChat),
        (ToolProtocol::Prompted, Dialect::OpenAiResponses) => &Prompted(Dialect::OpenAiResponses),
        (ToolProtocol::Prompted, Dialect::Gemini) => &Prompted(Dialect::Gemini),
        (ToolProtocol::Prompted, Dialect::Ollama) => &Prompted(Dialect::Ollama),
    }
}
