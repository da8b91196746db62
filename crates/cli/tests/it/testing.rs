//! `converse ensembles test`, through the real binary: each expectation held and missed, and calls made from schemas.

mod made;
mod reports;
mod stopped;
mod untested;

use serde_json::Value;

use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;
use crate::xml::parse;

const ECHO: &str = "[[invokers]]\nname = \"echo\"\ndescription = \"d\"\nbuiltin = \"test_echo\"\n\
    arguments = { type = \"object\", required = [\"text\", \"times\"], properties = { text = { type = \"string\" }, \
    times = { type = \"integer\", minimum = 0, maximum = 9 } } }\n";

/// A directory `own` with one ensemble `own` of these tools.
fn own(env: &TestEnv, tools: &str) {
    env.write("work/own/own.toml", &format!("[ensemble]\nname = \"own\"\ndescription = \"d\"\n{tools}\n"));
}

fn tool(name: &str, builtin: &str, rest: &str) -> String {
    format!("[[invokers]]\nname = \"{name}\"\ndescription = \"d\"\nbuiltin = \"{builtin}\"\n{rest}\n")
}

fn run(env: &TestEnv, words: &[&str]) -> Ran {
    env.run(&[&["ensembles", "test", "--ensembles", "own"], words].concat())
}

/// The rows of a run that is told as JSON.
fn rows(ran: &Ran) -> Vec<Value> {
    ran.json().as_array().unwrap().clone()
}

/// Each row in short: tool, test, status and the keys of what it missed.
fn short(rows: &[Value]) -> Vec<String> {
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
    let misses = |row: &Value| -> Vec<String> {
        row["misses"].as_array().unwrap().iter().map(|miss| word(miss, "key")).collect()
    };
    let one = |row: &Value| {
        format!(
            "{} {} {} {}",
            word(row, "tool"),
            word(row, "test"),
            word(row, "status"),
            misses(row).join(",")
        )
    };
    rows.iter().map(|row| one(row).trim_end().to_owned()).collect()
}

