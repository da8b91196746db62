//! The chores as programs.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap()
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_helper_gives_account_and_ends_as_its_child_did() {
    let dir = tempfile::tempdir().unwrap();
    let account = dir.path().join("account");
    let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo said; exit 7";
    let output = xtask(&["measure-child", account.to_str().unwrap(), "/bin/sh", "-c", work]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), b"said\n".as_slice()));
    let text = fs::read_to_string(account).unwrap();
    let numbers: Vec<u64> = text.split(' ').map(|number| number.parse().unwrap()).collect();
    let is_account = |numbers: &[u64]| matches!(numbers, [cpu, peak, faults, wall, _began] if *cpu > 0 && *peak > 100_000 && *faults > 0 && *wall > 0);
    assert!(is_account(&numbers), "{text}");
}

#[test]
fn a_program_that_does_not_do_its_work_has_no_figures() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("converse");
    for (text, problem) in [
        ("exit 0", "`--version` said nothing"),
        ("echo broken >&2; exit 3", "broken"),
        ("echo words", "one request was expected"),
    ] {
        script(&program, text);
        let output =
            xtask(&["bench", "--only", "curl", "--rounds", "1", "--binary", program.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(problem), "{text}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_unknown_chore_is_a_usage_error() {
    for arguments in [&[][..], &["dance"], &["codegen", "x"], &["bench", "--dance"], &["interop", "--dance"]]
    {
        let output = xtask(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty());
    }
}
