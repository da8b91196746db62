//! The tokens that are let in: a file of the user's, read again when it changes.

use std::fs::{Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use converse_server::{TokenError, Tokens};
use rustix::fs::OFlags;

use converse_host::failure::Failure;
use converse_host::world::World;
use converse_terminal::console::Console;

/// A single token, for who has no file.
const VARIABLE: &str = "CONVERSE_SERVE_TOKEN";

/// How often the file is looked at.
const ROUND: Duration = Duration::from_secs(2);
const MAX_BYTES: u64 = 1024 * 1024;

/// What is let in by a token that was agreed on.
pub(super) struct TokenList {
    pub(super) tokens: Arc<Tokens>,
    file: Option<PathBuf>,
    /// The one of the environment.
    single: String,
    seen: Option<Seen>,
}

/// What tells one version of a file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen([i64; 4]);

/// Why a file is not read.
#[derive(Debug)]
struct Unread {
    why: String,
    /// There is none: whoever took it away wants nobody let in by it. Otherwise it may be half written.
    is_gone: bool,
}

impl TokenList {
    /// `None`: there is neither a file nor the variable.
    pub(super) fn read(file: Option<&Path>, world: &World) -> Result<Option<Self>, Failure> {
        let single = world.var(VARIABLE).unwrap_or_default().to_owned();
        if file.is_none() && single.is_empty() {
            return Ok(None);
        }
        let of_variable = |error: TokenError| Failure::usage("bad-token", format!("{VARIABLE}: {error}"));
        if !single.is_empty() {
            // By itself, so that nobody looks for it in the file.
            Tokens::read(&single).map_err(of_variable)?;
        }
        let (text, seen) = match file {
            Some(path) => read(path)
                .map(|(text, seen)| (text, Some(seen)))
                .map_err(|unread| unusable(path, &unread.why))?,
            None => (String::new(), None),
        };
        let tokens = Tokens::read(&joined(&text, &single)).map_err(|error| match file {
            Some(path) => unusable(path, &error.to_string()),
            None => of_variable(error),
        })?;
        Ok(Some(Self { tokens: Arc::new(tokens), file: file.map(Path::to_path_buf), single, seen }))
    }

    /// Never ends. While what stands in the file cannot be used the tokens of before are good.
    pub(super) async fn watch(mut self, console: &Console) {
        let Some(path) = self.file.take() else { return std::future::pending().await };
        let mut told = String::new();
        loop {
            tokio::time::sleep(ROUND).await;
            if self.seen.is_some() && std::fs::metadata(&path).ok().map(|now| Seen::of(&now)) == self.seen {
                continue;
            }
            let said = match self.again(&path) {
                Ok(()) if self.tokens.is_empty() => {
                    console
                        .note(&format!("warning: {}: there is no token; nobody is let in", path.display()));
                    String::new()
                }
                Ok(()) => {
                    console.note(&format!("read {} again", path.display()));
                    String::new()
                }
                Err(Unread { why, is_gone: true }) => format!("{why}; its tokens are not let in any more"),
                Err(Unread { why, is_gone: false }) => format!("{why}; the tokens of before stay"),
            };
            if told != said && !said.is_empty() {
                console.note(&format!("warning: {}: {said}", path.display()));
            }
            told = said;
        }
    }

    fn again(&mut self, path: &Path) -> Result<(), Unread> {
        self.seen = None;
        let taken = |text: &str| {
            let replaced = self.tokens.replace(&joined(text, &self.single));
            replaced.map_err(|error| Unread { why: error.to_string(), is_gone: false })
        };
        match read(path) {
            Ok((text, seen)) => {
                taken(&text)?;
                self.seen = Some(seen);
                Ok(())
            }
            Err(unread) if unread.is_gone => taken("").and(Err(unread)),
            Err(unread) => Err(unread),
        }
    }
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        let inode = i64::try_from(metadata.ino()).unwrap_or_default();
        // The change of the inode: whoever writes it in place within one tick of the clock writes another length.
        Self([metadata.ctime(), metadata.ctime_nsec(), metadata.len().cast_signed(), inode])
    }
}

/// Others must not be able to read it: whoever can, can call.
fn read(path: &Path) -> Result<(String, Seen), Unread> {
    // A pipe would be waited for.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Unread { why: "it is no regular file".to_owned(), is_gone: true });
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Unread { why: "others than you can read it; `chmod 600` it".to_owned(), is_gone: false });
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok((text, Seen::of(&metadata)))
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
