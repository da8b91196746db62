//! `/tools`, `/show`, `/allow`, `/deny`: what can be invoked, what was, and what may be.

use converse_canister::canonical;
use converse_config::{ArgumentPattern, Permission, Rule};
use converse_engine::{Ledger, Part};
use converse_ensemble::Tool;
use converse_ensemble::disclosure::effects_in_words;
use serde_json::{Map, Value};

use crate::repl::session::ReplSession;
use converse_host::failure::Failure;
use converse_text::safe_line;
use converse_text::wording::{counted, grouped, they};

/// Characters of a description in a line.
const DESCRIPTION: usize = 80;
/// Of the arguments that a rule is bound to.
const ARGUMENTS: usize = 100;

impl ReplSession<'_> {
    /// Those whose name holds the words, or all.
    pub(super) fn tools(&mut self, pattern: Option<&str>) {
        let filled = self.filled();
        let offer = self.connected.roster.offer();
        let wanted = |tool: &&Tool| {
            let name = tool.qualified.to_lowercase();
            pattern.is_none_or(|pattern| name.contains(&pattern.to_lowercase().replace('*', "")))
        };
        let tools: Vec<&Tool> = offer.tools().filter(wanted).collect();
        let held: Vec<&Tool> = offer.held_back().filter(wanted).collect();
        if tools.is_empty() && held.is_empty() {
            self.view.note(if pattern.is_some() { "no tool has this name" } else { "there are no tools" });
            return;
        }
        let heading = ["tool", "", "may", "bytes", "description"].map(str::to_owned).to_vec();
        let rows = tools.iter().map(|tool| self.row(tool));
        let held = held.iter().map(|tool| {
            let why = "held back: it is not what was accepted (`converse ensembles lock`)";
            vec![tool.qualified.clone(), String::new(), "no".to_owned(), String::new(), why.to_owned()]
        });
        let rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).chain(held).collect();
        self.view.say(self.view.table(&rows).trim_end());
        let tokens: u64 = tools.iter().filter_map(|tool| declared(tool, &filled)).sum();
        self.view.note(&format!(
            "{}, about {} tokens in each request",
            counted(tools.len(), "tool"),
            grouped(tokens)
        ));
    }

    fn row(&self, tool: &Tool) -> Vec<String> {
        // Without arguments: what holds for all of them.
        let judged = self.connected.roster.rules().judge(tool, &Map::new());
        let may = match judged.permission {
            Permission::Allow => "yes",
            Permission::Ask => "ask",
            Permission::Deny => "no",
        };
        let description = tool.declaration.description.lines().next().unwrap_or_default().trim();
        vec![
            tool.qualified.clone(),
            effects_in_words(tool.policy.effects).to_owned(),
            may.to_owned(),
            size(tool).to_string(),
            safe_line(description, DESCRIPTION),
        ]
    }

    /// One invocation of the last turn, in full.
    pub(super) fn show(&self, number: Option<u32>) -> Result<(), Failure> {
        let calls = self.view.calls();
        if calls.is_empty() {
            return Err(Failure::usage("no-invocation", "no tool was called in the last turn"));
        }
        let number = number.map_or(calls.len(), |number| number as usize);
        let Some(lines) = self.view.call_in_full(number) else {
            self.view.print(self.view.calls_in_short());
            let message = format!("there is no call {number} in the last turn; its calls are");
            return Err(Failure::usage("no-invocation", message));
        };
        self.view.print(lines);
        Ok(())
    }

    /// From now on, and until the program ends; without a pattern, what holds now.
    pub(super) fn permit(&self, pattern: Option<&str>, permission: Permission) -> Result<(), Failure> {
        let Some(pattern) = pattern else {
            self.view.say(&self.permitted(permission));
            return Ok(());
        };
        let source = match permission {
            Permission::Allow => "/allow",
            Permission::Ask => "/ask",
            Permission::Deny => "/deny",
        };
        let rule = Rule::new(pattern, permission, source)
            .map_err(|error| Failure::usage("bad-pattern", format!("{source}: {error}")))?;
        let offer = self.connected.roster.offer();
        let count = offer.tools().filter(|tool| rule.matches(&tool.qualified)).count();
        self.connected.roster.rules().add(rule.for_this_run());
        self.view.note(&format!("`{pattern}`: {}, until you quit", permission_text(count, permission)));
        Ok(())
    }

    fn permitted(&self, permission: Permission) -> String {
        let rules = self.connected.roster.rules().all();
        let rules = rules.iter().filter(|rule| rule.permission == permission);
        let row = |rule: &Rule| vec![rule.pattern.clone(), rule.source.clone(), bounds(rule)];
        let rows: Vec<Vec<String>> = rules.map(row).collect();
        match rows.is_empty() {
            true => "there is no such rule; `/tools` shows what each tool may".to_owned(),
            false => self.view.table(&rows).trim_end().to_owned(),
        }
    }
}

