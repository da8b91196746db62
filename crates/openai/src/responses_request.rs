//! `POST /v1/responses`: the request.
//!
//! Source: `types/responses/response_create_params.py`, PyPI `openai` 3.54.0, November 2026. A request is stored unless
//! `store` is false.

use converse_provider::Effort;
use serde_json::{Map, Value, json};

use super::chat_request::user;
use super::fields::{Fields, found, shown};
use super::options::{self, AnswerFormat, ClientTool, Sampling, ToolChoice, ToolUse};
use super::responses_input::{self, ApprovalAnswer, Input};
use super::responses_object::Parameters;
use super::{ApiError, Conversation};

/// A request for a response.
#[derive(Debug)]
pub struct ResponsesRequest {
    pub model: String,
    /// What is new. It comes after the earlier response, if there is one.
    pub conversation: Conversation,
    pub approvals: Vec<ApprovalAnswer>,
    /// System text of this turn. That of the earlier response does not apply.
    pub instructions: Option<String>,
    pub previous_response_id: Option<String>,
    pub stream: bool,
    /// Whether the response can be retrieved and continued.
    pub store: bool,
    /// Whether the reply comes at once and the turn runs on. It is stored, then.
    pub background: bool,
    pub sampling: Sampling,
    /// Whether the model is asked for readable reasoning.
    pub show_reasoning: bool,
    pub answer: AnswerFormat,
    pub tools: ToolUse,
    /// Most calls of tools of this server in the turn.
    pub max_tool_calls: Option<u32>,
    /// The end user as the client names them.
    pub user: Option<String>,
    metadata: Map<String, Value>,
    items: Vec<Value>,
}

impl ResponsesRequest {
    /// Parses a body.
    ///
    /// # Errors
    /// The body is not JSON, or a parameter is unknown, invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = Fields::parse(body)?;
        let model = fields.required_string("model")?;
        let previous_response_id = fields.string("previous_response_id")?;
        let input = fields.take("input");
        let instructions = fields.string("instructions")?;
        let stream = fields.boolean("stream")?.unwrap_or(false);
        stream_options(&mut fields, stream)?;
        let store = fields.boolean("store")?.unwrap_or(true);
        let background = fields.boolean("background")?.unwrap_or(false);
        if background && !store {
            return Err(ApiError::invalid_value("background", "`true` needs `store: true`"));
        }
        let (effort, show_reasoning) = reasoning(&mut fields)?;
        let temperature = fields.number("temperature", 2.0)?;
        let top_p = fields.number("top_p", 1.0)?;
        let max_output_tokens = fields.count("max_output_tokens")?;
        let sampling = Sampling { temperature, top_p, max_output_tokens, stop: Vec::new(), effort };
        let answer = text(&mut fields)?;
        let tools = ToolUse::of(&mut fields, tool, |choice| choice.required_string("name"))?;
        let max_tool_calls = fields.count("max_tool_calls")?;
        let user = user(&mut fields)?;
        let metadata = options::metadata(&mut fields)?;
        include(&mut fields)?;
        refusals(&mut fields)?;
        fields.end()?;
        if input.is_none() && previous_response_id.is_none() {
            return Err(ApiError::missing("input"));
        }
        let Input { conversation, approvals, items } =
            responses_input::parse(input, previous_response_id.is_some())?;
        Ok(Self {
            model,
            conversation,
            approvals,
            instructions,
            previous_response_id,
            stream,
            store,
            background,
            sampling,
            show_reasoning,
            answer,
            tools,
            max_tool_calls,
            user,
            metadata,
            items,
        })
    }

    /// Returns the parameters that the response repeats.
    pub fn parameters(&self) -> Parameters {
        let effort = self.sampling.effort.map(options::effort_word);
        let summary = self.show_reasoning.then_some("auto");
        Parameters {
            background: self.background,
            instructions: self.instructions.clone(),
            max_output_tokens: self.sampling.max_output_tokens,
            max_tool_calls: self.max_tool_calls,
            parallel_tool_calls: self.tools.parallel,
            previous_response_id: self.previous_response_id.clone(),
            reasoning: json!({ "effort": effort, "summary": summary }),
            safety_identifier: self.user.clone(),
            store: self.store,
            temperature: self.sampling.temperature,
            text: json!({ "format": format(&self.answer), "verbosity": "medium" }),
            tool_choice: choice(&self.tools.choice),
            tools: self.tools.tools.iter().map(tool_object).collect(),
            top_p: self.sampling.top_p,
            metadata: self.metadata.clone(),
        }
    }

    /// Returns the items of the input with ids, for [`input_item_list`](super::input_item_list). Items without an id get
    /// one that is made of the id of the response.
    pub fn input_items(&self, response_id: &str) -> Vec<Value> {
        let key = response_id.strip_prefix("resp_").unwrap_or(response_id);
        let with_id = |(index, item): (usize, &Value)| {
            let mut listed = Map::new();
            let prefix = match item.get("type").and_then(Value::as_str) {
                Some("reasoning") => "rs",
                Some("function_call") => "fc",
                Some("function_call_output") => "fco",
                Some("mcp_call") => "mcp",
                Some("mcp_approval_response") => "mcpa",
                _ => "msg",
            };
            listed.insert("id".to_owned(), format!("{prefix}_{key}_in{index}").into());
            // An id of the item replaces it.
            listed.extend(item.as_object().cloned().unwrap_or_default());
            Value::Object(listed)
        };
        self.items.iter().enumerate().map(with_id).collect()
    }
}

