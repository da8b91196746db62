//! Finds what a validator accepts and nobody means: misspelt keywords, which have no effect, and limits that no value
//! fits.

use converse_text::suggest::nearest;
use serde_json::{Map, Value};

use super::escaped;
use super::graph::{HOLDERS, SAME_VALUE, SAME_VALUE_LISTS, SAME_VALUE_MAPS, SHARED_PARTS};

/// Limit on the findings of one schema.
const MAX_FINDINGS: usize = 20;
/// Limit on the subschemas that are read.
const MAX_NODES: usize = 5_000;

/// The keywords of all drafts, and those of OpenAPI and of providers.
/// <https://json-schema.org/draft/2020-12/schema>, <https://spec.openapis.org/oas/v3.0.3#schema-object> (checked 2026-11)
const KEYWORDS: &str = "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref $schema \
    $vocabulary additionalItems additionalProperties allOf anyOf const contains contentEncoding contentMediaType \
    contentSchema default definitions dependencies dependentRequired dependentSchemas deprecated description \
    discriminator else enum example examples exclusiveMaximum exclusiveMinimum externalDocs format id if items maxContains \
    maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not nullable \
    oneOf pattern patternProperties prefixItems properties propertyNames propertyOrdering readOnly required strict then \
    title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly xml";
/// Annotations of other tools that resemble a keyword.
const ANNOTATIONS: &str = "comment comments cost defaults formats names note notes tile tips types";
/// Letters of the shortest misspelt keyword, and of the shortest keyword that is meant.
const MIN_MISSPELT: usize = 4;

/// One finding in a schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SchemaFinding {
    /// JSON pointer into the schema.
    pub(crate) pointer: String,
    pub(crate) kind: FindingKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FindingKind {
    /// A keyword that is nearly the name of another.
    Misspelt { keyword: String, meant: &'static str },
    /// No value, or no value of the type, fits this part. `certain`: the part applies to each value of the argument.
    FitsNothing { message: String, hint: String, certain: bool },
}

/// Returns the findings in a schema, in the order of the schema and at most 20.
pub(crate) fn lint(schema: &Value) -> Vec<SchemaFinding> {
    let mut lint = Lint { findings: Vec::new(), waiting: vec![(schema, String::new(), true)] };
    let mut nodes = 0;
    while let Some((schema, pointer, certain)) = lint.waiting.pop() {
        nodes += 1;
        if nodes > MAX_NODES || lint.findings.len() >= MAX_FINDINGS {
            break;
        }
        if let Some(schema) = schema.as_object() {
            lint.object(schema, &pointer, certain);
        }
    }
    lint.findings
}

struct Lint<'s> {
    findings: Vec<SchemaFinding>,
    /// A subschema, its pointer, and whether it always applies.
    waiting: Vec<(&'s Value, String, bool)>,
}

impl<'s> Lint<'s> {
    fn object(&mut self, schema: &'s Map<String, Value>, pointer: &str, certain: bool) {
        for (key, value) in schema.iter().rev() {
            let at = format!("{pointer}/{}", escaped(key));
            match key.as_str() {
                // Within `not` and `if`, a part that fits nothing may be meant.
                "not" | "if" => {}
                "properties" | "patternProperties" | "prefixItems" | "allOf" => {
                    self.children(value, &at, certain)
                }
                "items" if value.is_array() => self.children(value, &at, certain),
                "items" => self.waiting.push((value, at, certain)),
                key if SHARED_PARTS.contains(&key) => self.waiting.push((value, at, certain)),
                key if SAME_VALUE.contains(&key) => self.waiting.push((value, at, false)),
                key if [&SAME_VALUE_LISTS[..], &SAME_VALUE_MAPS, &HOLDERS].concat().contains(&key) => {
                    self.children(value, &at, false);
                }
                key => self.keyword(key, at),
            }
        }
        self.limits(schema, pointer, certain);
    }

    fn children(&mut self, value: &'s Value, pointer: &str, certain: bool) {
        match value {
            Value::Object(map) => self.waiting.extend(
                map.iter().rev().map(|(key, value)| (value, format!("{pointer}/{}", escaped(key)), certain)),
            ),
            Value::Array(list) => self.waiting.extend(
                list.iter().enumerate().rev().map(|(at, value)| (value, format!("{pointer}/{at}"), certain)),
            ),
            _ => {}
        }
    }

    fn keyword(&mut self, keyword: &str, pointer: String) {
        if let Some(meant) = misspelt(keyword) {
            let kind = FindingKind::Misspelt { keyword: keyword.to_owned(), meant };
            self.findings.push(SchemaFinding { pointer, kind });
        }
    }

    fn limits(&mut self, schema: &Map<String, Value>, pointer: &str, certain: bool) {
        let types = types(schema);
        let mut fits_nothing = |key: &str, message: String, hint: String, certain: bool| {
            let kind = FindingKind::FitsNothing { message, hint, certain };
            self.findings.push(SchemaFinding { pointer: format!("{pointer}/{key}"), kind });
        };
        if schema.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            let hint =
                "list the allowed values, such as `enum = [\"a\", \"b\"]`, or remove `enum`".to_owned();
            fits_nothing("enum", "`enum` is empty, so no value fits".to_owned(), hint, certain);
        }
        for key in ["enum", "const"] {
            let Some(value) = schema.get(key) else { continue };
            let values = if key == "enum" {
                value.as_array().map_or(&[][..], Vec::as_slice)
            } else {
                std::slice::from_ref(value)
            };
            if let Some(types) = &types
                && !values.is_empty()
                && !values.iter().any(|value| types.iter().any(|name| is_of(value, name)))
            {
                let types = types.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
                let message = format!("no value of `{key}` has the type {types}, so no value fits");
                fits_nothing(key, message, "make `type` the type of the values".to_owned(), certain);
            }
        }
        for limits in LIMITS {
            let Some((least, most, strict)) = limits.of(schema) else { continue };
            let fits = least.1 < most.1 || (least.1 == most.1 && !strict);
            let only =
                types.as_ref().is_some_and(|types| types.iter().all(|name| limits.types.contains(name)));
            // Limits of another type have no effect.
            let concerned =
                types.as_ref().is_none_or(|types| types.iter().any(|name| limits.types.contains(name)));
            if fits || !concerned {
                continue;
            }
            let (low, high) = (number(least.1), number(most.1));
            let above = if least.1 > most.1 { "is above" } else { "and" };
            let message =
                format!("`{}` {low} {above} `{}` {high}, so no {} fits", least.0, most.0, limits.what);
            let hint = match least.1 > most.1 {
                true => format!("write `{} = {high}` and `{} = {low}`", least.0, most.0),
                false => format!("write `minimum = {low}` and `maximum = {high}`"),
            };
            fits_nothing(least.0, message, hint, certain && only);
        }
    }
}

