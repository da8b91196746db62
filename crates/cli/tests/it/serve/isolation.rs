//! What one tool takes of `serve`, and what is left for others.

use super::*;

#[test]
fn a_tool_that_hangs_fills_its_share_and_others_are_answered() {
    const HANGING: u64 = 60;
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    FakeServer::new("two", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--max-calls", "16", "--drain", "0.2"]);
    for id in 1..=HANGING {
        gate.call(id, "up__sleep", json!({ "ms": 600_000 }));
    }
    gate.started(&env, 11);
    // Of the same server, of another one, and of none.
    for (id, tool) in [(100, "up__echo"), (101, "two__echo"), (102, "two__echo")] {
        gate.call(id, tool, json!({ "text": tool }));
        assert_eq!(text(&gate.answer(id)), tool);
    }
    gate.call(103, "essentials__calculator", json!({ "expression": "6*7" }));
    assert!(text(&gate.answer(103)).contains("42"));
    let started = audit(&env).iter().filter(|line| line["kind"] == "started").count();
    assert_eq!(started, 11 + 4, "two thirds of the places for the tool that hangs, and no more");
    let (ran, rest) = gate.hang_up();
    assert_eq!((ran.code, rest.len() as u64), (0, HANGING), "{}", ran.stderr);
}

#[test]
fn more_calls_than_places_are_read_and_others_are_answered() {
    const HANGING: u64 = 1_500;
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--max-calls", "4", "--drain", "0.2"]);
    for id in 1..=HANGING {
        gate.call(id, "up__sleep", json!({ "ms": 600_000 }));
    }
    gate.call(9_000, "up__echo", json!({ "text": "read" }));
    assert_eq!(text(&gate.answer(9_000)), "read");
    assert_eq!(gate.hang_up().0.code, 0);
}
