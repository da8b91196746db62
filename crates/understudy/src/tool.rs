//! A declared tool as the router sees it: the words that speak of it, and what each of its parameters wants.
//!
//! Everything comes from the declaration; no tool is known beforehand. A schema that is not understood (`$ref`, nested
//! objects) refuses to be filled: if such a parameter is required, only the explicit form reaches the tool.

use serde_json::{Map, Value};

use crate::lexicon::lexicon;
use crate::words::{identifier_words, words};

#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// As offered: `ensemble__invoker` or a bare name.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Vec<Parameter>,
    /// The properties as declared.
    properties: Map<String, Value>,
}

#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The name taken apart, in lower case.
    pub(crate) words: Vec<String>,
    pub(crate) description: String,
    /// The schema of one value: of the items, if many are taken.
    pub(crate) schema: Map<String, Value>,
    pub(crate) required: bool,
    pub(crate) many: bool,
    pub(crate) wants: Wants,
}

/// What kind of thing fills a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Expression,
    Zone,
    Place,
    Path,
    Directory,
    Url,
    Email,
    Date,
    Clock,
    Language,
    Currency,
    Sql,
    /// What to look for: the text after the verb or after "about".
    Query,
    /// A text to keep or to work on.
    Prose,
    /// A short name: only when it is quoted or said to be one.
    Label,
    Number,
    Whole,
    Truth,
    /// One of the schema's `enum`.
    Choice,
    /// Not understood.
    Nothing,
}

const PROPERTIES: usize = 64;
const TEXT: usize = 2000;

impl Tool {
    /// From an entry of `tools`: `{"type":"function","function":{name,description,parameters}}`. None without a name.
    pub(crate) fn read(entry: &Value) -> Option<Self> {
        let function = entry.get("function")?;
        let name = function.get("name")?.as_str().filter(|name| !name.is_empty())?;
        let schema = function.get("parameters").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .and_then(|schema| schema.get("required")?.as_array())
            .map(|names| names.iter().filter_map(Value::as_str).take(PROPERTIES).collect())
            .unwrap_or_default();
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let parameters = properties.into_iter().flatten().take(PROPERTIES);
        let mut parameters: Vec<Parameter> = parameters
            .map(|(name, schema)| Parameter::read(name, schema, required.contains(&name.as_str())))
            .collect();
        // Required by name and declared nowhere: it cannot be filled, so the tool cannot be called by words.
        let missing = required
            .iter()
            .filter(|name| parameters.iter().all(|one| one.name != **name))
            .copied()
            .collect::<Vec<_>>();
        parameters.extend(missing.into_iter().map(|name| Parameter::read(name, &Value::Null, true)));
        let description = bounded(function.get("description").and_then(Value::as_str).unwrap_or_default());
        let properties = properties.cloned().unwrap_or_default();
        Some(Self { name: name.to_owned(), description, parameters, properties })
    }

    /// The schema of a property as declared.
    pub(crate) fn schema_of(&self, property: &str) -> Option<&Value> {
        self.properties.get(property)
    }

    /// As people write it: `ensemble.invoker`.
    pub(crate) fn spoken(&self) -> String {
        spoken(&self.name)
    }

    /// The name without its ensemble.
    pub(crate) fn own_name(&self) -> &str {
        self.name.split_once("__").map_or(self.name.as_str(), |(_, own)| own)
    }

    pub(crate) fn first_sentence(&self) -> &str {
        let line = self.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let end = line.match_indices(". ").next().map_or(line.len(), |(at, _)| at + 1);
        line.get(..end).unwrap_or(line).trim_end_matches('.')
    }

    /// Whether its texts speak of units of measurement.
    pub(crate) fn knows_units(&self) -> bool {
        let of_parameters = self.parameters.iter().map(|parameter| parameter.description.as_str());
        let mut texts = of_parameters.chain([self.description.as_str()]);
        texts.any(|text| words(text).iter().any(|word| lexicon().means(&word.text, "unit")))
    }
}

/// `ensemble__invoker` as people write it.
pub(crate) fn spoken(name: &str) -> String {
    name.replacen("__", ".", 1)
}

