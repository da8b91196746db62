//! Stored approvals (`approvals.toml`): the answers "always" to questions about tools.
//!
//! Each `[[rules]]` table allows one tool with one definition: for any arguments, for exactly the given arguments, or for
//! the given arguments and patterns in `where`. Unknown keys make the whole file invalid, so an older version never
//! allows more than the user accepted.

use converse_canister::{Arguments, Digest, canonical};
use serde_json::{Map, Value};

use crate::Code;
use crate::diagnostic::{Checked, quoted};
use crate::document::{Document, Problems};
use crate::rule::{ArgumentPattern, ArgumentPatterns, BadPattern, Binding, Permission, Rule};
use crate::source::{SourceId, SourceMap};
use crate::table::Table;

/// Limit on the approvals of one file.
pub const MAX_APPROVALS: usize = 1_000;

/// One stored approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Name of the tool, `ensemble.invoker`.
    pub tool: String,
    /// Arguments that a call must have, apart from those in `patterns`. `None` allows any arguments.
    pub arguments: Option<Map<String, Value>>,
    /// Patterns for further arguments. Empty if `arguments` is `None`.
    pub patterns: ArgumentPatterns,
    /// Digest of the tool's definition when it was approved.
    pub definition: Digest,
    /// Digest of the connection and configuration of its ensemble.
    pub connection: Digest,
    /// Working directory, for a tool of a project; `None` for the user's and shipped tools.
    pub project: Option<String>,
    /// Time of the approval, RFC 3339.
    pub at: String,
    /// Line in the file, from 1.
    pub line: usize,
}

impl Approval {
    /// Returns the approval as a rule for a run in its own directory.
    pub fn rule(&self, source: impl Into<String>) -> Result<Rule, BadPattern> {
        let rule = Rule::exactly(&self.tool, Permission::Allow, source)?;
        let rule = match &self.arguments {
            Some(fixed) if !self.patterns.is_empty() => {
                rule.with_patterns(fixed.clone(), self.patterns.clone())
            }
            Some(arguments) => rule.with_arguments(arguments.clone()),
            None => rule,
        };
        let Self { definition, connection, .. } = *self;
        Ok(rule.bound_to(Binding { definition, connection, local: self.project.is_some() }))
    }
}

const HEAD: &str =
    "# Answers \"always\" to the questions of converse. `converse approvals` lists and revokes them.\n";

/// Returns the text of a file of approvals.
pub fn approvals_text(approvals: &[Approval]) -> String {
    let mut text = HEAD.to_owned();
    let toml_string = |text: &str| toml::Value::from(text).to_string();
    for approval in approvals {
        text.push_str(&format!(
            "\n[[rules]]\ntools = {}\ndecision = \"allow\"\n",
            toml_string(&approval.tool)
        ));
        text.push_str(&format!("definition = \"{}\"\n", approval.definition));
        text.push_str(&format!("connection = \"{}\"\n", approval.connection));
        if let Some(arguments) = &approval.arguments {
            let json = canonical(&Value::Object(arguments.clone()));
            text.push_str(&format!("arguments = {}\n", toml_string(&json)));
        }
        if !approval.patterns.is_empty() {
            let entry =
                |(name, vary): (&String, &ArgumentPattern)| (name.clone(), toml::Value::from(vary.text()));
            let patterns: toml::Table = approval.patterns.iter().map(entry).collect();
            text.push_str(&format!("where = {}\n", toml::Value::Table(patterns)));
        }
        if let Some(project) = &approval.project {
            text.push_str(&format!("project = {}\n", toml_string(project)));
        }
        text.push_str(&format!("at = {}\n", toml_string(&approval.at)));
    }
    text
}

