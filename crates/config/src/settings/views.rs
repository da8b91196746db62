//! `[[views]]`: parts of the tools that the gateway serves to some clients, renamed or with fixed arguments.
//!
//! Only the user's file has views: a view of a project could give its clients tools or rules that they must not have.

mod unfit;

use std::collections::{BTreeMap, BTreeSet};

use converse_canister::{ToolName, ViewName};
use serde_json::{Map, Value};
use toml::de::DeValue;

use super::{BudgetPlan, budget, rules};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::json::Conversion;
use crate::rule::{BadPattern, Rule, ToolPattern};
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::Table;

pub use unfit::unfit_views;

/// Limits on the views of a file, and on the entries of each list of a view.
const MAX_VIEWS: usize = 100;
const MAX_ENTRIES: usize = 1_000;
/// Digits of the beginning of a SHA-256 that names a token.
const MIN_DIGITS: usize = 8;
const MAX_DIGITS: usize = 64;

/// A part of the tools, for some clients of the gateway.
#[derive(Debug, Clone)]
pub struct ViewPlan {
    pub name: ViewName,
    /// What clients read when they connect.
    pub instructions: Option<String>,
    pub tools: Vec<ViewToolPlan>,
    /// Offer a search and one tool that calls the others, instead of the tools.
    pub search: bool,
    /// The tokens that lead to this view: beginnings of their SHA-256, in lower-case hexadecimal digits.
    pub tokens: Vec<String>,
    /// The claims that lead to this view: each must have one of its values. Keys with a leading `/` are JSON pointers.
    pub claims: BTreeMap<String, Vec<String>>,
    /// Rules that are judged beside those of the files.
    pub rules: Vec<Rule>,
    /// What all clients of the view together may take.
    pub budget: BudgetPlan,
}

impl ViewPlan {
    /// Returns whether tokens or claims lead to this view.
    pub fn names_principals(&self) -> bool {
        !self.tokens.is_empty() || !self.claims.is_empty()
    }
}

/// An entry of `tools`: the tools of a pattern, or one tool with changes.
#[derive(Debug, Clone)]
pub struct ViewToolPlan {
    pattern: ToolPattern,
    /// The pattern or the name of the tool, as written.
    pub written: String,
    /// Whether the entry is a table, for one tool.
    pub is_single: bool,
    /// The name for clients.
    pub name: Option<ToolName>,
    /// The description for clients.
    pub description: Option<String>,
    /// Arguments that each call gets and no client can give.
    pub arguments: Map<String, Value>,
    place: Span,
    places: Conversion,
}

impl ViewToolPlan {
    /// Returns whether the entry names a tool, by its name `ensemble.invoker`.
    pub fn matches(&self, tool: &str) -> bool {
        self.pattern.matches(tool)
    }
}

/// Reads all views of a file.
pub(super) fn views(file: &Table<'_, '_>, sources: &SourceMap, id: SourceId) -> Vec<ViewPlan> {
    let tables = file.tables("views");
    if tables.len() > MAX_VIEWS {
        let message = format!("{} views; the limit is {MAX_VIEWS}", tables.len());
        file.problems.error(Code::TooMany, file.key_span("views").unwrap_or(file.span), message);
    }
    let mut names = BTreeSet::new();
    let mut views = Vec::new();
    for table in tables.into_iter().take(MAX_VIEWS) {
        let (place, problems) = (table.span, table.problems);
        let Some(view) = view(table, sources, id) else { continue };
        if names.insert(view.name.clone()) {
            views.push(view);
        } else {
            let message = format!("another view has the name `{}`", view.name);
            problems.error(Code::DuplicateView, place, message);
        }
    }
    views
}

/// Reads one view. A view with an error is left out as a whole.
fn view(table: Table<'_, '_>, sources: &SourceMap, id: SourceId) -> Option<ViewPlan> {
    let before = table.problems.count();
    let name = name(&table);
    let plan = ViewPlan {
        instructions: table.string("instructions").map(|text| text.value),
        tools: tools(&table),
        search: table.boolean("search").is_some_and(|search| search.value),
        tokens: tokens(&table),
        claims: claims(&table),
        rules: rules::rules(&table, sources, id),
        budget: table.table("budget").map(budget).unwrap_or_default(),
        name: name?,
    };
    let problems = table.problems;
    table.finish();
    (problems.count() == before).then_some(plan)
}

fn name(table: &Table<'_, '_>) -> Option<ViewName> {
    let Spanned { value, span } = table.required_string("name")?;
    match ViewName::new(value) {
        Ok(name) => Some(name),
        Err(bad) => {
            table.problems.error(Code::BadName, span, bad.to_string());
            None
        }
    }
}

