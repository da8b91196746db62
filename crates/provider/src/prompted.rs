//! Tools in words, for models and servers that know none: opt-in, around the processor of any wire.
//!
//! The tools stand in the system text, with their schemas. The model writes `<tool_call>{…}</tool_call>`, the form of
//! Hermes and Qwen, which many local models have been trained on; results are told to it as `<tool_response>`. The
//! request itself has no tools, so nothing in it can be refused for them, and no native form of a reply is kept: there
//! is nothing to replay.
//!
//! What is written without the marker stays text. Whatever the model writes from a `<tool_response>` of its own on is
//! dropped: it has invented results. The rest is as with any other wire: malformed JSON is malformed arguments, an
//! unknown name is an unknown tool, and nothing of a reply that was cut is run. An answer that must follow a schema is told
//! so beside the tools.
//!
//! The form: <https://github.com/NousResearch/Hermes-Function-Calling> (checked 2026-11).

mod closing;
mod decoder;
mod splitter;
#[cfg(test)]
mod tests;
mod text_view;

use bytes::Bytes;
use converse_canister::Declaration;
use http::response::Parts;
use serde_json::{Value, json};

use crate::schema::object_root;
use crate::{
    Controls, Decoder, Dialect, Endpoint, Processor, Prompt, ReplyOrigin, TranslateError, processor,
};

pub(crate) const OPEN: &str = "<tool_call>";
pub(crate) const CLOSE: &str = "</tool_call>";
pub(crate) const RESULT: &str = "<tool_response>";

/// The wrapper around a wire's own processor.
#[derive(Debug)]
pub(crate) struct Prompted(pub(crate) Dialect);

impl Processor for Prompted {
    /// What the system text says of each tool.
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        let tool = |tool: &Declaration| {
            let parameters = object_root(tool)?;
            Ok(json!({ "name": tool.name, "description": tool.description, "parameters": parameters }))
        };
        tools.iter().map(tool).collect()
    }

    fn nativize(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        let tools = self.prepare_tools(prompt.tools, endpoint)?;
        let view = text_view::view(prompt, endpoint, &tools);
        // A server that holds every token to a schema leaves no room for a block: the schema is told instead.
        let free = (!tools.is_empty()).then(|| Controls { answer: None, ..prompt.controls.clone() });
        let controls = free.as_ref().unwrap_or(prompt.controls);
        let told = Prompt { view: &view, tools: &[], controls, ..*prompt };
        processor(self.0).nativize(&told, endpoint)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        let inner = processor(self.0).normalize(head, origin.clone());
        Box::new(decoder::PromptedDecoder::new(inner, origin))
    }
}
