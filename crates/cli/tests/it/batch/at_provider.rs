//! `--provider-batch`, against a provider with a batch API.

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::vendor::{Vendor, error};
use super::{each_once, ids, results};
use crate::env::{Ran, TestEnv, wait};
use crate::signals::send;

const ARGS: [&str; 7] = ["batch", "in.jsonl", "-o", "out.jsonl", "--provider-batch", "--poll", "0.01"];

/// Lines whose ids are their prompts.
fn write(env: &TestEnv, prompts: &[&str]) {
    let lines = prompts.iter().map(|prompt| json!({ "id": prompt, "prompt": prompt }).to_string() + "\n");
    env.write("work/in.jsonl", &lines.collect::<String>());
}

fn run(vendor: &Vendor, env: &TestEnv, more: &[&str]) -> Ran {
    env.run(&[&ARGS[..], &["-m", vendor.model()], more].concat())
}

fn of<'r>(results: &'r [Value], id: &str) -> &'r Value {
    results.iter().find(|result| result["id"] == id).unwrap()
}

fn has_record(env: &TestEnv) -> bool {
    env.path("work/out.jsonl.batches").exists()
}

#[test]
fn results_come_in_any_order_and_each_kind_of_end_is_reported_as_what_it_is() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "errors", "b", "expires", "nothing"]);
        vendor.state().patience = 2;
        let ran = run(&vendor, &env, &["--keep-order"]).exits(10);
        let results = results(&env);
        assert_eq!(ids(&results), ["a", "errors", "b", "expires", "nothing"]);
        for id in ["a", "b"] {
            assert_eq!((&of(&results, id)["answer"], &of(&results, id)["exit"]), (&json!(id), &json!(0)));
            // 15 tokens at half of 100 dollars a million.
            assert_eq!(of(&results, id)["cost"], json!(0.00075), "{}", of(&results, id));
            assert_eq!(of(&results, id)["milliseconds"], Value::Null);
        }
        for (id, reason, exit) in
            [("errors", "rejected", 6), ("expires", "batch-expired", 5), ("nothing", "batch-incomplete", 6)]
        {
            assert_eq!(
                (&of(&results, id)["reason"], &of(&results, id)["exit"]),
                (&json!(reason), &json!(exit))
            );
            assert!(ran.stderr.contains(&format!("\n  1 {reason}\n")), "{}", ran.stderr);
        }
        assert!(ran.stderr.contains("5 conversations submitted as batch_0\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("2 answered, 3 failed; 0.0015 USD"), "{}", ran.stderr);
        assert!(!has_record(&env));
        // Nothing is left to do; failed ones are submitted again only if that is wanted.
        run(&vendor, &env, &[]).exits(10);
        assert_eq!(vendor.state().batches.len(), 1);
        run(&vendor, &env, &["--retry-failed"]).exits(10);
        assert_eq!(vendor.state().batches[1].parts.len(), 3);
        each_once(&super::results(&env), 5);
        vendor.is_content();
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_same_batch() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        vendor.state().patience = usize::MAX;
        let mut child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
        wait_until("a look", || vendor.state().requests.iter().any(|named| named.ends_with("batch_0")));
        child.kill().unwrap();
        wait(child);
        // Another kind of run would pay for them twice, and another model or input is another batch.
        let ran = env.run(&["batch", "in.jsonl", "-o", "out.jsonl", "-m", vendor.model()]).exits(2);
        assert!(ran.stderr.contains("error[pending-batch]: 2 conversations"), "{}", ran.stderr);
        write(&env, &["b", "c"]);
        assert!(run(&vendor, &env, &[]).exits(2).stderr.contains("error[pending-batch]: batch_0"));
        // A conversation that has changed does not get the answer of the old one.
        let changed = json!({ "id": "b", "prompt": "another" });
        let lines = format!(
            "{}\n{changed}\n{}\n",
            json!({ "id": "a", "prompt": "a" }),
            json!({ "id": "c", "prompt": "c" })
        );
        env.write("work/in.jsonl", &lines);
        vendor.state().patience = 0;
        run(&vendor, &env, &[]).exits(10);
        let results = results(&env);
        each_once(&results, 3);
        assert_eq!((&of(&results, "a")["answer"], &of(&results, "c")["answer"]), (&json!("a"), &json!("c")));
        assert_eq!(of(&results, "b")["reason"], "input-changed");
        let state = vendor.state();
        assert_eq!(state.batches.iter().map(|batch| batch.parts.len()).collect::<Vec<_>>(), [2, 1]);
        drop(state);
        vendor.is_content();
    }
}

