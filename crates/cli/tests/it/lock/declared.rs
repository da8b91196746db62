//! What a descriptor says beside its tools: a change of it fails the gate of CI, and holds nothing back.

use serde_json::json;

use super::{Locked, definition, steady};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;

/// The same server with something else said of it.
type Saying = fn(FakeServer) -> FakeServer;

#[test]
fn what_may_be_done_with_a_server_is_locked_and_holds_nothing_back() {
    let sayings: [(&str, Saying, &str); 5] = [
        (
            "a permission",
            |server| server.and("[tools.steady]\npermission = \"deny\""),
            "tools added: {\"steady\":{\"effects\":\"external\",\"permission\":\"deny\",\"sandbox\":\"off\"}}",
        ),
        ("a limit", |server| server.policy("max_invocations = 3"), "defaults.max_invocations added: 3"),
        (
            "a variable",
            |server| server.connection("environment = { TOKEN = \"env:HOME\" }"),
            "connection.environment added: {\"TOKEN\":\"env:HOME\"}",
        ),
        ("a prefix", |server| server.ensemble("prefix = \"srv\""), "prefix added: \"srv\""),
        (
            "a command",
            |server| server.in_a_shell("exec \"$0\" \"$@\""),
            "connection.command: from entry 1: [] → [\"/bin/sh\",\"-c\",",
        ),
    ];
    for (what, say, line) in sayings {
        let locked = Locked::first(&json!([steady()]));
        let before = locked.text();
        say(FakeServer::new("srv", &[&format!("--tool-file={}", locked.tools.display())])).write(&locked.env);
        let findings = locked.findings();
        assert_eq!(findings.len(), 1, "{what}: {findings:?}");
        let (code, message) = &findings[0];
        assert_eq!(code, "lock-drift", "{what}");
        assert!(message.starts_with(&format!("the descriptor of `srv`: {line}")), "{what}: {message}");
        assert_eq!(locked.quarantined(), json!([]), "{what}");
        let shown = locked.lock(&[]).exits(3);
        assert!(shown.stdout.contains(&format!("~ the descriptor of srv\n      {line}")), "{}", shown.stdout);
        assert_eq!(locked.text(), before, "{what}");
        locked.lock(&["--accept"]).exits(0);
        assert_eq!(locked.findings(), [], "{what}");
    }
}

#[test]
fn permissions_and_configuration_of_declared_tools_are_locked() {
    let env = TestEnv::hasty();
    let path = "home/.config/converse/ensembles/own.toml";
    let descriptor = |ensemble: &str, invoker: &str| {
        format!(
            "[ensemble]\nname = \"own\"\ndescription = \"Ours\"\n{ensemble}\n[[invokers]]\nname = \"say\"\n\
             description = \"Says\"\neffects = \"read\"\n{invoker}\n[invokers.arguments]\ntype = \"object\"\n\
             [invokers.command]\nargv = [\"echo\", \"a\"]\n"
        )
    };
    env.write(path, &descriptor("", "permission = \"allow\""));
    env.run(&["ensembles", "lock"]).exits(0);
    env.run(&["ensembles", "check", "--locked"]).exits(0);
    env.write(path, &descriptor("[configuration]\nroot = \"/\"", "permission = \"allow\"\ncost = 0.5"));
    let check = env.run(&["ensembles", "check", "--locked"]).exits(3);
    for line in [
        "the descriptor of `own`: configuration added: {\"root\":\"/\"}",
        "the descriptor of `own`: tools.say.cost added: 500000",
    ] {
        assert!(check.stdout.contains(line), "{line}: {}", check.stdout);
    }
    assert_eq!(env.run(&["ensembles", "call", "own.say"]).exits(0).stdout, "a\n");
}

#[test]
fn one_that_is_switched_off_is_compared_all_the_same() {
    let locked = Locked::first(&json!([steady()]));
    FakeServer::new("srv", &[&format!("--tool-file={}", locked.tools.display())])
        .ensemble("enabled = false")
        .write(&locked.env);
    assert_eq!(locked.findings(), []);
    locked.serve(&json!([steady(), definition()]));
    assert!(locked.findings()[0].1.starts_with("`srv.search` is not in"), "{:?}", locked.findings());
}
