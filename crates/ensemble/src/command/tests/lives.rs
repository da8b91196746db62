//! Real programs under the pipeline: what they say, how they end, and that nothing of them is left.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{InvocationResult, Outcome};
use converse_config::{
    ArgvPart, CommandPlan, EnsemblePlan, InvokerKind, Policy, SandboxAccess, SandboxLevel, Scope, SecretRef,
};
use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::testing::{self, Scripted, TempDir, call_heard, connect, plan, surroundings, template, text};
use crate::{Host, Roster, ToolProgress};

fn command(argv: &[&str]) -> CommandPlan {
    let argv = argv.iter().map(|text| ArgvPart::One(template(text))).collect();
    CommandPlan {
        argv,
        environment: Vec::new(),
        cwd: None,
        stdin: None,
        sandbox_access: SandboxAccess::default(),
    }
}

fn script(script: &str) -> CommandPlan {
    command(&["/bin/sh", "-c", script, "sh", "{x}"])
}

/// A test that waits for this hangs.
fn patient() -> Policy {
    Policy { timeout: Duration::from_secs(3600), result_limit: 64 << 20, ..Policy::default() }
}

async fn roster(command: CommandPlan, policy: Policy, directory: &Path) -> Roster {
    let plan = plan(InvokerKind::Command(command.into()), policy, Scope::Explicit);
    let (roster, failures) = connect(&plan, surroundings(directory, Arc::new(Scripted::default()))).await;
    assert!(failures.is_empty(), "{failures:?}");
    roster
}

async fn call(roster: &Roster, arguments: Value, cancel: &CancellationToken) -> InvocationResult {
    ends("a call", testing::call(roster, arguments, cancel)).await
}

async fn result(command: CommandPlan, arguments: Value) -> InvocationResult {
    let directory = TempDir::new();
    let roster = roster(command, patient(), directory.path()).await;
    call(&roster, arguments, &CancellationToken::new()).await
}

#[tokio::test]
async fn the_schema_says_what_is_a_number() {
    let directory = TempDir::new();
    for (schema, outcome) in [
        (json!({ "type": "object", "properties": { "x": { "type": "integer" } } }), Outcome::Success),
        (json!({ "type": "object" }), Outcome::Invalid),
    ] {
        let kind = InvokerKind::Command(command(&["/bin/echo", "{x}"]).into());
        let mut plan = plan(kind, patient(), Scope::Explicit);
        plan.invokers[0].arguments = Some(schema.into());
        let surroundings = surroundings(directory.path(), Arc::new(Scripted::default()));
        let (roster, _) = connect(&plan, surroundings).await;
        let result = call(&roster, json!({ "x": -5 }), &CancellationToken::new()).await;
        assert_eq!(result.outcome, outcome, "{}", text(&result));
    }
}

#[tokio::test]
async fn what_it_says_and_how_it_ends() {
    for (body, arguments, outcome, told) in [
        ("echo hello; echo aside >&2", json!({}), Outcome::Success, "hello"),
        ("printf %s \"$1\"", json!({ "x": "a  b; $(id) `id` *" }), Outcome::Success, "a  b; $(id) `id` *"),
        ("true", json!({}), Outcome::Success, "(no output)"),
        ("echo aside >&2", json!({}), Outcome::Success, "(no output)\nstderr:\naside"),
        (
            "echo half; echo why >&2; exit 3",
            json!({}),
            Outcome::Failed,
            "exit status 3\nstderr:\nwhy\nstdout:\nhalf",
        ),
        ("kill -SEGV $$", json!({}), Outcome::Failed, "killed by signal 11 (SIGSEGV)"),
        ("kill -KILL $$", json!({}), Outcome::Failed, "killed by signal 9 (SIGKILL)"),
        // Nothing is there to be read.
        ("cat", json!({}), Outcome::Success, "(no output)"),
        ("exec >&-; echo late >&2; exit 4", json!({}), Outcome::Failed, "exit status 4\nstderr:\nlate"),
    ] {
        let result = result(script(body), arguments).await;
        assert_eq!((result.outcome, text(&result)), (outcome, told), "{body}");
    }
}

