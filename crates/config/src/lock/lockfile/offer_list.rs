//! [`OfferList`]: the lists of a server that are pinned beside its tools.

use serde_json::{Map, Value};

/// A list of what a server offers beside tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferList {
    Prompts,
    Resources,
    Templates,
}

/// The keys of a prompt's argument that are pinned.
const OF_ARGUMENT: [&str; 4] = ["name", "title", "description", "required"];

impl OfferList {
    pub const ALL: [Self; 3] = [Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the key among the tools of a lockfile. No tool can have such a name, so a program that knows only tools
    /// reads the file and ignores the entry.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Prompts => "*prompts",
            Self::Resources => "*resources",
            Self::Templates => "*resource_templates",
        }
    }

    pub(super) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.key() == key)
    }

    /// Returns the name in messages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resource templates",
        }
    }

    /// Returns the identity of an entry and what is pinned of it: what people and models choose by, without data that
    /// change with the content. `None` for an entry without an identity.
    pub fn pinned(self, entry: &Value) -> Option<(String, Value)> {
        let (identity, keys): (&str, &[&str]) = match self {
            Self::Prompts => ("name", &["name", "title", "description", "arguments"]),
            Self::Resources => ("uri", &["uri", "name", "title", "description", "mimeType"]),
            Self::Templates => ("uriTemplate", &["uriTemplate", "name", "title", "description", "mimeType"]),
        };
        let name = entry.get(identity)?.as_str()?.to_owned();
        let mut pinned = only(entry, keys);
        if let Some(Value::Array(arguments)) = entry.get("arguments").filter(|_| self == Self::Prompts) {
            pinned["arguments"] = arguments.iter().map(|argument| only(argument, &OF_ARGUMENT)).collect();
        }
        Some((name, pinned))
    }
}

/// Returns these members of an object. A member that is an object or a list becomes a text, because depth is limited.
fn only(value: &Value, keys: &[&str]) -> Value {
    let plain = |value: &Value| match value {
        Value::Object(_) | Value::Array(_) => Value::from(value.to_string()),
        plain => plain.clone(),
    };
    match value {
        Value::Object(members) => {
            let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), plain(members.get(*key)?))));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        other => plain(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_choose_by_is_pinned() {
        let prompt = json!({ "name": "p", "description": ["odd"], "_meta": 1, "icons": [],
            "arguments": [{ "name": "a", "required": true, "x": 1 }, 7] });
        let pinned = json!({ "name": "p", "description": "[\"odd\"]",
            "arguments": [{ "name": "a", "required": true }, 7] });
        assert_eq!(OfferList::Prompts.pinned(&prompt), Some(("p".to_owned(), pinned)));
        let resource =
            json!({ "uri": "x:1", "name": "n", "mimeType": "text/plain", "size": 7, "arguments": [1] });
        let pinned = json!({ "uri": "x:1", "name": "n", "mimeType": "text/plain" });
        assert_eq!(OfferList::Resources.pinned(&resource), Some(("x:1".to_owned(), pinned)));
        assert_eq!(OfferList::Templates.pinned(&resource), None);
    }
}
