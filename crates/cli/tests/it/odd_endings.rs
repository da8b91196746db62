//! Replies that end in a word that is not known, or that say of themselves that they are not whole.

use serde_json::json;

use crate::body::{Dialect, Says, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;

fn ends(says: Says, stop: &'static str) -> Says {
    Says { stop: Some(stop), ..says }
}

/// The word that a wire would end a reply with which nobody knows. What Responses calls incomplete is known as that.
const UNKNOWN: [Dialect; 4] = [Dialect::Anthropic, Dialect::Chat, Dialect::Gemini, Dialect::Ollama];

#[test]
fn nothing_runs_from_a_reply_that_ends_abnormally_and_the_model_is_told() {
    for dialect in Dialect::ALL {
        let call = calls([("own__tool", json!({}))]);
        let provider = Provider::new(dialect, [ends(call, "ODD_END"), text("Now it is known.")]);
        let env = provider.env(TestEnv::hasty());
        env.write(
            "work/own/own.toml",
            "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\n\
             command = { argv = [\"touch\", \"trace\"] }\n",
        );
        let ran = env
            .run(&[
                "ask",
                "-m",
                provider.model(),
                "--ensembles",
                "own",
                "--allow",
                "own.*",
                "what time is it?",
            ])
            .exits(0);
        assert_eq!(ran.stdout.trim(), "Now it is known.", "{dialect:?}");
        assert!(!env.path("work/trace").exists(), "{dialect:?}: it ran");
        let told = provider.requests()[1].to_string();
        let cut = dialect == Dialect::Responses;
        let words = if cut { "cut off by its output limit" } else { "not run: the reply ended as `ODD_END`" };
        assert!(told.contains(words), "{dialect:?}: {told}");
        assert_eq!(ran.stderr.contains("ODD_END"), !cut, "{dialect:?}: {}", ran.stderr);
        provider.is_content();
    }
}

#[test]
fn a_whole_answer_with_an_unknown_word_is_an_answer_with_a_warning() {
    for dialect in UNKNOWN {
        let provider = Provider::new(dialect, [ends(text("42"), "ODD_END")]);
        let env = provider.env(TestEnv::hasty());
        let ran = env.run(&["ask", "-m", provider.model(), "what?"]).exits(0);
        assert_eq!(ran.stdout.trim(), "42", "{dialect:?}");
        assert!(ran.stderr.contains("ODD_END") && ran.stderr.contains("may be incomplete"), "{}", ran.stderr);
    }
}

#[test]
fn no_answer_with_an_unknown_word_is_exit_6() {
    for dialect in UNKNOWN {
        let provider = Provider::new(dialect, [ends(text(""), "ODD_END")]);
        let env = provider.env(TestEnv::hasty());
        let ran = env.run(&["ask", "-m", provider.model(), "what?"]).exits(6);
        assert!(ran.stderr.contains("error[odd-ending]") && ran.stderr.contains("ODD_END"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
    }
}

#[test]
fn what_calls_itself_incomplete_is_cut_whatever_the_reason() {
    let provider = Provider::new(Dialect::Responses, [ends(text("4"), "max_tool_calls")]);
    let env = provider.env(TestEnv::hasty());
    let ran = env.run(&["ask", "-m", provider.model(), "what?"]).exits(7);
    assert!(ran.stderr.contains("truncated at the output limit of the model"), "{}", ran.stderr);
}

#[test]
fn words_of_other_vendors_for_a_plain_end_are_no_news() {
    for word in ["eos_token", "COMPLETE", "tool_use", "STOP"] {
        let provider = Provider::chat([ends(text("42"), word)]);
        let env = provider.env(TestEnv::hasty());
        let ran = env.run(&["ask", "-m", provider.model(), "what?"]).exits(0);
        assert!(!ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
}
