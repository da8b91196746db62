//! Rules about the flow of data: which calls may send data off the machine, after what a model has seen.
//!
//! A conversation that has seen both private data and text of somebody else can be made to send the one to the other: an
//! instruction in the text writes the call. A tool that reaches others is therefore asked about then, whatever allows it.
//! `[[flows]]` rules change this for single origins and tools, and `private` of `[permissions]` names private files.

use converse_canister::{Origin, SeenData};

use super::glob::ToolPattern;
use super::{BadPattern, Explanation, Judgement, MatchMode, Permission, Rule, RuleEffect, ValueGlob};
use crate::plan::Effects;

/// What a rule is about.
#[derive(Debug, Clone, Default)]
pub(crate) enum RuleScope {
    /// Calls of tools.
    #[default]
    Calls,
    /// Data of these origins that goes to tools.
    Flows(Vec<ToolPattern>),
    /// Files that are private.
    Private(ValueGlob),
}

/// The rule that holds if no other one does.
const BUILT_IN: &str = "private data and foreign text (built in)";
/// Origins and reasons that a question names.
const NAMED: usize = 3;

impl Rule {
    /// Creates a rule for data of these origins (`web:example.org`, `server:mail`, `private`; `web` is each host) that goes
    /// to these tools.
    pub(crate) fn flow(
        from: &[String],
        to: &[String],
        permission: Permission,
        source: String,
    ) -> Result<Self, BadPattern> {
        let rule = Self::any_of(to, permission, source)?;
        let from = from.iter().map(|pattern| origin_pattern(pattern)).collect::<Result<_, _>>()?;
        Ok(Self { scope: RuleScope::Flows(from), ..rule })
    }

    /// Creates a rule that says which files are private. A pattern without `/` is a name at any depth.
    pub(crate) fn private(pattern: &str, source: String) -> Result<Self, BadPattern> {
        let bad = |reason| BadPattern { pattern: pattern.to_owned(), reason };
        let glob = ValueGlob::new(&at_any_depth(pattern), true).map_err(bad)?;
        let rule = Self::of(pattern.to_owned(), Vec::new(), Permission::Ask, source);
        Ok(Self { scope: RuleScope::Private(glob), ..rule })
    }

    /// Returns whether this is a rule about files that are private.
    pub fn is_about_private_files(&self) -> bool {
        matches!(self.scope, RuleScope::Private(_))
    }

    /// Returns whether this is a rule about flows, and the label matches one of its origins.
    fn flows_from(&self, label: &str) -> bool {
        matches!(&self.scope, RuleScope::Flows(from) if from.iter().any(|pattern| pattern.matches(label)))
    }
}

fn origin_pattern(pattern: &str) -> Result<ToolPattern, BadPattern> {
    let is_kind = !pattern.contains([':', '*']) && !matches!(pattern, "workspace" | "machine");
    let whole = if is_kind { format!("{pattern}:*") } else { pattern.to_owned() };
    ToolPattern::verbatim(&whole)
}

fn at_any_depth(pattern: &str) -> String {
    let is_name = !pattern.trim_end_matches("/**").contains('/') && !pattern.starts_with('~');
    if is_name { format!("**/{pattern}") } else { pattern.to_owned() }
}

/// Returns whether a rule says that a file is private. `path` is relative to the working directory, or absolute.
pub fn private_file(rules: &[Rule], path: &str) -> bool {
    rules.iter().any(|rule| match &rule.scope {
        RuleScope::Private(glob) => glob.is_match(path, MatchMode::Any),
        RuleScope::Calls | RuleScope::Flows(_) => false,
    })
}

/// Returns the judgement of a call after what the model has seen, if it is stricter than `judgement`.
///
/// The strictest matching `[[flows]]` rule that asks or denies decides. Otherwise a tool that reaches others (`effects`, or
/// `remote`: its server is on another machine) is asked about if private data and foreign text remain after those that
/// matching rules allow.
pub fn judge_flow(
    rules: &[Rule],
    (tool, effects, remote): (&str, Effects, bool),
    seen: &SeenData,
    judgement: &Judgement,
) -> Option<Judgement> {
    let flows: Vec<&Rule> =
        rules.iter().filter(|rule| matches!(rule.scope, RuleScope::Flows(_)) && rule.matches(tool)).collect();
    let foreign: Vec<&str> = seen.foreign().map(Origin::as_str).collect();
    let private: Vec<String> = private_labels(seen).collect();
    let private: Vec<&str> = private.iter().map(String::as_str).collect();
    let any = |rule: &Rule| foreign.iter().chain(&private).any(|label| rule.flows_from(label));
    let strict = flows.iter().filter(|rule| rule.permission > Permission::Allow && any(rule));
    let strictest = strict.reduce(|best, rule| if rule.permission > best.permission { rule } else { best });
    if let Some(rule) = strictest {
        let reason = rule.reason.clone().or_else(|| Some(described(&foreign, seen)));
        let found = Judgement { permission: rule.permission, rule: rule.shown(), reason, by_rule: true };
        return (found.permission > judgement.permission).then_some(found);
    }
    let allows = |rule: &Rule, label: &str| rule.permission == Permission::Allow && rule.flows_from(label);
    let is_left = |labels: &[&str]| labels.iter().any(|label| !flows.iter().any(|rule| allows(rule, label)));
    let reaches_out = effects == Effects::External || remote;
    if !reaches_out || !is_left(&foreign) || !is_left(&private) || judgement.permission == Permission::Deny {
        return None;
    }
    let reason = Some(described(&foreign, seen));
    // A question that a rule asks anyway keeps its own rule; kept answers do not answer this one.
    let rule = if judgement.by_rule && judgement.permission == Permission::Ask {
        judgement.rule.clone()
    } else {
        BUILT_IN.to_owned()
    };
    Some(Judgement { permission: Permission::Ask, rule, reason, by_rule: true })
}

