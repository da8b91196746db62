//! The messages of a request as a [`Transcript`].

use converse_canister::{
    Arguments, Assistant, Canister, Content, Document, Invocation, InvocationId, InvocationResult, Outcome,
    Stop, Supervisor, Transcript, TurnId, User,
};

use super::content::Part;
use super::fields::shown;
use super::media::Media;
use super::{ApiError, Attachment};

/// What a client sent: a whole conversation, or what continues an earlier one.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Results for calls of the earlier response that the request continues. They come before the transcript. Empty
    /// if the request does not continue one.
    pub answers: Vec<Answer>,
    /// The messages. No call in it is open, and its last message is from the user or a result, unless it is empty.
    pub transcript: Transcript,
    /// Bytes of the blobs that the messages name. No digest occurs twice.
    pub attachments: Vec<Attachment>,
}

/// A result for a call of an earlier response.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Id of the call as the client knows it.
    pub call_id: String,
    pub content: Vec<Content>,
}

/// Builds a [`Conversation`]. `param` is the path of the message, for errors.
#[derive(Debug, Default)]
pub(super) struct Builder {
    conversation: Conversation,
    /// Calls without a result: the client's id, and ours.
    open: Vec<(String, InvocationId)>,
    /// Calls of the turn so far.
    calls: usize,
    /// The request continues an earlier response, so results at its start have their calls there.
    continues: bool,
}

impl Builder {
    pub(super) fn continuing(continues: bool) -> Self {
        Self { continues, ..Self::default() }
    }

    pub(super) fn system(&mut self, text: String, param: &str) -> Result<(), ApiError> {
        self.push(Canister::Supervisor(Supervisor { text }), param)
    }

    pub(super) fn user(&mut self, parts: Vec<Part>, param: &str) -> Result<(), ApiError> {
        let (mut content, mut has_document) = (Vec::with_capacity(parts.len()), false);
        for part in parts {
            match part {
                Part::Text(text) if text.is_empty() => {}
                Part::Text(text) => content.push(Content::text(text)),
                Part::Media(Media::Blob(attachment)) => content.push(self.keep(attachment)),
                Part::Media(Media::Text { name, mime, text }) => {
                    let document = Document { name, mime, content: vec![Content::text(text)], labels: None };
                    self.push(Canister::Document(document), param)?;
                    has_document = true;
                }
            }
        }
        match content.is_empty() {
            true if has_document => Ok(()),
            true => Err(ApiError::invalid_value(param, "the message is empty")),
            false => self.push(Canister::User(User { content }), param),
        }
    }

    /// A reply that is whole, apart from its calls.
    pub(super) fn next_reply(&mut self, content: Vec<Content>, param: &str) -> Result<(), ApiError> {
        self.nothing_open(param)?;
        self.calls = 0;
        let turn = self.conversation.transcript.next_turn();
        self.begin(turn, content, param)
    }

    /// A piece of a reply. Consecutive pieces and calls are one reply.
    pub(super) fn reply(&mut self, content: Vec<Content>, param: &str) -> Result<(), ApiError> {
        let turn = self.turn();
        self.begin(turn, content, param)
    }

    fn begin(&mut self, turn: TurnId, content: Vec<Content>, param: &str) -> Result<(), ApiError> {
        let reply = Assistant { turn, content, native: None, stop: Stop::End, response_id: None };
        self.push(Canister::Assistant(reply), param)
    }

    pub(super) fn call(&mut self, id: String, tool: String, raw: &str, param: &str) -> Result<(), ApiError> {
        if id.is_empty() {
            return Err(ApiError::invalid_value(param, "the id of a call is empty"));
        }
        if self.open.iter().any(|(open, _)| *open == id) {
            return Err(ApiError::invalid_value(param, format!("the call {} is given twice", shown(&id))));
        }
        let ours = self.invocation(Some(id.clone()), tool, raw, param)?;
        self.open.push((id, ours));
        Ok(())
    }

