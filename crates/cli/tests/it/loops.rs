//! The loop against a provider that checks every request: both dialects, streamed and whole.

use serde_json::{Value, json};

use crate::body::{Dialect, Says, calls, text};
use crate::env::{Ran, TestEnv};
use crate::http::Answer;
use crate::provider::{Line, Provider};

const FAKES: &str = r#"
[ensemble]
name = "fakes"
description = "Tools that misbehave on purpose"

[[invokers]]
name = "echo"
description = "Says it again"
builtin = "test_echo"
arguments = { type = "object", required = ["text"], properties = { text = { type = "string" }, times = { type = "integer", default = 1 } } }

[[invokers]]
name = "fail"
description = "Fails"
builtin = "test_fail"
arguments = { type = "object", properties = {} }

[[invokers]]
name = "fatal"
description = "Fails, and the turn with it"
builtin = "test_fail"
on_failure = "stop"
arguments = { type = "object", properties = {} }

[[invokers]]
name = "panic"
description = "Panics"
builtin = "test_panic"
arguments = { type = "object", properties = {} }

[[invokers]]
name = "sleep"
description = "Sleeps"
builtin = "test_sleep"
timeout = 0.2
arguments = { type = "object", properties = {} }

[[invokers]]
name = "meet"
description = "Answers when as many are running as it is told"
builtin = "test_meet"
timeout = 20
arguments = { type = "object", required = ["count"], properties = { count = { type = "integer" } } }

[[invokers]]
name = "flood"
description = "Answers with very much"
builtin = "test_flood"
result_limit = "1 KiB"
arguments = { type = "object", properties = {} }
"#;

/// Every dialect and way of answering; `run` makes the script anew each time.
fn everywhere(run: impl Fn(Dialect, bool)) {
    for dialect in Dialect::ALL {
        for stream in [true, false] {
            run(dialect, stream);
        }
    }
}

struct Case {
    provider: Provider,
    ran: Ran,
}

fn play<L: Into<Line>>(dialect: Dialect, stream: bool, script: Vec<L>, extra: &[&str]) -> Case {
    let provider = Provider::new(dialect, script);
    let env = provider.env(TestEnv::hasty());
    env.write("fakes/fakes.toml", FAKES);
    let fakes = env.path("fakes").display().to_string();
    let mut args =
        vec!["ask", "go", "-m", provider.model(), "--ensembles", &fakes, "-e", "fakes", "-o", "json"];
    if !stream {
        args.push("--no-stream");
    }
    args.extend(extra);
    let ran = env.run(&args);
    Case { provider, ran }
}

