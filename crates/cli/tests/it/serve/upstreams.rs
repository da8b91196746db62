//! Servers behind the gateway that die, come late or hang.

use serde_json::{Value, json};

use super::{Gate, text};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;

const CHANGED: &str = "notifications/tools/list_changed";

/// A server that ends at once until the file is there.
pub(crate) fn absent_until(env: &TestEnv, file: &str, name: &'static str) {
    let script = format!("[ -e '{}' ] || exit 1; exec \"$0\" \"$@\"", env.path(file).display());
    FakeServer::new(name, &[]).in_a_shell(&script).write(env);
}

fn is_error(answer: &Value) -> bool {
    answer["result"]["isError"] == true
}

#[test]
fn an_upstream_that_is_killed_again_and_again_comes_back() {
    const TIMES: u64 = 9;
    let env = TestEnv::new();
    let journal = env.path("journal");
    FakeServer::new("up", &["--faulty", &format!("--journal={}", journal.display())]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    assert!(gate.names(1).contains(&"up__echo".to_owned()));
    for round in 0..TIMES {
        let id = 10 + 10 * round;
        let how = ["exit", "abort", "crash"][usize::try_from(round % 3).unwrap()];
        gate.call(id, "up__die", json!({ "how": how }));
        let died = gate.answer(id);
        assert!(is_error(&died) && text(&died).contains("outcome unknown"), "{died}");
        for one in 1..=3 {
            gate.call(id + one, "up__echo", json!({ "text": "back" }));
        }
        for one in 1..=3 {
            assert_eq!(text(&gate.answer(id + one)), "back", "after {} deaths", round + 1);
        }
    }
    let (ran, rest) = gate.hang_up();
    assert_eq!((ran.code, rest), (0, vec![]), "the tools are the same: {}", ran.stderr);
    let count = |words: &str| ran.stderr.lines().filter(|line| line.contains(words)).count() as u64;
    assert_eq!(count("warning: ensemble `up`: the connection was lost: "), TIMES, "{}", ran.stderr);
    assert_eq!(count("note: ensemble `up` is connected after "), TIMES, "{}", ran.stderr);
    let journal = std::fs::read_to_string(journal).unwrap();
    let heard = |method: &str| journal.lines().filter(|line| line.starts_with(method)).count() as u64;
    assert_eq!(heard("tools/call die"), TIMES, "a call is never sent again: {journal}");
    assert_eq!(heard("tools/call echo"), 3 * TIMES, "{journal}");
}

#[test]
fn an_upstream_that_is_absent_at_the_start_is_announced_when_it_comes() {
    let env = TestEnv::new();
    absent_until(&env, "here", "late");
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up", "--ensemble", "late"]);
    let names = gate.names(1);
    assert!(names.contains(&"up__echo".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("late__")), "{names:?}");
    gate.call(2, "late__echo", json!({ "text": "x" }));
    assert_eq!(gate.answer(2)["error"]["code"], -32602);
    env.write("here", "");
    gate.until(|message| message["method"] == CHANGED);
    assert!(gate.names(3).contains(&"late__echo".to_owned()));
    gate.call(4, "late__echo", json!({ "text": "here" }));
    assert_eq!(text(&gate.answer(4)), "here");
    let (ran, _) = gate.hang_up();
    let told: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("`late`")).collect();
    assert_eq!((ran.code, told.len()), (0, 2), "{}", ran.stderr);
    assert!(told[0].starts_with("warning: ensemble `late`: it could not be connected: "), "{told:?}");
    assert!(told[1].starts_with("note: ensemble `late` is connected after "), "{told:?}");
}

#[test]
fn a_call_fetches_an_upstream_that_was_never_there() {
    let env = TestEnv::new();
    absent_until(&env, "here", "late");
    let mut gate = Gate::begun(&env, &["--ensemble", "late"]);
    assert_eq!(gate.names(1), [""; 0]);
    env.write("here", "");
    gate.call(2, "late__echo", json!({ "text": "here" }));
    assert_eq!(text(&gate.answer(2)), "here");
    assert_eq!(gate.hang_up().0.code, 0);
}

/// The tools of the last run are there, although the server hangs now; so are those of the others.
#[test]
fn a_client_is_answered_while_an_upstream_hangs() {
    let env = TestEnv::new();
    let hangs = env.path("hangs");
    let script = format!("[ -e '{}' ] && exec sleep 600; exec \"$0\" \"$@\"", hangs.display());
    FakeServer::new("slow", &[]).in_a_shell(&script).connection("connect_timeout = 600").write(&env);
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let known = gate.names(1);
    assert!(known.contains(&"slow__echo".to_owned()), "{known:?}");
    assert_eq!(gate.hang_up().0.code, 0);
    env.write("hangs", "");
    let mut gate = Gate::begun(&env, &[]);
    assert_eq!(gate.names(1), known);
    gate.call(2, "slow__echo", json!({ "text": "x" }));
    gate.call(3, "up__echo", json!({ "text": "at once" }));
    assert_eq!(text(&gate.answer(3)), "at once");
    assert!(gate.others.iter().all(|message| message["id"] != 2), "the other call waits");
    let waited = gate.answer(2);
    assert!(
        is_error(&waited) && text(&waited).contains("not sent: the server was not connected"),
        "{waited}"
    );
    assert_eq!(gate.hang_up().0.code, 0);
}
