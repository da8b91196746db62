//! The whole suite as a search for leaks: with `CONVERSE_CANARY` set to a directory, everything that a test leaves behind
//! stays below it: homes, logs at trace level, what was written to stdout, stderr and terminals. `cargo xtask canary`
//! sets it, and then looks for keys in all of it, and in the environment of every program that was started.
//!
//! Every secret of every test has [`MARK`] in it, and begins in a way of its own. A secret that a person or a model says
//! has none, for what is said is kept; one that a descriptor hands to a program begins with `granted-`.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::json;

/// What is looked for.
pub(crate) const MARK: &str = "canary-0123456789";

/// Secrets that are nobody's business.
const OTHERS: [&str; 6] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS_TOKEN",
    "NPM_TOKEN",
    "PGPASSWORD",
];

/// Where everything goes, if it is to be kept.
fn directory() -> Option<PathBuf> {
    std::env::var_os("CONVERSE_CANARY").map(PathBuf::from)
}

fn fresh(directory: &Path, kind: &str) -> PathBuf {
    let below = directory.join(kind);
    std::fs::create_dir_all(&below).unwrap();
    below.join(number())
}

/// No two are the same.
fn number() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed))
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
    let Some(directory) = directory() else { return Vec::new() };
    let logs = directory.join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    let logs = logs.into_os_string().into_string().unwrap();
    let log = [("CONVERSE_TEST_LOG".to_owned(), logs), ("RUST_BACKTRACE".to_owned(), "full".to_owned())];
    secrets(OTHERS).chain(log).collect()
}

/// Variables of tests with a provider: every one that the program knows a key by, each with another key, and no way to
/// whom it is for.
pub(crate) fn keys() -> Vec<(String, String)> {
    if directory().is_none() {
        return Vec::new();
    }
    let rows = || converse_provider::rows().iter();
    let nowhere = |name: &&str| ((*name).to_owned(), "http://127.0.0.1:9/v1".to_owned());
    let searching = converse_ensemble::builtins().iter().flat_map(|builtin| builtin.variables);
    let searching = searching.filter(|variable| variable.is_secret).map(|variable| variable.name);
    secrets(rows().flat_map(|row| row.key_env).copied().chain(searching))
        .chain(rows().filter(|row| !row.key_env.is_empty()).flat_map(|row| row.base_url_env).map(nowhere))
        .collect()
}

/// One of another is never taken for it: the program knows a key by its first twelve bytes.
fn secrets(names: impl IntoIterator<Item = &'static str>) -> impl Iterator<Item = (String, String)> {
    names.into_iter().map(|name| {
        let sum = name.bytes().fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
        (name.to_owned(), format!("{sum:08x}-{MARK}"))
    })
}

/// Tells a run from all others: whoever else has this variable was handed the environment of the run.
pub(crate) fn run() -> Option<(&'static str, String)> {
    directory().map(|_| ("CONVERSE_TEST_RUN", number()))
}

/// What a test wrote itself may hold a key.
pub(crate) fn wrote(path: &Path, text: &str) {
    if let Some(directory) = directory() {
        let record = json!({ "path": path, "text": text }).to_string();
        std::fs::write(fresh(&directory, "written"), record).unwrap();
    }
}

/// Keeps what was said.
pub(crate) fn heard(stdout: &str, stderr: &str) {
    if let Some(directory) = directory() {
        std::fs::write(fresh(&directory, "stdout"), stdout).unwrap();
        std::fs::write(fresh(&directory, "stderr"), stderr).unwrap();
    }
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

/// A pipe of the program that a test reads itself: kept as it is read.
pub(crate) struct Overheard<R> {
    pipe: R,
    file: Option<File>,
}

pub(crate) fn overhear<R: Read>(pipe: R) -> Overheard<R> {
    let file = directory().map(|directory| File::create(fresh(&directory, "pipes")).unwrap());
    Overheard { pipe, file }
}

impl<R: Read> Read for Overheard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.pipe.read(buffer)?;
        saw(&mut self.file, &buffer[..count]);
        Ok(count)
    }
}
