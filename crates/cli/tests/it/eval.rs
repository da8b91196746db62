//! `eval`: suites on the understudy, and on a provider that follows a script.

mod elsewhere;
mod ends;
mod kept;

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::{Line, Provider};

/// A suite of one case for the calculator, with these keys.
fn suite(keys: &str) -> String {
    format!(
        "[suite]\nensembles = [\"essentials\"]\n\n[[cases]]\nname = \"sum\"\nprompt = \"What is 6*7?\"\n{keys}\n"
    )
}

/// What a model says that calls the calculator and then answers.
fn calculates(expression: &str, answer: &'static str) -> [Line; 2] {
    [calls([("essentials__calculator", json!({ "expression": expression }))]).into(), text(answer).into()]
}

/// Runs a suite against the script of a provider.
fn played(keys: &str, script: impl IntoIterator<Item = Line>, args: &[&str]) -> Ran {
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::hasty());
    env.write("work/s.toml", &suite(keys));
    let ran = env.run(&[&["eval", "s.toml", "-m", provider.model(), "-j", "1"], args].concat());
    provider.is_content();
    ran
}

#[track_caller]
fn shows(ran: &Ran, words: &str) {
    assert!(ran.stdout.contains(words), "{words}\nstdout: {}\nstderr: {}", ran.stdout, ran.stderr);
}