fn stream_options(fields: &mut Fields, stream: bool) -> Result<(), ApiError> {
    let Some(mut options) = fields.object("stream_options")? else { return Ok(()) };
    if !stream {
        return Err(ApiError::invalid_value("stream_options", "it is allowed only with `stream: true`"));
    }
    options.only("include_obfuscation", &[json!(false)])?;
    options.end()
}

/// Parses `reasoning`: the effort, and whether readable reasoning is wanted.
fn reasoning(fields: &mut Fields) -> Result<(Option<Effort>, bool), ApiError> {
    let Some(mut reasoning) = fields.object("reasoning")? else { return Ok((None, false)) };
    let effort = options::effort(&mut reasoning, "effort")?;
    let mut show = false;
    // The second one is the older name.
    for key in ["summary", "generate_summary"] {
        show |= reasoning.has(key);
        reasoning.only(key, &["auto".into()])?;
    }
    reasoning.only("context", &["auto".into()])?;
    reasoning.only("mode", &["standard".into()])?;
    reasoning.end()?;
    Ok((effort, show))
}

fn text(fields: &mut Fields) -> Result<AnswerFormat, ApiError> {
    let Some(mut text) = fields.object("text")? else { return Ok(AnswerFormat::Text) };
    text.only("verbosity", &["medium".into()])?;
    let parsed = match text.object("format")? {
        None => AnswerFormat::Text,
        Some(mut format) => {
            let kind = format.word("type", &["text", "json_object", "json_schema"])?;
            let parsed = match kind {
                None => return Err(ApiError::missing(&format.at("type"))),
                Some("text") => AnswerFormat::Text,
                Some("json_object") => AnswerFormat::JsonObject,
                Some(_) => AnswerFormat::schema(&mut format)?,
            };
            format.end()?;
            parsed
        }
    };
    text.end()?;
    Ok(parsed)
}

/// A tool of responses has its function beside its type.
fn tool(mut fields: Fields) -> Result<ClientTool, ApiError> {
    fields.only("async", &[json!(false)])?;
    fields.only("defer_loading", &[json!(false)])?;
    fields.only("allowed_callers", &[json!(["direct"])])?;
    fields.refuse("output_schema", "results of tools are not checked")?;
    options::function(fields)
}

/// Parses `include`. Reasoning of this server is not encrypted, and images stay in the list of input items.
fn include(fields: &mut Fields) -> Result<(), ApiError> {
    const SUPPORTED: [&str; 2] = ["reasoning.encrypted_content", "message.input_image.image_url"];
    for (index, value) in fields.array("include")?.unwrap_or_default().into_iter().enumerate() {
        let at = format!("include[{index}]");
        match value {
            Value::String(word) if SUPPORTED.contains(&word.as_str()) => {}
            Value::String(word) => {
                let expected = "`reasoning.encrypted_content` or `message.input_image.image_url`";
                return Err(ApiError::unsupported_value(&at, shown(&word), expected));
            }
            other => return Err(ApiError::invalid_type(&at, "a string", found(&other))),
        }
    }
    Ok(())
}

/// Parameters that are accepted only with a value that has no effect.
fn refusals(fields: &mut Fields) -> Result<(), ApiError> {
    fields.only("top_logprobs", &[json!(0)])?;
    fields.only("truncation", &["disabled".into()])?;
    fields.only("service_tier", &["auto".into(), "default".into()])?;
    for (key, hint) in [
        ("access_programs", "the access of the provider applies"),
        ("background_options", "leave it out"),
        ("context_management", "long conversations are condensed by this server"),
        ("conversation", "send `previous_response_id`"),
        ("image", "leave it out"),
        ("moderation", "the moderation of the provider applies"),
        ("prompt", "choose a preset as the `model`"),
        ("prompt_cache_key", "the prompt cache is used without it"),
        ("prompt_cache_options", "the prompt cache is used without it"),
        ("prompt_cache_retention", "the prompt cache is used without it"),
    ] {
        fields.refuse(key, hint)?;
    }
    Ok(())
}

fn format(answer: &AnswerFormat) -> Value {
    match answer {
        AnswerFormat::Text => json!({ "type": "text" }),
        AnswerFormat::JsonObject => json!({ "type": "json_object" }),
        AnswerFormat::JsonSchema { name, description, schema, strict } => {
            json!({ "type": "json_schema", "description": description, "name": name, "schema": schema,
                    "strict": strict })
        }
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Function(name) => json!({ "type": "function", "name": name }),
    }
}

fn tool_object(tool: &ClientTool) -> Value {
    let ClientTool { declaration, strict } = tool;
    json!({ "type": "function", "description": declaration.description, "name": declaration.name,
            "parameters": declaration.arguments, "strict": strict })
}

#[cfg(test)]
mod tests;