fn private_labels(seen: &SeenData) -> impl Iterator<Item = String> {
    seen.private().map(|what| format!("private:{what}"))
}

/// Adds to the explanation of a call what [`judge_flow`] says of it, and the part of each `[[flows]]` rule in that.
pub fn explain_flow(
    rules: &[Rule],
    call: (&str, Effects, bool),
    seen: &SeenData,
    explanation: Explanation,
) -> Explanation {
    let found = judge_flow(rules, call, seen, &explanation.judgement);
    let labels: Vec<String> =
        seen.foreign().map(|origin| origin.as_str().to_owned()).chain(private_labels(seen)).collect();
    let is_stricter = found.as_ref().is_some_and(|found| found.permission > explanation.judgement.permission);
    let decides = |rule: &Rule| found.as_ref().is_some_and(|found| found.rule == rule.shown());
    let effect = |rule: &Rule| {
        let seen: Vec<String> = labels.iter().filter(|label| rule.flows_from(label)).cloned().collect();
        match rule.permission {
            _ if seen.is_empty() => {
                RuleEffect::NotApplicable(vec!["the conversation has seen no such data".to_owned()])
            }
            Permission::Allow => RuleEffect::Opens(seen),
            _ if decides(rule) => RuleEffect::Decides,
            _ => RuleEffect::Overruled,
        }
    };
    let Explanation { judgement, rules: mut explained } = explanation;
    for one in &mut explained {
        let rule = rules.get(one.index);
        let flow = rule.filter(|rule| matches!(rule.scope, RuleScope::Flows(_)));
        one.effect = match (&one.effect, flow) {
            (_, Some(rule)) => effect(rule),
            (RuleEffect::Decides | RuleEffect::Agrees, None) if is_stricter => RuleEffect::Overruled,
            (other, None) => other.clone(),
        };
    }
    Explanation { judgement: found.unwrap_or(judgement), rules: explained }
}

