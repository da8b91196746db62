//! `converse serve --http`: who is let in, and how it ends. The front itself is tested in its crate.

mod api;
mod disconnect;
mod idempotency;
mod openai;
mod reload;
mod responses;
mod sessions;
mod tasks;
mod team;
mod tokens;
mod upstreams;
mod views;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_testkit::hang_guard::{LIMIT, wait_until};
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::env::canary::{Overheard, overhear};
use crate::http::{Answer, Request, serve};

const TOKEN: &str = "canary-0123456789abcdef";
const OTHER: &str = "other-canary-0123456789";

/// A process that ends with its test.
struct Server(Child);

impl Deref for Server {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway that listens.
struct Gate {
    child: Server,
    stderr: BufReader<Overheard<ChildStderr>>,
    address: String,
}

impl Gate {
    fn open(env: &TestEnv, flags: &[&str]) -> Self {
        Self::begun(&mut env.command([&["serve", "--http", "127.0.0.1:0", "--no-auth"], flags].concat()))
    }

    /// With so many open files at most.
    fn narrow(env: &TestEnv, files: u32, flags: &[&str]) -> Self {
        let wide = env.command([&["serve", "--http", "127.0.0.1:0", "--no-auth"], flags].concat());
        let mut narrow = Command::new("sh");
        narrow.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""));
        narrow.arg(wide.get_program()).args(wide.get_args()).env_clear();
        narrow.envs(wide.get_envs().filter_map(|(name, value)| Some((name, value?))));
        narrow.current_dir(wide.get_current_dir().unwrap());
        narrow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::begun(&mut narrow)
    }

    fn begun(command: &mut Command) -> Self {
        let mut child = Server(command.spawn().unwrap());
        let mut stderr = BufReader::new(overhear(child.stderr.take().unwrap()));
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended: {said}");
            if let Some(rest) = line.trim_end().strip_prefix("serving MCP at http://") {
                break rest.trim_end_matches("/mcp").to_owned();
            }
            said.push_str(&line);
        };
        Self { child, stderr, address }
    }

    fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
        (status, answer)
    }

    fn call(&self, tool: &str, arguments: &Value, token: Option<&str>) -> (u16, String) {
        self.ask(&call(tool, arguments, token))
    }

    fn says(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    fn signal(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Its exit code, and what it said on stderr since it listened.
    fn ended(self) -> (Option<i32>, String) {
        let Self { mut child, mut stderr, .. } = self;
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            sender.send(text)
        });
        let said = said.recv_timeout(LIMIT).unwrap_or_else(|_| {
            child.kill().unwrap();
            panic!("it goes on")
        });
        (child.wait().unwrap().code(), said)
    }
}

fn call(tool: &str, arguments: &Value, token: Option<&str>) -> String {
    post("tools/call", &json!({ "name": tool, "arguments": arguments }), token)
}

fn post(method: &str, params: &Value, token: Option<&str>) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n{token}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
}

/// A file that only its owner can read.
fn token_file(env: &TestEnv, text: &str) -> String {
    let path = env.write("work/tokens", text);
    set_mode(&path, 0o600);
    path.display().to_string()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn log(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("home/.local/state/converse/audit.jsonl")).unwrap()
}

fn sum() -> Value {
    json!({ "expression": "6*7" })
}

