//! Parameters of a request that are independent of the conversation: sampling, the format of the answer and tools.

use converse_canister::{Declaration, ToolName};
use converse_provider::Effort;
use serde_json::{Map, Value, json};

use super::ApiError;
use super::fields::{Fields, found, shown};

/// Parameters of sampling. `None` means that the model's default applies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// At most four texts that end the answer.
    pub stop: Vec<String>,
    pub effort: Option<Effort>,
}

/// Format of the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum AnswerFormat {
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    JsonSchema {
        name: String,
        /// What the format is for, for the model.
        description: Option<String>,
        schema: Value,
        strict: bool,
    },
}

/// A tool that the client brought and runs itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTool {
    pub declaration: Declaration,
    /// Whether the arguments must match the schema exactly.
    pub strict: bool,
}

/// Tools of the client, and how tools may be called. Without tools of the client, the choice is about tools of this
/// server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    pub tools: Vec<ClientTool>,
    pub choice: ToolChoice,
    /// Whether a reply may have several calls.
    pub parallel: bool,
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
    /// At least one tool.
    Required,
    /// This tool.
    Function(String),
}

impl AnswerFormat {
    /// Returns whether the answer is JSON: then only the last reply of a turn is the answer.
    pub fn is_json(&self) -> bool {
        *self != Self::Text
    }

    /// Parses `response_format` of chat completions: the schema is inside of `json_schema`.
    pub(super) fn of_chat(fields: &mut Fields) -> Result<Self, ApiError> {
        let Some(mut format) = fields.object("response_format")? else { return Ok(Self::Text) };
        let kind = format.word("type", &["text", "json_object", "json_schema"])?;
        let parsed = match kind {
            None => return Err(ApiError::missing(&format.at("type"))),
            Some("text") => Self::Text,
            Some("json_object") => Self::JsonObject,
            Some(_) => {
                let mut schema = match format.object("json_schema")? {
                    Some(schema) => schema,
                    None => return Err(ApiError::missing(&format.at("json_schema"))),
                };
                let parsed = Self::schema(&mut schema)?;
                schema.end()?;
                parsed
            }
        };
        format.end()?;
        Ok(parsed)
    }

    /// Parses the members of a JSON schema format.
    pub(super) fn schema(fields: &mut Fields) -> Result<Self, ApiError> {
        let name = fields.required_string("name")?;
        if !is_name(&name) {
            let message = format!("expected 1 to 64 of a-z A-Z 0-9 _ -, found {}", shown(&name));
            return Err(ApiError::invalid_value(&fields.at("name"), message));
        }
        let description = fields.string("description")?;
        let schema = fields.required("schema")?;
        if !schema.is_object() {
            return Err(ApiError::invalid_type(&fields.at("schema"), "an object", found(&schema)));
        }
        let strict = fields.boolean("strict")?.unwrap_or(false);
        Ok(Self::JsonSchema { name, description, schema, strict })
    }
}

/// Returns the word for an effort.
pub(super) fn effort_word(effort: Effort) -> &'static str {
    Effort::WORDS.iter().find(|(_, one)| *one == effort).map_or("", |(name, _)| name)
}

/// Parses a word for the reasoning effort.
pub(super) fn effort(fields: &mut Fields, key: &'static str) -> Result<Option<Effort>, ApiError> {
    Ok(fields.word(key, &Effort::WORDS.map(|(name, _)| name))?.and_then(Effort::named))
}

/// Parses `stop`: a text, or at most four.
pub(super) fn stop(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let at = fields.at("stop");
    let texts = match fields.take("stop") {
        None => Vec::new(),
        Some(Value::Array(texts)) => texts,
        Some(text) => vec![text],
    };
    if texts.len() > 4 {
        return Err(ApiError::invalid_value(&at, format!("at most 4 texts, found {}", texts.len())));
    }
    let parse = |text| match text {
        Value::String(text) if text.is_empty() => Err(ApiError::invalid_value(&at, "a text is empty")),
        Value::String(text) => Ok(text),
        other => Err(ApiError::invalid_type(&at, "a string or an array of strings", found(&other))),
    };
    texts.into_iter().map(parse).collect()
}

