//! Calls made from schemas: `converse ensembles test --synth`.

use super::{own, rows, run, tool};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;

#[test]
fn what_is_shipped_stands_calls_made_from_its_schemas() {
    let env = TestEnv::new();
    let ran = env.run(&["ensembles", "test", "essentials", "--synth", "--json"]).exits(0);
    let rows = rows(&ran);
    let count = |tool: &str, kind: &str| {
        let those =
            rows.iter().filter(|row| row["tool"] == tool && row["kind"] == kind && row["status"] == "passed");
        those.count()
    };
    for tool in ["calculator", "current_datetime"] {
        assert!(count(tool, "fitting") >= 3 && count(tool, "broken") >= 3, "{tool}: {rows:#?}");
    }
    let text = env.run(&["ensembles", "test", "essentials", "--synth"]).exits(0).stdout;
    assert!(
        text.contains("ok      essentials.calculator  ") && text.contains(" calls made from its schema"),
        "{text}"
    );
}

#[test]
fn only_what_changes_nothing_is_called_with_what_fits() {
    let env = TestEnv::new();
    let touch = |name: &str, effects: &str| {
        format!(
            "[[invokers]]\nname = \"{name}\"\ndescription = \"d\"\n{effects}command = {{ argv = [\"touch\", \"{name}\"] }}\n\
             arguments = {{ type = \"object\", additionalProperties = false, properties = {{ n = {{ type = \"integer\" }} }} }}\n"
        )
    };
    own(
        &env,
        &[
            touch("reads", "effects = \"read\"\n"),
            touch("writes", "effects = \"write\"\n"),
            touch("unsaid", ""),
        ]
        .concat(),
    );
    let rows = rows(&run(&env, &["own", "--synth", "--json"]).exits(0));
    let made: Vec<bool> =
        ["reads", "writes", "unsaid"].iter().map(|name| env.path(&format!("work/{name}")).exists()).collect();
    assert_eq!(made, [true, false, false]);
    for name in ["writes", "unsaid"] {
        let of = |kind: &str, status: &str| {
            rows.iter().any(|row| row["tool"] == name && row["kind"] == kind && row["status"] == status)
        };
        assert!(of("broken", "passed") && of("fitting", "skipped") && !of("fitting", "passed"), "{rows:#?}");
    }
}

#[test]
fn a_tool_that_says_no_to_what_fits_is_told() {
    let env = TestEnv::new();
    let arguments = "arguments = { type = \"object\", properties = { n = { type = \"integer\" } } }\n";
    own(&env, &[tool("fails", "test_fail", arguments), tool("fine", "test_word", arguments)].concat());
    let text = run(&env, &["own", "--synth"]).exits(0).stdout;
    let line = |tool: &str| text.lines().find(|line| line.contains(tool)).unwrap().to_owned();
    assert!(line("own.fails").contains(" answered with an error) and "), "{text}");
    assert!(!line("own.fine").contains("answered with an error"), "{text}");
}

#[test]
fn a_tool_that_crashes_or_falls_silent_on_odd_arguments_is_found() {
    let env = TestEnv::new();
    let arguments = "arguments = { type = \"object\", properties = { n = { type = \"integer\" } } }\n";
    own(
        &env,
        &[
            tool("crashes", "test_panic", arguments),
            tool("fails", "test_fail", arguments),
            tool("sleeps", "test_sleep", &format!("timeout = 0.05\n{arguments}")),
            tool("fine", "test_word", arguments),
        ]
        .concat(),
    );
    let ran = run(&env, &["own", "--synth", "--json"]).exits(3);
    let rows = rows(&ran);
    let failed =
        |name: &str| rows.iter().filter(|row| row["tool"] == name && row["status"] == "failed").count();
    assert!(failed("crashes") >= 2);
    assert_eq!(
        (failed("fails"), failed("fine"), failed("sleeps")),
        (0, 0, 1),
        "one silence is enough: {rows:#?}"
    );
    let crash = rows.iter().find(|row| row["tool"] == "crashes").unwrap();
    assert_eq!(crash["misses"][0]["words"], "the tool crashed: the tool crashed");
    assert!(crash["arguments"].is_object());
}

#[test]
fn a_server_that_dies_of_what_fits_its_schema_is_found() {
    let env = TestEnv::new();
    let tables = "[tools.die]\neffects = \"read\"\n[tools.echo]\neffects = \"read\"\n";
    FakeServer::new("served", &["--faulty", "--exit-on=tools/call"]).and(tables).write(&env);
    let words = ["ensembles", "test", "served.echo", "--synth", "--json", "--ensembles", "../servers"];
    let rows = rows(&env.run(&words).exits(3));
    let lost = rows.iter().find(|row| row["status"] == "failed").unwrap();
    assert!(
        lost["misses"][0]["words"].as_str().unwrap().starts_with("the tool was lost while it ran: "),
        "{lost}"
    );
    // What a server says of its own tools makes none of them a reading one.
    let unsaid = env
        .run(&["ensembles", "test", "served.pid", "--synth", "--json", "--ensembles", "../servers"])
        .exits(2);
    assert!(unsaid.stdout.contains("the tool may change something"), "{}", unsaid.stdout);
}

#[test]
fn a_program_that_crashes_on_one_odd_argument_is_found_by_it() {
    let env = TestEnv::new();
    own(
        &env,
        "[[invokers]]\nname = \"odd\"\ndescription = \"d\"\neffects = \"read\"\n\
         command = { argv = [\"sh\", \"-c\", \"[ -n \\\"$1\\\" ] || kill -SEGV $$\", \"sh\", \"{text}\"] }\n\
         arguments = { type = \"object\", required = [\"text\"], properties = { text = { type = \"string\" } } }\n",
    );
    let rows = rows(&run(&env, &["own", "--synth", "--json"]).exits(3));
    let failed: Vec<_> = rows.iter().filter(|row| row["status"] == "failed").collect();
    assert_eq!(failed.len(), 1, "{rows:#?}");
    assert_eq!(failed[0]["arguments"], serde_json::json!({ "text": "" }));
    assert!(failed[0]["misses"][0]["words"].as_str().unwrap().contains("SIGSEGV"), "{}", failed[0]);
}
