//! `/proc`, where it can be believed: it is mounted, and shows the PID namespace that we are in.
//!
//! That of another one (`unshare --pid` without `--mount-proc`) tells numbers that mean strangers to our kill(2), or
//! nobody. There it is as if there were none: groups are still ended, for their numbers are from system calls.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::getpid;

/// What is told of one process in one line.
pub(crate) fn stat(id: i32) -> Option<String> {
    if is_ours() { fs::read_to_string(format!("/proc/{id}/stat")).ok() } else { None }
}

/// Looked at once: it does not become another one while we run.
pub(crate) fn is_ours() -> bool {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    *IS_OURS.get_or_init(|| {
        let link = fs::read_link("/proc/self").ok();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        shows(getpid().as_raw_nonzero().get(), link.as_deref(), &status)
    })
}

/// Our number there is the one we know. By chance it could be so from outside as well, where we have a second one: the
/// kernel lists them all, but not every kernel does.
/// <https://man7.org/linux/man-pages/man7/pid_namespaces.7.html> (checked 2026-11)
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
