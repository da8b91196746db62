//! A configuration that changes while it is served over HTTP.

use rustix::process::{Pid, Signal, kill_process};

use super::upstreams::listener;
use super::*;
use crate::fake_server::FakeServer;

fn hang_up(gate: &Gate) {
    kill_process(Pid::from_child(&gate.child), Signal::HUP).unwrap();
}

#[test]
fn calls_listeners_and_figures_live_through_a_reload() {
    let env = TestEnv::new();
    FakeServer::new("same", &[]).write(&env);
    FakeServer::new("changing", &[]).write(&env);
    let servers = env.path("servers").display().to_string();
    let mut gate = Gate::open(&env, &["--ensembles", &servers]);
    let list = |gate: &Gate| gate.ask(&post("tools/list", &json!({}), None)).1;
    assert!(list(&gate).contains("changing__echo"));
    let process = |gate: &Gate, tool: &str| {
        let (_, answer) = gate.call(tool, &json!({}), None);
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (same, changing) = (process(&gate, "same__pid"), process(&gate, "changing__pid"));
    let mut listener = listener(&gate);
    let running = |tool: &str, arguments: Value| {
        let mut stream = TcpStream::connect(&gate.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(call(tool, &arguments, None).as_bytes()).unwrap();
        stream
    };
    let calls =
        [running("same__meet", json!({ "count": 2 })), running("changing__sleep", json!({ "ms": 4_000 }))];
    wait_until("they run", || gate.ask(&get("/metrics")).1.contains("\nconverse_calls_running 2\n"));
    FakeServer::new("changing", &["--many=1"]).write(&env);
    FakeServer::new("coming", &[]).write(&env);
    hang_up(&gate);
    let mut line = String::new();
    while !line.contains("notifications/tools/list_changed") {
        line.clear();
        assert_ne!(listener.read_line(&mut line).unwrap(), 0, "it ended");
    }
    wait_until("it is served", || list(&gate).contains("coming__echo"));
    assert_eq!(process(&gate, "same__pid"), same);
    assert_ne!(process(&gate, "changing__pid"), changing);
    gate.call("same__meet", &json!({ "count": 2 }), None);
    for mut stream in calls {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("\"isError\":true"), "{answer}");
    }
    let (_, metrics) = gate.ask(&get("/metrics"));
    assert!(metrics.contains("converse_reloads_total{outcome=\"applied\"}"), "{metrics}");
    assert!(metrics.contains("converse_upstream_up{ensemble=\"coming\"} 1\n"), "{metrics}");
    assert!(!metrics.contains("outcome=\"refused\"}"), "{metrics}");

    env.write("servers/coming.toml", "[ensemble]\nname = 7\n");
    hang_up(&gate);
    while !gate.says().contains("coming.toml:2:8: error[") {}
    let (_, metrics) = gate.ask(&get("/metrics"));
    assert!(metrics.contains("converse_reloads_total{outcome=\"refused\"}"), "{metrics}");
    let (status, answer) = gate.ask(&get("/readyz"));
    assert!(status == 200 && answer.contains(r#""ensemble":"coming""#), "{answer}");
    assert!(list(&gate).contains("coming__echo"));
    drop(listener);
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}
