//! A path in a definition, and its name for people.

use converse_text::escape::exact;
use serde_json::Value;

/// Keys from the root; entries of arrays by their index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path(Vec<String>);

/// A path as people name it: the parameter that contains it, if any, and the rest.
struct Named {
    parameter: Option<String>,
    rest: Vec<String>,
}

impl Path {
    pub(crate) fn join(&self, key: impl ToString) -> Self {
        Self([self.0.as_slice(), &[key.to_string()]].concat())
    }

    /// Returns the RFC 6901 pointer.
    pub(crate) fn pointer(&self) -> String {
        self.0.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn ends_with(&self, key: &str) -> bool {
        self.0.last().is_some_and(|last| last == key)
    }

    /// Returns the parameter's name if the path is a whole parameter.
    pub(crate) fn parameter(&self) -> Option<String> {
        let Named { parameter, rest } = self.named();
        parameter.filter(|_| rest.is_empty())
    }

    /// Returns whether the parameter at this path is required.
    pub(crate) fn is_required(&self, root: &Value) -> bool {
        let [schema @ .., _, name] = self.0.as_slice() else { return false };
        let required = root.pointer(&Self(schema.to_vec()).join("required").pointer());
        required.and_then(Value::as_array).is_some_and(|names| names.iter().any(|one| one == name))
    }

    /// Returns the name: `description`, `annotations.readOnlyHint`, ``parameter `path` ``, ``default of `limit` ``.
    pub(crate) fn name(&self) -> String {
        let Named { parameter, rest } = self.named();
        let rest = exact(&rest.join("."));
        match parameter {
            None => rest,
            Some(parameter) if rest.is_empty() => format!("parameter `{parameter}`"),
            Some(parameter) if rest == "description" => format!("parameter `{parameter}`: description"),
            Some(parameter) => format!("{rest} of `{parameter}`"),
        }
    }

    fn named(&self) -> Named {
        let Some((first, below)) = self.0.split_first().filter(|(first, _)| *first == "inputSchema") else {
            return Named { parameter: None, rest: self.0.clone() };
        };
        let mut parameter: Option<String> = None;
        let mut below = below;
        loop {
            match (below, &mut parameter) {
                ([properties, name, rest @ ..], parameter) if properties == "properties" => {
                    let name = exact(name);
                    *parameter = Some(match parameter.take() {
                        Some(outer) => format!("{outer}.{name}"),
                        None => name,
                    });
                    below = rest;
                }
                ([items, rest @ ..], Some(parameter)) if items == "items" && !rest.is_empty() => {
                    parameter.push_str("[]");
                    below = rest;
                }
                _ => break,
            }
        }
        // `required` of all arguments needs no prefix.
        let bare = parameter.is_some() || matches!(below, [required] if required == "required");
        let rest = if bare { below.to_vec() } else { [std::slice::from_ref(first), below].concat() };
        Named { parameter, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_people_do() {
        for (keys, name, pointer) in [
            (&["description"][..], "description", "/description"),
            (&["annotations", "readOnlyHint"], "annotations.readOnlyHint", "/annotations/readOnlyHint"),
            (&["inputSchema", "properties", "path"], "parameter `path`", "/inputSchema/properties/path"),
            (
                &["inputSchema", "properties", "a/b~", "description"],
                "parameter `a/b~`: description",
                "/inputSchema/properties/a~1b~0/description",
            ),
            (
                &["inputSchema", "properties", "n", "default"],
                "default of `n`",
                "/inputSchema/properties/n/default",
            ),
            (
                &["inputSchema", "properties", "list", "items", "properties", "x", "type"],
                "type of `list[].x`",
                "/inputSchema/properties/list/items/properties/x/type",
            ),
            (&["inputSchema", "properties", "l", "items"], "items of `l`", "/inputSchema/properties/l/items"),
            (&["inputSchema", "required"], "required", "/inputSchema/required"),
            (&["inputSchema", "properties"], "inputSchema.properties", "/inputSchema/properties"),
            (
                &["inputSchema", "properties", "o", "required"],
                "required of `o`",
                "/inputSchema/properties/o/required",
            ),
            (
                &["inputSchema", "additionalProperties"],
                "inputSchema.additionalProperties",
                "/inputSchema/additionalProperties",
            ),
            (&["x\u{200b}"], "x\\u{200b}", "/x\u{200b}"),
        ] {
            let path = keys.iter().fold(Path::default(), |path, key| path.join(key));
            assert_eq!((path.name(), path.pointer()), (name.to_owned(), pointer.to_owned()));
        }
    }
}