fn bounded(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

impl Parameter {
    fn read(name: &str, schema: &Value, required: bool) -> Self {
        let (schema, many) = single(schema);
        let description = bounded(schema.get("description").and_then(Value::as_str).unwrap_or_default());
        let words = identifier_words(name);
        let mut parameter =
            Self { name: name.to_owned(), words, description, schema, required, many, wants: Wants::Nothing };
        parameter.wants = parameter.classify();
        parameter
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        kind(&self.schema)
    }

    pub(crate) fn choices(&self) -> impl Iterator<Item = &Value> {
        self.schema.get("enum").and_then(Value::as_array).into_iter().flatten().take(200)
    }

    fn classify(&self) -> Wants {
        if self.choices().next().is_some() {
            return Wants::Choice;
        }
        match self.kind() {
            Some("number") => Wants::Number,
            Some("integer") => Wants::Whole,
            Some("boolean") => Wants::Truth,
            Some("string") => self.classify_string(),
            _ => Wants::Nothing,
        }
    }

    fn classify_string(&self) -> Wants {
        match self.schema.get("format").and_then(Value::as_str) {
            Some("uri" | "url" | "iri" | "uri-reference") => return Wants::Url,
            Some("email" | "idn-email") => return Wants::Email,
            Some("date" | "date-time") => return Wants::Date,
            Some("time") => return Wants::Clock,
            _ => {}
        }
        let described: Vec<String> = words(&self.description).into_iter().map(|word| word.text).collect();
        let has = |list: &[String], any: &[&str]| list.iter().any(|word| any.contains(&word.as_str()));
        let says = |any: &[&str]| has(&described, any);
        let named = |any: &[&str]| has(&self.words, any);
        if named(&["expression", "expr", "formula", "equation", "calculation", "math"]) {
            let other = says(&["regular", "regex", "cron", "glob", "filter", "jq", "xpath", "jsonpath"])
                || named(&["regex", "cron"]);
            return if other { Wants::Label } else { Wants::Expression };
        }
        if let Some((_, wants)) = BY_NAME.iter().find(|(names, _)| named(names)) {
            return self.narrowed(*wants, &described);
        }
        BY_DESCRIPTION
            .iter()
            .find(|(words, _)| says(words))
            .map_or(Wants::Label, |(_, wants)| self.narrowed(*wants, &described))
    }

    /// A path may be a directory's only; a query may be SQL; "zone" may be written as a place.
    fn narrowed(&self, wants: Wants, described: &[String]) -> Wants {
        let says = |any: &[&str]| described.iter().any(|word| any.contains(&word.as_str()));
        match wants {
            Wants::Path
                if says(&["directory", "folder", "directories", "folders"]) && !says(&["file", "files"]) =>
            {
                Wants::Directory
            }
            Wants::Query if says(&["sql", "select"]) => Wants::Sql,
            Wants::Place if says(&["iana", "timezone"]) => Wants::Zone,
            Wants::Clock if says(&["iana", "timezone"]) && !says(&["hh", "24"]) => Wants::Zone,
            other => other,
        }
    }
}

const BY_NAME: &[(&[&str], Wants)] = &[
    (&["timezone", "tz", "zone"], Wants::Zone),
    (&["url", "uri", "link", "href", "website"], Wants::Url),
    (&["email", "recipient", "mail"], Wants::Email),
    (&["sql"], Wants::Sql),
    (&["directory", "folder", "dir"], Wants::Directory),
    (&["path", "file", "filename", "filepath"], Wants::Path),
    (&["language", "lang", "locale"], Wants::Language),
    (&["currency"], Wants::Currency),
    (&["city", "location", "place", "country", "town", "region", "address"], Wants::Place),
    (&["time"], Wants::Clock),
    (&["date", "day"], Wants::Date),
    (
        &["query", "q", "search", "keyword", "keywords", "term", "terms", "question", "topic", "prompt"],
        Wants::Query,
    ),
    (&["content", "contents", "text", "body", "message", "note", "input", "sentence", "data"], Wants::Prose),
    (&["title", "name", "subject", "label"], Wants::Label),
];

const BY_DESCRIPTION: &[(&[&str], Wants)] = &[
    (&["iana", "timezone"], Wants::Zone),
    (&["math", "mathematical", "arithmetic"], Wants::Expression),
    (&["url", "uri"], Wants::Url),
    (&["currency"], Wants::Currency),
    (&["language"], Wants::Language),
    (&["city", "location"], Wants::Place),
    (&["path"], Wants::Path),
    (&["search"], Wants::Query),
    (&["text"], Wants::Prose),
];

/// The schema of one value, and whether several are taken. Looks through one level of `anyOf`, and into arrays.
fn single(schema: &Value) -> (Map<String, Value>, bool) {
    let Some(outer) = schema.as_object() else { return (Map::new(), false) };
    let mut schema = outer.clone();
    for key in ["anyOf", "oneOf"] {
        let first = schema.get(key).and_then(Value::as_array).into_iter().flatten();
        let useful = first.filter_map(Value::as_object).find(|one| kind(one).is_some()).cloned();
        schema.extend(useful.into_iter().flatten().filter(|(key, _)| key != "description"));
    }
    if kind(&schema) == Some("array") {
        let mut items = schema.get("items").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(description) = schema.get("description") {
            items.insert("description".to_owned(), description.clone());
        }
        return (items, true);
    }
    (schema, false)
}

/// The first type that is not null; a choice without a type is one of strings.
fn kind(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind.as_str()).filter(|kind| *kind != "null"),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wants(name: &str, schema: Value) -> Wants {
        Parameter::read(name, &schema, true).wants
    }

    #[test]
    fn a_parameter_is_understood_from_its_declaration() {
        for (name, schema, expected) in [
            ("expression", json!({"type": "string"}), Wants::Expression),
            ("expression", json!({"type": "string", "description": "A cron expression"}), Wants::Label),
            ("e", json!({"type": "string", "description": "Mathematical formula"}), Wants::Expression),
            ("source_timezone", json!({"type": "string"}), Wants::Zone),
            ("place", json!({"type": "string", "description": "IANA zone"}), Wants::Zone),
            ("city", json!({"type": "string"}), Wants::Place),
            ("path", json!({"type": "string", "description": "The file to open"}), Wants::Path),
            ("path", json!({"type": "string", "description": "Directory to show"}), Wants::Directory),
            ("filePath", json!({"type": "string"}), Wants::Path),
            ("target", json!({"type": "string", "format": "uri"}), Wants::Url),
            ("query", json!({"type": "string"}), Wants::Query),
            ("query", json!({"type": "string", "description": "SELECT statement"}), Wants::Sql),
            ("count", json!({"type": ["integer", "null"]}), Wants::Whole),
            ("count", json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), Wants::Whole),
            ("unit", json!({"enum": ["c", "f"]}), Wants::Choice),
            ("options", json!({"type": "object"}), Wants::Nothing),
            ("x", json!({"$ref": "#/$defs/x"}), Wants::Nothing),
            ("x", json!(true), Wants::Nothing),
        ] {
            assert_eq!(wants(name, schema.clone()), expected, "{name} {schema}");
        }
        let many = Parameter::read(
            "paths",
            &json!({"type": "array", "items": {"type": "string"}, "description": "file path"}),
            true,
        );
        assert!(many.many && many.wants == Wants::Path);
    }

    #[test]
    fn a_tool_is_read_leniently() {
        let entry = json!({"type": "function", "function": {"name": "a__b", "description": "Does it. And more.", "parameters": {"required": ["x", "y"], "properties": {"x": {"type": "string"}}}}});
        let tool = Tool::read(&entry).unwrap();
        assert_eq!((tool.spoken().as_str(), tool.own_name(), tool.first_sentence()), ("a.b", "b", "Does it"));
        assert_eq!(
            tool.parameters.iter().map(|p| (p.name.as_str(), p.required)).collect::<Vec<_>>(),
            [("x", true), ("y", true)]
        );
        assert_eq!(tool.parameters[1].wants, Wants::Nothing);
        for bad in [json!({}), json!({"function": {}}), json!({"function": {"name": ""}}), json!(3)] {
            assert!(Tool::read(&bad).is_none(), "{bad}");
        }
    }
}