/// Parses `metadata`: at most 16 texts of 512 characters, with keys of 64 characters.
pub(super) fn metadata(fields: &mut Fields) -> Result<Map<String, Value>, ApiError> {
    let at = fields.at("metadata");
    let texts = match fields.take("metadata") {
        None => Map::new(),
        Some(Value::Object(texts)) => texts,
        Some(other) => return Err(ApiError::invalid_type(&at, "an object", found(&other))),
    };
    if texts.len() > 16 {
        return Err(ApiError::invalid_value(&at, format!("at most 16 pairs, found {}", texts.len())));
    }
    for (key, value) in &texts {
        let Value::String(text) = value else {
            return Err(ApiError::invalid_type(&format!("{at}.{key}"), "a string", found(value)));
        };
        if key.chars().count() > 64 || text.chars().count() > 512 {
            let message = "a key has at most 64 characters and a value at most 512";
            return Err(ApiError::invalid_value(&at, message));
        }
    }
    Ok(texts)
}

/// The name and the schema of a function, from the object that has them.
pub(super) fn function(mut fields: Fields) -> Result<ClientTool, ApiError> {
    let name = fields.required_string("name")?;
    let invalid = |why| ApiError::invalid_value(&fields.at("name"), why);
    let name = ToolName::new(name).map_err(invalid)?;
    let description = fields.string("description")?.unwrap_or_default();
    let arguments =
        fields.take("parameters").unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    if !arguments.is_object() {
        return Err(ApiError::invalid_type(&fields.at("parameters"), "an object", found(&arguments)));
    }
    let strict = fields.boolean("strict")?.unwrap_or(false);
    fields.end()?;
    Ok(ClientTool { declaration: Declaration { name, description, arguments: arguments.into() }, strict })
}

impl ToolUse {
    /// Returns whether the model is offered the tools of the client. If no tool may be called, it is offered none.
    pub fn offers_clients(&self) -> bool {
        !self.tools.is_empty() && self.choice != ToolChoice::None
    }

    /// Parses `tools`, `tool_choice` and `parallel_tool_calls`. `tool` parses one tool whose `type` is `function`.
    /// `named` parses the name of a choice.
    pub(super) fn of(
        fields: &mut Fields,
        tool: fn(Fields) -> Result<ClientTool, ApiError>,
        named: fn(&mut Fields) -> Result<String, ApiError>,
    ) -> Result<Self, ApiError> {
        let at = fields.at("tools");
        let mut tools: Vec<ClientTool> = Vec::new();
        for (index, value) in fields.array("tools")?.unwrap_or_default().into_iter().enumerate() {
            let mut one = Fields::of(value, format!("{at}[{index}]"))?;
            let (param, kind) = (one.at("type"), one.required_string("type")?);
            if kind != "function" {
                let hint = "`function`; tools of this server need no entry";
                return Err(ApiError::unsupported_value(&param, shown(&kind), hint));
            }
            let one = tool(one)?;
            if tools.iter().any(|other| other.declaration.name == one.declaration.name) {
                let message = format!("the name `{}` is given twice", one.declaration.name);
                return Err(ApiError::invalid_value(&format!("{at}[{index}]"), message));
            }
            tools.push(one);
        }
        let choice = Self::choice(fields, named, &tools)?;
        let parallel = fields.boolean("parallel_tool_calls")?.unwrap_or(true);
        Ok(Self { tools, choice, parallel })
    }

    fn choice(
        fields: &mut Fields,
        named: fn(&mut Fields) -> Result<String, ApiError>,
        tools: &[ClientTool],
    ) -> Result<ToolChoice, ApiError> {
        const WORDS: &str = "`auto`, `none`, `required` or a function";
        let at = fields.at("tool_choice");
        let choice = match fields.take("tool_choice") {
            None => return Ok(ToolChoice::Auto),
            Some(Value::String(word)) => match word.as_str() {
                "auto" => ToolChoice::Auto,
                "none" => ToolChoice::None,
                "required" => ToolChoice::Required,
                _ => {
                    return Err(ApiError::invalid_value(
                        &at,
                        format!("expected {WORDS}, found {}", shown(&word)),
                    ));
                }
            },
            Some(value) => {
                let mut choice = Fields::of(value, at.clone())?;
                let kind = choice.required_string("type")?;
                if kind != "function" {
                    return Err(ApiError::unsupported_value(&choice.at("type"), shown(&kind), "`function`"));
                }
                let name = named(&mut choice)?;
                choice.end()?;
                if !tools.iter().any(|tool| tool.declaration.name.as_str() == name) {
                    let message = format!("{} is not in `tools`", shown(&name));
                    return Err(ApiError::invalid_value(&at, message));
                }
                ToolChoice::Function(name)
            }
        };
        if choice == ToolChoice::Required && tools.is_empty() {
            let message = "`required` needs `tools`; tools of this server cannot be forced";
            return Err(ApiError::invalid_value(&at, message));
        }
        Ok(choice)
    }
}

/// OpenAI's rule for names of functions and schemas.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
