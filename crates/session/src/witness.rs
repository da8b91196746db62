//! In tests, records every operation on a session's files in order, so that a test can reconstruct the disk after a power
//! cut. Otherwise does nothing.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// One file operation.
#[derive(Debug, Clone)]
#[cfg_attr(not(test), allow(dead_code, reason = "only tests look at it"))]
pub(crate) enum Act {
    MadeDir(PathBuf),
    /// A file was opened for writing, possibly created, and has this length.
    Opened(PathBuf, u64),
    /// Bytes were appended.
    Wrote(PathBuf, Vec<u8>),
    Cut(PathBuf, u64),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    SyncedDir(PathBuf),
    Read(PathBuf),
    /// A test was told that this many lines are durable.
    #[cfg(test)]
    Promised(u64),
}

#[cfg(test)]
std::thread_local! {
    static ACTS: std::cell::RefCell<Option<Vec<Act>>> = const { std::cell::RefCell::new(None) };
}

/// Returns the operations of this thread while `run` runs.
#[cfg(test)]
pub(crate) fn acts(run: impl FnOnce()) -> Vec<Act> {
    ACTS.set(Some(Vec::new()));
    run();
    ACTS.take().unwrap_or_default()
}

#[cfg(test)]
pub(crate) fn promised(lines: u64) {
    tell(|| Act::Promised(lines));
}

pub(crate) fn made_dir(path: &Path) {
    tell(|| Act::MadeDir(path.to_owned()));
}

pub(crate) fn opened(path: &Path, file: &File) {
    tell(|| Act::Opened(path.to_owned(), file.metadata().map_or(0, |file| file.len())));
}

pub(crate) fn wrote(file: &File, bytes: &[u8]) {
    tell(|| Act::Wrote(path_of(file), bytes.to_owned()));
}

pub(crate) fn cut(file: &File, length: u64) {
    tell(|| Act::Cut(path_of(file), length));
}

pub(crate) fn synced(file: &File) {
    tell(|| Act::Synced(path_of(file)));
}

pub(crate) fn renamed(from: &Path, to: &Path) {
    tell(|| Act::Renamed(from.to_owned(), to.to_owned()));
}

pub(crate) fn removed(path: &Path) {
    tell(|| Act::Removed(path.to_owned()));
}

pub(crate) fn synced_dir(path: &Path) {
    tell(|| Act::SyncedDir(path.to_owned()));
}

pub(crate) fn read(path: &Path) {
    tell(|| Act::Read(path.to_owned()));
}

fn tell(act: impl FnOnce() -> Act) {
    #[cfg(test)]
    ACTS.with_borrow_mut(|acts| acts.as_mut().map(|acts| acts.push(act())));
    #[cfg(not(test))]
    let _ = act;
}

fn path_of(file: &File) -> PathBuf {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}
