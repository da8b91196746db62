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
    let batch = format!("batch_{}", vendor.state().batches.len());
    let mut child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
    wait_until("a look", || vendor.state().requests.iter().any(|named| named.ends_with(&batch)));
    child.kill().unwrap();
    wait(child);
}

/// Runs until something of the batch is missing, and leaves it then.
fn leave_incomplete(vendor: &Vendor, env: &TestEnv) {
    let mut child = env.command([&ARGS[..], &["-m", vendor.model()]].concat()).spawn().unwrap();
    let record = env.path("work/out.jsonl.batches");
    let is_incomplete =
        || std::fs::read_to_string(&record).is_ok_and(|text| text.contains("\"incomplete\",\"mark\""));
    wait_until("something that is missing", is_incomplete);
    child.kill().unwrap();
    wait(child);
}

/// The provider does not show the batch, which is kept until the user gives it up.
#[track_caller]
fn is_kept(ran: &Ran, env: &TestEnv) {
    assert!(ran.stderr.contains("error[batch-not-found]: "), "{}", ran.stderr);
    for hint in ["another base URL", "rm '"] {
        assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    }
    assert!(has_record(env));
}

/// As if what is open was submitted long ago, and what is missing was missing since.
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
        write(&env, &["a", "errors", "b", "expires"]);
        vendor.state().patience = 2;
        let ran = run(&vendor, &env, &["--keep-order"]).exits(10);
        let results = results(&env);
        assert_eq!(ids(&results), ["a", "errors", "b", "expires"]);
        for id in ["a", "b"] {
            assert_eq!((&of(&results, id)["answer"], &of(&results, id)["exit"]), (&json!(id), &json!(0)));
            // 15 tokens at half of 100 dollars a million.
            assert_eq!(of(&results, id)["cost"], json!(0.00075), "{}", of(&results, id));
            assert_eq!(of(&results, id)["milliseconds"], Value::Null);
        }
        let late = if vendor.ends_in_parts() { "batch-expired" } else { "rate-limit" };
        for (id, reason, exit) in [("errors", "rejected", 6), ("expires", late, 5)] {
            assert_eq!(
                (&of(&results, id)["reason"], &of(&results, id)["exit"]),
                (&json!(reason), &json!(exit))
            );
            assert!(ran.stderr.contains(&format!("\n  1 {reason}\n")), "{}", ran.stderr);
        }
        assert!(ran.stderr.contains("4 conversations submitted as batch_0\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("2 answered, 2 failed; 0.0015 USD"), "{}", ran.stderr);
        assert!(!has_record(&env));
        // Nothing is left to do; failed ones are submitted again only if that is wanted.
        run(&vendor, &env, &[]).exits(10);
        assert_eq!(vendor.state().batches.len(), 1);
        run(&vendor, &env, &["--retry-failed"]).exits(10);
        assert_eq!(vendor.state().batches[1].parts.len(), 2);
        each_once(&super::results(&env), 4);
        vendor.is_content();
    }
}

/// It has no results then, so nothing is waited for.
#[test]
fn a_batch_that_ends_as_a_whole_without_results_is_reported_as_what_it_is() {
    for (end, reason, exit) in [("EXPIRED", "batch-expired", 5), ("FAILED", "batch-rejected", 6)] {
        let vendor = Vendor::gemini();
        let env = vendor.env();
        write(&env, &["a", "b"]);
        vendor.state().end = Some(end);
        let ran = run(&vendor, &env, &[]).exits(10);
        assert!(ran.stderr.contains(&format!("\n  2 {reason}\n")), "{}", ran.stderr);
        let failed = results(&env);
        each_once(&failed, 2);
        assert_eq!((&failed[0]["reason"], &failed[0]["exit"]), (&json!(reason), &json!(exit)));
        let message = failed[0]["error"]["message"].as_str().unwrap();
        assert_eq!(message.contains("the batch is FAILED"), end == "FAILED", "{message}");
        assert!(!has_record(&env) && !vendor.state().requests.iter().any(|named| named.contains("/content")));
        vendor.state().end = None;
        run(&vendor, &env, &["--retry-failed"]).exits(0);
        assert!(results(&env).iter().all(|result| result["answer"] == result["id"]));
        assert_eq!(vendor.state().batches.len(), 2);
        vendor.is_content();
    }
}

