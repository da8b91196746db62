//! Writes a cassette while a run goes on: beside the file that it is to be, one line at a time, and in its place only
//! when the run has ended. A run that is killed leaves the old cassette as it was, and its own beginning as
//! `FILE.partial`.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::OFlags;
use serde::Serialize;

use crate::Redact;
use crate::cassette::entry::{Entry, Header};
use crate::cassette::file::is_one;
use crate::cassette::{CassetteError, FORMAT, MAX_BYTES};

/// A recording. Errors are kept until they are requested, so that they do not end the run.
pub struct Recorder {
    redact: Arc<dyn Redact>,
    asked: AtomicU64,
    state: Mutex<State>,
}

struct State {
    target: PathBuf,
    partial: PathBuf,
    file: File,
    header: Header,
    /// The file was not there before.
    made: bool,
    /// The header has been written.
    begun: bool,
    /// Part of it was ended from outside.
    cut: bool,
    written: u64,
    error: Option<CassetteError>,
}

/// As much of a file is looked at to know it for a cassette.
const FIRST_LINE: u64 = 64 * 1024;

impl Recorder {
    /// Creates a recording. An existing cassette, or an empty file, is replaced at the end; any other file is refused
    /// now.
    pub fn create(
        path: &Path,
        program: &str,
        created: &str,
        redact: Arc<dyn Redact>,
    ) -> Result<Self, CassetteError> {
        let target = replaceable(path)?;
        let mut name = target.clone().into_os_string();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let (file, made) = opened(&partial)?;
        // Where files cannot be locked, it is gone without.
        let is_locked = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Another run may have put it in its place, or cleared it away, before we had the lock.
        if is_locked || !is_at(&file, &partial) {
            return Err(CassetteError::Busy(path.display().to_string()));
        }
        let header = Header {
            cassette: FORMAT,
            program: program.to_owned(),
            created: created.to_owned(),
            models: Vec::new(),
        };
        let state =
            State { target, partial, file, header, made, begun: false, cut: false, written: 0, error: None };
        Ok(Self { redact, asked: AtomicU64::new(0), state: Mutex::new(state) })
    }

    /// The number of a question that begins now, from 1.
    pub fn begins(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Something was to be written.
    pub fn has_begun(&self) -> bool {
        let state = self.lock();
        state.begun || state.error.is_some()
    }

    /// Marks the recording as cut by a timeout or by the user: no replay would end in this way.
    pub fn cut(&self) {
        self.lock().cut = true;
    }

    pub fn redact(&self) -> &dyn Redact {
        self.redact.as_ref()
    }

    /// One that may be asked. Those who are named before the first entry are in the header.
    pub fn model(&self, id: &str) {
        let mut state = self.lock();
        if !state.header.models.iter().any(|known| known == id) {
            state.header.models.push(id.to_owned());
        }
    }

    pub fn write(&self, entry: &Entry) {
        let mut state = self.lock();
        if state.error.is_some() {
            return;
        }
        let written = state.begin(self.redact()).and_then(|()| state.line(entry, self.redact()));
        state.error = written.err();
    }

    /// Something was said that a cassette cannot hold.
    pub fn fail(&self, reason: String) {
        let mut state = self.lock();
        state.error.get_or_insert(CassetteError::Unrecordable(reason));
    }

    /// In its place from now on, unless it is not `whole`, or was [`cut`](Self::cut): then it stays `FILE.partial`, whose name is returned.
    pub fn finish(&self, whole: bool) -> Result<Option<PathBuf>, CassetteError> {
        let mut state = self.lock();
        if state.error.is_none() {
            state.error = state.begin(self.redact()).err();
        }
        if let Some(error) = &state.error {
            return Err(error.again());
        }
        let io = |error| CassetteError::io(&state.partial, error);
        state.file.sync_all().map_err(io)?;
        if !whole || state.cut {
            return Ok(Some(state.partial.clone()));
        }
        std::fs::rename(&state.partial, &state.target).map_err(io)?;
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn begin(&mut self, redact: &dyn Redact) -> Result<(), CassetteError> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let io = |error| CassetteError::io(&self.partial, error);
        self.file.set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
        // Only now: what an earlier run left is kept by one that cannot begin.
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(io)?;
        let header = self.header.clone();
        self.line(&header, redact)
    }

    /// Writes a line at once, so that it survives a crash.
    fn line(&mut self, entry: &impl Serialize, redact: &dyn Redact) -> Result<(), CassetteError> {
        let unwritable = |error: serde_json::Error| CassetteError::Unrecordable(error.to_string());
        let mut value = serde_json::to_value(entry).map_err(unwritable)?;
        redact.json(&mut value);
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        self.written += line.len() as u64;
        if self.written > MAX_BYTES {
            return Err(CassetteError::TooLarge { file: self.target.display().to_string() });
        }
        self.file.write_all(&line).map_err(|error| CassetteError::io(&self.partial, error))
    }
}

/// A run that could not begin leaves nothing behind.
impl Drop for State {
    fn drop(&mut self) {
        if self.made && !self.begun {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// Where it will be, links followed.
fn replaceable(path: &Path) -> Result<PathBuf, CassetteError> {
    let shown = || path.display().to_string();
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(path.to_path_buf()),
        Err(error) => return Err(CassetteError::io(path, error)),
    };
    if !metadata.is_file() {
        return Err(CassetteError::NoFile(shown()));
    }
    let io = |error| CassetteError::io(path, error);
    written_over(&File::open(path).map_err(io)?, path)?;
    path.canonicalize().map_err(io)
}

/// Nothing is lost with it: it is empty, or a cassette.
fn written_over(file: &File, path: &Path) -> Result<(), CassetteError> {
    let io = |error| CassetteError::io(path, error);
    let mut line = Vec::new();
    BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line).map_err(io)?;
    let is_empty = file.metadata().map_err(io)?.len() == 0;
    if is_empty || is_one(&line) {
        Ok(())
    } else {
        Err(CassetteError::NoCassette(path.display().to_string()))
    }
}

/// Opens the partial file; returns whether it is new. Its name is derived, so an existing file may be anything: links
/// are not followed, pipes are not waited for, and other files are not overwritten.
fn opened(partial: &Path) -> Result<(File, bool), CassetteError> {
    let io = |error| CassetteError::io(partial, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    match options.clone().create_new(true).open(partial) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => return Ok((made.map_err(io)?, true)),
    }
    let is_regular = std::fs::symlink_metadata(partial).map_err(io)?.is_file();
    let file = if is_regular { Some(options.open(partial).map_err(io)?) } else { None };
    let Some(file) = file.filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file())) else {
        return Err(CassetteError::NoFile(partial.display().to_string()));
    };
    let owner = file.metadata().map_err(io)?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(CassetteError::NotOurs(partial.display().to_string()));
    }
    written_over(&file, partial)?;
    Ok((file, false))
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |(a, b): (std::fs::Metadata, std::fs::Metadata)| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().ok().zip(std::fs::symlink_metadata(path).ok()).is_some_and(same)
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
