//! Removes the files that a program left. They may be made to hinder that: nested deeper than the stack or the table of
//! descriptors allows, without permissions, full of links.
//!
//! No link is followed and nothing recurses: a directory that is not empty is moved to the top and emptied there, so that
//! at most two directories are open at a time.

use std::fs::{Permissions, set_permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Of a directory that is to be emptied and moved.
const OURS: u32 = 0o700;

/// Removes the directory `top` with all its content, or fails after `until`. The names directly in it are ours.
pub(super) fn remove(top: &Path, until: Instant) -> io::Result<()> {
    let root = open(CWD, top)?;
    let mut removal = Removal { root: &root, until, moved: 0 };
    while removal.empty_once()? {}
    unlinkat(CWD, top, AtFlags::REMOVEDIR).map_err(io::Error::from)
}

struct Removal<'a> {
    root: &'a OwnedFd,
    until: Instant,
    moved: u64,
}

impl Removal<'_> {
    /// Removes each entry once. Returns whether there was any: then there may be more by now.
    fn empty_once(&mut self) -> io::Result<bool> {
        let mut any = false;
        for entry in Dir::read_from(self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            any = true;
            if self.try_remove(self.root, name)? {
                continue;
            }
            let directory = open(self.root, name)?;
            self.empty_into_root(&directory)?;
            unlinkat(self.root, name, AtFlags::REMOVEDIR)?;
        }
        Ok(any)
    }

    /// Removes everything in the directory or moves it to the top.
    fn empty_into_root(&mut self, directory: &OwnedFd) -> io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) || self.try_remove(directory, name)? {
                continue;
            }
            // Moving a directory needs permission to write to it.
            drop(open(directory, name)?);
            loop {
                self.moved += 1;
                match renameat(directory, name, self.root, format!("moved-{}", self.moved)) {
                    Err(Errno::EXIST | Errno::NOTEMPTY) => self.in_time()?,
                    ended => break ended?,
                }
            }
        }
        Ok(())
    }

    /// Removes an entry. Returns false for a directory that is not empty.
    fn try_remove(&self, directory: &OwnedFd, name: &std::ffi::CStr) -> io::Result<bool> {
        self.in_time()?;
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(true),
            // What it answers of a directory differs between file systems.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        match unlinkat(directory, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn in_time(&self) -> io::Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

/// Opens a directory, with any permissions; never through a link.
fn open(directory: impl std::os::fd::AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let no_link = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(&directory, name, no_link | OFlags::PATH, Mode::empty())?;
    if fstat(&place)?.st_mode & OURS != OURS {
        // The way to a descriptor that was opened for nothing leads to that very directory.
        set_permissions(format!("/proc/self/fd/{}", place.as_raw_fd()), Permissions::from_mode(OURS))?;
    }
    Ok(openat(&directory, name, no_link | OFlags::RDONLY, Mode::empty())?)
}

fn is_dots(name: &std::ffi::CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use rustix::fs::mkdirat;

    use super::*;

    /// Directories in directories, deeper than any path reaches.
    fn nest(top: &Path, levels: usize, mode: u32) {
        let directory = |at: &OwnedFd| {
            openat(at, "d", OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty()).unwrap()
        };
        let mut here = open(CWD, top).unwrap();
        for _ in 0..levels {
            mkdirat(&here, "d", Mode::from_raw_mode(0o700)).unwrap();
            let next = directory(&here);
            if mode != OURS {
                rustix::fs::fchmod(&here, Mode::from_raw_mode(mode)).unwrap();
            }
            here = next;
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn what_is_deep_or_locked_goes_and_what_is_linked_to_stays() {
        let temp = tempfile::tempdir().unwrap();
        let (top, outside) = (temp.path().join("top"), temp.path().join("outside"));
        for place in ["top/home/wide", "top/deep", "top/locked/a/b", "outside/kept"] {
            fs::create_dir_all(temp.path().join(place)).unwrap();
        }
        nest(&top.join("deep"), 16_000, 0o700);
        nest(&top.join("locked/a/b"), 20, 0o500);
        for number in 0..500 {
            fs::write(top.join(format!("home/wide/{number}")), "").unwrap();
            fs::create_dir_all(top.join(format!("home/wide/moved-{number}/moved-{number}/x"))).unwrap();
        }
        fs::write(top.join("locked/a/file"), "").unwrap();
        symlink(&outside, top.join("home/link")).unwrap();
        symlink(&outside, top.join("locked/a/link")).unwrap();
        set_permissions(top.join("locked/a"), Permissions::from_mode(0o000)).unwrap();
        set_permissions(top.join("locked"), Permissions::from_mode(0o555)).unwrap();
        remove(&top, soon()).unwrap();
        assert!(!top.exists());
        assert!(outside.join("kept").is_dir());
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn it_ends_in_time_and_takes_no_link_for_a_directory() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        let error = remove(&top, Instant::now()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        symlink(&top, temp.path().join("link")).unwrap();
        assert!(remove(&temp.path().join("link"), soon()).is_err());
        assert!(top.join("a").is_dir());
        remove(&top, soon()).unwrap();
    }
}
