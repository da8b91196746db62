//! A home and a working directory of a run's own: what was there before is made once and copied for each.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use converse_testkit::hang_guard::Deadline;

use crate::env::TestEnv;
use crate::provider::Provider;
use crate::scenario::Scenario;

/// As it is before the run that is killed.
pub(crate) fn prepared(scenario: &Scenario, provider: &Provider) -> TestEnv {
    let env = provider.env(TestEnv::new());
    (scenario.before)(&env, provider);
    env
}

pub(crate) fn copied(base: &TestEnv) -> TestEnv {
    let env = TestEnv::new();
    let status = Command::new("cp").arg("-a").arg(base.path(".")).arg(env.path(".")).status();
    assert!(status.unwrap().success(), "nothing was copied");
    env
}

/// No process that was started there runs on.
pub(crate) fn is_deserted(env: &TestEnv) -> Result<(), String> {
    let (root, deadline) = (env.path(""), Deadline::begin());
    loop {
        let left = inhabitants(&root);
        if left.is_empty() {
            return Ok(());
        }
        if deadline.is_over() {
            return Err(format!("processes run on: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// By their working directory, or by a home there.
fn inhabitants(root: &Path) -> Vec<String> {
    let home = format!("HOME={}", root.join("home").display()).into_bytes();
    let lives = |process: &Path| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root))
            || std::fs::read(process.join("environ"))
                .is_ok_and(|vars| vars.split(|byte| *byte == 0).any(|var| var == home))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let living = processes.filter(|process| process.join("status").exists() && lives(process));
    living.filter(|process| !is_dead(process)).map(|process| process.display().to_string()).collect()
}

/// Nobody has asked yet how it ended.
fn is_dead(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tZ"))
}
