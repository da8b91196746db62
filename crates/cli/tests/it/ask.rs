//! The main job, without a key and without a network, and how it behaves in a shell.

use std::process::Stdio;

use serde_json::json;

use crate::body::{Dialect, text};
use crate::env::{TestEnv, files, wait};
use crate::provider::Provider;

const QUESTION: &str = "What is 15% of 2500, and what time is it in Tokyo?";

#[test]
fn the_first_command_of_the_readme_answers() {
    let env = TestEnv::new();
    let ran = env.run(&["ask", QUESTION, "-o", "json"]).exits(0);
    let object = ran.json();
    let invocations = object["invocations"].as_array().unwrap();
    let tools: Vec<&str> = invocations.iter().map(|i| i["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["essentials__calculator", "essentials__current_datetime"]);
    assert!(invocations.iter().all(|i| i["outcome"] == "success"));
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains("375") && answer.contains("Tokyo"), "{answer}");

    let ran = env.run(&["ask", QUESTION]).exits(0);
    assert!(ran.stdout.contains("375"), "{ran:?}");
    assert!(ran.stderr.contains("understudy"), "it says what it is: {ran:?}");
    let time = jiff::Timestamp::now().in_tz("Asia/Tokyo").unwrap();
    let hours = [time.clone(), time.checked_sub(jiff::Span::new().minutes(1)).unwrap()];
    assert!(
        hours.iter().any(|time| ran.stdout.contains(&time.strftime("%H:%M").to_string())),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_examples_of_the_seeds_work_in_russian() {
    let env = TestEnv::new();
    assert!(env.run(&["ask", "Посчитай 15% от 2500"]).exits(0).stdout.contains("375"));
    let ran = env.run(&["ask", "Который сейчас час в Токио?"]).exits(0);
    let time = jiff::Timestamp::now().in_tz("Asia/Tokyo").unwrap();
    assert!(ran.stdout.contains(&time.strftime("%H:").to_string()), "{}", ran.stdout);
}

#[test]
fn both_tools_run_in_parallel() {
    let records = TestEnv::new().run(&["ask", QUESTION, "-o", "jsonl"]).exits(0).records();
    let kinds: Vec<&str> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
    let last_start = kinds.iter().rposition(|kind| *kind == "invocation.started").unwrap();
    let first_finish = kinds.iter().position(|kind| *kind == "invocation.finished").unwrap();
    assert!(last_start < first_finish, "{kinds:?}");
}

#[test]
fn the_explicit_form_and_the_shipped_files() {
    let env = TestEnv::new();
    env.write("work/notes.txt", "remember the milk\n");
    let ran = env.run(&["ask", "@io.read_file path=notes.txt"]).exits(0);
    assert!(ran.stdout.contains("remember the milk"), "{}", ran.stdout);
    // Writing needs an approval: nobody is there to give it, so it is refused, told, and the run exits 8.
    let refused = env.run(&["ask", "@io.write_file path=new.txt content=hello"]).exits(8);
    assert!(!env.path("work/new.txt").exists(), "{refused:?}");
    env.run(&["ask", "@io.write_file path=new.txt content=hello", "--allow", "io.write_file"]).exits(0);
    assert_eq!(std::fs::read_to_string(env.path("work/new.txt")).unwrap(), "hello");
}

#[test]
fn it_never_pretends() {
    let env = TestEnv::new();
    let poem = "Write me a poem about the sea";
    let ran = env.run(&["ask", poem, "-m", "understudy"]).exits(0);
    assert!(ran.stdout.contains("understudy") && ran.stdout.contains("ANTHROPIC_API_KEY"), "{}", ran.stdout);
    // Nobody asked for the understudy: a script must not take this for an answer.
    let ran = env.run(&["ask", poem]).exits(4);
    assert!(ran.stdout.contains("understudy"), "{}", ran.stdout);
    assert!(ran.stderr.contains("error[no-model-configured]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("export ANTHROPIC_API_KEY=…"), "{}", ran.stderr);
    let object = env.run(&["ask", poem, "-o", "json"]).exits(4).json();
    assert_eq!(object["error"]["code"], "no-model-configured", "{object:#}");
    env.write("work/s.json", r#"{"type": "object"}"#);
    for model in [&[][..], &["-m", "understudy"]] {
        let ran = env.run(&[&["ask", QUESTION, "--schema", "s.json"], model].concat()).exits(2);
        assert!(ran.stderr.contains("error[schema-understudy]"), "{}", ran.stderr);
    }
}

/// Without `-e` the run goes on and says what is missing.
#[test]
fn an_ensemble_that_was_named_and_is_not_there_is_ten() {
    let env = TestEnv::new();
    env.write(
        "own/gone.toml",
        "[ensemble]\nname = \"gone\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"no-such-program-anywhere\"]\n",
    );
    let own = env.path("own").display().to_string();
    let ask = ["ask", "2+2", "-m", "understudy", "--ensembles", &own];
    assert!(env.run(&ask).exits(0).stderr.contains("no-such-program-anywhere"));
    let ran = env.run(&[&ask[..], &["-e", "essentials", "-e", "gone"]].concat()).exits(10);
    assert!(ran.stderr.contains("error[named-ensemble]"), "{}", ran.stderr);
}

#[test]
fn stdin_joins_the_words() {
    let provider = Provider::chat([text("Seen."), text("Seen."), text("Seen.")]);
    let env = provider.env(TestEnv::new());
    let model = ["-m", provider.model()];
    env.run_with_stdin(&["ask", "explain", "this", model[0], model[1]], b"fn main() {}\n").exits(0);
    env.run_with_stdin(&["ask", "-", model[0], model[1]], b"all of it").exits(0);
    env.run_with_stdin(&["ask", model[0], model[1]], b"no words at all").exits(0);
    let asked: Vec<String> =
        provider.requests().iter().map(|r| r["messages"][0]["content"].to_string()).collect();
    assert!(asked[0].contains("explain this\\n\\nfn main() {}"), "{asked:?}");
    assert!(asked[1].contains("all of it") && asked[2].contains("no words at all"), "{asked:?}");
}

#[test]
fn nothing_asked_is_a_usage_error() {
    let env = TestEnv::new();
    let ran = env.run(&["ask"]).exits(2);
    assert!(ran.stderr.contains("error[no-prompt]"), "{}", ran.stderr);
    env.run_with_stdin(&["ask"], b"").exits(2);
    env.run(&["ask", "x", "--no-such-flag"]).exits(2);
    let ran = env.run::<&str>(&[]).exits(2);
    assert!(ran.stderr.contains("ask"), "{}", ran.stderr);
    let long = vec![b'x'; 10 * 1024 * 1024 + 1];
    let ran = env.run_with_stdin(&["ask", "-"], &long).exits(2);
    assert!(ran.stderr.contains("error[stdin-too-long]"), "{}", ran.stderr);
}

#[test]
fn an_idle_open_pipe_counts_as_empty() {
    let env = TestEnv::new();
    let mut child = env.command(["ask", "2+2", "-v"]).stdin(Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    let ran = wait(child).exits(0);
    drop(held_open);
    assert!(ran.stdout.contains('4') && ran.stderr.contains("stdin is open but silent"), "{ran:?}");
}

#[test]
fn a_closed_stdin_is_nothing() {
    assert!(TestEnv::new().shell(r#""$converse" ask "2+2" <&-"#).exits(0).stdout.contains('4'));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let env = TestEnv::new();
    let ran = env.shell(r#"set -o pipefail; "$converse" ask "What is 15% of 2500? What is 2+2?" | head -1"#);
    assert!([0, 141].contains(&ran.code), "{ran:?}");
    assert!(
        ran.stdout.lines().count() == 1 && !ran.stderr.contains("panicked") && !ran.stderr.contains("error"),
        "{ran:?}"
    );
    let ran = env.shell(r#"set -o pipefail; "$converse" ask "2+2" | true"#);
    assert!([0, 141].contains(&ran.code) && !ran.stderr.contains("error"), "{ran:?}");
}

#[test]
fn a_full_disk_behind_stdout_is_nine() {
    let env = TestEnv::new();
    let ran = env.shell(r#""$converse" ask "2+2" > /dev/full"#).exits(9);
    assert!(ran.stderr.contains("error[output-failed]"), "{}", ran.stderr);
    env.shell(r#""$converse" ask "2+2" -o json > /dev/full"#).exits(9);
    env.shell(r#""$converse" models list > /dev/full"#).exits(9);
}

#[test]
fn without_a_home_it_keeps_nothing_and_says_so() {
    let env = TestEnv::new().without("HOME");
    let ran = env.run(&["ask", "2+2"]).exits(0);
    assert!(ran.stdout.contains('4') && ran.stderr.contains("session"), "{ran:?}");
    assert!(files(&env.path("work")).is_empty());
    let env = TestEnv::new();
    let env = env.var("XDG_DATA_HOME", "/proc/nowhere");
    let ran = env.run(&["ask", "2+2"]).exits(0);
    assert!(ran.stderr.contains("warning"), "{ran:?}");
}

#[test]
fn a_dry_run_shows_the_request_without_the_key() {
    for (dialect, host_key) in [(Dialect::Anthropic, "x-api-key"), (Dialect::Chat, "authorization")] {
        let provider = Provider::new(dialect, Vec::<crate::provider::Line>::new());
        let env = provider.env(TestEnv::new());
        let ran = env.run(&["ask", "hello", "-m", provider.model(), "-s", "Be brief.", "--dry-run"]).exits(0);
        let request = ran.json();
        assert_eq!(request["method"], "POST");
        assert_eq!(request["headers"][host_key], "[redacted]");
        let body = request["body"].to_string();
        assert!(
            body.contains("hello") && body.contains("Be brief.") && body.contains("essentials__calculator"),
            "{body}"
        );
        assert!(!ran.stdout.contains(crate::provider::KEY));
        assert!(files(&env.path("home")).is_empty(), "nothing is kept");
        provider.is_content();
    }
}

#[test]
fn a_whole_reply_is_shown_like_a_stream() {
    let provider = Provider::chat([text("All at once.")]);
    let ran =
        provider.env(TestEnv::new()).run(&["ask", "hello", "-m", provider.model(), "--no-stream"]).exits(0);
    assert_eq!(ran.stdout, "All at once.\n");
}

#[test]
fn controls_reach_the_provider() {
    let provider = Provider::chat([text("Ok.")]);
    let env = provider.env(TestEnv::new());
    let args = [
        "ask",
        "hello",
        "-m",
        provider.model(),
        "--temperature",
        "0.5",
        "--max-output-tokens",
        "77",
        "--no-tools",
    ];
    env.run(&args).exits(0);
    let request = &provider.requests()[0];
    assert_eq!(request["temperature"], json!(0.5));
    assert_eq!(request["max_completion_tokens"], json!(77));
    assert!(request.get("tools").is_none() && request["stream"] == true, "{request}");
    env.run(&["ask", "x", "--temperature", "9"]).exits(2);
}

#[test]
fn a_pipe_gets_the_very_answer() {
    let odd = "red \x1b[31m, a zero\u{200b}width, a mark\u{200f}, an end\r\nof line";
    let provider = Provider::chat([text(odd)]);
    let ran = provider.env(TestEnv::new()).run(&["ask", "hello", "-m", provider.model()]).exits(0);
    assert_eq!(ran.stdout, format!("{odd}\n"));
}

#[test]
fn a_run_that_cannot_begin_leaves_no_session() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2"]).exits(0);
    let kept = files(&env.path("home"));
    for args in [
        &["ask", "2+2", "-e", "nowhere"][..],
        &["ask", "2+2", "--ensembles", "nowhere"],
        &["ask", "x", "-m", "openai/x"],
    ] {
        assert_ne!(env.run(args).code, 0);
    }
    assert_eq!(files(&env.path("home")), kept);
}

#[test]
fn a_home_that_is_none_is_no_reason_to_fail() {
    let ran = TestEnv::new().var("HOME", "/dev/null").run(&["ask", "2+2"]).exits(0);
    assert!(ran.stdout.contains('4') && ran.stderr.contains("warning"), "{ran:?}");
}

#[test]
fn a_projects_settings_cannot_be_a_link_to_somewhere_else() {
    let env = TestEnv::new();
    env.write("secret", "AWS_SECRET=hunter2 x\n");
    std::os::unix::fs::symlink("../secret", env.path("work/converse.toml")).unwrap();
    let ran = env.run(&["ask", "2+2"]).exits(3);
    assert!(ran.stderr.contains("points outside the project") && !ran.stderr.contains("hunter2"), "{ran:?}");
}

#[test]
fn reasoning_is_shown_wherever_stderr_goes() {
    let reply = r#"{"choices":[{"message":{"content":"Yes.","reasoning_content":"think hard"},"finish_reason":"stop"}]}"#;
    let provider = Provider::chat([crate::http::Answer::new(200, "application/json", reply)]);
    let ran =
        provider.env(TestEnv::new()).run(&["ask", "x", "-m", provider.model(), "--show-reasoning"]).exits(0);
    assert_eq!(ran.stdout, "Yes.\n");
    assert!(ran.stderr.contains("think hard"), "{ran:?}");

    // The same without the flag, if the user's settings say so; and `-q` is stronger than they are.
    let answer = || crate::http::Answer::new(200, "application/json", reply);
    let provider = Provider::chat([answer(), answer()]);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/config.toml", "show_reasoning = true\n");
    let ran = env.run(&["ask", "x", "-m", provider.model()]).exits(0);
    assert!(ran.stderr.contains("think hard"), "{ran:?}");
    let quiet = env.run(&["ask", "x", "-q", "-m", provider.model()]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("Yes.\n", ""));
    env.write("work/converse.toml", "show_reasoning = true\n");
    env.run(&["ask", "x", "-m", provider.model()]).exits(3);
}

#[test]
fn model_ids_are_read_as_people_write_them() {
    let provider = Provider::chat([text("a"), text("b"), text("c"), text("d")]);
    let env = provider.env(TestEnv::new());
    for id in ["openai:org/model:free", "openai/org/model", "gpt-x", "openai"] {
        env.run(&["ask", "x", "-m", id]).exits(0);
    }
    let models: Vec<String> =
        provider.requests().iter().map(|r| r["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(models[..3], ["org/model:free", "org/model", "gpt-x"]);
    let keyed = TestEnv::new().var("XAI_API_KEY", "xai-0123456789");
    assert!(keyed.run(&["ask", "x"]).exits(2).stderr.contains("-m xai/NAME"));
}

#[test]
fn a_deadline_of_the_settings_covers_stdin_too() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", "[limits]\ndeadline = 0.2\n");
    let mut child = env.command(["ask", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    wait(child).exits(7);
    drop(held_open);
}

#[test]
fn presets_and_settings_are_used() {
    let provider = Provider::chat([text("Arr."), text("Hm.")]);
    let env = provider.env(TestEnv::new());
    env.write(
        "home/.config/converse/config.toml",
        "model = \"openai-chat/from-settings\"\n[presets.pirate]\nsystem = \"Talk like a pirate.\"\nmodel = \"openai-chat/ship\"\n",
    );
    env.run(&["ask", "hello", "--preset", "pirate"]).exits(0);
    env.run(&["ask", "hello"]).exits(0);
    let requests = provider.requests();
    assert_eq!(requests[0]["model"], "ship");
    assert!(requests[0]["messages"][0].to_string().contains("pirate"));
    assert_eq!(requests[1]["model"], "from-settings");
    let ran = env.run(&["ask", "hello", "--preset", "pirat"]).exits(2);
    assert!(ran.stderr.contains("did you mean `pirate`"), "{}", ran.stderr);
}

#[test]
fn a_broken_settings_file_is_three_and_located() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", "model = 5\n[timeouts]\nconnekt = 1\n");
    let ran = env.run(&["ask", "2+2"]).exits(3);
    assert!(
        ran.stderr.contains("config.toml:1:9") && ran.stderr.contains("config.toml:3:1"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("did you mean `connect`"), "{}", ran.stderr);
}

#[test]
fn a_project_may_only_tighten() {
    let env = TestEnv::new();
    env.write("work/converse.toml", "[permissions]\ndeny = [\"essentials.calculator\"]\n");
    let ran = env.run(&["ask", "2+2", "-o", "json"]).exits(0);
    assert_eq!(ran.json()["invocations"][0]["outcome"], "refused");
    env.write("work/converse.toml", "[providers.openai]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    let ran = env.run(&["ask", "2+2"]).exits(3);
    assert!(ran.stderr.contains("project-scope") && ran.stderr.contains("converse.toml:"), "{}", ran.stderr);
}

#[test]
fn version_help_completions_and_manual() {
    let env = TestEnv::new();
    assert!(env.run(&["--version"]).exits(0).stdout.starts_with("converse 0."));
    assert!(env.run(&["ask", "--help"]).exits(0).stdout.contains("--max-iterations"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(env.run(&["completions", shell]).exits(0).stdout.contains("ensembles"));
    }
    assert!(env.run(&["man"]).exits(0).stdout.contains(".TH converse 1"));
    env.run(&["man", "share/man1"]).exits(0);
    let page = std::fs::read_to_string(env.path("work/share/man1/converse-ensembles-check.1")).unwrap();
    assert!(page.contains("\\-\\-require\\-env"), "{page}");
    env.write("work/taken", "a file");
    let ran = env.run(&["man", "taken"]).exits(9);
    assert!(ran.stderr.contains("error[write-failed]: cannot write to `taken`"), "{}", ran.stderr);
    let models = env.run(&["models", "list", "--json"]).exits(0).json();
    let anthropic = models.as_array().unwrap().iter().find(|row| row["provider"] == "anthropic").unwrap();
    assert_eq!(anthropic["key_set"], false);
    assert!(env.run(&["models", "list"]).exits(0).stdout.contains("understudy"));
}

#[test]
fn a_flood_of_deltas_is_written_as_it_came() {
    let long: &'static str = Box::leak("word ".repeat(5000).into_boxed_str());
    let provider = Provider::chat([text(long)]);
    let ran = provider.env(TestEnv::new()).run(&["ask", "hello", "-m", provider.model()]).exits(0);
    assert_eq!(ran.stdout.trim_end(), long.trim_end());
}
