//! What a gateway need not pass, each with its reason: `server-exceptions.txt`. Held both ways: a check that fails and
//! is not listed is a failure, and so is one that is listed and does not fail.

use super::outcome::Outcome;
use crate::Result;

const TEXT: &str = include_str!("server-exceptions.txt");

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exceptions(Vec<Exception>);

#[derive(Debug, Clone, PartialEq)]
struct Exception {
    /// A revision, or `both`.
    revision: String,
    scenario: String,
    /// One check of the scenario. `None`: whatever of it fails.
    check: Option<String>,
    reason: String,
}

impl Exceptions {
    pub(super) fn known() -> Result<Self> {
        Self::read(TEXT)
    }

    /// Lines of `REVISION SCENARIO[:CHECK] REASON`, and comments.
    fn read(text: &str) -> Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(one).collect::<Result<_>>().map(Self)
    }

    /// Those that name nothing the suite requires of this revision.
    pub(super) fn idle(&self, revision: &str, required: &[String]) -> Vec<String> {
        let meant = self.0.iter().filter(|one| one.revision == revision || one.revision == "both");
        let idle = meant.filter(|one| !required.contains(&one.scenario));
        idle.map(|one| format!("`{}` is listed for {revision} and not required there", one.scenario))
            .collect()
    }

    /// Excuses what is listed, and finds fault with what is listed for nothing.
    pub(super) fn apply(&self, outcome: &mut Outcome) {
        let of_it = |one: &&Exception| {
            one.scenario == outcome.scenario && [outcome.revision, "both"].contains(&one.revision.as_str())
        };
        let listed: Vec<&Exception> = self.0.iter().filter(of_it).collect();
        let idle = listed.iter().filter(|one| !outcome.wrong.iter().any(|line| one.covers(line)));
        let idle: Vec<String> = idle.map(|one| one.told()).collect();
        let covered = |line: &String| listed.iter().any(|one| one.covers(line));
        if idle.is_empty() && outcome.wrong.iter().all(covered) {
            outcome.excused = listed.first().map(|one| one.reason.clone());
        } else {
            // What is excused would only hide what is not.
            outcome.wrong.retain(|line| !covered(line));
            outcome.wrong.extend(idle);
        }
    }
}

impl Exception {
    /// Is it about this check? A line is `STATUS CHECK: why`.
    fn covers(&self, line: &str) -> bool {
        let named = line.split_once(' ').and_then(|(_, rest)| rest.split_once(':')).map(|(check, _)| check);
        self.check.as_deref().is_none_or(|check| named == Some(check))
    }

    fn told(&self) -> String {
        let check = self.check.as_deref().map(|check| format!(":{check}")).unwrap_or_default();
        format!("`{}{check}` is listed as an exception, and it passes", self.scenario)
    }
}

fn one(line: &str) -> Result<Exception> {
    let mut words = line.splitn(3, char::is_whitespace).map(str::trim);
    let (Some(revision), Some(what), Some(reason)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("an exception is `REVISION SCENARIO REASON`, and not `{line}`").into());
    };
    if revision != "both" && !super::REVISIONS.contains(&revision) {
        return Err(format!("`{revision}` is no revision, in `{line}`").into());
    }
    let (scenario, check) = match what.split_once(':') {
        Some((scenario, check)) => (scenario, Some(check.to_owned())),
        None => (what, None),
    };
    let [revision, scenario, reason] = [revision, scenario, reason].map(str::to_owned);
    Ok(Exception { revision, scenario, check, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "# why\nboth prompts-list  tools only\n\n2026-07-28 stateless:sep-1 not ours\n";

    fn judged(scenario: &str, wrong: &[&str]) -> Outcome {
        let wrong = wrong.iter().map(|line| (*line).to_owned()).collect();
        let scenario = scenario.to_owned();
        let mut outcome =
            Outcome { side: "server", revision: "2026-07-28", scenario, wrong, ..Outcome::default() };
        Exceptions::read(LISTED).unwrap().apply(&mut outcome);
        outcome
    }

    #[test]
    fn exceptions_hold_both_ways() {
        for (scenario, wrong, fails) in [
            ("prompts-list", &["FAILURE a: no prompts"][..], false),
            ("prompts-list", &["FAILURE a: x", "WARNING b: y"], false),
            ("prompts-list", &[], true),
            ("stateless", &["FAILURE sep-1: x"], false),
            ("stateless", &["FAILURE sep-1: x", "FAILURE sep-2: y"], true),
            ("stateless", &["FAILURE sep-10: x"], true),
            ("stateless", &[], true),
            ("tools-list", &["FAILURE a: x"], true),
            ("tools-list", &[], false),
        ] {
            let outcome = judged(scenario, wrong);
            assert_eq!(outcome.is_failure(), fails, "{scenario} {wrong:?}: {outcome:?}");
        }
        assert_eq!(judged("prompts-list", &["FAILURE a: x"]).excused.as_deref(), Some("tools only"));
        let partly = judged("stateless", &["FAILURE sep-1: x", "FAILURE sep-2: y"]);
        assert_eq!(partly.wrong, ["FAILURE sep-2: y"]);
        assert!(judged("prompts-list", &[]).told().contains("`prompts-list` is listed"));
    }

    #[test]
    fn an_exception_of_another_revision_is_none() {
        let exceptions = Exceptions::read(LISTED).unwrap();
        let mut outcome =
            Outcome { revision: "2025-11-25", scenario: "stateless".into(), ..Outcome::default() };
        exceptions.apply(&mut outcome);
        assert!(!outcome.is_failure());
        let required = ["prompts-list".to_owned()];
        assert!(exceptions.idle("2025-11-25", &required).is_empty());
        assert_eq!(exceptions.idle("2026-07-28", &required).len(), 1);
    }

    #[test]
    fn every_known_exception_is_readable_and_has_a_reason() {
        let known = Exceptions::known().unwrap();
        assert!(known.0.iter().all(|one| one.reason.len() > 10), "{known:?}");
        for bad in ["both prompts-list", "2024-11-05 ping why", "ping"] {
            assert!(Exceptions::read(bad).is_err(), "{bad}");
        }
    }
}