fn tools(table: &Table<'_, '_>) -> Vec<ViewToolPlan> {
    const EXAMPLE: &str = "for example: `tools = [\"io.read_*\"]`";
    if !table.has("tools") {
        table.missing_or("tools", EXAMPLE);
    }
    let Some(list) = table.list("tools", "a list of patterns and tables") else { return Vec::new() };
    bounded(table, "tools", list.value.len(), list.span, EXAMPLE);
    let mut tools: Vec<ViewToolPlan> = Vec::new();
    for item in list.value.iter().take(MAX_ENTRIES) {
        let span = table.problems.span(item.span());
        let entry = match item.get_ref() {
            DeValue::String(pattern) => pattern_entry(table, pattern.as_ref(), span),
            DeValue::Table(entries) => {
                single_entry(Table::new(entries, span, "an entry of `tools`", table.problems))
            }
            other => {
                table.wrong_type("tools", "a list of patterns and tables", other, span);
                None
            }
        };
        let Some(entry) = entry else { continue };
        let same = |one: &&ViewToolPlan| one.is_single && one.name == entry.name && one.name.is_some();
        if let Some((one, name)) = tools.iter().find(same).zip(entry.name.as_ref()) {
            let message = format!("another tool of this view has the name `{name}`");
            let diagnostic = Diagnostic::error(Code::NameClash, span, message).hint("choose another `name`");
            table.problems.push(diagnostic.related(one.place, "the other tool"));
        }
        tools.push(entry);
    }
    tools
}

fn bounded(table: &Table<'_, '_>, key: &str, entries: usize, span: Span, example: &str) {
    if entries == 0 {
        table.problems.bad_value(span, format!("`{key}` has no entries"), example);
    } else if entries > MAX_ENTRIES {
        let message = format!("`{key}` has {entries} entries; the limit is {MAX_ENTRIES}");
        table.problems.error(Code::TooMany, span, message);
    }
}

fn pattern_entry(table: &Table<'_, '_>, written: &str, place: Span) -> Option<ViewToolPlan> {
    let pattern = sound(table, ToolPattern::new(written), place)?;
    Some(ViewToolPlan {
        pattern,
        written: written.to_owned(),
        is_single: false,
        name: None,
        description: None,
        arguments: Map::new(),
        place,
        places: Conversion::default(),
    })
}

/// Reads `{ tool = "ensemble.invoker", name = …, description = …, arguments = { … } }`.
fn single_entry(table: Table<'_, '_>) -> Option<ViewToolPlan> {
    let tool = table.required_string("tool");
    let name = table.string("name").and_then(|name| match ToolName::new(name.value) {
        Ok(valid) => Some(valid),
        Err(bad) => {
            table.problems.error(Code::BadName, name.span, bad.to_string());
            None
        }
    });
    let description = table.description().map(|text| text.value);
    let fixed = if table.has("arguments") { table.json_table("arguments") } else { None };
    let (arguments, places) = match fixed {
        Some((Spanned { value: Value::Object(arguments), .. }, places)) => (arguments, places),
        _ => (Map::new(), Conversion::default()),
    };
    let Spanned { value: written, span } = tool?;
    if !written.contains('.') {
        let message = format!("{} is not the name of a tool", quoted(&written));
        table.problems.bad_value(span, message, "write `ENSEMBLE.TOOL`, for example `io.read_file`");
        return None;
    }
    let pattern = sound(&table, ToolPattern::literal(&written), span)?;
    table.finish();
    Some(ViewToolPlan {
        pattern,
        written,
        is_single: true,
        name,
        description,
        arguments,
        place: span,
        places,
    })
}

fn sound(table: &Table<'_, '_>, pattern: Result<ToolPattern, BadPattern>, span: Span) -> Option<ToolPattern> {
    pattern.map_err(|error| table.problems.error(Code::BadPattern, span, error.to_string())).ok()
}

/// Reads `tokens`. Messages do not repeat an entry, which may be the token itself.
fn tokens(table: &Table<'_, '_>) -> Vec<String> {
    const EXAMPLE: &str = "to compute it: `printf %s TOKEN | sha256sum`";
    let Some(list) = table.strings("tokens") else { return Vec::new() };
    bounded(table, "tokens", list.value.len(), list.span, EXAMPLE);
    let mut tokens = Vec::new();
    for token in list.value.into_iter().take(MAX_ENTRIES) {
        let digits = token.value.to_ascii_lowercase();
        let is_digest = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_digest && (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len()) {
            tokens.push(digits);
        } else {
            let message = format!(
                "an entry of `tokens` is not the beginning of a SHA-256: expected {MIN_DIGITS} to {MAX_DIGITS} \
                 hexadecimal digits"
            );
            table.problems.push(Diagnostic::bad_value(token.span, message, EXAMPLE).without_excerpt());
        }
    }
    tokens
}

/// Reads `claims`: a text or a list of texts for each claim.
fn claims(table: &Table<'_, '_>) -> BTreeMap<String, Vec<String>> {
    const EXAMPLE: &str = "for example: `claims = { group = \"data\" }`";
    let mut claims = BTreeMap::new();
    let Some(table) = table.table("claims") else { return claims };
    bounded(&table, "claims", table.named().count(), table.span, EXAMPLE);
    for (name, value) in table.named() {
        let span = table.problems.span(value.span());
        let values: Option<Vec<String>> = match value.get_ref() {
            DeValue::String(text) => Some(vec![text.to_string()]),
            DeValue::Array(list) => {
                let text = |item: &toml::Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
                list.iter().map(text).collect()
            }
            _ => None,
        };
        let Some(values) = values else {
            let wanted = "a string or a list of strings";
            table.wrong_type(&name.value, wanted, value.get_ref(), span);
            continue;
        };
        bounded(&table, &name.value, values.len(), span, EXAMPLE);
        claims.insert(name.value, values);
    }
    claims
}

#[cfg(test)]
mod tests;
