//! Parses a lockfile.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use converse_canister::{Digest, canonical};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Lockfile, MAX_BYTES, OfferList, PinnedEnsemble, PinnedTool, Server, VERSION, digest_of_text};

/// Limit on the bytes of a message of the JSON parser, which quotes the text.
const MAX_MESSAGE: usize = 200;

/// Why a lockfile is refused. It is refused as a whole: half a lockfile would let through what the other half stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    #[error("the file has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the format version {0} belongs to a later converse; update converse")]
    Newer(u64),
    /// Not JSON, an unknown key, a duplicate key, or a value of the wrong type.
    #[error("the file cannot be read: {0}")]
    Malformed(String),
    #[error(
        "line {0} is a conflict marker of a merge; take one side as a whole (`git checkout --ours` or `--theirs`, with \
         the name of the file), then run `converse ensembles lock`"
    )]
    Merged(usize),
    /// The definition or the digest was edited, or the file is damaged.
    #[error("the sha256 of `{ensemble}.{tool}` does not match its definition")]
    Mismatch { ensemble: String, tool: String },
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: u64,
    ensembles: UniqueMap<PinnedFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedFile {
    declared: Option<Value>,
    server: Option<Server>,
    tools: UniqueMap<ToolFile>,
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
    /// Parses a whole lockfile.
    ///
    /// # Errors
    ///
    /// For unknown keys, duplicate keys, and a digest that does not match its definition.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if text.len() > MAX_BYTES {
            return Err(LockError::TooLarge { limit: MAX_BYTES });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // The version comes first: a newer file has keys that this version does not know.
        let Versioned { version } = serde_json::from_str(text).map_err(|error| malformed(text, &error))?;
        match version {
            VERSION => {}
            0 => return Err(LockError::Malformed("0 is not a format version".to_owned())),
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

fn of_ensemble(ensemble: &str, file: PinnedFile) -> Result<PinnedEnsemble, LockError> {
    let PinnedFile { declared, server, tools } = file;
    let mut pinned = PinnedEnsemble { declared, server, ..PinnedEnsemble::default() };
    for (tool, file) in tools.0 {
        let ToolFile { sha256, definition, .. } = file;
        if digest_of_text(&canonical(&definition)) != sha256 {
            return Err(LockError::Mismatch { ensemble: ensemble.to_owned(), tool });
        }
        let one = PinnedTool { sha256, definition };
        match OfferList::of_key(&tool) {
            Some(list) => drop(pinned.lists.insert(list, one)),
            None => drop(pinned.tools.insert(tool, one)),
        }
    }
    Ok(pinned)
}

fn malformed(text: &str, error: &serde_json::Error) -> LockError {
    if let Some(line) = text.lines().position(is_conflict_marker) {
        return LockError::Merged(line + 1);
    }
    let mut message = error.to_string();
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    LockError::Malformed(message)
}

/// Returns whether the line is a conflict marker of git.
fn is_conflict_marker(line: &str) -> bool {
    let marks = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    marks
        .iter()
        .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// An object whose keys are unique. A bad merge can leave two entries with one name: a reader sees both, but a parser
/// would take the last.
#[derive(Debug)]
struct UniqueMap<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for UniqueMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
            type Value = UniqueMap<V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if entries.contains_key(&key) {
                        return Err(A::Error::custom(format!("the key `{key}` is given twice")));
                    }
                    entries.insert(key, value);
                }
                Ok(UniqueMap(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}
