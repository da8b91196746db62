//! `ask --prompt ENSEMBLE.NAME key=value …`: a prompt of a server opens the user's turn.

use serde_json::Value;

use crate::body::{Dialect, Says, text};
use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;
use crate::provider::Provider;

fn env(provider: &Provider, flags: &[&str]) -> TestEnv {
    let env = provider.env(TestEnv::hasty());
    FakeServer::new("town", &[&["--prompts"], flags].concat()).write(&env);
    env
}

fn ask(env: &TestEnv, provider: &Provider, rest: &[&str]) -> Ran {
    let servers = env.path("servers");
    let servers = servers.to_str().unwrap();
    env.run(&[&["ask", "-m", provider.model(), "--no-tools", "--ensembles", servers], rest].concat())
}

/// Role and words of each message of a chat request.
fn messages(request: &Value) -> Vec<(String, String)> {
    let messages = request["messages"].as_array().unwrap();
    let said = |message: &Value| match message["content"].as_str() {
        Some(text) => text.to_owned(),
        None => {
            let parts = message["content"].as_array().unwrap().iter();
            parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("|")
        }
    };
    messages.iter().map(|one| (one["role"].as_str().unwrap().to_owned(), said(one))).collect()
}

#[test]
fn a_prompt_is_filled_in_and_the_words_after_it_are_added() {
    for (era, words, said) in [
        ("legacy", &["city=Paris", "tone=dry"][..], "Be a guide through Paris, dry."),
        ("modern", &["city=a=b"], "Be a guide through a=b, ."),
        ("modern", &["city=Paris", "What", "is", "x=1?"], "Be a guide through Paris, .\n\nWhat is x=1?"),
    ] {
        let provider = Provider::chat([text("Here we are."), text("Still here.")]);
        let env = env(&provider, &[&format!("--era={era}")]);
        let ran = ask(&env, &provider, &[&["--prompt", "town.guide", "-o", "json"], words].concat()).exits(0);
        assert_eq!(ran.json()["answer"], "Here we are.");
        ask(&env, &provider, &["-c", "and then?"]).exits(0);
        let requests = provider.requests();
        let words: Vec<String> = messages(&requests[0]).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words.join("|"), said, "{requests:#?}");
        assert!(messages(&requests[1]).len() > messages(&requests[0]).len());
        provider.is_content();
    }
}

#[test]
fn words_of_the_assistant_are_lawful_on_every_wire_and_no_answer_of_this_run() {
    for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses, Dialect::Gemini, Dialect::Ollama] {
        let provider = Provider::new(dialect, [text("Cold."), text("Warm.")]);
        let env = env(&provider, &[]);
        let ran = ask(&env, &provider, &["--prompt", "town.rehearsed", "-o", "json"]).exits(0);
        assert_eq!(ran.json()["answer"], "Cold.", "{dialect:?}");
        let ran = ask(&env, &provider, &["-c", "--prompt", "town.rehearsed", "And red?"]).exits(0);
        assert_eq!(ran.stdout, "Warm.\n");
        let last = provider.requests()[1].to_string();
        assert_eq!(last.matches("A colour.").count(), 2, "{dialect:?}: {last}");
        assert!(last.rfind("And red?") > last.rfind("And blue?"), "{dialect:?}");
        provider.is_content();
    }
}

#[test]
fn pictures_and_documents_of_a_prompt_stay_in_the_session() {
    let provider = Provider::chat([text("A pixel."), text("The same.")]);
    let env = env(&provider, &[]);
    ask(&env, &provider, &["--prompt", "town.shown", "what is it?"]).exits(0);
    std::fs::remove_file(env.path("servers/town.toml")).unwrap();
    ask(&env, &provider, &["-c", "again?"]).exits(0);
    for request in provider.requests() {
        let request = request.to_string();
        assert_eq!(request.matches("iVBORw0KGgpVVVVV").count(), 1, "{request}");
        assert!(request.contains("[resource demo://notes.md]") && request.contains("remember the milk"));
        assert!(
            request.contains("file:///etc/shadow") && !request.contains("root:"),
            "a link is passed on, not followed"
        );
    }
    provider.is_content();
}

