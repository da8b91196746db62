//! The tools of `--conformance`: the names, texts and kinds of content that the protocol's conformance suite has
//! hard-coded for a server under test (<https://github.com/modelcontextprotocol/conformance>, 0.2.0-alpha.12, checked
//! 2026-11).
//!
//! The gateway is that server, and this one is behind it. Each message passes both.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::calls::PIXEL;
use super::listing::tool;
use super::session::Session;

/// A gateway hands on ten words of progress a second.
const SHORT: Duration = Duration::from_millis(120);
/// A WAV of one silent sample.
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

pub(super) fn tools(session: &Session) -> Vec<Value> {
    let mut tools = vec![
        tool("test_simple_text", "Answers with a text", &[]),
        tool("test_image_content", "Answers with a picture", &[]),
        tool("test_audio_content", "Answers with a sound", &[]),
        tool("test_embedded_resource", "Answers with a resource inside", &[]),
        tool("test_multiple_content_types", "Answers with a text, a picture and a resource", &[]),
        tool("test_error_handling", "Fails, and says so", &[]),
        tool("test_tool_with_progress", "Tells of its progress", &[]),
        tool("test_tool_with_logging", "Tells of its work in the log", &[]),
        tool("test_logging_tool", "Tells of its work in the log", &[]),
        tool("test_streaming_elicitation", "Answers at once: nobody is asked anything", &[]),
        tool("test_trigger_tool_change", "Changes the list of tools, and says so", &[]),
        json!({
            "name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12 features",
            "inputSchema": schema(),
        }),
        json!({
            "name": "test_header_parameter", "description": "Takes a value that is told in a header as well",
            "inputSchema": { "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } },
        }),
    ];
    if session.changed.load(Ordering::SeqCst) {
        tools.push(tool("test_newcomer", "Is there every other time", &[]));
    }
    tools
}

impl Session {
    pub(super) fn conforms(&self, tool: &str, id: &Value, params: &Value) {
        match tool {
            "test_simple_text" => self.text(id, "This is a simple text response for testing."),
            "test_image_content" => self.content(id, &[image()]),
            "test_audio_content" => {
                self.content(id, &[json!({ "type": "audio", "data": SILENCE, "mimeType": "audio/wav" })]);
            }
            "test_embedded_resource" => {
                let text = "This is an embedded resource content.";
                self.content(id, &[resource("test://embedded-resource", "text/plain", text)]);
            }
            "test_multiple_content_types" => self.content(id, &mixed()),
            "test_error_handling" => {
                let content = json!([{ "type": "text", "text": "This tool intentionally returns an error for testing" }]);
                self.out.result(id, json!({ "content": content, "isError": true }));
            }
            "test_tool_with_progress" => {
                for step in [0, 50, 100] {
                    self.progress(params, step, Some(100));
                    std::thread::sleep(SHORT);
                }
                self.text(id, "Tool with progress executed");
            }
            "test_tool_with_logging" | "test_logging_tool" => self.logs(id),
            "test_trigger_tool_change" => {
                self.changed.fetch_xor(true, Ordering::SeqCst);
                self.tell_of_change(params);
                self.text(id, "changed");
            }
            _ => self.text(id, &format!("this is {tool}")),
        }
    }

    /// As warnings: what is less than that stays in the log of whoever calls a server.
    fn logs(&self, id: &Value) {
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            self.out.notify("notifications/message", json!({ "level": "warning", "data": text }));
            std::thread::sleep(SHORT);
        }
        self.text(id, "Tool with logging executed");
    }

    fn content(&self, id: &Value, content: &[Value]) {
        self.out.result(id, json!({ "content": content }));
    }
}

fn image() -> Value {
    json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } })
}

fn mixed() -> [Value; 3] {
    let text = json!({ "type": "text", "text": "Multiple content types test:" });
    let data = r#"{"test":"data","value":123}"#;
    [text, image(), resource("test://mixed-content-resource", "application/json", data)]
}

/// Word for word what the suite looks for: a gateway that simplifies schemas loses some of it.
fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