#[test]
fn a_result_is_missing_only_if_it_has_not_come_for_a_long_time() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "nothing"]);
        leave_incomplete(&vendor, &env);
        assert_eq!(ids(&results(&env)), ["a"]);
        // However short the pauses are.
        let ran = run(&vendor, &env, &["--deadline", "0.1"]).exits(7);
        assert!(has_record(&env) && !ran.stderr.contains("batch-incomplete"), "{}", ran.stderr);
        age(&env);
        let ran = run(&vendor, &env, &[]).exits(10);
        assert!(ran.stderr.contains("\n  1 batch-incomplete\n"), "{}", ran.stderr);
        assert_eq!(of(&results(&env), "nothing")["exit"], 6);
        each_once(&results(&env), 2);
        assert!(!has_record(&env));
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
        let refused = |more: &[&str], named: &str| {
            let ran = run(&vendor, &env, more).exits(2);
            let message = format!("error[pending-batch]: the {named} not what was submitted");
            let path = env.path("work/out.jsonl.batches").display().to_string();
            assert!(ran.stderr.replace(&path, "PATH").contains(&message), "{}", ran.stderr);
            for hint in ["the version of converse that submitted them", "rm '"] {
                assert!(ran.stderr.contains(hint), "{}", ran.stderr);
            }
            assert!(!ran.stderr.contains("the same command"), "{}", ran.stderr);
            ran
        };
        let one = "conversation `a` of batch_0 in `PATH` is";
        refused(&["--max-output-tokens", "77"], "conversations `a`, `b` of batch_0 in `PATH` are");
        is_untouched(&env, &vendor);
        // What would ask the same is answered. Nothing new is submitted.
        let lines = [("a", "other"), ("b", "b"), ("c", "c")];
        let lines = lines.map(|(id, prompt)| format!("{}\n", json!({ "id": id, "prompt": prompt })));
        env.write("work/in.jsonl", &lines.concat());
        refused(&[], one);
        assert_eq!((ids(&results(&env)), vendor.state().batches.len()), (vec!["b"], 1));
        assert!(has_record(&env));
        refused(&["--max-output-tokens", "77"], one);
        let ran = refused(&["--cancel-batch"], one);
        assert!(ran.stderr.contains("what is open is cancelled; to give it up: `rm '"), "{}", ran.stderr);
        write(&env, &["a", "b", "c"]);
        run(&vendor, &env, &[]).exits(0);
        each_once(&results(&env), 3);
        assert_eq!(of(&results(&env), "a")["answer"], "a");
        assert!(!has_record(&env));
        vendor.is_content();
    }
}

#[test]
fn a_cancelled_batch_of_other_questions_is_kept() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        submit_and_leave(&vendor, &env);
        let lines = [json!({ "id": "a", "prompt": "a" }), json!({ "id": "b", "prompt": "other" })];
        env.write("work/in.jsonl", &lines.map(|line| format!("{line}\n")).concat());
        let ran = run(&vendor, &env, &["--cancel-batch"]).exits(2);
        assert!(ran.stderr.contains("what is open is cancelled; to give it up: `rm '"), "{}", ran.stderr);
        assert_eq!(of(&results(&env), "a")["reason"], "batch-canceled");
        write(&env, &["a", "b"]);
        run(&vendor, &env, &["--cancel-batch"]).exits(10);
        match vendor.ends_in_parts() {
            true => assert_eq!(of(&results(&env), "b")["answer"], "b"),
            false => assert_eq!(of(&results(&env), "b")["reason"], "batch-canceled"),
        }
        assert!(!has_record(&env));
        let cancels = |named: &&String| named.ends_with("/cancel");
        assert_eq!(vendor.state().requests.iter().filter(cancels).count(), 1);
        vendor.is_content();
    }
}

/// Without its id a batch cannot be cancelled, so it goes on and costs.
#[test]
fn a_batch_that_was_not_cancelled_is_not_given_up() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a"]);
        let mut lost = error(500, "api_error", "odd");
        (lost.cut_at, lost.status) = (Some(3), 200);
        let creation = vendor.creation();
        vendor.state().faults.push_back((creation, true, lost));
        run(&vendor, &env, &[]).exits(5);
        env.write("work/in.jsonl", &format!("{}\n", json!({ "id": "a", "prompt": "other" })));
        vendor.state().unlisted = usize::MAX;
        for (deadline, code) in [("0.05", 7), ("60", 2)] {
            let ran = run(&vendor, &env, &["--cancel-batch", "--deadline", deadline]).exits(code);
            assert!(ran.stderr.contains("a batch could not be cancelled"), "{}", ran.stderr);
            assert!(has_record(&env) && !ran.stderr.contains("rm '"), "{}", ran.stderr);
            age(&env);
        }
        vendor.state().unlisted = 0;
        vendor.state().batches[0].looked_at();
        let ran = run(&vendor, &env, &["--cancel-batch"]).exits(2);
        assert!(ran.stderr.contains("what is open is cancelled; to give it up: `rm '"), "{}", ran.stderr);
        vendor.is_content();
    }
}

