//! A configuration that changes while it is served.

mod trust;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::ChildStderr;

use converse_testkit::hang_guard::wait_until;
use serde_json::json;

use super::{Gate, text};
use crate::env::TestEnv;
use crate::env::canary::{Overheard, overhear};
use crate::fake_server::FakeServer;

const CHANGED: &str = "notifications/tools/list_changed";
const SETTINGS: &str = "home/.config/converse/config.toml";
const PROJECT: &str = "work/converse.toml";
const TAKEN_OVER: &str = "note: the configuration was read again: ";
const SOUND: &str = "note: the configuration is sound again";
const REFUSED: &str = "warning: the changed configuration is not used, and the one before stays: ";

struct Stderr(BufReader<Overheard<ChildStderr>>);

impl Stderr {
    fn of(gate: &mut Gate) -> Self {
        Self(BufReader::new(overhear(gate.child.stderr.take().unwrap())))
    }

    /// Waits for a line that begins so, and returns its rest.
    fn says(&mut self, beginning: &str) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "it ended: {said}");
            if let Some(rest) = line.trim_end().strip_prefix(beginning) {
                return rest.to_owned();
            }
            said.push_str(&line);
        }
    }
}

fn process_of(gate: &mut Gate, id: u64, tool: &str) -> String {
    gate.call(id, tool, json!({}));
    text(&gate.answer(id)).to_owned()
}

