//! Views: which tools a token leads to.

use serde_json::{Value, json};

use super::{Gate, OTHER, TOKEN, call, get, log, post, sum, token_file};
use crate::env::TestEnv;

const THIRD: &str = "third-canary-0123456789";

/// `printf TOKEN | sha256sum` begins with 4859dbe8, that of `OTHER` with 6b7fe824.
const VIEWS: &str = r#"
[[views]]
name = "sums"
instructions = "Only one sum."
tools = [{ tool = "essentials.calculator", name = "seven", arguments = { expression = "3+4" } }]
tokens = ["4859dbe8", "6b7fe824"]

[[views]]
name = "find"
search = true
tools = ["essentials.*"]
tokens = ["6b7fe824"]
permissions = { deny = ["essentials.current_datetime"] }

[[views]]
name = "everybody"
tools = ["*"]
"#;

fn at(view: &str, request: &str) -> String {
    request.replacen("POST /mcp ", &format!("POST /mcp/{view} "), 1)
}

fn names(answer: &str) -> Vec<String> {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let list: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_tokens_lead_to_two_views_and_a_third_to_nothing() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", "owner-canary-0123456789");
    env.write("home/.config/converse/config.toml", VIEWS);
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n{THIRD}\n"));
    let gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file, "--api", "--openai"]);
    let list = |view: Option<&str>, token: &str| {
        let request = post("tools/list", &json!({}), Some(token));
        gate.ask(&view.map_or(request.clone(), |view| at(view, &request)))
    };
    // A token with one view has it at `/mcp` too.
    for view in [None, Some("sums")] {
        let (status, answer) = list(view, TOKEN);
        assert_eq!((status, names(&answer)), (200, vec!["seven".to_owned()]), "{answer}");
    }
    assert_eq!(names(&list(Some("find"), OTHER).1), ["call_tool", "find_tools"]);
    assert_eq!(names(&list(Some("sums"), OTHER).1), ["seven"]);
    // The user who runs the server has everything.
    let owner = "owner-canary-0123456789";
    assert_eq!(names(&list(None, owner).1), ["essentials__calculator", "essentials__current_datetime"]);
    assert_eq!(names(&list(Some("sums"), owner).1), ["seven"]);

    for (view, token, status, said) in [
        (None, OTHER, 404, "use one of /mcp/sums, /mcp/find"),
        (Some("find"), TOKEN, 404, "there is no such view for this token"),
        (Some("everybody"), TOKEN, 404, "there is no such view for this token"),
        (Some("nowhere"), TOKEN, 404, "there is no such view for this token"),
        (Some("nowhere"), owner, 404, "there is no such view for this token"),
        (Some("sums/x"), TOKEN, 404, "there is no such view for this token"),
        (None, THIRD, 403, "the token does not lead here"),
        (Some("sums"), THIRD, 403, "the token does not lead here"),
        (Some("sums"), "unknown-canary-0123456789", 401, "not valid"),
    ] {
        let (got, answer) = list(view, token);
        assert!(got == status && answer.contains(said), "{view:?} {token}: {answer}");
    }
    // Turns and sessions have all tools, and the metrics their names.
    for path in ["/api/sessions", "/v1/models", "/metrics"] {
        for (token, status) in [(TOKEN, 403), (THIRD, 403), (owner, 200)] {
            let request = get(path).replacen("\r\n", &format!("\r\nauthorization: Bearer {token}\r\n"), 1);
            let (got, answer) = gate.ask(&request);
            assert_eq!(got, status, "{path}: {answer}");
        }
    }

    for (token, shows) in [(TOKEN, false), (owner, true)] {
        let request = get("/readyz").replacen("\r\n", &format!("\r\nauthorization: Bearer {token}\r\n"), 1);
        let (_, answer) = gate.ask(&request);
        assert_eq!(answer.contains("\"upstreams\""), shows, "{answer}");
    }

    let in_view = |view: &str, tool: &str, arguments: &Value, token: &str| {
        gate.ask(&at(view, &call(tool, arguments, Some(token)))).1
    };
    let seven = in_view("sums", "seven", &json!({}), TOKEN);
    assert!(seven.contains('7') && seven.contains("\"isError\":false"), "{seven}");
    let given = in_view("sums", "seven", &sum(), TOKEN);
    assert!(given.contains("`expression` is not an argument of this tool"), "{given}");
    let around = in_view("sums", "essentials__calculator", &sum(), TOKEN);
    assert!(around.contains("unknown tool: essentials__calculator"), "{around}");

    let found = in_view("find", "find_tools", &json!({ "query": "calculator" }), OTHER);
    assert!(found.contains("essentials__calculator") && found.contains("inputSchema"), "{found}");
    let through = |tool: &str, arguments: &Value| {
        in_view("find", "call_tool", &json!({ "name": tool, "arguments": arguments }), OTHER)
    };
    assert!(through("essentials__calculator", &sum()).contains("42"));
    let refused = through("essentials__current_datetime", &json!({}));
    assert!(refused.contains("not allowed by the rule"), "{refused}");

    let log = log(&env);
    assert!(log.contains("\"client\":\"via token 4859dbe8 at 127.0.0.1 in view sums\""), "{log}");
    assert!(log.contains("\"client\":\"via token 6b7fe824 at 127.0.0.1 in view find\""), "{log}");
    assert!(log.contains("3+4") && !log.contains("call_tool") && !log.contains("\"seven\""), "{log}");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn views_that_name_nobody_are_for_everybody_who_is_let_in() {
    let env = TestEnv::new();
    env.write(
        "home/.config/converse/config.toml",
        "[[views]]\nname = \"all\"\ntools = [\"essentials.ca*\"]\n",
    );
    let file = token_file(&env, &format!("{TOKEN}\n"));
    let gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file]);
    let list = post("tools/list", &json!({}), Some(TOKEN));
    let (whole, view) = (names(&gate.ask(&list).1), names(&gate.ask(&at("all", &list)).1));
    assert_eq!((whole.len(), view), (2, vec!["essentials__calculator".to_owned()]));
    assert_eq!(gate.ask(&at("all", &post("tools/list", &json!({}), None))).0, 401);
}

#[test]
fn views_that_name_clients_are_not_served_to_everybody() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", VIEWS);
    let served = env.run(&["serve", "--http", "127.0.0.1:0", "--no-auth", "-e", "essentials"]).exits(2);
    assert!(served.stderr.contains("error[views-need-access]"), "{}", served.stderr);
}
