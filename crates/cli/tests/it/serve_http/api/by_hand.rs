//! Tools that a person calls over `/api`, and what is said about ensembles.

use serde_json::{Value, json};

use super::{Gate, Link, OTHER, TOKEN, get, head, json_of, open, send, token_file};
use crate::env::TestEnv;
use crate::serve_http::log;

fn call(gate: &Gate, tool: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = send(gate, "POST", &format!("/api/tools/{tool}"), TOKEN, body);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn ensemble<'v>(list: &'v Value, name: &str) -> &'v Value {
    list["items"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

#[test]
fn a_tool_is_called_by_hand_through_the_gate() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["--deny", "io.edit_file"]);
    let (status, done) =
        call(&gate, "essentials/calculator", &json!({ "arguments": { "expression": "6*7" } }));
    assert_eq!(
        (status, &done["outcome"], &done["decision"]["allowed"]),
        (200, &json!("success"), &json!(true))
    );
    assert!(done["content"].to_string().contains("42"), "{done}");
    let (status, wrong) = call(&gate, "essentials/calculator", &json!({ "arguments": {} }));
    assert_eq!((status, &wrong["outcome"]), (200, &json!("invalid")), "{wrong}");

    let write = json!({ "arguments": { "path": "note.txt", "content": "by hand" } });
    let (status, asked) = call(&gate, "io/write_file", &write);
    assert_eq!((status, &asked["error"]["code"]), (409, &json!("needs-approval")), "{asked}");
    let approval = &asked["approval"];
    assert_eq!(
        (&approval["tool"], &approval["arguments"]["path"]),
        (&json!("write_file"), &json!("note.txt"))
    );
    assert_eq!(approval["decisions"], json!(["once", "deny"]));
    assert!(!env.path("work/note.txt").exists());
    let mut yes = write.clone();
    yes["approve"] = approval["digest"].clone();
    let (status, done) = call(&gate, "io/write_file", &yes);
    assert_eq!((status, &done["outcome"], &done["decision"]["by"]), (200, &json!("success"), &json!("user")));
    assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "by hand");
    assert_eq!(call(&gate, "io/write_file", &write).0, 409, "a yes counts for one call");

    let edit =
        json!({ "arguments": { "path": "note.txt", "old": "by", "new": "x" }, "approve": yes["approve"] });
    let (_, denied) = call(&gate, "io/edit_file", &edit);
    assert_ne!(denied["outcome"], "success", "{denied}");
    assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "by hand");
    assert_eq!(call(&gate, "io/nonesuch", &json!({})).0, 404);
    assert_eq!(call(&gate, "io/write_file", &json!({ "argument": {} })).0, 400);

    let records: Vec<Value> = log(&env).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wrote = |kind: &str| {
        let of = records.iter().filter(|one| one["tool"] == "io__write_file" && one["kind"] == kind);
        of.cloned().collect::<Vec<_>>()
    };
    let decided = wrote("decided");
    assert_eq!((decided.len(), &decided[0]["rule"]), (1, &json!("user")), "{records:?}");
    assert_eq!((wrote("started").len(), wrote("finished").len()), (1, 1), "{records:?}");
    assert!(decided[0]["session"].as_str().unwrap().starts_with("by-hand-"), "{decided:?}");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_yes_is_for_the_call_that_was_shown() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let link = Link::new(&env);
    let gate = open(&env, &[]);
    let write = |content: &str, approve: &Value| {
        let arguments = json!({ "path": "link/note.txt", "content": content });
        call(&gate, "io/write_file", &json!({ "arguments": arguments, "approve": approve }))
    };
    let (_, asked) = write("a", &Value::Null);
    let shown = asked["approval"]["digest"].clone();
    assert!(asked["approval"]["reaches"].as_str().unwrap().contains("/one/note.txt"), "{asked}");
    for unseen in [json!(true), json!("yes"), json!(1)] {
        let (status, refused) = write("a", &unseen);
        assert_eq!(status, 400, "{refused}");
        assert!(refused["error"]["hint"].as_str().unwrap().contains("approval.digest"), "{refused}");
    }
    let (status, other) = write("b", &shown);
    assert_eq!((status, &other["approval"]["arguments"]["content"]), (409, &json!("b")), "{other}");
    link.leads_to("two");
    let (status, moved) = write("a", &shown);
    assert_eq!(status, 409, "{moved}");
    assert!(moved["approval"]["reaches"].as_str().unwrap().contains("/two/note.txt"), "{moved}");
    assert_eq!(link.written(&env), [None, None]);
    assert_eq!(write("a", &moved["approval"]["digest"]).0, 200);
    assert_eq!(link.written(&env), [None, Some("a".to_owned())]);
}