/// The provider has the batch, and the answer that names it never comes.
#[test]
fn a_batch_without_its_id_is_found_and_never_submitted_twice() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        let mut lost = error(500, "api_error", "odd");
        (lost.cut_at, lost.status) = (Some(3), 200);
        let creation = vendor.creation();
        vendor.state().faults.push_back((creation, true, lost));
        let ran = run(&vendor, &env, &[]).exits(5);
        assert!(ran.stderr.contains("submits nothing twice"), "{}", ran.stderr);
        assert!(has_record(&env) && results(&env).is_empty());
        vendor.state().batches[0].looked_at();
        let ran = run(&vendor, &env, &[]).exits(0);
        assert!(ran.stderr.contains("found batch_0, which an earlier run has submitted"), "{}", ran.stderr);
        each_once(&results(&env), 2);
        assert_eq!(vendor.state().batches.len(), 1);
        vendor.is_content();
    }
}

#[test]
fn a_batch_that_the_provider_does_not_have_is_unknown_until_it_is_submitted_again() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        vendor.fault(vendor.creation(), error(500, "api_error", "odd"));
        run(&vendor, &env, &[]).exits(5);
        let ran = run(&vendor, &env, &[]).exits(10);
        assert!(ran.stderr.contains("\n  2 outcome-unknown\n"), "{}", ran.stderr);
        assert_eq!(vendor.state().batches.len(), 0);
        run(&vendor, &env, &["--retry-failed"]).exits(0);
        each_once(&results(&env), 2);
        vendor.is_content();
    }
}

#[test]
fn refusals_because_of_the_rate_are_waited_for() {
    let busy = || error(429, "rate_limit_error", "slow down").header("retry-after", "0");
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a"]);
        vendor.state().patience = 1;
        let creation = vendor.creation();
        for request in [creation, creation, "GET /v1", "GET /v1", vendor.download()] {
            vendor.fault(request, busy());
        }
        run(&vendor, &env, &[]).exits(0);
        assert_eq!((vendor.state().batches.len(), results(&env).len()), (1, 1));
        vendor.is_content();
    }
}

#[test]
fn a_wrong_key_and_a_refused_batch_leave_nothing_behind() {
    for vendor in Vendor::all() {
        let env = vendor.env().var("ANTHROPIC_API_KEY", "sk-wrong-0123456789abcdef");
        let env = env.var("OPENAI_API_KEY", "sk-wrong-0123456789abcdef");
        write(&env, &["a"]);
        let ran = run(&vendor, &env, &[]).exits(4);
        assert!(ran.stderr.contains("error[auth]: ") && !ran.stderr.contains("sk-wrong"), "{}", ran.stderr);
        assert!(!has_record(&env) && results(&env).is_empty());
        let env = vendor.env();
        write(&env, &["a"]);
        vendor.fault(vendor.creation(), error(400, "invalid_request_error", "no such model"));
        let ran = run(&vendor, &env, &[]).exits(6);
        assert!(ran.stderr.contains("error[rejected]: "), "{}", ran.stderr);
        assert!(!has_record(&env) && results(&env).is_empty());
        run(&vendor, &env, &[]).exits(0);
        vendor.is_content();
    }
}

#[test]
fn results_that_break_off_are_read_again_and_none_is_written_twice() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b", "c"]);
        // After this many lines; the length is announced, or the connection just ends.
        for (cut, announced) in [(1.5, true), (1.5, false), (2.0, false)] {
            vendor.state().cuts.push_back((cut, announced));
        }
        run(&vendor, &env, &[]).exits(0);
        each_once(&results(&env), 3);
        assert!(vendor.state().cuts.is_empty());
        vendor.is_content();
    }
}

