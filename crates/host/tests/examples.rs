//! The examples run, without a key, a network or the files of whoever runs the tests.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::process::Command;

fn runs(example: &str) {
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/TEST beside target/PROFILE/examples/EXAMPLE
    let program = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(example);
    assert!(program.exists(), "`cargo test -p converse-host` builds the examples; {program:?} is not there");
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(program).env_clear().env("HOME", home.path()).current_dir(home.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_tool_of_ones_own() {
    runs("own_tool");
}

#[test]
fn approving_and_streaming() {
    runs("approve_and_stream");
}
