//! [`AuditPlace`]: where an audit log is, and its verification.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::Digest;
use converse_session::storage::{AuditLines, Storage};
use converse_session::{Broken, Verified, VerifyError, chain_records, records, verify_chain, verify_files};
use serde_json::Value;

use crate::failure::{Failure, Kind};
use crate::world::World;

/// The log of a user or a principal: in the database of the sessions if there is one, else a file.
#[derive(Debug, Clone)]
pub enum AuditPlace {
    File(PathBuf),
    Database(Arc<dyn AuditLines>),
}

/// Returns the place of the log; `None` without a home. A home that is not a directory, such as `/dev/null`, is none.
pub fn place(world: &World) -> Option<AuditPlace> {
    let in_database = world.database.as_ref().and_then(|database| database.audit());
    in_database.map(AuditPlace::Database).or_else(|| file(world).map(AuditPlace::File))
}

fn file(world: &World) -> Option<PathBuf> {
    let dir = world.state_dir()?;
    let is_none =
        |home: &PathBuf| dir.starts_with(home) && fs::metadata(home).is_ok_and(|home| !home.is_dir());
    if world.home().as_ref().is_some_and(is_none) { None } else { Some(dir.join("audit.jsonl")) }
}

impl AuditPlace {
    /// Returns whether the chain is whole.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn is_whole(&self) -> Result<bool, Failure> {
        Ok(match self {
            Self::File(path) => verify_file(path, None)?.result,
            Self::Database(lines) => verify_lines(&**lines, None)?.0,
        }
        .is_ok())
    }

    /// Returns at most `limit` records before the record number `before`, the last first, of one session if it is named.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn records(
        &self,
        before: Option<u64>,
        session: Option<&str>,
        limit: usize,
    ) -> io::Result<Vec<Value>> {
        match self {
            Self::File(path) => records(path, before, session, limit),
            Self::Database(lines) => chain_records(&**lines, before, session, limit),
        }
    }
}

/// A verified chain: where it is, the number of its files, and the result. A broken file is named.
#[derive(Debug)]
pub struct Verification {
    pub path: PathBuf,
    /// The owner of a chain in a database; empty for the user of the command line. `None`: it is in files.
    pub principal: Option<String>,
    pub files: usize,
    pub result: Result<Verified, Broken>,
}

/// Verifies `file`, or the log of this user with its older files, or the chains of all owners in the database of the
/// sessions, up to the first broken one. A log that does not exist yet is empty; a named file must exist. `head` is the
/// digest of an earlier head, whose line must still be there.
///
/// # Errors
///
/// The log cannot be read.
pub fn verify(
    named: Option<&Path>,
    head: Option<&Digest>,
    world: &World,
) -> Result<Vec<Verification>, Failure> {
    if let (None, Some(database)) = (named, &world.database)
        && let Some(own) = database.audit()
    {
        return verify_chains(&**database, &*own, head);
    }
    let path = named.map(|file| world.cwd.join(file)).or_else(|| file(world)).ok_or_else(|| {
        Failure::usage("no-audit-log", "there is no home directory, so no audit log; name a file")
    })?;
    if named.is_some() {
        fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
    }
    Ok(vec![verify_file(&path, head)?])
}

fn verify_file(path: &Path, head: Option<&Digest>) -> Result<Verification, Failure> {
    let of = |path, files, result| Verification { path, principal: None, files, result };
    match verify_files(path, head) {
        Ok((verified, files)) => Ok(of(path.to_owned(), files, Ok(verified))),
        Err((path, VerifyError::Broken(broken))) => Ok(of(path, 0, Err(broken))),
        Err((path, VerifyError::Io(error))) => Err(unreadable(&path, &error)),
    }
}

/// The chain of the user comes first. The head is in one of the chains.
fn verify_chains(
    database: &dyn Storage,
    own: &dyn AuditLines,
    head: Option<&Digest>,
) -> Result<Vec<Verification>, Failure> {
    let owners = own.owners().map_err(|error| unanswered(own.label(), &error))?;
    let others = owners.into_iter().filter(|owner| !owner.is_empty());
    let (mut chains, mut has_head) = (Vec::<Verification>::new(), false);
    for owner in std::iter::once(String::new()).chain(others) {
        let Some(lines) = database.of_owner(&owner).and_then(|place| place.audit()) else { continue };
        let (result, has) = verify_lines(&*lines, head)?;
        let (path, principal, is_broken) = (lines.label().to_owned(), Some(owner), result.is_err());
        chains.push(Verification { path, principal, files: 0, result });
        if is_broken {
            return Ok(chains);
        }
        has_head |= has;
    }
    if let Some(own) = chains.first_mut().filter(|_| !has_head) {
        let last = own.result.as_ref().map_or(0, |verified| verified.before + verified.records);
        let reason = "the noted head is not a line of any chain: lines at the end were removed, or the last line was changed";
        own.result = Err(Broken { line: last.max(1), reason: reason.to_owned() });
    }
    Ok(chains)
}

/// Returns the result, and whether the head is in this chain.
fn verify_lines(
    lines: &dyn AuditLines,
    head: Option<&Digest>,
) -> Result<(Result<Verified, Broken>, bool), Failure> {
    match verify_chain(lines, head) {
        Ok((verified, has_head)) => Ok((Ok(verified), has_head)),
        Err(VerifyError::Broken(broken)) => Ok((Err(broken), false)),
        Err(VerifyError::Io(error)) => Err(unanswered(lines.label(), &error)),
    }
}

fn unreadable(path: &Path, why: &dyn Display) -> Failure {
    Failure::usage("no-audit-log", format!("`{}` cannot be read: {why}", path.display()))
}

fn unanswered(place: &Path, why: &dyn Display) -> Failure {
    Failure::new(Kind::Output, "no-audit-log", format!("`{}` cannot be read: {why}", place.display()))
}
