//! Structured answers: `output_config.format`, with the schema narrowed to what the server compiles.
//!
//! The strict subset has types, `enum`, `const`, `anyOf`, local references, a few string formats and `minItems` of 0
//! or 1; every object is closed. Other keywords (`minimum`, `pattern`, …) are put into the description, for the
//! model to read. The answer is checked against the whole schema afterwards in any case. So a narrowed schema may say
//! less than the original and allow fewer answers, but never only wrong ones. Where it would (free keys,
//! any value, a schema that refers to itself, too many options), the original is described in text instead.
//!
//! Follows the SDK's own `transform_schema` (2.11.0), except for objects with combinators and `allOf`, which it narrows
//! to a schema that nothing matches. <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>
//! (translations checked 2026-11); the limits of 24 optional properties and 16 unions are from recorded refusals.

use serde_json::{Map, Value, json};

use crate::AnswerFormat;

const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;
const MAX_DEPTH: usize = 64;
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// How the form of the answer is sent to the model.
#[derive(Debug, PartialEq)]
pub(super) enum AnswerForm {
    /// The value of `output_config.format`.
    Schema(Value),
    /// A paragraph for the system text.
    Instructions(String),
}

pub(super) fn form(answer: &AnswerFormat) -> AnswerForm {
    match narrow(&answer.schema) {
        Some(schema) => AnswerForm::Schema(json!({ "type": "json_schema", "schema": schema })),
        None => AnswerForm::Instructions(answer.in_words()),
    }
}

/// Returns the schema in the strict subset, if it can be expressed there.
fn narrow(schema: &Value) -> Option<Value> {
    let mut narrowing = Narrowing { root: schema, optional: 0, unions: 0 };
    let narrowed = narrowing.node(schema, 0)?;
    (narrowing.optional <= MAX_OPTIONAL && narrowing.unions <= MAX_UNIONS).then_some(narrowed)
}

struct Narrowing<'a> {
    root: &'a Value,
    optional: usize,
    unions: usize,
}

