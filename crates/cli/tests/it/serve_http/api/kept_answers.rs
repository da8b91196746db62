//! Answers "always" that principals give over `/api`.

use serde_json::{Value, json};

use super::{Gate, OTHER, TOKEN, json_of, open, question, run_as, send, token_file};
use crate::env::TestEnv;
use crate::serve_http::openai;

/// The two users of the server.
struct Users {
    env: TestEnv,
    gate: Gate,
}

impl Users {
    fn open(env: TestEnv) -> Self {
        let file = token_file(&env, &format!("{OTHER}\n"));
        let gate = open(&env, &["--openai", "--token-file", &file]);
        Self { env, gate }
    }

    fn again(self) -> Self {
        let Self { env, gate } = self;
        drop(gate);
        Self::open(env)
    }

    /// How a turn ends that writes a file, and the question if it asks.
    fn turn(&self, token: &str, file: &str) -> (String, Value) {
        let asked = question(&format!("@io.write_file path={file} content=x"));
        let events = run_as(&self.gate, token, &asked);
        let outcome = &events.last().unwrap().1["outcome"];
        (outcome["type"].as_str().unwrap().to_owned(), outcome["interrupts"][0].clone())
    }

    fn asks(&self, token: &str) -> bool {
        self.turn(token, "turn.txt").0 == "interrupt"
    }

    fn answers_always(&self, token: &str) {
        let (outcome, asked) = self.turn(token, "always.txt");
        assert_eq!(outcome, "interrupt");
        let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
        let always = json!({ "decision": "always", "pattern": "tool" });
        json_of(send(&self.gate, "POST", &path, token, &always));
        let session = path.rsplit('/').next().unwrap().split('.').next().unwrap();
        let more = format!("authorization: Bearer {token}\r\nlast-event-id: 0.0.0\r\n\r\n");
        let path = format!("/api/sessions/{session}/events");
        super::events(&self.gate, &super::head(&self.gate, "GET", &path, &more));
    }

    /// Whether a call by hand, one of a model for a client of OpenAI's API, and one over MCP run without a question.
    fn runs(&self, token: &str) -> [bool; 3] {
        let written = |file: &str| {
            let path = self.env.path("work").join(file);
            path.exists() && std::fs::remove_file(path).is_ok()
        };
        let by_hand = json!({ "arguments": { "path": "hand.txt", "content": "x" } });
        send(&self.gate, "POST", "/api/tools/io/write_file", token, &by_hand);
        let text = "@io.write_file path=chat.txt content=x";
        let chat = json!({ "model": "understudy", "messages": [{ "role": "user", "content": text }] });
        openai::post(&self.gate, "/v1/chat/completions", token, &chat);
        let arguments = json!({ "path": "mcp.txt", "content": "x" });
        self.gate.call("io__write_file", &arguments, Some(token));
        ["hand.txt", "chat.txt", "mcp.txt"].map(written)
    }
}

#[test]
fn an_answer_always_counts_for_its_principal_alone() {
    let users = Users::open(TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN));
    users.answers_always(TOKEN);
    let users = users.again();
    assert!(users.asks(OTHER), "the answer of another principal allowed a call");
    assert_eq!(users.runs(OTHER), [false; 3]);
    assert!(!users.asks(TOKEN));
    assert_eq!(users.runs(TOKEN), [true; 3]);
}

#[test]
fn an_answer_always_counts_from_the_next_turn_until_it_is_revoked() {
    let users = Users::open(TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN));
    for token in [OTHER, TOKEN] {
        users.answers_always(token);
        assert!(!users.asks(token));
        assert_eq!(users.runs(token)[..2], [true; 2]);
    }
    users.env.run(&["approvals", "revoke", "1"]).exits(0);
    assert!(users.asks(TOKEN) && !users.asks(OTHER));
    assert_eq!(users.runs(TOKEN)[..2], [false; 2]);
    // Also in the session in which it was given.
    let session = json_of(send(&users.gate, "GET", "/api/sessions?text=always.txt", TOKEN, &Value::Null));
    let mut again = question("@io.write_file path=always.txt content=again");
    again["threadId"] = session["items"][0]["id"].clone();
    let events = run_as(&users.gate, TOKEN, &again);
    assert_eq!(events.last().unwrap().1["outcome"]["type"], "interrupt", "{events:?}");
}
