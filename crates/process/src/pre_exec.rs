//! What runs in a new process between fork and exec: the one `unsafe` of the workspace
//! (`docs/decisions/010-child-processes-end-with-converse.md`).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid};

/// The part a new process plays.
#[derive(Debug)]
pub(crate) enum Role {
    /// Leads its own session and group, without our terminal, and reports its id to the guardian; killed when the thread that
    /// started it exits.
    Child { guardian: Option<OwnedFd> },
    /// Leads its own session with every signal blocked; outlives this process.
    Guardian,
}

/// Adds to `command` what std cannot do: no descriptor but 0, 1 and 2, no ignored signals, a known mask, and the binding
/// to this process.
#[allow(unsafe_code, reason = "pre_exec and three libc calls: nothing safe runs code between fork and exec")]
pub(crate) fn prepare(command: &mut Command, role: Role) {
    let parent = getpid();
    // SAFETY: the closure runs in the forked child of a program that may have threads, so it only makes system calls
    // that are async-signal-safe, allocates and frees nothing, takes no lock and touches no memory but its own stack
    // and what it captured, which it only reads. The pointers that libc gets are to initialised locals.
    unsafe {
        command.pre_exec(move || {
            bind(&role, parent)?;
            // exec resets handlers but keeps "ignored"; libc answers EINVAL for its own signal numbers.
            for number in 1..=64 {
                libc::signal(number, libc::SIG_DFL);
            }
            let mut mask = std::mem::zeroed::<libc::sigset_t>();
            match role {
                Role::Child { .. } => libc::sigemptyset(&raw mut mask),
                Role::Guardian => libc::sigfillset(&raw mut mask),
            };
            libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            // Fails before Linux 5.11; descriptors without close-on-exec are then inherited.
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            Ok(())
        });
    }
}

/// Makes only system calls, see above.
fn bind(role: &Role, parent: Pid) -> io::Result<()> {
    match role {
        Role::Guardian => setsid().map(drop)?,
        Role::Child { guardian } => {
            // A program that asks for a password on the terminal must fail at once instead of being stopped there.
            setsid()?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent died before the death signal was set.
            if getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
            // Before exec, so that the guardian knows this process even if the parent dies now.
            if let Some(guardian) = guardian {
                let mut line = [0; 16];
                let line = announcement(getpid().as_raw_nonzero().get(), &mut line);
                let _ = send(guardian, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            }
        }
    }
    Ok(())
}

/// Formats `?PID\n` without std's formatting, which may allocate.
fn announcement(mut number: i32, line: &mut [u8; 16]) -> &[u8] {
    let mut from = line.len();
    let mut put = |byte| {
        from = from.saturating_sub(1);
        if let Some(place) = line.get_mut(from) {
            *place = byte;
        }
    };
    put(b'\n');
    while number > 0 {
        put(b'0' + u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
    }
    put(b'?');
    line.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_child_is_known_before_it_runs() {
        let (mut socket, input) = UnixStream::pair().unwrap();
        let mut command = Command::new("/bin/cat");
        command.stdin(Stdio::piped());
        prepare(&mut command, Role::Child { guardian: Some(input.into()) });
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut heard = String::new();
        socket.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, format!("?{}\n", child.id()), "and it does not hold the line open");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn numbers_are_written_without_std() {
        for number in [1, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(announcement(number, &mut [0; 16]), format!("?{number}\n").as_bytes());
        }
    }
}
