//! `write_file`: a regular file, replaced as a whole or not at all. Appending is reading and replacing.

use std::sync::Arc;

use converse_canister::Arguments;

use super::encoding::TextEncoding;
use super::jail::{Jail, RequestedPath};
use super::protected::Protected;
use super::target::Target;
use super::{Job, JobContext, JobError, MAX_CONTENT_BYTES, MAX_FILE_BYTES, cancelled};
use crate::builtin::arguments::{flag, required_text, text};
use crate::{Answer, InvokeError};

pub(super) struct Writing {
    target: Target,
    bytes: Vec<u8>,
    append: bool,
}

impl Writing {
    pub(super) fn new(
        jail: &Arc<Jail>,
        protected: &Arc<Protected>,
        arguments: &Arguments,
    ) -> Result<Self, InvokeError> {
        let path = RequestedPath::new("path", required_text(arguments, "path")?)?;
        let content = required_text(arguments, "content")?;
        let bytes = TextEncoding::named(text(arguments, "encoding")?)?.encode(content);
        let bytes =
            bytes.map_err(|what| InvokeError::Invalid(format!("`content` cannot be written: {what}")))?;
        if bytes.len() > MAX_CONTENT_BYTES {
            let message =
                format!("`content` has {} bytes; at most {MAX_CONTENT_BYTES} are written", bytes.len());
            return Err(InvokeError::Invalid(message));
        }
        let create_directories = flag(arguments, "create_directories")?;
        let (jail, protected) = (Arc::clone(jail), Arc::clone(protected));
        let target = Target { jail, protected, path, create_directories };
        Ok(Self { target, bytes, append: flag(arguments, "append")? })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |context| self.run(context))
    }

    fn run(self, context: &JobContext) -> Result<Answer, JobError> {
        let Self { target, bytes, append } = self;
        let spot = target.spot(&context.paths)?;
        if context.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let mut whole =
            if append && spot.old.is_some() { spot.content(&context.cancel)? } else { Vec::new() };
        let (verb, count, path) =
            (if append { "appended" } else { "wrote" }, bytes.len(), target.path.shown());
        whole.extend(bytes);
        if whole.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("`{path}` would become larger than {MAX_FILE_BYTES} bytes").into());
        }
        spot.replace(&whole)?;
        let bytes = if count == 1 { "byte" } else { "bytes" };
        Ok(Answer::text(format!("{verb} {count} {bytes} to {path}")))
    }
}
