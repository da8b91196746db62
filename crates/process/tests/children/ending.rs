//! How a child ends, and that its whole group does.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use converse_process::Child;
use converse_testkit::hang_guard::{ends, wait_until};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::stage::{FOREVER, guardian, is_gone, lives, number_in, script, start};

const PATIENCE: Duration = Duration::from_millis(200);

/// The next line of its stdout: a script says so when its traps are set.
async fn line(child: &mut Child) -> String {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    ends("a line", stdout.read_line(&mut line)).await.unwrap();
    child.stdout = Some(stdout.into_inner());
    line.trim_end().to_owned()
}

async fn end(child: Child, patience: Duration) -> Duration {
    let begun = Instant::now();
    ends("its end", child.end(patience)).await;
    begun.elapsed()
}

#[tokio::test]
async fn the_end_of_stdin_is_enough_for_most() {
    let child = start("exec cat", &guardian());
    let id = child.id();
    end(child, FOREVER).await;
    assert!(is_gone(id));
}

#[tokio::test]
async fn sigterm_comes_before_sigkill() {
    let directory = tempfile::tempdir().unwrap();
    let text = "trap 'echo said > farewell; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = script(text, directory.path()).start(&guardian()).unwrap();
    assert_eq!(line(&mut child).await, "ready");
    assert!(end(child, Duration::from_secs(1)).await >= Duration::from_secs(1));
    assert_eq!(fs::read_to_string(directory.path().join("farewell")).unwrap(), "said\n");
}

#[tokio::test]
async fn who_hears_nothing_is_killed_with_its_grandchild() {
    let deaf = "trap '' TERM HUP; sh -c 'while :; do sleep 1; done' & echo $!; while :; do sleep 1; done";
    let mut child = start(deaf, &guardian());
    let id = child.id();
    let grandchild = line(&mut child).await.parse().unwrap();
    assert!(lives(grandchild));
    assert!(end(child, PATIENCE).await >= 2 * PATIENCE);
    assert!(is_gone(id) && !lives(grandchild));
}

#[tokio::test]
async fn a_grandchild_does_not_outlive_a_leader_that_ended() {
    let mut child = start("trap '' TERM; sleep 1000 & echo $!; exit 3", &guardian());
    let id = child.id();
    let grandchild = line(&mut child).await.parse().unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(3));
    assert_eq!(child.ended().and_then(|status| status.code()), Some(3));
    assert!(lives(grandchild), "it ignores SIGTERM and is still there");
    end(child, PATIENCE).await;
    assert!(is_gone(id) && !lives(grandchild));
}

#[tokio::test]
async fn many_end_at_once() {
    let guardian = guardian();
    let children = (0..8)
        .map(|_| start("trap '' TERM; echo r; while :; do sleep 1; done", &guardian))
        .collect::<Vec<_>>();
    let ids = children.iter().map(Child::id).collect::<Vec<_>>();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut ending = tokio::task::JoinSet::new();
    for child in children {
        let order = Arc::clone(&order);
        ending.spawn(async move {
            order.lock().unwrap().push("begun");
            child.end(PATIENCE).await;
            order.lock().unwrap().push("ended");
        });
    }
    ends("the end of all", ending.join_all()).await;
    assert_eq!(order.lock().unwrap()[..8], ["begun"; 8], "one waited for another");
    assert!(ids.into_iter().all(is_gone));
}

#[tokio::test]
async fn killed_is_killed() {
    let mut child = start("sleep 1000 & sleep 1000", &guardian());
    assert_eq!(child.ended(), None);
    child.kill();
    let status = ends("its end", child.wait()).await.unwrap();
    assert_eq!(status.signal(), Some(9));
    assert_eq!(child.ended(), Some(status));
}

/// Not `wait_until`: the runtime has to run.
async fn goes(id: u32) {
    let gone = async {
        while !is_gone(id) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    ends("going away when dropped", gone).await;
}

#[tokio::test]
async fn dropped_is_killed() {
    let mut child = start("trap '' TERM; sleep 1000 & echo r; sleep 1000", &guardian());
    let id = child.id();
    line(&mut child).await;
    drop(child);
    goes(id).await;
}

#[tokio::test]
async fn an_end_that_is_dropped_half_way_kills() {
    let mut child = start("trap '' TERM; echo r; while :; do sleep 1; done", &guardian());
    let id = child.id();
    line(&mut child).await;
    assert!(timeout(PATIENCE, child.end(FOREVER)).await.is_err());
    goes(id).await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn dropped_after_its_runtime_is_killed_and_swept() {
    let guardian = guardian();
    let runtime = runtime();
    let child = runtime.block_on(async { start("sleep 1000 & sleep 1000", &guardian) });
    let id = child.id();
    drop(runtime);
    drop(child);
    wait_until("the group is gone", || {
        guardian.sweep();
        is_gone(id)
    });
}

#[test]
fn what_fled_is_swept() {
    let directory = tempfile::tempdir().unwrap();
    let guardian = guardian();
    // The script ends; its daemon has a session of its own, and so has the daemon's child.
    let text = "setsid sh -c 'echo $$ > daemon; setsid sh -c \"echo \\$\\$ > deeper; exec sleep 1000\" & wait' & \
                while ! [ -s deeper ]; do sleep 0.01; done";
    let (daemon, deeper) = (directory.path().join("daemon"), directory.path().join("deeper"));
    let bystander = runtime().block_on(async {
        let mut child = script(text, directory.path()).start(&guardian).unwrap();
        ends("its end", child.wait()).await.unwrap();
        child.end(PATIENCE).await;
        let mut bystander = start("exec cat", &guardian);
        assert!(lives(number_in(&daemon)) && lives(number_in(&deeper)), "nothing to be swept");
        // Started by other means, and so in our own group.
        let mut stranger = std::process::Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        guardian.sweep();
        assert!(bystander.ended().is_none(), "not what runs");
        assert!(stranger.try_wait().unwrap().is_none(), "not what is none of ours");
        drop(stranger.stdin.take());
        assert!(stranger.wait().unwrap().success());
        bystander.id()
    });
    let (daemon, deeper) = (number_in(&daemon), number_in(&deeper));
    wait_until("daemons are swept", || !lives(daemon) && !lives(deeper));
    assert!(!Path::new(&format!("/proc/{daemon}")).exists(), "and buried");
    wait_until("the runtime took it along", || {
        guardian.sweep();
        is_gone(bystander)
    });
}
