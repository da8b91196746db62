//! What a tool asks for, and which part of the response it passes on.

use super::body::{essence, is_json};
use super::document::{Node, parts, resolved};
use super::operation::Operation;
use super::tool::Tool;

/// The media type of a response that may be anything, which is JSON in practice.
const ANY: &str = "*/*";

impl Operation<'_> {
    pub(super) fn response(self, result: Option<&str>, tool: &mut Tool) {
        let Some((kind, media, is_only)) = self.json_response() else { return };
        if kind != ANY && (!is_only || essence(kind) != "application/json") {
            tool.headers.push(("Accept".to_owned(), essence(kind)));
        }
        let Some(pointer) = result else { return };
        let mut at = media.get("schema").and_then(|schema| resolved(self.root, schema).ok());
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            at = at.and_then(|schema| inner(self.root, schema, &part));
        }
        if at.is_some() {
            tool.result = Some(pointer.to_owned());
        }
    }

    /// The JSON of the first successful response that has it, and whether the response has no other content.
    fn json_response(&self) -> Option<(&str, &Node, bool)> {
        let responses = self.node.get("responses").map_or(&[][..], Node::entries);
        let is_success = |code: &str| code.starts_with('2');
        let has_success = responses.iter().any(|(code, _)| is_success(code));
        let meant =
            responses.iter().filter(|(code, _)| is_success(code) || !has_success && code == "default");
        meant.map(|(_, response)| resolved(self.root, response).unwrap_or(response)).find_map(|response| {
            let content = response.get("content").map_or(&[][..], Node::entries);
            let json = content.iter().find(|(kind, _)| is_json(kind));
            let (kind, media) = json.or_else(|| content.iter().find(|(kind, _)| kind == ANY))?;
            Some((kind.as_str(), media, content.len() == 1))
        })
    }
}

/// The schema of a property or an element, also in the parts and choices of a schema.
pub(super) fn inner<'d>(root: &'d Node, schema: &'d Node, name: &str) -> Option<&'d Node> {
    let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let found = parts(root, schema, &["allOf", "anyOf", "oneOf"]).into_iter().find_map(|part| {
        let own = part.get("properties").and_then(|properties| properties.get(name));
        own.or_else(|| part.get("items").filter(|_| is_index))
    });
    found.and_then(|schema| resolved(root, schema).ok())
}
