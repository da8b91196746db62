//! Writes a lockfile as text.

use converse_canister::canonical;
use converse_text::invisible::is_invisible;
use serde_json::{Map, Value, json};

use super::tokens;
use super::{Lockfile, MAX_BYTES, PinnedEnsemble, PinnedTool, VERSION};
use crate::lock::LockError;

impl Lockfile {
    /// Returns the text: sorted keys, two blanks per level, a final newline. Equal lockfiles have equal text.
    pub fn text(&self) -> Result<String, LockError> {
        let ensembles: Map<String, Value> =
            self.ensembles.iter().map(|(name, pinned)| (name.clone(), of_ensemble(pinned))).collect();
        let whole = sorted(json!({ "version": VERSION, "ensembles": ensembles }));
        let text = serde_json::to_string_pretty(&whole);
        let text = visible(&text.map_err(|error| LockError::Malformed(error.to_string()))?) + "\n";
        if text.len() > MAX_BYTES { Err(LockError::TooLarge { limit: MAX_BYTES }) } else { Ok(text) }
    }
}

fn of_ensemble(pinned: &PinnedEnsemble) -> Value {
    let tools = pinned.tools.iter().map(|(name, tool)| (name.clone(), of_tool(tool)));
    let lists = pinned.lists.iter().map(|(list, one)| (list.key().to_owned(), of_tool(one)));
    let tools: Map<String, Value> = tools.chain(lists).collect();
    json!({ "declared": pinned.declared, "server": pinned.server, "tools": tools })
}

fn of_tool(tool: &PinnedTool) -> Value {
    let tokens = tokens(&canonical(&tool.definition));
    json!({ "sha256": tool.sha256, "tokens": tokens, "definition": tool.definition })
}

/// Escapes invisible characters, so that readers of a diff see them. They occur only inside JSON strings.
fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(members.into_iter().collect())
        }
        other => other,
    }
}
