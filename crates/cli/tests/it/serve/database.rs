//! The audit log of `serve` in a database.

use converse_testkit::postgres::PostgresServer;

use super::*;
use crate::audit_store::{kinds, records};

#[test]
fn a_call_runs_when_its_lines_are_in_the_database_and_not_without_it() {
    let server = PostgresServer::start().unwrap_or_else(|error| panic!("{error}"));
    let url = server.database().unwrap();
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up", "--drain", "0.2", "--store", &url]);
    gate.call(1, "up__sleep", json!({ "ms": 60_000 }));
    // The tool runs.
    wait_until("a call is started", || kinds(&server) == ["decided", "started"]);
    for id in 2..=40 {
        gate.call(id, "up__echo", json!({ "text": "many" }));
    }
    (2..=40).for_each(|id| assert_eq!(text(&gate.answer(id)), "many"));
    assert!(
        records(&server).iter().all(|record| record["client"] == "\"tester 9\""),
        "{:?}",
        records(&server)
    );
    assert_eq!(kinds(&server).len(), 2 + 39 * 3);

    server.crash().unwrap();
    gate.call(41, "up__echo", json!({ "text": "refused" }));
    assert_eq!(gate.answer(41)["error"]["code"], -32603);
    server.resume().unwrap();
    wait_until("the log is resumed", || kinds(&server).last().is_some_and(|kind| kind == "resumed"));
    gate.call(42, "up__echo", json!({ "text": "after" }));
    assert_eq!(text(&gate.answer(42)), "after");
    let (ran, _) = gate.hang_up();
    let reports =
        ["calls are refused until the audit log can be written", "the audit log can be written again"];
    assert!(reports.iter().all(|report| ran.stderr.matches(report).count() == 1), "{}", ran.stderr);
    // The call that ran all the time was ended with the server, and the one that was refused has no lines.
    let lines = |tool: &str| records(&server).iter().filter(|record| record["tool"] == tool).count();
    assert_eq!((ran.code, lines("up__sleep"), lines("up__echo")), (0, 3, 40 * 3), "{}", ran.stderr);
    env.run(&["audit", "verify", "--store", &url]).exits(0);
    assert!(!env.path(LOG).exists());
}
