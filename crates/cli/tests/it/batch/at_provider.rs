//! `--provider-batch`, against a provider with a batch API.

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::vendor::{Listing, Vendor, error};
use super::{each_once, ids, results};
use crate::env::{Ran, TestEnv, wait};
use crate::http::Answer;
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

/// Nothing was taken from the batch that is open.
#[track_caller]
fn is_untouched(env: &TestEnv, vendor: &Vendor) {
    assert!(has_record(env) && results(env).is_empty());
    assert_eq!(vendor.state().batches.len(), 1);
}

/// Submits, and leaves the batch when it was looked at once.
fn submit_and_leave(vendor: &Vendor, env: &TestEnv) {
    vendor.state().patience = usize::MAX;
    let mut child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
    wait_until("a look", || vendor.state().requests.iter().any(|named| named.ends_with("batch_0")));
    child.kill().unwrap();
    wait(child);
}

/// As if what is open was submitted long ago.
fn age(env: &TestEnv) {
    let path = env.path("work/out.jsonl.batches");
    let text = std::fs::read_to_string(&path).unwrap();
    let aged = text.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["since"].is_string() {
            event["since"] = json!("2026-01-01T00:00:00Z");
        }
        format!("{event}\n")
    });
    std::fs::write(path, aged.collect::<String>()).unwrap();
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
        submit_and_leave(&vendor, &env);
        // Another kind of run would pay for them twice, and another model or input is another batch.
        let ran = env.run(&["batch", "in.jsonl", "-o", "out.jsonl", "-m", vendor.model()]).exits(2);
        assert!(ran.stderr.contains("error[pending-batch]: 2 conversations"), "{}", ran.stderr);
        write(&env, &["b", "c"]);
        assert!(run(&vendor, &env, &[]).exits(2).stderr.contains("error[pending-batch]: batch_0"));
        write(&env, &["a", "b", "c"]);
        vendor.state().patience = 0;
        run(&vendor, &env, &[]).exits(0);
        let results = results(&env);
        each_once(&results, 3);
        assert!(results.iter().all(|result| result["answer"] == result["id"]));
        let state = vendor.state();
        assert_eq!(state.batches.iter().map(|batch| batch.parts.len()).collect::<Vec<_>>(), [2, 1]);
        drop(state);
        vendor.is_content();
    }
}

#[test]
fn a_batch_of_other_questions_or_options_is_kept() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        submit_and_leave(&vendor, &env);
        vendor.state().patience = 0;
        let refused = |more: &[&str]| {
            let ran = run(&vendor, &env, more).exits(2);
            let message = "error[pending-batch]: the conversation `a` of batch_0 in `out.jsonl.batches` is not what was";
            let message = message.replace("out.jsonl", &env.path("work/out.jsonl").display().to_string());
            assert!(ran.stderr.contains(&message), "{}", ran.stderr);
            for hint in ["the version of converse that submitted them", "rm '"] {
                assert!(ran.stderr.contains(hint), "{}", ran.stderr);
            }
            assert!(!ran.stderr.contains("the same command"), "{}", ran.stderr);
            is_untouched(&env, &vendor);
        };
        refused(&["--max-output-tokens", "77"]);
        let lines = [json!({ "id": "a", "prompt": "other" }), json!({ "id": "b", "prompt": "b" })];
        env.write("work/in.jsonl", &lines.map(|line| format!("{line}\n")).concat());
        refused(&[]);
        // A cancellation is sent, and what was answered before stays for the options that asked.
        vendor.state().patience = usize::MAX;
        refused(&["--cancel-batch"]);
        write(&env, &["a", "b"]);
        run(&vendor, &env, &["--cancel-batch"]).exits(10);
        assert_eq!(of(&results(&env), "b")["answer"], "b");
        assert!(!has_record(&env));
        let cancels = |named: &&String| named.ends_with("/cancel");
        assert_eq!(vendor.state().requests.iter().filter(cancels).count(), 1);
        vendor.is_content();
    }
}

