//! The difference of two sets of plans.

use std::fmt::Debug;

use converse_config::{BudgetPlan, EnsemblePlan, SettingsPlan};

use super::Configuration;

/// What changes when other plans are served.
#[derive(Debug)]
pub(super) struct Difference<'p> {
    /// Plans that must be connected, in their order: new ones, changed ones, and those that depend on other plans.
    pub(super) fresh: Vec<&'p EnsemblePlan>,
    added: Vec<&'p str>,
    changed: Vec<&'p str>,
    removed: Vec<&'p str>,
}

impl<'p> Difference<'p> {
    /// `has_same_paths`: the paths that no tool may write to are the same. Tools of the binary have those of their start.
    pub(super) fn of(old: &'p [EnsemblePlan], new: &'p [EnsemblePlan], has_same_paths: bool) -> Self {
        let mut difference =
            Self { fresh: Vec::new(), added: Vec::new(), changed: Vec::new(), removed: Vec::new() };
        for plan in new {
            let before = old.iter().find(|old| old.name == plan.name);
            match before {
                None => difference.added.push(plan.name.as_str()),
                Some(before) if before != plan => difference.changed.push(plan.name.as_str()),
                Some(_) if has_same_paths || plan.connection.is_some() => continue,
                Some(_) => {}
            }
            difference.fresh.push(plan);
        }
        let is_gone = |plan: &&EnsemblePlan| new.iter().all(|new| new.name != plan.name);
        difference.removed = old.iter().filter(is_gone).map(|plan| plan.name.as_str()).collect();
        difference
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.removed.is_empty()
    }

    /// Returns what has changed, for people.
    pub(super) fn told(&self, settings: &[&str]) -> String {
        let named = |what: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
        };
        let parts =
            [named("added", &self.added), named("changed", &self.changed), named("removed", &self.removed)];
        let settings = settings.iter().map(|name| (*name).to_owned());
        let parts: Vec<String> = parts.into_iter().flatten().chain(settings).collect();
        if parts.is_empty() { "paths that tools may not write to".to_owned() } else { parts.join("; ") }
    }
}

/// What has changed in the settings.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) rules: bool,
    pub(super) views: bool,
    /// What each principal may take.
    pub(super) limits: bool,
    /// What turns begin with beside the rules: models, presets, limits.
    pub(super) turns: bool,
    /// What counts from the next start only.
    pub(super) fixed: bool,
}

impl Changes {
    /// `has_turns`: turns are served, too.
    pub(super) fn of(old: &Configuration, new: &Configuration, has_turns: bool) -> Self {
        fn differs<T: Debug>(
            of: impl Fn(&Configuration) -> T,
            old: &Configuration,
            new: &Configuration,
        ) -> bool {
            format!("{:?}", of(old)) != format!("{:?}", of(new))
        }
        let of_turns = |one: &Configuration| SettingsPlan {
            rules: Vec::new(),
            views: Vec::new(),
            serve: BudgetPlan::default(),
            audit: None,
            sandbox: None,
            ..one.settings.clone()
        };
        Self {
            rules: differs(|one| one.rules.clone(), old, new),
            views: differs(|one| one.settings.views.clone(), old, new),
            limits: old.settings.serve != new.settings.serve,
            turns: has_turns && differs(of_turns, old, new),
            fixed: differs(|one| (one.settings.audit, one.settings.sandbox), old, new),
        }
    }

    /// Returns what has changed and counts now, for people.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let all = [
            (self.rules, "the rules"),
            (self.views, "the views"),
            (self.limits, "the limits"),
            (self.turns, "the settings of turns"),
        ];
        all.into_iter().filter_map(|(has_changed, name)| has_changed.then_some(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use converse_config::{ConnectionPlan, Origin, Scope, TransportPlan};

    use super::*;

    fn plan(name: &str, description: &str) -> EnsemblePlan {
        let origin = Origin { scope: Scope::User, file: format!("{name}.toml"), line: 1 };
        let plan = EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin);
        EnsemblePlan { description: description.to_owned(), ..plan }
    }

    fn server(name: &str) -> EnsemblePlan {
        let transport = TransportPlan::Stdio { command: Vec::new(), environment: Vec::new(), cwd: None };
        EnsemblePlan { connection: Some(ConnectionPlan::new(transport)), ..plan(name, "") }
    }

    fn names<'p>(plans: &[&'p EnsemblePlan]) -> Vec<&'p str> {
        plans.iter().map(|plan| plan.name.as_str()).collect()
    }

    #[test]
    fn equal_plans_keep_their_connections() {
        let old = [plan("a", "one"), plan("b", "one"), plan("c", "one")];
        let new = [plan("d", "new"), plan("a", "one"), plan("b", "two")];
        let difference = Difference::of(&old, &new, true);
        assert_eq!(names(&difference.fresh), ["d", "b"]);
        assert_eq!(difference.told(&[]), "added `d`; changed `b`; removed `c`");
        assert_eq!(difference.told(&["the rules"]), "added `d`; changed `b`; removed `c`; the rules");
        let none = Difference::of(&old, &old, true);
        assert!(none.is_empty());
        assert_eq!(none.told(&["the rules"]), "the rules");
        assert!(!Difference::of(&old, &old[..2], true).is_empty(), "one is gone");
    }

    #[test]
    fn tools_of_the_binary_get_the_paths_that_they_may_not_write_to() {
        let old = [plan("files", ""), server("server")];
        let difference = Difference::of(&old, &old, false);
        assert_eq!(names(&difference.fresh), ["files"]);
        assert_eq!(difference.told(&[]), "paths that tools may not write to");
    }
}