#[test]
fn ctrl_c_leaves_the_batch_and_a_cancellation_keeps_what_is_answered() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b", "c"]);
        vendor.state().patience = usize::MAX;
        let child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
        wait_until("a look", || vendor.state().requests.iter().any(|named| named.ends_with("batch_0")));
        send("INT", &child);
        let ran = wait(child).exits(130);
        for hint in ["batches go on at the provider", "`--cancel-batch` cancels them"] {
            assert!(ran.stderr.contains(hint), "{}", ran.stderr);
        }
        assert!(!vendor.state().requests.iter().any(|named| named.ends_with("/cancel")));
        let ran = run(&vendor, &env, &["--deadline", "0.001"]).exits(7);
        assert!(ran.stderr.contains("error[deadline]: "), "{}", ran.stderr);
        let ran = run(&vendor, &env, &["--cancel-batch"]).exits(10);
        assert!(ran.stderr.contains("\n  2 batch-canceled\n"), "{}", ran.stderr);
        let results = results(&env);
        assert_eq!(of(&results, "c")["answer"], "c");
        assert_eq!(
            (&of(&results, "a")["reason"], &of(&results, "a")["exit"]),
            (&json!("batch-canceled"), &json!(7))
        );
        assert!(run(&vendor, &env, &["--cancel-batch"]).exits(2).stderr.contains("error[no-batch]: "));
        vendor.is_content();
    }
}

#[test]
fn the_budget_is_estimated_at_half_the_price_before_anything_is_submitted() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b", "c"]);
        let bounded = ["--max-output-tokens", "1000", "--max-cost"];
        // A thousand tokens cost 0.05 dollars, and the few of the question almost nothing.
        let ran = run(&vendor, &env, &[&bounded[..], &["0.12"]].concat()).exits(7);
        assert!(
            ran.stderr.contains("error[budget]: the budget of 0.12 USD allows no more"),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("2 answered, 1 not run; 0.0015 USD"), "{}", ran.stderr);
        let ran = run(&vendor, &env, &[&bounded[..], &["0.04"]].concat()).exits(7);
        assert!(ran.stderr.contains("1 not run"), "{}", ran.stderr);
        assert_eq!(vendor.state().batches.len(), 1);
        run(&vendor, &env, &[&bounded[..], &["0.06"]].concat()).exits(0);
        each_once(&results(&env), 3);
        vendor.is_content();
    }
}

#[test]
fn what_a_provider_batch_cannot_do_is_refused_before_anything_is_sent() {
    let vendor = Vendor::all().next().unwrap();
    let env = vendor.env();
    let args = |more: &[&str]| env.run(&[&ARGS[..], more].concat());
    write(&env, &["a"]);
    for (more, code) in [
        (&["-m", "understudy"][..], "no-provider-batch"),
        (&["-m", "gemini/gemini-2.5-flash"], "no-provider-batch"),
        (&["-m", "groq/x"], "no-provider-batch"),
        (&["-m", vendor.model(), "-e", "io"], "provider-batch-tools"),
        (&["-m", vendor.model(), "--fallback", "openai/x"], "provider-batch-fallback"),
    ] {
        let ran = args(more).exits(2);
        assert!(ran.stderr.contains(&format!("error[{code}]: ")), "{more:?}: {}", ran.stderr);
    }
    env.run(&["batch", "in.jsonl", "--provider-batch", "-m", vendor.model()]).exits(2);
    assert!(vendor.state().requests.is_empty() && !env.path("work/out.jsonl").exists());
    // A schema is checked as ever, and not repaired.
    let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let line =
        |id: &str, prompt: &str| json!({ "id": id, "prompt": prompt, "schema": schema }).to_string() + "\n";
    env.write("work/in.jsonl", &(line("fits", "{\"n\":1}") + &line("not", "none")));
    run(&vendor, &env, &[]).exits(10);
    let results = results(&env);
    assert_eq!(of(&results, "fits")["value"], json!({ "n": 1 }));
    assert_eq!(
        (&of(&results, "not")["reason"], &of(&results, "not")["exit"]),
        (&json!("unfit-answer"), &json!(6))
    );
    vendor.is_content();
}