impl Case {
    /// The outcome and text of each invocation, in order.
    fn outcomes(&self) -> Vec<(String, String)> {
        let object = self.ran.json();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        object["invocations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| (word(&i["outcome"]), word(&i["result"])))
            .collect()
    }

    #[track_caller]
    fn ends(self, code: i32, answer: &str) -> Self {
        let ran = self.ran.exits(code);
        assert_eq!(ran.json()["answer"], answer, "{}", ran.stdout);
        self.provider.is_content();
        Self { provider: self.provider, ran }
    }
}

#[test]
fn an_answer_without_tools() {
    everywhere(|dialect, stream| {
        let case = play(dialect, stream, vec![text("It is 4.")], &[]).ends(0, "It is 4.");
        let usage = &case.ran.json()["usage"];
        assert_eq!((&usage["input"], &usage["output"]), (&json!(10), &json!(5)));
    });
}

#[test]
fn text_beside_calls() {
    everywhere(|dialect, stream| {
        let script =
            vec![calls([("fakes__echo", json!({ "text": "a" }))]).with_text("Let me look."), text("Done.")];
        let case = play(dialect, stream, script, &[]).ends(0, "Let me look.\n\nDone.");
        assert_eq!(case.outcomes(), [("success".into(), "a".into())]);
    });
}

#[test]
fn three_parallel_calls_run_at_once_and_come_back_in_order() {
    everywhere(|dialect, stream| {
        let meet = || ("fakes__meet", json!({ "count": 3 }));
        let case =
            play(dialect, stream, vec![calls([meet(), meet(), meet()]), text("Met.")], &[]).ends(0, "Met.");
        assert_eq!(case.outcomes().iter().filter(|(outcome, _)| outcome == "success").count(), 3);
        let second = dialect.history(&case.provider.requests()[1]);
        let (results, pointer) = match dialect {
            Dialect::Anthropic => {
                (second.last().unwrap()["content"].as_array().unwrap().clone(), "/tool_use_id")
            }
            Dialect::Gemini => {
                (second.last().unwrap()["parts"].as_array().unwrap().clone(), "/functionResponse/id")
            }
            Dialect::Chat => (second[second.len() - 3..].to_vec(), "/tool_call_id"),
            Dialect::Responses => (second[second.len() - 3..].to_vec(), "/call_id"),
            // Without ids there is only the order, which the provider checks.
            Dialect::Ollama => return,
        };
        let ids: Vec<&str> =
            results.iter().map(|result| result.pointer(pointer).unwrap().as_str().unwrap()).collect();
        let kind = if dialect == Dialect::Anthropic { "toolu" } else { "call" };
        assert_eq!(ids, [0, 1, 2].map(|index| format!("{kind}_1_{index}")));
    });
}

#[test]
fn whatever_goes_wrong_with_a_tool_is_an_answer() {
    everywhere(|dialect, stream| {
        let mut first = calls([
            ("fakes__nonsense", json!({})),
            ("fakes__echo", json!({ "text": 5 })),
            ("fakes__fail", json!({})),
            ("fakes__panic", json!({})),
            ("fakes__sleep", json!({})),
        ]);
        if matches!((dialect, stream), (Dialect::Chat | Dialect::Responses, _) | (Dialect::Anthropic, true)) {
            // Elsewhere arguments are an object and cannot be broken.
            first.calls.push(("fakes__echo", r#"{"text": "a", "#.to_owned()));
        }
        let case = play(dialect, stream, vec![first, text("I see.")], &[]).ends(0, "I see.");
        let outcomes = case.outcomes();
        let (kinds, texts): (Vec<&str>, Vec<&str>) =
            outcomes.iter().map(|(o, t)| (o.as_str(), t.as_str())).unzip();
        let expected = ["no_such_tool", "invalid", "failed", "failed", "timeout", "invalid"];
        assert_eq!(kinds, expected[..kinds.len()]);
        assert!(texts[0].contains("there is no tool `fakes__nonsense`"), "{texts:?}");
        assert!(texts[1].contains("/text"), "{texts:?}");
        assert!(
            texts[2].contains("on purpose") && texts[3].contains("crashed") && texts[4].contains("0.2 s"),
            "{texts:?}"
        );
        // The model is told that they are failures.
        let told = Value::from(dialect.history(&case.provider.requests()[1])).to_string();
        assert!(told.contains("crashed"), "{told}");
        if dialect == Dialect::Anthropic {
            assert_eq!(told.matches("\"is_error\":true").count(), kinds.len(), "{told}");
        }
        assert!(!case.ran.stderr.contains("panicked"), "{}", case.ran.stderr);
    });
}

#[test]
fn a_chain_of_ten() {
    everywhere(|dialect, stream| {
        let mut script: Vec<Says> =
            (0..10).map(|n| calls([("fakes__echo", json!({ "text": n.to_string() }))])).collect();
        script.push(text("Ten."));
        let case = play(dialect, stream, script, &[]).ends(0, "Ten.");
        assert_eq!(case.outcomes().len(), 10);
        // The history only grows: each request begins with the messages of the one before.
        let requests = case.provider.requests();
        for pair in requests.windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(|request| dialect.history(request));
            assert_eq!(before[..], after[..before.len()]);
            assert_eq!(pair[0]["tools"], pair[1]["tools"]);
            assert!(!before.is_empty());
        }
    });
}

#[test]
fn limits_end_the_turn_with_seven_and_keep_it() {
    everywhere(|dialect, stream| {
        let again = || calls([("fakes__echo", json!({ "text": "again" }))]);
        let case = play(dialect, stream, vec![again(), again()], &["--max-iterations", "2"]);
        let case = case.ends(7, "");
        assert_eq!(case.outcomes().len(), 2);
        assert!(case.ran.json()["error"]["message"].as_str().unwrap().contains("2 model calls"));

        let two =
            || calls([("fakes__echo", json!({ "text": "a" })), ("fakes__echo", json!({ "text": "b" }))]);
        let case = play(dialect, stream, vec![two(), two()], &["--max-invocations", "3"]).ends(7, "");
        let kinds: Vec<String> = case.outcomes().into_iter().map(|(outcome, _)| outcome).collect();
        assert_eq!(kinds, ["success", "success", "cancelled", "cancelled"]);
    });
}

#[test]
fn a_deadline_ends_a_sleeping_tool() {
    let slow = calls([("fakes__meet", json!({ "count": 2 }))]);
    let case = play(Dialect::Chat, true, vec![slow], &["--deadline", "0.5"]).ends(7, "");
    assert_eq!(case.outcomes()[0].0, "cancelled");
}

#[test]
fn defaults_are_filled_in_and_results_bounded() {
    everywhere(|dialect, stream| {
        let script =
            vec![calls([("fakes__echo", json!({ "text": "x" })), ("fakes__flood", json!({}))]), text("Ok.")];
        let case = play(dialect, stream, script, &[]).ends(0, "Ok.");
        let outcomes = case.outcomes();
        assert_eq!(outcomes[0].1, "x");
        assert!(
            outcomes[1].1.len() < 1300 && outcomes[1].1.contains("[truncated: kept 1024 of "),
            "{outcomes:?}"
        );
    });
}

#[test]
fn a_truncated_reply_runs_nothing() {
    everywhere(|dialect, stream| {
        let stop = Some(match dialect {
            Dialect::Anthropic => "max_tokens",
            Dialect::Chat | Dialect::Ollama => "length",
            Dialect::Responses => "max_output_tokens",
            Dialect::Gemini => "MAX_TOKENS",
        });
        let cut = Says { stop, ..calls([("fakes__echo", json!({ "text": "half" }))]) };
        let case = play(dialect, stream, vec![cut, text("Shorter.")], &[]).ends(0, "Shorter.");
        assert_eq!(case.outcomes()[0].0, "cancelled");
        let only_text = Says { stop, ..text("and then") };
        play(dialect, stream, vec![only_text], &[]).ends(7, "and then");
    });
}

#[test]
fn an_empty_last_reply_ends_the_turn() {
    everywhere(|dialect, stream| {
        let script = vec![calls([("fakes__echo", json!({ "text": "x" }))]), text("")];
        play(dialect, stream, script, &[]).ends(0, "");
    });
}

/// Where nothing was asked of a tool, an answer is missing.
#[test]
fn an_empty_first_reply_is_retried_and_then_six() {
    everywhere(|dialect, stream| {
        let case = play(dialect, stream, vec![text(""), text(""), text("")], &[]).ends(6, "");
        assert_eq!(case.ran.json()["error"]["code"], "empty-reply");
        play(dialect, stream, vec![text(""), text("Here.")], &[]).ends(0, "Here.");
    });
    let only_done = || Line::from(Answer::new(200, "text/event-stream", "data: [DONE]\n\n"));
    let provider = Provider::chat([only_done(), only_done(), only_done()]);
    let ran = provider.env(TestEnv::hasty()).run(&["ask", "-m", provider.model(), "Hi"]).exits(6);
    assert!(ran.stderr.contains("error[empty-reply]"), "{}", ran.stderr);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_fatal_failure_stops_the_turn() {
    let script = vec![calls([("fakes__fatal", json!({})), ("fakes__echo", json!({ "text": "x" }))])];
    let case = play(Dialect::Chat, true, script, &[]).ends(7, "");
    let kinds: Vec<String> = case.outcomes().into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(kinds, ["failed", "success"]);
    assert!(
        case.ran.stderr.contains("error[stopped]: `fakes.fatal` failed (inv_1_0), and"),
        "{}",
        case.ran.stderr
    );
}

#[test]
fn pause_turn_goes_on_and_refusal_does_not() {
    for stream in [true, false] {
        let pause = Says { stop: Some("pause_turn"), ..text("Searching.") };
        let provider_rules_out_prefill = play(Dialect::Anthropic, stream, vec![pause, text("Found.")], &[]);
        // The paused turn is sent back as the last message, which only a paused turn may be.
        let requests = provider_rules_out_prefill.provider.requests();
        assert_eq!(requests[1]["messages"].as_array().unwrap().last().unwrap()["role"], "assistant");
        assert_eq!(provider_rules_out_prefill.ran.exits(0).json()["answer"], "Searching.\n\nFound.");
        let refusal = Says { stop: Some("refusal"), ..text("") };
        let case = play(Dialect::Anthropic, stream, vec![refusal], &[]).ends(6, "");
        assert_eq!(case.ran.json()["error"]["code"], "model-refused");
    }
}

#[test]
fn what_needs_an_approval_is_refused_without_a_terminal() {
    everywhere(|dialect, stream| {
        let script = || vec![calls([("fakes__echo", json!({ "text": "x" }))]), text("As you wish.")];
        let case = play(dialect, stream, script(), &["--ask", "fakes.echo"]).ends(8, "As you wish.");
        assert_eq!(case.outcomes()[0].0, "refused");
        let case = play(dialect, stream, script(), &["--deny", "fakes.*"]).ends(0, "As you wish.");
        assert!(case.outcomes()[0].1.contains("fakes.* (--deny)"), "{:?}", case.outcomes());
        let both = ["--allow", "fakes.*", "--ask", "fakes.echo"];
        play(dialect, stream, script(), &both).ends(8, "As you wish.");
    });
}