#[tokio::test]
async fn its_environment_is_the_declared_one_and_nothing_else() {
    let literal = |text: &str| SecretRef::Literal(text.to_owned());
    let environment = vec![
        ("TOKEN".to_owned(), SecretRef::Environment("KEY".to_owned())),
        ("SHARED".to_owned(), literal("for this one")),
    ];
    let result = result(CommandPlan { environment, ..command(&["env"]) }, json!({})).await;
    let mut lines: Vec<&str> = text(&result).lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["PATH=/usr/bin:/bin", "SHARED=for this one", "TOKEN=s3cret"]);
}

#[tokio::test]
async fn it_runs_where_it_is_told_to() {
    let directory = TempDir::new();
    std::fs::create_dir(directory.path().join("below")).unwrap();
    for (cwd, expected) in
        [(None, directory.path().to_owned()), (Some("below"), directory.path().join("below"))]
    {
        let command = CommandPlan { cwd: cwd.map(Into::into), ..command(&["pwd"]) };
        let roster = roster(command, patient(), directory.path()).await;
        let result = call(&roster, json!({}), &CancellationToken::new()).await;
        assert_eq!(Path::new(text(&result)), expected);
    }
    let gone = CommandPlan { cwd: Some("missing".into()), ..command(&["pwd"]) };
    let roster = roster(gone, patient(), directory.path()).await;
    let result = call(&roster, json!({}), &CancellationToken::new()).await;
    assert_eq!(result.outcome, Outcome::Unreachable, "{}", text(&result));
}