/// Says what the model has seen, in one line.
fn described(foreign: &[&str], seen: &SeenData) -> String {
    let private: Vec<&str> = seen.private().collect();
    let private = match private.as_slice() {
        [] => String::new(),
        private => format!("this conversation has private data ({})", listed(private)),
    };
    let foreign = match foreign {
        [] => String::new(),
        foreign => format!("{} may have written this request", listed(foreign)),
    };
    [private, foreign].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn listed(words: &[&str]) -> String {
    let mut text = words.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if words.len() > NAMED {
        text += &format!(" and {} more", words.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use converse_canister::{Canister, InvocationId, InvocationResult, Labels, Outcome, TurnId};

    use super::*;
    use crate::rule::ExplainedRule;

    fn seen(foreign: &[&str], private: &[&str]) -> SeenData {
        let result = |from: Origin, private: Vec<String>| {
            let result = InvocationResult::new(InvocationId::of(TurnId(1), 0), Outcome::Success, "");
            Canister::Result(InvocationResult { labels: Some(Labels { from, private }), ..result })
        };
        let foreign = foreign.iter().map(|host| result(Origin::web(host), Vec::new()));
        let private = private.iter().map(|what| result(Origin::workspace(), vec![(*what).to_owned()]));
        SeenData::of(&foreign.chain(private).collect::<Vec<_>>())
    }

    fn allowed() -> Judgement {
        Judgement { permission: Permission::Allow, rule: "--allow".into(), reason: None, by_rule: true }
    }

    fn rule(from: &str, to: &str, permission: Permission) -> Rule {
        Rule::flow(&[from.to_owned()], &[to.to_owned()], permission, "config.toml:3".to_owned()).unwrap()
    }

    fn judged(rules: &[Rule], tool: &str, effects: Effects, seen: &SeenData) -> Permission {
        let judgement = allowed();
        judge_flow(rules, (tool, effects, false), seen, &judgement).unwrap_or(judgement).permission
    }

    #[test]
    fn private_data_and_foreign_text_and_a_way_out_ask() {
        use Effects::{External, None as Nothing, Read, Write};
        let both = seen(&["example.org"], &["`.env`"]);
        for (effects, seen, expected) in [
            (External, &both, Permission::Ask),
            (Nothing, &both, Permission::Allow),
            (Read, &both, Permission::Allow),
            (Write, &both, Permission::Allow),
            (External, &seen(&["example.org"], &[]), Permission::Allow),
            (External, &seen(&[], &["`.env`"]), Permission::Allow),
            (External, &seen(&[], &[]), Permission::Allow),
        ] {
            assert_eq!(judged(&[], "web.fetch", effects, seen), expected, "{effects:?} {seen:?}");
        }
        let remote = judge_flow(&[], ("mail.send", Read, true), &both, &allowed()).unwrap();
        assert_eq!(remote.permission, Permission::Ask);
        let reason = remote.reason.unwrap();
        assert_eq!(
            reason,
            "this conversation has private data (`.env`); web:example.org may have written this request"
        );
    }

    #[test]
    fn rules_tighten_and_open_single_ways() {
        use Permission::{Allow, Ask, Deny};
        let both = seen(&["a.example", "b.example"], &["`.env`"]);
        for (rules, expected) in [
            (vec![rule("web:a.example", "web", Allow)], Ask),
            (vec![rule("web", "web", Allow)], Allow),
            (vec![rule("web:*", "web.fetch", Allow)], Allow),
            (vec![rule("private", "web", Allow)], Allow),
            (vec![rule("private", "mail", Allow)], Ask),
            (vec![rule("web", "web", Allow), rule("web:b.example", "*", Deny)], Deny),
            (vec![rule("server", "web", Deny)], Ask),
        ] {
            assert_eq!(judged(&rules, "web.fetch", Effects::External, &both), expected, "{rules:?}");
        }
        // A rule asks about any tool, also one that reaches nobody.
        let foreign = seen(&["a.example"], &[]);
        assert_eq!(
            judged(&[rule("web", "io.write_file", Ask)], "io.write_file", Effects::Write, &foreign),
            Ask
        );
    }

    #[test]
    fn an_explanation_names_the_labels_and_the_rules() {
        let rules = [
            rule("web:a.example", "web", Permission::Allow),
            rule("private", "web", Permission::Ask),
            rule("server", "web", Permission::Deny),
        ];
        let explained = |seen: &SeenData| {
            let rules_named =
                (0..3).map(|index| ExplainedRule { index, effect: RuleEffect::Agrees }).collect();
            let before = Explanation { judgement: allowed(), rules: rules_named };
            let after = explain_flow(&rules, ("web.fetch", Effects::External, false), seen, before);
            (after.judgement.permission, after.rules.into_iter().map(|one| one.effect).collect::<Vec<_>>())
        };
        let misses = || RuleEffect::NotApplicable(vec!["the conversation has seen no such data".to_owned()]);
        let opens = || RuleEffect::Opens(vec!["web:a.example".to_owned()]);
        let both = seen(&["a.example"], &["`.env`"]);
        assert_eq!(explained(&both), (Permission::Ask, vec![opens(), RuleEffect::Decides, misses()]));
        let foreign = seen(&["a.example"], &[]);
        assert_eq!(explained(&foreign), (Permission::Allow, vec![opens(), misses(), misses()]));
    }

    #[test]
    fn nothing_is_ever_loosened() {
        let both = seen(&["a.example"], &["`.env`"]);
        let denied = Judgement { permission: Permission::Deny, ..allowed() };
        assert_eq!(judge_flow(&[], ("web.fetch", Effects::External, false), &both, &denied), None);
        let allow = [rule("*", "*", Permission::Allow)];
        let asks = Judgement { permission: Permission::Ask, ..allowed() };
        assert_eq!(judge_flow(&allow, ("web.fetch", Effects::External, false), &both, &asks), None);
    }

    #[test]
    fn files_are_private_by_name_or_by_path() {
        let rules = [
            Rule::private("secret.txt", "config.toml:2".to_owned()).unwrap(),
            Rule::private("docs/internal/**", "config.toml:2".to_owned()).unwrap(),
        ];
        for path in ["secret.txt", "a/secret.txt", "/abs/secret.txt", "docs/internal/x/y"] {
            assert!(private_file(&rules, path), "{path}");
        }
        for path in ["docs/public", "secret.txt.md", "a/docs/internal/x", "README.md"] {
            assert!(!private_file(&rules, path), "{path}");
        }
    }
}
