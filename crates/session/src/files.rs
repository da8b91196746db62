//! Private files and directories, and the one way in which converse replaces a small file as a whole ([`replace`]).
//!
//! The umask narrows a mode that is given at creation, and an existing file keeps its own mode. The mode is therefore
//! checked afterwards and set if it differs.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;

use crate::witness;

mod digests;
mod private_text;
mod watch;

pub use digests::{DigestBudget, FileDigests};
pub use private_text::PrivateText;
pub use watch::FileWatch;

/// Start of the name of a temporary file.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Names that [`Writers::Several`] tries before it gives up.
const MAX_NAMES: u32 = 100;

/// How [`replace`] writes a file.
#[derive(Debug, Clone, Copy)]
pub struct Replace {
    pub writers: Writers,
    pub mode: Mode,
    pub durability: Durability,
    /// Refuses to replace an existing file with the error [`ErrorKind::AlreadyExists`].
    pub only_new: bool,
}

/// How many writers one file may have at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// One, which holds a lock. The temporary file is `.tmp-0-NAME`; one that a killed writer left behind is removed.
    One,
    /// Any number, of this and other processes. Each writes its own `.tmp-PID-NUMBER`.
    Several,
}

/// The permissions of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Exactly these bits, whatever the umask is.
    Exact(u32),
    /// These bits, narrowed by the umask.
    Umasked(u32),
}

/// What survives a power cut once [`replace`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is promised: the file can be made again.
    None,
    /// The name leads to the whole old file or the whole new one.
    Content,
    /// The name leads to the new file: the directory is synced too.
    Name,
}

impl Replace {
    /// A file for the user's eyes only, durable under its name.
    pub const PRIVATE: Self = Self {
        writers: Writers::Several,
        mode: Mode::Exact(0o600),
        durability: Durability::Name,
        only_new: false,
    };
    /// The same for a file whose writers hold a lock.
    pub const LOCKED: Self = Self { writers: Writers::One, ..Self::PRIVATE };
    /// A private file that can be made again.
    pub const CACHE: Self = Self { durability: Durability::None, ..Self::PRIVATE };
}

/// Replaces the file at `path` as a whole: writes a temporary file beside it and renames that over it.
///
/// A reader sees all of the old bytes or all of the new bytes. A symbolic link at `path` is replaced and never written
/// through, and neither is one in the place of the temporary file.
///
/// # Errors
///
/// Any step may fail, for example on a full disk or in a read-only directory. The temporary file is removed then. The
/// file is as it was, unless only the sync of its directory failed.
pub fn replace(path: &Path, bytes: &[u8], how: Replace) -> io::Result<()> {
    replace_with(path, how, |file| write(file, bytes))
}

