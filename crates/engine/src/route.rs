//! One way to a model: where, in which words, with what known of it.
//!
//! A turn begins on the first route. The next is taken when the fault is the server's (it cannot be reached, is
//! overloaded, has no quota left for us, does not have the model, answers what is no answer), after its retries; never
//! when the request or the key is at fault: that would be hidden by an answer from elsewhere. A turn does not go back.

use std::borrow::Cow;

use converse_provider::{Controls, Dialect, Endpoint, Facts, Processor, Structured};

use crate::Wire;

pub struct Route<'a> {
    pub endpoint: Endpoint,
    pub processor: &'a dyn Processor,
    /// The provider's own name for it.
    pub model: String,
    pub controls: Controls,
    /// What is known of the model.
    pub facts: Facts,
    pub wire: &'a dyn Wire,
}

/// What a request says beside the conversation and the tools.
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

    /// The controls, and the note of this run: where the wire cannot hold the model to a schema, it is told in words.
    /// `tools`: the request offers some.
    pub fn request_extras(&self, tools: bool, note: Option<&str>) -> RequestExtras<'_> {
        request_extras(&self.controls, &self.endpoint, &self.facts, tools, note)
    }
}

impl std::fmt::Debug for Route<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// As [`Route::request_extras`], for whoever makes a request without sending it.
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

/// What an answer is held to on this way.
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
