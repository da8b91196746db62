//! A declared tool as the router sees it: its words, and what each of its parameters takes.
//!
//! Everything comes from the declaration. A parameter that is not understood (`$ref`, objects, arrays, dates, languages)
//! is never filled: if it is required, only the explicit form reaches the tool.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::numbers::Traits;
use crate::words::{among, identifier_words, means, words};

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
    /// The words of the name in lower case.
    pub(crate) words: Vec<String>,
    pub(crate) description: String,
    pub(crate) schema: Map<String, Value>,
    pub(crate) required: bool,
    pub(crate) takes: Takes,
    traits: OnceLock<Traits>,
}

/// The kind of evidence that fills a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Expression,
    Zone,
    Place,
    Path,
    Directory,
    Url,
    /// Search words: the words after the verb.
    Query,
    /// Search words for files: at most two words, or a quoted text.
    Pattern,
    /// A text to keep.
    Text,
    /// A passage to be replaced.
    Old,
    /// The replacement.
    New,
    /// A revision, a key, a repository: quoted, or one word that is not a plain one.
    Identifier,
    /// A text that only counts when it is quoted.
    Quoted,
    Number,
    Whole,
    Switch,
    /// One of the schema's `enum`.
    Choice,
    Nothing,
}

const PROPERTIES: usize = 64;
const DESCRIPTION: usize = 2000;

impl Tool {
    /// Reads an entry of `tools`: `{"type":"function","function":{name,description,parameters}}`. None without a name.
    pub(crate) fn read(entry: &Value) -> Option<Self> {
        let function = entry.get("function")?;
        let name = function.get("name")?.as_str().filter(|name| !name.is_empty())?;
        let names = function.pointer("/parameters/required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = names.filter_map(Value::as_str).take(PROPERTIES).collect();
        let properties = function.pointer("/parameters/properties").and_then(Value::as_object).cloned();
        let properties = properties.unwrap_or_default();
        // Required and not declared: it cannot be filled.
        let missing = required.iter().filter(|name| !properties.contains_key(**name));
        let missing = missing.map(|name| Parameter::read(name, &Value::Null, true));
        let declared = properties.iter().take(PROPERTIES);
        let declared =
            declared.map(|(name, schema)| Parameter::read(name, schema, required.contains(&name.as_str())));
        let mut parameters: Vec<Parameter> = declared.chain(missing).collect();
        Parameter::pair_up(&mut parameters);
        let description = description(function);
        Some(Self { name: name.to_owned(), description, parameters, properties })
    }

    /// Returns the schema of a property as declared.
    pub(crate) fn schema_of(&self, property: &str) -> Option<&Value> {
        self.properties.get(property)
    }

    /// Returns the name as people write it: `ensemble.invoker`.
    pub(crate) fn spoken(&self) -> String {
        spoken(&self.name)
    }

    /// Returns the name without its ensemble.
    pub(crate) fn own_name(&self) -> &str {
        self.name.split_once("__").map_or(self.name.as_str(), |(_, own)| own)
    }

    pub(crate) fn first_sentence(&self) -> &str {
        let line = self.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        line.split(". ").next().unwrap_or(line).trim_end_matches('.')
    }

    /// Whether its texts mention units of measurement.
    pub(crate) fn knows_units(&self) -> bool {
        let mut texts = self.parameters.iter().map(|one| &one.description).chain([&self.description]);
        texts.any(|text| words(text).iter().any(|word| means(&word.text, "unit")))
    }
}

/// Returns `ensemble__invoker` as people write it.
pub(crate) fn spoken(name: &str) -> String {
    name.replacen("__", ".", 1)
}

fn description(of: &Value) -> String {
    of.get("description").and_then(Value::as_str).unwrap_or_default().chars().take(DESCRIPTION).collect()
}

impl Parameter {
    fn read(name: &str, schema: &Value, required: bool) -> Self {
        let mut own = schema.as_object().cloned().unwrap_or_default();
        // The first useful alternative of an optional value.
        for key in ["anyOf", "oneOf"] {
            let alternatives = schema.get(key).and_then(Value::as_array).into_iter().flatten();
            let useful = alternatives.filter_map(Value::as_object).find(|one| kind(one).is_some());
            own.extend(useful.cloned().into_iter().flatten().filter(|(key, _)| key != "description"));
        }
        let words = identifier_words(name);
        let mut parameter = Self {
            name: name.to_owned(),
            words,
            description: description(schema),
            schema: own,
            required,
            takes: Takes::Nothing,
            traits: OnceLock::new(),
        };
        parameter.takes = parameter.classify();
        parameter
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        kind(&self.schema)
    }

    pub(crate) fn choices(&self) -> impl Iterator<Item = &Value> {
        self.schema.get("enum").and_then(Value::as_array).into_iter().flatten().take(200)
    }

