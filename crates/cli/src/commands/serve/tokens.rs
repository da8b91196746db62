//! The tokens that are let in: a file of the user's, read again when it changes.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use converse_gateway::Tokens;

use crate::failure::Failure;
use crate::manners::Manners;
use crate::world::World;

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

impl TokenList {
    /// `None`: there is neither a file nor the variable.
    pub(super) fn read(file: Option<&Path>, world: &World) -> Result<Option<Self>, Failure> {
        let single = world.var(VARIABLE).unwrap_or_default().to_owned();
        if file.is_none() && single.is_empty() {
            return Ok(None);
        }
        let (text, seen) = match file {
            Some(path) => {
                read(path).map(|(text, seen)| (text, Some(seen))).map_err(|why| unusable(path, &why))?
            }
            None => (String::new(), None),
        };
        let tokens = Tokens::read(&joined(&text, &single)).map_err(|error| match file {
            Some(path) => unusable(path, &error.to_string()),
            None => Failure::usage("bad-token", format!("{VARIABLE}: {error}")),
        })?;
        Ok(Some(Self { tokens: Arc::new(tokens), file: file.map(Path::to_path_buf), single, seen }))
    }

    /// Never ends. While the file cannot be used the tokens of before are good.
    pub(super) async fn watch(mut self, manners: &Manners) {
        let Some(path) = self.file.take() else { return std::future::pending().await };
        let mut told = String::new();
        loop {
            tokio::time::sleep(ROUND).await;
            if self.seen.is_some() && std::fs::metadata(&path).ok().map(|now| Seen::of(&now)) == self.seen {
                continue;
            }
            let changed = read(&path).and_then(|(text, seen)| {
                let replaced = self.tokens.replace(&joined(&text, &self.single));
                replaced.map(|()| seen).map_err(|error| error.to_string())
            });
            match changed {
                Ok(seen) => {
                    self.seen = Some(seen);
                    told.clear();
                    manners.note(&format!("read {} again", path.display()));
                }
                Err(why) => {
                    self.seen = None;
                    if told != why {
                        manners
                            .note(&format!("warning: {}: {why}; the tokens of before stay", path.display()));
                        told = why;
                    }
                }
            }
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
fn read(path: &Path) -> Result<(String, Seen), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err("others than you can read it; `chmod 600` it".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok((text, Seen::of(&metadata)))
}

fn joined(text: &str, single: &str) -> String {
    format!("{text}\n{single}\n")
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::usage("bad-token-file", format!("the token file {} cannot be used: {why}", path.display()))
}
