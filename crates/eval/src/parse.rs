//! Reads a suite file. Every problem is reported with its place.

use std::collections::BTreeMap;
use std::time::Duration;

use converse_batch::Line;
use converse_canister::Cost;
use converse_config::{
    Checked, Code, Diagnostic, Document, Problems, SourceId, SourceMap, Span, Spanned, Table, ToolPattern,
    ValueSchema, compiled_pattern,
};
use converse_text::escape::escape;
use regex::Regex;
use serde_json::{Value, json};

use crate::suite::{CallExpect, Case, CaseLimits, Expect, Judge, Suite, Tools};

const MOST_CASES: usize = 10_000;
/// Bytes of a name: also as part of a file name.
const MOST_NAME: usize = 80;
pub(crate) const MOST_REPEAT: u32 = 1_000;
const MOST_TIME: Duration = Duration::from_secs(86_400);
const PROMPT: &str = "for example: `prompt = \"What is 15% of 2500?\"`";

/// What a suite says for all its cases.
struct Defaults {
    pass_rate: f64,
    limits: CaseLimits,
}

/// Reads the text of a suite, and reports everything that is wrong with it.
pub fn parse_suite(sources: &SourceMap, id: SourceId) -> Checked<Suite> {
    let problems = Problems::of(id);
    let suite = {
        let document = Document::parse(sources, id, &problems);
        let file = document.root("a suite file", &problems);
        let (mut suite, defaults) = head(file.table("suite"));
        let mut names = BTreeMap::new();
        let cases = file.tables_or_one("cases");
        if let Some(beyond) = cases.get(MOST_CASES) {
            problems.error(Code::TooMany, beyond.span, format!("more than {MOST_CASES} cases"));
        }
        if cases.is_empty() && !file.has("cases") {
            file.missing("cases");
        }
        for case in cases.into_iter().take(MOST_CASES) {
            let line = sources.position(case.span).line;
            suite.cases.extend(read_case(case, line, &defaults, &mut names));
        }
        file.finish();
        suite
    };
    Checked { value: suite, diagnostics: problems.into_diagnostics() }
}

fn head(table: Option<Table<'_, '_>>) -> (Suite, Defaults) {
    let mut suite = Suite { repeat: 1, ..Suite::default() };
    let mut defaults = Defaults { pass_rate: 1.0, limits: CaseLimits::default() };
    let Some(table) = table else { return (suite, defaults) };
    suite.name = table.string("name").map(|name| name.value).unwrap_or_default();
    suite.models = texts(&table, "models");
    suite.ensembles = texts(&table, "ensembles");
    suite.system = table.string("system").map(|text| text.value);
    suite.repeat = table.count("repeat", 1..=MOST_REPEAT).map_or(1, |count| count.value);
    defaults.pass_rate = pass_rate(&table).unwrap_or(1.0);
    defaults.limits = limits(&table).unwrap_or_default();
    table.finish();
    (suite, defaults)
}

fn texts(table: &Table<'_, '_>, key: &'static str) -> Vec<String> {
    table.strings(key).into_iter().flat_map(|list| list.value).map(|text| text.value).collect()
}

fn pass_rate(table: &Table<'_, '_>) -> Option<f64> {
    table.float("pass_rate", 0.0..=1.0).map(|rate| rate.value)
}

fn limits(table: &Table<'_, '_>) -> Option<CaseLimits> {
    let table = table.table("limits")?;
    let cost = table.float("cost", 0.000_001..=1e6).map(|dollars| Cost::of_dollars(dollars.value));
    let limits = CaseLimits { cost, time: table.duration("time", MOST_TIME).map(|time| time.value) };
    table.finish();
    Some(limits)
}