    pub(crate) fn is_named(&self, any: &[&str]) -> bool {
        self.words.iter().any(|word| any.contains(&word.as_str()))
    }

    /// Whether the description prescribes a format with the state or country of a city.
    pub(crate) fn wants_region(&self) -> bool {
        let described = words(&self.description);
        let says = |list: &str| described.iter().any(|word| among(&word.text, list));
        says("format formatted") && says("state country region")
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.takes, Takes::Number | Takes::Whole)
    }

    /// Made when a number is looked at first.
    pub(crate) fn traits(&self) -> &Traits {
        self.traits.get_or_init(|| Traits::new(&self.words, &self.description))
    }

    /// Returns the name without a digit or a single letter at its end: `side1` and `side2` are one row, `a` and `b` too.
    pub(crate) fn row(&self) -> String {
        let mut words = self.words.clone();
        let last = words.pop().unwrap_or_default();
        let bare = last.trim_end_matches(|c: char| c.is_ascii_digit());
        let member = bare.len() < last.len() || last.chars().count() == 1;
        if member && bare.chars().count() > 1 {
            words.push(bare.to_owned());
        } else if !member {
            words.push(last);
        }
        words.join(" ")
    }

    /// Returns a percent as this parameter takes it: unchanged if its texts speak of percents, a hundredth if they ask for
    /// a decimal or a fraction. Which of both an undescribed rate takes would be a guess.
    pub(crate) fn percent(&self, number: &str) -> Option<String> {
        let described = words(&self.description);
        let mut all =
            self.words.iter().map(String::as_str).chain(described.iter().map(|one| one.text.as_str()));
        let fraction = self.schema.get("maximum").and_then(Value::as_f64).is_some_and(|most| most <= 1.0);
        if fraction || all.clone().any(|word| among(word, "decimal fraction ratio")) {
            return Some(format!("{number}e-2"));
        }
        let percent = all.any(|word| word.starts_with("percent")) || self.description.contains('%');
        percent.then(|| number.to_owned())
    }

    fn classify(&self) -> Takes {
        if self.choices().next().is_some() {
            return Takes::Choice;
        }
        match self.kind() {
            Some("number") => Takes::Number,
            Some("integer") => Takes::Whole,
            Some("boolean") => Takes::Switch,
            Some("string") => self.classify_string(),
            _ => Takes::Nothing,
        }
    }

    fn classify_string(&self) -> Takes {
        match self.schema.get("format").and_then(Value::as_str) {
            Some("uri" | "url") => return Takes::Url,
            Some("email" | "date" | "date-time" | "time") => return Takes::Nothing,
            _ => {}
        }
        let described: Vec<String> = words(&self.description).into_iter().map(|word| word.text).collect();
        let says = |any: &[&str]| described.iter().any(|word| any.contains(&word.as_str()));
        let takes = BY_NAME.iter().find(|(names, _)| self.is_named(names)).map(|(_, takes)| *takes);
        let takes =
            takes.or_else(|| BY_DESCRIPTION.iter().find(|(words, _)| says(words)).map(|(_, takes)| *takes));
        match takes.unwrap_or(Takes::Quoted) {
            Takes::Expression if says(&["regular", "cron", "glob", "filter", "jq", "xpath"]) => Takes::Quoted,
            Takes::Path if says(&["directory", "folder"]) && !says(&["file", "files"]) => Takes::Directory,
            Takes::Query if says(&["sql", "select"]) => Takes::Quoted,
            Takes::Place if says(&["iana", "timezone"]) => Takes::Zone,
            other => other,
        }
    }

    /// Marks the two texts of a tool that replaces one by the other: `old_text` and `new_text`.
    fn pair_up(parameters: &mut [Self]) {
        let side = |one: &Self| match one {
            one if !one.required || !matches!(one.takes, Takes::Text | Takes::Query | Takes::Quoted) => None,
            one if one.is_named(&["old", "find", "search", "before"]) => Some(Takes::Old),
            one if one.is_named(&["new", "replace", "replacement", "after"]) => Some(Takes::New),
            _ => None,
        };
        let sides: Vec<Option<Takes>> = parameters.iter().map(side).collect();
        if sides.contains(&Some(Takes::Old)) && sides.contains(&Some(Takes::New)) {
            for (parameter, side) in parameters.iter_mut().zip(sides) {
                parameter.takes = side.unwrap_or(parameter.takes);
            }
        }
    }
}

