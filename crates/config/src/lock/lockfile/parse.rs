//! A lockfile from text: all of it, or an error.

use converse_canister::{Digest, canonical};
use serde::Deserialize;
use serde_json::Value;

use super::{Lockfile, MAX_BYTES, Pinned, PinnedTool, Server, VERSION};
use crate::lock::LockError;
use crate::lock::digest::of_text;
use crate::lock::once::Once;

/// Of a message of the JSON reader, which repeats what it does not like.
const MAX_MESSAGE: usize = 200;

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: u64,
    ensembles: Once<PinnedFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedFile {
    declared: Option<Value>,
    server: Option<ServerFile>,
    tools: Once<ToolFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerFile {
    name: String,
    version: String,
    protocol: Option<String>,
    instructions: Option<Digest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    sha256: Digest,
    /// An estimate, written anew each time.
    #[serde(rename = "tokens")]
    _tokens: String,
    definition: Value,
}

impl Lockfile {
    /// Refuses what it does not know, what is there twice, and a digest that is not that of its definition.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if text.len() > MAX_BYTES {
            return Err(LockError::TooLarge { limit: MAX_BYTES });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // First the version: a newer file has keys that this one does not know.
        let Versioned { version } = serde_json::from_str(text).map_err(|error| malformed(text, &error))?;
        match version {
            VERSION => {}
            0 => return Err(LockError::Malformed("there is no version 0".to_owned())),
            newer => return Err(LockError::Newer(newer)),
        }
        let file: File = serde_json::from_str(text).map_err(|error| malformed(text, &error))?;
        let mut lockfile = Self::default();
        for (name, pinned) in file.ensembles.0 {
            let pinned = of_ensemble(&name, pinned)?;
            lockfile.ensembles.insert(name, pinned);
        }
        Ok(lockfile)
    }
}

fn of_ensemble(ensemble: &str, file: PinnedFile) -> Result<Pinned, LockError> {
    let PinnedFile { declared, server, tools } = file;
    let mut pinned = Pinned { declared, server: server.map(of_server), ..Pinned::default() };
    for (tool, file) in tools.0 {
        let ToolFile { sha256, definition, .. } = file;
        if of_text(&canonical(&definition)) != sha256 {
            return Err(LockError::Mismatch { ensemble: ensemble.to_owned(), tool });
        }
        pinned.tools.insert(tool, PinnedTool { sha256, definition });
    }
    Ok(pinned)
}

fn of_server(file: ServerFile) -> Server {
    let ServerFile { name, version, protocol, instructions } = file;
    Server { name, version, protocol, instructions }
}

fn malformed(text: &str, error: &serde_json::Error) -> LockError {
    if let Some(line) = text.lines().position(is_mark) {
        return LockError::Merged(line + 1);
    }
    let said = error.to_string();
    let cut = said.floor_char_boundary(MAX_MESSAGE);
    LockError::Malformed(said.get(..cut).unwrap_or_default().to_owned())
}

/// Of what git leaves in a file that was changed on both sides.
fn is_mark(line: &str) -> bool {
    let marks = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    marks
        .iter()
        .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}
