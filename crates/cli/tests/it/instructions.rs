//! Instructions of files: of the user at once, of a project once it is trusted.

use serde_json::json;

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, wait};
use crate::provider::{Line, Provider};
use crate::screen::Screen;

const ENSEMBLE: &str = "[ensemble]\nname = \"mine\"\ndescription = \"d\"\n[[invokers]]\nname = \"now\"\ndescription = \"d\"\nbuiltin = \"calculator\"\npermission = \"allow\"\n";

fn ask(env: &TestEnv, directory: &str, more: &[&str], provider: &Provider) -> Ran {
    let args = [&["ask", "hello", "--no-tools", "-m", provider.model()], more].concat();
    wait(env.command(args).current_dir(env.path(directory)).spawn().unwrap()).exits(0)
}

/// The system text of the last request.
fn system(provider: &Provider) -> String {
    let request = provider.requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let system = messages.iter().filter(|message| message["role"] == "system");
    system.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn trust(env: &TestEnv, directory: &str) {
    let run = |words: &[&str]| {
        let args = [&["ensembles", "trust"], words].concat();
        wait(env.command(args).current_dir(env.path(directory)).spawn().unwrap())
    };
    let hash = run(&["--json"]).exits(3).json()["sha256"].as_str().unwrap().to_owned();
    run(&["--hash", &hash]).exits(0);
}

fn answers(count: usize) -> Provider {
    Provider::chat((0..count).map(|_| text("Yes.")).collect::<Vec<_>>())
}

#[test]
fn those_of_the_user_follow_the_system_text_unless_they_are_left_out() {
    let provider = answers(4);
    let env = provider.env(TestEnv::new());
    env.write("home/.config/converse/AGENTS.md", "Be brief.\n");
    ask(&env, "work", &["-s", "Be kind."], &provider);
    let told = system(&provider);
    assert!(
        told.starts_with("Be kind.\n\n") && told.contains("user\" file=\"AGENTS.md\">\nBe brief.\n<"),
        "{told}"
    );
    let shown = ask(&env, "work", &["--dry-run"], &provider);
    assert!(shown.stdout.contains("Be brief."), "{}", shown.stdout);
    ask(&env, "work", &["--no-instructions"], &provider);
    assert_eq!(system(&provider), "");
    env.write("home/.config/converse/config.toml", "instructions = false\n");
    ask(&env, "work", &[], &provider);
    assert_eq!(system(&provider), "");
    env.write("work/converse.toml", "instructions = true\n");
    let refused = env.run(&["ask", "x", "-m", provider.model()]).exits(3);
    assert!(refused.stderr.contains("choose whether instructions are sent"), "{}", refused.stderr);
}

#[test]
fn those_of_a_project_are_sent_only_as_they_were_trusted() {
    let provider = answers(7);
    let env = provider.env(TestEnv::new());
    std::fs::create_dir_all(env.path("work/sub/.nothing")).unwrap();
    std::fs::create_dir(env.path("work/.git")).unwrap();
    env.write("work/AGENTS.md", "Use tabs.");
    env.write("work/sub/AGENTS.md", "Use spaces.");
    env.write("work/sub/ensembles/mine.toml", ENSEMBLE);
    let ran = ask(&env, "work/sub", &[], &provider);
    assert_eq!(system(&provider), "");
    let told =
        "not trusted, so not sent to the model: `../AGENTS.md`, `AGENTS.md`; `converse ensembles trust`";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(ask(&env, "work/sub", &["--no-instructions"], &provider).stderr.matches("AGENTS").count(), 0);

    trust(&env, "work/sub");
    let ran = ask(&env, "work/sub", &[], &provider);
    let told = system(&provider);
    assert!(told.find("Use tabs.").unwrap() < told.find("Use spaces.").unwrap(), "the nearest wins: {told}");
    assert!(!ran.stderr.contains("AGENTS"), "{}", ran.stderr);

    // What was trusted beside them stays trusted.
    env.write("work/AGENTS.md", "Use tabz.");
    let ran = ask(&env, "work/sub", &[], &provider);
    assert_eq!(system(&provider), "");
    assert!(ran.stderr.contains("not sent to the model"), "{}", ran.stderr);
    let listed =
        wait(env.command(["ensembles", "list", "--json"]).current_dir(env.path("work/sub")).spawn().unwrap());
    let listed = listed.exits(0).json();
    let mine = listed.as_array().unwrap().iter().find(|row| row["name"] == "mine").unwrap();
    assert_eq!(mine["trusted"], true, "{mine}");
    trust(&env, "work/sub");
    ask(&env, "work/sub", &[], &provider);
    assert!(system(&provider).contains("Use tabz."));
    // A changed ensemble ends all of it.
    env.write("work/sub/ensembles/mine.toml", &ENSEMBLE.replace("\"d\"", "\"e\""));
    let ran = ask(&env, "work/sub", &[], &provider);
    assert_eq!(system(&provider), "");
    assert!(ran.stderr.contains("changed since: ensembles/mine.toml"), "{}", ran.stderr);
}

#[test]
fn trust_is_not_asked_for_instructions_that_are_left_out() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    env.write("work/AGENTS.md", "Use tabs.");
    let args = ["-m", provider.model(), "--no-tools", "--no-instructions"];
    let mut screen = Screen::run(&env, &args);
    screen.says("hello");
    let shown = screen.shows("Yes.");
    assert!(!shown.contains("trust"), "{shown}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    env.write("home/.config/converse/config.toml", "instructions = false\n");
    let mut screen = Screen::run(&env, &args[..3]);
    screen.says("hello");
    let shown = screen.shows("Yes.");
    assert!(!shown.contains("trust"), "{shown}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    // Other things of the project need it.
    env.write("work/converse.toml", "system = \"Be kind.\"\n");
    let mut screen = Screen::run(&env, &args);
    screen.shows("trust exactly this?");
    screen.types("n\n");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn a_change_of_instructions_that_are_left_out_is_not_told() {
    let provider = answers(4);
    let env = provider.env(TestEnv::new());
    env.write("work/AGENTS.md", "Use tabs.");
    trust(&env, "work");
    ask(&env, "work", &[], &provider);
    env.write("work/AGENTS.md", "Use tabz.");
    let ran = ask(&env, "work", &["-c", "--no-instructions"], &provider);
    assert!(!ran.stderr.contains("AGENTS") && !ran.stderr.contains("trust"), "{}", ran.stderr);
    let mut screen = Screen::run(&env, &["-c", "-m", provider.model(), "--no-tools", "--no-instructions"]);
    screen.says("hello");
    screen.shows("hello\n\nYes.");
    let shown = screen.text();
    assert!(!shown.contains("AGENTS") && !shown.contains("trust"), "{shown}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    assert!(ask(&env, "work", &["-c"], &provider).stderr.contains("AGENTS.md"));
}

#[test]
fn a_session_goes_on_with_the_instructions_of_now_and_no_others() {
    let provider = answers(5);
    let env = provider.env(TestEnv::new());
    std::fs::create_dir_all(env.path("work/.git")).unwrap();
    std::fs::create_dir_all(env.path("work/sub")).unwrap();
    env.write("work/AGENTS.md", "Use tabs.");
    trust(&env, "work");
    ask(&env, "work", &["-s", "Be kind."], &provider);
    let begun = system(&provider);
    assert!(begun.starts_with("Be kind.\n\n") && begun.contains("Use tabs."), "{begun}");
    ask(&env, "work", &["-c", "--no-instructions"], &provider);
    assert_eq!(system(&provider), "Be kind.");
    trust(&env, "work/sub");
    ask(&env, "work/sub", &["-c"], &provider);
    assert_eq!(system(&provider), begun, "the same text in each directory");

    env.write("work/AGENTS.md", "Use spaces.");
    ask(&env, "work", &["-c"], &provider);
    assert_eq!(system(&provider), "Be kind.", "no longer trusted");
    trust(&env, "work");
    ask(&env, "work", &["-c"], &provider);
    assert_eq!(system(&provider), begun.replace("tabs", "spaces"));
    let shown = ask(&env, "work", &["-c", "--dry-run"], &provider).stdout;
    assert!(shown.contains("Use spaces.") && !shown.contains("Use tabs."), "{shown}");
}

#[test]
fn who_is_asked_for_trust_sees_the_text_and_its_change() {
    let env = TestEnv::new();
    let shown = || env.run(&["ensembles", "trust"]).exits(3).stdout;
    env.write("work/AGENTS.md", "Use tabs.\nBe \u{1b}[31mred.\n");
    let text = shown();
    assert!(
        text.contains("AGENTS.md instructs models (22 bytes)\n  | Use tabs.\n  | Be \\x1b[31mred.\n"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
    trust(&env, "work");
    env.write("work/AGENTS.md", "Use spaces.\nBe \u{1b}[31mred.\n");
    let text = shown();
    assert!(text.contains("-Use tabs.\n") && text.contains("+Use spaces.\n"), "{text}");
}

#[test]
fn the_repl_asks_about_them_and_shows_their_size() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    env.write("work/AGENTS.md", &"Use tabs. ".repeat(200));
    let args = ["-m", provider.model(), "--no-tools"];
    let mut screen = Screen::run(&env, &args);
    assert!(screen.shows("trust exactly this?").contains("AGENTS.md  instructs models (1,999 bytes)"));
    screen.types("n\n");
    screen.shows("not sent to the model: `AGENTS.md`");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    let mut screen = Screen::run(&env, &args);
    screen.shows("trust exactly this?");
    screen.types("y\n");
    screen.says("hello");
    screen.shows("Yes.");
    assert!(system(&provider).contains("Use tabs."));
    screen.says("/context");
    screen.shows("in the system text: the project's AGENTS.md, 1,999 bytes");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn init_lets_the_model_write_them_and_replaces_nothing() {
    let write = calls([("io__write_file", json!({ "path": "AGENTS.md", "content": "Run the tests.\n" }))]);
    let provider = Provider::chat([Line::from(write), text("Written.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::run(&env, &["-m", provider.model(), "-e", "io"]);
    screen.says("/init");
    screen.shows("allow io.write_file?");
    screen.types("y\n");
    screen.shows("Written.");
    let asked = provider.requests()[0].to_string();
    assert!(asked.contains("write a file AGENTS.md"), "{asked}");
    assert_eq!(std::fs::read_to_string(env.path("work/AGENTS.md")).unwrap(), "Run the tests.\n");
    screen.says("/init");
    screen.shows("AGENTS.md exists");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}
