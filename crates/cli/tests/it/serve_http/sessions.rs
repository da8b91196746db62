//! Sessions of clients of the older era: questions, changes, and who can use them.

use super::*;
use crate::fake_server::FakeServer;

const SESSION: &str = "mcp-session-id: ";

/// A client of 2025-11-25.
struct Client<'a> {
    gate: &'a Gate,
    token: Option<&'a str>,
    session: Option<String>,
}

impl<'a> Client<'a> {
    /// Initialises; has a session if the gateway gives one.
    fn new(gate: &'a Gate, token: Option<&'a str>) -> Self {
        let info = json!({ "name": "tester", "version": "9" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": info });
        let (status, answer) = gate.ask(&post("initialize", &params, token));
        assert!(status == 200 && answer.contains("\"serverInfo\""), "{answer}");
        let session = answer.lines().find_map(|line| line.strip_prefix(SESSION)).map(str::to_owned);
        let client = Self { gate, token, session };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.ask(&client.post(&initialized)).0, 202);
        client
    }

    fn named(&self, request: &str) -> String {
        let session = self.session.as_ref().map(|id| format!("{SESSION}{id}\r\n")).unwrap_or_default();
        let token = self.token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        request.replacen("\r\n\r\n", &format!("\r\n{session}{token}\r\n"), 1)
    }

    fn post(&self, message: &Value) -> String {
        let body = message.to_string();
        let request = post("x", &Value::Null, None);
        let head = request.split("content-length").next().unwrap();
        self.named(&format!("{head}content-length: {}\r\n\r\n{body}", body.len()))
    }

    fn request(&self, method: &str, params: &Value) -> String {
        self.post(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }))
    }

    fn without_body(&self, method: &str) -> String {
        self.named(&format!(
            "{method} /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: text/event-stream\r\n\r\n"
        ))
    }

    fn ask(&self, request: &str) -> (u16, String) {
        self.gate.ask(request)
    }

    /// Sends a request that is answered with a stream.
    fn open(&self, request: &str) -> Events {
        let mut stream = TcpStream::connect(&self.gate.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Events(BufReader::new(stream))
    }
}

struct Events(BufReader<TcpStream>);

impl Events {
    /// The first message of which this is true.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            let message = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data.trim()).ok());
            if let Some(message) = message.filter(|message| is_it(message)) {
                return message;
            }
        }
    }

    fn rest(mut self) -> String {
        let mut rest = String::new();
        let _ = self.0.read_to_string(&mut rest);
        rest
    }
}

fn gated(env: &TestEnv, flags: &[&str]) -> Gate {
    let servers = env.path("servers").display().to_string();
    let common = ["serve", "--http", "127.0.0.1:0", "-e", "asking", "--ensembles", &servers];
    Gate::begun(&mut env.command([&common, flags].concat()))
}

fn call_of(client: &Client<'_>) -> Events {
    client.open(&client.request("tools/call", &json!({ "name": "asking__ask", "arguments": {} })))
}

#[test]
fn the_client_that_called_is_asked_within_its_session_and_no_other_principal_has_it() {
    for era in ["--era=legacy", "--era=modern"] {
        let env = TestEnv::new();
        FakeServer::new("asking", &[era, "--ask=form"]).write(&env);
        let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
        let gate = gated(&env, &["--token-file", &file]);
        let client = Client::new(&gate, Some(TOKEN));
        let other = Client { gate: &gate, token: Some(OTHER), session: client.session.clone() };
        let mut answers = call_of(&client);
        let question = answers.until(|message| message["method"] == "elicitation/create");
        assert!(question["params"]["requestedSchema"].is_object(), "{question}");
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } });
        assert_eq!(other.ask(&other.post(&answer)).0, 404, "another one cannot answer");
        assert_eq!(client.ask(&client.post(&answer)).0, 202);
        let result = answers.until(|message| message["id"] == 7);
        assert!(result.to_string().contains("cancel"), "{era} {result}");
        for request in ["tools/list", "ping"] {
            let refused = other.ask(&other.request(request, &json!({})));
            assert!(refused.0 == 404 && refused.1.contains("initialize"), "{}", refused.1);
        }
        assert_eq!(
            [other.ask(&other.without_body("GET")).0, other.ask(&other.without_body("DELETE")).0],
            [404; 2]
        );
        // Without a session nobody can be asked, as ever.
        let alone = Client { session: None, ..other };
        let (status, told) =
            alone.ask(&alone.request("tools/call", &json!({ "name": "asking__ask", "arguments": {} })));
        assert!(status == 200 && told.contains("decline"), "{told}");
        // The end cancels what runs.
        let mut answers = call_of(&client);
        answers.until(|message| message["method"] == "elicitation/create");
        assert_eq!(client.ask(&client.without_body("DELETE")).0, 204);
        assert!(!answers.rest().contains("\"result\""));
        assert_eq!(client.ask(&client.request("ping", &json!({}))).0, 404);
        assert_eq!(client.ask(&client.without_body("GET")).0, 404);
        gate.signal();
        let (code, said) = gate.ended();
        assert_eq!(code, Some(0), "{said}");
        let log = log(&env);
        assert!(log.contains("tester 9") && log.contains("via token"), "the record names the client: {log}");
    }
}

