//! The entry in an editor of the person's own choice.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use converse_text::secrets::is_secret;

const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// A private file, removed when this value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(directory: &Path, text: &str) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let path = directory.join(format!("entry-{}-{}.md", std::process::id(), now.as_nanos()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let scratch = Self(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the text as edited by the user, without trailing blanks and not sanitized. Waits for the editor. `command`
/// is the command line of the editor, which gets the environment without secrets; `directory` must be readable only by
/// its owner.
///
/// # Errors
///
/// Returns a message if no editor is set, or it cannot be run, or it failed.
pub fn edited(command: &[String], directory: &Path, text: &str) -> Result<String, String> {
    let Some((program, words)) = command.split_first() else {
        return Err("no editor is set or installed: set $VISUAL or $EDITOR".to_owned());
    };
    let failed = |error: io::Error| format!("the editor's file cannot be used: {error}");
    let scratch = Scratch::new(directory, text).map_err(failed)?;
    let status = command_of(program).args(words).arg(&scratch.0).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("`{program}` ended with {status}: the entry is as it was")),
        Err(error) => return Err(format!("`{program}` cannot be run: {error}")),
    }
    // By its name: many editors write a new file and put it in the place of the old one.
    let mut bytes = Vec::new();
    let file = File::open(&scratch.0).map_err(failed)?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_end().to_owned())
}

/// Shows the text in the user's pager, and waits for it. The pager gets the environment without secrets. `less` shows
/// colours, and ends at once if the text fits the screen, unless `$LESS` says otherwise.
///
/// # Errors
///
/// Returns a message if the pager cannot be run, or failed.
pub fn paged(command: &[String], text: &str) -> Result<(), String> {
    let Some((program, words)) = command.split_first() else { return Err("no pager is set".to_owned()) };
    let failed = |error: io::Error| format!("`{program}` cannot be run: {error}");
    let mut pager = command_of(program);
    if inherited().all(|(name, _)| name != "LESS") {
        pager.env("LESS", "FRX");
    }
    let mut pager = pager.args(words).stdin(Stdio::piped()).spawn().map_err(failed)?;
    // A pager that is left before the end reads no more.
    let _ = pager.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    match pager.wait().map_err(failed)? {
        status if status.success() => Ok(()),
        status => Err(format!("`{program}` ended with {status}")),
    }
}

fn command_of(program: &str) -> Command {
    let mut command = Command::new(program);
    inherited().filter(|(name, value)| is_withheld(name, value)).for_each(|(name, _)| {
        command.env_remove(name);
    });
    command
}

#[allow(clippy::disallowed_methods, reason = "what a child inherits is the environment as it is now")]
fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

fn is_withheld(name: &OsStr, value: &OsStr) -> bool {
    is_secret(&name.to_string_lossy(), &value.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, text: &str) -> (Result<String, String>, usize) {
        let home = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script, "sh"].map(str::to_owned);
        let edited = edited(&command, home.path(), text);
        (edited, fs::read_dir(home.path()).unwrap().count())
    }

    #[test]
    fn the_text_goes_out_and_comes_back() {
        let (edited, left) = run("stat -c %a \"$1\" >> \"$1\"", "first\n");
        assert_eq!(edited.as_deref(), Ok("first\n600"));
        assert_eq!(left, 0, "the file is gone");
    }

    #[test]
    fn an_editor_gets_the_environment_without_its_secrets() {
        let (edited, _) = run("echo \"${PATH:+path} ${CARGO_PKG_NAME-}.\" > \"$1\"", "first");
        assert_eq!(edited.as_deref(), Ok("path converse-editor."));
        for (name, value, withheld) in [
            ("DB_PASS", "swordfish", true),
            ("GITHUB_PAT", "swordfish", true),
            ("MY_APIKEY", "swordfish", true),
            ("PGPASSWORD", "swordfish", true),
            ("PATH", "/usr/bin", false),
            ("PWD", "/work", false),
            ("SSH_AUTH_SOCK", "/run/user/1000/agent.sock", false),
            ("TERM", "xterm", false),
        ] {
            assert_eq!(is_withheld(name.as_ref(), value.as_ref()), withheld, "{name}");
        }
    }

    #[test]
    fn a_pager_reads_the_text_and_may_leave_early() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        let shell = |script: &str| ["sh", "-c", script, "sh", out.to_str().unwrap()].map(str::to_owned);
        let shown = |script: &str, text: &str| paged(&shell(script), text);
        assert_eq!(shown("cat > \"$1\"; echo \"$LESS ${CARGO_PKG_NAME-}\" >> \"$1\"", "a\nb\n"), Ok(()));
        let less =
            inherited().find(|(name, _)| name == "LESS").map(|(_, value)| value.into_string().unwrap());
        let expected = format!("a\nb\n{} converse-editor\n", less.as_deref().unwrap_or("FRX"));
        assert_eq!(fs::read_to_string(&out).unwrap(), expected);
        assert_eq!(shown("exit 0", &"x".repeat(1 << 20)), Ok(()), "nobody reads the rest");
        assert!(shown("exit 3", "x").is_err_and(|why| why.contains("exit status: 3")));
        assert!(paged(&["no-such-pager-here".to_owned()], "x").is_err());
    }

    #[test]
    fn a_failing_editor_changes_nothing() {
        let (edited, left) = run("echo lost > \"$1\"; exit 3", "first");
        assert!(edited.is_err_and(|why| why.contains("exit status: 3")));
        assert_eq!(left, 0);
        let missing = super::edited(&["no-such-editor-here".to_owned()], Path::new("."), "x");
        assert!(missing.is_err_and(|why| why.contains("cannot be run")));
        assert!(super::edited(&[], Path::new("."), "x").is_err_and(|why| why.contains("$EDITOR")));
    }
}
