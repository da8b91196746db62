//! SARIF 2.1.0, which code scanning reads: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>, with
//! what GitHub asks for beyond it:
//! <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>
//! (checked 2026-11).
//!
//! Nothing in it depends on time or machine. The fingerprint of a result is made without its line, so that a finding
//! that moved is the same finding; equal ones of a file are numbered.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Place, Report};
use converse_config::{Code, Finding, Severity};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The base of relative names: the root of the checkout, which only the reader knows.
const ROOT: &str = "%SRCROOT%";
/// Bytes of a fingerprint.
const FINGERPRINT: usize = 8;

/// Formats the findings as a SARIF log.
pub fn sarif(report: &Report<'_>) -> Value {
    let mut rules: Vec<Code> = report.findings.iter().map(|finding| finding.code).collect();
    rules.sort_unstable();
    rules.dedup();
    let driver = json!({
        "name": "converse",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
    });
    let mut seen = BTreeMap::new();
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let index = rules.iter().position(|code| *code == finding.code);
            result(report, finding, index, &fingerprint(report, finding, &mut seen))
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    })
}

fn rule(code: Code) -> Value {
    let (name, description, hint) = (code.as_str(), sentence(code.description()), sentence(code.hint()));
    json!({
        "id": name,
        "shortDescription": { "text": description },
        "help": { "text": hint },
    })
}

fn result(report: &Report<'_>, finding: &Finding, rule: Option<usize>, fingerprint: &str) -> Value {
    let artifact = match report.relative(&finding.file) {
        Place::Below(name) => json!({ "uri": uri(&name), "uriBaseId": ROOT }),
        Place::Elsewhere(name) if name.starts_with('/') => json!({ "uri": format!("file://{}", uri(name)) }),
        Place::Elsewhere(name) => json!({ "uri": uri(name) }),
    };
    let mut place = json!({ "artifactLocation": artifact });
    if let Some(line) = finding.line {
        place["region"] = json!({ "startLine": line, "startColumn": finding.column.unwrap_or(1) });
    }
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "message": { "text": text(finding) },
        "locations": [{ "physicalLocation": place }],
        "partialFingerprints": { "primaryLocationLineHash": fingerprint },
    })
}

/// Returns a digest of the code, the file and the message, without the line, and the number among equal findings.
fn fingerprint(report: &Report<'_>, finding: &Finding, seen: &mut BTreeMap<String, usize>) -> String {
    let place = report.relative(&finding.file);
    let digest = Sha256::digest(format!("{}\0{}\0{}", finding.code, place.name(), finding.message));
    let hex: String = digest.iter().take(FINGERPRINT).map(|byte| format!("{byte:02x}")).collect();
    let number = seen.entry(hex.clone()).or_default();
    *number += 1;
    format!("{hex}:{number}")
}

fn text(finding: &Finding) -> String {
    let message = sentence(&finding.message);
    match &finding.hint {
        Some(hint) => format!("{message}\nhint: {}", sentence(hint)),
        None => message,
    }
}

/// Ends the text with a full stop, because readers show the first sentence of a text.
fn sentence(text: &str) -> String {
    let ended = text.ends_with(['.', '!', '?']);
    if ended { text.to_owned() } else { format!("{text}.") }
}

/// <https://www.rfc-editor.org/rfc/rfc3986#section-2.3>: a path, its slashes kept. A colon in a first segment would be
/// a scheme, so it is written as well.
fn uri(path: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let written =
        |byte: u8| if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::samples;

    #[test]
    fn results_have_their_rule_their_place_and_a_level() {
        let log = samples::report(&samples::findings(), sarif);
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 4);
        for result in run["results"].as_array().unwrap() {
            let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
            assert_eq!(rule["id"], result["ruleId"]);
        }
        let place = |index: usize| &run["results"][index]["locations"][0]["physicalLocation"];
        assert_eq!(
            *place(0),
            json!({
                "artifactLocation": { "uri": "ensembles/a%20b%25%2C%3A.toml", "uriBaseId": "%SRCROOT%" },
                "region": { "startLine": 3, "startColumn": 7 },
            })
        );
        assert_eq!(*place(3), json!({ "artifactLocation": { "uri": "file:///elsewhere/%C3%A9.toml" } }));
        assert_eq!(place(4)["artifactLocation"], json!({ "uri": "builtin%3Ax.toml" }));
        assert_eq!(
            (&run["results"][0]["level"], &run["results"][1]["level"]),
            (&json!("error"), &json!("warning"))
        );
    }

    #[test]
    fn a_finding_that_moved_is_the_same_and_another_is_not() {
        let prints = |findings: &[Finding]| {
            let log = samples::report(findings, sarif);
            let results = log["runs"][0]["results"].as_array().unwrap().clone();
            results.iter().map(|result| result["partialFingerprints"].to_string()).collect::<Vec<_>>()
        };
        let before = samples::findings();
        let mut moved = before.clone();
        moved.iter_mut().for_each(|finding| finding.line = finding.line.map(|line| line + 40));
        assert_eq!(prints(&before), prints(&moved));
        let distinct: std::collections::BTreeSet<_> = prints(&before).into_iter().collect();
        assert_eq!(distinct.len(), before.len());
        let mut other = before.clone();
        other[1].message.push('!');
        assert_ne!(prints(&before)[1], prints(&other)[1]);
    }
}
