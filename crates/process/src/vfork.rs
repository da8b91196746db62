//! Starts a program without a copy of this process: the one `unsafe` of the workspace
//! (`docs/decisions/010-child-processes-end-with-converse.md`).
//!
//! Like glibc's `posix_spawn`, the new process runs in the memory of this one, on a stack of its own, while the calling thread
//! waits until it has executed the program. A copy (`fork`) would cost more with each page that converse uses.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, set_parent_process_death_signal, setsid, waitpid,
};

/// Bytes of the stack, beside those for copies of the arguments: what libc needs to give a script to `sh`.
const STACK: usize = 64 << 10;

/// The part a new process plays.
#[derive(Debug)]
pub(crate) enum Role {
    /// Leads its own session and group, without our terminal, and reports its id to the guardian; killed when the thread that
    /// started it exits.
    Child { guardian: Option<OwnedFd> },
    /// Leads its own session with every signal blocked; outlives this process.
    Guardian,
}

/// What a new process executes.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Absolute.
    pub path: &'a Path,
    pub arguments: &'a [String],
    /// The whole environment.
    pub environment: &'a [(String, String)],
    pub cwd: &'a Path,
    /// Its stdin, stdout and stderr. None of them is 0, 1 or 2: std opens these before `main`.
    pub streams: [BorrowedFd<'a>; 3],
}

impl Program<'_> {
    /// Starts the program with no descriptor but its streams, no ignored signals, a known mask, and the binding to this process.
    ///
    /// # Errors
    /// `InvalidInput` for a NUL byte, and what the system answers to `clone`, `chdir`, `execve` and the others.
    #[allow(
        unsafe_code,
        reason = "clone with shared memory, and what runs in the new process: nothing safe does either"
    )]
    pub(crate) fn start(&self, role: &Role) -> io::Result<Pid> {
        let path = CString::new(self.path.as_os_str().as_bytes())?;
        let cwd = CString::new(self.cwd.as_os_str().as_bytes())?;
        let arguments = self.arguments.iter().map(|word| CString::new(word.as_bytes()));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        // The last one of a name counts.
        let variables: BTreeMap<_, _> = self.environment.iter().map(|(name, value)| (name, value)).collect();
        let variables = variables.iter().map(|(name, value)| CString::new(format!("{name}={value}")));
        let variables = variables.collect::<Result<Vec<_>, _>>()?;
        let argv = pointers([&path].into_iter().chain(&arguments));
        let envp = pointers(&variables);
        let mut start = Start {
            path: path.as_ptr(),
            cwd: cwd.as_ptr(),
            argv: argv.as_ptr(),
            envp: envp.as_ptr(),
            streams: self.streams.map(|stream| stream.as_raw_fd()),
            role,
            parent: getpid(),
            failed: None,
        };
        let size = STACK + argv.len() * size_of::<usize>();
        let mut stack = Vec::<u8>::with_capacity(size);
        // SAFETY: the pointers live until the end of this function, and the call returns when the new process no longer uses
        // the memory, because of CLONE_VFORK. It runs on a stack of its own, which grows down from its aligned end. No signal
        // handler runs in it, because all signals are blocked until it has reset them; this thread's mask is restored.
        let id = unsafe {
            let end = stack.as_mut_ptr().add(size);
            let end = end.sub(end.addr() % 16);
            let mut all = std::mem::zeroed::<libc::sigset_t>();
            let mut before = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let id = libc::clone(run, end.cast(), flags, (&raw mut start).cast());
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            Pid::from_raw(id).filter(|_| id > 0).ok_or(error)?
        };
        match start.failed {
            None => Ok(id),
            Some(error) => {
                let _ = waitpid(Some(id), WaitOptions::empty());
                Err(error.into())
            }
        }
    }
}

/// The list of C: pointers to the strings, and a null pointer at the end.
fn pointers<'a>(strings: impl IntoIterator<Item = &'a CString>) -> Vec<*const c_char> {
    strings.into_iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// What the new process reads, and the error that it leaves.
struct Start<'a> {
    path: *const c_char,
    cwd: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    streams: [c_int; 3],
    role: &'a Role,
    parent: Pid,
    failed: Option<Errno>,
}

/// The new process, until it executes the program.
#[allow(unsafe_code, reason = "libc's calls, see `Program::start`")]
extern "C" fn run(start: *mut c_void) -> c_int {
    // SAFETY: the argument is the `Start` of the thread that waits. This makes only system calls that are async-signal-safe,
    // allocates and frees nothing, takes no lock, and writes to no memory but its own stack, `errno` of the waiting thread and
    // `failed`. The other pointers are to strings and lists that end with null.
    unsafe {
        let start = &mut *start.cast::<Start<'_>>();
        start.failed = Some(match become_program(start) {
            Err(error) => error,
            Ok(()) => {
                libc::execvpe(start.path, start.argv, start.envp);
                last_error()
            }
        });
        libc::_exit(127)
    }
}

