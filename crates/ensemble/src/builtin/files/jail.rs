//! The one directory the file tools may see.
//!
//! A path is never judged by its text: it is resolved below an open directory, by `openat2(RESOLVE_BENEATH)` where the
//! kernel has it and step by step elsewhere (cap-std). What the text is used for is the way in: an absolute path is
//! accepted if it begins, component by component, with the root in one of its two spellings.
//!
//! Nothing that could block or do something by being opened is opened: the kind is looked at first, the file is opened
//! without waiting, and its kind is looked at again through the open file.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use converse_process::lacks_descriptors;

use super::JobError;
use super::protected::identity;
use crate::builtin::arguments::shown;
use crate::builtin::{BuildError, Settings};
use crate::named_path::lexical;
use crate::path_class::KEY_HEAD;
use crate::path_policy::PathVerdict;
use crate::{InvokeError, PathPolicy, PathUse};

const MAX_PATH_BYTES: usize = 4096;

pub(super) struct Jail {
    /// As configured, made absolute.
    root: PathBuf,
    /// Where a relative root must stay.
    workspace: Option<PathBuf>,
    opened: OnceLock<Opened>,
}

pub(super) struct Opened {
    pub(super) dir: Dir,
    /// The root without symlinks.
    pub(super) canonical: PathBuf,
}

/// A requested path, before it is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedPath(String);

impl RequestedPath {
    pub(super) fn new(key: &str, path: &str) -> Result<Self, InvokeError> {
        let invalid = |what: &str| Err(InvokeError::Invalid(format!("`{key}` {what}")));
        if path.is_empty() {
            return invalid("is empty");
        }
        if path.contains('\0') {
            return invalid("has a NUL character in it");
        }
        if path.len() > MAX_PATH_BYTES {
            return invalid(&format!("has {} bytes; a path has {MAX_PATH_BYTES} at most", path.len()));
        }
        Ok(Self(path.to_owned()))
    }

    /// As messages show it.
    pub(super) fn shown(&self) -> String {
        shown(&self.0)
    }

    pub(super) fn as_written(&self) -> &str {
        &self.0
    }

    pub(super) fn ends_with_separator(&self) -> bool {
        self.0.ends_with(std::path::is_separator)
    }

    pub(super) fn outside(&self) -> JobError {
        JobError::Answer(format!(
            "`{}` leads outside of the workspace; only files under the workspace can be reached",
            self.shown()
        ))
    }

    /// What an error of the file system means to the one who asked.
    pub(super) fn error(&self, doing: &str, error: &io::Error) -> JobError {
        use io::ErrorKind;
        if lacks_descriptors(error) {
            return JobError::NoDescriptors;
        }
        let path = self.shown();
        // cap-std makes its own error, without a code of the system, when a path would leave the jail.
        let told = match error.kind() {
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => return self.outside(),
            ErrorKind::PermissionDenied => format!("no permission to {doing} `{path}`"),
            ErrorKind::NotFound => format!("`{path}` does not exist"),
            ErrorKind::NotADirectory => format!("a part of `{path}` is not a directory"),
            ErrorKind::InvalidFilename => format!("a name in `{path}` is too long"),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                format!("no space is left to {doing} `{path}`")
            }
            ErrorKind::ReadOnlyFilesystem => format!("`{path}` is on a read-only file system"),
            _ => format!("cannot {doing} `{path}`: {error}"),
        };
        JobError::Answer(told)
    }
}

impl Jail {
    /// From `root` under `[configuration]`: relative to the workspace and inside it, or absolute if a trusted descriptor
    /// says so. Opens nothing.
    pub(super) fn new(settings: &Settings<'_>) -> Result<Self, BuildError> {
        let root = Path::new(settings.text("root")?.unwrap_or("."));
        let bad = |reason: &str| BuildError { key: "root", reason: reason.to_owned() };
        if root.as_os_str().is_empty() || root.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(bad("a directory is needed"));
        }
        if root.is_relative() && root.components().any(|part| part == Component::ParentDir) {
            return Err(bad("a relative directory must stay inside the workspace"));
        }
        if root.has_root() && !settings.trusted {
            return Err(bad("an absolute directory needs a project that is trusted"));
        }
        let workspace = root.is_relative().then(|| settings.workspace.to_owned());
        Ok(Self { root: settings.workspace.join(root), workspace, opened: OnceLock::new() })
    }

    /// The workspace itself. Opens nothing.
    pub(super) fn of_workspace(workspace: &Path) -> Self {
        let workspace = workspace.to_owned();
        Self { root: workspace.clone(), workspace: Some(workspace), opened: OnceLock::new() }
    }

    /// The open root; opened at the first use, kept from then on.
    pub(super) fn open(&self) -> Result<&Opened, JobError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let failed = |error: io::Error| {
            if lacks_descriptors(&error) {
                return JobError::NoDescriptors;
            }
            JobError::NoRoot(format!(
                "the root of the files `{}` cannot be opened: {error}",
                shown(&self.root.to_string_lossy())
            ))
        };
        let canonical = self.root.canonicalize().map_err(failed)?;
        if let Some(workspace) = &self.workspace
            && !canonical.starts_with(workspace.canonicalize().map_err(failed)?)
        {
            return Err(JobError::NoRoot(format!(
                "the root of the files `{}` is a link that leads out of the workspace, to `{}`; a root elsewhere is \
                 written as an absolute path",
                shown(&self.root.to_string_lossy()),
                shown(&canonical.to_string_lossy())
            )));
        }
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        Ok(self.opened.get_or_init(|| Opened { dir, canonical }))
    }

    /// The path below the root that is meant; it may still lead out, which the resolution finds.
    pub(super) fn relative(&self, opened: &Opened, asked: &RequestedPath) -> Result<PathBuf, JobError> {
        let path = Path::new(&asked.0);
        let relative = if path.has_root() {
            let inside = path.strip_prefix(&opened.canonical).or_else(|_| path.strip_prefix(&self.root));
            inside.map_err(|_| asked.outside())?
        } else {
            path
        };
        if relative.components().any(|part| matches!(part, Component::Prefix(_))) {
            return Err(asked.outside());
        }
        Ok(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative.to_owned() })
    }
}

