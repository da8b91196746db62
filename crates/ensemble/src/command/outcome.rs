//! The answer of a program, made from its output and the way it ended. Pure.

use std::process::ExitStatus;

use converse_process::sandbox::Limits;

use crate::Answer;

/// Start of the answer of a program that a signal ended. The number of the signal follows.
pub const KILLED: &str = "killed by signal ";

/// The output of a program and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) stdout: Vec<u8>,
    /// The end of its stderr.
    pub(super) stderr: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    Exit(ExitStatus),
    /// Ended by converse, because it wrote more than is kept.
    Flooded,
    /// Ended by converse, because it had more processes or threads than these.
    Crowded(Limits),
}

/// Returns the answer for the model. The reason of a failure comes before the output, which may be cut at its end.
pub(super) fn answer(ended: &Ended) -> Answer {
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let stdout = stdout.strip_suffix('\n').map_or(&*stdout, |text| text.strip_suffix('\r').unwrap_or(text));
    let stderr = ended.stderr.trim_end();
    let failure = match ended.end {
        End::Exit(status) if status.success() => {
            return match (stdout.is_empty(), stderr.is_empty()) {
                (false, _) => Answer::text(stdout),
                (true, true) => Answer::text("(no output)"),
                (true, false) => Answer::text(format!("(no output)\nstderr:\n{stderr}")),
            };
        }
        End::Exit(status) => ending(status),
        End::Crowded(Limits { processes, threads, .. }) => {
            format!("it was stopped: it had started more than {processes} processes, or {threads} threads")
        }
        End::Flooded => {
            let kept = ended.stdout.len();
            format!("it was stopped: it wrote more than {kept} bytes, of which these were kept")
        }
    };
    let mut text = failure;
    for (label, words) in [("stderr:\n", stderr), ("stdout:\n", stdout)] {
        if !words.is_empty() {
            text.push('\n');
            text.push_str(label);
            text.push_str(words);
        }
    }
    Answer::error(text)
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;

    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("{KILLED}{signal} ({name})"),
            None => format!("{KILLED}{signal}"),
        },
        (None, None) => "it ended in an unknown way".to_owned(),
    }
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "it ended in an unknown way".to_owned(), |code| format!("exit status {code}"))
}

/// Names of the common signals that have the same number on Linux and macOS.
#[cfg(unix)]
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return None,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn every_ending_is_told() {
        let exit = |code: i32| End::Exit(ExitStatus::from_raw(code << 8));
        let signal = |signal: i32| End::Exit(ExitStatus::from_raw(signal));
        for (end, stdout, stderr, is_error, text) in [
            (exit(0), &b"out\n"[..], "warning", false, "out"),
            (exit(0), b"a\n\n", "", false, "a\n"),
            (exit(0), b"a\r\n", "", false, "a"),
            (exit(0), b" a ", "", false, " a "),
            (exit(0), b"", "", false, "(no output)"),
            (exit(0), b"\n", "", false, "(no output)"),
            (exit(0), b"", "note\n", false, "(no output)\nstderr:\nnote"),
            (exit(0), b"\xff\xfeok", "", false, "\u{fffd}\u{fffd}ok"),
            (exit(1), b"", "", true, "exit status 1"),
            (exit(3), b"half\n", "bad flag\n", true, "exit status 3\nstderr:\nbad flag\nstdout:\nhalf"),
            (exit(255), b"half", "", true, "exit status 255\nstdout:\nhalf"),
            (signal(9), b"", "", true, "killed by signal 9 (SIGKILL)"),
            (signal(11 | 0x80), b"x", "", true, "killed by signal 11 (SIGSEGV)\nstdout:\nx"),
            (signal(40), b"", "", true, "killed by signal 40"),
            (
                End::Flooded,
                b"xxxx",
                "e",
                true,
                "it was stopped: it wrote more than 4 bytes, of which these were kept\nstderr:\ne\nstdout:\nxxxx",
            ),
        ] {
            let ended = Ended { end, stdout: stdout.to_vec(), stderr: stderr.to_owned() };
            let expected = if is_error { Answer::error(text) } else { Answer::text(text) };
            assert_eq!(answer(&ended), expected, "{ended:?}");
        }
    }
}