#[test]
fn nobody_is_served_by_mistake() {
    let env = TestEnv::new();
    let open = env.write("work/open", TOKEN).display().to_string();
    set_mode(Path::new(&open), 0o640);
    let short = token_file(&env, "short\n");
    let here = &["serve", "--http", "127.0.0.1:0"][..];
    for (args, said) in [
        (vec!["serve", "--http", "0.0.0.0:0"], "error[no-access-control]"),
        (vec!["serve", "--http", "[::]:0"], "error[no-access-control]"),
        ([here, &["--token-file", &open]].concat(), "chmod 600"),
        ([here, &["--token-file", &short]].concat(), "line 1"),
        ([here, &["--token-file", "nowhere"]].concat(), "error[bad-token-file]"),
        (
            [here, &["--oauth-issuer", "http://as.example", "--oauth-resource", "https://b/mcp"]].concat(),
            "bad-issuer",
        ),
        ([here, &["--oauth-issuer", "https://as.example"]].concat(), "--oauth-resource"),
        ([here, &["--allowed-origin", "*"]].concat(), "error[bad-origin]"),
        (vec!["serve", "--token-file", &short], "--http"),
    ] {
        let ran = env.run(&args).exits(2);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    let weak = TestEnv::new().var("CONVERSE_SERVE_TOKEN", "weak").run(here).exits(2);
    assert!(weak.stderr.contains("CONVERSE_SERVE_TOKEN") && !weak.stderr.contains("weak"), "{}", weak.stderr);
    // Nor is a file blamed for it that is as it should be.
    let both = TestEnv::new().var("CONVERSE_SERVE_TOKEN", "weak");
    let sound = token_file(&both, &format!("{TOKEN}\n"));
    let weak = both.run(&[here, &["--token-file", &sound]].concat()).exits(2);
    assert!(weak.stderr.contains("error[bad-token]: CONVERSE_SERVE_TOKEN: "), "{}", weak.stderr);
}

#[test]
fn what_nobody_can_be_told_is_not_promised() {
    let env = TestEnv::new();
    let gate = Gate::open(&env, &["-e", "essentials", "--no-sessions"]);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    let (status, answer) = gate.ask(&post("initialize", &hello, None));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains(r#""tools":{}"#) && !answer.contains("listChanged"), "{answer}");
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}

#[test]
fn connections_leave_files_to_a_call() {
    let env = TestEnv::new();
    let gate = Gate::narrow(&env, 256, &["-v", "-e", "essentials"]);
    let silent: Vec<_> = (0..400).map(|_| TcpStream::connect(&gate.address).unwrap()).collect();
    let (status, answer) = gate.call("essentials__calculator", &sum(), None);
    assert!(status == 200 && answer.contains("42"), "{answer}");
    assert!(log(&env).contains("\"client\":\"at 127.0.0.1\""), "{}", log(&env));
    drop(silent);
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("could not be accepted"), "it ran out of files: {said}");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn calls_are_refused_while_the_log_cannot_be_written_and_answered_when_it_can() {
    let env = TestEnv::new();
    let gate = Gate::open(&env, &["-e", "essentials"]);
    let answers = || gate.call("essentials__calculator", &sum(), None).1.contains("42");
    assert!(answers());
    let whole = log(&env);
    let (state, moved) = (env.path("home/.local/state/converse"), env.path("home/moved"));
    std::fs::rename(&state, &moved).unwrap();
    std::fs::write(&state, "not a directory").unwrap();
    for _ in 0..3 {
        let (status, answer) = gate.call("essentials__calculator", &sum(), None);
        assert!(status == 200 && answer.contains("-32603") && answer.contains("audit log"), "{answer}");
    }
    let metrics = || gate.ask(&get("/metrics")).1;
    assert!(metrics().contains("\nconverse_audit_writable 0\n"), "{}", metrics());
    assert_eq!([get("/healthz"), get("/readyz")].map(|request| gate.ask(&request).0), [200, 503]);
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(&moved, &state).unwrap();
    assert_eq!(log(&env), whole);
    // Nobody calls.
    wait_until("the log is written again", || metrics().contains("\nconverse_audit_writable 1\n"));
    assert_eq!(gate.ask(&get("/readyz")).0, 200);
    assert!(metrics().contains("\nconverse_audit_failures_total 1\n"), "{}", metrics());
    assert!(answers());
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let counts = ["calls are refused until", "can be written again"].map(|part| said.matches(part).count());
    assert_eq!(counts, [1, 1], "{said}");
    let log = log(&env);
    assert!(log.starts_with(&whole) && log.matches("\"kind\":\"resumed\"").count() == 1, "{log}");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn each_principal_has_a_budget_and_is_told_when_to_try_again() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", "[serve]\ncalls_per_minute = 2\nbytes_per_day = 1000\n");
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let flags = ["-e", "essentials", "--token-file", &file];
    let mut command = env.command([&["serve", "--http", "127.0.0.1:0"], &flags[..]].concat());
    let gate = Gate::begun(&mut command);
    let answer = |token| {
        let answer = gate.call("essentials__calculator", &sum(), Some(token)).1;
        serde_json::from_str::<Value>(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    for _ in 0..2 {
        assert!(answer(TOKEN).to_string().contains("42"));
    }
    let refused = answer(TOKEN);
    let error = &refused["error"];
    assert_eq!((&error["code"], &error["data"]["limit"]), (&json!(-32051), &json!("calls_per_minute")));
    assert!((1..=30).contains(&error["data"]["retry_after"].as_u64().unwrap()), "{refused}");
    assert!(error["message"].as_str().unwrap().contains("nothing was run; try again in "), "{refused}");
    // The other one has a budget of its own, for bytes too.
    let long = json!({ "expression": format!("1{}", "+1".repeat(600)) });
    assert_eq!(gate.call("essentials__calculator", &long, Some(OTHER)).0, 200);
    assert_eq!(answer(OTHER)["error"]["data"]["limit"], "bytes_per_day");
    let metrics = gate
        .ask(&get("/metrics").replace("\r\n\r\n", &format!("\r\nauthorization: Bearer {TOKEN}\r\n\r\n")))
        .1;
    for limit in ["calls_per_minute", "bytes_per_day"] {
        let line = format!("\nconverse_calls_not_accepted_total{{limit=\"{limit}\"}} 1\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
    assert_eq!(log(&env).matches("\"kind\":\"finished\"").count(), 3, "{}", log(&env));
}

/// A server whose calls are answered when they are let go.
fn slow_server(env: &TestEnv) -> (Receiver<()>, Sender<()>) {
    let ((began, has_begun), (go, may_go)) = (channel(), channel::<()>());
    let (began, may_go) = (Mutex::new(began), Mutex::new(may_go));
    let port = serve(move |request: Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let result = match body["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "slow", "version": "1" }, "ttlMs": 0, "cacheScope": "private" }),
            Some("tools/list") => {
                json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [
                { "name": "slow", "description": "Takes its time", "inputSchema": { "type": "object" } }] })
            }
            Some("tools/call") => {
                began.lock().unwrap().send(()).unwrap();
                may_go.lock().unwrap().recv().unwrap();
                json!({ "resultType": "complete", "content": [{ "type": "text", "text": "at last" }] })
            }
            _ => return Answer::new(404, "text/plain", ""),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }).to_string();
        Answer::new(200, "application/json", answer)
    });
    let connection = format!("[connection]\ntransport = \"http\"\nurl = \"http://127.0.0.1:{port}/mcp\"\n");
    let head = "[ensemble]\nname = \"upstream\"\ndescription = \"Slow\"\n\n";
    env.write("servers/upstream.toml", &format!("{head}{connection}"));
    (has_begun, go)
}

#[test]
fn a_call_that_runs_is_answered_before_it_ends() {
    let env = TestEnv::new();
    let (has_begun, go) = slow_server(&env);
    let servers = env.path("servers").display().to_string();
    let gate = Gate::open(&env, &["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"]);
    let request = call("upstream__slow", &json!({}), None);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| gate.ask(&request));
        has_begun.recv_timeout(LIMIT).unwrap();
        let metrics = gate.ask(&get("/metrics")).1;
        assert!(metrics.contains("\nconverse_calls_running 1\n"), "{metrics}");
        gate.signal();
        // It is told to end when nobody is let in any more.
        let address = gate.address.parse().unwrap();
        let lets_in = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok();
        wait_until("nobody is let in", || !lets_in());
        go.send(()).unwrap();
        let (status, answer) = running.join().unwrap();
        assert!(status == 200 && answer.contains("at last"), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("connection: close"), "{answer}");
    });
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_takes_longer_than_the_drain_is_cut_off() {
    let env = TestEnv::new();
    let (has_begun, _go) = slow_server(&env);
    let servers = env.path("servers").display().to_string();
    let flags = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*", "--drain", "0.5"];
    let gate = Gate::open(&env, &flags);
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.write_all(call("upstream__slow", &json!({}), None).as_bytes()).unwrap();
    has_begun.recv_timeout(LIMIT).unwrap();
    gate.signal();
    let (code, said) = gate.ended();
    // One that cannot end in good order ends by the signal's number.
    assert_eq!(code, Some(0), "{said}");
    let log = log(&env);
    assert!(log.contains("\"cancelled\"") || log.contains("\"interrupted\""), "{log}");
}

