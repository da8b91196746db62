//! The one pure matcher of permissions. Flags, user settings, project settings and descriptors all become [`Rule`]s.
//!
//! Deny beats ask beats allow, in whatever order and from whatever scope the rules come; adding a deny never allows
//! more. A tool of a project nobody has trusted is allowed by the flags of this run only: its name is its author's
//! choice, and a rule that the user wrote for another tool of that name must not let it in. What no rule speaks of falls to the tool's own permission (its descriptor's, or the default by effects).

use globset::{GlobBuilder, GlobMatcher};

/// What may become of an invocation, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    Allow,
    Ask,
    Deny,
}

/// One rule: tools whose `ensemble.invoker` matches the pattern get the permission.
#[derive(Debug, Clone)]
pub struct Rule {
    pub pattern: String,
    pub permission: Permission,
    /// Who says so, for `explain` and the audit: `--allow`, `config.toml:12` …
    pub source: String,
    /// Typed for this run, not kept in a file.
    this_run: bool,
    matcher: GlobMatcher,
}

/// A pattern that is no glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a tool pattern: {reason}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

impl Rule {
    /// A pattern is a glob over `ensemble.invoker`: `*` and `?` match any characters. Without a dot it means the
    /// whole ensemble (`weather` = `weather.*`).
    pub fn new(
        pattern: impl Into<String>,
        permission: Permission,
        source: impl Into<String>,
    ) -> Result<Self, BadPattern> {
        let pattern = pattern.into();
        let bad = |reason: String| BadPattern { pattern: pattern.clone(), reason };
        if pattern.trim().is_empty() {
            return Err(bad("it is empty".into()));
        }
        let whole =
            if pattern.contains('.') || pattern == "*" { pattern.clone() } else { format!("{pattern}.*") };
        let glob = GlobBuilder::new(&whole).literal_separator(false).backslash_escape(true).build();
        let matcher = glob.map_err(|error| bad(error.kind().to_string()))?.compile_matcher();
        Ok(Self { pattern, permission, source: source.into(), this_run: false, matcher })
    }

    /// The rule as a flag: the user typed it, here and now.
    #[must_use]
    pub fn for_this_run(self) -> Self {
        Self { this_run: true, ..self }
    }

    fn counts_for(&self, subject: &Subject<'_>) -> bool {
        let allowed_to_allow = subject.trusted || self.this_run || self.permission != Permission::Allow;
        allowed_to_allow && self.matches(subject.tool)
    }

    pub fn matches(&self, tool: &str) -> bool {
        self.matcher.is_match(tool)
    }
}

/// What the rules are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// `ensemble.invoker`.
    pub tool: &'a str,
    /// The tool's own permission and where it comes from, used when no rule matches. A `Deny` here always holds.
    pub own: Permission,
    pub own_source: &'a str,
    /// False for tools of a project that nobody has trusted.
    pub trusted: bool,
}

/// The decision and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub permission: Permission,
    /// `pattern (source)`, or the tool's own source.
    pub rule: String,
}

pub fn judge(rules: &[Rule], subject: Subject<'_>) -> Judgement {
    let strictest = rules.iter().filter(|rule| rule.counts_for(&subject)).max_by_key(|rule| rule.permission);
    match strictest {
        Some(rule) if subject.own != Permission::Deny || rule.permission == Permission::Deny => {
            Judgement { permission: rule.permission, rule: format!("{} ({})", rule.pattern, rule.source) }
        }
        _ => Judgement { permission: subject.own, rule: subject.own_source.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Permission::{Allow, Ask, Deny};

    fn rules(list: &[(&str, Permission)]) -> Vec<Rule> {
        list.iter().map(|(pattern, permission)| Rule::new(*pattern, *permission, "test").unwrap()).collect()
    }

    fn decide(list: &[(&str, Permission)], tool: &str, own: Permission) -> Permission {
        judge(&rules(list), Subject { tool, own, own_source: "own", trusted: true }).permission
    }

    #[test]
    fn the_strictest_matching_rule_wins_in_any_order() {
        for list in [[("io.*", Allow), ("io.write_file", Deny)], [("io.write_file", Deny), ("io.*", Allow)]] {
            assert_eq!(decide(&list, "io.write_file", Ask), Deny);
            assert_eq!(decide(&list, "io.read_file", Ask), Allow);
            assert_eq!(decide(&list, "web.fetch", Ask), Ask);
        }
        assert_eq!(decide(&[("*", Allow), ("io", Ask)], "io.read_file", Allow), Ask);
        assert_eq!(decide(&[("*", Allow)], "io.read_file", Deny), Deny, "a tool's own deny holds");
        assert_eq!(decide(&[("w*.get_?", Allow)], "weather.get_x", Ask), Allow);
        assert_eq!(decide(&[("weather", Allow)], "weather.admin/x", Ask), Allow, "`*` crosses slashes");
        assert_eq!(decide(&[("weather", Allow)], "weather2.x", Ask), Ask);
    }

    #[test]
    fn the_judgement_names_its_rule() {
        let judgement = judge(
            &rules(&[("io.*", Deny)]),
            Subject { tool: "io.x", own: Allow, own_source: "own", trusted: true },
        );
        assert_eq!(judgement.rule, "io.* (test)");
        let judgement = judge(
            &[],
            Subject { tool: "io.x", own: Allow, own_source: "default: reads only", trusted: true },
        );
        assert_eq!(judgement.rule, "default: reads only");
    }

    #[test]
    fn a_kept_rule_never_allows_what_nobody_has_trusted() {
        let subject = Subject { tool: "notes.add", own: Ask, own_source: "own", trusted: false };
        let kept = |permission| vec![Rule::new("notes.*", permission, "config.toml:3").unwrap()];
        assert_eq!(judge(&kept(Allow), subject).permission, Ask);
        assert_eq!(judge(&kept(Deny), subject).permission, Deny);
        let typed = vec![Rule::new("notes.*", Allow, "--allow").unwrap().for_this_run()];
        assert_eq!(judge(&typed, subject).permission, Allow);
    }

    #[test]
    fn a_bad_pattern_is_said() {
        assert!(Rule::new("", Deny, "test").is_err());
        assert!(Rule::new("io.[", Deny, "test").unwrap_err().to_string().contains("io.["));
    }

    proptest! {
        #[test]
        fn adding_a_deny_never_allows_more(
            list in prop::collection::vec(("[ab*?]{1,3}(\\.[ab*?]{1,3})?", prop::sample::select(vec![Allow, Ask, Deny])), 0..6),
            deny in "[ab*?]{1,3}(\\.[ab*?]{1,3})?",
            tool in "[ab]{1,3}\\.[ab]{1,3}",
            own in prop::sample::select(vec![Allow, Ask, Deny]),
        ) {
            let before: Vec<Rule> = list.iter().map(|(p, d)| Rule::new(p.clone(), *d, "t").unwrap()).collect();
            let mut after = before.clone();
            after.push(Rule::new(deny, Deny, "t").unwrap());
            let ask = |rules: &[Rule]| judge(rules, Subject { tool: &tool, own, own_source: "own", trusted: true }).permission;
            prop_assert!(ask(&after) >= ask(&before));
            let mut reversed = after.clone();
            reversed.reverse();
            prop_assert_eq!(ask(&after), ask(&reversed));
        }
    }
}