    /// A call that this server answered, with what the model read.
    pub(super) fn answered_call(
        &mut self,
        tool: String,
        raw: &str,
        (outcome, text): (Outcome, String),
        param: &str,
    ) -> Result<(), ApiError> {
        let id = self.invocation(None, tool, raw, param)?;
        self.push(Canister::Result(InvocationResult::new(id, outcome, text)), param)
    }

    fn invocation(
        &mut self,
        wire_id: Option<String>,
        tool: String,
        raw: &str,
        param: &str,
    ) -> Result<InvocationId, ApiError> {
        if self.current_turn().is_none() {
            self.reply(Vec::new(), param)?;
        }
        let turn = self.turn();
        let id = InvocationId::of(turn, self.calls);
        self.calls += 1;
        let arguments = Arguments::parse(raw);
        let invocation = Invocation { turn, id: id.clone(), wire_id, tool, arguments, seal: None };
        self.push(Canister::Invocation(invocation), param)?;
        Ok(id)
    }

    pub(super) fn result(
        &mut self,
        id: &str,
        parts: Vec<Part>,
        outcome: Outcome,
        param: &str,
    ) -> Result<(), ApiError> {
        let content = parts.into_iter().map(|part| match part {
            Part::Text(text) | Part::Media(Media::Text { text, .. }) => Content::text(text),
            Part::Media(Media::Blob(attachment)) => self.keep(attachment),
        });
        let content: Vec<Content> = content.collect();
        if let Some(at) = self.open.iter().position(|(open, _)| open == id) {
            let (_, ours) = self.open.swap_remove(at);
            let result =
                InvocationResult { id: ours, content, outcome, truncated: None, cost: None, labels: None };
            return self.push(Canister::Result(result), param);
        }
        let is_first = self.conversation.transcript.as_slice().is_empty();
        if !self.continues || !is_first || self.conversation.answers.iter().any(|one| one.call_id == id) {
            let message = format!("{} is not the id of a call that waits for its result", shown(id));
            return Err(ApiError::invalid_value(param, message));
        }
        self.conversation.answers.push(Answer { call_id: id.to_owned(), content });
        Ok(())
    }

    /// Ends the conversation. `param` is the path of the list of messages.
    pub(super) fn end(self, param: &str) -> Result<Conversation, ApiError> {
        self.nothing_open(param)?;
        let Conversation { answers, transcript, .. } = &self.conversation;
        match transcript.as_slice().last() {
            None if answers.is_empty() && !self.continues => {
                Err(ApiError::invalid_value(param, "it is empty"))
            }
            Some(Canister::Assistant(_)) => Err(ApiError::invalid_value(
                param,
                "the last message must be from the user or a result of a tool",
            )),
            Some(_) if transcript.as_slice().iter().all(|one| matches!(one, Canister::Supervisor(_))) => {
                match answers.is_empty() && !self.continues {
                    true => Err(ApiError::invalid_value(param, "a message of the user is missing")),
                    false => Ok(self.conversation),
                }
            }
            _ => Ok(self.conversation),
        }
    }

    fn keep(&mut self, attachment: Attachment) -> Content {
        let content = attachment.content();
        let kept = &mut self.conversation.attachments;
        if !kept.iter().any(|one| one.digest == attachment.digest) {
            kept.push(attachment);
        }
        content
    }

    /// Returns the turn of the reply that may still grow.
    fn current_turn(&self) -> Option<TurnId> {
        self.conversation.transcript.as_slice().last().and_then(Canister::turn)
    }

    fn turn(&mut self) -> TurnId {
        self.current_turn().unwrap_or_else(|| {
            self.calls = 0;
            self.conversation.transcript.next_turn()
        })
    }

    fn push(&mut self, canister: Canister, param: &str) -> Result<(), ApiError> {
        if canister.turn().is_none() && !matches!(canister, Canister::Result(_)) {
            self.nothing_open(param)?;
        }
        let pushed = self.conversation.transcript.push(canister);
        pushed.map_err(|error| ApiError::invalid_value(param, error))
    }

    fn nothing_open(&self, param: &str) -> Result<(), ApiError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = self.open.iter().take(10).map(|(id, _)| shown(id)).collect();
        Err(ApiError::invalid_value(param, format!("calls without a result: {}", ids.join(", "))))
    }
}
