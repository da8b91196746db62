//! The permission rules of a settings file: the lists of `[permissions]`, `[[rules]]` and `[[flows]]`.

mod conditions;

use converse_text::suggest::nearest;

use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::{Effects, Scope};
use crate::policy::{EFFECTS, PERMISSIONS};
use crate::rule::{BadPattern, Example, Permission, Rule};
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::Table;

use conditions::conditions;

/// Limit on the rules of one file.
const MAX_RULES: usize = 1_000;
/// Limit on the patterns, conditions and examples (of each kind) of one rule.
const MAX_PARTS: usize = 100;

/// Reads all rules of a file. Rules of a project cannot allow.
pub(super) fn rules(file: &Table<'_, '_>, sources: &SourceMap, id: SourceId) -> Vec<Rule> {
    let reader = Reader { sources, id, project: sources.scope(id) == Scope::Project };
    let mut rules = reader.lists(file);
    let tables = file.tables("rules");
    if tables.len() > MAX_RULES {
        let message = format!("{} rules; the limit is {MAX_RULES}", tables.len());
        file.problems.error(Code::TooMany, file.key_span("rules").unwrap_or(file.span), message);
    }
    rules.extend(tables.into_iter().take(MAX_RULES).filter_map(|table| reader.rule(table)));
    rules.extend(file.tables("flows").into_iter().take(MAX_RULES).filter_map(|table| reader.flow(table)));
    rules
}

struct Reader<'s> {
    sources: &'s SourceMap,
    id: SourceId,
    project: bool,
}

impl Reader<'_> {
    fn lists(&self, file: &Table<'_, '_>) -> Vec<Rule> {
        let Some(table) = file.table("permissions") else { return Vec::new() };
        if let Some(span) = table.key_span("allow") {
            self.may_allow(&table, span);
        }
        let mut rules = Vec::new();
        for (key, permission) in PERMISSIONS {
            let patterns = table.strings(key).map(|patterns| patterns.value).unwrap_or_default();
            if self.project && permission == Permission::Allow {
                continue;
            }
            for pattern in patterns {
                let rule = Rule::new(pattern.value.as_str(), permission, self.source(pattern.span));
                rules.extend(self.sound(&table, rule, &[pattern]));
            }
        }
        for pattern in table.strings("private").map(|patterns| patterns.value).unwrap_or_default() {
            let rule = Rule::private(&pattern.value, self.source(pattern.span));
            rules.extend(self.sound(&table, rule, &[pattern]));
        }
        table.finish();
        rules
    }

    /// Returns false, and reports it, in a project.
    fn may_allow(&self, table: &Table<'_, '_>, span: Span) -> bool {
        if self.project {
            let message = "a project cannot allow tools; it can only tighten your settings";
            let diagnostic = Diagnostic::error(Code::ProjectScope, span, message);
            table.problems.push(diagnostic.hint("move this to your own `config.toml`"));
        }
        !self.project
    }

    fn source(&self, span: Span) -> String {
        format!("{}:{}", self.sources.path(self.id), self.sources.position(span).line)
    }

    /// Returns the rule with its position, or reports its invalid pattern.
    fn sound(
        &self,
        table: &Table<'_, '_>,
        rule: Result<Rule, BadPattern>,
        patterns: &[Spanned<String>],
    ) -> Option<Rule> {
        let first = patterns.first().map_or(table.span, |pattern| pattern.span);
        match rule {
            Ok(rule) => Some(Rule { place: Some(first), ..rule }),
            Err(error) => {
                let bad = patterns.iter().find(|pattern| pattern.value == error.pattern);
                let message = format!("{} is not a tool pattern: {}", quoted(&error.pattern), error.reason);
                table.problems.error(Code::BadPattern, bad.map_or(first, |pattern| pattern.span), message);
                None
            }
        }
    }

    /// Reads one `[[rules]]` table. A rule with an error is left out as a whole.
    fn rule(&self, table: Table<'_, '_>) -> Option<Rule> {
        let before = table.problems.count();
        let tools = texts(&table, "tools");
        if !table.has("tools") {
            table.missing("tools");
        }
        if !table.has("decision") {
            table.missing("decision");
        }
        let decision = table.choice("decision", &PERMISSIONS);
        let effects = effects(&table);
        let interactive = table.boolean("interactive").map(|value| value.value);
        let reason = table.string("reason").map(|reason| reason.value);
        let allows = decision.as_ref().is_some_and(|decision| decision.value == Permission::Allow);
        let conditions = conditions(&table, allows);
        let examples =
            [("match", true), ("not_match", false)].map(|(key, fits)| (key, fits, texts(&table, key)));
        let (tools, decision) = (tools?, decision?);
        if allows && !self.may_allow(&table, decision.span) {
            return None;
        }
        let names: Vec<String> = tools.iter().map(|tool| tool.value.clone()).collect();
        let rule = Rule::any_of(&names, decision.value, self.source(table.span));
        let rule = self.sound(&table, rule, &tools)?;
        let rule = Rule { effects, interactive, reason, conditions, place: Some(table.span), ..rule };
        for (key, fits, examples) in examples {
            for example in examples.unwrap_or_default() {
                check(&table, &rule, key, fits, &example);
            }
        }
        let problems = table.problems;
        table.finish();
        (problems.count() == before).then_some(rule)
    }

    /// Reads one `[[flows]]` table. A rule with an error is left out as a whole.
    fn flow(&self, table: Table<'_, '_>) -> Option<Rule> {
        let before = table.problems.count();
        let (from, to) = (texts(&table, "from"), texts(&table, "to"));
        for key in ["from", "to", "decision"] {
            if !table.has(key) {
                table.missing(key);
            }
        }
        let decision = table.choice("decision", &PERMISSIONS);
        let reason = table.string("reason").map(|reason| reason.value);
        let (from, to, decision) = (from?, to?, decision?);
        if decision.value == Permission::Allow && !self.may_allow(&table, decision.span) {
            return None;
        }
        let names =
            |texts: &[Spanned<String>]| texts.iter().map(|text| text.value.clone()).collect::<Vec<_>>();
        let rule = Rule::flow(&names(&from), &names(&to), decision.value, self.source(table.span));
        let written: Vec<Spanned<String>> = from.into_iter().chain(to).collect();
        let rule = self.sound(&table, rule, &written)?;
        let rule = Rule { reason, place: Some(table.span), ..rule };
        let problems = table.problems;
        table.finish();
        (problems.count() == before).then_some(rule)
    }
}