/// Does what precedes the program.
#[allow(unsafe_code, reason = "libc's calls, see `Program::start`")]
fn become_program(start: &Start<'_>) -> Result<(), Errno> {
    bind(start.role, start.parent)?;
    // SAFETY: as in `run`; the pointers that libc gets are to initialised locals and to strings that end with null.
    unsafe {
        for (stream, number) in start.streams.into_iter().zip(0..) {
            if libc::dup2(stream, number) < 0 {
                return Err(last_error());
            }
        }
        if libc::chdir(start.cwd) < 0 {
            return Err(last_error());
        }
        // Fails before Linux 5.11; descriptors without close-on-exec are then inherited.
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        // exec resets handlers but keeps "ignored"; libc answers EINVAL for its own signal numbers.
        for number in 1..=64 {
            libc::signal(number, libc::SIG_DFL);
        }
        let mut mask = std::mem::zeroed::<libc::sigset_t>();
        match start.role {
            Role::Child { .. } => libc::sigemptyset(&raw mut mask),
            Role::Guardian => libc::sigfillset(&raw mut mask),
        };
        libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
    }
    Ok(())
}

/// `errno` without std's error, which is larger than needed here.
fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Makes only system calls, see above.
fn bind(role: &Role, parent: Pid) -> Result<(), Errno> {
    setsid()?;
    let Role::Child { guardian } = role else { return Ok(()) };
    // A program that asks for a password on the terminal must fail at once instead of being stopped there: no session of ours.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent died before the death signal was set.
    if getppid() != Some(parent) {
        return Err(Errno::SRCH);
    }
    // Before exec, so that the guardian knows this process even if the parent dies now.
    if let Some(guardian) = guardian {
        let mut line = [0; 16];
        let line = announcement(getpid().as_raw_nonzero().get(), &mut line);
        let _ = send(guardian, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
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
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Runs a program with a role, and returns what it wrote and whether it ended with 0.
    fn ran(
        path: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        role: Role,
    ) -> io::Result<(String, bool)> {
        let arguments: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (mut output, input) = io::pipe()?;
        let null = File::open("/dev/null")?;
        let streams = [null.as_fd(), input.as_fd(), input.as_fd()];
        let program = Program {
            path: Path::new(path),
            arguments: &arguments,
            environment: &environment,
            cwd: Path::new("/"),
            streams,
        };
        let id = program.start(&role)?;
        drop((input, role));
        let mut written = String::new();
        output.read_to_string(&mut written)?;
        let status = waitpid(Some(id), WaitOptions::empty())?;
        Ok((written, status.is_some_and(|(_, status)| status.exit_status() == Some(0))))
    }

    fn child() -> Role {
        Role::Child { guardian: None }
    }

    #[test]
    fn a_child_is_known_before_it_runs() {
        let (mut socket, input) = UnixStream::pair().unwrap();
        let (id, _) =
            ran("/bin/sh", &["-c", "echo $$"], &[], Role::Child { guardian: Some(input.into()) }).unwrap();
        let mut heard = String::new();
        socket.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, format!("?{id}"), "and it does not hold the line open");
    }

    #[test]
    fn what_cannot_start_says_why_and_leaves_no_process() {
        let nul = ran("/bin/cat", &["a\0b"], &[], child()).unwrap_err();
        assert_eq!(nul.kind(), io::ErrorKind::InvalidInput);
        let absent = ran("/bin/nothing-like-this", &[], &[], child()).unwrap_err();
        assert_eq!(Errno::from_io_error(&absent), Some(Errno::NOENT));
    }

    #[test]
    fn the_last_variable_of_a_name_counts() {
        let (all, _) = ran("/usr/bin/env", &[], &[("A", "1"), ("B", "2"), ("A", "3")], child()).unwrap();
        assert_eq!(all, "A=3\nB=2\n");
    }

    #[test]
    fn a_script_that_names_no_interpreter_runs_with_sh() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        let mut file = File::options().create_new(true).write(true).mode(0o700).open(&script).unwrap();
        io::Write::write_all(&mut file, b"echo \"$1\"\n").unwrap();
        drop(file);
        let script = script.to_str().unwrap();
        assert_eq!(ran(script, &["x y"], &[], child()).unwrap(), ("x y\n".to_owned(), true));
    }

    #[test]
    fn numbers_are_written_without_std() {
        for number in [1, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(announcement(number, &mut [0; 16]), format!("?{number}\n").as_bytes());
        }
    }
}
