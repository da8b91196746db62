//! Bodies that a provider would write: one reply in each dialect, streamed or whole.

use serde_json::{Value, json};

/// What the model says in one reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Says {
    pub(crate) text: &'static str,
    /// Tool and arguments, the latter as the model writes them.
    pub(crate) calls: Vec<(&'static str, String)>,
    pub(crate) stop: Option<&'static str>,
}

pub(crate) fn text(text: &'static str) -> Says {
    Says { text, ..Says::default() }
}

pub(crate) fn calls<const N: usize>(calls: [(&'static str, Value); N]) -> Says {
    let calls = calls.into_iter().map(|(tool, arguments)| (tool, arguments.to_string())).collect();
    Says { calls, ..Says::default() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic,
    Chat,
}

impl Says {
    pub(crate) fn with_text(mut self, text: &'static str) -> Self {
        self.text = text;
        self
    }

    pub(crate) fn body(&self, dialect: Dialect, stream: bool, reply: usize) -> String {
        match (dialect, stream) {
            (Dialect::Anthropic, true) => self.anthropic_stream(reply),
            (Dialect::Anthropic, false) => self.anthropic_whole(reply),
            (Dialect::Chat, true) => self.chat_stream(reply),
            (Dialect::Chat, false) => self.chat_whole(reply),
        }
    }

    fn anthropic_stop(&self) -> &str {
        self.stop.unwrap_or(if self.calls.is_empty() { "end_turn" } else { "tool_use" })
    }

    fn anthropic_whole(&self, reply: usize) -> String {
        let mut content = Vec::new();
        if !self.text.is_empty() {
            content.push(json!({ "type": "text", "text": self.text }));
        }
        for (index, (tool, arguments)) in self.calls.iter().enumerate() {
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            content.push(json!({ "type": "tool_use", "id": format!("toolu_{reply}_{index}"), "name": tool, "input": input }));
        }
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": content,
            "stop_reason": self.anthropic_stop(), "usage": { "input_tokens": 10, "output_tokens": 5 },
        })
        .to_string()
    }

    fn anthropic_stream(&self, reply: usize) -> String {
        let mut events = vec![json!({ "type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": [],
            "usage": { "input_tokens": 10, "output_tokens": 1 } } })];
        let mut index = 0;
        if !self.text.is_empty() {
            events.push(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }));
            for word in self.text.split_inclusive(' ') {
                events.push(json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": word } }));
            }
            events.push(json!({ "type": "content_block_stop", "index": 0 }));
            index = 1;
        }
        for (at, (tool, arguments)) in self.calls.iter().enumerate() {
            let block =
                json!({ "type": "tool_use", "id": format!("toolu_{reply}_{at}"), "name": tool, "input": {} });
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
            for half in halves(arguments) {
                events.push(json!({ "type": "content_block_delta", "index": index,
                    "delta": { "type": "input_json_delta", "partial_json": half } }));
            }
            events.push(json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        events.push(json!({ "type": "message_delta", "delta": { "stop_reason": self.anthropic_stop() },
            "usage": { "output_tokens": 5 } }));
        events.push(json!({ "type": "message_stop" }));
        let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        events.iter().map(line).collect()
    }

    fn chat_stop(&self) -> &str {
        self.stop.unwrap_or(if self.calls.is_empty() { "stop" } else { "tool_calls" })
    }

    fn chat_call(reply: usize, index: usize, tool: &str, arguments: &str) -> Value {
        json!({ "id": format!("call_{reply}_{index}"), "type": "function",
            "function": { "name": tool, "arguments": arguments } })
    }

    fn chat_whole(&self, reply: usize) -> String {
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !self.calls.is_empty() {
            let calls = self.calls.iter().enumerate();
            message["tool_calls"] =
                calls.map(|(i, (tool, arguments))| Self::chat_call(reply, i, tool, arguments)).collect();
        }
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "stub",
            "choices": [{ "index": 0, "message": message, "finish_reason": self.chat_stop() }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
        })
        .to_string()
    }

    fn chat_stream(&self, reply: usize) -> String {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        deltas.extend(self.text.split_inclusive(' ').map(|word| json!({ "content": word })));
        for (index, (tool, arguments)) in self.calls.iter().enumerate() {
            let mut call = Self::chat_call(reply, index, tool, "");
            call["index"] = json!(index);
            deltas.push(json!({ "tool_calls": [call] }));
            for half in halves(arguments) {
                deltas.push(json!({ "tool_calls": [{ "index": index, "function": { "arguments": half } }] }));
            }
        }
        let chunk = |delta: Value, stop: Option<&str>| {
            json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "stub",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] })
        };
        let mut body: String =
            deltas.into_iter().map(|delta| format!("data: {}\n\n", chunk(delta, None))).collect();
        body.push_str(&format!("data: {}\n\n", chunk(json!({}), Some(self.chat_stop()))));
        let usage = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "stub", "choices": [],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 } });
        body + &format!("data: {usage}\n\ndata: [DONE]\n\n")
    }
}

fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    [&text[..middle], &text[middle..]]
}
