//! Offers beside tools, with `--resources` and `--prompts`: resources of every kind that is good or bad, prompts
//! with good and bad messages, suggestions for arguments.

use serde_json::{Value, json};

use super::session::Session;

const INVALID: i64 = -32602;
/// Up to 2025-11-25.
const NOT_FOUND: i64 = -32002;
/// The first bytes of a PNG.
const PNG: &str = "iVBORw0KGgpVVVVV";
/// `%PDF-1.7` and a line.
const PDF: &str = "JVBERi0xLjcK";

/// Declares the capabilities of the offers.
pub(super) fn declare(session: &Session, capabilities: &mut Value) {
    if session.flags.has("resources") {
        capabilities["resources"] = json!({});
        capabilities["completions"] = json!({});
    }
    if session.flags.has("prompts") {
        capabilities["prompts"] = json!({});
        capabilities["completions"] = json!({});
    }
}

impl Session {
    /// Answers requests about the offers; false for other requests.
    pub(super) fn offers(&self, method: &str, id: &Value, params: &Value, modern: bool) -> bool {
        let (resources, prompts) = (self.flags.has("resources"), self.flags.has("prompts"));
        if resources && method == "resources/read" && params["uri"] == "demo://huge" {
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"contents":[{{"blob":""#);
            self.out.send_long(&head, "A", 100 * 1024 * 1024, r#""}]}}"#);
            return true;
        }
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let answer = match method {
            "resources/list" if resources => Ok(json!({ "resources": self.resources() })),
            "resources/templates/list" if resources => Ok(json!({ "resourceTemplates": self.templates() })),
            "resources/read" if resources => self.contents(&text("uri"), modern),
            "prompts/list" if prompts => Ok(json!({ "prompts": self.prompts() })),
            "prompts/get" if prompts => self.messages(&text("name"), &params["arguments"]),
            "completion/complete" if resources || prompts => Ok(suggestions(params)),
            _ => return false,
        };
        match answer {
            Ok(mut result) => {
                if modern && result.get("resultType").is_none() {
                    result["resultType"] = json!("complete");
                }
                self.out.result(id, result);
            }
            Err((code, message)) => self.out.error(id, code, &message),
        }
        true
    }

    fn resources(&self) -> Vec<Value> {
        let mut listed = vec![
            json!({ "uri": "demo://notes.md", "name": "notes", "description": "What to remember", "mimeType": "text/markdown" }),
            json!({ "uri": "demo://pixel.png", "name": "pixel", "title": "One pixel", "mimeType": "image/png", "size": 12 }),
            json!({ "uri": "demo://report.pdf", "mimeType": "application/pdf",
                    "annotations": { "audience": ["user"], "priority": 1 } }),
            json!({ "name": "lost", "description": "Has no address" }),
            json!("no resource at all"),
        ];
        if self.flags.has("words") {
            let words = self.words();
            listed.push(json!({ "uri": format!("demo://{words}"), "name": words, "title": words, "description": words, "mimeType": words }));
        }
        let many = self.flags.number("many-resources").unwrap_or(0);
        listed
            .extend((0..many).map(|n| json!({ "uri": format!("demo://numbered/{n}"), "name": "numbered" })));
        listed
    }

    fn templates(&self) -> Value {
        let mut listed = templates();
        if let Some(list) = listed.as_array_mut().filter(|_| self.flags.has("words")) {
            let words = self.words();
            list.push(
                json!({ "uriTemplate": format!("demo://{words}"), "name": words, "description": words }),
            );
        }
        listed
    }

    fn prompts(&self) -> Value {
        let mut listed = listed_prompts();
        if let Some(list) = listed.as_array_mut().filter(|_| self.flags.has("words")) {
            let words = self.words();
            let argument = json!({ "name": words, "description": words, "required": true });
            list.push(json!({ "name": format!("said {words}"), "title": words, "description": words, "arguments": [argument] }));
        }
        listed
    }

    fn contents(&self, uri: &str, modern: bool) -> Result<Value, (i64, String)> {
        let contents = match uri {
            "demo://notes.md" => json!([{ "text": "remember the milk", "mimeType": "text/markdown" }]),
            "demo://pixel.png" => json!([{ "blob": PNG, "mimeType": "image/png" }]),
            "demo://report.pdf" => json!([{ "blob": PDF, "mimeType": "application/pdf" }]),
            "demo://folder" => {
                json!([{ "uri": "demo://folder/a", "text": "first" }, { "uri": "demo://folder/b", "text": "second" }])
            }
            "demo://env" => json!([{ "text": super::calls::environment() }]),
            "demo://empty" => json!([]),
            "demo://odd" => json!([{ "mimeType": "text/plain" }]),
            "demo://liar" => json!([{ "blob": PDF, "mimeType": "image/png" }]),
            "demo://zip" => json!([{ "blob": "UEsDBA==", "mimeType": "application/zip" }]),
            "demo://large" => json!([{ "text": "x".repeat(15 * 1024 * 1024) }]),
            "demo://photo.png" => json!([{ "blob": format!("{PNG}{}", "A".repeat(6_000_000)) }]),
            "demo://input" => return Ok(json!({ "resultType": "input_required", "inputRequests": {} })),
            _ if uri.starts_with("demo://city/") => json!([{ "text": format!("all about {uri}") }]),
            _ if modern => return Err((INVALID, format!("Resource not found: {uri}"))),
            _ => return Err((NOT_FOUND, format!("Resource not found: {uri}"))),
        };
        let mut contents = contents;
        for content in contents.as_array_mut().into_iter().flatten() {
            if content.get("uri").is_none() {
                content["uri"] = json!(uri);
            }
        }
        Ok(json!({ "contents": contents, "ttlMs": 0, "cacheScope": "private" }))
    }

    fn messages(&self, name: &str, arguments: &Value) -> Result<Value, (i64, String)> {
        let says =
            |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
        let word = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
        let messages = match name {
            "guide" if word("city") == "Nowhere" => {
                return Err((INVALID, "there is no such city".to_owned()));
            }
            "guide" => vec![says("user", &format!("Be a guide through {}, {}.", word("city"), word("tone")))],
            "rehearsed" => vec![
                says("assistant", "I am ready."),
                says("user", "What is red?"),
                says("assistant", "A colour."),
                says("user", "And blue?"),
            ],
            "shown" => vec![
                json!({ "role": "user", "content": { "type": "image", "data": PNG, "mimeType": "image/png" } }),
                json!({ "role": "user", "content": { "type": "resource",
                        "resource": { "uri": "demo://notes.md", "text": "remember the milk" } } }),
                json!({ "role": "user", "content": { "type": "resource_link", "uri": "file:///etc/shadow", "name": "s" } }),
            ],
            "unanswerable" => vec![says("user", "Hello"), says("assistant", "Goodbye")],
            "malformed" => vec![says("user", "Hello"), json!({ "role": "system", "content": "Obey" })],
            "silent" => vec![],
            _ => return Err((INVALID, format!("Prompt not found: {name}"))),
        };
        Ok(json!({ "messages": messages }))
    }
}

fn templates() -> Value {
    json!([{ "uriTemplate": "demo://city/{name}", "name": "city", "description": "All about one city" },
           { "name": "nothing to fill in" }])
}

fn listed_prompts() -> Value {
    let named = |name: &str| json!({ "name": name });
    json!([
        { "name": "guide", "description": "Somebody who knows the town", "arguments": [
            { "name": "city", "description": "Which town", "required": true },
            { "name": "tone", "description": "How to speak" }] },
        named("rehearsed"), named("shown"), named("unanswerable"), named("malformed"), named("silent"), named("gone"),
        { "description": "Has no name" },
        { "name": "broken", "arguments": { "city": {} } },
    ])
}

fn suggestions(params: &Value) -> Value {
    let settled = params["context"]["arguments"]["tone"].as_str();
    let cities: Vec<String> = match settled {
        Some("dry") => vec!["Lima".to_owned()],
        _ => ["Paris", "Prague\u{1b}[31m"]
            .map(str::to_owned)
            .into_iter()
            .chain((0..20).map(|n| format!("P{n}")))
            .collect(),
    };
    let values = match params["argument"]["name"].as_str() {
        Some("city" | "name") => cities,
        _ => Vec::new(),
    };
    json!({ "completion": { "values": values, "hasMore": false } })
}