impl Narrowing<'_> {
    fn node(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut rest = schema.as_object()?.clone();
        let mut strict = Map::new();
        for key in DEFINITIONS {
            let Some(Value::Object(definitions)) = rest.shift_remove(key) else { continue };
            let nodes =
                definitions.iter().map(|(name, node)| Some((name.clone(), self.node(node, depth + 1)?)));
            strict.insert(key.to_owned(), Value::Object(nodes.collect::<Option<_>>()?));
        }
        if let Some(reference) = rest.shift_remove("$ref") {
            self.ends(reference.as_str()?, 0)?;
            strict.insert("$ref".to_owned(), reference);
            return Some(Value::Object(strict));
        }
        rest.shift_remove("$schema");
        rest.shift_remove("$id");
        let annotations: Vec<_> = ["title", "description"]
            .iter()
            .filter_map(|key| Some((*key, rest.shift_remove(*key)?)))
            .collect();
        self.shape(&mut strict, &mut rest, depth)?;
        for (key, words) in annotations {
            strict.insert(key.to_owned(), words);
        }
        describe(&mut strict, &rest);
        Some(Value::Object(strict))
    }

    /// Translates the keywords about the type of a value. Those that are used are removed from `rest`.
    fn shape(
        &mut self,
        strict: &mut Map<String, Value>,
        rest: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        for key in ["const", "enum"] {
            if let Some(literal) = rest.get(key).filter(|literal| is_primitive(literal)) {
                strict.insert(key.to_owned(), literal.clone());
                rest.shift_remove(key);
                rest.shift_remove("type");
                return Some(());
            }
        }
        match rest.get("type").cloned() {
            Some(Value::String(kind)) => self.typed(&kind, strict, rest, depth),
            Some(Value::Array(kinds)) => self.any_type(&kinds, strict, rest, depth),
            Some(_) => None,
            None if rest.contains_key("properties") => self.typed("object", strict, rest, depth),
            None if rest.contains_key("items") => self.typed("array", strict, rest, depth),
            None => {
                let options = rest.shift_remove("anyOf").or_else(|| rest.shift_remove("oneOf"))?;
                self.unions += 1;
                let options = options.as_array()?.iter().map(|option| self.node(option, depth + 1));
                strict.insert("anyOf".to_owned(), Value::Array(options.collect::<Option<_>>()?));
                Some(())
            }
        }
    }

    /// `type: [a, b]`: each with what concerns it.
    fn any_type(
        &mut self,
        kinds: &[Value],
        strict: &mut Map<String, Value>,
        rest: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        self.unions += 1;
        let mut options = Vec::new();
        let whole = rest.clone();
        for kind in kinds {
            let (mut option, mut left) = (Map::new(), whole.clone());
            self.typed(kind.as_str()?, &mut option, &mut left, depth)?;
            rest.retain(|key, _| left.contains_key(key));
            options.push(Value::Object(option));
        }
        strict.insert("anyOf".to_owned(), Value::Array(options));
        Some(())
    }

    fn typed(
        &mut self,
        kind: &str,
        strict: &mut Map<String, Value>,
        rest: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        rest.shift_remove("type");
        strict.insert("type".to_owned(), json!(kind));
        match kind {
            "object" => self.object(strict, rest, depth),
            "array" => {
                let items = self.node(&rest.shift_remove("items")?, depth + 1)?;
                strict.insert("items".to_owned(), items);
                keep(strict, rest, "minItems", |least| matches!(least.as_u64(), Some(0 | 1)));
                Some(())
            }
            "string" => {
                keep(strict, rest, "format", |format| format.as_str().is_some_and(|f| FORMATS.contains(&f)));
                Some(())
            }
            "integer" | "number" | "boolean" | "null" => Some(()),
            _ => None,
        }
    }

    /// A closed object cannot express free keys, nor an object without known properties.
    fn object(
        &mut self,
        strict: &mut Map<String, Value>,
        rest: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        let properties = rest.shift_remove("properties").unwrap_or_else(|| json!({}));
        let properties = properties.as_object()?;
        let closed = rest.shift_remove("additionalProperties");
        let free = closed.as_ref().is_some_and(Value::is_object) || rest.contains_key("patternProperties");
        if free || properties.is_empty() && closed != Some(Value::Bool(false)) {
            return None;
        }
        let nodes = properties.iter().map(|(name, node)| Some((name.clone(), self.node(node, depth + 1)?)));
        let nodes = nodes.collect::<Option<Map<_, _>>>()?;
        let required = rest.shift_remove("required").unwrap_or_else(|| json!([]));
        let required: Vec<&str> = required.as_array()?.iter().filter_map(Value::as_str).collect();
        // A demand for a property that is not described could never be met.
        if required.iter().any(|name| !nodes.contains_key(*name)) {
            return None;
        }
        self.optional += nodes.len().saturating_sub(required.len());
        strict.insert("properties".to_owned(), Value::Object(nodes));
        strict.insert("required".to_owned(), json!(required));
        strict.insert("additionalProperties".to_owned(), json!(false));
        Some(())
    }

    /// Follows a reference to its end; `None` if there is none, as in a schema that refers to itself.
    fn ends(&self, reference: &str, hops: usize) -> Option<()> {
        let (section, name) = reference.strip_prefix("#/")?.split_once('/')?;
        if hops > DEFINITIONS_DEEP || !DEFINITIONS.contains(&section) {
            return None;
        }
        let target = self.root.get(section)?.get(name.replace("~1", "/").replace("~0", "~"))?;
        let mut references = Vec::new();
        collect(target, &mut references, 0);
        references.iter().try_for_each(|reference| self.ends(reference, hops + 1))
    }
}

/// A chain of references that is longer is taken for a circle.
const DEFINITIONS_DEEP: usize = 8;

fn collect<'v>(value: &'v Value, references: &mut Vec<&'v str>, depth: usize) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::Object(object) => {
            references.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|value| collect(value, references, depth + 1));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, references, depth + 1)),
        _ => {}
    }
    references.sort_unstable();
    references.dedup();
}

fn is_primitive(literal: &Value) -> bool {
    match literal {
        Value::Array(list) => !list.is_empty() && list.iter().all(|one| !one.is_array() && !one.is_object()),
        other => !other.is_object(),
    }
}

fn keep(
    strict: &mut Map<String, Value>,
    rest: &mut Map<String, Value>,
    key: &str,
    known: impl Fn(&Value) -> bool,
) {
    if rest.get(key).is_some_and(known)
        && let Some(value) = rest.shift_remove(key)
    {
        strict.insert(key.to_owned(), value);
    }
}

/// Formats the remaining keywords of a schema for the model.
fn describe(strict: &mut Map<String, Value>, rest: &Map<String, Value>) {
    if rest.is_empty() {
        return;
    }
    let rest: Vec<String> = rest.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let rest = format!("{{{}}}", rest.join(", "));
    let description = match strict.get("description").and_then(Value::as_str) {
        Some(words) => format!("{words}\n\n{rest}"),
        None => rest,
    };
    strict.insert("description".to_owned(), json!(description));
}

#[cfg(test)]
mod tests;