#[test]
fn a_denied_tool_is_refused_whatever_the_body_says() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["--deny", "io.write_file"]);
    for approve in [json!(false), json!("0".repeat(64))] {
        let body = json!({ "arguments": { "path": "note.txt", "content": "x" }, "approve": approve });
        let (status, refused) = call(&gate, "io/write_file", &body);
        assert_eq!((status, &refused["outcome"]), (200, &json!("refused")), "{refused}");
        assert_eq!(refused["decision"]["allowed"], false, "{refused}");
    }
    assert!(!env.path("work/note.txt").exists());
}

#[test]
fn another_page_cannot_call_a_tool() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let entered = gate.ask(&head(&gate, "GET", &format!("/?token={TOKEN}"), "\r\n")).1;
    let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    let write = json!({ "arguments": { "path": "note.txt", "content": "x" } });
    let mut yes = write.clone();
    yes["approve"] = call(&gate, "io/write_file", &write).1["approval"]["digest"].clone();
    let body = yes.to_string();
    let post = |origin: &str, kind: &str| {
        let more =
            format!("{cookie}{origin}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        gate.ask(&head(&gate, "POST", "/api/tools/io/write_file", &more)).0
    };
    let own = format!("origin: http://{}\r\n", gate.address);
    assert_eq!(post("", "application/json"), 403, "no page of this server made it");
    assert_eq!(post("origin: http://evil.example\r\n", "application/json"), 403);
    assert_eq!(post("origin: null\r\n", "application/json"), 403);
    assert_eq!(post(&own, "text/plain"), 415, "what a form can send");
    assert!(!env.path("work/note.txt").exists());
    assert_eq!(post(&own, "application/json"), 200);
    assert!(env.path("work/note.txt").exists());
}

#[test]
fn ensembles_have_their_findings_and_their_lock() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let descriptor = |text: &str| {
        format!(
            "[ensemble]\nname = \"lab\"\n\n[[invokers]]\nname = \"echo\"\ndescription = \"{text}\"\n\
             effects = \"read\"\n[invokers.command]\nargv = [\"printf\", \"x\"]\n"
        )
    };
    let dir = "home/.config/converse/ensembles";
    env.write(&format!("{dir}/lab.toml"), &descriptor("Says x"));
    let gate = Gate::open(&env, &["--panel"]);
    assert_eq!(ensemble(&get(&gate, "/api/ensembles"), "lab")["lock"], "unpinned");
    env.run(&["ensembles", "lock"]).exits(0);
    let list = get(&gate, "/api/ensembles");
    let lab = ensemble(&list, "lab");
    assert_eq!((&lab["lock"], &lab["calls"], &lab["drift"]), (&json!("pinned"), &json!(true), &json!(true)));
    assert_eq!((&lab["connected"], &lab["origin"]["scope"]), (&json!(true), &json!("user")), "{lab}");
    let has_unknown_key = |lab: &Value| {
        let findings = lab["findings"].as_array().unwrap();
        findings.iter().any(|one| one["code"] == "unknown-key" && one["severity"] == "error")
    };
    assert!(!has_unknown_key(lab), "{lab}");

    env.write(&format!("{dir}/lab.toml"), &(descriptor("Says something else") + "shell = true\n"));
    let list = get(&gate, "/api/ensembles");
    assert!(has_unknown_key(ensemble(&list, "lab")), "{list}");
    drop(gate);

    env.write(&format!("{dir}/lab.toml"), &descriptor("Says something else"));
    let gate = Gate::open(&env, &["--panel"]);
    let list = get(&gate, "/api/ensembles");
    let lab = ensemble(&list, "lab");
    assert_eq!(lab["lock"], "drifted", "{lab}");
    assert!(lab["tools"][0]["held"].as_str().unwrap().contains("accepted"), "{lab}");
    let drift = get(&gate, "/api/ensembles/lab/drift");
    let line = |kind: &str, word: &str| {
        let lines = drift["lines"].as_array().unwrap().iter();
        lines.filter(|one| one["kind"] == kind && one["text"].as_str().unwrap().contains(word)).count()
    };
    assert!(line("removed", "Says x") > 0 && line("added", "Says something else") > 0, "{drift}");
    assert_eq!(send(&gate, "GET", "/api/ensembles/nonesuch/drift", TOKEN, &Value::Null).0, 404);
    // What is held back does not run by hand either.
    let (_, held) = call(&gate, "lab/echo", &json!({ "arguments": {}, "approve": "0".repeat(64) }));
    assert_eq!(held["outcome"], "no_such_tool", "{held}");
}

#[test]
fn findings_and_drift_are_for_the_user_who_runs_the_server() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{OTHER}\n"));
    let gate = Gate::open(&env, &["--panel", "--token-file", &file, "-e", "essentials"]);
    let list = json_of(send(&gate, "GET", "/api/ensembles", OTHER, &Value::Null));
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["essentials"], "not what is not served");
    assert_eq!(
        list["items"][0]["origin"],
        json!({ "scope": "shipped" }),
        "files of the server are not named"
    );
    assert_eq!(send(&gate, "GET", "/api/ensembles/essentials/drift", OTHER, &Value::Null).0, 404);
}
