//! A disk that tells what was synced from what was not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::witness::Act;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Killed,
    /// In the middle of the write that came last.
    KilledWriting,
    /// Nothing but what was synced.
    Cut,
    /// Names are those of now, though no directory was synced.
    CutLate,
    /// And of what was not synced the first half is there.
    CutHalf,
    /// And zeros stand for what was not synced.
    CutZeros,
    /// And zeros stand for a third of it, which reached the disk last.
    CutHole(usize),
}

const ENDS: [End; 9] = [
    End::Killed,
    End::KilledWriting,
    End::Cut,
    End::CutLate,
    End::CutHalf,
    End::CutZeros,
    End::CutHole(0),
    End::CutHole(1),
    End::CutHole(2),
];

#[derive(Debug, Default, Clone)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    dirs: BTreeSet<PathBuf>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Disk {
    contents: Vec<Content>,
    now: Names,
    synced: Names,
}

impl Disk {
    /// Of a directory that has been there for long.
    pub(super) fn of(dir: &Path) -> Self {
        let mut disk = Self::default();
        let mut dirs = vec![dir.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    disk.now.files.insert(path, disk.contents.len());
                    disk.contents.push(Content { now: bytes.clone(), synced: bytes });
                }
            }
            disk.now.dirs.insert(dir);
        }
        disk.synced = disk.now.clone();
        disk
    }

    fn content(&mut self, path: &Path) -> &mut Content {
        let next = self.contents.len();
        let at = *self.now.files.entry(path.to_owned()).or_insert(next);
        if at == next {
            self.contents.push(Content::default());
        }
        &mut self.contents[at]
    }

    fn take(&mut self, act: &Act) {
        match act {
            Act::MadeDir(path) => drop(self.now.dirs.insert(path.clone())),
            Act::Opened(path, length) | Act::Cut(path, length) => {
                self.content(path).now.truncate(*length as usize);
            }
            Act::Wrote(path, bytes) => self.content(path).now.extend(bytes),
            Act::Synced(path) => {
                let content = self.content(path);
                content.synced = content.now.clone();
            }
            Act::Renamed(from, to) => {
                let at = self.now.files.remove(from).unwrap();
                self.now.files.insert(to.clone(), at);
            }
            Act::Removed(path) => drop(self.now.files.remove(path)),
            Act::SyncedDir(dir) => {
                let of_dir = |path: &Path| path.parent() == Some(dir);
                self.synced.files.retain(|path, _| !of_dir(path));
                self.synced.files.extend(self.now.files.clone().into_iter().filter(|(path, _)| of_dir(path)));
                self.synced.dirs.extend(self.now.dirs.iter().filter(|path| of_dir(path)).cloned());
            }
            Act::Read(_) | Act::Promised(_) => {}
        }
    }

    /// What is found afterwards, `from` being `to` there.
    fn restore(&self, end: End, from: &Path, to: &Path) {
        let names = if end == End::Cut { &self.synced } else { &self.now };
        let moved = |path: &Path| to.join(path.strip_prefix(from).unwrap());
        for dir in &names.dirs {
            fs::create_dir_all(moved(dir)).unwrap();
        }
        for (path, at) in &names.files {
            let path = moved(path);
            if path.parent().unwrap().is_dir() {
                fs::write(path, self.contents[*at].after(end)).unwrap();
            }
        }
    }
}

impl Content {
    fn after(&self, end: End) -> Vec<u8> {
        let more = self.now.strip_prefix(self.synced.as_slice()).unwrap_or_default();
        match end {
            End::Killed | End::KilledWriting => self.now.clone(),
            End::Cut | End::CutLate => self.synced.clone(),
            End::CutHalf => [&self.synced, &more[..more.len() / 2]].concat(),
            End::CutHole(third) => {
                let mut more = more.to_vec();
                let hole = more.len() * third / 3..more.len() * (third + 1) / 3;
                more[hole].fill(0);
                [self.synced.as_slice(), &more].concat()
            }
            End::CutZeros => [self.synced.as_slice(), &vec![0; more.len()]].concat(),
        }
    }
}

/// Calls `look` with every state that the disk may be found in, and how many lines had been promised by then.
pub(super) fn at_every_point(
    root: &Path,
    before: Disk,
    acts: &[Act],
    look: impl Fn(&Path, u64, &str),
) -> usize {
    let (mut disk, mut promised, mut points) = (before, 0, 0);
    for (number, act) in acts.iter().enumerate() {
        let mut last = disk.clone();
        disk.take(act);
        if let Act::Promised(lines) = act {
            promised = *lines;
        }
        if let Act::Wrote(path, bytes) = act {
            last.content(path).now.extend(&bytes[..bytes.len() / 2]);
        }
        for end in ENDS {
            let found = if end == End::KilledWriting { &last } else { &disk };
            let dir = tempfile::tempdir().unwrap();
            found.restore(end, root, dir.path());
            look(dir.path(), promised, &format!("{end:?} after act {number}: {act:.200?}"));
            points += 1;
        }
    }
    points
}