/// The issuer is asked for what it says of itself, then for its keys; a token that none of them signed stays out.
#[test]
fn an_issuer_is_asked_for_its_keys() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, port) = (Arc::clone(&asked), Arc::new(Mutex::new(0)));
    let own = Arc::clone(&port);
    *port.lock().unwrap() = serve(move |request: Request| {
        seen.lock().unwrap().push(request.path.clone());
        let base = format!("http://127.0.0.1:{}", own.lock().unwrap());
        let body = match request.path.as_str() {
            "/.well-known/openid-configuration" => {
                json!({ "issuer": base, "jwks_uri": format!("{base}/keys") })
            }
            "/keys" => json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "one",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] }),
            _ => return Answer::new(404, "text/plain", ""),
        };
        Answer::new(200, "application/json", body.to_string())
    });
    let issuer = format!("http://127.0.0.1:{}", port.lock().unwrap());
    let env = TestEnv::new();
    let resource = "https://gw.example/mcp";
    let flags = [
        "-e",
        "essentials",
        "--oauth-issuer",
        &issuer,
        "--oauth-resource",
        resource,
        "--oauth-scope",
        "call",
    ];
    let gate = Gate::open(&env, &flags);
    let (status, answer) = gate.call("essentials__calculator", &sum(), None);
    assert_eq!(status, 401, "{answer}");
    let metadata = "resource_metadata=\"https://gw.example/.well-known/oauth-protected-resource/mcp\"";
    assert!(answer.contains(metadata) && answer.contains("scope=\"call\""), "{answer}");
    let (status, answer) = gate.ask(&get("/.well-known/oauth-protected-resource/mcp"));
    assert!(status == 200 && answer.contains(&issuer) && answer.contains(resource), "{answer}");
    assert!(asked.lock().unwrap().is_empty(), "asked for keys without a need");
    // {"alg":"EdDSA","kid":"one"}, and claims that are right but for the signature.
    let claims = json!({ "iss": issuer, "aud": resource, "exp": 4_102_444_800_u64, "scope": "call" });
    let token =
        format!("eyJhbGciOiJFZERTQSIsImtpZCI6Im9uZSJ9.{}.{}", base64(&claims.to_string()), "A".repeat(86));
    for _ in 0..2 {
        let (status, answer) = gate.call("essentials__calculator", &sum(), Some(&token));
        assert!(status == 401 && answer.contains("invalid_token"), "{answer}");
    }
    let expected = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/keys"];
    assert_eq!(*asked.lock().unwrap(), expected);
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for index in 0..=three.len() {
            encoded.push(char::from(LETTERS[(bits >> (18 - 6 * index)) as usize & 63]));
        }
    }
    encoded
}