fn read_case(
    table: Table<'_, '_>,
    line: usize,
    defaults: &Defaults,
    names: &mut BTreeMap<String, Span>,
) -> Option<Case> {
    let name = name(&table, names);
    let conversation = conversation(&table);
    let ensembles = texts(&table, "ensembles");
    let own = limits(&table).unwrap_or_default();
    let (answer, schema) = answer(&table);
    let mut expect = Expect { calls: calls(&table), ..answer };
    if let Some(tools) = table.table("tools") {
        expect.must = patterns(&tools, "must").unwrap_or_default();
        expect.may = patterns(&tools, "may");
        expect.must_not = patterns(&tools, "must_not").unwrap_or_default();
        expect.order = patterns(&tools, "order").unwrap_or_default();
        tools.finish();
    }
    let pass_rate = pass_rate(&table).unwrap_or(defaults.pass_rate);
    table.finish();
    let limits =
        CaseLimits { cost: own.cost.or(defaults.limits.cost), time: own.time.or(defaults.limits.time) };
    let (name, mut conversation) = (name?, conversation?);
    conversation.id.clone_from(&name);
    let schema = schema.map(Into::into);
    Some(Case { name, line, conversation, ensembles, schema, pass_rate, limits, expect })
}

fn name(table: &Table<'_, '_>, names: &mut BTreeMap<String, Span>) -> Option<String> {
    let name = table.required_string("name")?;
    let problems = table.problems;
    if name.value.trim().is_empty() || name.value.len() > MOST_NAME {
        let message =
            format!("`name`: expected a text of 1 to {MOST_NAME} bytes, found {} bytes", name.value.len());
        problems.bad_value(name.span, message, "for example: `name = \"percentage\"`");
        return None;
    }
    // Names that are equal as names of files would share their cassettes.
    match names.insert(crate::plan::file_name(&name.value), name.span) {
        None => Some(name.value),
        Some(first) => {
            let message = format!("there is another case `{}`", escape(&name.value));
            problems.push(
                Diagnostic::error(Code::DuplicateCase, name.span, message).related(first, "it is here"),
            );
            None
        }
    }
}

/// Reads the messages as a line of a batch, which has the rules for them.
fn conversation(table: &Table<'_, '_>) -> Option<Line> {
    let attachments = table.strings("attachments").map(|list| list.value).unwrap_or_default();
    let attachments: Vec<&str> = attachments.iter().map(|name| name.value.as_str()).collect();
    let (prompt, messages) = (table.string("prompt"), table.json("messages"));
    let problems = table.problems;
    let (key, said) = match (prompt, messages) {
        (Some(prompt), None) => ("prompt", Spanned { value: Value::from(prompt.value), span: prompt.span }),
        (None, Some(messages)) => ("messages", messages),
        (Some(_), Some(messages)) => {
            let message = "the case has both `prompt` and `messages`";
            problems.bad_value(messages.span, message, "remove one of them");
            return None;
        }
        (None, None) => {
            if !table.has("prompt") && !table.has("messages") {
                table.missing("prompt");
            }
            return None;
        }
    };
    let line = json!({ "id": "case", (key): said.value, "attachments": attachments });
    match Line::parse(&line.to_string(), None) {
        Ok(line) => Some(line),
        Err(fault) => {
            let hint = match key {
                "prompt" => PROMPT,
                _ => "for example: `messages = [{ role = \"user\", content = \"Hi\" }]`",
            };
            problems.bad_value(said.span, fault.message, hint);
            None
        }
    }
}

fn patterns(table: &Table<'_, '_>, key: &'static str) -> Option<Vec<Tools>> {
    let list = table.strings(key)?;
    Some(list.value.into_iter().filter_map(|text| tools(text, table.problems)).collect())
}

fn tools(text: Spanned<String>, problems: &Problems) -> Option<Tools> {
    match ToolPattern::new(&text.value) {
        Ok(pattern) => Some(Tools { text: text.value, pattern }),
        Err(error) => {
            problems.error(Code::BadPattern, text.span, escape(&error.to_string()));
            None
        }
    }
}

