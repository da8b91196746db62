//! The directory of one invocation in a sandbox: the program's home and temporary files, and beside them the report about
//! the start of the sandbox, which the program cannot reach.

mod removal;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::sandbox::Report;
use crate::spawn_blocking;
use removal::remove;

/// Number of names that are tried, in case some are taken.
const NAMES: u8 = 100;
/// Start of each name.
const PREFIX: &str = "converse-";
/// How long an answer waits for the removal of its program's files.
const REMOVAL: Duration = Duration::from_secs(5);
/// The same while other work waits too.
const HASTE: Duration = Duration::from_secs(1);

/// Returns why no scratch directory can be made in the directory for temporary files, or `None` if one can.
pub fn scratch_dir_problem(temporary: &Path) -> Option<String> {
    ScratchDir::make(temporary).err().map(|error| error.to_string())
}

/// Why there is no scratch directory.
#[derive(Debug, thiserror::Error)]
#[error(
    "no temporary directory could be created in {} (set TMPDIR for another place): {error}",
    temporary.display()
)]
pub struct NoScratchDir {
    temporary: PathBuf,
    #[source]
    error: io::Error,
}

/// A scratch directory, which is removed with all its content when it is dropped.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    /// The report, open for reading. Its name is available only until the sandbox is entered.
    report: File,
    removed: bool,
}

impl ScratchDir {
    /// Creates the directory in that for temporary files.
    ///
    /// # Errors
    ///
    /// The directory for temporary files is missing, full or not writable.
    pub fn make(temporary: &Path) -> Result<Self, NoScratchDir> {
        Self::try_make(temporary).map_err(|error| NoScratchDir { temporary: temporary.to_owned(), error })
    }

    fn try_make(temporary: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let temporary = temporary.canonicalize()?;
        let mut private = DirBuilder::new();
        private.mode(0o700);
        for _ in 0..NAMES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = temporary.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match private.create(&path) {
                Ok(()) => {
                    private.create(home(&path))?;
                    private.create(path.join("told"))?;
                    fs::write(report_path(&path), "")?;
                    let report = File::open(report_path(&path))?;
                    return Ok(Self { path, report, removed: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns the home of the program.
    pub fn home(&self) -> PathBuf {
        home(&self.path)
    }

    /// Returns the path of the report, which is alone in its directory.
    pub fn report_path(&self) -> PathBuf {
        report_path(&self.path)
    }

    /// Reads the report, even if the file was moved.
    pub fn read_report(&self) -> Report {
        Report::read(&self.report)
    }

    /// Returns whether the (canonical) path contains this directory or lies in the scratch directory of any run.
    pub fn is_near(&self, path: &Path) -> bool {
        let within = self.path.parent().and_then(|temporary| path.strip_prefix(temporary).ok());
        let first = within.and_then(|within| within.components().next());
        let in_one = first.is_some_and(|name| {
            let name = name.as_os_str().to_string_lossy();
            let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
            numbers.is_some_and(|(run, call)| number(run) && number(call))
        });
        in_one || self.path.starts_with(path)
    }

    /// Removes the directory without blocking other work. The error names what is left, and the reason.
    pub async fn remove(mut self) -> Result<(), String> {
        self.removed = true;
        let (path, until) = (self.path.clone(), Instant::now() + REMOVAL);
        // The work knows its end; the second wait is for a file system that answers nothing.
        let done = match spawn_blocking(move || remove(&path, until)) {
            Some(work) => timeout(REMOVAL + HASTE, work).await,
            None => Ok(Ok(remove(&self.path, Instant::now() + HASTE))),
        };
        let why = match done {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it takes too long".to_owned(),
        };
        Err(format!("files that it left in {} could not be removed: {why}", self.path.display()))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if !self.removed
            && let Err(error) = remove(&self.path, Instant::now() + HASTE)
        {
            tracing::warn!(path = %self.path.display(), %error, "what a command left could not be removed");
        }
    }
}

fn home(scratch: &Path) -> PathBuf {
    scratch.join("home")
}

fn report_path(scratch: &Path) -> PathBuf {
    scratch.join("told").join("report")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn it_is_its_owners_alone_and_goes_with_all_that_is_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let (first, second) =
            (ScratchDir::make(temp.path()).unwrap(), ScratchDir::make(temp.path()).unwrap());
        assert_ne!(first.home(), second.home());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&first.home()), mode(first.home().parent().unwrap())), (0o700, 0o700));
        symlink(&outside, first.home().join("link")).unwrap();
        drop((first, second));
        let left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [outside]);
    }

    #[test]
    fn what_is_near_is_known() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = ScratchDir::make(temp.path()).unwrap();
        for (path, near) in [
            (temp.path().to_path_buf(), true),
            (PathBuf::from("/"), true),
            (scratch.home(), true),
            (temp.path().join("converse-1-2"), true),
            (temp.path().join("converse-1-2/home/x"), true),
            (temp.path().join("converse-1"), false),
            (temp.path().join("converse-ensemble-1-2"), false),
            (temp.path().join("other/converse-1-2"), false),
        ] {
            assert_eq!(scratch.is_near(&path), near, "{path:?}");
        }
    }

    #[test]
    fn it_goes_even_where_no_thread_is_to_be_had() {
        use std::future::Future as _;
        use std::task::{Context, Poll, Waker};
        let temp = tempfile::tempdir().unwrap();
        let scratch = ScratchDir::make(temp.path()).unwrap();
        // Outside of a runtime there is none.
        let removed = std::pin::pin!(scratch.remove()).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(removed, Poll::Ready(Ok(())));
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn it_is_said_where_there_is_no_room() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(scratch_dir_problem(temp.path()), None);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "it was only tried");
        let why = scratch_dir_problem(&temp.path().join("nope")).unwrap();
        assert!(why.contains("/nope (set TMPDIR") && why.contains("No such file"), "{why}");
    }

    #[tokio::test]
    async fn what_stays_is_said() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = ScratchDir::make(temp.path()).unwrap();
        fs::rename(scratch.home().parent().unwrap(), temp.path().join("away")).unwrap();
        let why = scratch.remove().await.unwrap_err();
        assert!(why.contains("could not be removed"), "{why}");
    }
}
