//! `-a mcp:ENSEMBLE:URI`: what a server has reaches the model as a file would, and stays in the session.

use serde_json::Value;

use crate::body::{Dialect, Says, text};
use crate::env::{Ran, TestEnv, measure};
use crate::fake_server::{FakeServer, MEMORY, noted};
use crate::provider::Provider;
use crate::screen::Screen;

const PNG_BEGINS: &str = "iVBORw0KGgpVVVVV";

fn env(provider: &Provider, flags: &[&str]) -> TestEnv {
    let env = provider.env(TestEnv::hasty());
    let journal = format!("--journal={}", env.path("journal").display());
    let flags: Vec<&str> = [&["--resources", journal.as_str()], flags].concat();
    FakeServer::new("docs", &flags).write(&env);
    env
}

fn ask(env: &TestEnv, provider: &Provider, rest: &[&str]) -> Ran {
    let servers = env.path("servers");
    let servers = servers.to_str().unwrap();
    env.run(&[&["ask", "-m", provider.model(), "--ensembles", servers], rest].concat())
}

fn quiet() -> Provider {
    Provider::chat(Vec::<Says>::new())
}

#[test]
fn what_was_attached_is_what_is_sent_and_needs_no_server_later() {
    for era in ["legacy", "modern"] {
        let provider = Provider::chat([text("Milk."), text("Still milk.")]);
        let env = env(&provider, &[&format!("--era={era}")]);
        let attached = ["-a", "mcp:docs:demo://notes.md", "-a", "mcp:docs:demo://pixel.png"];
        ask(&env, &provider, &[&attached[..], &["--no-tools", "what must I buy?"]].concat()).exits(0);
        std::fs::remove_dir_all(env.path("servers")).unwrap();
        std::fs::create_dir(env.path("servers")).unwrap();
        ask(&env, &provider, &["--no-tools", "-c", "and now?"]).exits(0);
        for request in provider.requests() {
            let request = request.to_string();
            assert_eq!(request.matches("remember the milk").count(), 1, "{era}: {request}");
            assert!(request.contains("demo://notes.md"), "{era}: {request}");
            assert_eq!(request.matches(PNG_BEGINS).count(), 1, "{era}: {request}");
            let at = |words: &str| request.find(words).unwrap();
            assert!(at("remember the milk") < at("what must I buy"), "{era}");
        }
        assert_eq!(noted(&env, "journal", "resources/read demo://notes.md"), 1);
        assert_eq!(noted(&env, "journal", "tools/list"), 0, "it was only read from");
        provider.is_content();
    }
}

#[test]
fn a_server_whose_tools_are_offered_is_started_once() {
    for lazy in ["", "lazy = true"] {
        let provider = Provider::chat([text("Both."), text("Both.")]);
        let env = provider.env(TestEnv::hasty());
        let journal = format!("--journal={}", env.path("journal").display());
        FakeServer::new("docs", &["--resources", "--era=legacy", &journal]).ensemble(lazy).write(&env);
        let read = ["-e", "docs", "-a", "mcp:docs:demo://folder", "which?"];
        for run in 1..=2 {
            let ran = ask(&env, &provider, &read).exits(0);
            assert_eq!(noted(&env, "journal", "initialize"), run, "{lazy}: {}", ran.stderr);
        }
        for request in provider.requests() {
            let text = request.to_string();
            assert!(text.contains("demo://folder/a") && text.contains("second"), "{text}");
            assert!(crate::fake_server::offered(&request).contains(&"docs__echo".to_owned()));
        }
        provider.is_content();
    }
}

#[test]
fn several_models_and_a_dry_run_read_it_once() {
    let provider = Provider::chat([text("One.")]);
    let env = env(&provider, &[]);
    let dry = ask(&env, &provider, &["--dry-run", "-a", "mcp:docs:demo://notes.md", "x"]).exits(0);
    assert!(dry.stdout.contains("remember the milk"), "{}", dry.stdout);
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "a dry run keeps nothing");
    let several = ["-m", "understudy", "-o", "json", "-a", "mcp:docs:demo://notes.md", "2+2"];
    let ran = ask(&env, &provider, &several).exits(0);
    assert_eq!(ran.json()["models"].as_array().map(Vec::len), Some(2), "{}", ran.stdout);
    assert_eq!(noted(&env, "journal", "resources/read demo://notes.md"), 2, "once for each run");
    provider.is_content();
}

