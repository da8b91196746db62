//! `read_file`: the text of a regular file, or some of its lines.

use std::io::Read;
use std::sync::Arc;

use converse_canister::Arguments;
use tokio_util::sync::CancellationToken;

use super::encoding::TextEncoding;
use super::jail::{Jail, RequestedPath};
use super::{Job, JobContext, JobError, MAX_FILE_BYTES, cancelled};
use crate::builtin::arguments::{count, required_text, text};
use crate::{Answer, InvokeError, PathUse};

/// Bytes between two looks at the cancellation.
const CHUNK_BYTES: u64 = 1024 * 1024;

pub(super) struct Reading {
    jail: Arc<Jail>,
    path: RequestedPath,
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
            path: RequestedPath::new("path", required_text(arguments, "path")?)?,
            encoding: TextEncoding::named(text(arguments, "encoding")?)?,
            offset: count(arguments, "offset")?.unwrap_or(0),
            limit,
        })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |context| self.run(context))
    }

    fn run(&self, context: &JobContext) -> Result<Answer, JobError> {
        let bytes = bytes(&self.jail, &self.path, context)?;
        let text = self
            .encoding
            .decode(&bytes)
            .map_err(|what| format!("`{}` cannot be read as text: {what}", self.path.shown()))?;
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

/// Reads the file that a call names, if the policy allows it.
pub(super) fn bytes(jail: &Jail, asked: &RequestedPath, context: &JobContext) -> Result<Vec<u8>, JobError> {
    let opened = jail.open()?;
    let path = jail.relative(opened, asked)?;
    let path = opened.named(&path, asked, (PathUse::Read, "read"), &context.paths)?;
    let (file, metadata) = opened.open_file(&path, asked)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(asked, metadata.len()));
    }
    contents(file, asked, &context.cancel)
}

/// Reads a whole file. Its size may be wrong (it grows, or is in /proc), so the bytes that were read count.
pub(super) fn contents(
    mut file: impl Read,
    path: &RequestedPath,
    cancel: &CancellationToken,
) -> Result<Vec<u8>, JobError> {
    let mut bytes = Vec::new();
    loop {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let read = file.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes);
        let read = read.map_err(|error| path.error("read", &error))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(path, bytes.len() as u64));
        }
        if read == 0 {
            return Ok(bytes);
        }
    }
}

fn too_large(path: &RequestedPath, bytes: u64) -> JobError {
    let path = path.shown();
    JobError::Answer(format!("`{path}` has {bytes} bytes or more; at most {MAX_FILE_BYTES} are read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_given_up() {
        let path = RequestedPath::new("path", "endless").unwrap();
        let error = contents(std::io::repeat(b'x'), &path, &CancellationToken::new()).unwrap_err();
        assert!(
            matches!(error, JobError::Answer(text) if text.contains("`endless` has 34603008 bytes or more"))
        );
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = contents(std::io::repeat(b'x'), &path, &cancel).unwrap_err();
        assert!(matches!(error, JobError::Answer(text) if text.contains("cancelled")));
    }
}
