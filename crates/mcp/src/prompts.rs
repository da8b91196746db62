//! Prompts: their declarations and messages.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/prompts> (checked 2026-11).

use std::borrow::Cow;

use converse_canister::Content;
use converse_ensemble::Artefacts;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content;
use crate::pages::{label, object, string};
use crate::raw::First;
use crate::resources::{MAX_DESCRIPTION, MAX_NAME};
use crate::sanitize;

/// Bytes of a name, which is sent back unchanged.
const MAX_KEY: usize = 256;
const MAX_ARGUMENTS: usize = 100;
const MAX_MESSAGES: usize = 200;

/// A prompt as the server lists it. All text is foreign, bounded and without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The name that requests use.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt. Its value is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    pub speaker: Speaker,
    /// The content. Links in it are not followed.
    pub content: Vec<Content>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    required: Option<&'a RawValue>,
}

pub(crate) fn prompt(entry: &RawValue) -> Result<Prompt, String> {
    let declared: Declared<'_> = object(entry)?;
    let mut arguments = Vec::new();
    if let Some(raw) = declared.arguments.filter(|raw| raw.get() != "null") {
        let listed: First<&RawValue, MAX_ARGUMENTS> =
            serde_json::from_str(raw.get()).map_err(|_| "`arguments` is not an array".to_owned())?;
        if listed.left > 0 {
            return Err(format!("more than {MAX_ARGUMENTS} arguments"));
        }
        for (place, raw) in listed.items.into_iter().enumerate() {
            let argument = argument(raw).map_err(|why| format!("argument {}: {why}", place + 1))?;
            arguments.push(argument);
        }
    }
    Ok(Prompt {
        name: key(declared.name)?,
        title: label(declared.title, MAX_NAME),
        description: label(declared.description, MAX_DESCRIPTION),
        arguments,
    })
}

fn argument(raw: &RawValue) -> Result<PromptArgument, String> {
    let declared: Declared<'_> = object(raw)?;
    Ok(PromptArgument {
        name: key(declared.name)?,
        description: label(declared.description, MAX_DESCRIPTION),
        required: declared.required.is_some_and(|raw| raw.get() == "true"),
    })
}

/// Returns a name that can be typed, shown and sent back unchanged.
fn key(raw: Option<&RawValue>) -> Result<String, String> {
    let name = string(raw).ok_or("`name` is missing")?;
    if name.is_empty() || name.len() > MAX_KEY || name.chars().any(char::is_control) {
        return Err(format!("`name` must have 1 to {MAX_KEY} bytes and no control characters"));
    }
    Ok(name)
}

#[derive(Deserialize)]
struct Messages<'a> {
    #[serde(borrow)]
    messages: First<&'a RawValue, MAX_MESSAGES>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Parses the result of `prompts/get`. Content of an unknown type is passed on as JSON. A prompt with an
/// invalid message is refused as a whole.
pub(crate) fn messages(result: &str, artefacts: &dyn Artefacts) -> Result<Vec<PromptMessage>, String> {
    let cause = |error: serde_json::Error| sanitize::clean(&error.to_string(), 300);
    let Messages { messages } = serde_json::from_str(result)
        .map_err(|error| format!("the server's answer could not be read: {}", cause(error)))?;
    if messages.left > 0 {
        return Err(format!("the prompt has more than {MAX_MESSAGES} messages"));
    }
    let read = |(place, raw): (usize, &RawValue)| {
        message(raw, artefacts).map_err(|why| format!("message {}: {why}", place + 1))
    };
    messages.items.into_iter().enumerate().map(read).collect()
}

fn message(raw: &RawValue, artefacts: &dyn Artefacts) -> Result<PromptMessage, String> {
    let message: Message<'_> = object(raw).map_err(|_| "not a message")?;
    let speaker = match &*message.role {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        other => return Err(format!("unknown role `{}`", sanitize::clean(other, 40))),
    };
    let (mut content, left) = content::blocks(message.content, artefacts);
    if left > 0 {
        content.push(Content::text(format!("[{left} more blocks of the message are left out]")));
    }
    Ok(PromptMessage { speaker, content })
}

#[cfg(test)]
mod tests;
