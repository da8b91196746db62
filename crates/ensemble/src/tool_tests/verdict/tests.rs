use converse_config::{Origin, Scope};
use serde_json::{Map, json};

use super::*;

fn test(expect: Expectation) -> TestPlan {
    let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 7 };
    TestPlan { name: None, arguments: Map::new(), expect, origin }
}

fn texts(texts: &[&str]) -> Vec<Content> {
    texts.iter().map(|text| Content::text(*text)).collect()
}

/// The words of what does not hold, for a call that took 20 ms.
fn misses(expect: Expectation, outcome: Outcome, content: &[Content]) -> Vec<String> {
    let misses = verdict(&test(expect), outcome, content, Duration::from_millis(20));
    misses.into_iter().map(|miss| format!("{}: {}", miss.key, miss.words)).collect()
}

#[test]
fn each_expectation_holds_or_says_why_not() {
    let any = Expectation::default;
    let structure = [
        Content::text("seven"),
        Content::Structured { value: json!({ "n": 7.0, "l": [1, { "a": 1, "b": 2 }] }) },
    ];
    let read = texts(&[" {\"n\": 7} "]);
    let list = json!({ "type": "array" });
    for (expect, content, wanted) in [
        (any(), texts(&["x"]), &[][..]),
        (Expectation { text: Some(" a\nb\n".into()), ..any() }, texts(&["a", "b "]), &[]),
        (
            Expectation { text: Some("a".into()), ..any() },
            texts(&["ab"]),
            &["text: the text is \"ab\", not \"a\""],
        ),
        (Expectation { contains: vec!["b".into(), "a".into()], ..any() }, texts(&["ab"]), &[]),
        (
            Expectation { contains: vec!["b".into(), "c\n".into(), "d".into()], ..any() },
            texts(&["ab\x1b"]),
            &[
                "contains: the text does not contain \"c\\n\": \"ab\\u{1b}\"",
                "contains: the text does not contain \"d\": \"ab\\u{1b}\"",
            ],
        ),
        (Expectation { matches: Some("^a.c$".into()), ..any() }, texts(&["abc"]), &[]),
        (
            Expectation { matches: Some("^b".into()), ..any() },
            texts(&["abc"]),
            &["matches: the text does not match \"^b\": \"abc\""],
        ),
        (
            Expectation { matches: Some("(".into()), ..any() },
            texts(&["abc"]),
            &["matches: \"(\" is not a usable pattern: unclosed group"],
        ),
        (
            Expectation {
                json: vec![("/n".into(), json!(7)), ("/l/1".into(), json!({ "b": 2, "a": 1.0 }))],
                ..any()
            },
            structure.to_vec(),
            &[],
        ),
        (
            Expectation { json: vec![("/n".into(), json!(7)), (String::new(), json!({ "n": 7 }))], ..any() },
            read.clone(),
            &[],
        ),
        (
            Expectation { json: vec![("/n".into(), json!("7")), ("/m".into(), json!(null))], ..any() },
            read.clone(),
            &["json: \"/n\" is 7, not \"7\"", "json: no value at \"/m\": {\"n\":7}"],
        ),
        (
            Expectation { json: vec![("/n".into(), json!(7))], ..any() },
            texts(&["seven"]),
            &["json: the result is not JSON: \"seven\""],
        ),
        (Expectation { schema: Some(json!({ "required": ["n"] })), ..any() }, read.clone(), &[]),
        (
            Expectation { schema: Some(json!({ "properties": { "n": { "maximum": 6 } } })), ..any() },
            read.clone(),
            &["schema: /n does not match the schema: must be at most 6"],
        ),
        (
            Expectation { schema: Some(list.clone()), ..any() },
            read.clone(),
            &["schema: the result does not match the schema: must be array, not object"],
        ),
        (
            Expectation { schema: Some(list.clone()), ..any() },
            texts(&["x"]),
            &["schema: the result is not JSON: \"x\""],
        ),
        (
            Expectation { schema: Some(json!({ "$ref": "http://x" })), ..any() },
            read,
            &[
                "schema: the schema of the test cannot be used: `http://x` is outside the schema, and nothing is fetched",
            ],
        ),
        (Expectation { within: Some(Duration::from_millis(20)), ..any() }, texts(&["x"]), &[]),
        (
            Expectation { within: Some(Duration::from_millis(15)), ..any() },
            texts(&["x"]),
            &["within: it took 0.020 s, longer than 0.015 s"],
        ),
    ] {
        assert_eq!(misses(expect.clone(), Outcome::Success, &content), wanted, "{expect:?}");
    }
}

#[test]
fn the_outcome_is_compared_and_the_reason_shown() {
    let refused = Expectation { outcome: Outcome::Refused, ..Expectation::default() };
    assert!(misses(refused.clone(), Outcome::Refused, &texts(&["no"])).is_empty());
    let wrong = misses(refused, Outcome::Success, &[]);
    assert_eq!(wrong, ["outcome: expected the outcome `refused`, got `success`"]);
    let wrong = misses(Expectation::default(), Outcome::NoSuchTool, &texts(&["there is no tool `x`"]));
    assert_eq!(
        wrong,
        ["outcome: expected the outcome `success`, got `no_such_tool`: \"there is no tool `x`\""]
    );
}

#[test]
fn a_call_that_was_stopped_for_its_time_is_late_and_nothing_else() {
    let expect = Expectation {
        within: Some(Duration::from_millis(10)),
        text: Some("x".into()),
        json: vec![("/a".into(), json!(1))],
        ..Expectation::default()
    };
    let late = misses(expect.clone(), Outcome::Cancelled, &texts(&["cancelled before it had answered"]));
    assert_eq!(late, ["within: timeout: stopped after 0.01 s"]);
    // Stopped for another reason, it has failed in all.
    let patient = Expectation { within: Some(Duration::from_secs(1)), ..expect };
    assert_eq!(misses(patient, Outcome::Cancelled, &[]).len(), 3);
}

#[test]
fn the_text_of_a_result_is_its_words_or_else_its_structure() {
    let value = json!({ "n": 1 });
    let link = Content::Resource { uri: "file:///x".into(), name: None, mime: None };
    assert_eq!(result_text(&[Content::Structured { value: value.clone() }]), "{\"n\":1}");
    assert_eq!(result_text(&[Content::text("a"), Content::Structured { value }, link]), "a\nfile:///x");
    assert_eq!(result_text(&[]), "");
}
