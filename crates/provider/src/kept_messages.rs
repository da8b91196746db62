//! The messages of earlier requests of a conversation, as JSON text: the next request writes only what is new.
//!
//! A request of a long turn repeats all messages before it. What was written of them is kept if nothing that follows can
//! change it: every invocation in it is answered, and there are no media, whose place depends on newer ones. It is used
//! only if what is new are replies of the model and their results. Everything else is written from the beginning.

use std::collections::HashSet;

use converse_canister::{Canister, Content, PreparedTools, TurnId};
use serde_json::Value;

use crate::grouping::{Section, group_with};
use crate::request::unwritten;
use crate::wire_ids::WireIds;
use crate::{Endpoint, Prompt, TranslateError};

/// The messages of one conversation, for requests to one endpoint whose facts and controls do not change. Its owner sees to
/// it that every view begins with the view of the request before, apart from instructions.
#[derive(Debug, Default)]
pub struct KeptMessages {
    /// Canisters that are written, without instructions. 0: nothing is kept.
    canisters: usize,
    last_turn: Option<TurnId>,
    model: String,
    /// Messages with a comma between them.
    text: Vec<u8>,
    /// Number of messages in `text`.
    messages: usize,
    /// Where the last two messages of the user end in `text`, the latest first.
    user_ends: [Option<usize>; 2],
    /// The ids of the invocations.
    wire_ids: HashSet<String>,
}

/// The messages of a request as text.
#[derive(Debug)]
pub(crate) struct MessageList {
    /// A JSON list.
    pub(crate) text: Vec<u8>,
    /// The number of messages, without the first one that was passed.
    pub(crate) len: usize,
    /// Where the last two messages of the user end in `text`, the latest first.
    pub(crate) user_ends: [Option<usize>; 2],
    /// The messages that were not kept.
    pub(crate) new: Vec<Value>,
}

/// What earlier requests with the same tools, or of the same conversation, have made.
#[derive(Debug, Default)]
pub struct Prepared<'a> {
    /// Belongs to the tools of the prompt.
    pub tools: Option<&'a PreparedTools>,
    pub messages: Option<&'a mut KeptMessages>,
}

impl KeptMessages {
    /// Returns the canisters that are not written yet, if these can be appended to what is kept.
    fn new_canisters<'v>(&self, prompt: &Prompt<'v>) -> Option<&'v [Canister]> {
        let instructions = prompt.view.iter().filter(|canister| is_instruction(canister)).count();
        let new = prompt.view.get(self.canisters + instructions..)?;
        let follows = |turn: TurnId| self.last_turn.is_none_or(|last| last < turn);
        let fits = |canister: &Canister| match canister {
            Canister::Assistant(assistant) => follows(assistant.turn),
            Canister::Invocation(invocation) => follows(invocation.turn),
            Canister::Result(result) => !result.content.iter().any(is_medium),
            Canister::Supervisor(_) | Canister::User(_) | Canister::Document(_) => false,
        };
        let is_ours = self.canisters > 0 && self.model == prompt.model;
        (is_ours && new.iter().all(fits)).then_some(new)
    }

    /// Writes a message behind the others.
    fn append(&mut self, message: &Value) -> Result<(), TranslateError> {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, message).map_err(unwritten)?;
        self.messages += 1;
        if message.get("role").is_some_and(|role| role == "user") {
            let [latest, _] = self.user_ends;
            self.user_ends = [Some(self.text.len()), latest];
        }
        Ok(())
    }

    /// Takes note that all of the view is written now, or forgets it if what follows could change it. `new` is the part of
    /// the view that was not written before, and `last` the last message of it.
    fn keep(&mut self, prompt: &Prompt<'_>, new: &[Canister], last: Option<&Value>) {
        let is_ended = matches!(
            prompt.view.last(),
            Some(Canister::User(_) | Canister::Document(_) | Canister::Result(_))
        );
        // Some wires join replies that follow each other.
        let ends_with_reply = last.is_some_and(is_reply);
        if !is_ended || ends_with_reply || !all_answered(new) || new.iter().any(has_media) {
            *self = Self::default();
            return;
        }
        self.canisters = prompt.view.iter().filter(|canister| !is_instruction(canister)).count();
        self.last_turn = prompt.view.iter().rev().find_map(Canister::turn);
        if self.model != prompt.model {
            prompt.model.clone_into(&mut self.model);
        }
    }
}

