//! What became of each scenario: read from the files that the suite writes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Result;

/// One scenario at one revision.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    /// `client` or `server`.
    pub(super) side: &'static str,
    pub(super) revision: &'static str,
    pub(super) scenario: String,
    pub(super) passed: usize,
    /// What is not as it should be, each in a line.
    pub(super) wrong: Vec<String>,
    /// Why it need not pass.
    pub(super) excused: Option<String>,
}

impl Outcome {
    /// Reads it from the newest directory of results below `dir`: `SCENARIO-TIMESTAMP/checks.json`.
    pub(super) fn read(
        dir: &Path,
        side: &'static str,
        revision: &'static str,
        scenario: &str,
    ) -> Result<Self> {
        let mut outcome = Self { side, revision, scenario: scenario.to_owned(), ..Self::default() };
        let Some(text) = newest(dir, scenario)? else {
            outcome.wrong.push("the suite wrote no result of it".to_owned());
            return Ok(outcome);
        };
        outcome.judge(&serde_json::from_str(&text)?);
        Ok(outcome)
    }

    /// A warning counts like a failure, as the suite scores it; and a scenario in which nothing was looked at has not
    /// been passed.
    fn judge(&mut self, checks: &Value) {
        for check in checks.as_array().into_iter().flatten() {
            match check["status"].as_str() {
                Some("SUCCESS") => self.passed += 1,
                Some(status @ ("FAILURE" | "WARNING")) => self.wrong.push(line(status, check)),
                _ => {}
            }
        }
        if self.passed == 0 && self.wrong.is_empty() {
            self.wrong.push("nothing of it was checked".to_owned());
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        !self.wrong.is_empty() && self.excused.is_none()
    }

    pub(super) fn told(&self) -> String {
        let head = format!("{} {}: {}\n", self.side, self.revision, self.scenario);
        let lines: String = self.wrong.iter().map(|line| format!("  {line}\n")).collect();
        head + lines.trim_end_matches('\n')
    }
}

/// One check that did not pass.
fn line(status: &str, check: &Value) -> String {
    let word = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let why = [&check["errorMessage"], &check["details"]["message"]].into_iter().find_map(Value::as_str);
    let why = why.map_or_else(|| word("description"), str::to_owned);
    let details = match &check["details"] {
        Value::Null => String::new(),
        details => format!(" {}", details.to_string().chars().take(600).collect::<String>()),
    };
    format!("{status} {}: {why}{details}", word("id"))
}

fn newest(dir: &Path, scenario: &str) -> Result<Option<String>> {
    // `auth/basic-cimd` is in a directory of its own.
    let place = dir.join(scenario);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(None);
    };
    let mut found: Vec<_> = fs::read_dir(parent)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path: &std::path::PathBuf| {
        let rest = path.file_name().and_then(|found| found.to_str()?.strip_prefix(name)?.strip_prefix('-'));
        // A timestamp: `2026-11-22T…`. Another scenario's name may begin with this one's.
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('T'))
    });
    found.sort();
    match found.pop() {
        Some(newest) => Ok(Some(fs::read_to_string(newest.join("checks.json"))?)),
        None => Ok(None),
    }
}

/// A line for each side and revision, then one for each scenario that did not pass.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for outcome in outcomes {
        if !groups.contains(&(outcome.side, outcome.revision)) {
            groups.push((outcome.side, outcome.revision));
        }
    }
    for (side, revision) in groups {
        let of = || outcomes.iter().filter(|one| (one.side, one.revision) == (side, revision));
        let passed = of().filter(|one| one.wrong.is_empty()).count();
        let checks: usize = of().map(|one| one.passed).sum();
        text.push_str(&format!("{side} {revision}: {passed}/{} scenarios, {checks} checks\n", of().count()));
        for one in of().filter(|one| !one.wrong.is_empty()) {
            let verdict = match &one.excused {
                Some(reason) => format!("not passed: {reason}"),
                None => "FAILED".to_owned(),
            };
            text.push_str(&format!("  {}: {verdict}\n", one.scenario));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(checks: Value) -> Outcome {
        let mut outcome = Outcome {
            side: "client",
            revision: "2026-07-28",
            scenario: "x".to_owned(),
            ..Outcome::default()
        };
        outcome.judge(&checks);
        outcome
    }

    #[test]
    fn failures_and_warnings_and_nothing_at_all_are_no_success() {
        let status = |status: &str| json!({ "id": "i", "status": status, "description": "d" });
        for (checks, passed, wrong) in [
            (json!([status("SUCCESS"), status("INFO"), status("SUCCESS")]), 2, 0),
            (json!([status("SUCCESS"), status("FAILURE")]), 1, 1),
            (json!([status("SUCCESS"), status("WARNING")]), 1, 1),
            (json!([status("SKIPPED")]), 0, 1),
            (json!([]), 0, 1),
            (json!({}), 0, 1),
        ] {
            let outcome = judged(checks);
            assert_eq!((outcome.passed, outcome.wrong.len()), (passed, wrong), "{outcome:?}");
            assert_eq!(outcome.is_failure(), wrong > 0);
        }
        let failed = judged(
            json!([{ "id": "i", "status": "FAILURE", "description": "d", "details": { "message": "m" } }]),
        );
        assert!(failed.told().contains("FAILURE i: m"), "{}", failed.told());
    }

    #[test]
    fn the_newest_result_of_the_very_scenario_is_read() {
        let dir = tempfile::tempdir().unwrap();
        for (name, status) in [
            ("auth/dpop-2026-11-22T04-28-27-863Z", "FAILURE"),
            ("auth/dpop-2026-11-22T05-28-27-863Z", "SUCCESS"),
            ("auth/dpop-nonce-2026-11-22T06-28-27-863Z", "FAILURE"),
        ] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
            let checks = json!([{ "id": "i", "status": status }]).to_string();
            fs::write(dir.path().join(name).join("checks.json"), checks).unwrap();
        }
        let read = |scenario| Outcome::read(dir.path(), "client", "2025-11-25", scenario).unwrap();
        assert!(!read("auth/dpop").is_failure());
        assert!(read("auth/dpop-nonce").is_failure());
        assert!(read("auth/d").is_failure() && read("ping").is_failure(), "no result is no success");
    }

    #[test]
    fn an_excuse_is_shown_and_does_not_fail() {
        let good = judged(json!([{ "status": "SUCCESS" }]));
        let bad = judged(json!([{ "status": "FAILURE" }]));
        let excused = Outcome { excused: Some("tools only".to_owned()), ..bad.clone() };
        assert!(!excused.is_failure());
        let text = table(&[good, bad, excused]);
        assert_eq!(
            text,
            "client 2026-07-28: 1/3 scenarios, 1 checks\n  x: FAILED\n  x: not passed: tools only\n"
        );
    }
}
