//! Questions on a terminal whose answers count for more than one call, and the file that keeps them.

use serde_json::{Value, json};

use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::fake_server::own_command;
use crate::provider::Provider;
use crate::rules::{CONFIG, own, write_file, writes};
use crate::terminal::{ASKED, SEVERAL_ASKED, Terminal};

const APPROVALS: &str = "home/.local/state/converse/approvals.toml";
const FURTHER: &str = "always, with just these arguments";

/// A run on a terminal.
fn asked(env: TestEnv, script: Vec<Says>) -> (TestEnv, Terminal, Provider) {
    let provider = Provider::chat(script);
    let env = provider.env(env);
    let terminal = Terminal::run(&env, &["ask", "go", "-m", provider.model(), "--ephemeral"]);
    (env, terminal, provider)
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn an_answer_for_just_these_arguments_is_asked_for_once() {
    let env = TestEnv::new();
    let script = vec![calls([writes("a")]), calls([writes("a")]), calls([writes("b")]), text("Done.")];
    let (env, mut terminal, provider) = asked(env, script);
    let question = terminal.shows(FURTHER).to_owned();
    assert!(question.contains("asked because of") && question.contains("\"a\""), "{question}");
    terminal.types("a\n");
    // The second call is not asked about; the third is.
    let screen = terminal.shows("\"b\"").to_owned();
    // Each question, and the answer to the first.
    assert_eq!(count(&screen, "allow io.write_file?"), 3, "{screen}");
    terminal.types("n\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    assert!(env.path("work/a").exists() && !env.path("work/b").exists());

    // Another run, and nobody there.
    write_file(&env, "a").exits(0);
    write_file(&env, "b").exits(8);
    env.run(&["ensembles", "call", "io.write_file", "path=a", "content=y"]).exits(8);
    env.run(&["ensembles", "call", "io.write_file", "path=a", "content=x", "append=true"]).exits(8);
    // A stricter rule beats it, wherever it stands.
    env.run(&["ensembles", "call", "io.write_file", "path=a", "content=x", "--ask", "io"]).exits(8);

    let listed = env.run(&["approvals", "list", "--json"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed[0]["number"], &listed[0]["tool"]), (&json!(1), &json!("io.write_file")));
    assert_eq!(listed[0]["arguments"]["path"], "a");
    assert_eq!(listed[0]["project"], Value::Null);
    let shown = env.run(&["approvals", "list"]).exits(0).stdout;
    assert!(shown.contains("io.write_file") && shown.contains("\"path\":\"a\""), "{shown}");
    env.run(&["approvals", "revoke", "2"]).exits(2);
    write_file(&env, "a").exits(0);
    env.run(&["approvals", "revoke", "1"]).exits(0);
    write_file(&env, "a").exits(8);
    assert_eq!(env.run(&["approvals", "list", "--json"]).exits(0).json(), json!([]));
}

#[test]
fn an_answer_for_the_tool_is_for_that_tool_only() {
    let env = TestEnv::new();
    // One by one: what is waiting when the answer comes is not asked about again, unless it is another tool.
    let edit = |path: &str| ("io__edit_file", json!({ "path": path, "old_text": "x", "new_text": "y" }));
    let script = vec![
        calls([writes("a"), writes("b"), edit("first")]),
        calls([writes("c"), edit("second")]),
        text("Done."),
    ];
    let (env, mut terminal, provider) = asked(env, script);
    terminal.shows(SEVERAL_ASKED);
    terminal.types("o\n");
    let first = terminal.shows(FURTHER).to_owned();
    assert!(first.contains("allow these 3 calls? \x1b[1mone by one"), "{first}");
    let (tool, other) = ("allow io.write_file?", "allow io.edit_file?");
    assert_eq!((count(&first, tool), count(&first, other)), (1, 0), "{first}");
    terminal.types("t\n");
    for question in ["allow io.edit_file? (3 of 3)", "\"second\""] {
        terminal.shows(question);
        terminal.types("n\n");
    }
    let screen = terminal.shows("Done.").to_owned();
    // A question and its answer each.
    assert_eq!((count(&screen, tool), count(&screen, other)), (2, 4), "{screen}");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    write_file(&env, "d").exits(0);
    let listed = env.run(&["approvals", "list", "--json"]).exits(0).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["arguments"]), (1, &Value::Null));
}

