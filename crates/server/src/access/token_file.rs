//! The tokens that give access: from a file, which is read again when it changes, and from a variable.

use std::fs::{Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use converse_host::context::RunContext;
use converse_host::failure::Failure;
use converse_host::world::World;
use rustix::fs::OFlags;

use super::tokens::{TokenError, Tokens};

/// The variable with a single token.
const VARIABLE: &str = "CONVERSE_SERVE_TOKEN";

/// How often the file is checked for changes.
const ROUND: Duration = Duration::from_secs(2);
const MAX_BYTES: u64 = 1024 * 1024;

/// The accepted tokens.
#[derive(Debug)]
pub struct TokenList {
    pub tokens: Arc<Tokens>,
    file: Option<PathBuf>,
    /// The token of the environment.
    single: String,
    version: Option<FileVersion>,
}

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion([i64; 4]);

/// Why a file is not read.
#[derive(Debug)]
struct Unread {
    why: String,
    /// The file was removed, so its tokens no longer give access. Otherwise the file may be incomplete.
    is_gone: bool,
}

impl TokenList {
    /// `None`: there is neither a file nor the variable.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or holds something that is not a token.
    pub fn read(file: Option<&Path>, world: &World) -> Result<Option<Self>, Failure> {
        let single = world.var(VARIABLE).unwrap_or_default().to_owned();
        if file.is_none() && single.is_empty() {
            return Ok(None);
        }
        let of_variable = |error: TokenError| Failure::usage("bad-token", format!("{VARIABLE}: {error}"));
        if !single.is_empty() {
            // Checked alone, so that an error does not name the file.
            Tokens::read(&single).map_err(of_variable)?;
        }
        let (text, version) = match file {
            Some(path) => read(path)
                .map(|(text, version)| (text, Some(version)))
                .map_err(|unread| unusable(path, &unread.why))?,
            None => (String::new(), None),
        };
        let tokens = Tokens::read(&joined(&text, &single)).map_err(|error| match file {
            Some(path) => unusable(path, &error.to_string()),
            None => of_variable(error),
        })?;
        Ok(Some(Self { tokens: Arc::new(tokens), file: file.map(Path::to_path_buf), single, version }))
    }

    /// The token of the environment, which is that of the user who runs the server.
    pub fn owner(&self) -> Option<Tokens> {
        Tokens::read(&self.single).ok()
    }

    /// Watches the file, without end. While it cannot be read, the previous tokens stay valid.
    pub async fn watch(mut self, context: &RunContext) {
        let Some(path) = self.file.take() else { return std::future::pending().await };
        let mut shown = String::new();
        loop {
            tokio::time::sleep(ROUND).await;
            if self.version.is_some()
                && std::fs::metadata(&path).ok().map(|now| FileVersion::of(&now)) == self.version
            {
                continue;
            }
            let warning = match self.again(&path) {
                Ok(()) if self.tokens.is_empty() => {
                    context.note(&format!(
                        "warning: {}: the file has no token; every request is refused",
                        path.display()
                    ));
                    String::new()
                }
                Ok(()) => {
                    context.note(&format!("read {} again", path.display()));
                    String::new()
                }
                Err(Unread { why, is_gone: true }) => format!("{why}; its tokens are no longer valid"),
                Err(Unread { why, is_gone: false }) => format!("{why}; the previous tokens stay valid"),
            };
            if shown != warning && !warning.is_empty() {
                context.note(&format!("warning: {}: {warning}", path.display()));
            }
            shown = warning;
        }
    }

    fn again(&mut self, path: &Path) -> Result<(), Unread> {
        self.version = None;
        let taken = |text: &str| {
            let replaced = self.tokens.replace(&joined(text, &self.single));
            replaced.map_err(|error| Unread { why: error.to_string(), is_gone: false })
        };
        match read(path) {
            Ok((text, version)) => {
                taken(&text)?;
                self.version = Some(version);
                Ok(())
            }
            Err(unread) if unread.is_gone => taken("").and(Err(unread)),
            Err(unread) => Err(unread),
        }
    }
}

impl FileVersion {
    fn of(metadata: &Metadata) -> Self {
        let inode = i64::try_from(metadata.ino()).unwrap_or_default();
        // The time of the change of the inode: two writes within one tick of the clock rarely have the same length.
        Self([metadata.ctime(), metadata.ctime_nsec(), metadata.len().cast_signed(), inode])
    }
}

/// Reads the file. Other users must not be able to read it: a token allows every call.
fn read(path: &Path) -> Result<(String, FileVersion), Unread> {
    // Opening a pipe must not block.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Unread { why: "not a regular file".to_owned(), is_gone: true });
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Unread {
            why: "other users can read the file; run `chmod 600` on it".to_owned(),
            is_gone: false,
        });
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok((text, FileVersion::of(&metadata)))
}

impl From<std::io::Error> for Unread {
    fn from(error: std::io::Error) -> Self {
        let gone = [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::PermissionDenied];
        Self { why: error.to_string(), is_gone: gone.contains(&error.kind()) }
    }
}

fn joined(text: &str, single: &str) -> String {
    format!("{text}\n{single}\n")
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage("bad-token-file", format!("the token file {} cannot be used: {why}", path.display()))
}
