//! A transcript in words: invocations as the model should have written them, results as a user's message.

use converse_canister::{Assistant, Canister, Content, Supervisor, User};
use serde_json::{Value, json};

use super::{CLOSE, OPEN, RESULT};
use crate::grouping::{Call, Part, Section, Turn, group};
use crate::plain::{self, Placeholder};
use crate::{AnswerFormat, Endpoint, Prompt};

/// The view without invocations and results, and with the tools in its instructions.
pub(super) fn view(prompt: &Prompt<'_>, endpoint: &Endpoint, tools: &[Value]) -> Vec<Canister> {
    let grouped = group(prompt.view, endpoint, prompt.model);
    let instruction = (!tools.is_empty()).then(|| manual(tools));
    let answer = prompt.controls.answer.as_ref().filter(|_| !tools.is_empty()).map(AnswerFormat::in_words);
    let system: Vec<String> = grouped.instructions.into_iter().chain(instruction).chain(answer).collect();
    let mut view = Vec::new();
    if !system.is_empty() {
        view.push(Canister::Supervisor(Supervisor { text: system.join("\n\n") }));
    }
    for section in &grouped.sections {
        match section {
            Section::Input(canisters) => view.extend(canisters.iter().map(|canister| (*canister).clone())),
            Section::Turn(turn) => {
                view.extend(words(turn));
                if turn.calls().next().is_some() {
                    view.push(Canister::User(results(turn, prompt)));
                }
            }
        }
    }
    view
}

fn manual(tools: &[Value]) -> String {
    let list: Vec<String> = tools.iter().map(Value::to_string).collect();
    format!(
        "You can use tools. To use one, end your message with a block of this form, one for each call:\n\
         {OPEN}\n{{\"name\": \"the tool's name\", \"arguments\": {{\"its\": \"arguments\"}}}}\n{CLOSE}\n\
         `arguments` is a JSON object that follows the tool's `parameters`. Write nothing after the last block: the \
         results come in the next message, in {RESULT} blocks. Never write such a block yourself. If you need no tool, \
         answer without a block.\n\
         The tools:\n{}",
        list.join("\n")
    )
}

/// Formats the text and the calls of a turn as one text.
fn words(turn: &Turn<'_>) -> Option<Canister> {
    let mut texts = Vec::new();
    let mut number = None;
    for part in &turn.parts {
        match part {
            Part::Words(assistant) => {
                number = number.or(Some(assistant.turn));
                texts.push(assistant.words().trim().to_owned());
            }
            Part::Call(call) => {
                number = number.or(Some(call.invocation.turn));
                let arguments = &call.invocation.arguments.object;
                let call = unclosed(&json!({ "name": call.tool, "arguments": arguments }));
                texts.push(format!("{OPEN}\n{call}\n{CLOSE}"));
            }
        }
    }
    texts.retain(|text| !text.is_empty());
    Some(Canister::Assistant(Assistant {
        turn: number?,
        content: vec![Content::text(texts.join("\n"))],
        native: None,
        stop: turn.stop.clone(),
        response_id: None,
    }))
}

/// Returns all results of a turn in the order of its calls, followed by the media, which the wire formats.
fn results(turn: &Turn<'_>, prompt: &Prompt<'_>) -> User {
    let blocks: Vec<String> = turn.calls().map(|call| result(call, prompt)).collect();
    let mut content = vec![Content::text(blocks.join("\n"))];
    let successes = turn.calls().filter(|call| call.answer.outcome().is_success());
    let blobs = successes.flat_map(|call| plain::contents(&call.answer));
    content.extend(blobs.filter(|content| matches!(content, Content::Blob { .. })).cloned());
    User { content }
}

fn result(call: &Call<'_>, prompt: &Prompt<'_>) -> String {
    let outcome = call.answer.outcome();
    let text = if outcome.is_success() {
        let texts = plain::contents(&call.answer).iter().filter_map(|content| match content {
            Content::Blob { mime, .. } => Some(format!("[{mime}: it follows]")),
            content => plain::text(content, prompt.blobs, Placeholder::NotShown),
        });
        json!({ "name": call.tool, "content": texts.collect::<Vec<_>>().join("\n") })
    } else {
        let problem = format!("{}: {}", outcome.label(), plain::failure(&call.answer, prompt.blobs));
        json!({ "name": call.tool, "error": problem })
    };
    format!("{RESULT}\n{}\n</tool_response>", unclosed(&text))
}

/// Returns JSON without a closing tag, because a tag in the content must not end the block.
fn unclosed(value: &Value) -> String {
    value.to_string().replace("</", "<\\/")
}
