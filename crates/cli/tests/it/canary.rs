//! The whole suite as a search for leaks: with `CONVERSE_CANARY` set to a directory, everything that a test leaves behind
//! stays below it: homes, what was written to stdout, stderr and terminals, the environment of each server. Runs are at
//! trace level. `cargo xtask canary` then looks for keys in all of it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::json;

/// What every key of every test has in it.
const KEY: &str = "sk-canary-0123456789abcdef";

/// Keys of vendors, where nobody listens in place of them.
const VENDORS: [&str; 11] = [
    "ANTHROPIC",
    "DEEPSEEK",
    "FIREWORKS",
    "GEMINI",
    "GROQ",
    "MISTRAL",
    "OPENAI",
    "OPENROUTER",
    "TOGETHER",
    "XAI",
    "AZURE_OPENAI",
];

/// Secrets that are nobody's business.
const OTHERS: [&str; 6] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "PGPASSWORD",
    "SSH_AUTH_SOCK",
];

/// Where everything goes, if it is to be kept.
fn directory() -> Option<PathBuf> {
    std::env::var_os("CONVERSE_CANARY").map(PathBuf::from)
}

fn fresh(directory: &Path, kind: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let below = directory.join(kind);
    std::fs::create_dir_all(&below).unwrap();
    below.join(format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)))
}

/// A place for a test.
pub(crate) fn place() -> tempfile::TempDir {
    let Some(directory) = directory() else { return tempfile::tempdir().unwrap() };
    let homes = directory.join("homes");
    std::fs::create_dir_all(&homes).unwrap();
    let mut place = tempfile::tempdir_in(homes).unwrap();
    place.disable_cleanup(true);
    place
}

/// Variables of each test.
pub(crate) fn variables() -> Vec<(String, String)> {
    if directory().is_none() {
        return Vec::new();
    }
    let secrets = OTHERS.iter().map(|name| ((*name).to_owned(), KEY.to_owned()));
    secrets.chain([("RUST_BACKTRACE".to_owned(), "full".to_owned())]).collect()
}

/// Variables of tests with a provider.
pub(crate) fn keys() -> Vec<(String, String)> {
    if directory().is_none() {
        return Vec::new();
    }
    let both = |name: &&str| {
        let nowhere = "http://127.0.0.1:9/v1".to_owned();
        [(format!("{name}_API_KEY"), KEY.to_owned()), (format!("{name}_BASE_URL"), nowhere)]
    };
    VENDORS.iter().flat_map(both).collect()
}

/// What a test wrote itself may hold a key.
pub(crate) fn wrote(path: &Path, text: &str) {
    if let Some(directory) = directory() {
        let record = json!({ "path": path, "text": text }).to_string();
        std::fs::write(fresh(&directory, "written"), record).unwrap();
    }
}

/// Tells everything, unless it must not.
pub(crate) fn trace(command: &mut Command, words: &[&std::ffi::OsStr]) {
    let quiet = words.iter().any(|word| *word == "-q" || *word == "--quiet");
    let apart = words.first().is_some_and(|word| *word == "fake-server" || *word == "without-landlock");
    if directory().is_some() && !quiet && !apart {
        command.arg("-vvv");
    }
}

/// Keeps what was said; gives stderr without its log, which no test looks for.
pub(crate) fn heard(stdout: &str, stderr: String) -> String {
    let Some(directory) = directory() else { return stderr };
    std::fs::write(fresh(&directory, "stdout"), stdout).unwrap();
    std::fs::write(fresh(&directory, "stderr"), &stderr).unwrap();
    let is_log = |line: &&str| line.starts_with("20") && line.get(26..28) == Some("Z ");
    stderr.split_inclusive('\n').filter(|line| !is_log(line)).collect()
}

/// Where what a terminal shows is kept as well.
pub(crate) fn screen() -> Option<File> {
    directory().map(|directory| File::create(fresh(&directory, "screens")).unwrap())
}

/// Keeps a part of it.
pub(crate) fn saw(file: &mut Option<File>, bytes: &[u8]) {
    if let Some(file) = file {
        file.write_all(bytes).unwrap();
    }
}

/// A flag of the fake server: where it writes its environment.
pub(crate) fn environment() -> Option<String> {
    directory().map(|directory| format!("--environment={}", fresh(&directory, "environments").display()))
}
