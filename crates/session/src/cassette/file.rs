//! A cassette that was read: whole, or not at all. Only what a killed run leaves, half a last line, is forgiven.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::cassette::entry::{Entry, Exchange, Header, Reply, Response};
use crate::cassette::{CassetteError, FORMAT, MAX_BYTES};
use crate::digest;

#[derive(Debug, Clone, PartialEq)]
pub struct Cassette {
    pub header: Header,
    /// Each with its line, from 2.
    pub entries: Vec<(usize, Entry)>,
    /// This line is not whole and was left out.
    pub torn: Option<usize>,
}

impl Cassette {
    /// Reads a regular file of at most [`MAX_BYTES`].
    pub fn read(path: &Path) -> Result<Self, CassetteError> {
        let file = path.display().to_string();
        // Checked before opening, because opening a pipe would wait for a writer.
        let metadata = std::fs::metadata(path).map_err(|error| CassetteError::io(path, error))?;
        if !metadata.is_file() {
            return Err(CassetteError::NoFile(file));
        }
        if metadata.len() > MAX_BYTES {
            return Err(CassetteError::TooLarge { file });
        }
        let opened = File::open(path).map_err(|error| CassetteError::io(path, error))?;
        Self::parse(BufReader::new(opened.take(MAX_BYTES)), path)
    }

    pub fn parse(mut lines: impl BufRead, path: &Path) -> Result<Self, CassetteError> {
        let file = path.display().to_string();
        let mut header = None;
        let (mut entries, mut torn) = (Vec::new(), None);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = lines.read_until(b'\n', &mut line);
            if read.map_err(|error| CassetteError::io(path, error))? == 0 {
                break;
            }
            if header.is_none() {
                header = Some(first(&line, &file)?);
                continue;
            }
            match entry(&line) {
                Ok(entry) => entries.push((number, entry)),
                Err(_) if line.last() != Some(&b'\n') => torn = Some(number),
                Err(reason) => return Err(CassetteError::Damaged { file, line: number, reason }),
            }
        }
        let header = header.ok_or(CassetteError::NoCassette(file))?;
        Ok(Self { header, entries, torn })
    }
}

/// Returns whether a file begins like a cassette of any format.
pub(super) fn is_one(first_line: &[u8]) -> bool {
    let value: Option<Value> = serde_json::from_slice(first_line).ok();
    value.is_some_and(|value| value.get("cassette").is_some_and(Value::is_u64))
}

fn first(line: &[u8], file: &str) -> Result<Header, CassetteError> {
    let none = || CassetteError::NoCassette(file.to_owned());
    let value: Value = serde_json::from_slice(line).map_err(|_| none())?;
    let format = value.get("cassette").and_then(Value::as_u64).ok_or_else(none)?;
    if format > u64::from(FORMAT) {
        return Err(CassetteError::Newer { file: file.to_owned(), format });
    }
    let damaged = |reason| CassetteError::Damaged { file: file.to_owned(), line: 1, reason };
    if format == 0 {
        return Err(damaged("0 is not a format version".to_owned()));
    }
    serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
}

/// With all that a replay would stumble over found now.
fn entry(line: &[u8]) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match &entry {
        Entry::Offer(_) => {}
        Entry::Model(Exchange { reply: Reply::Response(Response { status, body, headers, .. }), .. }) => {
            body.pieces()?;
            if !(100..1000).contains(status) {
                return Err(format!("{status} is not an HTTP status"));
            }
            if let Some((name, _)) = headers.iter().find(|(_, value)| !value.is_string()) {
                return Err(format!("the header `{name}` is not text"));
            }
        }
        Entry::Model(_) => {}
        Entry::Invocation(call) => {
            for blob in &call.blobs {
                let bytes = STANDARD.decode(&blob.base64).map_err(|error| format!("not base64: {error}"))?;
                if digest(&bytes) != blob.digest {
                    return Err(format!("the bytes do not match the digest {}", blob.digest));
                }
            }
        }
    }
    Ok(entry)
}