#[test]
fn every_expectation_is_held_or_missed_for_its_own_reason() {
    let env = TestEnv::new();
    let echo = |text: &str, expect: &str| {
        format!("[[invokers.tests]]\narguments = {{ text = '{text}', times = 1 }}\nexpect.{expect}\n")
    };
    let cases = [
        ("x", "outcome = \"success\"", ""),
        ("x", "outcome = \"failed\"", "outcome"),
        (" ab ", "text = \"ab\"", ""),
        ("ab", "text = \"a\"", "text"),
        ("ab", "contains = [\"a\", \"b\"]", ""),
        ("ab", "contains = [\"a\", \"c\"]", "contains"),
        ("ab", "matches = '^a.$'", ""),
        ("ab", "matches = '^b'", "matches"),
        (r#"{"n": {"m": 7}}"#, "json = { \"/n/m\" = 7 }", ""),
        (r#"{"n": {"m": 7}}"#, "json = { \"/n/m\" = 8 }", "json"),
        (r#"{"n": 7}"#, "json = { \"/m\" = 7 }", "json"),
        ("words", "json = { \"\" = 7 }", "json"),
        (r#"{"n": 7}"#, "schema = { type = \"object\", required = [\"n\"] }", ""),
        (r#"{"n": 7}"#, "schema = { type = \"object\", required = [\"m\"] }", "schema"),
        ("x", "within = \"60s\"", ""),
    ];
    let tests: String = cases.iter().map(|(text, expect, _)| echo(text, expect)).collect();
    own(&env, &format!("{ECHO}{tests}"));
    let found = short(&rows(&run(&env, &["own", "--json"]).exits(3)));
    let wanted: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, (_, _, miss))| match *miss {
            "" => format!("echo test {} passed", at + 1),
            miss => format!("echo test {} failed {miss}", at + 1),
        })
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn outcomes_are_told_apart_and_those_that_are_expected_are_well() {
    let env = TestEnv::new();
    let expect =
        |outcome: &str| format!("[[invokers.tests]]\nname = \"{outcome}\"\nexpect.outcome = \"{outcome}\"\n");
    let all = format!("{}{}", expect("success"), expect("failed"));
    own(
        &env,
        &[
            tool("fails", "test_fail", &all),
            tool("crashes", "test_panic", &all),
            tool("sleeps", "test_sleep", &format!("timeout = 0.05\n{}{}", expect("timeout"), expect("success"))),
            tool("denied", "test_word", &format!("permission = \"deny\"\n{}{}", expect("refused"), expect("success"))),
            tool("asks", "test_word", &format!("permission = \"ask\"\n{}", expect("success"))),
            format!("{ECHO}[[invokers.tests]]\nname = \"invalid\"\narguments = {{ text = \"x\", times = 10 }}\nexpect.outcome = \"invalid\"\n"),
        ]
        .concat(),
    );
    let rows = rows(&run(&env, &["own", "--json"]).exits(3));
    assert_eq!(
        short(&rows),
        [
            "fails success failed outcome",
            "fails failed passed",
            "crashes success failed outcome",
            "crashes failed passed",
            "sleeps timeout passed",
            "sleeps success failed outcome",
            "denied refused passed",
            "denied success failed outcome",
            "asks success passed",
            "echo invalid passed",
        ]
    );
    assert_eq!(
        rows[0]["misses"][0]["words"],
        "expected the outcome `success`, got `failed`: \"it failed on purpose\""
    );
    assert_eq!((&rows[0]["file"], &rows[0]["line"]), (&"own/own.toml".into(), &8.into()));
    assert!(rows[7]["misses"][0]["words"].as_str().unwrap().contains("refused: not allowed"), "{}", rows[7]);
}

#[test]
fn a_rule_that_denies_is_not_overruled() {
    let env = TestEnv::new();
    own(&env, &tool("word", "test_word", "permission = \"allow\"\n[[invokers.tests]]\n"));
    run(&env, &["own"]).exits(0);
    let ran = run(&env, &["own", "--deny", "own.word"]).exits(3);
    assert!(ran.stdout.contains("got `refused`") && ran.stdout.contains("--deny"), "{}", ran.stdout);
    // Nobody has to be asked: whoever runs the tests has asked for them.
    run(&env, &["own", "--ask", "own.word"]).exits(0);
}

#[test]
fn a_test_that_takes_longer_than_it_may_is_stopped() {
    let env = TestEnv::new();
    own(
        &env,
        &tool(
            "sleeps",
            "test_sleep",
            "timeout = 600\n[[invokers.tests]]\nexpect.within = \"50ms\"\nexpect.text = \"x\"\n",
        ),
    );
    let rows = rows(&run(&env, &["own", "--json"]).exits(3));
    let misses = rows[0]["misses"].as_array().unwrap();
    assert_eq!(misses.len(), 1, "{rows:?}");
    assert_eq!(misses[0]["words"], "timeout: stopped after 0.05 s");
    assert_eq!(rows[0]["outcome"], "cancelled");
}

#[test]
fn only_what_is_named_is_tested() {
    let env = TestEnv::new();
    let tools = [("one", "[[invokers.tests]]"), ("two", "[[invokers.tests]]"), ("none", "")];
    own(
        &env,
        &tools.map(|(name, rest)| tool(name, "test_word", &format!("effects = \"none\"\n{rest}"))).concat(),
    );
    let tested = |words: &[&str]| short(&rows(&run(&env, &[words, &["--json"]].concat()).exits(0)));
    assert_eq!(tested(&["own"]), ["one test 1 passed", "two test 1 passed"]);
    assert_eq!(tested(&["own.two"]), ["two test 1 passed"]);
    assert_eq!(tested(&["own.two", "own.one"]).len(), 2);
    assert_eq!(tested(&["own.two", "own"]).len(), 2);
    let all = run(&env, &["--json", "--synth"]);
    let of = |ensemble: &str, kind: &str| {
        rows(&all).iter().any(|row| row["ensemble"] == ensemble && row["kind"] == kind)
    };
    assert!(of("own", "written") && of("own", "fitting"));
    // Those of this program are tools that somebody else answers for, and some of them go to the network.
    assert!(rows(&all).iter().all(|row| row["ensemble"] == "own"));
    for (words, code, said) in [
        (&["won"][..], 2, "did you mean `own`"),
        (&["own.twoo"], 2, "did you mean `two`"),
        (&["own.none"], 2, "there are no tests of own.none"),
    ] {
        let ran = run(&env, words).exits(code);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn a_broken_descriptor_and_an_untrusted_one_stop_the_run() {
    let env = TestEnv::new();
    env.write(
        "work/ensembles/notes.toml",
        "[ensemble]\nname = \"notes\"\ndescription = \"d\"\n[[invokers]]\nname = \"x\"\n",
    );
    let ran = env.run(&["ensembles", "test"]).exits(3);
    assert!(ran.stderr.contains("ensembles/notes.toml"), "{}", ran.stderr);
    let command = "[[invokers]]\nname = \"x\"\ndescription = \"d\"\ncommand = { argv = [\"touch\", \"trace\"] }\n[[invokers.tests]]\n";
    env.write(
        "work/ensembles/notes.toml",
        &format!("[ensemble]\nname = \"notes\"\ndescription = \"d\"\n{command}"),
    );
    let ran = env.run(&["ensembles", "test"]).exits(3);
    assert!(ran.stderr.contains("not trusted"), "{}", ran.stderr);
    assert!(!env.path("work/trace").exists());
    env.run(&["ensembles", "test", "notes", "--ensembles", "ensembles"]).exits(0);
    assert!(env.path("work/trace").exists());
}

#[test]
fn built_in_tools_of_a_project_are_tested_without_trust() {
    let env = TestEnv::new();
    let sums = "[[invokers]]\nname = \"sum\"\ndescription = \"d\"\nbuiltin = \"calculator\"\n[invokers.arguments]\n\
        type = \"object\"\nrequired = [\"expression\"]\nproperties.expression = { type = \"string\" }\n\
        [[invokers.tests]]\narguments = { expression = \"6*7\" }\nexpect.contains = \"42\"\n";
    let of = |name: &str, invoker: &str| {
        let text = format!("[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n{invoker}");
        env.write(&format!("work/ensembles/{name}.toml"), &text);
    };
    of("sums", sums);
    for words in [&["ensembles", "test"][..], &["ensembles", "test", "sums"], &["ensembles", "show", "sums"]]
    {
        env.run(words).exits(0);
    }
    // Beside an ensemble that would start something, they are tested by name.
    of(
        "other",
        "[[invokers]]\nname = \"x\"\ndescription = \"d\"\ncommand = { argv = [\"true\"] }\n[[invokers.tests]]\n",
    );
    let ran = env.run(&["ensembles", "test"]).exits(3);
    assert!(
        ran.stderr.contains("the ensemble `other`") && ran.stderr.contains("not trusted"),
        "{}",
        ran.stderr
    );
    env.run(&["ensembles", "test", "sums"]).exits(0);
}

#[test]
fn an_untrusted_tool_gets_no_approval_from_its_own_tests() {
    let env = TestEnv::new();
    let asks =
        tool("word", "test_word", "permission = \"ask\"\n[[invokers.tests]]\nexpect.outcome = \"refused\"\n");
    env.write("work/ensembles/own.toml", &format!("[ensemble]\nname = \"own\"\ndescription = \"d\"\n{asks}"));
    env.run(&["ensembles", "test", "own"]).exits(0);
    env.run(&["ensembles", "test", "own", "--ensembles", "ensembles"]).exits(3);
}

#[test]
fn tests_of_one_tool_run_in_order_and_their_results_are_not_kept() {
    let env = TestEnv::new();
    let counts = "[[invokers]]\nname = \"counts\"\ndescription = \"d\"\neffects = \"read\"\nidempotent = true\ncache = \"1h\"\n\
        command = { argv = [\"sh\", \"-c\", \"echo x >> trace; wc -l < trace\"] }\n\
        [[invokers.tests]]\nexpect.text = \"1\"\n[[invokers.tests]]\nexpect.text = \"2\"\n";
    own(&env, counts);
    run(&env, &["own"]).exits(0);
}

#[test]
fn tools_of_a_server_are_tested_on_the_server() {
    let env = TestEnv::new();
    let tests = "[[tools.echo.tests]]\nname = \"says it\"\narguments = { text = \"hello\" }\nexpect.text = \"hello\"\n\
        [[tools.echo.tests]]\nname = \"needs it\"\nexpect.outcome = \"invalid\"\n\
        [[tools.fail.tests]]\nexpect.outcome = \"failed\"\n\
        [[tools.none.tests]]\nname = \"is not there\"\n";
    FakeServer::new("served", &[]).and(tests).write(&env);
    let rows =
        rows(&env.run(&["ensembles", "test", "served", "--json", "--ensembles", "../servers"]).exits(3));
    assert_eq!(
        short(&rows),
        [
            "echo says it passed",
            "echo needs it passed",
            "fail test 1 passed",
            "none is not there failed outcome"
        ]
    );
    assert!(rows[3]["misses"][0]["words"].as_str().unwrap().contains("no_such_tool"), "{}", rows[3]);
}

#[test]
fn an_ensemble_that_cannot_be_connected_is_told_and_the_others_are_tested() {
    let env = TestEnv::new();
    FakeServer::new("gone", &["--exit=4"])
        .and("[[tools.echo.tests]]\narguments = { text = \"x\" }\n")
        .write(&env);
    env.write(
        "servers/own.toml",
        &format!(
            "[ensemble]\nname = \"own\"\ndescription = \"d\"\n{}",
            tool("word", "test_word", "[[invokers.tests]]")
        ),
    );
    let words = ["ensembles", "test", "gone", "own", "--ensembles", "../servers"];
    let ran = env.run(&words).exits(10);
    assert!(
        ran.stdout.contains("ERROR   gone  ") && ran.stdout.contains("ok      own.word"),
        "{}",
        ran.stdout
    );
    let ran = env.run(&[&words[..], &["--format", "junit"]].concat()).exits(10);
    let report = parse(&ran.stdout).unwrap();
    assert_eq!((report.attribute("tests"), report.attribute("errors")), ("2", "1"));
}

/// `git`, `python3` and `node` are there, and the kernel can shut programs in: the gate's machine has all of it.
#[test]
fn what_is_shipped_passes_its_own_tests() {
    let env = TestEnv::new();
    let ran = env.run(&["ensembles", "test", "essentials", "io", "git", "web", "code", "shell", "--json"]);
    let rows = rows(&ran.exits(0));
    for name in ["essentials", "io", "git", "web", "code", "shell"] {
        assert!(rows.iter().filter(|row| row["ensemble"] == name).count() > 1, "{name}");
    }
    let nothing = env.run(&["ensembles", "test"]).exits(0);
    assert!(nothing.stderr.contains("you have no tests"), "{}", nothing.stderr);
}
