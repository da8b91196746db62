//! What both test programs need: a guardian, scripts as children, and looking at processes.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use converse_process::{Child, Guardian, Spawn};
use converse_testkit::hang_guard::wait_for;
use rustix::process::{Pid, test_kill_process_group};

/// Far longer than a test waits for anything.
pub(crate) const FOREVER: Duration = Duration::from_secs(3600);

/// The guardian's program is this test program, made to run the one ignored test that is the guardian's body.
pub(crate) fn guardian() -> Guardian {
    Guardian::new(this_program(), body("guardian_body"))
}

pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

pub(crate) fn body(name: &str) -> Vec<String> {
    ["--exact", name, "--ignored", "--nocapture"].map(str::to_owned).to_vec()
}

/// A script of `/bin/sh`, with a PATH and nothing else, in `cwd`.
pub(crate) fn script(text: &str, cwd: &Path) -> Spawn {
    Spawn {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), text.to_owned()],
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: cwd.to_owned(),
        stdin: true,
    }
}

pub(crate) fn start(text: &str, guardian: &Guardian) -> Child {
    script(text, Path::new("/")).start(guardian).unwrap()
}

/// Is there nobody left in the group, not even dead?
pub(crate) fn is_gone(group: u32) -> bool {
    let group = Pid::from_raw(i32::try_from(group).unwrap()).unwrap();
    test_kill_process_group(group) == Err(rustix::io::Errno::SRCH)
}

/// A dead process that its parent did not ask for does not live; one that has threads left does.
pub(crate) fn lives(id: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let fields = fields.split_whitespace().collect::<Vec<_>>();
    !matches!(fields[0], "Z" | "X") || fields[17].parse::<u32>().unwrap() > 1
}

/// The number that a script wrote to a file, once it is there.
pub(crate) fn number_in(file: &Path) -> i32 {
    wait_for(&format!("a number in {}", file.display()), || {
        fs::read_to_string(file).unwrap_or_default().strip_suffix('\n').and_then(|text| text.parse().ok())
    })
}

/// Children of a process.
pub(crate) fn children(id: u32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let lines =
        tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
    lines.flat_map(|line| line.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<_>>()).collect()
}