struct Limits {
    types: &'static [&'static str],
    what: &'static str,
    least: &'static [&'static str],
    most: &'static [&'static str],
}

const LIMITS: [Limits; 5] = [
    Limits {
        types: &["integer", "number"],
        what: "number",
        least: &["minimum", "exclusiveMinimum"],
        most: &["maximum", "exclusiveMaximum"],
    },
    Limits { types: &["string"], what: "string", least: &["minLength"], most: &["maxLength"] },
    Limits { types: &["array"], what: "list", least: &["minItems"], most: &["maxItems"] },
    Limits { types: &["array"], what: "list", least: &["minContains"], most: &["maxContains"] },
    Limits { types: &["object"], what: "object", least: &["minProperties"], most: &["maxProperties"] },
];

type Limit = (&'static str, f64);

impl Limits {
    /// Returns the strictest limits, and whether a value must differ from one of them.
    fn of(&self, schema: &Map<String, Value>) -> Option<(Limit, Limit, bool)> {
        let given = |keys: &'static [&'static str]| {
            keys.iter().filter_map(|key| Some((*key, schema.get(*key)?.as_f64()?)))
        };
        let least = given(self.least).max_by(|one, other| one.1.total_cmp(&other.1))?;
        let most = given(self.most).min_by(|one, other| one.1.total_cmp(&other.1))?;
        // Draft 4 has `exclusiveMinimum = true`.
        let draft4 = ["exclusiveMinimum", "exclusiveMaximum"]
            .iter()
            .any(|key| schema.get(*key).and_then(Value::as_bool) == Some(true));
        let strict = least.0.starts_with("exclusive") || most.0.starts_with("exclusive");
        Some((least, most, strict || (draft4 && self.what == "number")))
    }
}

/// Returns the names in `type`; `None` if all types are allowed.
fn types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Returns whether a value has a type; an unknown type, which is reported elsewhere, counts as any.
fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    }
}

fn number(value: f64) -> String {
    serde_json::Number::from_f64(value)
        .map(|number| number.to_string())
        .map_or_else(String::new, |text| text.strip_suffix(".0").map(str::to_owned).unwrap_or(text))
}

