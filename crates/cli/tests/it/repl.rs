//! The REPL as a person uses it, at a terminal that shows and answers.

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;
use crate::signals::{SLEEPER, send};

fn talk(provider: &Provider, env: &TestEnv, more: &[&str]) -> Screen {
    let args: Vec<&str> = ["-m", provider.model()].into_iter().chain(more.iter().copied()).collect();
    Screen::run(env, &args)
}

fn messages(request: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|one| (text(&one["role"]), text(&one["content"]))).collect()
}

/// What the user and the model said, in the last request.
fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let all = messages(requests.last().unwrap()).into_iter();
    all.filter(|(role, _)| matches!(role.as_str(), "user" | "assistant")).map(|(_, words)| words).collect()
}

#[test]
fn a_conversation_goes_on_in_the_next_turn_and_in_the_next_run() {
    let provider = Provider::chat([text("Hello Ann."), text("You are Ann."), text("Still Ann.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("I am Ann.");
    screen.shows("Hello Ann.");
    screen.says("Who am I?");
    screen.shows("You are Ann.");
    assert_eq!(said(&provider), ["I am Ann.", "Hello Ann.", "Who am I?"]);
    screen.prompts();
    screen.types("\x04");
    screen.shows("continue: `converse -c`");
    assert_eq!(screen.ends(), 0);
    // The flag alone is enough, and so is the model of the session.
    let mut screen = Screen::run(&env, &["-c"]);
    let shown = screen.shows("You are Ann.");
    assert!(shown.contains("Who am I?"), "the last exchange is shown: {shown}");
    screen.says("And now?");
    screen.shows("Still Ann.");
    assert_eq!(said(&provider).len(), 5);
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

#[test]
fn nothing_is_kept_of_a_conversation_in_which_nothing_was_said() {
    let env = TestEnv::new();
    let mut screen = Screen::run(&env, &[]);
    screen.prompts();
    screen.types("\x03");
    screen.shows("press Ctrl-C again or Ctrl-D to quit");
    screen.prompts();
    screen.types("\x03");
    assert_eq!(screen.ends(), 0);
    assert!(!env.path("home/.local/share/converse/sessions").exists());
}

#[test]
fn without_a_terminal_it_is_a_mistake_that_names_ask() {
    let env = TestEnv::new();
    for args in [&[][..], &["repl"], &["-c"], &["-m", "understudy"]] {
        let ran = env.run(args).exits(2);
        assert!(ran.stderr.contains("error[no-terminal]") && ran.stderr.contains("converse ask"), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn several_models_are_for_ask() {
    let env = TestEnv::new();
    let mut screen = Screen::run(&env, &["repl", "-m", "understudy", "-m", "openai/gpt-5"]);
    screen.shows("error[one-model]");
    screen.shows("`converse ask` compares several models");
    assert_eq!(screen.ends(), 2);
    let help = env.run(&["repl", "--help"]).exits(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("repeatable with `ask`"), "{help}");
}

#[test]
fn an_interrupt_keeps_what_was_said_and_the_conversation_goes_on() {
    let stall = |answer: &mut Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    let provider = Provider::chat([Line::Bent(text("one two three"), stall), text("Yes.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("count");
    screen.shows("one two");
    send("INT", &screen.child);
    screen.shows("interrupted");
    screen.says("are you there?");
    screen.shows("Yes.");
    let said = said(&provider);
    assert_eq!(said.first().map(String::as_str), Some("count"));
    assert!(said[1].starts_with("one two"), "{said:?}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

/// Trust is compared at each start, also in the turns of one conversation.
#[test]
fn a_script_that_is_swapped_between_two_turns_is_not_started() {
    let runs = || Line::from(calls([("run__run", json!({}))]));
    let provider = Provider::chat([runs(), text("First.").into(), runs(), text("Second.").into()]);
    let env = provider.env(TestEnv::new());
    let trace = env.path("trace");
    let write =
        |word: &str| env.write("work/tools/run.sh", &format!("echo {word} >> '{}'\n", trace.display()));
    write("trusted");
    env.write(
        "work/ensembles/run.toml",
        "[ensemble]\nname = \"run\"\ndescription = \"d\"\n[[invokers]]\nname = \"run\"\ndescription = \"d\"\n\
         permission = \"allow\"\ncommand = { argv = [\"sh\", \"tools/run.sh\"] }\n",
    );
    let hash = env.run(&["ensembles", "trust", "--json"]).exits(3).json()["sha256"].clone();
    env.run(&["ensembles", "trust", "--hash", hash.as_str().unwrap()]).exits(0);
    let mut screen = talk(&provider, &env, &[]);
    screen.says("Run it.");
    screen.shows("First.");
    write("swapped");
    screen.says("Run it again.");
    screen.shows("Second.");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), "trusted\n");
    let told = provider.requests()[3].to_string();
    assert!(told.contains("not started: `tools/run.sh` has changed"), "{told}");
}

#[test]
fn an_interrupted_tool_is_answered_for() {
    let provider = Provider::chat([calls([("fakes__sleep", json!({}))]), text("I am back.")]);
    let env = provider.env(TestEnv::new());
    env.write("fakes/fakes.toml", SLEEPER);
    let fakes = env.path("fakes").display().to_string();
    let mut screen = talk(&provider, &env, &["--ensembles", &fakes]);
    screen.says("sleep");
    screen.shows("fakes.sleep");
    // It runs when it is on the disk that it does.
    let started = || {
        let files = crate::env::files(&env.path("home/.local/share/converse/sessions"));
        files.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("\"started\"")))
    };
    wait_until("the tool is started", started);
    send("INT", &screen.child);
    screen.shows("interrupted");
    screen.says("still there?");
    screen.shows("I am back.");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

#[test]
fn a_signal_ends_it_by_its_number_and_what_was_said_is_kept() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("QUIT", 131), ("INT", 130)] {
        let provider = Provider::chat([text("Hello."), text("Again.")]);
        let env = provider.env(TestEnv::new());
        let mut screen = talk(&provider, &env, &[]);
        screen.says("hi");
        screen.shows("Hello.");
        screen.prompts();
        send(signal, &screen.child);
        assert_eq!(screen.ends(), code, "{signal}");
        env.run(&["ask", "-c", "more"]).exits(0);
        assert_eq!(said(&provider), ["hi", "Hello.", "more"]);
    }
}

#[test]
fn a_turn_is_taken_back_and_asked_again() {
    let script = ["First.", "Second.", "Third.", "Fourth."].map(|words| Line::from(text(words)));
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("one");
    screen.shows("First.");
    screen.says("two");
    screen.shows("Second.");
    screen.says("/undo");
    screen.shows("undone: two");
    screen.clears("two");
    screen.says("three");
    screen.shows("Third.");
    assert_eq!(said(&provider), ["one", "First.", "three"]);
    screen.says("/retry");
    screen.shows("Fourth.");
    assert_eq!(said(&provider), ["one", "First.", "three"]);
    screen.says("/undo 5");
    screen.shows("undone: one");
    screen.clears("one");
    screen.says("/undo");
    screen.shows("there is no message yet");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

#[test]
fn a_provider_that_refuses_is_told_and_can_be_asked_again() {
    let refused = Answer::new(400, "application/json", r#"{"error":{"message":"not today"}}"#);
    let provider = Provider::chat([Line::from(refused), text("Today.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("when?");
    let shown = screen.shows("/retry");
    assert!(shown.contains("error[rejected]") && shown.contains("not today"), "{shown}");
    screen.says("/retry");
    screen.shows("Today.");
    assert_eq!(said(&provider), ["when?"]);
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    // What is on the disk is what was shown.
    let session = env.run(&["ask", "-c", "x", "-m", "understudy", "--dry-run"]).exits(0);
    assert_eq!(session.stdout.matches("when?").count(), 1, "{}", session.stdout);
}

#[test]
fn questions_are_asked_where_the_conversation_is() {
    let writes = |path: &str| calls([("io__write_file", json!({ "path": path, "content": "words" }))]);
    let provider =
        Provider::chat([writes("yes.txt"), text("Written."), writes("no.txt"), text("Not written.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("write it");
    screen.shows("allow io.write_file?");
    screen.shows(": ");
    screen.types("y\n");
    screen.shows("Written.");
    screen.says("once more");
    // The first question, its answer, and the second one.
    screen.shows_times("allow io.write_file?", 3);
    screen.types("n not there");
    screen.shows("n not there");
    screen.types("\r");
    screen.shows("Not written.");
    assert!(env.path("work/yes.txt").exists() && !env.path("work/no.txt").exists());
    screen.says("/undo 2");
    screen.shows("effects of these tools remain: io.write_file");
    screen.clears("write it");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

#[test]
fn another_model_goes_on_with_what_was_said() {
    let provider = Provider::chat([text("From the first.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::run(&env, &["-m", "understudy"]);
    screen.shows("keyword router");
    screen.says(&format!("/model {}", provider.model()));
    screen.says("/system be brief");
    screen.says("hello");
    screen.shows("From the first.");
    let request = provider.requests().pop().unwrap();
    assert!(request.to_string().contains("be brief"), "{request}");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

#[test]
fn a_model_of_no_provider_is_refused() {
    let env = TestEnv::new();
    let mut screen = Screen::run(&env, &["-m", "understudy"]);
    screen.shows("keyword router");
    screen.says("/model nowhere/nothing");
    screen.shows("error[unknown-model]");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn files_go_with_the_words_that_mention_them() {
    let provider = Provider::chat([text("Read."), text("Read both.")]);
    let env = provider.env(TestEnv::new());
    env.write("work/notes.txt", "the notes");
    env.write("work/more.txt", "the rest");
    let mut screen = talk(&provider, &env, &[]);
    screen.says("what is in @notes.txt?");
    screen.shows("Read.");
    assert!(provider.requests()[0].to_string().contains("the notes"));
    screen.says("/attach nothing.txt");
    screen.shows("error[attachment]");
    screen.says("/attach more.txt");
    screen.shows("with the next message: more.txt");
    screen.says("and @nobody?");
    screen.shows("Read both.");
    assert!(provider.requests()[1].to_string().contains("the rest"));
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn an_unkept_conversation_is_kept_when_that_is_asked_for() {
    let script = ["First.", "Second.", "Third."].map(|words| Line::from(text(words)));
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["--ephemeral"]);
    screen.says("one");
    screen.shows("First.");
    assert!(!env.path("home/.local/share/converse/sessions").exists());
    screen.says("/save my talk");
    screen.shows("saved as `my talk`");
    screen.says("/fork");
    screen.shows("is unchanged");
    screen.says("two");
    screen.shows("Second.");
    screen.says("/clear");
    screen.shows("new conversation");
    screen.says("/sessions one");
    screen.shows("which one?");
    screen.types("2\n");
    screen.shows("my talk");
    screen.says("three");
    screen.shows("Third.");
    assert_eq!(said(&provider), ["one", "First.", "three"], "the fork has `two`, this has not");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}

const COMMAND: &str = "[ensemble]\nname = \"greeter\"\ndescription = \"greets\"\n[[invokers]]\nname = \"greet\"\ndescription = \"greets\"\ncommand = { argv = [\"echo\", \"hello\"] }\narguments = { type = \"object\", properties = {} }\n";

#[test]
fn a_project_is_asked_about_once_and_stays_still_without_a_yes() {
    let env = TestEnv::new();
    env.write("work/ensembles/greeter.toml", COMMAND);
    let args = ["-m", "understudy"];
    let mut screen = Screen::run(&env, &args);
    let shown = screen.shows("trust exactly this?");
    assert!(shown.contains("echo") && shown.contains("hello"), "what would run is shown: {shown}");
    screen.types("n\n");
    screen.says("/tools greet");
    screen.shows("no tool has this name");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    let mut screen = Screen::run(&env, &args);
    screen.shows("trust exactly this?");
    screen.types("y\n");
    screen.says("/tools greet");
    screen.shows("greeter.greet");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    let mut screen = Screen::run(&env, &args);
    screen.says("/tools greet");
    assert!(!screen.shows("greeter.greet").contains("trust exactly"));
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn plain_terminals_get_lines_and_no_escape_sequence() {
    let provider = Provider::chat([text("Plain **words**.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::of("dumb", &env, &["-m", provider.model(), "--no-tools"]);
    screen.says("hello");
    screen.shows("Plain **words**.");
    screen.says("/quit");
    screen.shows("continue: ");
    assert!(!screen.raw().contains('\u{1b}'), "{:?}", screen.raw());
    assert_eq!(screen.ends(), 0);
}

#[test]
fn a_signal_in_the_middle_of_a_turn_keeps_what_was_said() {
    let stall = |answer: &mut Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    let provider = Provider::chat([Line::Bent(text("one two three"), stall), text("More.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &[]);
    screen.says("count");
    screen.shows("one two");
    send("TERM", &screen.child);
    assert_eq!(screen.ends(), 143);
    env.run(&["ask", "-c", "go on"]).exits(0);
    let said = said(&provider);
    assert!(said[0] == "count" && said[1].starts_with("one two"), "{said:?}");
}

#[test]
fn a_signal_while_somebody_is_asked_for_trust_ends_it() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let env = TestEnv::new();
        env.write("work/ensembles/greeter.toml", COMMAND);
        let mut screen = Screen::run(&env, &["-m", "understudy"]);
        screen.shows("trust exactly this?");
        send(signal, &screen.child);
        // Nobody answers.
        assert_eq!(screen.ends(), code);
    }
}

#[test]
fn what_can_be_asked_of_the_program_is_answered_by_it() {
    let provider = Provider::chat([text("Hello.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = talk(&provider, &env, &["-e", "essentials"]);
    screen.says("hi");
    screen.shows("Hello.");
    screen.says("/usage");
    let shown = screen.shows("in this run: ");
    assert!(shown.contains("total: about") && shown.contains("essentials.calculator"), "{shown}");
    screen.says("/cost");
    screen.shows("cost unknown");
    screen.says("/deny essentials.*");
    screen.shows("do not run");
    screen.says("/tools");
    let shown = screen.shows("tools, about");
    let denied = |line: &&str| line.starts_with("essentials.") && line.contains(" no ");
    assert_eq!(shown.lines().filter(denied).count(), 2, "{shown}");
    screen.says("/ensembles +io");
    screen.shows("connected");
    screen.says("/tools essentials");
    let shown = screen.shows_times("tools, about", 2);
    assert_eq!(shown.lines().filter(denied).count(), 4, "what was denied still is: {shown}");
    screen.says("/mdoel x");
    screen.shows("did you mean `/model`?");
    screen.says("/show");
    screen.shows("no tool was called");
    screen.says("/help");
    screen.shows("!COMMAND runs");
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
}
