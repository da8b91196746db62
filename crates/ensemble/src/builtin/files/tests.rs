//! The file tools against a real directory, with symlinks, pipes and sockets in it.

#![cfg(unix)]

mod edited;
mod jailed;
mod listed;
mod raced;
mod readable;
mod searched;
mod writable;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use converse_canister::Arguments;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::builtin::Settings;
use crate::builtin::testing::{TempDir, build, context, fixed, invoke, settings, words};
use crate::{Invocable, InvokeError};

/// A workspace with things in it, beside a secret it must not reach.
///
/// ```text
/// jail/{a.txt, dir/inner.txt, dir/deep/, link -> a.txt, dirlink -> dir, .hidden, …}
/// jail-evil/secret.txt      secret.txt
/// ```
struct Ground {
    temp: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { temp: TempDir::new() };
        let (jail, temp) = (ground.jail(), ground.temp.path().to_owned());
        for dir in ["jail/dir/deep", "jail/.git/hooks", "jail/ensembles", "jail/.ssh", "jail-evil", "state"] {
            fs::create_dir_all(temp.join(dir)).unwrap();
        }
        for (file, content) in [
            ("jail/a.txt", "alpha\n"),
            ("jail/dir/inner.txt", "inner\n"),
            ("jail/.hidden", ""),
            ("jail/.git/config", ""),
            ("jail/converse.toml", "mine"),
            ("jail-evil/secret.txt", "SECRET"),
            ("secret.txt", "SECRET"),
        ] {
            fs::write(temp.join(file), content).unwrap();
        }
        for (link, target) in [
            ("link", "a.txt"),
            ("dirlink", "dir"),
            ("chain", "link"),
            ("out", "../secret.txt"),
            ("outdir", ".."),
            ("absolute", "/etc/passwd"),
            ("outchain", "out"),
            ("dangling", "nowhere"),
            ("loop", "loop"),
            ("dir/up", "../.."),
            ("gitlink", ".git"),
            ("ownlink", "converse.toml"),
        ] {
            symlink(target, jail.join(link)).unwrap();
        }
        ground
    }

    fn jail(&self) -> PathBuf {
        self.temp.path().join("jail")
    }

    fn tool(&self, name: &str) -> Arc<dyn Invocable> {
        self.tool_with(name, json!({}))
    }

    fn tool_with(&self, name: &str, configuration: Value) -> Arc<dyn Invocable> {
        let protected = [self.temp.path().join("state"), self.jail().join("dir/deep/kept")];
        build(name, configuration, &self.jail(), &protected, fixed("2026-11-20T12:00:00Z")).unwrap()
    }

    /// What the tool says: the text, `error: …` or `invalid: …`.
    fn said(&self, name: &str, arguments: Value) -> String {
        told(&*self.tool(name), arguments)
    }

    fn at(&self, path: &str) -> String {
        fs::read_to_string(self.jail().join(path)).unwrap()
    }
}

fn told(tool: &dyn Invocable, arguments: Value) -> String {
    match invoke(tool, arguments) {
        Ok(answer) if answer.is_error => format!("error: {}", words(&answer)),
        Ok(answer) => words(&answer).to_owned(),
        Err(InvokeError::Invalid(text)) => format!("invalid: {text}"),
        Err(error) => format!("failed: {error}"),
    }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Names in a directory, sorted, to see that nothing was left behind.
fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The signal is the caller's: whoever stands around a tool looks at it when the tool has answered.
#[test]
fn a_call_that_ends_gives_its_callers_signal_to_nobody() {
    let ground = Ground::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for (name, arguments) in [
        ("read_file", json!({ "path": "a.txt" })),
        ("read_file", json!({ "path": "nowhere" })),
        ("list_directory", json!({})),
    ] {
        let arguments = Arguments::from_object(arguments.as_object().unwrap().clone());
        let cancel = CancellationToken::new();
        let outcome = runtime.block_on(ground.tool(name).invoke(context(cancel.clone()), &arguments));
        assert!(outcome.is_ok() && !cancel.is_cancelled(), "{name}: {outcome:?}");
    }
}