/// Returns a list of `first` and of what `write` makes of the sections of a prompt. `write` gets the sections that are not
/// kept, and whether they come after the last question of the user.
///
/// # Errors
/// Those of `write`. Then nothing is kept.
pub(crate) fn list(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    kept: &mut KeptMessages,
    first: Option<Value>,
    write: impl FnOnce(&[Section<'_>], bool) -> Result<Vec<Value>, TranslateError>,
) -> Result<MessageList, TranslateError> {
    let mut before = std::mem::take(kept);
    let new = before.new_canisters(prompt);
    let follows = new.is_some();
    if !follows {
        before = KeptMessages::default();
    }
    let new = new.unwrap_or(prompt.view);
    let mut ids = WireIds::after(endpoint, before.wire_ids);
    let sections = group_with(new, endpoint, prompt.model, &mut ids).sections;
    before.wire_ids = ids.into_used();
    let messages = write(&sections, follows)?;
    messages.iter().try_for_each(|message| before.append(message))?;
    let mut text = Vec::with_capacity(before.text.len() + 2);
    text.push(b'[');
    if let Some(first) = first {
        serde_json::to_writer(&mut text, &first).map_err(unwritten)?;
        text.push(b',');
    }
    let user_ends = before.user_ends.map(|end| end.map(|end| text.len() + end));
    text.extend_from_slice(&before.text);
    text.push(b']');
    let len = before.messages;
    before.keep(prompt, new, messages.last());
    *kept = before;
    Ok(MessageList { text, len, user_ends, new: messages })
}

/// Returns the messages if a model can answer the last one. What is kept ends with a question or a result.
///
/// # Errors
/// [`TranslateError::NothingToAnswer`] if the last message is not `answerable`.
pub(crate) fn answerable(
    messages: Vec<Value>,
    follows: bool,
    answerable: fn(&Value) -> bool,
) -> Result<Vec<Value>, TranslateError> {
    if messages.last().map_or(follows, answerable) {
        Ok(messages)
    } else {
        Err(TranslateError::NothingToAnswer)
    }
}

/// Returns whether an endpoint sends the messages as they are written: patches and own keys of the user may change them.
pub(crate) fn is_plain(prompt: &Prompt<'_>, endpoint: &Endpoint, key: &str) -> bool {
    endpoint.patches.is_empty() && !prompt.controls.extra.contains_key(key)
}

fn is_reply(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role == "assistant" || role == "model")
}

fn is_instruction(canister: &Canister) -> bool {
    matches!(canister, Canister::Supervisor(_))
}

fn all_answered(canisters: &[Canister]) -> bool {
    let count = |of: fn(&Canister) -> bool| canisters.iter().filter(|canister| of(canister)).count();
    count(|canister| matches!(canister, Canister::Invocation(_)))
        == count(|canister| matches!(canister, Canister::Result(_)))
}

fn has_media(canister: &Canister) -> bool {
    match canister {
        Canister::User(user) => user.content.iter().any(is_medium),
        Canister::Document(document) => document.content.iter().any(is_medium),
        Canister::Result(result) => result.content.iter().any(is_medium),
        Canister::Supervisor(_) | Canister::Assistant(_) | Canister::Invocation(_) => false,
    }
}

fn is_medium(content: &Content) -> bool {
    matches!(content, Content::Blob { .. })
}

#[cfg(test)]
mod tests;
