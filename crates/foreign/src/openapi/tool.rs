//! One operation as an invoker, and its file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use crate::toml_text::{bare_or_quoted, list, quoted};

/// The first line of each file, by which a later import knows it.
pub const WRITTEN: &str =
    "# Imported from an OpenAPI document. A new import with `--force` replaces this file.";
/// The longest name of an argument that providers accept.
const MAX_ARGUMENT: usize = 64;

/// An invoker that is being made.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    /// Upper case.
    pub(super) method: String,
    /// The texts of the descriptor are templates.
    pub(super) url: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) styles: Vec<(String, &'static str)>,
    pub(super) body: Option<Body>,
    pub(super) result: Option<String>,
    pub(super) properties: Map<String, Json>,
    pub(super) required: Vec<String>,
    pub(super) names: Names,
}

#[derive(Debug)]
pub(super) enum Body {
    /// A whole text or value.
    Text(String),
    Json(Vec<(String, String)>),
    Form(Vec<(String, String)>),
    Multipart(Vec<Part>),
    File(String),
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) is_file: bool,
    pub(super) media_type: Option<String>,
}

impl Tool {
    /// Adds an argument and returns its placeholder.
    pub(super) fn argument(&mut self, wished: &str, schema: Json, required: bool) -> String {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let clean: String = wished.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
        let clean = clean.trim_matches('_');
        let stem = if clean.is_empty() { "value" } else { clean };
        let name = self.names.unique(stem, MAX_ARGUMENT);
        if required {
            self.required.push(name.clone());
        }
        self.properties.insert(name.clone(), schema);
        format!("{{{name}}}")
    }

    /// Sets the style of the argument that was added last.
    pub(super) fn style(&mut self, placeholder: &str, style: &'static str) {
        self.styles.push((placeholder.trim_matches(['{', '}']).to_owned(), style));
    }

    /// The text of the invoker's file.
    pub(super) fn toml(&self) -> String {
        let (effects, idempotent) = match self.method.as_str() {
            "GET" | "HEAD" => ("read", true),
            "PUT" | "DELETE" => ("external", true),
            _ => ("external", false),
        };
        let mut text = format!(
            "{WRITTEN}\n[invoker]\nname = {}\ndescription = {}\neffects = \"{effects}\"\n",
            quoted(&self.name),
            quoted(&self.description)
        );
        if idempotent {
            text.push_str("idempotent = true\n");
        }
        let _ = write!(text, "\n[http]\nmethod = {}\nurl = {}\n", quoted(&self.method), quoted(&self.url));
        if !self.styles.is_empty() {
            let styles =
                self.styles.iter().map(|(name, style)| format!("{} = \"{style}\"", bare_or_quoted(name)));
            let _ = writeln!(text, "styles = {{ {} }}", styles.collect::<Vec<_>>().join(", "));
        }
        match &self.body {
            Some(Body::Text(template)) => drop(writeln!(text, "body = {}", quoted(template))),
            Some(Body::File(path)) => drop(writeln!(text, "file = {}", quoted(path))),
            Some(Body::Json(fields)) if fields.is_empty() => text.push_str("body = {}\n"),
            _ => {}
        }
        if let Some(pointer) = &self.result {
            let _ = writeln!(text, "result = {}", quoted(pointer));
        }
        table(&mut text, "query", &self.query);
        table(&mut text, "headers", &self.headers);
        match &self.body {
            Some(Body::Json(fields)) => table(&mut text, "body", fields),
            Some(Body::Form(fields)) => table(&mut text, "form", fields),
            Some(Body::Multipart(parts)) => multipart(&mut text, parts),
            _ => {}
        }
        let _ = write!(text, "\n[arguments]\ntype = \"object\"\nrequired = {}\n", list(&self.required));
        text.push_str("additionalProperties = false\n");
        if !self.properties.is_empty() {
            text.push_str("\n[arguments.properties]\n");
            for (name, schema) in &self.properties {
                let _ = writeln!(text, "{} = {}", bare_or_quoted(name), inline(schema));
            }
        }
        text
    }
}

fn table(text: &mut String, name: &str, entries: &[(String, String)]) {
    if !entries.is_empty() {
        let _ = writeln!(text, "\n[http.{name}]");
    }
    for (key, value) in entries {
        let _ = writeln!(text, "{} = {}", bare_or_quoted(key), quoted(value));
    }
}

fn multipart(text: &mut String, parts: &[Part]) {
    text.push_str("\n[http.multipart]\n");
    for part in parts {
        let key = if part.is_file { "file" } else { "value" };
        let value = match &part.media_type {
            None if !part.is_file => quoted(&part.value),
            None => format!("{{ {key} = {} }}", quoted(&part.value)),
            Some(of) => format!("{{ {key} = {}, type = {} }}", quoted(&part.value), quoted(of)),
        };
        let _ = writeln!(text, "{} = {value}", bare_or_quoted(&part.name));
    }
}

/// A value on one line. TOML has no null, so entries that are null are left out.
fn inline(value: &Json) -> String {
    match value {
        Json::Null => "\"\"".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.to_string(),
            (None, Some(float)) => format!("{float:?}"),
            (None, None) => "0".to_owned(),
        },
        Json::String(text) => quoted(text),
        Json::Array(items) => {
            let items = items.iter().filter(|item| !item.is_null()).map(inline);
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        Json::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| format!("{} = {}", bare_or_quoted(name), inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Names that differ in more than the case of their letters.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// The last number behind each stem, so that many equal names do not count from one again.
    last: BTreeMap<String, usize>,
}

impl Names {
    /// Returns a name that no other has, and keeps it.
    pub(super) fn unique(&mut self, stem: &str, most: usize) -> String {
        let stem = stem.get(..stem.len().min(most)).unwrap_or_default();
        let mut name = stem.to_owned();
        if self.taken.insert(name.to_ascii_lowercase()) {
            return name;
        }
        let head = stem.get(..stem.len().min(most.saturating_sub(6))).unwrap_or_default();
        let number = self.last.entry(head.to_ascii_lowercase()).or_insert(1);
        while !self.taken.insert(name.to_ascii_lowercase()) {
            *number += 1;
            let suffix = format!("_{number}");
            name = format!("{}{suffix}", stem.get(..stem.len().min(most - suffix.len())).unwrap_or_default());
        }
        name
    }
}

/// The scheme, host and port of an address, which decide where a request and its credentials go.
pub(super) fn origin(url: &str) -> Option<&str> {
    let start = url.find("://")? + 3;
    let host = url.get(start..)?.split(['/', '?', '#', '\\']).next()?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let is_sound = matches!(url.get(..start)?, "http://" | "https://")
        && host.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        && host.chars().all(is_plain);
    is_sound.then(|| &url[..start + host.len()])
}

/// Escapes a part of a URL for a template.
pub(super) fn literal(text: &str) -> String {
    let mut literal = String::new();
    for c in text.chars() {
        match c {
            '{' => literal.push_str("%7B"),
            '}' => literal.push_str("%7D"),
            '$' => literal.push_str("%24"),
            '\\' | '#' | '?' => {
                let _ = write!(literal, "%{:02X}", u32::from(c));
            }
            c if c.is_whitespace() || c.is_control() => literal.push_str("%20"),
            c if !c.is_ascii() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(literal, "%{byte:02X}");
                }
            }
            c => literal.push(c),
        }
    }
    literal
}
