//! A run under strace: watched, killed at one call, or refused one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env::{TestEnv, files};
use crate::options::Strace;
use crate::points::{CALLS, FAILING, Fault, Point};

/// Counts the calls of the run, into `trace`; with files, the calls about these.
pub(crate) fn counting(strace: &Strace, run: &Command, trace: &Path, files: &[PathBuf]) -> Command {
    under(strace, run, trace, &about(&format!("trace={}", CALLS.join(",")), files))
}

/// The kernel kills the whole program when it enters that call, which is not done any more; or the call fails.
pub(crate) fn faulty(strace: &Strace, run: &Command, point: &Point, files: &[PathBuf]) -> Command {
    let Point { call, nth, fault, .. } = point;
    let failure = FAILING.iter().find(|(known, _)| known == call);
    let (effect, files) = match (fault, failure) {
        (Fault::Disk, Some((_, error))) => (format!("error={error}"), files),
        _ => ("signal=SIGKILL".to_owned(), &[][..]),
    };
    let mut options = about(&format!("trace={call}"), files);
    options.extend(["-e".into(), format!("inject={call}:{effect}:when={nth}").into()]);
    under(strace, run, Path::new("/dev/null"), &options)
}

fn about(calls: &str, files: &[PathBuf]) -> Vec<OsString> {
    let files = files.iter().flat_map(|file| ["-P".into(), file.into()]);
    ["-e".into(), calls.into()].into_iter().chain(files).collect()
}

/// What the program keeps of a session that is there, and of what it does.
pub(crate) fn kept(env: &TestEnv) -> Vec<PathBuf> {
    let sessions = files(&env.path("home/.local/share/converse/sessions")).into_iter();
    let journals = sessions.filter(|file| file.ends_with("journal.jsonl"));
    let names = ["journal.jsonl", "lock", "metadata.toml", ".tmp-0-metadata.toml"];
    let of_sessions = journals.flat_map(|journal| names.map(|name| journal.with_file_name(name)));
    of_sessions.chain([env.path("home/.local/state/converse/audit.jsonl")]).collect()
}

fn under(strace: &Strace, run: &Command, trace: &Path, options: &[OsString]) -> Command {
    let mut command = Command::new(&strace.program);
    command.arg("-o").arg(trace).args(options);
    if strace.libraries.is_some() {
        // For strace alone.
        command.args(["-E", "LD_LIBRARY_PATH"]);
    }
    command.arg("--").arg(run.get_program()).args(run.get_args());
    command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(libraries) = &strace.libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.current_dir(run.get_current_dir().unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
