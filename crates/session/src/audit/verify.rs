//! Verifies the chain of an audit log.
//!
//! A changed line shows in the line after it, whose `prev` no longer matches, so the reason names both lines. Only a head
//! that was noted elsewhere protects the last line. Zeros in lines that no sync covered are what a
//! power cut leaves; the next record repairs them.

use std::io::{self, BufRead, Read as _};

use converse_canister::Digest;

use super::MAX_LINE_BYTES;
use super::record::REPAIR;
use super::tail::{End, Link, could_be_torn};

/// A log with a valid chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub records: u64,
    /// SHA-256 of the last line with its newline, or zeros. Note it elsewhere.
    pub head: Digest,
    /// Bytes after the last line that a crash left incomplete, or that a process is writing.
    pub torn: usize,
    /// Records of repairs: bytes that a crash left incomplete were cut off and kept beside the log.
    pub repairs: u64,
}

/// The place where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Broken {
    /// The first line that does not follow from the lines before it, from 1.
    pub line: u64,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a log to its end. `noted` is an earlier head, whose line must still exist.
pub fn verify(mut reader: impl BufRead, noted: Option<&Digest>) -> Result<Verified, VerifyError> {
    let mut end = End::default();
    let mut seen = noted.is_none_or(|noted| *noted == end.head);
    let (mut repairs, mut synced) = (0, None);
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
        let at = |reason: String| Broken { line: end.seq + 1, reason };
        if line.len() > MAX_LINE_BYTES {
            return Err(at(format!("the line has more than {MAX_LINE_BYTES} bytes")).into());
        }
        if !line.ends_with(b"\n") {
            if !could_be_torn(&line) {
                return Err(at(
                    "the line has no newline and is not a part of a record that a crash could leave".into(),
                )
                .into());
            }
            break;
        }
        match follows(&end, &line) {
            Ok(link) => {
                synced = synced.max(link.synced);
                repairs += u64::from(link.kind.as_deref() == Some(REPAIR));
            }
            // A file system leaves zeros where a sector never reached the disk.
            Err(reason) if line.windows(2).any(|bytes| bytes == [0, 0]) => {
                reader.read_to_end(&mut line)?;
                let later =
                    line.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
                synced = later.fold(synced, |synced, link: Link| synced.max(link.synced));
                if synced.is_none_or(|synced| synced > end.seq) {
                    return Err(at(reason).into());
                }
                break;
            }
            Err(reason) => return Err(at(reason).into()),
        }
        end.follow(&line);
        seen |= noted == Some(&end.head);
    }
    if !seen {
        let reason = "the noted head is not a line of this log: lines at the end were removed, or the last line was changed";
        return Err(Broken { line: end.seq.max(1), reason: reason.to_owned() }.into());
    }
    Ok(Verified { records: end.seq, head: end.head, torn: line.len(), repairs })
}

fn follows(end: &End, line: &[u8]) -> Result<Link, String> {
    let link: Link = serde_json::from_slice(line).map_err(|error| format!("not a record: {error}"))?;
    let number = end.seq + 1;
    if link.seq != number {
        return Err(format!("`seq` is {}, not {number}: lines are missing, repeated or moved", link.seq));
    }
    if link.prev == end.head {
        return Ok(link);
    }
    Err(match end.seq {
        0 => "`prev` of the first line is not zeros: lines before it are missing".to_owned(),
        before => format!("`prev` is not the hash of line {before}: one of the two was changed"),
    })
}