/// The same for a file that is too large for the memory: `write` writes it.
///
/// # Errors
///
/// Those of [`replace`] and of `write`.
pub fn replace_with(
    path: &Path,
    how: Replace,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, mut file) = create_temporary(path, how)?;
    let written = fill(&mut file, write, how).and_then(|()| put(&temporary, path, how));
    if written.is_err() || how.only_new {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn create_temporary(path: &Path, how: Replace) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (Mode::Exact(mode) | Mode::Umasked(mode)) = how.mode;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    for _ in 0..MAX_NAMES {
        let temporary = path.with_file_name(match how.writers {
            Writers::One => format!("{TEMPORARY}0-{}", name.to_string_lossy()),
            Writers::Several => {
                format!("{TEMPORARY}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
            }
        });
        match options.open(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if how.writers == Writers::One {
                    fs::remove_file(&temporary)?;
                    witness::removed(&temporary);
                }
            }
            Err(error) => return Err(error),
            Ok(file) => {
                witness::opened(&temporary, &file);
                return Ok((temporary, file));
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn fill(file: &mut File, write: impl FnOnce(&mut File) -> io::Result<()>, how: Replace) -> io::Result<()> {
    if let Mode::Exact(mode) = how.mode {
        set_mode(file, mode)?;
    }
    write(file)?;
    match how.durability {
        Durability::None => Ok(()),
        Durability::Content | Durability::Name => sync(file),
    }
}

fn put(temporary: &Path, path: &Path, how: Replace) -> io::Result<()> {
    if how.only_new {
        // Unlike a rename, a link fails if the name is taken.
        fs::hard_link(temporary, path)?;
    } else {
        fs::rename(temporary, path)?;
        witness::renamed(temporary, path);
    }
    if how.durability != Durability::Name {
        return Ok(());
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    sync_dir(dir.unwrap_or(Path::new(".")))
}

/// Opens a regular file; opening anything else, such as a pipe or a device, is an error. It does not block and has no side
/// effects. A link as the last part of the path is not followed; the caller has resolved links that may be followed.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("is not a regular file")) }
}

/// Creates the directory and its missing parents with the mode 0700, narrowed by the umask.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    witness::made_dir(path);
    Ok(())
}

/// Creates a directory that must not exist yet. Nobody else can look into it at any moment.
pub(crate) fn new_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Creates the directory and its missing parents, and gives it the mode 0700 even if it existed.
pub fn private_dir(path: &Path) -> io::Result<()> {
    make_dir(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o7777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Opens a file with the options and gives it the mode 0600, even if it existed.
pub fn private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.mode(0o600).open(path)?;
    witness::opened(path, &file);
    set_mode(&file, 0o600)?;
    Ok(file)
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o7777 != mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Opens a file for reading. Anything but a regular file is an error at once: a pipe would block.
pub(crate) fn regular(path: &Path) -> io::Result<File> {
    witness::read(path);
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("not a regular file")) }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    witness::synced_dir(path);
    Ok(())
}

/// Writes bytes durably. The name of a new file is not durable yet.
pub(crate) fn write_durably(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    write(file, bytes)?;
    sync(file)
}

fn sync(file: &File) -> io::Result<()> {
    file.sync_all()?;
    witness::synced(file);
    Ok(())
}

fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    witness::wrote(file, bytes);
    Ok(())
}

/// Removes the temporary files that a killed [`replace`] left in a directory. The caller must hold the lock of all of
/// its writers.
pub(crate) fn sweep(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs::remove_file(entry.path())?;
            witness::removed(&entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::witness::{Act, acts};

    const WAYS: [Replace; 4] = [
        Replace::PRIVATE,
        Replace::CACHE,
        Replace::LOCKED,
        Replace { durability: Durability::Content, mode: Mode::Umasked(0o644), ..Replace::PRIVATE },
    ];

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn a_replacement_that_fails_leaves_nothing_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("by-a-directory")).unwrap();
        for how in WAYS {
            replace(&taken, b"new", how).unwrap_err();
            replace(&dir.path().join("absent/file"), b"new", how).unwrap_err();
            assert!(taken.join("by-a-directory").is_dir());
            assert_eq!(count(dir.path()), 1, "{how:?}");
        }
    }

    #[test]
    fn links_are_replaced_and_never_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("link"), dir.path().join("target"));
        for how in WAYS {
            fs::write(&target, "foreign").unwrap();
            let _ = fs::remove_file(&path);
            symlink(&target, &path).unwrap();
            // In the place of the temporary file of a single writer.
            symlink(&target, dir.path().join(".tmp-0-link")).unwrap();
            replace(&path, b"new", how).unwrap();
            assert!(!path.is_symlink());
            assert_eq!(
                (fs::read(&path).unwrap(), fs::read(&target).unwrap()),
                (b"new".to_vec(), b"foreign".to_vec())
            );
            let _ = fs::remove_file(dir.path().join(".tmp-0-link"));
            assert_eq!(count(dir.path()), 2, "{how:?}");
        }
    }

    #[test]
    fn an_exact_mode_ignores_the_umask_and_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for bits in [0o600, 0o644, 0o666] {
            replace(&path, b"", Replace { mode: Mode::Exact(bits), ..Replace::CACHE }).unwrap();
            assert_eq!(mode(&path), bits);
            replace(&path, b"", Replace::CACHE).unwrap();
            assert_eq!(mode(&path), 0o600);
        }
        let umasked = Replace { mode: Mode::Umasked(0o666), ..Replace::CACHE };
        replace(&path, b"", umasked).unwrap();
        fs::write(dir.path().join("usual"), "").unwrap();
        assert_eq!(mode(&path), mode(&dir.path().join("usual")));
    }

    #[test]
    fn an_existing_file_is_kept_if_only_a_new_one_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let how = Replace { only_new: true, ..Replace::PRIVATE };
        replace(&path, b"first", how).unwrap();
        assert_eq!(replace(&path, b"second", how).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap(), count(dir.path())), (b"first".to_vec(), 1));
    }

    #[test]
    fn a_single_writer_replaces_the_temporary_file_of_a_killed_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let left = dir.path().join(".tmp-0-file");
        fs::write(&left, "longer than what is written now").unwrap();
        fs::set_permissions(&left, Permissions::from_mode(0o444)).unwrap();
        replace(&path, b"new", Replace::LOCKED).unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path), count(dir.path())), (b"new".to_vec(), 0o600, 1));
    }

    #[test]
    fn writers_at_the_same_time_do_not_mix_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let texts = ["a", "b", "c", "d"].map(|text| text.repeat(64 * 1024));
        std::thread::scope(|scope| {
            for text in &texts {
                scope
                    .spawn(|| (0..50).for_each(|_| replace(&path, text.as_bytes(), Replace::CACHE).unwrap()));
            }
        });
        assert!(texts.contains(&fs::read_to_string(&path).unwrap()));
        assert_eq!(count(dir.path()), 1);
    }

    /// The order of the steps: what a kill or power cut between any two of them leaves is tested in `power_tests`.
    #[test]
    fn content_is_synced_before_the_rename_and_the_name_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let steps = |how| {
            let acts = acts(|| replace(&path, b"new", how).unwrap());
            let step = |act: &Act| match act {
                Act::Opened(..) => "opened",
                Act::Wrote(..) => "wrote",
                Act::Synced(_) => "synced",
                Act::Renamed(..) => "renamed",
                Act::SyncedDir(_) => "synced the directory",
                _ => "other",
            };
            acts.iter().map(step).collect::<Vec<_>>()
        };
        let durable = ["opened", "wrote", "synced", "renamed", "synced the directory"];
        assert_eq!(steps(Replace::PRIVATE), durable);
        assert_eq!(steps(Replace { durability: Durability::Content, ..Replace::PRIVATE }), durable[..4]);
        assert_eq!(steps(Replace::CACHE), ["opened", "wrote", "renamed"]);
    }
}
