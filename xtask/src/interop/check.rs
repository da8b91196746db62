//! What a run of the program must have said.

use serde_json::Value;

use super::process::Ran;

#[derive(Debug, Clone)]
pub(crate) enum Check {
    /// In stdout.
    Says(String),
    /// Once in stdout, not twice.
    Once(String),
    /// Not in stdout.
    Lacks(String),
    /// In stderr.
    Complains(String),
    /// stdout is JSON, and has this at a pointer.
    Is(&'static str, Value),
    /// stdout is JSON, and has this content block (a subset of its keys) among `content`.
    Block(Value),
    /// stdout is the object of `ask -o json`, and these tools were invoked, in this order, each with success.
    Invoked(Vec<String>),
    /// stdout is the records of `ask -o jsonl`, with one of this type.
    Record(&'static str),
}

pub(crate) fn says(text: impl Into<String>) -> Check {
    Check::Says(text.into())
}

pub(crate) fn once(text: impl Into<String>) -> Check {
    Check::Once(text.into())
}

pub(crate) fn complains(text: impl Into<String>) -> Check {
    Check::Complains(text.into())
}

impl Check {
    /// What is wrong, if something is.
    pub(crate) fn problem(&self, ran: &Ran) -> Option<String> {
        let (good, wanted) = match self {
            Self::Says(text) => (ran.stdout.contains(text), format!("stdout says {text:?}")),
            Self::Once(text) => {
                (ran.stdout.matches(text.as_str()).count() == 1, format!("stdout says {text:?} exactly once"))
            }
            Self::Lacks(text) => (!ran.stdout.contains(text), format!("stdout does not say {text:?}")),
            Self::Complains(text) => (ran.stderr.contains(text), format!("stderr says {text:?}")),
            Self::Is(pointer, value) => {
                let good = ran.json().pointer(pointer) == Some(value);
                (good, format!("`{pointer}` is {value}"))
            }
            Self::Block(block) => {
                let found = ran.json();
                let blocks = found["content"].as_array();
                let good = blocks.is_some_and(|blocks| blocks.iter().any(|found| fits(found, block)));
                (good, format!("there is a content block {block}"))
            }
            Self::Invoked(tools) => {
                let found = invoked(&ran.json());
                let wanted: Vec<_> = tools.iter().map(|tool| (tool.as_str(), "success")).collect();
                let found: Vec<_> = found.iter().map(|(tool, out)| (tool.as_str(), out.as_str())).collect();
                (found == wanted, format!("invoked was {tools:?}, each with success, and not {found:?}"))
            }
            Self::Record(kind) => (records(ran).any(|record| record == *kind), format!("a `{kind}` record")),
        };
        (!good).then(|| format!("expected: {wanted}"))
    }
}

/// Has `found` every key of `wanted`, with that value?
fn fits(found: &Value, wanted: &Value) -> bool {
    wanted.as_object().is_some_and(|wanted| wanted.iter().all(|(key, value)| found.get(key) == Some(value)))
}

fn invoked(answer: &Value) -> Vec<(String, String)> {
    let calls = answer["invocations"].as_array().into_iter().flatten();
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    calls.map(|call| (word(&call["tool"]), word(&call["outcome"]))).collect()
}

fn records(ran: &Ran) -> impl Iterator<Item = String> {
    let lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|record| record["type"].as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ran(stdout: &str, stderr: &str) -> Ran {
        Ran { stdout: stdout.to_owned(), stderr: stderr.to_owned(), ..Ran::default() }
    }

    #[test]
    fn a_check_holds_or_says_what_it_wanted() {
        let texts = ran("one two two", "bad luck");
        let result = ran(r#"{"outcome":"success","content":[{"type":"blob","mime":"image/png"}]}"#, "");
        let answer = r#"{"invocations":[{"tool":"a__b","outcome":"success"},{"tool":"a__c","outcome":OUT}]}"#;
        let good = ran(&answer.replace("OUT", "\"success\""), "");
        let failed = ran(&answer.replace("OUT", "\"failed\""), "");
        let open = ran(&answer.replace("OUT", "null"), "");
        let records = ran("{\"type\":\"a.b\"}\nno json\n{\"type\":\"done\"}\n", "");
        let both = || Check::Invoked(vec!["a__b".into(), "a__c".into()]);
        for (check, ran, holds) in [
            (says("two"), &texts, true),
            (says("bad"), &texts, false),
            (once("one"), &texts, true),
            (once("two"), &texts, false),
            (once("three"), &texts, false),
            (Check::Lacks("three".into()), &texts, true),
            (Check::Lacks("two".into()), &texts, false),
            (complains("luck"), &texts, true),
            (complains("one"), &texts, false),
            (Check::Is("/outcome", json!("success")), &result, true),
            (Check::Is("/outcome", json!("failed")), &result, false),
            (Check::Is("/outcome", json!("success")), &texts, false),
            (Check::Block(json!({ "type": "blob" })), &result, true),
            (Check::Block(json!({ "type": "blob", "mime": "image/gif" })), &result, false),
            (Check::Block(json!({ "type": "text" })), &result, false),
            (both(), &good, true),
            (both(), &failed, false),
            (both(), &open, false),
            (Check::Invoked(vec!["a__b".into()]), &good, false),
            (both(), &texts, false),
            (Check::Record("a.b"), &records, true),
            (Check::Record("a"), &records, false),
        ] {
            assert_eq!(check.problem(ran).is_none(), holds, "{check:?} {ran:?}");
        }
        assert!(both().problem(&failed).unwrap().contains(r#"("a__c", "failed")"#));
    }
}
