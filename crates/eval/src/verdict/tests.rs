use converse_config::{Scope, SourceMap};
use serde_json::json;

use super::*;
use crate::parse::parse_suite;

/// The expectations of a case with these keys.
fn expect(keys: &str) -> Expect {
    let mut sources = SourceMap::new();
    let text = format!("[[cases]]\nname = \"c\"\nprompt = \"x\"\n{keys}\n");
    let id = sources.add("s.toml", Scope::User, &text);
    let mut checked = parse_suite(&sources, id);
    let shown: Vec<String> = checked.diagnostics.iter().map(|one| one.render(&sources)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    checked.value.cases.remove(0).expect
}

/// A conversation with these calls.
fn finished(answer: &str, calls: &[(&str, Value)]) -> Finished {
    let invocations = calls
        .iter()
        .map(|(tool, arguments)| json!({ "tool": tool.replace('.', "__"), "arguments": arguments }));
    let object = json!({ "answer": answer, "exit": 0, "reason": "answered", "invocations": invocations.collect::<Vec<_>>() });
    serde_json::from_value(object).unwrap()
}

/// Keys and messages of what is missed.
#[track_caller]
fn missed(keys: &str, finished: &Finished) -> Vec<String> {
    let status = verdict(&expect(keys), finished);
    status.misses().iter().map(|miss| format!("{}: {}", miss.key, miss.message)).collect()
}

#[test]
fn tools_are_compared_by_name_and_order() {
    let calls = [("a.x", json!({})), ("b.y", json!({ "n": 1 })), ("a.z", json!({}))];
    let finished = finished("", &calls);
    for (keys, expected) in [
        ("tools.must = [\"a.x\", \"b\", \"*.z\"]", None),
        ("tools.must = [\"a.x\", \"c.*\"]", Some("tools.must: `c.*` was not called; calls: a.x, b.y, a.z")),
        ("tools.must_not = [\"c\"]", None),
        ("tools.must_not = [\"b.y\"]", Some("tools.must_not: `b.y` was called with {\"n\":1}")),
        ("tools.must_not = [\"b\"]", Some("tools.must_not: `b.y` (`b`) was called with {\"n\":1}")),
        ("tools.must = [\"a.x\"]\ntools.may = [\"b\", \"a.z\"]", None),
        ("tools.order = [\"a.x\"]\ntools.may = [\"b.*\"]\ncalls = [{ tool = \"a.z\" }]", None),
        ("tools.may = [\"a\"]", Some("tools.may: `b.y` was called, which is not allowed here")),
        ("tools.may = [\"a\", \"b\"]\ntools.order = [\"a\", \"a.z\"]", None),
        (
            "tools.order = [\"b\", \"a.x\"]",
            Some("tools.order: expected b, a.x; `a.x` is missing in: a.x, b.y, a.z"),
        ),
    ] {
        assert_eq!(missed(keys, &finished), Vec::from_iter(expected.map(str::to_owned)), "{keys}");
    }
    assert_eq!(missed("tools.may = []", &finished).len(), 3);
    assert_eq!(
        missed("tools.must = [\"a\"]", &super::tests::finished("", &[])),
        ["tools.must: `a` was not called; calls: none"]
    );
}

#[test]
fn arguments_are_a_part_a_schema_or_a_pattern() {
    let call = |keys: &str| format!("[[cases.calls]]\ntool = \"w.get\"\n{keys}");
    let arguments = json!({ "city": "Paris", "days": 3, "at": { "lat": 1.5, "lon": 2 }, "tags": ["a", "b"] });
    let finished = finished("", &[("w.get", json!({})), ("w.get", arguments)]);
    for (keys, fault) in [
        ("", None),
        ("arguments = { city = \"Paris\", days = 3.0, at = { lon = 2 } }", None),
        ("arguments = { tags = [\"a\", \"b\"] }", None),
        ("arguments = { tags = [\"a\"] }", Some("`/tags` is [\"a\",\"b\"], expected [\"a\"]")),
        ("arguments = { days = 4 }", Some("`/days` is 3, expected 4")),
        ("arguments = { at = { lat = 2 }, tags = [\"a\", \"b\"] }", Some("`/at/lat` is 1.5, expected 2")),
        ("schema = { required = [\"city\"] }", None),
        (
            "schema.properties.days = { minimum = 5 }\nschema.required = [\"days\", \"city\", \"x\"]",
            Some("schema: "),
        ),
        ("pattern = { city = \"^P\", \"/at/lat\" = '^1\\.5$' }", None),
        ("pattern = { city = \"^Q\", days = \"3\" }", Some("`city` is \"Paris\", which does not match `^Q`")),
    ] {
        let missed = missed(&call(keys), &finished);
        match fault {
            None => assert!(missed.is_empty(), "{keys}: {missed:?}"),
            Some(fault) => assert!(missed.len() == 1 && missed[0].contains(fault), "{keys}: {missed:?}"),
        }
    }
    let missed = missed("[[cases.calls]]\ntool = \"w.set\"", &finished);
    assert_eq!(missed, ["calls: `w.set` was not called; calls: w.get, w.get"]);
}

#[test]
fn the_nearest_call_is_the_one_that_is_shown() {
    let calls =
        [("w.get", json!({ "city": "Rome", "days": 1 })), ("w.get", json!({ "city": "Paris", "days": 1 }))];
    let keys = "[[cases.calls]]\ntool = \"w.get\"\narguments = { city = \"Paris\", days = 2 }";
    assert_eq!(
        missed(keys, &finished("", &calls)),
        ["calls: `w.get` was called with {\"city\":\"Paris\",\"days\":1}: `/days` is 1, expected 2"]
    );
}

#[test]
fn answers_are_compared_as_text() {
    let finished = finished("It is 375.\n", &[]);
    for (keys, expected) in [
        ("answer.contains = [\"375\", \"It\"]", None),
        (
            "answer.contains = \"376\"",
            Some("answer.contains: the answer does not contain \"376\": \"It is 375.\""),
        ),
        ("answer.not_contains = [\"about\"]", None),
        (
            "answer.not_contains = [\"375\"]",
            Some("answer.not_contains: the answer contains \"375\": \"It is 375.\""),
        ),
        ("answer.matches = '\\b375\\b'", None),
        ("answer.matches = '^375'", Some("answer.matches: the answer does not match `^375`: \"It is 375.\"")),
    ] {
        assert_eq!(missed(keys, &finished), Vec::from_iter(expected.map(str::to_owned)), "{keys}");
    }
}

#[test]
fn an_ending_is_the_models_fault_or_nobodys() {
    let ended = |reason: &str| {
        let object = json!({ "answer": "", "exit": 7, "reason": reason, "error": { "code": reason, "message": "why" } });
        serde_json::from_value::<Finished>(object).unwrap()
    };
    for fault in FAULTS {
        let status = verdict(&Expect::default(), &ended(fault));
        assert_eq!(status, Status::Failed(vec![Miss::new("ending", format!("{fault}: why"))]));
    }
    for other in ["auth", "unreachable", "cassette-miss", "rate-limit"] {
        let status = verdict(&expect("tools.must = [\"a\"]"), &ended(other));
        assert_eq!(status, Status::Error(Miss::new(other, "why")));
    }
}

#[test]
fn long_texts_are_cut() {
    let many: Vec<(&str, Value)> = (0..40).map(|_| ("a.x", json!({ "t": "y".repeat(5_000) }))).collect();
    let missed = missed(
        "tools.must = [\"b\"]\ntools.must_not = [\"a\"]\nanswer.contains = \"q\"",
        &finished(&"z".repeat(9_000), &many),
    );
    assert!(missed.len() == 3 && missed.iter().all(|miss| miss.len() < 500), "{missed:?}");
    assert!(missed[0].ends_with("… (40 in all)"), "{}", missed[0]);
}