#[test]
fn an_answer_for_the_run_ends_with_it() {
    let env = TestEnv::new();
    let (env, mut terminal, _provider) =
        asked(env, vec![calls([writes("a")]), calls([writes("b")]), text("Done.")]);
    terminal.shows(FURTHER);
    terminal.types("r\n");
    let screen = terminal.shows("Done.").to_owned();
    assert_eq!(count(&screen, "allow io.write_file?"), 2, "a question and its answer: {screen}");
    assert_eq!(terminal.ends(), 0);
    assert!(env.path("work/b").exists() && !env.path(APPROVALS).exists());
    write_file(&env, "c").exits(8);
}

/// Nothing that is kept outdoes a rule that asks, or is kept with a secret in it.
#[test]
fn where_no_answer_can_be_kept_none_is_offered() {
    let env = TestEnv::new();
    env.write(CONFIG, "[[rules]]\ntools = \"io\"\ndecision = \"ask\"\nreason = \"look twice\"\n");
    let (env, mut terminal, _provider) = asked(env, vec![calls([writes("a")]), text("Done.")]);
    let question = terminal.shows(ASKED).to_owned();
    assert!(question.contains("config.toml:1") && question.contains("(look twice)"), "{question}");
    assert!(!question.contains(FURTHER) && !question.contains("for the rest of this run"), "{question}");
    for letter in ["a", "t", "r"] {
        terminal.forgets();
        terminal.types(&format!("{letter}\n"));
        terminal.shows("please answer y or n, e");
    }
    terminal.types("n\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    assert!(!env.path("work/a").exists() && !env.path(APPROVALS).exists());

    let env = TestEnv::new().var("SOME_TOKEN", "spoken-0123456789");
    let secret = ("io__write_file", json!({ "path": "a", "content": "it is spoken-0123456789." }));
    let (env, mut terminal, _provider) = asked(env, vec![calls([secret]), text("Done.")]);
    let question = terminal.shows(ASKED).to_owned();
    assert!(!question.contains(FURTHER) && !question.contains("always"), "{question}");
    terminal.types("y\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    assert!(!env.path(APPROVALS).exists());
}

#[test]
fn a_tool_that_has_changed_is_asked_about_again() {
    let env = TestEnv::new();
    own(&env, "home/.config/converse/ensembles", "as it was");
    let call = ["ensembles", "call", "own.tool"];
    let mut terminal = Terminal::run(&env, &call);
    terminal.shows(FURTHER);
    terminal.types("t\n");
    terminal.shows("ran");
    assert_eq!(terminal.ends(), 0);
    env.run(&call).exits(0);
    own(&env, "home/.config/converse/ensembles", "as it is now");
    env.run(&call).exits(8);
    let told = env.run(&["explain", "own.tool", "--json"]).exits(0).json();
    assert!(told["rules"][0]["why_not"][0].as_str().unwrap().contains("changed"), "{told}");
    own(&env, "home/.config/converse/ensembles", "as it was");
    env.run(&call).exits(0);
    // The same tool of a directory's own is another tool.
    own(&env, "work/mine", "as it was");
    env.run(&["ensembles", "call", "own.tool", "--ensembles", "mine"]).exits(8);
}

/// The definition of a server's tool says nothing of what runs when it is called.
#[test]
fn another_program_behind_a_tool_is_asked_about_again() {
    let env = TestEnv::new();
    let command: Vec<String> = own_command(&[]);
    let server = |script: &str, rest: &str| {
        let words: Vec<Value> = ["/bin/sh", "-c", script]
            .iter()
            .map(|&word| json!(word))
            .chain(command.iter().map(|word| json!(word)))
            .collect();
        let text = format!(
            "[ensemble]\nname = \"srv\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\ncommand = {}\n{rest}",
            Value::from(words)
        );
        env.write("home/.config/converse/ensembles/srv.toml", &text);
    };
    let call = ["ensembles", "call", "srv.echo", "text=hello"];
    let script = "exec \"$0\" \"$@\"";
    let environment = "environment = { A = \"1\" }\n";
    server(script, environment);
    let mut terminal = Terminal::run(&env, &call);
    terminal.shows(FURTHER);
    terminal.types("t\n");
    assert_eq!(terminal.ends(), 0);
    env.run(&call).exits(0);
    for (script, rest) in [
        ("true; exec \"$0\" \"$@\"", environment),
        (script, ""),
        (script, "environment = { A = \"2\" }\n"),
        (script, "environment = { A = \"1\" }\ncwd = \"/\"\n"),
        (script, "environment = { A = \"1\" }\n[configuration]\nx = 1\n"),
    ] {
        server(script, rest);
        env.run(&call).exits(8);
    }
    let told = env.run(&["explain", "srv.echo", "--json"]).exits(0).json();
    let whys = told["rules"][0]["why_not"].to_string();
    assert!(whys.contains("connection or configuration of the ensemble has changed"), "{told}");
    server(script, environment);
    env.run(&call).exits(0);
}

#[test]
fn what_belongs_to_a_directory_holds_there() {
    let env = TestEnv::new();
    own(&env, "work/mine", "d");
    own(&env, "work/inner/mine", "d");
    let call = ["ensembles", "call", "own.tool", "--ensembles", "mine"];
    let mut terminal = Terminal::run(&env, &call);
    terminal.shows(FURTHER);
    terminal.types("t\n");
    assert_eq!(terminal.ends(), 0);
    env.run(&call).exits(0);
    let inner = env.shell("cd inner && exec \"$converse\" ensembles call own.tool --ensembles mine");
    inner.exits(8);
    let listed = env.run(&["approvals", "list", "--json"]).exits(0).json();
    let work = env.path("work").canonicalize().unwrap();
    assert_eq!(listed[0]["project"], work.to_str().unwrap());
}

/// A built-in under a stranger's name may run if the user says so each time, or for this run.
#[test]
fn nothing_is_kept_for_what_nobody_has_trusted() {
    let env = TestEnv::new();
    env.write(
        "work/ensembles/notes.toml",
        "[ensemble]\nname = \"notes\"\ndescription = \"d\"\n[[invokers]]\nname = \"add\"\ndescription = \"d\"\n\
         builtin = \"write_file\"\narguments = { type = \"object\", properties = { path = { type = \"string\" }, content = { type = \"string\" } } }\n",
    );
    let mut terminal = Terminal::run(&env, &["ensembles", "call", "notes.add", "path=a", "content=b"]);
    let question = terminal.shows(ASKED).to_owned();
    assert!(!question.contains(FURTHER) && !question.contains("always"), "{question}");
    terminal.types("r\n");
    assert_eq!(terminal.ends(), 0);
    assert!(env.path("work/a").exists() && !env.path(APPROVALS).exists());
}

#[test]
fn a_damaged_file_of_answers_holds_none() {
    let env = TestEnv::new();
    own(&env, "home/.config/converse/ensembles", "d");
    let call = ["ensembles", "call", "own.tool"];
    let mut terminal = Terminal::run(&env, &call);
    terminal.shows(FURTHER);
    terminal.types("t\n");
    assert_eq!(terminal.ends(), 0);
    env.run(&call).exits(0);
    let good = std::fs::read_to_string(env.path(APPROVALS)).unwrap();
    std::fs::write(env.path(APPROVALS), format!("{good}[[rules]]\n")).unwrap();
    let ran = env.run(&call).exits(8);
    assert!(
        ran.stderr.contains("approvals.toml") && ran.stderr.contains("damaged in line"),
        "{}",
        ran.stderr
    );
    env.run(&["approvals", "list"]).exits(3);
    std::fs::write(env.path(APPROVALS), good).unwrap();
    env.run(&call).exits(0);
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(env.path(APPROVALS), std::fs::Permissions::from_mode(0o666)).unwrap();
    let ran = env.run(&call).exits(8);
    assert!(ran.stderr.contains("0600"), "{}", ran.stderr);
}

#[test]
fn no_tool_may_write_where_answers_are_kept() {
    let env = TestEnv::new().var("XDG_STATE_HOME", "");
    let state = env.path("work/state");
    let env = env.var("XDG_STATE_HOME", state.to_str().unwrap());
    let ran = env.run(&[
        "ensembles",
        "call",
        "io.write_file",
        "path=state/converse/approvals.toml",
        "content=x",
        "create_directories=true",
        "--allow",
        "io",
    ]);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    assert!(!state.join("converse/approvals.toml").exists());
}
