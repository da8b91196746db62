//! Real signals, while a tool sleeps and while a provider is silent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::canary::overhear;
use crate::env::{Ran, TestEnv, wait};
use crate::provider::{Line, Provider};

pub(crate) const SLEEPER: &str = "[ensemble]\nname = \"fakes\"\ndescription = \"x\"\n[[invokers]]\nname = \"sleep\"\ndescription = \"x\"\nbuiltin = \"test_sleep\"\narguments = { type = \"object\", properties = {} }\n";

pub(crate) fn send(signal: &str, child: &Child) {
    let status =
        std::process::Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

/// Starts a run, waits for a record, sends the signal, and gives back the end and the records.
fn interrupt(env: &TestEnv, args: &[&str], wait_for: &str, signal: &str) -> (Ran, Vec<Value>) {
    interrupt_after(env, args, (wait_for, 1), signal)
}

/// The same, after so many of them.
pub(crate) fn interrupt_after(
    env: &TestEnv,
    args: &[&str],
    (wait_for, count): (&str, usize),
    signal: &str,
) -> (Ran, Vec<Value>) {
    let mut child = env.command(args).spawn().unwrap();
    let mut reader = BufReader::new(overhear(child.stdout.take().unwrap()));
    let mut records: Vec<Value> = Vec::new();
    let mut line = String::new();
    while records.iter().filter(|record| record["type"] == wait_for).count() < count {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it ended before {wait_for}: {records:?}");
        records.push(serde_json::from_str(&line).unwrap());
    }
    send(signal, &child);
    records.extend(reader.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
    (wait(child), records)
}

#[test]
fn a_signal_while_a_tool_sleeps() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        let provider =
            Provider::chat([Line::from(calls([("fakes__sleep", json!({}))])), text("I am back.").into()]);
        let env = provider.env(TestEnv::new());
        env.write("fakes/fakes.toml", SLEEPER);
        let fakes = env.path("fakes").display().to_string();
        let args = ["ask", "go", "-m", provider.model(), "--ensembles", &fakes, "-o", "jsonl"];
        let (ran, records) = interrupt(&env, &args, "invocation.started", signal);
        ran.exits(code);
        let finished = records.iter().find(|record| record["type"] == "invocation.finished").unwrap();
        assert_eq!(finished["outcome"], "cancelled");
        let done = records.last().unwrap();
        assert_eq!((&done["type"], &done["exit"]), (&json!("done"), &json!(code)));
        // The conversation can go on: the provider accepts the history.
        let ran =
            env.run(&["ask", "-c", "still there?", "-m", provider.model(), "--ensembles", &fakes]).exits(0);
        assert_eq!(ran.stdout, "I am back.\n");
        provider.is_content();
    }
}

#[test]
fn a_signal_while_the_provider_is_silent() {
    let stall = |answer: &mut crate::http::Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    let provider = Provider::chat([Line::Bent(text("one two three"), stall), text("Yes.").into()]);
    let env = provider.env(TestEnv::new());
    let args = ["ask", "go", "-m", provider.model(), "-o", "jsonl"];
    let (ran, _) = interrupt(&env, &args, "message.delta", "INT");
    let ran = ran.exits(130);
    assert!(ran.stderr.contains("the turn is saved"), "{}", ran.stderr);
    env.run(&["ask", "-c", "again?", "-m", provider.model()]).exits(0);
    provider.is_content();
    // What was shown is part of the conversation.
    assert!(provider.requests()[1]["messages"].to_string().contains("one two"));
}

#[test]
fn a_signal_while_stdin_is_awaited_has_its_record_too() {
    let env = TestEnv::new();
    let mut child = env.command(["ask", "-", "-o", "jsonl"]).stdin(Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    // Until it catches signals, one would end it without a word.
    let status = format!("/proc/{}/status", child.id());
    while !std::fs::read_to_string(&status).is_ok_and(catches_term) {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    send("TERM", &child);
    let ran = wait(child).exits(143);
    drop(held_open);
    assert_eq!(ran.records().last().unwrap()["exit"], 143);
}

/// Does the status of a process say that it catches SIGTERM (bit 14 of the mask)?
fn catches_term(status: String) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & (1 << 14) != 0)
}

#[test]
fn a_run_that_is_stuck_in_a_full_pipe_can_be_ended() {
    let long: &'static str = Box::leak("word ".repeat(200_000).into_boxed_str());
    let provider = Provider::chat([text(long)]);
    let env = provider.env(TestEnv::new());
    let mut child = env.command(["ask", "go", "-m", provider.model()]).spawn().unwrap();
    // One word has come, nobody reads on, and the pipe fills.
    let mut stdout = overhear(child.stdout.take().unwrap());
    stdout.read_exact(&mut [0; 5]).unwrap();
    let before = wakings(&child);
    send("TERM", &child);
    wait_until("the first signal is heard", || wakings(&child) > before);
    send("INT", &child);
    let ran = wait(child);
    // The second signal leaves at once, unless the first came before it was stuck. Left to its time it would end with 143
    // and without a word.
    assert!(ran.code == 130 || ran.stderr.contains("the turn is saved"), "{ran:?}");
    drop(stdout);
}

/// How often the thread that hears signals has gone to sleep.
fn wakings(child: &Child) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let mut statuses =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let status = statuses.find(|status| status.starts_with("Name:\tsignals\n")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.map_or(u64::MAX, |number| number.trim().parse().unwrap())
}

/// A search of one long line, by an expression that is made to be slow: a minute of work and more that no signal reaches.
#[test]
fn a_search_that_is_slow_keeps_nobody() {
    let slow = || calls([("io__search_files", json!({ "pattern": "[ab]*a[ab]{900}c" }))]);
    let provider = Provider::chat([Line::from(slow()), slow().into()]);
    let env = provider.env(TestEnv::new());
    env.write("work/long", &without_a_pattern(6 * 1024 * 1024));
    let args = ["ask", "go", "-m", provider.model(), "-o", "jsonl"];
    let deadline = [&args[..], &["--deadline", "1"]].concat();
    let ran = env.run(&deadline).exits(7);
    assert_eq!(ran.records().last().unwrap()["error"]["message"], "the deadline has passed", "{ran:?}");
    let finished = ran.records().into_iter().find(|record| record["type"] == "invocation.finished").unwrap();
    assert_eq!(finished["outcome"], "cancelled", "{finished}");
    let (ran, _) = interrupt(&env, &args, "invocation.started", "INT");
    assert!(ran.exits(130).stderr.contains("interrupted"));
}

/// Letters a and b in no order that could be learnt.
fn without_a_pattern(length: usize) -> String {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(|_| next()).collect()
}
