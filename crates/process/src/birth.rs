//! What happens in a new process between fork and exec: the one `unsafe` of the workspace
//! (`docs/decisions/010-child-processes-end-with-converse.md`).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid};

/// How a process begins.
#[derive(Debug)]
pub(crate) enum Birth {
    /// In a session and so a group of its own, away from our terminal, of which it tells the guardian itself; killed
    /// when the thread that started it ends.
    Child { guardian: Option<OwnedFd> },
    /// In a session of its own, deaf to every signal that can be blocked; outlives us.
    Guardian,
}

/// Adds to `command` what std cannot ask for: no descriptor but 0, 1 and 2, no ignored signal, a known mask, and how
/// it is bound to us.
#[allow(unsafe_code, reason = "pre_exec and three libc calls: nothing safe runs code between fork and exec")]
pub(crate) fn prepare(command: &mut Command, birth: Birth) {
    let parent = getpid();
    // SAFETY: the closure runs in the forked child of a program that may have threads, so it only makes system calls
    // that are async-signal-safe, allocates and frees nothing, takes no lock and touches no memory but its own stack
    // and what it captured, which it only reads. The pointers that libc gets are to initialised locals.
    unsafe {
        command.pre_exec(move || {
            bind(&birth, parent)?;
            // Handlers do not survive exec, but "ignored" does; numbers that libc keeps for itself answer EINVAL.
            for number in 1..=64 {
                libc::signal(number, libc::SIG_DFL);
            }
            let mut mask = std::mem::zeroed::<libc::sigset_t>();
            match birth {
                Birth::Child { .. } => libc::sigemptyset(&raw mut mask),
                Birth::Guardian => libc::sigfillset(&raw mut mask),
            };
            libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
            // Before Linux 5.11 this fails, and what others opened without close-on-exec is inherited as ever.
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            Ok(())
        });
    }
}

/// Only system calls, see above.
fn bind(birth: &Birth, parent: Pid) -> io::Result<()> {
    match birth {
        Birth::Guardian => setsid().map(drop)?,
        Birth::Child { guardian } => {
            // Who asks for a password on the terminal shall fail at once instead of being stopped there for ever.
            setsid()?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // It died before we asked to be told.
            if getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
            // Before exec: if our parent dies now, what this becomes is known all the same.
            if let Some(guardian) = guardian {
                let mut line = [0; 16];
                let line = announcement(getpid().as_raw_nonzero().get(), &mut line);
                let _ = send(guardian, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            }
        }
    }
    Ok(())
}

/// `?NUMBER` and a line's end, without the formatting of std, which may allocate.
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
        let (mut ear, mouth) = UnixStream::pair().unwrap();
        let mut command = Command::new("/bin/cat");
        command.stdin(Stdio::piped());
        prepare(&mut command, Birth::Child { guardian: Some(mouth.into()) });
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut heard = String::new();
        ear.read_to_string(&mut heard).unwrap();
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