/// What a new rule does to so many tools.
fn permission_text(count: usize, permission: Permission) -> String {
    let does = match permission {
        // It may be said before the tools are there: `/ensembles` connects more.
        _ if count == 0 => return "no tool has this name now; the rule applies to later tools".to_owned(),
        Permission::Allow => {
            let but = "without a question, unless a rule asks or denies";
            return format!("{} {but}", they(count, "tool", ["runs", "run"]));
        }
        Permission::Ask => ["is asked about", "are asked about"],
        Permission::Deny => ["does not run", "do not run"],
    };
    they(count, "tool", does)
}

/// What a rule is bound to, and for how long it holds, where that is not what everybody expects of one.
fn bounds(rule: &Rule) -> String {
    let arguments = rule.arguments().map(|arguments| {
        let written = canonical(&Value::Object(arguments.clone()));
        format!("only with {}", safe_line(&written, ARGUMENTS))
    });
    let arguments = arguments.or_else(|| {
        rule.patterns().map(|(varying, fixed)| {
            let pair = |(name, vary): (&String, &ArgumentPattern)| {
                format!("{}={}", safe_line(name, ARGUMENTS), vary.text())
            };
            let pairs: Vec<String> = varying.iter().map(pair).collect();
            let beside = canonical(&Value::Object(fixed.clone()));
            format!(
                "where {}, beside {}",
                safe_line(&pairs.join(", "), ARGUMENTS),
                safe_line(&beside, ARGUMENTS)
            )
        })
    });
    let conditions =
        (arguments.is_none() && !rule.is_unconditional()).then(|| "under its conditions".to_owned());
    let tool = rule.is_bound().then(|| "the tool as it was shown".to_owned());
    let time = match (rule.is_for_this_run(), rule.is_bound()) {
        (true, _) => Some("until the program ends".to_owned()),
        (false, true) => Some("kept: `converse approvals` lists and revokes".to_owned()),
        (false, false) => None,
    };
    let parts: Vec<String> = [arguments, conditions, tool, time].into_iter().flatten().collect();
    parts.join("; ")
}

/// Tokens of its declaration in the next request, if it is in there: as `/usage` counts them.
fn declared(tool: &Tool, filled: &Ledger) -> Option<u64> {
    let own = |part: &Part| match part {
        Part::Tool { ensemble, tool: name } if ensemble.is_empty() => name == tool.declaration.name.as_str(),
        Part::Tool { ensemble, tool: name } => {
            tool.declaration.name.as_str().split_once("__") == Some((ensemble.as_str(), name.as_str()))
        }
        _ => false,
    };
    filled.rows.iter().find(|row| own(&row.part)).map(|row| row.tokens)
}

/// Bytes of its declaration, about.
fn size(tool: &Tool) -> usize {
    let declaration = &tool.declaration;
    declaration.name.as_str().len() + declaration.description.len() + declaration.arguments.to_string().len()
}

#[cfg(test)]
mod tests {
    use converse_canister::Digest;
    use converse_config::Binding;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_rule_says_what_it_does() {
        for (count, permission, told) in [
            (0, Permission::Deny, "no tool has this name now; the rule applies to later tools"),
            (1, Permission::Deny, "1 tool does not run"),
            (2, Permission::Deny, "2 tools do not run"),
            (1, Permission::Allow, "1 tool runs without a question, unless a rule asks or denies"),
            (2, Permission::Ask, "2 tools are asked about"),
        ] {
            assert_eq!(permission_text(count, permission), told);
        }
    }

    #[test]
    fn a_rule_says_what_it_is_bound_to_and_for_how_long() {
        let (rule, digest) =
            (Rule::exactly("io.write_file", Permission::Allow, "you").unwrap(), Digest([1; 32]));
        let binding = Binding { definition: digest, connection: digest, local: false };
        let Value::Object(arguments) = json!({ "path": "z.txt" }) else { panic!() };
        let answer = rule.clone().with_arguments(arguments).bound_to(binding);
        assert_eq!(bounds(&rule), "");
        assert_eq!(
            bounds(&answer),
            "only with {\"path\":\"z.txt\"}; the tool as it was shown; kept: `converse approvals` lists and revokes"
        );
        assert_eq!(
            bounds(&rule.bound_to(binding).for_this_run()),
            "the tool as it was shown; until the program ends"
        );
    }
}
