//! The tools it offers, a page at a time.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::session::Session;
use super::{malformed_tools, process};

/// Returns the requested page. The cursor is the number of its first tool.
pub(super) fn page(session: &Session, params: &Value) -> Value {
    let flags = &session.flags;
    let number = |name| flags.number(name).and_then(|number| usize::try_from(number).ok());
    let tools = tools(session);
    let total = tools.len() + number("many").unwrap_or(0);
    let first = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let next = usize::saturating_add(first, number("page").unwrap_or(usize::MAX)).min(total);
    // Only those of this page are made: a hundred thousand take their time.
    let one = |n: usize| tools.get(n).cloned().unwrap_or_else(|| numbered(n - tools.len()));
    let shown: Vec<Value> = (first..next).map(one).collect();
    let mut page = json!({ "tools": shown });
    if flags.has("same-cursor") {
        page["nextCursor"] = json!("0");
    } else if next < total {
        page["nextCursor"] = json!(next.to_string());
    }
    page
}

fn tools(session: &Session) -> Vec<Value> {
    let flags = &session.flags;
    let changed = flags.value("tool-file-changed").filter(|_| session.changed.load(Ordering::SeqCst));
    if let Some(file) = changed.or(flags.value("tool-file")) {
        return from_file(file);
    }
    let mut tools = base();
    if flags.has("ask") {
        tools.push(tool("ask", "Asks its client", &[]));
    }
    if flags.has("tasks") {
        tools.push(tool("work", "Works for so many polls", &[("polls", "integer")]));
    }
    if flags.has("faulty") {
        tools.extend(faulty());
    }
    if flags.has("malformed") {
        let wanted = |tool: &Value| {
            let name = tool["name"].as_str().unwrap_or_default();
            flags.names("malformed", "") || flags.names("malformed", name)
        };
        tools.extend(malformed_tools::malformed().into_iter().filter(wanted));
    }
    if session.changed.load(Ordering::SeqCst) {
        tools.retain(|tool| tool["name"] != "echo");
        tools.push(tool("newcomer", "Came later", &[]));
    }
    tools
}

fn from_file(file: &str) -> Vec<Value> {
    let read = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let tools = read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    tools.unwrap_or_else(|wrong| {
        process::complain(&format!("fake-server: {file}: {wrong}"));
        process::leave(64)
    })
}

fn numbered(n: usize) -> Value {
    json!({ "name": format!("numbered_{n}"), "description": "One of many", "inputSchema": { "type": "object" } })
}

/// One that needs all of its properties; each is a name and a type.
pub(super) fn tool(name: &str, description: &str, properties: &[(&str, &str)]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    json!({
        "name": name, "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required },
    })
}

fn base() -> Vec<Value> {
    vec![
        tool("echo", "Repeats a text word for word", &[("text", "string")]),
        tool("sleep", "Sleeps for some milliseconds", &[("ms", "integer")]),
        tool("env", "Tells the environment variables of the server", &[]),
        tool("fds", "Tells the open file descriptors of the server", &[]),
        tool("image", "Draws a picture of one red pixel", &[]),
        tool("fail", "Fails, and says so", &[]),
        tool("pid", "Tells the number of the server's process", &[]),
        tool("progress", "Works in steps and tells each", &[("steps", "integer"), ("ms", "integer")]),
        tool("meet", "Answers when as many calls of it have come as it is told", &[("count", "integer")]),
    ]
}

fn faulty() -> Vec<Value> {
    let structured =
        json!({ "type": "object", "required": ["sum"], "properties": { "sum": { "type": "integer" } } });
    let mut bad_structure = tool("bad_structure", "Answers what its output schema forbids", &[]);
    bad_structure["outputSchema"] = structured;
    vec![
        bad_structure,
        tool("hang", "Never answers", &[]),
        tool("stubborn", "Ignores a cancel and answers late", &[("ms", "integer")]),
        tool("progress_forever", "Tells of its progress, and nothing else", &[("ms", "integer")]),
        tool("die", "Ends the server: exit, abort, crash, close-stdout or close-stdin", &[("how", "string")]),
        tool("long_text", "Answers with a text of so many bytes", &[("bytes", "integer")]),
        tool("items", "Answers with so many texts of one byte", &[("count", "integer")]),
        tool("scraps", "Answers with so many numbers that are no content at all", &[("count", "integer")]),
        tool("big_image", "Answers with an image of so many bytes of base64", &[("bytes", "integer")]),
        tool("unknown_content", "Answers with a kind of content that nobody has heard of", &[]),
        tool("link", "Answers with a link to a file", &[]),
        tool("change", "Changes the list of tools, and says so", &[]),
    ]
}