/// Returns the keyword that an unknown one is nearly. Extensions and other annotations are not.
fn misspelt(keyword: &str) -> Option<&'static str> {
    let known = || KEYWORDS.split_ascii_whitespace();
    let is_extension = keyword.starts_with("x-") || keyword.starts_with("x_");
    if is_extension || known().any(|one| one == keyword) || ANNOTATIONS.split(' ').any(|one| one == keyword) {
        return None;
    }
    let letters = |word: &str| {
        word.chars()
            .filter(|c| !matches!(c, '_' | '-' | '$'))
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let written = letters(keyword);
    let same = known().find(|one| letters(one) == written);
    let near = || {
        // `enumDescriptions` is not a misspelt `description`.
        let is_like = |one: &&str| one.len() >= MIN_MISSPELT && one.len().abs_diff(keyword.len()) <= 2;
        let candidates = known().filter(is_like);
        nearest(keyword, candidates).filter(|_| keyword.len() >= MIN_MISSPELT)
    };
    same.or_else(near)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: &Value) -> Vec<String> {
        let shown = |finding: SchemaFinding| match finding.kind {
            FindingKind::Misspelt { meant, .. } => format!("{} → {meant}", finding.pointer),
            FindingKind::FitsNothing { certain, .. } => {
                format!("{}{}", finding.pointer, if certain { "" } else { "?" })
            }
        };
        lint(schema).into_iter().map(shown).collect()
    }

    #[test]
    fn misspelt_keywords_are_found_at_any_depth() {
        for (word, meant) in [
            ("requird", Some("required")),
            ("additionalproperties", Some("additionalProperties")),
            ("maxlength", Some("maxLength")),
            ("max_length", Some("maxLength")),
            ("propertes", Some("properties")),
            ("descripton", Some("description")),
            ("enun", Some("enum")),
            ("ref", Some("$ref")),
            ("item", Some("items")),
            ("x-requird", None),
            ("x-order", None),
            ("order", None),
            ("note", None),
            ("unit", None),
            ("in", None),
            ("min", None),
            ("secret", None),
            ("placeholder", None),
            ("enumDescriptions", None),
            ("markdownDescription", None),
        ] {
            let expected: Vec<_> =
                meant.map(|meant| format!("/properties/a/{word} → {meant}")).into_iter().collect();
            assert_eq!(found(&json!({ "properties": { "a": { word: 1 } } })), expected, "{word}");
            // The names of properties are free.
            assert_eq!(
                found(&json!({ "properties": { word: { "default": { word: 1 } } } })),
                [""; 0],
                "{word}"
            );
        }
        let deep = json!({ "anyOf": [{ "items": { "additionalProperties": { "titel": "x" } } }] });
        assert_eq!(found(&deep), ["/anyOf/0/items/additionalProperties/titel → title"]);
    }

    #[test]
    fn limits_that_no_value_fits_are_found() {
        for (schema, expected) in [
            (json!({ "type": "integer", "minimum": 5, "maximum": 1 }), "/minimum"),
            (
                json!({ "type": ["integer", "number"], "exclusiveMinimum": 1, "maximum": 1 }),
                "/exclusiveMinimum",
            ),
            (json!({ "type": "number", "minimum": 1, "maximum": 1, "exclusiveMaximum": true }), "/minimum"),
            (json!({ "type": "string", "minLength": 5, "maxLength": 1 }), "/minLength"),
            (json!({ "type": "array", "minItems": 5, "maxItems": 1 }), "/minItems"),
            (json!({ "type": "object", "minProperties": 5, "maxProperties": 1 }), "/minProperties"),
            (json!({ "enum": [] }), "/enum"),
            (json!({ "type": "string", "enum": [1, 2] }), "/enum"),
            (json!({ "type": "integer", "const": "a" }), "/const"),
            (json!({ "allOf": [{ "enum": [] }] }), "/allOf/0/enum"),
            (json!({ "minimum": 5, "maximum": 1 }), "/minimum?"),
            (json!({ "type": ["integer", "null"], "minimum": 5, "maximum": 1 }), "/minimum?"),
            (json!({ "anyOf": [{ "enum": [] }, {}] }), "/anyOf/0/enum?"),
            (json!({ "not": { "enum": [] } }), ""),
            (json!({ "type": "string", "minimum": 5, "maximum": 1 }), ""),
            (json!({ "type": "integer", "minimum": 1, "maximum": 1 }), ""),
            (json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": 0, "maximum": 1 }), ""),
            (json!({ "type": ["string", "null"], "enum": ["a", null] }), ""),
            (json!({ "type": "integer", "enum": [1.0] }), ""),
        ] {
            assert_eq!(found(&schema).join(" "), expected, "{schema}");
        }
    }
}