/// Parses a file of approvals. If there is an error, the caller must not use any of the approvals.
pub fn parse_approvals(sources: &SourceMap, id: SourceId) -> Checked<Vec<Approval>> {
    let problems = Problems::of(id);
    let approvals = {
        let document = Document::parse(sources, id, &problems);
        let file = Table::new(&document.table, problems.span(0..0), "an approvals file", &problems);
        let tables = file.tables("rules");
        if tables.len() > MAX_APPROVALS {
            problems.error(
                Code::TooMany,
                file.span,
                format!("more than {MAX_APPROVALS} approvals in one file"),
            );
        }
        let read = tables.into_iter().take(MAX_APPROVALS).filter_map(|table| approval(table, sources));
        let approvals = read.collect();
        file.finish();
        approvals
    };
    Checked { value: approvals, diagnostics: problems.into_diagnostics() }
}

fn approval(table: Table<'_, '_>, sources: &SourceMap) -> Option<Approval> {
    let tool = table.required_string("tools");
    let at = table.required_string("at");
    let digest = |key| {
        let text = table.required_string(key)?;
        let digest = Digest::try_from(text.value);
        digest.map_err(|why| table.problems.bad_value(text.span, why, ASK_AGAIN)).ok()
    };
    let (definition, connection) = (digest("definition"), digest("connection"));
    let project = table.string("project").map(|project| project.value);
    table.required_string("decision");
    table.choice("decision", &[("allow", Permission::Allow)]);
    let line = sources.position(table.span).line;
    let arguments = table.string("arguments").map(|text| {
        let arguments = Arguments::parse(&text.value);
        if let Some(malformed) = arguments.malformed {
            table.problems.bad_value(text.span, format!("`arguments` is {malformed}"), ASK_AGAIN);
        }
        arguments.object
    });
    let patterns = table.table("where").map(|table| patterns(&table, arguments.as_ref())).unwrap_or_default();
    table.finish();
    let (tool, at) = (tool?.value, at?.value);
    let (definition, connection) = (definition?, connection?);
    Some(Approval { tool, arguments, patterns, definition, connection, project, at, line })
}

/// Converse writes this file, so an entry that was changed by hand is removed rather than completed.
const ASK_AGAIN: &str = "remove this `[[rules]]` entry; converse asks about the tool again";