fn calls(table: &Table<'_, '_>) -> Vec<CallExpect> {
    let read = |table: Table<'_, '_>| {
        let tool = table.required_string("tool").and_then(|text| tools(text, table.problems));
        let arguments = object(&table, "arguments");
        let schema = object(&table, "schema").and_then(|schema| compiled(&schema, table.problems));
        let patterns = argument_patterns(&table);
        table.finish();
        let arguments = arguments.map(|arguments| arguments.value);
        Some(CallExpect { tool: tool?, arguments, schema, patterns })
    };
    table.tables_or_one("calls").into_iter().filter_map(read).collect()
}

fn object(table: &Table<'_, '_>, key: &'static str) -> Option<Spanned<Value>> {
    let value = table.json(key)?;
    if value.value.is_object() {
        return Some(value);
    }
    let hint = format!("for example: `{key} = {{ city = \"Paris\" }}`");
    table.problems.push(
        Diagnostic::error(Code::WrongType, value.span, format!("`{key}`: expected a table")).hint(hint),
    );
    None
}

fn compiled(schema: &Spanned<Value>, problems: &Problems) -> Option<ValueSchema> {
    match ValueSchema::compile(&schema.value) {
        Ok(compiled) => Some(compiled),
        Err(error) => {
            let message = format!("`schema` cannot be used: {} {}", error.pointer, error.message);
            problems.push(
                Diagnostic::error(Code::BadSchema, schema.span, escape(&message))
                    .hint("for example: `schema = { required = [\"city\"] }`"),
            );
            None
        }
    }
}

fn argument_patterns(table: &Table<'_, '_>) -> Vec<(String, Regex)> {
    let Some(value) = object(table, "pattern") else { return Vec::new() };
    let entries = value.value.as_object().into_iter().flatten();
    let read = |(name, pattern): (&String, &Value)| match pattern.as_str() {
        Some(text) => {
            let text = Spanned { value: text.to_owned(), span: value.span };
            regex(&text, table.problems).map(|regex| (name.clone(), regex))
        }
        None => {
            let message = format!("`pattern`: expected a string for `{}`", escape(name));
            table.problems.bad_value(value.span, message, "for example: `pattern = { city = \"^Par\" }`");
            None
        }
    };
    entries.filter_map(read).collect()
}

fn regex(text: &Spanned<String>, problems: &Problems) -> Option<Regex> {
    match compiled_pattern(&text.value) {
        Ok(regex) => Some(regex),
        Err(reason) => {
            let message = format!("`{}` is not a regular expression: {reason}", escape(&text.value));
            problems.push(Diagnostic::error(Code::BadPattern, text.span, message).hint(
                "to match a special character literally, write `\\\\` before it in quotes, or `\\` between `'`",
            ));
            None
        }
    }
}

/// Returns the expectations of `[cases.answer]`, and the file of its schema.
fn answer(table: &Table<'_, '_>) -> (Expect, Option<String>) {
    let Some(table) = table.table("answer") else { return (Expect::default(), None) };
    let texts = |key| {
        let mut texts = table.string_or_strings(key);
        texts.retain(|text| {
            if text.value.is_empty() {
                let message = format!("`{key}` cannot be an empty text, which is part of every text");
                table.problems.bad_value(text.span, message, format!("for example: `{key} = [\"375\"]`"));
            }
            !text.value.is_empty()
        });
        texts.into_iter().map(|text| text.value).collect()
    };
    let expect = Expect {
        contains: texts("contains"),
        not_contains: texts("not_contains"),
        matches: table.string("matches").and_then(|text| regex(&text, table.problems)),
        judge: judge(&table),
        ..Expect::default()
    };
    let schema = table.string("schema").map(|file| file.value);
    table.finish();
    (expect, schema)
}

fn judge(table: &Table<'_, '_>) -> Option<Judge> {
    let table = table.table("judge")?;
    let (model, question) = (table.required_string("model"), table.required_string("question"));
    table.finish();
    let (model, question) = (model?, question?);
    Some(Judge { model: model.value, question: question.value })
}

#[cfg(test)]
mod tests;
