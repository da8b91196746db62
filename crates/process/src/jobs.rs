//! Job control, read from `/proc`: the system calls return 0 for a leader outside of this PID namespace, which is not a
//! valid process id.

use rustix::process::getpid;

use crate::process_tree::fields;
use crate::procfs::stat;

/// Maximum number of ancestors that are looked at.
const DEEPEST: usize = 32;

#[derive(Debug, Clone, Copy)]
struct Job {
    parent: i32,
    group: i32,
    session: i32,
}

/// Returns whether a shell could resume this process if it stopped. Without one, the kernel does not stop a process on
/// SIGTSTP by default.
#[must_use]
pub fn has_shell() -> bool {
    is_below_a_shell(getpid().as_raw_nonzero().get(), job)
}

/// Returns whether an ancestor is in the same session but in another group.
fn is_below_a_shell(id: i32, look: impl Fn(i32) -> Option<Job>) -> bool {
    let Some(own) = look(id) else { return false };
    let mut above = own;
    for _ in 0..DEEPEST {
        let Some(next) = look(above.parent).filter(|job| job.session == own.session) else { return false };
        if next.group != own.group {
            return true;
        }
        above = next;
    }
    false
}

fn job(id: i32) -> Option<Job> {
    let stat = stat(id)?;
    let mut numbers = fields(&stat)?.skip(1).map_while(|field| field.parse().ok());
    Some(Job { parent: numbers.next()?, group: numbers.next()?, session: numbers.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as number, parent, group, session; the first is asked about.
    fn below_a_shell(processes: &[(i32, i32, i32, i32)]) -> bool {
        let look = |id| {
            let (_, parent, group, session) = *processes.iter().find(|process| process.0 == id)?;
            Some(Job { parent, group, session })
        };
        is_below_a_shell(processes[0].0, look)
    }

    #[test]
    fn a_shell_is_in_our_session_and_in_another_group() {
        assert!(below_a_shell(&[(9, 5, 9, 5), (5, 1, 5, 5)]), "a job of it");
        assert!(below_a_shell(&[(9, 8, 7, 5), (8, 7, 7, 5), (7, 5, 7, 5), (5, 1, 5, 5)]), "below programs");
        assert!(!below_a_shell(&[(5, 1, 5, 5), (1, 0, 1, 1)]), "it leads its session");
        assert!(!below_a_shell(&[(9, 5, 5, 5), (5, 1, 5, 5), (1, 0, 1, 1)]), "without jobs");
        assert!(!below_a_shell(&[(9, 5, 9, 5)]), "nobody to be seen");
        assert!(!below_a_shell(&[(9, 9, 9, 9)]), "no end");
    }

    #[test]
    fn leaders_outside_of_our_namespace_are_zero() {
        assert!(!below_a_shell(&[(9, 5, 5, 5), (5, 1, 5, 5), (1, 0, 0, 0)]), "a session in it");
        assert!(!below_a_shell(&[(9, 1, 0, 0), (1, 0, 0, 0)]), "all is as it was started");
        assert!(below_a_shell(&[(9, 1, 9, 0), (1, 0, 1, 0)]), "a shell with jobs");
    }

    #[test]
    fn we_are_there_and_so_is_who_started_us() {
        let own = job(getpid().as_raw_nonzero().get()).unwrap();
        assert_eq!(Some(own.parent), rustix::process::getppid().map(|id| id.as_raw_nonzero().get()));
    }
}