fn lines(env: &TestEnv, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(env.path(&format!("work/{file}"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The guide's first example is what it says.
#[test]
fn the_guide_works_as_it_is_written() {
    const GUIDE: &str = include_str!("../../../../docs/guides/eval.md");
    let block = |kind: &str| {
        let (_, rest) = GUIDE.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let env = TestEnv::new();
    env.write("work/suite.toml", block("toml"));
    assert_eq!(block("sh"), "converse eval suite.toml\n");
    let ran = env.run(&["eval", "suite.toml"]).exits(0);
    // But for the time.
    let (expected, _) = block("text").rsplit_once("0 USD").unwrap();
    shows(&ran, expected);
    assert!(ran.stderr.contains("3 runs: 3 passed; 0 USD, "), "{}", ran.stderr);
}

#[test]
fn what_is_expected_passes_and_what_is_not_has_a_reason() {
    let good = "tools = { must = [\"essentials.calculator\"], may = [], must_not = [\"io\"] }\n\
                answer = { contains = \"42\", not_contains = \"about\", matches = '\\b42\\b' }\n\
                [[cases.calls]]\ntool = \"essentials.calculator\"\narguments = { expression = \"6*7\" }\n\
                schema = { required = [\"expression\"] }\npattern = { expression = '^6' }";
    let ran = played(good, calculates("6*7", "It is 42."), &[]).exits(0);
    shows(&ran, "ok      sum  openai-chat/stub  1 of 1\n");
    for (keys, reason) in [
        (
            "tools.must = [\"io.read_file\"]",
            "tools.must: `io.read_file` was not called; calls: essentials.calculator",
        ),
        (
            "tools.must_not = [\"essentials\"]",
            "tools.must_not: `essentials.calculator` (`essentials`) was called with {\"expression\":\"6*7\"}",
        ),
        ("tools.may = [\"io\"]", "tools.may: `essentials.calculator` was called, which is not allowed here"),
        (
            "tools.order = [\"essentials.calculator\", \"io.*\"]",
            "tools.order: expected essentials.calculator, io.*; `io.*` is missing in: essentials.calculator",
        ),
        (
            "calls = [{ tool = \"essentials.calculator\", arguments = { expression = \"6*8\" } }]",
            "calls: `essentials.calculator` was called with {\"expression\":\"6*7\"}: `/expression` is \"6*7\", expected \"6*8\"",
        ),
        (
            "calls = [{ tool = \"essentials.calculator\", schema = { required = [\"decimals\"] } }]",
            "calls: `essentials.calculator` was called with {\"expression\":\"6*7\"}: schema: ",
        ),
        (
            "calls = [{ tool = \"essentials.calculator\", pattern = { expression = \"^7\" } }]",
            "`expression` is \"6*7\", which does not match `^7`",
        ),
        ("answer.contains = \"43\"", "answer.contains: the answer does not contain \"43\": \"It is 42.\""),
    ] {
        let ran = played(keys, calculates("6*7", "It is 42."), &[]).exits(3);
        shows(&ran, "FAILED  sum  openai-chat/stub  0 of 1\n");
        shows(&ran, reason);
        shows(&ran, "        --> s.toml:4\n");
        assert!(ran.stderr.contains("error[eval-failed]: 1 of 1 case failed"), "{}", ran.stderr);
    }
}

#[test]
fn a_case_may_have_tools_of_its_own() {
    let keys = "ensembles = [\"io\"]\ntools.must = [\"essentials.calculator\"]";
    let ran = |args: &[&str]| {
        let env = TestEnv::new();
        env.write("work/s.toml", &suite(keys));
        env.run(&[&["eval", "s.toml", "-m", "understudy"], args].concat())
    };
    shows(&ran(&[]).exits(3), "`essentials.calculator` was not called; calls: none");
    ran(&["-e", "essentials"]).exits(0);
}

#[test]
fn a_refused_call_counts_as_called_and_is_a_bad_ending() {
    let write = || calls([("io__write_file", json!({ "path": "a", "content": "x" }))]);
    let script = || [write(), text("No.")];
    let provider = Provider::chat(script());
    let env = provider.env(TestEnv::hasty());
    env.write("work/s.toml", &suite("tools.must_not = [\"io.write_file\"]").replace("essentials", "io"));
    let args = ["eval", "s.toml", "-m", provider.model()];
    let ran = env.run(&args).exits(3);
    shows(&ran, "ending: unapproved: an approval was needed");
    shows(&ran, "tools.must_not: `io.write_file` was called with ");
    assert!(!env.path("work/a").exists());
    provider.plays(script());
    let ran = env.run(&[&args[..], &["--allow", "io.write_file"]].concat()).exits(3);
    assert!(!ran.stdout.contains("ending: ") && env.path("work/a").exists(), "{}", ran.stdout);
}

#[test]
fn repetitions_have_a_rate_and_pass_hat() {
    let script = || ["42", "41", "42", "42"].map(|answer| Line::from(text(answer)));
    let ran = played("answer.contains = \"42\"", script(), &["--repeat", "4"]).exits(3);
    shows(&ran, "FAILED  sum  openai-chat/stub  3 of 4\n        run 2: answer.contains: ");
    shows(&ran, "pass^4");
    shows(&ran, "75 % (30–95 %)    0.00  ");
    let ran = played("pass_rate = 0.75\nanswer.contains = \"42\"", script(), &["--repeat", "4"]).exits(0);
    shows(&ran, "ok      sum  openai-chat/stub  3 of 4\n");
}

#[test]
fn several_models_are_compared_in_all_reports() {
    let provider = Provider::chat([text("I do not know <&>.")]);
    let env = provider.env(TestEnv::hasty());
    env.write("work/s.toml", &suite("answer.contains = \"42\""));
    let models = ["-m", provider.model(), "-m", "understudy", "-m", "understudy"];
    let reports = ["--junit", "r.xml", "--markdown", "r.md", "-o", "r.jsonl"];
    let ran = env.run(&[&["eval", "s.toml"], &models[..], &reports[..]].concat()).exits(3);
    shows(&ran, "FAILED  sum  openai-chat/stub  0 of 1\n");
    shows(&ran, "ok      sum  understudy        1 of 1\n");
    let junit = std::fs::read_to_string(env.path("work/r.xml")).unwrap();
    let read = crate::xml::parse(&junit).unwrap();
    assert_eq!((read.name.as_str(), read.children.len()), ("testsuites", 2));
    assert!(
        junit.contains("<testsuites name=\"converse eval\" tests=\"2\" failures=\"1\" errors=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("<testcase classname=\"s\" name=\"sum\""), "{junit}");
    assert!(junit.contains("&lt;&amp;&gt;") && junit.contains("--&gt; s.toml:4"), "{junit}");
    let markdown = std::fs::read_to_string(env.path("work/r.md")).unwrap();
    assert!(markdown.contains("\n| `understudy` | 1 of 1 | 1 | 100 % (21–100 %) |"), "{markdown}");
    assert!(
        markdown.contains("\n**FAILED** `sum` with `openai-chat/stub`, 0 of 1 (`s.toml`:4)\n"),
        "{markdown}"
    );
    let lines = lines(&env, "r.jsonl");
    assert_eq!(lines.len(), 2);
    let of = |model: &str| lines.iter().find(|line| line["model"] == model).unwrap();
    assert_eq!((&of("understudy")["status"], &of("understudy")["misses"]), (&json!("passed"), &json!([])));
    let failed = of(provider.model());
    assert_eq!(
        (&failed["status"], &failed["misses"][0]["key"]),
        (&json!("failed"), &json!("answer.contains"))
    );
    assert_eq!(failed["result"]["answer"], "I do not know <&>.");
    // Other files are never overwritten by results.
    let ran = env.run(&["eval", "s.toml", "-m", "understudy", "-o", "s.toml"]).exits(2);
    assert!(ran.stderr.contains("error[not-results]"), "{}", ran.stderr);
}

#[test]
fn a_judge_decides_only_if_all_else_is_met() {
    let keys = "answer = { contains = \"42\", judge = { model = \"openai-chat/stub\", question = \"Is it polite?\" } }";
    for (ruling, code, shown) in [
        ("{\"reason\": \"It says please.\", \"pass\": true}", 0, "ok      sum"),
        ("{\"reason\": \"It is rude.\", \"pass\": false}", 3, "answer.judge: openai-chat/stub: It is rude."),
    ] {
        let ran = played(keys, [text("42, please.").into(), text(ruling).into()], &[]).exits(code);
        shows(&ran, shown);
    }
    let ran = played(keys, [text("41").into()], &[]).exits(3);
    shows(&ran, "answer.contains: ");
    // A judge that gives no verdict says nothing about the model.
    let script = ["42", "Yes!", "Yes!", "Yes!"].map(|words| Line::from(text(words)));
    let ran = played(keys, script, &[]).exits(10);
    shows(&ran, "unfit-answer: the judge openai-chat/stub did not answer: ");
}

#[test]
fn an_answer_must_fit_its_schema() {
    let env = |script: Vec<Line>| {
        let provider = Provider::chat(script);
        let env = provider.env(TestEnv::hasty());
        env.write(
            "work/a.json",
            r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#,
        );
        env.write("work/s.toml", &suite("answer.schema = \"a.json\""));
        env.run(&["eval", "s.toml", "-m", provider.model()])
    };
    env(vec![text("{\"n\": 42}").into()]).exits(0);
    let ran = env((0..3).map(|_| text("none").into()).collect()).exits(3);
    shows(&ran, "ending: unfit-answer: ");
}
