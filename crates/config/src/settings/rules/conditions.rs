//! `arguments` of a rule: conditions on the arguments of a call.

use serde_json::Value;
use toml::de::DeValue;

use super::MAX_PARTS;
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::json::Conversion;
use crate::rule::{ArgumentPath, ArgumentPattern, Conditions, Expression, Predicate, Test, ValueGlob};
use crate::source::{Span, Spanned};
use crate::table::Table;

/// Keys that belong to the rule itself. In TOML, keys below `[rules.arguments]` belong to it; read as an argument, such a
/// key would silently keep the rule from matching.
const RULE_KEYS: [&str; 7] = ["tools", "decision", "effects", "interactive", "reason", "match", "not_match"];

/// Reads `arguments`: a table of conditions. `allows`: of a rule that allows.
pub(super) fn conditions(table: &Table<'_, '_>, allows: bool) -> Conditions {
    let Some((_, value)) = table.get("arguments") else { return Conditions::None };
    if value.get_ref().as_str().is_none() {
        return each(table, allows);
    }
    // The approvals file has a text here: the complete arguments with defaults. In settings, a rule that denies would then
    // never match.
    let message = "`arguments` must be a table of conditions, not a text";
    let diagnostic = Diagnostic::error(Code::WrongType, table.problems.span(value.span()), message);
    let hint = "name each argument that counts: `arguments = { path = { equals = \"a\" } }`";
    table.problems.push(diagnostic.hint(hint));
    Conditions::None
}

fn each(table: &Table<'_, '_>, allows: bool) -> Conditions {
    let Some(arguments) = table.table("arguments") else { return Conditions::None };
    let mut predicates = Vec::new();
    for (name, value) in arguments.named() {
        if RULE_KEYS.contains(&name.value.as_str()) {
            let message = format!("{} is a key of the rule, not one of its `arguments`", quoted(&name.value));
            let hint = format!(
                "write it above `[rules.arguments]`; an argument of that name is `\"/{}\"`",
                name.value
            );
            arguments.problems.bad_value(name.span, message, hint);
            continue;
        }
        let Some(at) = ArgumentPath::new(&name.value) else {
            let message =
                format!("{} is not a JSON pointer: write `~0` for `~` and `~1` for `/`", quoted(&name.value));
            let escaped = name.value.replace('~', "~0");
            let hint = format!("for the argument of this name, write {}", quoted(&escaped));
            arguments.problems.bad_value(name.span, message, hint);
            continue;
        };
        let span = arguments.problems.span(value.span());
        if span.start != span.end {
            let tests = Condition { table: &arguments, name: &name, span, allows }.tests(value.get_ref());
            predicates.push(Predicate { at, tests });
        }
    }
    if predicates.len() > MAX_PARTS {
        let message = format!("{} conditions; the limit is {MAX_PARTS}", predicates.len());
        arguments.problems.error(Code::TooMany, arguments.span, message);
    }
    arguments.finish_except(|_| true);
    Conditions::All(predicates)
}

/// The condition on one argument.
struct Condition<'a, 't, 's> {
    table: &'a Table<'t, 's>,
    name: &'a Spanned<String>,
    span: Span,
    /// Whether the rule allows.
    allows: bool,
}

impl Condition<'_, '_, '_> {
    /// A text is a glob, a table has several tests, and another value must be equal.
    fn tests(&self, value: &DeValue<'_>) -> Vec<Test> {
        let problems = self.table.problems;
        match value {
            DeValue::String(text) => {
                self.made(ValueGlob::new(text, false).map(Test::Glob), self.span).into_iter().collect()
            }
            DeValue::Table(entries) => {
                let name = format!("the condition on {}", quoted(&self.name.value));
                let table = Table::new(entries, self.name.span, name, problems);
                let tests = self.forms(&table);
                if tests.is_empty() && entries.is_empty() {
                    let key = quoted(&self.name.value);
                    let hint = format!("for example: `\"{}\" = {{ equals = \"a\" }}`", key.trim_matches('`'));
                    problems.bad_value(self.name.span, "the condition is empty", hint);
                }
                table.finish();
                tests
            }
            DeValue::Array(_) => {
                self.table.wrong_type(
                    &self.name.value,
                    "a text, a number or a table such as { one_of = […] }",
                    value,
                    self.span,
                );
                Vec::new()
            }
            _ => {
                let value = Conversion::default().convert(value, self.span, problems);
                value.into_iter().map(|value| Test::OneOf(vec![value])).collect()
            }
        }
    }

    fn forms(&self, table: &Table<'_, '_>) -> Vec<Test> {
        let mut tests = Vec::new();
        if let Some(text) = table.string("glob") {
            tests.extend(self.made(ValueGlob::new(&text.value, false).map(Test::Glob), text.span));
        }
        if let Some(text) = table.string("path") {
            tests.extend(self.made(ValueGlob::new(&text.value, true).map(Test::Path), text.span));
        }
        if let Some(text) = table.string("prefix") {
            tests.push(Test::Prefix(text.value));
        }
        if let Some(text) = table.string("regex") {
            tests.extend(self.made(Expression::new(&text.value).map(Test::Regex), text.span));
        }
        if let Some(text) = table.string("command") {
            tests.extend(self.command(&text));
        }
        if let Some(value) = self.json(table, "equals") {
            tests.push(Test::OneOf(vec![value.value]));
        }
        if let Some(values) = self.json(table, "one_of") {
            match values.value {
                Value::Array(values) => tests.push(Test::OneOf(values)),
                _ => table.problems.error(Code::WrongType, values.span, "`one_of` must be a list"),
            }
        }
        for (key, test) in [("min", Test::Min as fn(_) -> Test), ("max", Test::Max)] {
            let Some(bound) = self.json(table, key) else { continue };
            match bound.value {
                Value::Number(number) => tests.push(test(number)),
                _ => table.problems.error(Code::WrongType, bound.span, format!("`{key}` must be a number")),
            }
        }
        tests
    }

    /// A rule that denies `rm *` would not see `true; rm x`, so that only rules that allow may say it.
    fn command(&self, text: &Spanned<String>) -> Option<Test> {
        if self.allows {
            return self.made(ArgumentPattern::new("command", &text.value).map(Test::Command), text.span);
        }
        let message = "`command` is only for rules with `decision = \"allow\"`";
        let hint = "write `regex` here, which matches anywhere in the text: `{ regex = \"\\\\brm\\\\b\" }`";
        self.table.problems.bad_value(text.span, message, hint);
        None
    }

    fn json(&self, table: &Table<'_, '_>, key: &'static str) -> Option<Spanned<Value>> {
        let (_, value) = table.get(key)?;
        let span = table.problems.span(value.span());
        let value = Conversion::default().convert(value.get_ref(), span, table.problems)?;
        Some(Spanned { value, span })
    }

    fn made(&self, test: Result<Test, String>, span: Span) -> Option<Test> {
        test.map_err(|why| {
            let message = format!("the pattern of {} cannot be used: {why}", quoted(&self.name.value));
            self.table.problems.error(Code::BadPattern, span, message);
        })
        .ok()
    }
}
