//! `/proc`, used only if it is mounted and shows the PID namespace of this process.
//!
//! The `/proc` of another namespace (`unshare --pid` without `--mount-proc`) lists ids that mean other processes, or none, to
//! kill(2). It is then treated as missing: groups are still ended, because their ids come from system calls.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::getpid;

/// Reads `/proc/ID/stat`.
pub(crate) fn stat(id: i32) -> Option<String> {
    if is_ours() { fs::read_to_string(format!("/proc/{id}/stat")).ok() } else { None }
}

/// Returns whether `/proc` can be trusted. Checked once: it does not change while the process runs.
pub(crate) fn is_ours() -> bool {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    *IS_OURS.get_or_init(|| {
        let link = fs::read_link("/proc/self").ok();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        shows(getpid().as_raw_nonzero().get(), link.as_deref(), &status)
    })
}

/// The id shown there must be the one we know. An outer namespace could show the same id by chance: the kernel then lists
/// several (`NSpid`), but not every kernel has that line.
fn shows(us: i32, link: Option<&Path>, status: &str) -> bool {
    let named = link.and_then(Path::to_str).and_then(|number| number.parse().ok());
    let all = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    named == Some(us) && all.is_none_or(|numbers| numbers.split_ascii_whitespace().count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_that_of_our_own_namespace_is_believed() {
        for (link, status, believed) in [
            (Some("42"), "Name:\tx\nNSpid:\t42\nThreads:\t1\n", true),
            (Some("42"), "Name:\tx\n", true),
            (Some("4711"), "NSpid:\t4711\t42\n", false),
            (Some("42"), "NSpid:\t42\t42\n", false),
            // Not mounted, or of a namespace that we are not in.
            (None, "", false),
            (Some(""), "", false),
        ] {
            assert_eq!(shows(42, link.map(Path::new), status), believed, "{link:?} {status:?}");
        }
        assert!(is_ours(), "tests run where it is mounted");
    }
}
