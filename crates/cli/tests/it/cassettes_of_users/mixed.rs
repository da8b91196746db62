//! Half of it live; and what is asked that nobody had recorded.

use serde_json::json;

use super::{Elsewhere, cassette, entries};
use crate::body::{Says, calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;

fn sum(expression: &str) -> Says {
    calls([("essentials__calculator", json!({ "expression": expression }))])
}

const ARGS: [&str; 7] = ["ask", "6*7?", "-m", "openai-chat/stub", "--record", "f.cassette", "-q"];

fn recorded(provider: &Provider) -> String {
    let env = provider.env(TestEnv::hasty());
    env.run(&ARGS).exits(0);
    provider.is_content();
    cassette(&env)
}

#[track_caller]
fn missed(ran: Ran) -> String {
    let ran = ran.exits(6);
    assert!(ran.stderr.contains("error[cassette-miss]: f.cassette"), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn another_question_is_a_miss_with_the_nearest_and_a_diff() {
    let elsewhere = Elsewhere::with(&recorded(&Provider::chat([sum("6*7"), text("42.")])));
    let mut args = ARGS;
    args[1] = "6*9?";
    let told = missed(elsewhere.run(&args));
    for words in [
        "this request of openai-chat/stub; the nearest is in line",
        "-        \"content\": \"6*7?\"",
        "+        \"content\": \"6*9?\"",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.lines().count() < 70, "{told}");
    // For programs the same, and nothing on stdout but the object.
    let ran = elsewhere.run(&[&args[..], &["-o", "json"]].concat()).exits(6);
    let error = &ran.json()["error"];
    assert_eq!((&error["code"], &ran.json()["exit"]), (&json!("cassette-miss"), &json!(6)));
    assert!(error["message"].as_str().unwrap().contains("+        \"content\": \"6*9?\""), "{error}");
    assert!(error["cassette_line"].as_u64().is_some(), "{error}");
    // Another model is another question.
    args = ARGS;
    args[3] = "openai-chat/other";
    let told = missed(elsewhere.run(&args));
    assert!(told.contains("+  \"model\": \"openai-chat/other\""), "{told}");
}

#[test]
fn a_descriptor_that_has_changed_is_seen() {
    let own = |description: &str| {
        format!(
            "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"one\"\ndescription = \"{description}\"\n\
             effects = \"read\"\ncommand = {{ argv = [\"touch\", \"ran\"] }}\n\
             arguments = {{ type = \"object\", properties = {{}} }}\n"
        )
    };
    let provider = Provider::chat([calls([("own__one", json!({}))]), text("Done.")]);
    let env = provider.env(TestEnv::hasty());
    env.write("work/own/own.toml", &own("Does it"));
    let args = [&ARGS[..], &["--ensembles", "own", "--allow", "own.*"]].concat();
    env.run(&args).exits(0);
    assert!(env.path("work/ran").exists());
    let elsewhere = Elsewhere::with(&cassette(&env));
    elsewhere.0.write("work/own/own.toml", &own("Does it"));
    assert_eq!(elsewhere.run(&args).exits(0).stdout, "Done.\n");
    assert!(!elsewhere.0.path("work/ran").exists(), "a tool has run");
    // What was approved then must be allowed now.
    let told = missed(elsewhere.run(&args[..args.len() - 2]));
    assert!(told.contains("hint: allow the calls that were approved in the recording"), "{told}");
    // It runs, and says nothing else than it did.
    assert_eq!(elsewhere.run(&[&args[..], &["--live-tools"]].concat()).exits(0).stdout, "Done.\n");
    assert!(elsewhere.0.path("work/ran").exists(), "no tool has run");
    elsewhere.0.write("work/own/own.toml", &own("Does it well"));
    let told = missed(elsewhere.run(&args));
    assert!(told.contains("Does it well"), "{told}");
}

#[test]
fn the_real_model_meets_recorded_tools() {
    let kept = recorded(&Provider::chat([sum("6*7"), text("42.")]));
    let said = entries(&kept, "invocation")[0]["given"]["answer"].to_string();
    assert!(said.contains("42"), "{said}");
    let kept = kept.replace(&said, &said.replace("42", "forty-two"));
    let live = |script: Vec<Says>| {
        let provider = Provider::chat(script);
        let elsewhere = Elsewhere(provider.env(TestEnv::hasty()));
        elsewhere.0.write("work/f.cassette", &kept);
        let ran = elsewhere.run(&[&ARGS[..], &["--live-model"]].concat());
        provider.is_content();
        (ran, provider.requests())
    };
    let (ran, requests) = live(vec![sum("6*7"), text("So it is.")]);
    assert_eq!(ran.exits(0).stdout, "So it is.\n");
    assert!(requests[1].to_string().contains("forty-two"), "{requests:?}");
    // A call that nobody had recorded ends the run: the model is not asked again.
    let (ran, requests) = live(vec![sum("6*8")]);
    let told = missed(ran);
    assert!(told.contains("this invocation of essentials.calculator; the nearest is in line"), "{told}");
    assert!(
        told.contains("-    \"expression\": \"6*7\"") && told.contains("+    \"expression\": \"6*8\""),
        "{told}"
    );
    assert_eq!(requests.len(), 1);
    // And so does one more than there were.
    let (ran, _) = live(vec![sum("6*7"), sum("6*7")]);
    assert!(missed(ran).contains("answers this invocation of essentials.calculator once"), "");
    // The key is needed again.
    let ran = Elsewhere::with(&kept).run(&[&ARGS[..], &["--live-model"]].concat()).exits(4);
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
}