fn check(table: &Table<'_, '_>, rule: &Rule, key: &str, fits: bool, example: &Spanned<String>) {
    let wrong = |why: String| table.problems.error(Code::RuleExample, example.span, why);
    match Example::parse(&example.value) {
        Err(why) => wrong(format!("this example of `{key}` cannot be read: {why}")),
        Ok(call) => match (fits, rule.mismatch(&call)) {
            (true, Some(why)) => wrong(format!("the rule does not match this example of `match`: {why}")),
            (false, None) => wrong("the rule matches this example of `not_match`".to_owned()),
            _ => {}
        },
    }
}

/// Reads a text, or a list of at least one text.
fn texts(table: &Table<'_, '_>, key: &'static str) -> Option<Vec<Spanned<String>>> {
    let (_, value) = table.get(key)?;
    let span = table.problems.span(value.span());
    if let Some(text) = value.get_ref().as_str() {
        return Some(vec![Spanned { value: text.to_owned(), span }]);
    }
    let Some(written) = value.get_ref().as_array() else {
        table.wrong_type(key, "a string or a list of strings", value.get_ref(), span);
        return None;
    };
    let message = format!("`{key}` has {} entries; it must have 1 to {MAX_PARTS}", written.len());
    if written.is_empty() {
        let example = match key {
            "effects" => "external",
            "match" | "not_match" => "io.read_file {\"path\": \"notes.txt\"}",
            _ => "io.*",
        };
        table.problems.bad_value(span, message, format!("for example: `{key} = ['{example}']`"));
    } else if written.len() > MAX_PARTS {
        table.problems.error(Code::TooMany, span, message);
    }
    Some(table.strings(key)?.value)
}

fn effects(table: &Table<'_, '_>) -> Option<Vec<Effects>> {
    let mut effects = Vec::new();
    for text in texts(table, "effects")? {
        match EFFECTS.iter().find(|(word, _)| *word == text.value) {
            Some((_, known)) => effects.push(*known),
            None => {
                let words = EFFECTS.map(|(word, _)| format!("`{word}`")).join(", ");
                let message =
                    format!("{} is not a value of `effects`: expected one of {words}", quoted(&text.value));
                let known = EFFECTS.map(|(word, _)| word);
                let hint = match nearest(&text.value, known.into_iter()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("for example: `effects = [\"{}\"]`", known[0]),
                };
                table.problems.bad_value(text.span, message, hint);
            }
        }
    }
    Some(effects)
}

#[cfg(test)]
mod tests;