impl Opened {
    /// What a call names, without symlinks, if the policy allows it.
    pub(super) fn named(
        &self,
        path: &Path,
        asked: &RequestedPath,
        (used, doing): (PathUse, &str),
        paths: &PathPolicy,
    ) -> Result<PathBuf, JobError> {
        let inner = self.dir.canonicalize(path).map_err(|error| asked.error(doing, &error))?;
        self.permit(&inner, asked, used, paths)?;
        Ok(inner)
    }

    /// Fails if the policy does not allow what a call names. `inner` has no symlinks.
    pub(super) fn permit(
        &self,
        inner: &Path,
        asked: &RequestedPath,
        used: PathUse,
        paths: &PathPolicy,
    ) -> Result<(), JobError> {
        match paths.judge_named(&self.absolute(inner), &self.canonical, used) {
            PathVerdict::Allowed => Ok(()),
            PathVerdict::Asks(why) => {
                Err(format!("`{}` needs an approval ({why}); call again", asked.shown()).into())
            }
            PathVerdict::Denied(why) => Err(format!("`{}` is not allowed: {why}", asked.shown()).into()),
        }
    }

    /// The path from the root of the file system.
    pub(super) fn absolute(&self, inner: &Path) -> PathBuf {
        lexical(&self.canonical.join(inner))
    }

    /// A regular file, walked to step by step: what is opened is what `inner` was when it was judged.
    pub(super) fn open_file(
        &self,
        inner: &Path,
        asked: &RequestedPath,
    ) -> Result<(File, Metadata), JobError> {
        let dir = self.open_dir(inner.parent().unwrap_or(Path::new("")), asked, "read")?;
        open_file(&dir, Path::new(inner.file_name().unwrap_or(OsStr::new("."))), asked)
    }

    /// A directory, walked to step by step.
    pub(super) fn open_dir(&self, inner: &Path, asked: &RequestedPath, doing: &str) -> Result<Dir, JobError> {
        let mut dir = self.dir.try_clone().map_err(|error| asked.error(doing, &error))?;
        for part in inner.components() {
            let Component::Normal(part) = part else { continue };
            dir = step(&dir, part, asked, doing)?;
        }
        Ok(dir)
    }

    /// The beginning of a regular file.
    pub(super) fn head(&self, inner: &Path) -> Option<Vec<u8>> {
        let asked = RequestedPath::new("path", &inner.to_string_lossy()).ok()?;
        let (file, _) = self.open_file(inner, &asked).ok()?;
        let mut head = Vec::new();
        file.take(KEY_HEAD as u64).read_to_end(&mut head).ok()?;
        Some(head)
    }
}

/// The directory of this name in another one. A symlink, or one that was changed meanwhile, is none.
pub(super) fn step(dir: &Dir, part: &OsStr, asked: &RequestedPath, doing: &str) -> Result<Dir, JobError> {
    let failed = |error: io::Error| asked.error(doing, &error);
    let seen = dir.symlink_metadata(part).map_err(failed)?;
    let inner = dir.open_dir(part).map_err(failed)?;
    let opened = inner.dir_metadata().map_err(failed)?;
    if !seen.is_dir() || identity(&seen) != identity(&opened) {
        return Err(changed(asked));
    }
    Ok(inner)
}

fn changed(asked: &RequestedPath) -> JobError {
    JobError::Answer(format!("the way to `{}` changed while it was walked", asked.shown()))
}

/// A regular file of this name in a directory, open for reading. A symlink is none.
pub(super) fn open_file(dir: &Dir, name: &Path, asked: &RequestedPath) -> Result<(File, Metadata), JobError> {
    let failed = |error: io::Error| asked.error("read", &error);
    let seen = dir.symlink_metadata(name).map_err(failed)?;
    must_be_regular(&seen, asked)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = dir.open_with(name, &options).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    must_be_regular(&metadata, asked)?;
    if identity(&seen) != identity(&metadata) {
        return Err(changed(asked));
    }
    Ok((file, metadata))
}

pub(super) fn must_be_regular(metadata: &Metadata, asked: &RequestedPath) -> Result<(), JobError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(JobError::Answer(format!(
        "`{}` is {}, not a regular file",
        asked.shown(),
        kind(metadata.file_type())
    )))
}

/// A file type in words.
pub(super) fn kind(kind: cap_std::fs::FileType) -> &'static str {
    if kind.is_dir() {
        return "a directory";
    }
    if kind.is_symlink() {
        return "a symbolic link";
    }
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_file() { "a file" } else { "something else" }
}

/// Opening a named pipe would wait for its other end.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}