#[tokio::test]
async fn it_is_given_its_input() {
    let reads =
        |body: &str| CommandPlan { stdin: Some(template("{x}")), ..command(&["/bin/sh", "-c", body]) };
    let large = || json!({ "x": "0123456789".repeat(1024 * 1024) });
    assert_eq!(text(&result(reads("cat"), json!({ "x": "a {y} ${KEY}" })).await), "a {y} ${KEY}");
    assert_eq!(text(&result(reads("wc -c"), large()).await).trim(), "10485760");
    // It need not read, and may answer while it is still being told.
    assert_eq!(text(&result(reads("echo enough"), large()).await), "enough");
    assert_eq!(text(&result(reads("cat"), large()).await).len(), 10_485_760);
    // Not given: nothing to read.
    assert_eq!(text(&result(reads("cat"), json!({})).await), "(no output)");
    let endless = result(reads("cat"), json!({ "x": "x".repeat((16 << 20) + 1) })).await;
    assert_eq!(endless.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn a_flood_is_cut_and_told() {
    let result = result(script("echo why >&2; exec cat /dev/zero"), json!({})).await;
    let text = text(&result);
    assert_eq!(result.outcome, Outcome::Failed);
    let told = "it was stopped: it wrote more than 16777216 bytes, of which these were kept\nstderr:\nwhy\nstdout:\n\0";
    assert!(text.starts_with(told), "{}", &text[..200]);
    assert_eq!(text.len(), told.len() - 1 + 16_777_216);
}

/// A shell by another name. Not a new file: one that was just written may be open still in a fork of another test.
fn plant(directory: &Path) {
    std::os::unix::fs::symlink("/bin/sh", directory.join("planted-tool")).unwrap();
}

#[tokio::test]
async fn what_is_not_found_is_told_and_what_a_project_plants_is_not_run() {
    let directory = TempDir::new();
    plant(directory.path());
    let path = format!(".:{}:/usr/bin:/bin", directory.path().display());
    for (scope, argv, expected) in [
        (Scope::Explicit, "planted-tool", Ok("planted")),
        (Scope::User, "planted-tool", Ok("planted")),
        (Scope::Project, "planted-tool", Err("planted-tool")),
        // Asked for by its place: trusted with the rest of the descriptor.
        (Scope::Project, "./planted-tool", Ok("planted")),
        (Scope::User, "no-such-tool-here", Err("PATH")),
    ] {
        let mut surroundings = surroundings(directory.path(), Arc::new(Scripted::default()));
        surroundings.inherited[0].1.clone_from(&path);
        let plan =
            plan(InvokerKind::Command(command(&[argv, "-c", "echo planted"]).into()), patient(), scope);
        let (roster, _) = connect(&plan, surroundings).await;
        let result = call(&roster, json!({}), &CancellationToken::new()).await;
        match expected {
            Ok(told) => {
                assert_eq!((result.outcome, text(&result)), (Outcome::Success, told), "{scope:?} {argv}")
            }
            Err(telling) => {
                assert_eq!(result.outcome, Outcome::Unreachable, "{scope:?} {argv}");
                assert!(text(&result).contains(telling), "{}", text(&result));
            }
        }
    }
}

#[tokio::test]
async fn a_declared_path_is_where_it_is_looked_for() {
    let directory = TempDir::new();
    plant(directory.path());
    let path = SecretRef::Literal(directory.path().display().to_string());
    let environment = vec![("PATH".to_owned(), path)];
    let command = CommandPlan { environment, ..command(&["planted-tool", "-c", "echo planted"]) };
    let roster = roster(command, patient(), directory.path()).await;
    assert_eq!(text(&call(&roster, json!({}), &CancellationToken::new()).await), "planted");
}

#[tokio::test]
async fn an_unset_variable_is_told_when_connecting() {
    let directory = TempDir::new();
    let environment = vec![("A".to_owned(), SecretRef::Environment("NONE".to_owned()))];
    for broken in [
        command(&["x", "${NONE}"]),
        CommandPlan { stdin: Some(template("{x}${NONE}")), ..command(&["x"]) },
        CommandPlan { environment, ..command(&["x"]) },
    ] {
        let plan = plan(InvokerKind::Command(broken.into()), patient(), Scope::User);
        let (_, failures) =
            connect(&plan, surroundings(directory.path(), Arc::new(Scripted::default()))).await;
        assert_eq!(
            failures[0].to_string(),
            "ensemble `t` could not be connected: x: the environment variable `NONE` is not set; set it: `export NONE=…`"
        );
    }
}

#[tokio::test]
async fn what_nobody_trusts_is_not_connected() {
    let directory = TempDir::new();
    let trusted = plan(InvokerKind::Command(command(&["true"]).into()), patient(), Scope::Project);
    let plan = EnsemblePlan { trusted: false, ..trusted };
    let (_, failures) = connect(&plan, surroundings(directory.path(), Arc::new(Scripted::default()))).await;
    assert!(failures[0].to_string().ends_with("x: it is not trusted"), "{failures:?}");
}

// ---- nothing is left ----

/// The number that a script wrote to `pid`, once it has.
async fn number(directory: &Path) -> u32 {
    let file = directory.join("pid");
    let begins = async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Ok(number) = text.trim().parse() {
                return number;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    ends("the beginning of the script", begins).await
}

async fn assert_gone(number: u32) {
    let stat = format!("/proc/{number}/stat");
    let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let gone = async {
        while alive() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    ends(&format!("process {number} is still there"), gone).await;
}

const STUBBORN: &str = "trap '' TERM INT HUP; sleep 1000 & echo $! > pid.new; mv pid.new pid; wait; wait";

#[tokio::test]
async fn cancelling_ends_the_whole_family_within_the_grace() {
    let directory = TempDir::new();
    let roster = roster(script(STUBBORN), patient(), directory.path()).await;
    let cancel = CancellationToken::new();
    let (result, grandchild) = tokio::join!(call(&roster, json!({}), &cancel), async {
        let number = number(directory.path()).await;
        cancel.cancel();
        number
    });
    assert_eq!(result.outcome, Outcome::Cancelled);
    assert_gone(grandchild).await;
}

#[tokio::test]
async fn it_is_asked_before_it_is_made_to() {
    let directory = TempDir::new();
    let body =
        "trap 'echo bye > bye; exit 0' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done";
    let roster = roster(script(body), patient(), directory.path()).await;
    let cancel = CancellationToken::new();
    let (result, ()) = tokio::join!(call(&roster, json!({}), &cancel), async {
        number(directory.path()).await;
        cancel.cancel();
    });
    assert_eq!(result.outcome, Outcome::Cancelled);
    assert_eq!(std::fs::read_to_string(directory.path().join("bye")).unwrap(), "bye\n");
}

#[tokio::test]
async fn a_timeout_ends_it_too() {
    let directory = TempDir::new();
    let policy = Policy { timeout: Duration::from_secs(2), ..patient() };
    let roster = roster(script(STUBBORN), policy, directory.path()).await;
    let result = call(&roster, json!({}), &CancellationToken::new()).await;
    assert_eq!(result.outcome, Outcome::Timeout);
    assert_gone(number(directory.path()).await).await;
}

#[tokio::test]
async fn dropping_the_call_ends_it_at_once() {
    let directory = TempDir::new();
    let roster = roster(script(STUBBORN), patient(), directory.path()).await;
    let cancel = CancellationToken::new();
    let grandchild = tokio::select! {
        result = call(&roster, json!({}), &cancel) => panic!("{result:?}"),
        number = number(directory.path()) => number,
    };
    assert_gone(grandchild).await;
}

#[tokio::test]
async fn what_it_leaves_running_is_neither_waited_for_nor_left() {
    let directory = TempDir::new();
    let body = "sleep 3600 & echo $! > pid; echo done";
    let roster = roster(script(body), patient(), directory.path()).await;
    let result = call(&roster, json!({}), &CancellationToken::new()).await;
    assert_eq!((result.outcome, text(&result)), (Outcome::Success, "done"));
    assert_gone(number(directory.path()).await).await;
}

#[tokio::test]
async fn what_is_said_while_it_ends_is_heard() {
    // Says its word a moment after the script itself has ended.
    let late = "while grep -q ') [^Z]' /proc/$$/stat; do :; done; sleep 0.2; echo late";
    let result = result(script(&format!("({late}) 2>/dev/null & echo early")), json!({})).await;
    assert_eq!(text(&result), "early\nlate");
}

#[tokio::test]
async fn its_last_line_is_told_while_it_runs() {
    let directory = TempDir::new();
    let waits = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let body = format!(
        "echo key; printf half; {}; echo; echo aside >&2; {}; echo last",
        waits("seen-out"),
        waits("seen-err")
    );
    let roster = roster(script(&body), patient(), directory.path()).await;
    let (sender, mut words) = tokio::sync::mpsc::channel(8);
    let host = Host::new(3, sender).cleaned(|line| line.replace("key", "[redacted]"));
    let cancel = CancellationToken::new();
    let hears = async {
        let mut heard = Vec::new();
        while let Some((3, ToolProgress::Output { line })) = words.recv().await {
            match line.as_str() {
                "[redacted]" => std::fs::write(directory.path().join("seen-out"), "").unwrap(),
                "aside" => std::fs::write(directory.path().join("seen-err"), "").unwrap(),
                _ => {}
            }
            heard.push(line);
        }
        heard
    };
    let (result, mut heard) = tokio::join!(call_heard(&roster, json!({}), &cancel, host), hears);
    assert_eq!(text(&result), "key\nhalf\nlast", "the answer is no line more, and cleaned by others");
    assert_eq!(heard.remove(0), "[redacted]");
    assert!(heard.contains(&"aside".to_owned()), "{heard:?}");
    assert!(!heard.contains(&"key".to_owned()), "{heard:?}");
}

#[tokio::test]
async fn without_a_way_into_a_sandbox_nothing_runs() {
    let directory = TempDir::new();
    for sandbox in [SandboxLevel::Require, SandboxLevel::BestEffort] {
        let line = script(&format!("touch {}/trace", directory.path().display()));
        let roster = roster(line, Policy { sandbox, ..patient() }, directory.path()).await;
        let result = call(&roster, json!({}), &CancellationToken::new()).await;
        assert_eq!(result.outcome, Outcome::Refused, "{}", text(&result));
        assert!(!directory.path().join("trace").exists());
    }
}
