//! The output items of a response, which grow by the events of a turn. Each change is reported as an event of the stream.

use serde::Serialize;

use super::responses_item::{Item, OutputText, Status, SummaryText};
use super::{ToolCall, TurnEvent};

/// The items so far.
#[derive(Debug)]
pub(super) struct Output {
    /// Makes the ids of items unique: the id of the response without its prefix.
    key: String,
    items: Vec<Item>,
    /// Message or reasoning that still grows.
    open: Option<usize>,
    /// Number of items before this reply of the model.
    reply: usize,
    /// Invocations without a result: id of the call and index of the item.
    running: Vec<(String, usize)>,
    /// Text that is sent only if its reply turns out to be the last: the answer is JSON.
    held: Option<Held>,
}

#[derive(Debug, Default)]
struct Held {
    text: String,
    /// The reply is whole: the next text begins another one.
    ended: bool,
}

/// Hears the events of the stream.
pub(super) trait Watch {
    fn on(&mut self, kind: &'static str, body: &Body<'_>);
}

/// For a response that is not streamed.
impl Watch for () {
    fn on(&mut self, _: &'static str, _: &Body<'_>) {}
}

/// An event of the stream without its type and number. Source: `types/responses/response_*_event.py`, PyPI `openai`
/// 3.54.0, November 2026.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Item { output_index: usize, item: &'a Item },
    Part { item_id: &'a str, output_index: usize, content_index: u8, part: OutputText },
    Text { item_id: &'a str, output_index: usize, content_index: u8, delta: &'a str, logprobs: [(); 0] },
    TextDone { item_id: &'a str, output_index: usize, content_index: u8, text: &'a str, logprobs: [(); 0] },
    SummaryPart { item_id: &'a str, output_index: usize, summary_index: u8, part: SummaryText },
    Summary { item_id: &'a str, output_index: usize, summary_index: u8, delta: &'a str },
    SummaryDone { item_id: &'a str, output_index: usize, summary_index: u8, text: &'a str },
    Call { item_id: &'a str, output_index: usize },
    Arguments { item_id: &'a str, output_index: usize, delta: &'a str },
    ArgumentsDone { item_id: &'a str, output_index: usize, arguments: &'a str },
}

const ADDED: &str = "response.output_item.added";
const DONE: &str = "response.output_item.done";

impl Output {
    pub(super) fn new(response_id: &str, last_reply_only: bool) -> Self {
        let key = response_id.strip_prefix("resp_").unwrap_or(response_id).to_owned();
        let held = last_reply_only.then(Held::default);
        Self { key, items: Vec::new(), open: None, reply: 0, running: Vec::new(), held }
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns whether text of this reply was reported.
    pub(super) fn has_reported_text(&self) -> bool {
        self.items[self.reply..].iter().any(|item| !item.text().is_empty() && item.is_message())
    }

    /// Adds an event, apart from the end of the turn.
    pub(super) fn push(&mut self, event: &TurnEvent, watch: &mut dyn Watch) {
        match event {
            TurnEvent::TextDelta(piece) if !piece.is_empty() => self.text(piece, watch),
            TurnEvent::ReasoningDelta(piece) if !piece.is_empty() => self.reasoning(piece, watch),
            TurnEvent::TextDelta(_) | TurnEvent::ReasoningDelta(_) => {}
            TurnEvent::Discard => self.discard(),
            TurnEvent::ToolStarted { call, arguments } => {
                self.started(call, &arguments.to_string(), watch);
            }
            TurnEvent::ToolFinished { call, outcome, text } => {
                self.end_reply(watch);
                let at = match self.running.iter().position(|(id, _)| *id == call.id) {
                    Some(running) => self.running.swap_remove(running).1,
                    None => {
                        let at = self.started(call, "{}", watch);
                        self.running.retain(|(_, index)| *index != at);
                        at
                    }
                };
                let Some(item) = self.items.get_mut(at) else { return };
                item.finish_call(*outcome, text);
                let kind = match outcome.is_success() {
                    true => "response.mcp_call.completed",
                    false => "response.mcp_call.failed",
                };
                watch.on(kind, &Body::Call { item_id: item.id(), output_index: at });
                watch.on(DONE, &Body::Item { output_index: at, item });
            }
            TurnEvent::ApprovalNeeded { call, arguments } => {
                self.end_reply(watch);
                let at = self.add(
                    Item::McpApprovalRequest {
                        id: call.id.clone(),
                        arguments: arguments.to_string(),
                        name: call.tool.clone(),
                        server_label: call.ensemble.clone(),
                    },
                    watch,
                );
                self.done(at, watch);
            }
            TurnEvent::ClientCalls(calls) => {
                self.close(Status::Completed, watch);
                // Text beside calls is not the answer.
                self.without_answer();
                for call in calls {
                    let at = self.add(
                        Item::FunctionCall {
                            id: self.id("fc"),
                            status: Status::InProgress,
                            arguments: String::new(),
                            call_id: call.id.clone(),
                            name: call.name.clone(),
                        },
                        watch,
                    );
                    self.arguments(at, &call.arguments, "response.function_call_arguments", watch);
                    if let Some(item) = self.items.get_mut(at) {
                        item.set_status(Status::Completed);
                    }
                    self.done(at, watch);
                }
            }
            TurnEvent::Usage { .. } => self.end_reply(watch),
            TurnEvent::Done(_) | TurnEvent::Failed(_) => {}
        }
    }

    /// Leaves out text that is held back, because the turn has no answer.
    pub(super) fn without_answer(&mut self) {
        self.held.iter_mut().for_each(|held| held.text.clear());
    }

    /// Ends all items. `last` is the status of a message that is open; invocations without a result are incomplete.
    pub(super) fn end(&mut self, last: Status, watch: &mut dyn Watch) {
        if let Some(text) = self.held.take().map(|held| held.text).filter(|text| !text.is_empty()) {
            self.text(&text, watch);
        }
        self.close(last, watch);
        for (_, at) in std::mem::take(&mut self.running) {
            if let Some(item) = self.items.get_mut(at) {
                item.set_status(Status::Incomplete);
            }
            self.done(at, watch);
        }
    }

    fn text(&mut self, piece: &str, watch: &mut dyn Watch) {
        if let Some(held) = &mut self.held {
            if std::mem::take(&mut held.ended) {
                held.text.clear();
            }
            held.text.push_str(piece);
            return;
        }
        let (at, is_new) = self.growing(true, watch);
        let Some(item) = self.items.get_mut(at) else { return };
        if is_new {
            let part = OutputText::new(String::new());
            let body = Body::Part { item_id: item.id(), output_index: at, content_index: 0, part };
            watch.on("response.content_part.added", &body);
        }
        item.push_text(piece);
        let body =
            Body::Text { item_id: item.id(), output_index: at, content_index: 0, delta: piece, logprobs: [] };
        watch.on("response.output_text.delta", &body);
    }

    fn reasoning(&mut self, piece: &str, watch: &mut dyn Watch) {
        let (at, is_new) = self.growing(false, watch);
        let Some(item) = self.items.get_mut(at) else { return };
        if is_new {
            let part = SummaryText { text: String::new() };
            let body = Body::SummaryPart { item_id: item.id(), output_index: at, summary_index: 0, part };
            watch.on("response.reasoning_summary_part.added", &body);
        }
        item.push_text(piece);
        let body = Body::Summary { item_id: item.id(), output_index: at, summary_index: 0, delta: piece };
        watch.on("response.reasoning_summary_text.delta", &body);
    }

    /// Returns the open message or the open reasoning, and whether it is new.
    fn growing(&mut self, message: bool, watch: &mut dyn Watch) -> (usize, bool) {
        if let Some(at) = self.open.filter(|at| self.items[*at].is_message() == message) {
            return (at, false);
        }
        self.close(Status::Completed, watch);
        let item = match message {
            true => Item::message(self.id("msg")),
            false => Item::Reasoning { id: self.id("rs"), summary: Vec::new() },
        };
        let at = self.add(item, watch);
        self.open = Some(at);
        (at, true)
    }

    fn close(&mut self, status: Status, watch: &mut dyn Watch) {
        let Some(at) = self.open.take() else { return };
        let Some(item) = self.items.get_mut(at) else { return };
        item.set_status(status);
        let (item_id, text) = (item.id(), item.text());
        if item.is_message() {
            let body = Body::TextDone { item_id, output_index: at, content_index: 0, text, logprobs: [] };
            watch.on("response.output_text.done", &body);
            let part = OutputText::new(text.to_owned());
            let body = Body::Part { item_id, output_index: at, content_index: 0, part };
            watch.on("response.content_part.done", &body);
        } else {
            let body = Body::SummaryDone { item_id, output_index: at, summary_index: 0, text };
            watch.on("response.reasoning_summary_text.done", &body);
            let part = SummaryText { text: text.to_owned() };
            let body = Body::SummaryPart { item_id, output_index: at, summary_index: 0, part };
            watch.on("response.reasoning_summary_part.done", &body);
        }
        self.done(at, watch);
    }

    fn end_reply(&mut self, watch: &mut dyn Watch) {
        self.close(Status::Completed, watch);
        self.reply = self.items.len();
        self.held.iter_mut().for_each(|held| held.ended = true);
    }

    fn discard(&mut self) {
        if let Some(held) = self.held.as_mut().filter(|held| !held.ended) {
            held.text.clear();
        }
        if !self.has_reported_text() {
            return;
        }
        let reply = self.items.split_off(self.reply);
        self.items.extend(reply.into_iter().filter(|item| !item.is_message()));
        self.open = None;
    }

    fn started(&mut self, call: &ToolCall, arguments: &str, watch: &mut dyn Watch) -> usize {
        self.end_reply(watch);
        let at = self.add(Item::mcp_call(self.id("mcp"), call), watch);
        self.reply = self.items.len();
        self.running.push((call.id.clone(), at));
        if let Some(item) = self.items.get(at) {
            let body = Body::Call { item_id: item.id(), output_index: at };
            watch.on("response.mcp_call.in_progress", &body);
        }
        self.arguments(at, arguments, "response.mcp_call_arguments", watch);
        at
    }

    /// Reports the arguments of a call in one piece.
    fn arguments(&mut self, at: usize, text: &str, kind: &str, watch: &mut dyn Watch) {
        let Some(item) = self.items.get_mut(at) else { return };
        let (delta, done) = match kind {
            "response.mcp_call_arguments" => {
                ("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done")
            }
            _ => ("response.function_call_arguments.delta", "response.function_call_arguments.done"),
        };
        if let Item::McpCall { arguments, .. } | Item::FunctionCall { arguments, .. } = item {
            text.clone_into(arguments);
        }
        watch.on(delta, &Body::Arguments { item_id: item.id(), output_index: at, delta: text });
        watch.on(done, &Body::ArgumentsDone { item_id: item.id(), output_index: at, arguments: text });
    }

    fn add(&mut self, item: Item, watch: &mut dyn Watch) -> usize {
        let output_index = self.items.len();
        watch.on(ADDED, &Body::Item { output_index, item: &item });
        self.items.push(item);
        output_index
    }

    fn done(&self, at: usize, watch: &mut dyn Watch) {
        if let Some(item) = self.items.get(at) {
            watch.on(DONE, &Body::Item { output_index: at, item });
        }
    }

    /// Returns the id of the next item.
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}_{}", self.key, self.items.len())
    }
}