#[test]
fn failed_results_stay_if_a_run_is_refused_or_cancels() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["errors"]);
        run(&vendor, &env, &[]).exits(10);
        write(&env, &["errors", "a"]);
        submit_and_leave(&vendor, &env);
        for (more, code) in [(["--max-output-tokens", "77"], 2), (["--cancel-batch", "--keep-order"], 10)] {
            run(&vendor, &env, &[&more[..], &["--retry-failed"]].concat()).exits(code);
            assert_eq!(of(&results(&env), "errors")["reason"], "rejected");
            assert_eq!(vendor.state().batches.len(), 2);
        }
        each_once(&results(&env), 2);
        vendor.state().patience = 0;
        run(&vendor, &env, &["--retry-failed"]).exits(10);
        assert_eq!(vendor.state().batches.len(), 3);
        vendor.is_content();
    }
}

/// The rest is not worth waiting for.
#[test]
fn what_comes_after_the_last_result_is_not_read() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        vendor.state().tail = "{}\n".repeat(5000);
        run(&vendor, &env, &[]).exits(0);
        each_once(&results(&env), 2);
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
            let message =
                if change.is_some() { "is not what was submitted" } else { "cannot be asked again: " };
            assert!(ran.stderr.contains("]: the conversation `a` of batch_0"), "{}", ran.stderr);
            assert!(ran.stderr.contains(message), "{}", ran.stderr);
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
fn a_batch_that_the_provider_does_not_list_is_submitted_again_only_by_the_user() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        vendor.fault(vendor.creation(), error(500, "api_error", "odd"));
        run(&vendor, &env, &[]).exits(5);
        // A list may not show it yet.
        run(&vendor, &env, &["--deadline", "0.05"]).exits(7);
        assert!(has_record(&env) && results(&env).is_empty());
        age(&env);
        for more in [&[][..], &["--retry-failed"]] {
            is_kept(&run(&vendor, &env, more).exits(2), &env);
            assert!(results(&env).is_empty() && vendor.state().batches.is_empty());
        }
        std::fs::remove_file(env.path("work/out.jsonl.batches")).unwrap();
        run(&vendor, &env, &[]).exits(0);
        each_once(&results(&env), 2);
        vendor.is_content();
    }
}

/// The batch may be among those that were not read.
#[test]
fn a_list_that_cannot_be_read_as_a_whole_is_read_again() {
    for (list, pages) in [(Listing::Odd, 1), (Listing::Cut, 1), (Listing::Endless, 20)] {
        for vendor in Vendor::all() {
            let env = vendor.env();
            write(&env, &["a"]);
            vendor.fault(vendor.creation(), error(500, "api_error", "odd"));
            run(&vendor, &env, &[]).exits(5);
            age(&env);
            vendor.state().list = list;
            leave_incomplete(&vendor, &env);
            age(&env);
            vendor.state().requests.clear();
            let ran = run(&vendor, &env, &[]).exits(2);
            is_kept(&ran, &env);
            assert!(ran.stderr.contains("list of batches cannot be read as a whole"), "{}", ran.stderr);
            assert!(results(&env).is_empty());
            assert!(vendor.state().requests.len() >= pages);
            vendor.is_content();
        }
    }
}

/// The key of another account hides a batch that goes on and costs.
#[test]
fn a_batch_or_results_that_the_provider_does_not_show_are_kept() {
    for vendor in Vendor::all() {
        let env = vendor.env();
        write(&env, &["a", "b"]);
        submit_and_leave(&vendor, &env);
        let hidden = std::mem::take(&mut vendor.state().batches);
        // Not every answer of a provider shows a new batch.
        run(&vendor, &env, &["--deadline", "0.05"]).exits(7);
        assert!(has_record(&env) && results(&env).is_empty());
        age(&env);
        // Nothing is submitted to the other account either.
        write(&env, &["a", "b", "c"]);
        for more in [&[][..], &["--retry-failed"]] {
            is_kept(&run(&vendor, &env, more).exits(2), &env);
            assert!(results(&env).is_empty() && vendor.state().batches.is_empty());
        }
        write(&env, &["a", "b"]);
        let ran = run(&vendor, &env, &["--cancel-batch"]).exits(2);
        assert!(ran.stderr.contains("batch_0 could not be cancelled"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("rm '"), "{}", ran.stderr);
        vendor.state().batches = hidden;
        vendor.state().patience = 0;
        vendor.state().is_without_results = true;
        leave_incomplete(&vendor, &env);
        age(&env);
        is_kept(&run(&vendor, &env, &[]).exits(2), &env);
        is_untouched(&env, &vendor);
        vendor.state().is_without_results = false;
        run(&vendor, &env, &[]).exits(0);
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
        let env = env.var("GEMINI_API_KEY", "sk-wrong-0123456789abcdef");
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
        let (cancelled, answer) = if vendor.ends_in_parts() { (2, json!("c")) } else { (3, json!("")) };
        assert!(ran.stderr.contains(&format!("\n  {cancelled} batch-canceled\n")), "{}", ran.stderr);
        let results = results(&env);
        assert_eq!(of(&results, "c")["answer"], answer);
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
        (&["-m", "ollama/x"], "no-provider-batch"),
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
