//! `input` of `POST /v1/responses`: a text, or items.
//!
//! Source: `types/responses/response_input_item_param.py`, PyPI `openai` 3.54.0, November 2026.

use converse_canister::{Content, Outcome};
use serde_json::{Value, json};

use super::content::{self, Part, unknown_kind};
use super::conversation::Builder;
use super::fields::{Fields, found, shown};
use super::media;
use super::{ApiError, Conversation};

/// The answer to a request for approval of an earlier response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// Id of the request for approval.
    pub request_id: String,
    pub approve: bool,
    /// Why, for the model.
    pub reason: Option<String>,
}

/// The parsed input.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) conversation: Conversation,
    pub(super) approvals: Vec<ApprovalAnswer>,
    /// The items as `input_items` shows them, apart from missing ids.
    pub(super) items: Vec<Value>,
}

const CACHE_HINT: &str = "breakpoints are set by this server";
const PHASES: &[&str] = &["commentary", "final_answer"];
const STATUSES: &[&str] = &["in_progress", "completed", "incomplete"];

/// Parses the input. `continues`: the request continues an earlier response.
pub(super) fn parse(value: Option<Value>, continues: bool) -> Result<Input, ApiError> {
    let items = match value {
        None => Vec::new(),
        Some(Value::String(text)) => vec![json!({ "role": "user", "content": text })],
        Some(Value::Array(items)) => items,
        Some(other) => return Err(ApiError::invalid_type("input", "a string or an array", found(&other))),
    };
    let mut reader = Reader { builder: Builder::continuing(continues), approvals: Vec::new(), continues };
    let mut listed = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let shown = item.clone();
        let mut fields = Fields::of(item, format!("input[{index}]"))?;
        let kind = reader.item(&mut fields)?;
        fields.end()?;
        listed.push(as_listed(shown, kind));
    }
    let Reader { builder, approvals, .. } = reader;
    Ok(Input { conversation: builder.end("input")?, approvals, items: listed })
}

struct Reader {
    builder: Builder,
    approvals: Vec<ApprovalAnswer>,
    continues: bool,
}

impl Reader {
    /// Reads an item and returns its type.
    fn item(&mut self, item: &mut Fields) -> Result<&'static str, ApiError> {
        let kind = match item.string("type")? {
            Some(kind) => kind,
            None if item.has("role") => "message".to_owned(),
            None if item.has("id") => "item_reference".to_owned(),
            None => return Err(ApiError::missing(&item.at("type"))),
        };
        // Items of earlier responses have them.
        item.string("id")?;
        match kind.as_str() {
            "message" => self.message(item).map(|()| "message"),
            "reasoning" => self.reasoning(item).map(|()| "reasoning"),
            "function_call" => self.function_call(item).map(|()| "function_call"),
            "function_call_output" => self.output(item).map(|()| "function_call_output"),
            "mcp_call" => self.mcp_call(item).map(|()| "mcp_call"),
            "mcp_approval_response" => self.approval(item).map(|()| "mcp_approval_response"),
            "item_reference" => {
                let hint = "send the whole item, or `previous_response_id`";
                Err(ApiError::unsupported_parameter(item.path(), &format!("a reference to an item; {hint}")))
            }
            "mcp_approval_request" => {
                let hint = "approvals need `previous_response_id`; leave out the request";
                Err(ApiError::unsupported_parameter(item.path(), hint))
            }
            _ => {
                let expected = "`message`, `reasoning`, `function_call`, `function_call_output`, `mcp_call` or \
                                `mcp_approval_response`";
                Err(unknown_kind(item, &kind, expected))
            }
        }
    }

    fn message(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        let role = item.required_string("role")?;
        let (at, content) = (item.at("content"), item.required("content")?);
        item.word("status", STATUSES)?;
        match role.as_str() {
            "user" => self.builder.user(parts(content, &at)?, item.path()),
            "system" | "developer" => {
                let text = content::text_of(content::parts(content, &at, text_part)?);
                self.builder.system(text, item.path())
            }
            "assistant" => {
                item.word("phase", PHASES)?;
                let text = content::text_of(content::parts(content, &at, spoken_part)?);
                match text.is_empty() {
                    true => Ok(()),
                    false => self.builder.reply(vec![Content::text(text)], item.path()),
                }
            }
            _ => {
                let expected = "expected `user`, `assistant`, `system` or `developer`, found";
                Err(ApiError::invalid_value(&item.at("role"), format!("{expected} {}", shown(&role))))
            }
        }
    }

    fn reasoning(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        let (summary_at, content_at) = (item.at("summary"), item.at("content"));
        let summary = item.take("summary").unwrap_or_else(|| json!([]));
        let summary = content::parts(summary, &summary_at, |part| one_text(part, "summary_text"))?;
        let content = item.take("content").unwrap_or_else(|| json!([]));
        let content = content::parts(content, &content_at, |part| one_text(part, "reasoning_text"))?;
        item.refuse("encrypted_content", "this server issues none, so it is from another provider")?;
        item.word("status", STATUSES)?;
        let whole = content::text_of(content);
        let text = if whole.is_empty() { content::text_of(summary) } else { whole };
        match text.is_empty() {
            true => Ok(()),
            false => self.builder.reply(vec![Content::Reasoning { text, seal: None }], item.path()),
        }
    }

    fn function_call(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        let id = item.required_string("call_id")?;
        let name = item.required_string("name")?;
        let arguments = item.required_string("arguments")?;
        item.word("status", STATUSES)?;
        item.only("async", &[json!(false)])?;
        item.only("caller", &[json!({ "type": "direct" })])?;
        item.refuse("namespace", "tools have no namespaces")?;
        self.builder.call(id, name, &arguments, &item.at("call_id"))
    }

    fn output(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        let id = item.required_string("call_id")?;
        let (at, output) = (item.at("output"), item.required("output")?);
        item.word("status", STATUSES)?;
        item.only("caller", &[json!({ "type": "direct" })])?;
        item.refuse("namespace", "tools have no namespaces")?;
        // The call has the name already.
        item.string("name")?;
        self.builder.result(&id, parts(output, &at)?, Outcome::Success, &item.at("call_id"))
    }

    /// An invocation that this server reported in an earlier response which the client keeps itself.
    fn mcp_call(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        let (ensemble, name) = (item.required_string("server_label")?, item.required_string("name")?);
        let arguments = item.required_string("arguments")?;
        item.word("status", &["in_progress", "completed", "incomplete", "calling", "failed"])?;
        item.string("approval_request_id")?;
        let (output, error) = (item.string("output")?, item.take("error"));
        let (outcome, text) = match (error, output) {
            (None, Some(output)) => (Outcome::Success, output),
            (Some(error), _) => (Outcome::Failed, error_text(error)),
            (None, None) => (Outcome::Interrupted, "no result".to_owned()),
        };
        let tool = format!("{ensemble}__{name}");
        self.builder.answered_call(tool, &arguments, (outcome, text), item.path())
    }

    fn approval(&mut self, item: &mut Fields) -> Result<(), ApiError> {
        if !self.continues {
            let hint = "approvals need `previous_response_id`";
            return Err(ApiError::unsupported_parameter(item.path(), hint));
        }
        let request_id = item.required_string("approval_request_id")?;
        let approve = item.boolean("approve")?.ok_or_else(|| ApiError::missing(&item.at("approve")))?;
        let reason = item.string("reason")?;
        if self.approvals.iter().any(|one| one.request_id == request_id) {
            let message = format!("{} is answered twice", shown(&request_id));
            return Err(ApiError::invalid_value(&item.at("approval_request_id"), message));
        }
        self.approvals.push(ApprovalAnswer { request_id, approve, reason });
        Ok(())
    }
}

