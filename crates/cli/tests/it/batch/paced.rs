//! A provider that refuses because of its rate.

use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{answering, batch, each_once, questions, results, says};
use crate::env::TestEnv;
use crate::http::Answer;

fn refusal(seconds: &str) -> Answer {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
    Answer::new(429, "application/json", body).header("retry-after", seconds)
}

/// The times at which questions came, and an answer to each.
fn timed(
    answer: impl Fn(usize, &str) -> Answer + Send + Sync + 'static,
) -> (TestEnv, Arc<Mutex<Vec<Instant>>>) {
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let shared = Arc::clone(&times);
    let env = answering(move |question| {
        let number = {
            let mut times = shared.lock().unwrap();
            times.push(Instant::now());
            times.len()
        };
        answer(number, question)
    });
    (env, times)
}

#[test]
fn one_that_is_told_to_wait_makes_all_wait() {
    let both = Barrier::new(2);
    // The second answer takes a while, so that the refusal of the first has come before the next question is due.
    let (env, times) = timed(move |number, question| {
        if number <= 2 {
            both.wait();
        }
        if number == 1 {
            return refusal("2");
        }
        let mut answer = says(question);
        if number == 2 {
            (answer.piece, answer.pause) = (answer.body.len() / 10, Duration::from_millis(80));
        }
        answer
    });
    env.write("work/in.jsonl", &questions(8));
    batch(&env, &["-o", "out.jsonl", "-j", "2"]).exits(0);
    each_once(&results(&env), 8);
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 9, "eight answers and one refusal");
    let first = times[1];
    assert!(times[2..].iter().all(|time| time.duration_since(first) >= Duration::from_secs(2)), "{times:?}");
}

#[test]
fn a_conversation_that_was_refused_too_often_is_put_back() {
    // More refusals in a row than one conversation is retried, without a time to wait.
    let (env, times) = timed(|number, question| if number <= 3 { refusal("0") } else { says(question) });
    let hasty = "[timeouts]\nretry_first = 1\nretry_cap = 5\nmax_retries = 0\n";
    env.write("home/.config/converse/config.toml", hasty);
    env.write("work/in.jsonl", &questions(2));
    batch(&env, &["-o", "out.jsonl", "-j", "1"]).exits(0);
    each_once(&results(&env), 2);
    assert_eq!(times.lock().unwrap().len(), 5);
}

#[test]
fn a_provider_that_stays_busy_is_a_failure_of_its_kind() {
    let (env, _) = timed(|_, _| refusal("0"));
    env.write("home/.config/converse/config.toml", "[timeouts]\nmax_retries = 0\n");
    env.write("work/in.jsonl", &questions(2));
    let ran = batch(&env, &["-o", "out.jsonl", "-j", "2"]).exits(10);
    assert!(ran.stderr.contains("\n  2 rate-limit\n"), "{}", ran.stderr);
    assert!(results(&env).iter().all(|result| result["exit"] == json!(5)));
}

#[test]
fn a_wait_that_is_too_long_stops_the_batch() {
    let (env, times) = timed(|_, _| refusal("90000"));
    env.write("work/in.jsonl", &questions(20));
    let ran = batch(&env, &["-o", "out.jsonl", "-j", "1"]).exits(5);
    assert!(ran.stderr.contains("error[rate-limit]: ") && ran.stderr.contains("25 h"), "{}", ran.stderr);
    assert_eq!((results(&env).len(), times.lock().unwrap().len()), (0, 1));
}