#[test]
fn changes_come_on_the_stream_of_a_session_until_its_token_is_removed() {
    let env = TestEnv::new();
    let here = env.path("here");
    let script = format!("[ -e '{}' ] || exit 1; exec \"$0\" \"$@\"", here.display());
    FakeServer::new("asking", &["--faulty"]).in_a_shell(&script).write(&env);
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = gated(&env, &["--token-file", &file]);
    let client = Client::new(&gate, Some(TOKEN));
    assert!(client.ask(&client.request("tools/list", &json!({}))).1.contains("\"tools\""));
    let mut changes = client.open(&client.without_body("GET"));
    env.write("here", "");
    changes.until(|message| message["method"] == "notifications/tools/list_changed");
    let open = |gate: &Gate| {
        let metrics = Client { gate, token: Some(OTHER), session: None };
        let (_, page) =
            gate.ask(&metrics.named("GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"));
        page.contains("\nconverse_mcp_sessions 1\n")
    };
    assert!(open(&gate));
    std::fs::write(&file, format!("{OTHER}\n")).unwrap();
    wait_until("the session ends", || !open(&gate));
    changes.rest();
    assert_eq!(client.ask(&client.request("ping", &json!({}))).0, 401);
}

#[test]
fn an_id_of_another_process_is_served_without_a_session_and_there_may_be_none_at_all() {
    let env = TestEnv::new();
    FakeServer::new("asking", &["--faulty"]).write(&env);
    let gate = gated(&env, &["--no-auth"]);
    let (here, none) = (Client::new(&gate, None), "0123456789abcdef".repeat(3));
    let (mark, rest) = none.split_at(16);
    let elsewhere = Client { gate: &gate, token: None, session: Some(format!("{mark}-{rest}")) };
    let echo = json!({ "name": "asking__echo", "arguments": { "text": "still served" } });
    let (status, answer) = elsewhere.ask(&elsewhere.request("tools/call", &echo));
    assert!(status == 200 && answer.contains("still served"), "{answer}");
    assert_eq!(elsewhere.ask(&elsewhere.without_body("GET")).0, 404);
    let ended = here.session.as_ref().map(|id| {
        let (most, last) = id.split_at(48);
        format!("{most}{}", if last == "0" { "1" } else { "0" })
    });
    for session in [ended, Some("made-up".to_owned())] {
        let unknown = Client { gate: &gate, token: None, session };
        assert_eq!(unknown.ask(&unknown.request("tools/call", &echo)).0, 404);
    }
    // The newer era has no sessions, whatever a header says.
    let modern = here.request("server/discover", &json!({})).replace("2025-11-25", "2026-07-28");
    let unknown = Client { gate: &gate, token: None, session: Some("made-up".to_owned()) };
    assert_eq!(
        here.ask(&modern).0,
        unknown.ask(&modern.replace(here.session.as_deref().unwrap(), "made-up")).0
    );

    let gate = gated(&env, &["--no-auth", "--no-sessions"]);
    let client = Client::new(&gate, None);
    assert_eq!(client.session, None);
    assert_eq!(client.ask(&client.without_body("GET")).0, 405);
    assert!(client.ask(&client.request("tools/call", &echo)).1.contains("still served"));
}