#[test]
fn it_goes_with_attachments_stdin_several_models_and_a_dry_run() {
    let provider = Provider::chat([text("Ok.")]);
    let env = env(&provider, &["--resources"]);
    env.write("work/more.txt", "piped words");
    let servers = env.path("servers");
    let args = [
        "ask",
        "-m",
        provider.model(),
        "-m",
        "understudy",
        "--no-tools",
        "-o",
        "json",
        "--prompt",
        "town.guide",
        "city=Lima",
        "-a",
        "mcp:town:demo://notes.md",
        "--ensembles",
        servers.to_str().unwrap(),
    ];
    let mut command = env.command(args);
    command.stdin(std::fs::File::open(env.path("work/more.txt")).unwrap());
    crate::env::wait(command.spawn().unwrap()).exits(0);
    let sent = messages(&provider.requests()[0]);
    let sent: Vec<&str> = sent.iter().map(|(_, words)| words.as_str()).collect();
    let sent = sent.join("|");
    let at = |words: &str| sent.find(words).unwrap_or_else(|| panic!("{words} in {sent}"));
    assert!(at("remember the milk") < at("through Lima") && at("through Lima") < at("piped words"), "{sent}");
    let dry = ask(&env, &provider, &["--dry-run", "--prompt", "town.guide", "city=Lima"]).exits(0);
    assert!(dry.stdout.contains("through Lima"), "{}", dry.stdout);
    provider.is_content();
}

#[test]
fn what_does_not_fit_the_prompt_is_told_before_a_model_is_asked() {
    let provider = Provider::chat(Vec::<Says>::new());
    let env = env(&provider, &[]);
    for (words, exit, code, said) in [
        (
            &["town.guide"][..],
            2,
            "missing-argument",
            &[
                "needs `city`",
                "city=… (required)  Which town",
                "tone=… (optional)",
                "`city` may be: Paris, Prague\\x1b[31m, P0",
            ][..],
        ),
        (&["town.guide", "tone=dry"], 2, "missing-argument", &["`city` may be: Lima"]),
        (&["town.guide", "hello there"], 2, "missing-argument", &["needs `city`"]),
        (&["town.guide", "ctiy=Paris"], 2, "unknown-argument", &["did you mean `city`"]),
        (&["town.guide", "city=a", "city=b"], 2, "bad-argument", &["twice"]),
        (&["town.guide", "city=Nowhere"], 2, "prompt", &["there is no such city"]),
        (&["town.giude", "city=Paris"], 2, "no-such-prompt", &["did you mean `guide`"]),
        (&["town.xyzzyx"], 2, "no-such-prompt", &["ensembles show town --connect"]),
        (&["town.gone"], 2, "prompt", &["Prompt not found"]),
        (&["town.broken"], 10, "prompt", &["`arguments` is not an array"]),
        (&["town.malformed"], 10, "prompt", &["message 2:", "role `system`"]),
        (&["town.silent"], 10, "prompt", &["is empty"]),
        (&["town.unanswerable"], 2, "no-prompt", &["ends with a message of the assistant"]),
        (&["guide"], 2, "bad-prompt", &["ENSEMBLE.NAME"]),
        (&["twon.guide"], 2, "unknown-ensemble", &["did you mean `town`"]),
    ] {
        let ran = ask(&env, &provider, &[&["-o", "json", "--prompt"], words].concat()).exits(exit);
        assert_eq!(ran.json()["error"]["code"], code, "{words:?}: {}", ran.stderr);
        for word in said {
            assert!(ran.stderr.contains(word), "{words:?}: {word} in {}", ran.stderr);
        }
    }
    FakeServer::new("town", &["--resources"]).write(&env);
    let ran = ask(&env, &provider, &["--prompt", "town.guide"]).exits(2);
    assert!(ran.stderr.contains("its server offers no prompts"), "{}", ran.stderr);
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "nothing is kept of it");
    provider.is_content();
}

#[test]
fn a_server_without_suggestions_still_says_what_it_needs() {
    let provider = Provider::chat(Vec::<Says>::new());
    for flag in ["--error-on=completion/complete", "--empty-on=completion/complete"] {
        let env = env(&provider, &[flag]);
        let ran = ask(&env, &provider, &["--prompt", "town.guide"]).exits(2);
        assert!(ran.stderr.contains("needs `city`") && !ran.stderr.contains("may be"), "{}", ran.stderr);
    }
    provider.is_content();
}
