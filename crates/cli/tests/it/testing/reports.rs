//! How the outcomes of tests are told: lines, JUnit, the audit; and what is not told.

use super::{ECHO, own, run, tool};
use crate::env::TestEnv;
use crate::xml::{Element, parse};

#[test]
fn it_reads_well() {
    let env = TestEnv::new();
    let tests = "[[invokers.tests]]\nname = \"twice\"\narguments = { text = \"ab\", times = 2 }\nexpect.text = \"abab\"\n\n\
        [[invokers.tests]]\narguments = { text = \"a\\u001Bb\", times = 1 }\nexpect.text = \"c\"\n";
    own(&env, &format!("{ECHO}{tests}"));
    let ran = run(&env, &["own"]).exits(3);
    let timeless = |line: &str| match line.rsplit_once("  ") {
        Some((before, time)) if time.ends_with(" ms") => before.to_owned(),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = ran.stdout.lines().map(timeless).collect();
    assert_eq!(
        lines,
        [
            "ok      own.echo  twice",
            "FAILED  own.echo  test 2",
            "        text: the text is \"a\\u{1b}b\", not \"c\"",
            "        --> own/own.toml:14",
            "1 passed, 1 failed",
        ]
    );
    assert_eq!(ran.stderr, "error[tests-failed]: 1 of 2 tests failed\n");
}

#[test]
fn junit_is_well_formed_whatever_a_tool_says() {
    let env = TestEnv::new();
    let tests = "[[invokers.tests]]\nname = 'a <b> & \"c\"'\narguments = { text = \"]]>\\u0000\\u001B<x>\\uFFFE\\t&amp;\", times = 1 }\n\
        expect.text = \"\"\n[[invokers.tests]]\narguments = { text = \"\", times = 0 }\n";
    own(&env, &format!("{ECHO}{tests}"));
    let ran = run(&env, &["own", "--format", "junit"]).exits(3);
    let report = parse(&ran.stdout).unwrap();
    assert_eq!(
        (report.name.as_str(), report.attribute("tests"), report.attribute("failures")),
        ("testsuites", "2", "1")
    );
    let suite = &report.children[0];
    assert_eq!((suite.name.as_str(), suite.attribute("name"), suite.children.len()), ("testsuite", "own", 2));
    let case = &suite.children[0];
    assert_eq!((case.attribute("classname"), case.attribute("name")), ("own.echo", "a <b> & \"c\""));
    assert!(case.attribute("time").parse::<f64>().is_ok());
    let failure: &Element = &case.children[0];
    assert_eq!((failure.name.as_str(), failure.attribute("type")), ("failure", "text"));
    let message =
        "the text is \"]]>\\u{0}\\u{1b}<x>\u{fffe}\\t&amp;\", not \"\"".replace('\u{fffe}', "\\u{fffe}");
    assert_eq!(failure.attribute("message"), message);
    assert!(failure.text.contains("own/own.toml:9"), "{}", failure.text);
    assert!(suite.children[1].children.is_empty());
}

#[test]
fn what_is_called_is_audited() {
    let env = TestEnv::new();
    own(&env, &tool("asks", "test_word", "permission = \"ask\"\n[[invokers.tests]]\n"));
    run(&env, &["own"]).exits(0);
    let log = std::fs::read_to_string(env.path("home/.local/state/converse/audit.jsonl")).unwrap();
    assert!(log.contains("asked for by `ensembles test`") && log.contains("\"success\""), "{log}");
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "a session was kept");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_secret_is_not_in_a_report_whoever_says_it() {
    const SECRET: &str = "granted-canary-0123456789";
    let env = TestEnv::new().var("OWN_TOKEN", SECRET);
    let says = format!(
        "[[invokers]]\nname = \"says\"\ndescription = \"d\"\ncommand = {{ argv = [\"printenv\", \"T\"], \
         environment = {{ T = \"env:OWN_TOKEN\" }} }}\n[[invokers.tests]]\nname = \"of {SECRET}\"\n\
         arguments = {{ x = \"{SECRET}\", {SECRET} = 1 }}\n\
         expect.text = \"not {SECRET}\"\n"
    );
    own(&env, &says);
    for format in ["text", "json", "junit"] {
        let ran = run(&env, &["own", "--format", format]).exits(3);
        assert!(!ran.stdout.contains(SECRET) && ran.stdout.contains("the text is"), "{}", ran.stdout);
        assert!(ran.stdout.contains("of [redacted]"), "{}", ran.stdout);
    }
}

#[test]
fn without_any_test_it_says_so() {
    let env = TestEnv::new();
    own(&env, &tool("word", "test_word", ""));
    // Those of this program have tests; `work/own` alone stands for them all.
    env.write("work/own/essentials.toml", "[ensemble]\nname = \"essentials\"\ndescription = \"d\"\n");
    let ran = run(&env, &["own", "--format", "junit"]).exits(2);
    assert!(ran.stderr.contains("no-tests"), "{}", ran.stderr);
    assert_eq!(parse(&ran.stdout).unwrap().attribute("tests"), "0");
}