#[test]
fn what_waits_in_a_conversation_stays_when_a_server_does_not_give_its_part() {
    let provider = Provider::chat([text("Plain."), text("Milk.")]);
    let env = env(&provider, &[]);
    env.write("work/list.txt", "the list");
    let servers = env.path("servers").display().to_string();
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--ensembles", &servers, "-e", "docs"]);
    screen.says("/attach list.txt mcp:docs:demo://nowhere");
    screen.shows("with the next message: list.txt (8 B), docs");
    screen.says("what must I buy?");
    screen.shows("error[no-such-resource]");
    screen.shows("still attached: list.txt (8 B), docs; `/attach -` lets go of it");
    screen.says("/attach -");
    screen.shows("nothing is attached");
    screen.says("hello");
    screen.shows("Plain.");
    screen.says("/attach list.txt mcp:docs:demo://notes.md");
    screen.says("and now?");
    screen.shows("Milk.");
    let requests: Vec<String> = provider.requests().iter().map(ToString::to_string).collect();
    assert!(!requests[0].contains("the list") && !requests[0].contains("what must I buy"), "{}", requests[0]);
    assert!(requests[1].contains("the list") && requests[1].contains("remember the milk"), "{}", requests[1]);
    screen.says("/attach");
    screen.shows("write `/attach");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn what_cannot_be_attached_says_why_before_a_model_is_asked() {
    let provider = quiet();
    let env = env(&provider, &[]);
    for (named, exit, code, words) in [
        ("mcp:docs", 2, "attachment", &["mcp:ENSEMBLE:URI"][..]),
        ("mcp:dosc:demo://notes.md", 2, "unknown-ensemble", &["did you mean `docs`"]),
        ("mcp:essentials:x", 2, "no-server", &["has no MCP server"]),
        (
            "mcp:docs:demo://note.md",
            2,
            "no-such-resource",
            &["did you mean `demo://notes.md`", "Resource not found"],
        ),
        ("mcp:docs:http://elsewhere/at/all", 2, "no-such-resource", &["ensembles show docs --connect"]),
        (
            "mcp:docs:demo://city/{name}",
            2,
            "attachment",
            &[
                "template",
                "`{name}`",
                "All about one city",
                "`name` may be: Paris, Prague\\x1b[31m, P0",
                " …",
            ],
        ),
        ("mcp:docs:demo://{else}", 2, "attachment", &["a URI cannot contain braces", "demo://city/{name}"]),
        ("mcp:docs:demo://empty", 2, "attachment", &["empty"]),
        (
            "mcp:docs:demo://liar",
            2,
            "attachment",
            &["declares the type `image/png`, but the content is application/pdf"],
        ),
        ("mcp:docs:demo://zip", 2, "attachment-type", &["archive"]),
        ("mcp:docs:demo://odd", 10, "resource", &["neither text nor bytes"]),
        ("mcp:docs:demo://input", 10, "resource", &["request for input"]),
    ] {
        let ran = ask(&env, &provider, &["--no-tools", "-o", "json", "-a", named, "x"]).exits(exit);
        assert_eq!(ran.json()["error"]["code"], code, "{named}: {}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{named}: {word} in {}", ran.stderr);
        }
        assert!(ran.stderr.len() < 3000, "{named}");
    }
    let filled =
        ask(&env, &provider, &["--no-tools", "--dry-run", "-a", "mcp:docs:demo://city/a:b", "x"]).exits(0);
    assert!(filled.stdout.contains("all about demo://city/a:b"), "{}", filled.stdout);
    let large =
        ask(&env, &provider, &["--no-tools", "--dry-run", "-a", "mcp:docs:demo://large", "x"]).exits(0);
    assert!(large.stdout.len() > 15 * 1024 * 1024);
    let four = ["-a", "mcp:docs:demo://large"].repeat(4);
    let ran = ask(&env, &provider, &[&["--no-tools", "x"][..], &four].concat()).exits(2);
    assert!(ran.stderr.contains("bytes together"), "{}", ran.stderr);
    provider.is_content();
}

#[test]
fn what_is_too_large_costs_little() {
    let provider = Provider::new(Dialect::Anthropic, Vec::<Says>::new());
    let env = env(&provider, &[]);
    for (named, exit, words) in
        [("demo://huge", 10, "more than 16 MiB"), ("demo://photo.png", 2, "is 3932160")]
    {
        let named = format!("mcp:docs:{named}");
        let mut command =
            env.command(["ask", "x", "-m", provider.model(), "--no-tools", "-a", &named, "--ensembles"]);
        let measured = measure(command.arg(env.path("servers")).spawn().unwrap());
        assert!(
            measured.ran.code == exit && measured.ran.stderr.contains(words),
            "{named}: {}",
            measured.ran.stderr
        );
        assert!(measured.peak <= MEMORY, "{named}: {} MiB", measured.peak);
    }
    provider.is_content();
}