/// Reads `where`: patterns by the names of arguments that are not in `arguments`.
fn patterns(table: &Table<'_, '_>, fixed: Option<&Map<String, Value>>) -> ArgumentPatterns {
    let bad_value = |span, message: String| table.problems.bad_value(span, message, ASK_AGAIN);
    let mut patterns = ArgumentPatterns::new();
    if fixed.is_none() {
        bad_value(table.span, "`where` needs `arguments` for the other arguments".to_owned());
    }
    for (name, value) in table.named() {
        let shown = quoted(&name.value);
        let Some(text) = value.get_ref().as_str() else {
            table.wrong_type(&name.value, "a pattern", value.get_ref(), table.problems.span(value.span()));
            continue;
        };
        if fixed.is_some_and(|fixed| fixed.contains_key(&name.value)) {
            bad_value(name.span, format!("{shown} is in both `arguments` and `where`"));
        }
        match ArgumentPattern::new(&name.value, text) {
            Ok(pattern) => drop(patterns.insert(name.value, pattern)),
            Err(why) => bad_value(name.span, format!("the pattern of {shown} cannot be used: {why}")),
        }
    }
    if table.named().next().is_none() {
        bad_value(table.span, "`where` is empty".to_owned());
    }
    patterns
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scope;

    fn parsed(text: &str) -> (Vec<Approval>, Vec<String>) {
        let mut sources = SourceMap::new();
        let id = sources.add("approvals.toml", Scope::User, text);
        let Checked { value, diagnostics } = parse_approvals(&sources, id);
        (value, diagnostics.iter().map(|one| one.code.to_string()).collect())
    }

    fn like(fixed: Value, patterns: &[(&str, &str)]) -> Approval {
        let one =
            |(name, text): &(&str, &str)| ((*name).to_owned(), ArgumentPattern::new(name, text).unwrap());
        Approval { patterns: patterns.iter().map(one).collect(), ..approval(Some(fixed), None) }
    }

    fn approval(arguments: Option<Value>, project: Option<&str>) -> Approval {
        Approval {
            tool: "io.write_file".into(),
            arguments: arguments.map(|value| value.as_object().unwrap().clone()),
            patterns: ArgumentPatterns::new(),
            definition: Digest([7; 32]),
            connection: Digest([8; 32]),
            project: project.map(str::to_owned),
            at: "2026-11-21T00:00:00Z".into(),
            line: 0,
        }
    }

    #[test]
    fn written_approvals_are_read_back() {
        let odd = json!({ "path": "a'''\"\"\"\n\\\u{1b}\u{202e}", "n": null, "big": u64::MAX, "f": 1.5, "l": [1, { "x": "]]" }] });
        let all = [
            approval(None, None),
            approval(Some(odd), Some("/h/'\"\n")),
            approval(Some(json!({})), None),
            like(
                json!({ "a": 1 }),
                &[("path", "src/**"), ("content", "*"), ("o'\"\n.d d", "echo '\"x\"' *")],
            ),
        ];
        let text = approvals_text(&all);
        let (read, problems) = parsed(&text);
        assert_eq!(problems, [""; 0], "{text}");
        let lines: Vec<usize> = read.iter().map(|one| one.line).collect();
        assert_eq!(text.lines().nth(lines[1] - 1), Some("[[rules]]"));
        let without_lines: Vec<Approval> = read.into_iter().map(|one| Approval { line: 0, ..one }).collect();
        for (a, b) in without_lines.iter().zip(&all) {
            let canon = |one: &Approval| one.arguments.clone().map(|map| canonical(&Value::Object(map)));
            assert_eq!(canon(a), canon(b));
            assert_eq!(Approval { arguments: None, ..a.clone() }, Approval { arguments: None, ..b.clone() });
        }
        assert_eq!(without_lines.len(), 4);
        assert!(without_lines[3].rule("a").unwrap().patterns().is_some());
    }

    #[test]
    fn other_forms_of_rules_are_rejected() {
        let good = approvals_text(&[approval(Some(json!({ "a": 1 })), None)]);
        assert_eq!(parsed(&good).1, [""; 0]);
        for (from, to, code) in [
            ("\"allow\"", "\"deny\"", "bad-value"),
            ("0707", "070", "bad-value"),
            ("0808", "080", "bad-value"),
            ("connection =", "connections =", "missing-key"),
            ("at =", "when =", "missing-key"),
            ("decision = \"allow\"\n", "", "missing-key"),
            ("decision", "effects = \"read\"\ndecision", "unknown-key"),
            ("'{\"a\":1}'", "'{\"a\":1,\"a\":2}'", "bad-value"),
            ("'{\"a\":1}'", "{ a = 1 }", "wrong-type"),
            ("[[rules]]", "[[rule]]", "unknown-key"),
            ("[[rules]]", "[[rules", "syntax"),
            ("at =", "wheres = { b = \"x*\" }\nat =", "unknown-key"),
        ] {
            refuses(&good, from, to, code);
        }
        let good = approvals_text(&[like(json!({ "a": 1 }), &[("path", "src/**")])]);
        assert_eq!(parsed(&good).1, [""; 0], "{good}");
        for (from, to, code) in [
            ("where =", "patterns =", "unknown-key"),
            ("{ path = \"src/**\" }", "\"src/**\"", "wrong-type"),
            ("\"src/**\"", "[\"src/**\"]", "wrong-type"),
            ("\"src/**\"", "{ glob = \"src/**\" }", "wrong-type"),
            ("\"src/**\"", "\"src/a\"", "bad-value"),
            ("\"src/**\"", "\"*\"", "bad-value"),
            ("\"src/**\"", "\"src/\\u202e*\"", "bad-value"),
            ("path = \"src/**\"", "", "bad-value"),
            ("path =", "a =", "bad-value"),
            ("path =", "path = \"x*\", path =", "duplicate-key"),
            ("arguments = '{\"a\":1}'\n", "", "bad-value"),
        ] {
            refuses(&good, from, to, code);
        }
    }

    #[track_caller]
    fn refuses(good: &str, from: &str, to: &str, code: &str) {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        assert!(parsed(&text).1.contains(&code.to_owned()), "{text}: {:?}", parsed(&text).1);
    }
}
