//! Requests for one session that come at the same time.

use serde_json::{Value, json};

use super::{follow, get, open, question, run, send, session_of, types};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::serve_http::TOKEN;

const TOOLS: &str = "[ensemble]\nname = \"t\"\n\
    [[invokers]]\nname = \"wait\"\ndescription = \"Waits\"\npermission = \"allow\"\ncommand = { argv = [\"cat\", \"pipe\"] }\n\
    [[invokers]]\nname = \"other\"\ndescription = \"Another\"\npermission = \"allow\"\ncommand = { argv = [\"true\"] }\n";

#[test]
fn a_run_that_is_refused_leaves_the_rules_of_the_running_one() {
    let script = [calls([("t__wait", json!({}))]), calls([("t__other", json!({}))]), text("Done.")];
    let provider = Provider::new(Dialect::Chat, script);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    env.write("home/.config/converse/ensembles/t.toml", TOOLS);
    let preset = format!(
        "[presets.careful]\nmodel = \"{}\"\npermissions = {{ deny = [\"t.other\"] }}\n",
        provider.model()
    );
    env.write("home/.config/converse/config.toml", &preset);
    env.shell("mkfifo pipe").exits(0);
    let gate = open(&env, &["-e", "t"]);
    let session = "11111111-1111-4111-8111-111111111111";
    let asked = |model: &str| {
        let mut body = question("Wait");
        body["threadId"] = json!(session);
        body["forwardedProps"] = json!({ "model": model });
        body
    };
    let path = env.path("work/pipe");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run(&gate, &asked("careful")));
        // It opens when the tool reads.
        let opened = move || std::fs::File::options().write(true).open(path).unwrap();
        let pipe = converse_testkit::hang_guard::run("the tool reads", opened);
        let (status, answer) = send(&gate, "POST", "/api/runs", TOKEN, &asked(provider.model()));
        assert_eq!(status, 409, "{answer}");
        drop(pipe);
        let events = first.join().unwrap();
        assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"), "{events:?}");
    });
    let shown = get(&gate, &format!("/api/sessions/{session}"));
    let messages = shown["messages"].as_array().unwrap();
    let outcomes: Vec<&Value> =
        messages.iter().filter(|one| one["role"] == "tool").map(|one| &one["outcome"]).collect();
    assert_eq!(outcomes, ["success", "refused"], "{shown}");
}

#[test]
fn answers_that_are_given_at_the_same_time_all_count() {
    let write = |name: &str| ("io__write_file", json!({ "path": name, "content": "x" }));
    let provider = Provider::new(
        Dialect::Chat,
        (0..10).flat_map(|_| [calls([write("a.txt"), write("b.txt")]), text("Done.")]).collect::<Vec<_>>(),
    );
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    for _ in 0..10 {
        let mut body = question("Write");
        body["forwardedProps"] = json!({ "model": provider.model() });
        let asked = run(&gate, &body);
        let (position, last) = asked.last().unwrap();
        let interrupts = last["outcome"]["interrupts"].clone();
        let ids: Vec<&str> =
            interrupts.as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
        let answer = |id: &str| {
            send(&gate, "POST", &format!("/api/approvals/{id}"), TOKEN, &json!({ "decision": "once" }))
        };
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let given: Vec<_> = ids.iter().map(|id| scope.spawn(move || answer(id).0)).collect();
            given.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(statuses.len() == 2 && statuses.iter().all(|status| *status < 300), "{statuses:?}");
        let events = follow(&gate, &session_of(&asked), position);
        assert_eq!(events.last().unwrap().1["outcome"]["type"], "success", "{events:?}");
    }
}
