//! Readiness, metrics and announcements over HTTP while servers behind the gateway come and go.

use super::*;
use crate::fake_server::FakeServer;

#[test]
fn readiness_and_metrics_follow_the_servers_and_a_listener_hears_of_their_tools() {
    let env = TestEnv::new();
    let here = env.path("here");
    let script = format!("[ -e '{}' ] || exit 1; exec \"$0\" \"$@\"", here.display());
    FakeServer::new("late", &["--faulty"]).in_a_shell(&script).write(&env);
    let servers = env.path("servers").display().to_string();
    let gate = Gate::open(&env, &["-e", "late", "--ensembles", &servers]);
    assert_eq!(gate.ask(&get("/healthz")).0, 200, "it is alive");
    let (status, answer) = gate.ask(&get("/readyz"));
    assert_eq!(status, 503, "the one that was named is required: {answer}");
    assert!(answer.contains(r#""ready":false"#) && answer.contains(r#""ensemble":"late""#), "{answer}");
    assert!(gate.ask(&get("/metrics")).1.contains("converse_upstream_up{ensemble=\"late\"} 0\n"));
    let mut listener = listener(&gate);
    env.write("here", "");
    let mut line = String::new();
    while !line.contains("notifications/tools/list_changed") {
        line.clear();
        assert_ne!(listener.read_line(&mut line).unwrap(), 0, "it ended");
    }
    let (status, answer) = gate.ask(&get("/readyz"));
    assert!(status == 200 && answer.contains(r#""state":"connected""#), "{answer}");
    let (_, list) = gate.ask(&post("tools/list", &json!({}), None));
    assert!(list.contains("late__echo"), "{list}");
    gate.call("late__die", &json!({ "how": "exit" }), None);
    let (_, answer) = gate.call("late__echo", &json!({ "text": "back" }), None);
    assert!(answer.contains("back"), "{answer}");
    let (_, metrics) = gate.ask(&get("/metrics"));
    assert!(metrics.contains("converse_upstream_up{ensemble=\"late\"} 1\n"), "{metrics}");
    assert!(metrics.contains("converse_upstream_restarts_total{ensemble=\"late\"} 1\n"), "{metrics}");
    drop(listener);
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}

/// A client of the newer era that waits for changes.
pub(super) fn listener(gate: &Gate) -> BufReader<TcpStream> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": { "toolsListChanged": true }, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.contains("notifications/") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "it ended at once");
    }
    stream
}

/// Nothing but a look tells that an idle server over HTTP is gone.
#[test]
fn readiness_follows_a_server_over_http_without_calls() {
    let (inner_env, env) = (TestEnv::new(), TestEnv::new());
    let mut inner = Gate::open(&inner_env, &["-e", "essentials"]);
    let address = inner.address.clone();
    let connection = format!("[connection]\ntransport = \"http\"\nurl = \"http://{address}/mcp\"\n");
    let head = "[ensemble]\nname = \"outer\"\ndescription = \"d\"\n[defaults]\npermission = \"allow\"\n";
    env.write("servers/outer.toml", &format!("{head}{connection}"));
    let servers = env.path("servers").display().to_string();
    let gate = Gate::open(&env, &["-e", "outer", "--ensembles", &servers]);
    let is_ready = |gate: &Gate| gate.ask(&get("/readyz")).0 == 200;
    wait_until("the server is connected", || is_ready(&gate));
    inner.child.kill().unwrap();
    wait_until("the loss is noticed", || !is_ready(&gate));
    let again = ["serve", "--http", &address, "--no-auth", "-e", "essentials"];
    let _inner = Gate::begun(&mut inner_env.command(again));
    let (_, answer) = gate.call("outer__essentials__calculator", &sum(), None);
    assert!(answer.contains("42"), "{answer}");
    assert!(is_ready(&gate));
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0));
    assert!(said.contains("warning: ensemble `outer`: it could not be connected: "), "{said}");
    assert!(said.contains("note: ensemble `outer` is connected after "), "{said}");
}