#[test]
fn a_server_that_fails_is_not_gone_without() {
    let provider = quiet();
    for (flags, tools, words) in [
        (&["--exit=3", "--stderr=out of order"][..], "--no-tools", "out of order"),
        (&["--exit=3", "--stderr=out of order"], "-q", "out of order"),
        (&["--exit-on=resources/read"], "--no-tools", "met its end"),
        (&["--error-on=resources/read"], "--no-tools", "error -32603"),
        (&["--empty-on=resources/read"], "--no-tools", "could not be read"),
    ] {
        let env = env(&provider, flags);
        let ran = ask(&env, &provider, &[tools, "-a", "mcp:docs:demo://notes.md", "x"]).exits(10);
        assert!(ran.stderr.contains(words), "{flags:?} {tools}: {}", ran.stderr);
        assert!(!env.path("home/.local/share/converse/sessions").exists(), "nothing is kept of it");
    }
    let env = env(&provider, &["--mute=resources/read"]);
    let ran = ask(&env, &provider, &["--no-tools", "--deadline", "2", "-a", "mcp:docs:demo://notes.md", "x"]);
    ran.exits(7);
    provider.is_content();
}

#[test]
fn a_key_that_a_server_says_again_goes_to_no_model() {
    let provider = Provider::chat([text("Nothing to see.")]);
    let env = provider.env(TestEnv::hasty()).var("DOCS_TOKEN", "hunter2-hunter2");
    FakeServer::new("docs", &["--resources"])
        .connection("environment = { TOKEN = \"${DOCS_TOKEN}\" }")
        .write(&env);
    ask(&env, &provider, &["--no-tools", "-a", "mcp:docs:demo://env", "x"]).exits(0);
    let request = provider.requests()[0].to_string();
    assert!(request.contains("TOKEN") && !request.contains("hunter2"), "{request}");
    provider.is_content();
}

#[test]
fn one_of_an_untrusted_project_is_not_started() {
    let provider = quiet();
    let env = provider.env(TestEnv::hasty());
    let journal = format!("--journal={}", env.path("journal").display());
    let file = FakeServer::new("docs", &["--resources", &journal]).write(&env);
    std::fs::create_dir_all(env.path("work/ensembles")).unwrap();
    std::fs::rename(file, env.path("work/ensembles/docs.toml")).unwrap();
    let asked = ["ask", "-m", provider.model(), "-a", "mcp:docs:demo://notes.md", "x"];
    let ran = env.run(&asked).exits(3);
    assert!(ran.stderr.contains("not trusted"), "{}", ran.stderr);
    assert!(!env.path("journal").exists());
    provider.is_content();
}

#[test]
fn show_lists_what_a_server_has() {
    let provider = quiet();
    let env = env(&provider, &["--prompts", "--many-resources=60"]);
    let servers = env.path("servers");
    let show = ["ensembles", "show", "docs", "--connect", "--ensembles", servers.to_str().unwrap()];
    let ran = env.run(&show).exits(0);
    for words in [
        "\nresources:\n  mcp:docs:demo://notes.md (text/markdown)  What to remember\n",
        "  mcp:docs:demo://pixel.png (image/png)  One pixel\n",
        "  … and 13 more",
        "\nresource templates:\n  mcp:docs:demo://city/{name}  All about one city\n",
        "\nprompts:\n  docs.guide  Somebody who knows the town\n    city (required)  Which town\n    tone (optional)",
        "left out of its resources: lost: `uri` is missing",
        "left out of its prompts: broken: `arguments` is not an array",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} in {}", ran.stdout);
    }
    let json = env.run(&[&show[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(json["resources"].as_array().map(Vec::len), Some(63));
    assert_eq!(json["templates"][0]["variables"], serde_json::json!(["name"]));
    assert_eq!(json["prompts"][0]["arguments"][0]["required"], true);
    assert_eq!(json["unlisted"].as_array().map(Vec::len), Some(5));
    // A list that cannot be had costs no other; a server without any has none.
    FakeServer::new("docs", &["--resources", "--error-on=resources/list"]).write(&env);
    let ran = env.run(&show).exits(0);
    assert!(ran.stdout.contains("its resources could not be listed") && ran.stdout.contains("demo://city"));
    FakeServer::new("docs", &[]).write(&env);
    let json = env.run(&[&show[..], &["--json"]].concat()).exits(0).json();
    assert_eq!((&json["resources"], &json["prompts"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    provider.is_content();
}
