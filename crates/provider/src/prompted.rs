//! Tools described in text, for models and servers without tool support. Opt-in, around the processor of any wire.
//!
//! The system text lists the tools with their schemas. The model writes `<tool_call>{…}</tool_call>`, the form of
//! Hermes and Qwen, which many local models are trained on. Results are sent as `<tool_response>`. The request itself
//! has no tools that a server could refuse, and no native form of a reply is kept.
//!
//! Text without the marker stays text, and so does a marked block that is quoted ([`quoting`]) or that the model only
//! repeats ([`echoes_data`]). Text from a `<tool_response>` of the model's own on is dropped, because its
//! results are invented. Otherwise the rules of every wire apply: malformed JSON is malformed arguments, an unknown
//! name is an unknown tool, and nothing in a truncated reply is run. The schema of a structured answer is described
//! beside the tools.
//!
//! The form: <https://github.com/NousResearch/Hermes-Function-Calling> (checked 2026-11).

mod closing;
mod decoder;
mod echo;
mod quoting;
mod splitter;
#[cfg(test)]
mod tests;
mod text_view;

pub use echo::echoes_data;

use bytes::Bytes;
use converse_canister::Declaration;
use http::response::Parts;
use serde_json::{Value, json};

use crate::controls::check_unforced;
use crate::schema::object_root;
use crate::{
    Controls, Decoder, Dialect, Endpoint, Prepared, Processor, Prompt, ReplyOrigin, TranslateError, processor,
};

pub(crate) const OPEN: &str = "<tool_call>";
pub(crate) const CLOSE: &str = "</tool_call>";
pub(crate) const RESULT: &str = "<tool_response>";

/// The wrapper around a wire's own processor.
#[derive(Debug)]
pub(crate) struct Prompted(pub(crate) Dialect);

impl Processor for Prompted {
    /// The description of each tool in the system text.
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        let tool = |tool: &Declaration| {
            let parameters = object_root(tool)?;
            Ok(json!({ "name": tool.name, "description": tool.description, "parameters": parameters }))
        };
        tools.iter().map(tool).collect()
    }

    /// Nothing is prepared: the messages are made anew, as text.
    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        _: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        check_unforced(prompt)?;
        let tools = self.prepare_tools(prompt.tools, endpoint)?;
        let view = text_view::view(prompt, endpoint, &tools);
        // A server that enforces a schema for every token leaves no room for a call, so the schema is described in
        // text.
        let free = (!tools.is_empty()).then(|| Controls { answer: None, ..prompt.controls.clone() });
        let controls = free.as_ref().unwrap_or(prompt.controls);
        let described = Prompt { view: &view, tools: &[], controls, ..*prompt };
        processor(self.0).nativize(&described, endpoint)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        let inner = processor(self.0).normalize(head, origin.clone());
        Box::new(decoder::PromptedDecoder::new(inner, origin))
    }
}
