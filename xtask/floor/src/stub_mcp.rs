//! An MCP server over stdio that does nothing, quickly: for `cargo xtask bench`. The 2025 era only: `initialize`.
//!
//! `stub-mcp [--tools N] [--start-delay SECONDS] [--hints 0|1]`: `echo`, `sleep`, then `tool_2`, `tool_3`, … which only
//! fill the list. With hints every tool says that it only reads.

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Newest first. <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle> (checked 2026-11)
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

struct Options {
    tools: usize,
    start_delay: Duration,
    hints: bool,
}

fn main() -> Result<()> {
    let options = options(std::env::args().skip(1))?;
    std::thread::sleep(options.start_delay);
    for line in std::io::stdin().lines().map_while(std::result::Result::ok) {
        let message: Value = serde_json::from_str(&line)?;
        // What has no id is a notification.
        if let Some(id) = message.get("id") {
            answer(&options, id, &message["method"], &message["params"])?;
        }
    }
    Ok(())
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options { tools: 4, start_delay: Duration::ZERO, hints: true };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--tools" => options.tools = value.parse()?,
            "--start-delay" => options.start_delay = Duration::try_from_secs_f64(value.parse()?)?,
            "--hints" => options.hints = value == "1",
            _ => return Err(format!("`{word}` is not an option").into()),
        }
    }
    Ok(options)
}

fn answer(options: &Options, id: &Value, method: &Value, params: &Value) -> Result<()> {
    match method.as_str() {
        Some("initialize") => result(id, initialized(params)),
        Some("ping") => result(id, json!({})),
        Some("tools/list") => {
            let tools: Value = (0..options.tools).map(|index| tool(index, options.hints)).collect();
            result(id, json!({ "tools": tools }))
        }
        Some("tools/call") => call(id, params),
        _ => send(
            &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
        ),
    }
}

fn initialized(params: &Value) -> Value {
    let version =
        VERSIONS.iter().find(|version| params["protocolVersion"] == **version).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version, "capabilities": {"tools": {}},
        "serverInfo": {"name": "stub-mcp", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tool(index: usize, hints: bool) -> Value {
    let mut tool = match index {
        0 => json!({
            "name": "echo", "description": "Says what it heard",
            "inputSchema": {"type": "object", "required": ["text"],
                "properties": {"text": {"type": "string", "description": "What to say"}}},
        }),
        1 => json!({
            "name": "sleep", "description": "Sleeps, then says so",
            "inputSchema": {"type": "object", "required": ["seconds"], "properties": {
                "seconds": {"type": "number", "minimum": 0, "maximum": 3600, "description": "How long"},
                "label": {"type": "string", "description": "Tells calls apart"}}},
        }),
        _ => json!({
            "name": format!("tool_{index}"),
            "description": format!("Looks up records of kind {index} in the archive; gives those that pass the filter"),
            "inputSchema": {"type": "object", "required": ["query"], "properties": {
                "query": {"type": "string", "description": "What to look for", "maxLength": 200},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "At most"},
                "order": {"type": "string", "enum": ["newest", "oldest", "best"], "description": "Which first"},
                "filter": {"type": "object", "properties": {
                    "since": {"type": "string", "format": "date-time"},
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10}}}}},
        }),
    };
    if hints {
        tool["annotations"] = json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
    }
    tool
}

fn call(id: &Value, params: &Value) -> Result<()> {
    let arguments = &params["arguments"];
    match params["name"].as_str() {
        Some("sleep") => {
            let time = Duration::try_from_secs_f64(arguments["seconds"].as_f64().unwrap_or(0.0))?;
            let (id, text) = (id.clone(), format!("slept {} s", time.as_secs_f64()));
            // A thread for each, so that they sleep side by side.
            std::thread::spawn(move || {
                std::thread::sleep(time);
                let _ = result(&id, content(&text));
            });
            Ok(())
        }
        Some("echo") => {
            result(id, content(&format!("heard: {}", arguments["text"].as_str().unwrap_or_default())))
        }
        _ => result(id, content("nothing")),
    }
}

fn content(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

fn result(id: &Value, result: Value) -> Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// One line at once: those of several threads stay whole.
fn send(message: &Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    Ok(out.flush()?)
}