const BY_NAME: &[(&[&str], Takes)] = &[
    (&["timezone", "tz", "zone"], Takes::Zone),
    (
        &["time", "date", "day", "email", "recipient", "language", "lang", "locale", "currency"],
        Takes::Nothing,
    ),
    (&["expression", "formula", "calculation"], Takes::Expression),
    (&["url", "uri", "link", "website"], Takes::Url),
    (&["directory", "folder", "dir"], Takes::Directory),
    (&["path", "file", "filename", "filepath"], Takes::Path),
    (&["city", "location", "place", "town"], Takes::Place),
    (&["pattern", "regex"], Takes::Pattern),
    (&["query", "q", "search", "keywords", "question"], Takes::Query),
    (&["content", "contents", "text", "body", "message", "note"], Takes::Text),
    (&["revision", "commit", "branch", "tag", "id", "key", "repo", "repository"], Takes::Identifier),
    (&["title", "name", "subject", "topic", "label", "sql"], Takes::Quoted),
];

const BY_DESCRIPTION: &[(&[&str], Takes)] = &[
    (&["iana", "timezone"], Takes::Zone),
    (&["mathematical", "arithmetic"], Takes::Expression),
    (&["url"], Takes::Url),
    (&["currency", "language"], Takes::Nothing),
    (&["city", "location"], Takes::Place),
    (&["path"], Takes::Path),
    (&["search"], Takes::Query),
    (&["text"], Takes::Text),
];

/// The first type that is not null.
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

    #[test]
    fn a_parameter_is_understood_from_its_declaration() {
        for (name, schema, takes) in [
            ("expression", json!({"type": "string"}), Takes::Expression),
            ("expression", json!({"type": "string", "description": "A cron expression"}), Takes::Quoted),
            ("e", json!({"type": "string", "description": "Mathematical formula"}), Takes::Expression),
            ("source_timezone", json!({"type": "string"}), Takes::Zone),
            ("place", json!({"type": "string", "description": "IANA zone"}), Takes::Zone),
            ("city", json!({"type": "string"}), Takes::Place),
            ("path", json!({"type": "string", "description": "The file to open"}), Takes::Path),
            ("path", json!({"type": "string", "description": "Directory to show"}), Takes::Directory),
            ("filePath", json!({"type": "string"}), Takes::Path),
            ("target", json!({"type": "string", "format": "uri"}), Takes::Url),
            ("query", json!({"type": "string"}), Takes::Query),
            ("query", json!({"type": "string", "description": "SELECT statement"}), Takes::Quoted),
            ("code", json!({"type": "string", "description": "The program"}), Takes::Quoted),
            ("count", json!({"type": ["integer", "null"]}), Takes::Whole),
            ("count", json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), Takes::Whole),
            ("unit", json!({"enum": ["c", "f"]}), Takes::Choice),
            ("language", json!({"type": "string"}), Takes::Nothing),
            ("paths", json!({"type": "array"}), Takes::Nothing),
            ("x", json!({"$ref": "#/$defs/x"}), Takes::Nothing),
            ("x", json!(true), Takes::Nothing),
        ] {
            assert_eq!(Parameter::read(name, &schema, true).takes, takes, "{name} {schema}");
        }
    }

    #[test]
    fn a_declaration_says_what_a_percent_is_and_which_names_are_a_row() {
        let percent = |name: &str, schema: Value| Parameter::read(name, &schema, true).percent("5");
        for (name, schema, wanted) in [
            ("raise", json!({"type": "number"}), None),
            ("raise", json!({"type": "number", "maximum": 1}), Some("5e-2")),
            ("raise", json!({"description": "As a decimal, 3% is 0.03"}), Some("5e-2")),
            ("raise", json!({"description": "In percent"}), Some("5")),
            ("raise", json!({"description": "By default 3%"}), Some("5")),
            ("raise_percentage", json!({}), Some("5")),
        ] {
            assert_eq!(percent(name, schema.clone()).as_deref(), wanted, "{name} {schema}");
        }
        let row = |name: &str| Parameter::read(name, &json!({}), true).row();
        for (one, other) in
            [("side1", "side2"), ("a", "b"), ("point_x", "point_y"), ("first_side_1", "first_side_2")]
        {
            assert_eq!(row(one), row(other), "{one} {other}");
        }
        assert_ne!(row("width"), row("height"));
        assert_ne!(row("side1"), row("angle1"));
    }

    #[test]
    fn a_tool_is_read_leniently() {
        let entry = json!({"type": "function", "function": {"name": "a__b", "description": "Does it. And more.",
            "parameters": {"required": ["x", "old", "new", "y"], "properties": {
                "x": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}}}}});
        let tool = Tool::read(&entry).unwrap();
        assert_eq!((tool.spoken().as_str(), tool.own_name(), tool.first_sentence()), ("a.b", "b", "Does it"));
        let takes: Vec<_> = tool.parameters.iter().map(|one| one.takes).collect();
        assert_eq!(takes, [Takes::Quoted, Takes::Old, Takes::New, Takes::Nothing]);
        assert!(tool.parameters.iter().all(|one| one.required));
        for bad in [json!({}), json!({"function": {}}), json!({"function": {"name": ""}}), json!(3)] {
            assert!(Tool::read(&bad).is_none(), "{bad}");
        }
    }
}
