//! `read_file`: the text of a regular file, or some of its lines.

use std::io::Read;
use std::sync::Arc;

use converse_canister::Arguments;
use tokio_util::sync::CancellationToken;

use super::encoding::TextEncoding;
use super::jail::{Asked, Jail};
use super::{Job, MAX_FILE_BYTES, Trouble, cancelled};
use crate::builtin::arguments::{count, required_text, text};
use crate::{Answer, InvokeError};

/// Bytes between two looks at the cancellation.
const CHUNK_BYTES: u64 = 1024 * 1024;

pub(super) struct Reading {
    jail: Arc<Jail>,
    path: Asked,
    encoding: TextEncoding,
    /// Lines to leave out.
    offset: usize,
    limit: Option<usize>,
}

impl Reading {
    pub(super) fn new(jail: &Arc<Jail>, arguments: &Arguments) -> Result<Self, InvokeError> {
        let limit = count(arguments, "limit")?;
        if limit == Some(0) {
            return Err(InvokeError::Invalid("`limit` must be 1 or more".to_owned()));
        }
        Ok(Self {
            jail: Arc::clone(jail),
            path: Asked::new("path", required_text(arguments, "path")?)?,
            encoding: TextEncoding::named(text(arguments, "encoding")?)?,
            offset: count(arguments, "offset")?.unwrap_or(0),
            limit,
        })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |cancel| self.run(cancel))
    }

    fn run(&self, cancel: &CancellationToken) -> Result<Answer, Trouble> {
        let jail = self.jail.open()?;
        let (mut file, metadata) = jail.open_file(&self.jail.relative(jail, &self.path)?, &self.path)?;
        let path = self.path.shown();
        let too_large = |bytes: u64| {
            Trouble::Told(format!("`{path}` has {bytes} bytes or more; at most {MAX_FILE_BYTES} are read"))
        };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::new();
        // The size may be wrong (a file that grows, /proc), so the end of the file decides.
        loop {
            if cancel.is_cancelled() {
                return Err(cancelled());
            }
            let read = file.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes);
            let read = read.map_err(|error| self.path.trouble("read", &error))?;
            if bytes.len() as u64 > MAX_FILE_BYTES {
                return Err(too_large(bytes.len() as u64));
            }
            if read == 0 {
                break;
            }
        }
        let text = self
            .encoding
            .decode(&bytes)
            .map_err(|what| format!("`{path}` cannot be read as text: {what}"))?;
        Ok(Answer::text(self.slice(text)))
    }

    /// The lines asked for; if not all are given, a last line says which these are.
    fn slice(&self, text: String) -> String {
        if self.offset == 0 && self.limit.is_none() {
            return text;
        }
        let all = text.split_inclusive('\n').count();
        let lines = text.split_inclusive('\n').skip(self.offset).take(self.limit.unwrap_or(usize::MAX));
        let mut slice = String::new();
        let mut given = 0;
        for line in lines {
            slice.push_str(line);
            given += 1;
        }
        if given == all {
            return slice;
        }
        if !slice.is_empty() && !slice.ends_with('\n') {
            slice.push('\n');
        }
        let which = match given {
            0 => format!("no lines from {} on", self.offset.saturating_add(1)),
            // Lines were found behind the offset, so it is no large number.
            _ => format!("lines {} to {}", self.offset + 1, self.offset + given),
        };
        slice + &format!("[{which}, of {all}]")
    }
}
