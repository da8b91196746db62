//! The answers "always" that somebody gave, as text: `[[rules]]` that allow one tool as it was then.
//!
//! The form is narrower than that of settings, so that what a file says is what somebody was shown: one tool and always a
//! definition; "just these arguments", or these beside texts that vary as `where` says. A program that does not know a
//! key takes the whole file for damaged, so it never allows more than was said.

use converse_canister::{Arguments, Digest, canonical};
use serde_json::{Map, Value};

use crate::Code;
use crate::diagnostic::Checked;
use crate::document::{Document, Problems};
use crate::escape::quoted;
use crate::rule::{BadPattern, Binding, Permission, Rule, Vary, Varying};
use crate::source::{SourceId, SourceMap};
use crate::table::Table;

/// Answers of one file.
pub const MAX_APPROVALS: usize = 1_000;

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// `ensemble.invoker`.
    pub tool: String,
    /// Just these and no others, but for those that vary; `None`: whatever they are.
    pub arguments: Option<Map<String, Value>>,
    /// Beside the arguments, of which none is named here. Empty where no arguments are said.
    pub varying: Varying,
    /// Of the tool's definition as it was shown.
    pub definition: Digest,
    /// Of how its ensemble was reached and configured.
    pub connection: Digest,
    /// The directory converse ran in, for a tool that belongs to it; `None` for one of the user's or a shipped one.
    pub project: Option<String>,
    /// RFC 3339.
    pub at: String,
    /// In the file.
    pub line: usize,
}

impl Approval {
    /// As a rule, for a run in its own directory.
    pub fn rule(&self, source: impl Into<String>) -> Result<Rule, BadPattern> {
        let rule = Rule::exactly(&self.tool, Permission::Allow, source)?;
        let rule = match &self.arguments {
            Some(fixed) if !self.varying.is_empty() => rule.with_varying(fixed.clone(), self.varying.clone()),
            Some(arguments) => rule.with_arguments(arguments.clone()),
            None => rule,
        };
        let Self { definition, connection, .. } = *self;
        Ok(rule.bound_to(Binding { definition, connection, local: self.project.is_some() }))
    }
}

const HEAD: &str =
    "# Answers \"always\" to the questions of converse. `converse approvals` lists and revokes them.\n";

/// The text of a file of answers.
pub fn approvals_text(approvals: &[Approval]) -> String {
    let mut text = HEAD.to_owned();
    let written = |text: &str| toml::Value::from(text).to_string();
    for approval in approvals {
        text.push_str(&format!("\n[[rules]]\ntools = {}\ndecision = \"allow\"\n", written(&approval.tool)));
        text.push_str(&format!("definition = \"{}\"\n", approval.definition));
        text.push_str(&format!("connection = \"{}\"\n", approval.connection));
        if let Some(arguments) = &approval.arguments {
            let json = canonical(&Value::Object(arguments.clone()));
            text.push_str(&format!("arguments = {}\n", written(&json)));
        }
        if !approval.varying.is_empty() {
            let one = |(name, vary): (&String, &Vary)| (name.clone(), toml::Value::from(vary.text()));
            let varying: toml::Table = approval.varying.iter().map(one).collect();
            text.push_str(&format!("where = {}\n", toml::Value::Table(varying)));
        }
        if let Some(project) = &approval.project {
            text.push_str(&format!("project = {}\n", written(project)));
        }
        text.push_str(&format!("at = {}\n", written(&approval.at)));
    }
    text
}

/// Reads a file of answers. Whoever finds an error in it must not rely on any of it.
pub fn parse_approvals(sources: &SourceMap, id: SourceId) -> Checked<Vec<Approval>> {
    let problems = Problems::of(id);
    let approvals = {
        let document = Document::parse(sources, id, &problems);
        let file = Table::new(&document.table, problems.span(0..0), "a file of approvals", &problems);
        let tables = file.tables("rules");
        if tables.len() > MAX_APPROVALS {
            problems.error(Code::TooMany, file.span, format!("more than {MAX_APPROVALS} answers"));
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
        digest.map_err(|why| table.problems.error(Code::BadValue, text.span, why)).ok()
    };
    let (definition, connection) = (digest("definition"), digest("connection"));
    let project = table.string("project").map(|project| project.value);
    table.required_string("decision");
    table.choice("decision", &[("allow", Permission::Allow)]);
    let line = sources.position(table.span).line;
    let arguments = table.string("arguments").map(|text| {
        let arguments = Arguments::parse(&text.value);
        if let Some(malformed) = arguments.malformed {
            table.problems.error(Code::BadValue, text.span, format!("`arguments` is {malformed}"));
        }
        arguments.object
    });
    let varying = table.table("where").map(|said| varying(&said, arguments.as_ref())).unwrap_or_default();
    table.finish();
    let (tool, at) = (tool?.value, at?.value);
    let (definition, connection) = (definition?, connection?);
    Some(Approval { tool, arguments, varying, definition, connection, project, at, line })
}

/// `where`: patterns by the names of arguments, none of which stands among those that are fixed.
fn varying(said: &Table<'_, '_>, fixed: Option<&Map<String, Value>>) -> Varying {
    let wrong = |span, why: String| said.problems.error(Code::BadValue, span, why);
    let mut all = Varying::new();
    if fixed.is_none() {
        wrong(said.span, "`where` needs `arguments`: what the others must be".to_owned());
    }
    for (name, value) in said.named() {
        let shown = quoted(&name.value);
        let Some(text) = value.get_ref().as_str() else {
            said.wrong_type(&name.value, "a pattern", value.get_ref(), said.problems.span(value.span()));
            continue;
        };
        if fixed.is_some_and(|fixed| fixed.contains_key(&name.value)) {
            wrong(name.span, format!("{shown} stands in `arguments` too: it varies or it does not"));
        }
        match Vary::new(&name.value, text) {
            Ok(vary) => drop(all.insert(name.value, vary)),
            Err(why) => wrong(name.span, format!("the pattern of {shown} cannot be used: {why}")),
        }
    }
    if said.named().next().is_none() {
        wrong(said.span, "`where` says nothing".to_owned());
    }
    all
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

    fn like(fixed: Value, varying: &[(&str, &str)]) -> Approval {
        let one = |(name, text): &(&str, &str)| ((*name).to_owned(), Vary::new(name, text).unwrap());
        Approval { varying: varying.iter().map(one).collect(), ..approval(Some(fixed), None) }
    }

    fn approval(arguments: Option<Value>, project: Option<&str>) -> Approval {
        Approval {
            tool: "io.write_file".into(),
            arguments: arguments.map(|value| value.as_object().unwrap().clone()),
            varying: Varying::new(),
            definition: Digest([7; 32]),
            connection: Digest([8; 32]),
            project: project.map(str::to_owned),
            at: "2026-11-21T00:00:00Z".into(),
            line: 0,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
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
        assert!(without_lines[3].rule("a").unwrap().varying().is_some());
    }

    #[test]
    fn nothing_but_the_narrow_form_is_taken() {
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