fn is_running(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

#[test]
fn connections_that_did_not_change_stay_and_running_calls_end_well() {
    let env = TestEnv::new();
    for name in ["same", "changing", "leaving"] {
        FakeServer::new(name, &[]).write(&env);
    }
    let mut gate = Gate::begun(&env, &[]);
    let before = gate.names(1);
    assert!(before.contains(&"leaving__echo".to_owned()), "{before:?}");
    let [same, changing, leaving] = [(2, "same__pid"), (3, "changing__pid"), (4, "leaving__pid")]
        .map(|(id, tool)| process_of(&mut gate, id, tool));
    assert!([&same, &changing, &leaving].iter().all(|process| is_running(process)));
    gate.call(10, "same__meet", json!({ "count": 2 }));
    gate.call(11, "changing__sleep", json!({ "ms": 4_000 }));
    gate.started(&env, 5);
    FakeServer::new("changing", &["--many=1"]).write(&env);
    FakeServer::new("coming", &[]).write(&env);
    std::fs::remove_file(env.path("servers/leaving.toml")).unwrap();
    gate.signal("-HUP");
    gate.until(|message| message["method"] == CHANGED);
    let mut id = 100;
    wait_until("all changes are served", || {
        id += 1;
        let names = gate.names(id);
        let has = |name: &str| names.iter().any(|one| one.starts_with(name));
        has("coming__echo") && !has("leaving__")
    });
    assert_eq!(process_of(&mut gate, 5, "same__pid"), same, "the same connection");
    assert_ne!(process_of(&mut gate, 6, "changing__pid"), changing);
    assert!(is_running(&process_of(&mut gate, 7, "coming__pid")));
    gate.call(8, "leaving__echo", json!({ "text": "x" }));
    assert_eq!(gate.answer(8)["error"]["code"], -32602);
    // Both meet in the process that was there before.
    gate.call(12, "same__meet", json!({ "count": 2 }));
    for id in [10, 11, 12] {
        let answer = gate.answer(id);
        assert!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
    }
    wait_until("what is not served any more has ended", || !is_running(&changing) && !is_running(&leaving));
    let (ran, _) = gate.hang_up();
    assert_eq!(ran.code, 0);
    let told: Vec<&str> = ran.stderr.lines().filter(|line| !line.starts_with(TAKEN_OVER)).collect();
    assert_eq!(told, [""; 0], "nothing was lost");
    assert!(ran.stderr.contains("`changing`") && !ran.stderr.contains("`same`"), "{}", ran.stderr);
}

#[test]
fn a_changed_descriptor_is_taken_over_without_a_signal() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let process = process_of(&mut gate, 1, "up__pid");
    FakeServer::new("coming", &[]).write(&env);
    let mut stderr = Stderr::of(&mut gate);
    assert_eq!(stderr.says(TAKEN_OVER), "added `coming`");
    gate.call(2, "coming__echo", json!({ "text": "here" }));
    assert_eq!(text(&gate.answer(2)), "here");
    assert_eq!(process_of(&mut gate, 3, "up__pid"), process);
    gate.signal("-HUP");
    stderr.says("note: the configuration has not changed");
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

#[test]
fn a_broken_configuration_is_refused_as_a_whole() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let process = process_of(&mut gate, 1, "up__pid");
    let mut stderr = Stderr::of(&mut gate);
    FakeServer::new("coming", &[]).write(&env);
    FakeServer::new("up", &["--many=1"]).and("[surprise]\nx = 1").write(&env);
    gate.signal("-HUP");
    let said = stderr.says(REFUSED);
    assert!(said.contains("up.toml:") && said.contains(": error[unknown-key]: "), "{said}");
    let place = said.split(": error").next().unwrap();
    assert_eq!(
        place.rsplit(':').take_while(|part| part.parse::<u32>().is_ok()).count(),
        2,
        "line and column"
    );
    let names = gate.names(2);
    assert!(!names.iter().any(|name| name.starts_with("coming__")), "{names:?}");
    assert_eq!(process_of(&mut gate, 3, "up__pid"), process);

    // Settings are a part of it.
    FakeServer::new("up", &["--many=1"]).write(&env);
    env.write(SETTINGS, "[permissions]\ndeny = 7\n");
    gate.signal("-HUP");
    let mut said = stderr.says(REFUSED);
    while !said.contains("config.toml:2:") {
        said = stderr.says(REFUSED);
    }
    assert_eq!(process_of(&mut gate, 4, "up__pid"), process);

    FakeServer::new("up", &[]).write(&env);
    std::fs::remove_file(env.path("servers/coming.toml")).unwrap();
    std::fs::remove_file(env.path(SETTINGS)).unwrap();
    stderr.says(SOUND);
    assert_eq!(process_of(&mut gate, 7, "up__pid"), process);
    FakeServer::new("coming", &[]).write(&env);
    FakeServer::new("up", &["--many=1"]).write(&env);

    env.write(SETTINGS, "[permissions]\ndeny = [\"up.echo\"]\n");
    gate.signal("-HUP");
    let said = stderr.says(TAKEN_OVER);
    assert_eq!(said, "added `coming`; changed `up`; the rules");
    assert_ne!(process_of(&mut gate, 5, "up__pid"), process);
    gate.call(6, "up__echo", json!({ "text": "x" }));
    let refused = gate.answer(6);
    assert!(text(&refused).contains("not allowed by the rule"), "{refused}");
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

#[test]
fn settings_that_are_lost_still_count() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let deny = |tool: &str| format!("[permissions]\ndeny = [\"up.{tool}\"]\n");
    let (user, project) = (deny("echo"), deny("fail"));
    env.write(SETTINGS, &user);
    env.write(PROJECT, &project);
    let mut gate = Gate::begun(&env, &[]);
    let mut stderr = Stderr::of(&mut gate);
    let mut id = 0;
    let mut is_refused = |gate: &mut Gate, tool: &str| {
        id += 1;
        gate.call(id, tool, json!({ "text": "x" }));
        text(&gate.answer(id)).contains("not allowed by the rule")
    };
    let mut lost = |gate: &mut Gate, stderr: &mut Stderr, file: &str| {
        let said = stderr.says(REFUSED);
        assert!(said.contains(&format!("{file} is missing or empty, and its rules")), "{said}");
        assert!(is_refused(gate, "up__echo") && is_refused(gate, "up__fail"));
    };
    std::fs::remove_file(env.path(SETTINGS)).unwrap();
    lost(&mut gate, &mut stderr, "config.toml");
    gate.signal("-HUP");
    lost(&mut gate, &mut stderr, "config.toml");
    env.write(SETTINGS, &user);
    stderr.says(SOUND);
    env.write(PROJECT, "\n");
    lost(&mut gate, &mut stderr, "converse.toml");
    // Nor does the rest of the change count.
    env.write(SETTINGS, "# Nothing is denied any more.\n");
    lost(&mut gate, &mut stderr, "converse.toml");
    env.write(PROJECT, "# Nothing is denied any more.\n");
    assert_eq!(stderr.says(TAKEN_OVER), "the rules");
    assert!(!is_refused(&mut gate, "up__echo"));
    std::fs::remove_file(env.path(SETTINGS)).unwrap();
    gate.signal("-HUP");
    stderr.says("note: the configuration has not changed");
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

#[test]
fn the_rules_of_a_view_follow_those_of_the_settings() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let view = "[[views]]\nname = \"words\"\ntools = [\"up.*\"]\npermissions = { deny = [\"up.fail\"] }\n";
    env.write(SETTINGS, view);
    let mut gate = Gate::begun(&env, &["--view", "words"]);
    gate.call(1, "up__echo", json!({ "text": "x" }));
    assert_eq!(text(&gate.answer(1)), "x");
    let mut stderr = Stderr::of(&mut gate);
    env.write(SETTINGS, &format!("{view}\n[permissions]\ndeny = [\"up.echo\"]\n"));
    gate.signal("-HUP");
    assert_eq!(stderr.says(TAKEN_OVER), "the rules");
    for (id, tool) in [(2, "up__echo"), (3, "up__fail")] {
        gate.call(id, tool, json!({ "text": "x" }));
        let refused = gate.answer(id);
        assert!(text(&refused).contains("not allowed by the rule"), "{refused}");
    }
    env.write(SETTINGS, view);
    gate.signal("-HUP");
    assert_eq!(stderr.says(TAKEN_OVER), "the rules");
    gate.call(4, "up__echo", json!({ "text": "again" }));
    assert_eq!(text(&gate.answer(4)), "again");
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

/// The number of processes that it has started and that run.
fn children(gate: &Gate) -> usize {
    let parent = gate.child.id().to_string();
    let is_child = |stat: &String| {
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        rest.split(' ').nth(1) == Some(&parent)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter(is_child).count()
}

#[test]
fn reloads_leave_no_process_behind() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let mut process = process_of(&mut gate, 1, "up__pid");
    let before = children(&gate);
    let mut stderr = Stderr::of(&mut gate);
    for (id, flags) in [(2, &["--many=1"][..]), (3, &[]), (4, &["--many=1"])] {
        FakeServer::new("up", flags).write(&env);
        gate.signal("-HUP");
        assert_eq!(stderr.says(TAKEN_OVER), "changed `up`");
        let now = process_of(&mut gate, id, "up__pid");
        assert_ne!(now, process);
        process = now;
        wait_until("the old server has ended", || children(&gate) == before);
    }
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

#[test]
fn limits_and_views_are_taken_over_and_the_rest_is_named() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let view = |tool: &str| format!("[[views]]\nname = \"words\"\ntools = [\"{tool}\"]\n");
    env.write(SETTINGS, &view("up.echo"));
    let mut gate = Gate::begun(&env, &["--view", "words"]);
    assert_eq!(gate.names(1), ["up__echo"]);
    let mut stderr = Stderr::of(&mut gate);
    env.write(
        SETTINGS,
        &format!("[audit]\nenabled = false\n{}\n[serve]\ncalls_per_minute = 1\n", view("up.pid")),
    );
    gate.signal("-HUP");
    stderr.says("warning: `[audit]` and `[sandbox]` of the settings count from the next start");
    assert_eq!(stderr.says(TAKEN_OVER), "the views; the limits");
    assert_eq!(gate.names(2), ["up__pid"]);
    gate.until(|message| message["method"] == CHANGED);
    process_of(&mut gate, 3, "up__pid");
    gate.call(4, "up__pid", json!({}));
    assert_eq!(gate.answer(4)["error"]["code"], -32051);
    env.write(SETTINGS, "[audit]\nenabled = false\n");
    gate.signal("-HUP");
    assert_eq!(stderr.says(TAKEN_OVER), "the views; the limits");
    assert_eq!(gate.names(5), [""; 0], "the view is gone");
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}
