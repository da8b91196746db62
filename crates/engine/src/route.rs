//! A route to a model: endpoint, wire format, controls, and what is known about the model.
//!
//! A turn begins on the first route. The next route is taken, after the retries, if the server is at fault: it cannot be
//! reached, is overloaded, has no quota left, does not have the model, or sends an invalid response. It is not taken if
//! the request or the key is at fault, because an answer from elsewhere would hide that. A turn does not go back.

use std::borrow::Cow;

use converse_provider::{Controls, Dialect, Endpoint, Facts, Processor, Structured};

use crate::Wire;

pub struct Route<'a> {
    pub endpoint: Endpoint,
    pub processor: &'a dyn Processor,
    /// The provider's name of the model.
    pub model: String,
    pub controls: Controls,
    /// What is known about the model.
    pub facts: Facts,
    pub wire: &'a dyn Wire,
}

/// The parts of a request besides the conversation and the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestExtras<'r> {
    pub controls: Cow<'r, Controls>,
    pub note: Option<String>,
}

impl Route<'_> {
    /// `provider/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.endpoint.provider, self.model)
    }

    /// Returns the controls and the note of a request. The note has the schema of the answer in words if the provider
    /// cannot enforce the schema. `tools` says whether the request offers tools.
    pub fn request_extras(&self, tools: bool, note: Option<&str>) -> RequestExtras<'_> {
        request_extras(&self.controls, &self.endpoint, &self.facts, tools, note)
    }
}

impl std::fmt::Debug for Route<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// The same as [`Route::request_extras`], for a request that is not sent.
pub fn request_extras<'c>(
    controls: &'c Controls,
    endpoint: &Endpoint,
    facts: &Facts,
    tools: bool,
    note: Option<&str>,
) -> RequestExtras<'c> {
    let holds = holds(endpoint, facts, tools);
    let Some(answer) = controls.answer.as_ref().filter(|_| holds != Structured::JsonSchema) else {
        return RequestExtras { controls: Cow::Borrowed(controls), note: note.map(str::to_owned) };
    };
    let schema = answer.in_words();
    let note = Some(note.map_or_else(|| schema.clone(), |note| format!("{note}\n\n{schema}")));
    match holds {
        Structured::None => {
            RequestExtras { controls: Cow::Owned(Controls { answer: None, ..controls.clone() }), note }
        }
        // "Some JSON" is worth asking for all the same.
        Structured::JsonObject | Structured::JsonSchema => {
            RequestExtras { controls: Cow::Borrowed(controls), note }
        }
    }
}

/// Returns how far this endpoint enforces the form of an answer.
fn holds(endpoint: &Endpoint, facts: &Facts, tools: bool) -> Structured {
    match (facts.structured, endpoint.dialect) {
        (Some(false), _) => Structured::None,
        (_, Dialect::OpenAiChat | Dialect::OpenAiResponses)
            if tools && !endpoint.quirks.format_beside_tools =>
        {
            Structured::None
        }
        (_, Dialect::OpenAiChat | Dialect::OpenAiResponses) => endpoint.quirks.structured,
        (_, Dialect::AnthropicMessages | Dialect::Gemini | Dialect::Ollama) => Structured::JsonSchema,
    }
}

#[cfg(test)]
mod tests {
    use converse_provider::{AnswerFormat, Quirks, row};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_told_in_words_where_the_wire_cannot_take_it() {
        let answer = AnswerFormat { name: "answer".to_owned(), schema: json!({ "type": "object" }) };
        let controls = Controls { answer: Some(answer), ..Controls::default() };
        for (provider, tools, quirk, known, native, words) in [
            ("openai-chat", true, Structured::JsonSchema, None, true, false),
            ("openai-chat", false, Structured::JsonSchema, Some(false), false, true),
            ("openai-chat", false, Structured::JsonObject, None, true, true),
            ("openai-chat", false, Structured::None, Some(true), false, true),
            ("anthropic", true, Structured::None, None, true, false),
            ("anthropic", false, Structured::None, Some(false), false, true),
            ("groq", false, Structured::JsonSchema, None, true, false),
            ("groq", true, Structured::JsonSchema, Some(true), false, true),
            ("ollama", true, Structured::JsonSchema, None, false, true),
            ("llamacpp", true, Structured::JsonObject, None, false, true),
            ("lmstudio", true, Structured::JsonSchema, None, false, true),
            ("vllm", true, Structured::JsonSchema, None, false, true),
            ("vllm", false, Structured::JsonSchema, None, true, false),
        ] {
            let mut endpoint = row(provider).unwrap().endpoint(None);
            endpoint.quirks = Quirks { structured: quirk, ..endpoint.quirks };
            let facts = Facts { structured: known, ..Facts::default() };
            let extras = request_extras(&controls, &endpoint, &facts, tools, Some("no weather"));
            assert_eq!(extras.controls.answer.is_some(), native, "{provider} {tools} {quirk:?} {known:?}");
            let note = extras.note.unwrap();
            assert!(note.starts_with("no weather"));
            assert_eq!(
                note.contains(r#"{"type":"object"}"#),
                words,
                "{provider} {tools} {quirk:?} {known:?}"
            );
        }
        let endpoint = row("openai-chat").unwrap().endpoint(None);
        let facts = Facts { structured: Some(false), ..Facts::default() };
        assert_eq!(request_extras(&Controls::default(), &endpoint, &facts, true, None).note, None);
    }
}