/// The text of an error: that of `mcp_tool_execution_error`, or the whole object.
fn error_text(error: Value) -> String {
    match error {
        Value::String(text) => text,
        other => {
            match other.pointer("/content/0/text").or_else(|| other.get("message")).and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => other.to_string(),
            }
        }
    }
}

/// Text, images and files.
fn parts(value: Value, at: &str) -> Result<Vec<Part>, ApiError> {
    content::parts(value, at, |mut part| {
        let kind = part.required_string("type")?;
        let parsed = match kind.as_str() {
            "input_text" => Part::Text(part.required_string("text")?),
            "input_image" => {
                part.refuse("file_id", "files cannot be uploaded; send `image_url` with a data URL")?;
                content::detail(&mut part)?;
                let url = part.required_string("image_url")?;
                Part::Media(media::image(&url, &part.at("image_url"))?)
            }
            "input_file" => {
                part.refuse("file_url", "links are not fetched; send `file_data`")?;
                content::detail(&mut part)?;
                Part::Media(content::inline_file(&mut part)?)
            }
            _ => return Err(unknown_kind(&part, &kind, "`input_text`, `input_image` or `input_file`")),
        };
        part.refuse("prompt_cache_breakpoint", CACHE_HINT)?;
        part.end()?;
        Ok(parsed)
    })
}

fn text_part(mut part: Fields) -> Result<Part, ApiError> {
    part.refuse("prompt_cache_breakpoint", CACHE_HINT)?;
    one_text(part, "input_text")
}

/// A part of an assistant message. Citations and probabilities are not part of what a model reads.
fn spoken_part(mut part: Fields) -> Result<Part, ApiError> {
    let kind = part.required_string("type")?;
    let text = match kind.as_str() {
        "output_text" => {
            part.array("annotations")?;
            part.array("logprobs")?;
            part.required_string("text")?
        }
        "input_text" => part.required_string("text")?,
        "refusal" => part.required_string("refusal")?,
        _ => return Err(unknown_kind(&part, &kind, "`output_text` or `refusal`")),
    };
    part.end()?;
    Ok(Part::Text(text))
}

fn one_text(mut part: Fields, kind: &str) -> Result<Part, ApiError> {
    let found = part.required_string("type")?;
    if found != kind {
        return Err(unknown_kind(&part, &found, &format!("`{kind}`")));
    }
    let text = part.required_string("text")?;
    part.end()?;
    Ok(Part::Text(text))
}

/// Returns the item in the form of `input_items`: with its type, its status, and parts instead of a text.
fn as_listed(mut item: Value, kind: &'static str) -> Value {
    let Some(object) = item.as_object_mut() else { return item };
    object.retain(|_, value| !value.is_null());
    object.insert("type".to_owned(), kind.into());
    let has_status = matches!(kind, "message" | "function_call" | "function_call_output" | "mcp_call");
    if has_status && !object.contains_key("status") {
        object.insert("status".to_owned(), "completed".into());
    }
    let is_spoken = object.get("role").is_some_and(|role| role == "assistant");
    let text_kind = if is_spoken { "output_text" } else { "input_text" };
    if let Some(content) = object.get_mut("content").filter(|content| content.is_string()) {
        let text = content.take();
        *content = json!([{ "type": text_kind, "text": text }]);
    }
    for part in object.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(part) = part.as_object_mut() else { continue };
        match part.get("type").and_then(Value::as_str) {
            Some("output_text") => {
                part.entry("annotations").or_insert_with(|| json!([]));
            }
            Some("input_image") => {
                part.entry("detail").or_insert_with(|| "auto".into());
            }
            _ => {}
        }
    }
    item
}
