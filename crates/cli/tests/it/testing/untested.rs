//! What was not tested is no success: named and without a test, skipped, held back.

use super::{own, rows, run, short, tool};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;

const LOCKED: [&str; 2] = ["--ensembles", "../servers"];

#[test]
fn a_name_without_tests_is_not_dropped_beside_one_that_has_some() {
    let env = TestEnv::new();
    let tests = "[[invokers.tests]]\n";
    own(
        &env,
        &[tool("one", "test_word", tests), tool("none", "test_word", ""), tool("bad", "test_fail", tests)]
            .concat(),
    );
    let ran = run(&env, &["own.one", "own.none"]).exits(2);
    assert!(ran.stdout.contains("ok      own.one"), "{}", ran.stdout);
    assert!(ran.stderr.contains("error[no-tests]: there are no tests of own.none\n"), "{}", ran.stderr);
    // A test that fails weighs more.
    let ran = run(&env, &["own.bad", "own.none"]).exits(3);
    assert!(ran.stderr.contains("1 of 1 tests failed; no test of own.none ran"), "{}", ran.stderr);
    run(&env, &["own.one", "own.one"]).exits(0);
    let untested = tool("word", "test_word", "");
    env.write(
        "work/own/empty.toml",
        &format!("[ensemble]\nname = \"empty\"\ndescription = \"d\"\n{untested}"),
    );
    let ran = run(&env, &["own.one", "empty"]).exits(2);
    assert!(ran.stderr.contains("no tests of empty"), "{}", ran.stderr);
}

#[test]
fn what_is_skipped_alone_is_no_success() {
    let env = TestEnv::new();
    own(&env, &tool("word", "test_word", "effects = \"write\"\n"));
    for words in [&["own", "--synth"][..], &["own.word", "--synth"], &["--synth"]] {
        let ran = run(&env, words).exits(2);
        assert!(ran.stdout.contains("skipped own.word"), "{}", ran.stdout);
        assert!(
            ran.stderr.contains("error[no-tests]") && ran.stderr.contains("all were skipped"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_tool_that_the_lockfile_holds_back_has_failed() {
    let env = TestEnv::new();
    FakeServer::new("served", &[]).write(&env);
    env.run(&["ensembles", "lock", "--ensembles", "../servers"]).exits(0);
    let lock = env.path("servers.lock");
    let mut text: serde_json::Value = serde_json::from_slice(&std::fs::read(&lock).unwrap()).unwrap();
    text["ensembles"]["served"]["tools"].as_object_mut().unwrap().remove("echo");
    std::fs::write(lock, text.to_string()).unwrap();
    let tests = "[[tools.echo.tests]]\narguments = { text = \"x\" }\n\
        [[tools.echo.tests]]\nexpect.outcome = \"refused\"\n";
    FakeServer::new("served", &[]).and(tests).write(&env);
    let test = |words: &[&str]| {
        rows(&env.run(&[&["ensembles", "test", "--json"], words, &LOCKED].concat()).exits(3))
    };
    for words in [&[][..], &["served"], &["served.echo"]] {
        let rows = test(words);
        assert_eq!(short(&rows), ["echo test 1 failed outcome", "echo test 2 failed outcome"], "{rows:#?}");
        assert!(rows[0]["misses"][0]["words"].as_str().unwrap().contains("is held back"), "{rows:#?}");
    }
    for words in [&["--synth"][..], &["served", "--synth"]] {
        let rows = test(words);
        let made = rows.iter().find(|row| row["tool"] == "echo" && row["kind"] == "fitting").unwrap();
        assert_eq!(made["status"], "failed");
        assert_eq!(made["misses"][0]["words"], "held back by the lockfile: it was never accepted");
    }
}