/// What is attached may change while a run waits.
#[test]
fn an_attachment_that_changes_while_a_run_waits_loses_nothing() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        let file = env.write("work/a.txt", "one");
        let line = json!({ "id": "a", "prompt": "a", "attachments": ["a.txt"] });
        env.write("work/in.jsonl", &format!("{line}\n"));
        submit_and_leave(&vendor, &env);
        for change in [Some("two"), None] {
            vendor.state().patience = usize::MAX;
            vendor.state().requests.clear();
            let child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
            wait_until("a look", || vendor.state().requests.iter().any(|named| named.ends_with("batch_0")));
            match change {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            vendor.state().batches[0].looked_at();
            vendor.state().patience = 0;
            let ran = wait(child).exits(2);
            assert!(ran.stderr.contains("error[pending-batch]: the conversation `a` of"), "{}", ran.stderr);
            is_untouched(&env, &vendor);
            std::fs::write(&file, "one").unwrap();
        }
        run(&vendor, &env, &[]).exits(0);
        assert!(!has_record(&env));
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
        // Lists show it late.
        vendor.state().unlisted = 3;
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
        // A list may not show it yet.
        run(&vendor, &env, &["--deadline", "0.05"]).exits(7);
        assert!(has_record(&env) && results(&env).is_empty());
        age(&env);
        let ran = run(&vendor, &env, &[]).exits(10);
        assert!(ran.stderr.contains("\n  2 outcome-unknown\n"), "{}", ran.stderr);
        assert_eq!(vendor.state().batches.len(), 0);
        run(&vendor, &env, &["--retry-failed"]).exits(0);
        each_once(&results(&env), 2);
        vendor.is_content();
    }
}

/// The batch may be among those that were not read.
#[test]
fn a_list_that_cannot_be_read_as_a_whole_is_read_again() {
    for (list, pages) in [(Listing::Odd, 1), (Listing::Endless, 20)] {
        for vendor in Vendor::all() {
            let env = vendor.env();
            write(&env, &["a"]);
            vendor.fault(vendor.creation(), error(500, "api_error", "odd"));
            run(&vendor, &env, &[]).exits(5);
            age(&env);
            vendor.state().requests.clear();
            vendor.state().list = list;
            run(&vendor, &env, &[]).exits(10);
            let results = results(&env);
            assert_eq!(of(&results, "a")["reason"], "outcome-unknown");
            let message = of(&results, "a")["error"]["message"].as_str().unwrap();
            assert!(message.ends_with("list of batches cannot be read as a whole"), "{message}");
            assert_eq!(vendor.state().requests.len(), 5 * pages);
            vendor.is_content();
        }
    }
}

#[test]
fn a_batch_or_results_that_the_provider_has_no_more_are_reported_and_can_be_retried() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        submit_and_leave(&vendor, &env);
        vendor.state().batches.clear();
        // Not every answer of a provider shows a new batch.
        run(&vendor, &env, &["--deadline", "0.05"]).exits(7);
        assert!(has_record(&env) && results(&env).is_empty());
        age(&env);
        let ran = run(&vendor, &env, &[]).exits(10);
        assert!(ran.stderr.contains("\n  2 batch-gone\n"), "{}", ran.stderr);
        assert_eq!(of(&results(&env), "a")["exit"], 6);
        assert!(!has_record(&env));
        vendor.state().patience = 0;
        for _ in 0..4 {
            vendor.fault(vendor.download(), error(404, "not_found_error", "no such file"));
        }
        let ran = run(&vendor, &env, &["--retry-failed"]).exits(10);
        assert!(ran.stderr.contains("\n  2 batch-gone\n"), "{}", ran.stderr);
        run(&vendor, &env, &["--retry-failed"]).exits(0);
        each_once(&results(&env), 2);
        vendor.is_content();
    }
}

#[test]
fn a_file_of_results_without_an_end_is_refused_and_the_batch_is_kept() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a"]);
        vendor.fault(vendor.download(), Answer::new(200, "application/octet-stream", "{}\n".repeat(5000)));
        let ran = run(&vendor, &env, &[]).exits(6);
        assert!(ran.stderr.contains("more than 1002 lines of results"), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("warning: ").count(), 11, "{}", ran.stderr);
        is_untouched(&env, &vendor);
        run(&vendor, &env, &[]).exits(0);
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
        // The answers of a cancelled batch may come after its end.
        vendor.state().cuts.push_back((0.0, false));
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
