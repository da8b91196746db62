//! Servers as processes: scripts of `/bin/sh`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use converse_config::{SecretRef, TransportPlan};
use converse_ensemble::{Answer, Ensemble, InvokeError};
use converse_testkit::hang_guard::ends;
use stage::call;

/// A legacy server of one tool; `$CALL` is what it does when that is called, and says `$said` then.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
echo "a banner"
while read -r line; do
    id=$(printf %s "$line" | sed 's/^[^,]*,"id":\([0-9]*\).*/\1/')
    case "$line" in
        *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
        *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"tools/list"'*) say '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) eval "$CALL"; say "{\"content\":[{\"type\":\"text\",\"text\":\"$said\"}]}" ;;
    esac
done
"#;

fn literal(text: &str) -> SecretRef {
    SecretRef::Literal(text.to_owned())
}

fn shell(script: &str, environment: &[(&str, SecretRef)], timeout: Duration, workspace: &Path) -> Ensemble {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let command = ["sh", "-c", script].map(literal).to_vec();
    stage::ensemble(
        TransportPlan::Stdio { command, environment, cwd: None },
        timeout,
        workspace.to_owned(),
        &Arc::default(),
    )
}

fn server(call: &str) -> Ensemble {
    shell(SERVER, &[("CALL", literal(call))], Duration::from_secs(20), Path::new("/"))
}

fn is_gone(process: &str) -> bool {
    !Path::new("/proc").join(process).exists()
}

fn text(answer: Result<Answer, InvokeError>) -> String {
    answer.unwrap().content[0].as_text().unwrap().to_owned()
}

#[tokio::test]
async fn a_server_gets_what_was_declared_and_ends_with_the_connection() {
    let workspace = tempfile::tempdir().unwrap();
    let whole = workspace.path().canonicalize().unwrap();
    let call_ = "said=\"$GREETING|$LANG|$(pwd)|$$|$(env | sed 's/=.*//' | sort | tr '\\n' ' ')\"";
    let environment = [
        ("CALL", literal(call_)),
        ("GREETING", SecretRef::Environment("TOKEN".into())),
        ("LANG", literal("de")),
    ];
    // Only the end of its input lets it say farewell.
    let script = format!("trap '' TERM; {SERVER} echo farewell > farewell");
    let web = shell(&script, &environment, Duration::from_secs(20), &whole);
    let tools = web.connect().await.unwrap();
    let answer = text(call(&tools[0]).await);
    let parts: Vec<_> = answer.split('|').collect();
    assert_eq!(parts[..3], ["s3cret-token", "de", whole.to_str().unwrap()]);
    let names: Vec<_> =
        parts[4].split(' ').filter(|name| !matches!(*name, "" | "_" | "SHLVL" | "OLDPWD" | "PWD")).collect();
    assert_eq!(names, ["CALL", "GREETING", "LANG", "PATH"]);
    ends("disconnecting", web.disconnect()).await;
    assert!(whole.join("farewell").exists(), "it ends when its input does");
    assert!(is_gone(parts[3]));
}

#[tokio::test]
async fn a_stubborn_server_is_gone_when_it_is_disconnected() {
    let script = format!("trap '' TERM; {SERVER} while :; do sleep 1; done");
    let web = shell(&script, &[("CALL", literal("said=$$"))], Duration::from_secs(20), Path::new("/"));
    let tools = web.connect().await.unwrap();
    let process = text(call(&tools[0]).await);
    ends("disconnecting", web.disconnect()).await;
    assert!(is_gone(&process));
}

#[tokio::test]
async fn dropping_the_ensemble_kills_its_server() {
    let web = server("said=$$");
    let tools = web.connect().await.unwrap();
    let process = text(call(&tools[0]).await);
    drop((web, tools));
    let gone = async {
        while !is_gone(&process) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    ends("the end of a dropped server", gone).await;
}

#[tokio::test]
async fn reasons_are_told_with_the_last_words() {
    let long = Duration::from_secs(20);
    for (script, timeout, wanted) in [
        ("echo 'no licence' >&2; exit 3", long, "the server ended (exit status: 3); stderr: no licence"),
        ("echo banner; echo bye >&2", long, "the server ended (exit status: 0); stderr: bye"),
        ("kill -9 $$", long, "the server ended (signal: 9 (SIGKILL))"),
        ("yes", long, "the server keeps writing text that is not MCP to its standard output"),
        (
            "echo starting >&2; sleep 100",
            Duration::from_millis(500),
            "the server was not connected within 0.5 s (`connect_timeout`); stderr: starting",
        ),
    ] {
        let web = shell(script, &[], timeout, Path::new("/"));
        let reason = web.connect().await.unwrap_err().reason;
        assert_eq!(reason, wanted, "{script}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let unset = [("KEY", SecretRef::Environment("NONE".into()))];
    let reason =
        shell("true", &unset, Duration::from_secs(20), Path::new("/")).connect().await.unwrap_err().reason;
    assert_eq!(reason, "the environment variable `NONE` is not set; set it: `export NONE=…`");
    for command in ["no-such-program-anywhere", "./no-such-program", ""] {
        let way = TransportPlan::Stdio { command: vec![literal(command)], environment: vec![], cwd: None };
        let web = stage::ensemble(way, Duration::from_secs(20), PathBuf::from("/"), &Arc::default());
        let reason = web.connect().await.unwrap_err().reason;
        assert!(reason.contains(if command.is_empty() { "empty" } else { "no-such-program" }), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_for_the_next() {
    let workspace = tempfile::tempdir().unwrap();
    let call_ = "if [ -e been ]; then said=again; else : > been; echo argh >&2; exit 7; fi";
    let web = shell(SERVER, &[("CALL", literal(call_))], Duration::from_secs(20), workspace.path());
    let tools = web.connect().await.unwrap();
    let Err(InvokeError::Interrupted(died)) = call(&tools[0]).await else { panic!() };
    let wanted = "interrupted, outcome unknown: the server ended (exit status: 7); stderr: argh";
    assert_eq!(died, wanted);
    assert_eq!(text(call(&tools[0]).await), "again");
    web.disconnect().await;
}

#[tokio::test]
async fn a_heir_that_keeps_the_pipe_open_does_not_keep_calls_waiting() {
    let web = server("sleep 3600 & exit 0");
    let tools = web.connect().await.unwrap();
    let died = call(&tools[0]).await;
    assert!(matches!(died, Err(InvokeError::Interrupted(_))), "{died:?}");
    web.disconnect().await;
}

#[tokio::test]
async fn a_server_that_closes_a_pipe_and_lives_on_is_noticed() {
    // Closed before the answer: what is written to a pipe before its reader leaves is lost without an error.
    let answered = r#"exec <&-; say '{"content":[]}'; sleep 3600"#;
    for (closes, answers, wanted) in [("exec >&-; sleep 3600", 0, "output"), (answered, 1, "input")] {
        let web = server(closes);
        let tools = web.connect().await.unwrap();
        for _ in 0..answers {
            call(&tools[0]).await.unwrap();
        }
        let Err(InvokeError::Interrupted(died)) = call(&tools[0]).await else { panic!("{closes}") };
        assert_eq!(died, format!("interrupted, outcome unknown: the server closed its {wanted}"));
        web.disconnect().await;
    }
}
