//! The REPL after something went wrong, and the same conversation in the next run: nothing is hidden, nothing is stuck.

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;

fn talk(provider: &Provider, env: &TestEnv, more: &[&str]) -> Screen {
    let args: Vec<&str> = ["-m", provider.model()].into_iter().chain(more.iter().copied()).collect();
    Screen::run(env, &args)
}

fn refused() -> Line {
    Answer::new(400, "application/json", r#"{"error":{"message":"not that"}}"#).into()
}

fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let all = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let of = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let mine = all.iter().filter(|one| matches!(one["role"].as_str(), Some("user" | "assistant")));
    mine.map(|one| of(one, "content")).collect()
}

fn leaves(mut screen: Screen) {
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn refused_questions_are_named_and_taken_back_one_by_one_also_in_the_next_run() {
    let provider = Provider::chat([text("First.").into(), refused(), refused(), text("Last.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["--no-tools"]);
    screen.says("one");
    screen.shows("First.");
    screen.says("two");
    screen.shows("`/undo` removes the question, `/edit` changes it");
    screen.says("three");
    screen.shows("1 unanswered question goes along with this one; `/undo 2`");
    screen.shows("2 unanswered questions are sent with the next one");
    leaves(screen);
    let mut screen = Screen::run(&env, &["-c", "--no-tools"]);
    screen.says("/undo");
    screen.shows("undone: three");
    screen.clears("three");
    screen.says("/undo");
    screen.shows("undone: two");
    screen.clears("two");
    screen.says("four");
    screen.shows("Last.");
    assert_eq!(said(&provider), ["one", "First.", "four"]);
    leaves(screen);
}

#[test]
fn ask_names_the_way_on_without_a_refused_question() {
    let provider = Provider::chat([text("First.").into(), refused(), text("Third.").into()]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", "-m", provider.model(), "--no-tools", "one"]).exits(0);
    let ran = env.run(&["ask", "-c", "--no-tools", "two"]).exits(6);
    let (_, way) = ran.stderr.split_once("converse sessions fork ").unwrap_or_else(|| panic!("{ran:?}"));
    let id = way.split_once(" --at 2`").unwrap_or_else(|| panic!("{ran:?}")).0;
    let fork = env.run(&["sessions", "fork", id, "--at", "2"]).exits(0);
    env.run(&["ask", "--session", fork.stdout.trim(), "--no-tools", "three"]).exits(0);
    assert_eq!(said(&provider), ["one", "First.", "three"]);
}

#[test]
fn an_answer_without_a_word_is_told_and_what_is_asked_again_is_shown() {
    // A model may end a turn without a word after results of tools.
    let call = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([call, text(""), text("Words.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["-e", "essentials"]);
    screen.says("what is it?");
    screen.shows("the model returned no answer; `/retry` repeats the question");
    screen.says("/retry");
    let shown = screen.shows("Words.");
    assert!(shown.lines().any(|line| line.trim_end() == "❯ what is it?"), "{shown}");
    leaves(screen);
}

#[test]
fn what_it_took_is_as_unknown_in_the_next_run() {
    let provider = Provider::chat([text("First.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["-e", "essentials"]);
    screen.says("one");
    screen.shows("First.");
    screen.says("/usage");
    let shown = screen.shows("in this run: ");
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some("tool")).then(|| words.nth(1)?.parse::<u64>().ok()).flatten()
    };
    let tools: u64 = shown.lines().filter_map(row).sum();
    assert!(tools > 0, "{shown}");
    screen.says("/tools");
    screen.shows(&format!("about {tools} tokens in each request"));
    screen.says("/cost");
    screen.shows("cost unknown");
    leaves(screen);
    let mut screen = Screen::run(&env, &["-c"]);
    screen.says("/cost");
    screen.shows("cost unknown");
    leaves(screen);
}

#[test]
fn what_was_invoked_is_shown_in_the_next_run_too() {
    let sum = calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([text("First.").into(), Line::from(sum), text("It is 42.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["-e", "essentials"]);
    screen.says("one");
    screen.shows("First.");
    screen.says("what is it?");
    screen.shows("It is 42.");
    leaves(screen);
    let mut screen = Screen::run(&env, &["-c", "-e", "essentials"]);
    screen.shows("❯ what is it?");
    screen.shows("It is 42.");
    screen.says("/show");
    screen.shows("[1] essentials.calculator success");
    screen.says("/undo");
    screen.shows("undone: what is it?");
    screen.clears("what is it?");
    screen.says("/show");
    screen.shows("no tool was called in the last turn");
    leaves(screen);
}

#[test]
fn a_name_is_one_that_a_session_can_have() {
    let provider = Provider::chat([text("First.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["--no-tools", "--ephemeral"]);
    screen.says("one");
    screen.shows("First.");
    screen.says("/save last");
    screen.shows("`last` is what the latest session is called");
    screen.says(&format!("/save {}", "x".repeat(121)));
    screen.shows("a name has at most 120 characters");
    assert!(!env.path("home/.local/share/converse/sessions").exists(), "nothing is kept under a bad name");
    screen.says("/save taxes");
    screen.shows("saved as `taxes`");
    leaves(screen);
}

#[test]
fn places_to_fork_at_are_told_by_their_questions() {
    let provider = Provider::chat([text("First."), text("Second.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["--no-tools"]);
    screen.says("one");
    screen.shows("First.");
    screen.says("two");
    screen.shows("Second.");
    screen.says("/fork 99");
    let shown = screen.shows("/fork 4  after: two");
    assert!(shown.contains("/fork 2  after: one"), "{shown}");
    screen.says("/fork 2");
    screen.shows("is unchanged");
    leaves(screen);
}

#[test]
fn mentioned_files_are_named_with_their_size_and_go_once() {
    let provider = Provider::chat(["Once.", "None.", "Words."].map(text));
    let env = provider.env(TestEnv::new());
    env.write("work/notes.txt", "the notes");
    let mut screen = talk(&provider, &env, &["--no-tools"]);
    screen.says("/attach notes.txt");
    screen.shows("with the next message: notes.txt (9 B)");
    screen.says("what is in @notes.txt?");
    screen.shows("attached: notes.txt (9 B)");
    screen.shows("Once.");
    let count = |index: usize| provider.requests()[index].to_string().matches("the notes").count();
    assert_eq!(count(0), 1);
    screen.says("/undo");
    screen.shows("undone: what is in @notes.txt? (with notes.txt)");
    screen.clears("what is in @notes.txt?");
    screen.says("a line\x1b\rand @notes.txt");
    screen.shows("None.");
    assert_eq!(count(1), 1);
    screen.says("and @nots.txt?");
    screen.shows("there is no file nots.txt");
    screen.shows("Words.");
    leaves(screen);
}

#[test]
fn only_two_interrupts_without_a_key_between_leave() {
    let env = TestEnv::new();
    let mut screen = Screen::run(&env, &[]);
    screen.prompts();
    screen.types("\x03");
    screen.shows_times("press Ctrl-C again", 1);
    screen.prompts();
    screen.types("x");
    screen.shows("❯ x");
    screen.types("\x03");
    screen.prompts();
    screen.types("\x03");
    screen.shows_times("press Ctrl-C again", 2);
    screen.prompts();
    screen.types("\x03");
    assert_eq!(screen.ends(), 0);
}

const COMMAND: &str = "[ensemble]\nname = \"greeter\"\ndescription = \"greets\"\n[[invokers]]\nname = \"greet\"\ndescription = \"greets\"\ncommand = { argv = [\"echo\", \"hello\"] }\narguments = { type = \"object\", properties = {} }\n";

#[test]
fn a_project_that_is_declined_is_spoken_of_once() {
    let env = TestEnv::new();
    env.write("work/ensembles/greeter.toml", COMMAND);
    let mut screen = Screen::run(&env, &["-m", "understudy"]);
    let shown = screen.shows("trust exactly this?");
    assert_eq!(shown.matches("\"echo\"").count().max(shown.matches("hello").count()), 1, "{shown}");
    screen.types("n\n");
    screen.prompts();
    let shown = screen.text();
    assert!(shown.contains("the project stays untrusted") && !shown.contains("warning:"), "{shown}");
    leaves(screen);
}
