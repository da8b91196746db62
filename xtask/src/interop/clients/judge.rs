//! What a client should have seen at the gateway.

use serde_json::Value;

/// Twenty calls of a second each take twenty seconds if they run one by one.
const AT_ONCE: u64 = 10_000;
/// Progress is told four times; the last may come too late to be heard.
const HEARD: u64 = 3;

/// What is wrong with what it saw.
pub(super) fn problems(seen: &Value, revision: &str, progress: bool, http: bool) -> Vec<String> {
    if !seen.is_object() {
        return vec!["expected: it tells what it saw".to_owned()];
    }
    let number = |key: &str| seen[key].as_u64().unwrap_or(0);
    let text = |key: &str| seen[key]["text"].as_str().unwrap_or_default();
    let said = |key: &str| seen[key].to_string();
    let failed = |key: &str| seen[key]["failed"].as_bool();
    let refused = |key: &str| failed(key) == Some(true) || seen[key]["refused"].is_string();
    // The Inspector's own word for 401 is the other one.
    let kept_out = seen["intruder"].as_str().is_some_and(|word| {
        word.starts_with("kept out") && ["401", "auth_required"].iter().any(|why| word.contains(why))
    });
    let others = &seen["image"]["others"];
    let checks = [
        ("all tools, by their ensemble's name", tools(&seen["tools"])),
        ("a call succeeds", failed("good") == Some(false) && text("good") == "Echo: cheese on the moon"),
        ("structured content arrives", seen["structured"]["structured"]["temperature"].is_number()),
        (
            "an image arrives",
            others.as_array().is_some_and(|others| others.iter().any(|kind| kind == "image")),
        ),
        (
            "a call fails, and says why",
            failed("bad") == Some(true) && text("bad").contains("Invalid resourceId"),
        ),
        ("wrong arguments are refused by name", refused("invalid") && said("invalid").contains("/a")),
        (
            "a tool that is not there is refused",
            refused("unknown") && said("unknown").contains("no-such-tool"),
        ),
        ("a long call ends well", failed("long") == Some(false) && text("long").contains("completed")),
        ("its progress is heard", !progress || number("progress") >= HEARD),
        ("20 calls at once", number("many") == 20 && number("many_ms") < AT_ONCE),
        ("the newest revision that both speak", seen["protocol"].is_null() || seen["protocol"] == revision),
        ("nobody comes in without a token", !http || kept_out),
    ];
    let broken = checks.into_iter().filter(|(_, good)| !good);
    broken.map(|(what, _)| format!("expected: {what}")).collect()
}

fn tools(tools: &Value) -> bool {
    let names: Vec<&str> = tools.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let wanted = super::super::servers::EVERYTHING.iter();
    names.iter().all(|name| name.starts_with("everything__"))
        && wanted.clone().all(|tool| names.contains(&format!("everything__{tool}").as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        let names = super::super::super::servers::EVERYTHING.iter();
        let tools: Vec<String> = names.map(|tool| format!("everything__{tool}")).collect();
        json!({
            "tools": tools, "protocol": "2026-07-28", "many": 20, "many_ms": 1100, "progress": 4,
            "good": { "failed": false, "text": "Echo: cheese on the moon" },
            "structured": { "structured": { "temperature": 36 } },
            "image": { "others": ["image"] },
            "bad": { "failed": true, "text": "Invalid resourceId: -1" },
            "invalid": { "failed": true, "text": "invalid arguments: /a: must be a number" },
            "unknown": { "refused": "unknown tool no-such-tool" },
            "long": { "failed": false, "text": "Long running operation completed." },
            "intruder": "kept out: 401",
        })
    }

    fn wrong(key: &str, value: Value) -> Vec<String> {
        let mut seen = good();
        seen[key] = value;
        problems(&seen, "2026-07-28", true, true)
    }

    #[test]
    fn each_thing_that_is_missing_is_named() {
        assert!(problems(&good(), "2026-07-28", true, true).is_empty());
        for (key, value, named) in [
            ("tools", json!(["everything__echo"]), "all tools"),
            ("good", json!({ "failed": false, "text": "Echo: " }), "succeeds"),
            ("structured", json!({}), "structured"),
            ("image", json!({ "others": ["text"] }), "image"),
            ("bad", json!({ "failed": false, "text": "Invalid resourceId" }), "fails"),
            ("invalid", json!({ "failed": false, "text": "/a" }), "wrong arguments"),
            ("unknown", json!({ "refused": "no" }), "not there"),
            ("long", json!({ "failed": true, "text": "completed" }), "long"),
            ("progress", json!(1), "progress"),
            ("many", json!(19), "20 calls"),
            ("many_ms", json!(20_100), "20 calls"),
            ("protocol", json!("2025-11-25"), "revision"),
            ("intruder", json!("let in"), "token"),
            ("intruder", json!("kept out: 500"), "token"),
        ] {
            let found = wrong(key, value);
            assert!(found.len() == 1 && found[0].contains(named), "{key}: {found:?}");
        }
        assert_eq!(problems(&Value::Null, "2026-07-28", true, true).len(), 1);
    }

    #[test]
    fn what_a_client_cannot_show_is_not_asked_of_it() {
        let mut seen = good();
        seen["progress"] = json!(0);
        seen["protocol"] = Value::Null;
        seen["intruder"] = Value::Null;
        assert!(problems(&seen, "2026-07-28", false, false).is_empty());
        assert_eq!(problems(&seen, "2026-07-28", false, true).len(), 1);
    }
}
