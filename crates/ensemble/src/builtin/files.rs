//! `read_file`, `write_file`, `edit_file`, `list_directory`, `search_files`: files of the workspace only.
//!
//! The jail is one open directory ([`jail`]). The kernel resolves every path below it, so a symlink that changes
//! meanwhile cannot lead outside. Writing has a second guard ([`protected`]): places that no tool may change, even if
//! the user allows it. Only regular files are read or replaced. The work is done on blocking threads.

mod edit;
mod encoding;
mod ignored;
mod jail;
mod list;
mod protected;
mod read;
mod replacing;
mod search;
mod target;
mod write;

use std::sync::Arc;

use converse_canister::Arguments;
use converse_process::NO_DESCRIPTORS;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{BuildError, Settings};
use crate::blocking;
use crate::path_class::is_key;
use crate::path_policy::PATH;
use crate::{Answer, Context, Invocable, InvokeError, NamedPath, PathPolicy, PathResolver, PathUse};
use edit::Editing;
use jail::{Jail, RequestedPath};
use list::Listing;
use protected::Protected;
pub(crate) use protected::objection;
use read::Reading;
use search::Searching;
use target::Place;
use write::Writing;

/// The largest file that is read, or that an append may make.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// The longest text that one call writes.
const MAX_CONTENT_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn build_read(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let jail = Arc::new(Jail::new(settings)?);
    Ok(file_tool(&jail, PathUse::Read, Reading::new, Reading::into_job))
}

pub(super) fn build_search(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let jail = Arc::new(Jail::new(settings)?);
    Ok(file_tool(&jail, PathUse::Read, Searching::new, Searching::into_job))
}

pub(super) fn build_list(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let jail = Arc::new(Jail::new(settings)?);
    Ok(file_tool(&jail, PathUse::List, Listing::new, Listing::into_job))
}

pub(super) fn build_write(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let jail = Arc::new(Jail::new(settings)?);
    let protected = Arc::new(Protected::new(settings));
    let read = move |jail: &Arc<Jail>, arguments: &Arguments| Writing::new(jail, &protected, arguments);
    Ok(file_tool(&jail, PathUse::Write, read, Writing::into_job))
}

pub(super) fn build_edit(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let jail = Arc::new(Jail::new(settings)?);
    let protected = Arc::new(Protected::new(settings));
    let read = move |jail: &Arc<Jail>, arguments: &Arguments| Editing::new(jail, &protected, arguments);
    Ok(file_tool(&jail, PathUse::Write, read, Editing::into_job))
}

/// Makes a tool that reads its arguments into a task, and runs the task.
fn file_tool<T: 'static>(
    jail: &Arc<Jail>,
    used: PathUse,
    read: impl Fn(&Arc<Jail>, &Arguments) -> Result<T, InvokeError> + Send + Sync + 'static,
    into_job: fn(T) -> Job,
) -> Arc<dyn Invocable> {
    let own = Arc::clone(jail);
    let work = move |arguments: &Arguments| Ok(into_job(read(&own, arguments)?));
    Arc::new(FileTool { work, resolver: Arc::new(Resolver { jail: Arc::clone(jail), used }) })
}

/// What is done on a blocking thread once the arguments are read.
type Job = Box<dyn FnOnce(&JobContext) -> Result<Answer, JobError> + Send>;

/// What a job is given while it runs.
struct JobContext {
    /// Looked at now and then.
    cancel: CancellationToken,
    paths: PathPolicy,
}

/// A file tool: arguments to a job, the job to a blocking thread.
struct FileTool<W> {
    work: W,
    resolver: Arc<Resolver>,
}

impl<W> Invocable for FileTool<W>
where
    W: Fn(&Arguments) -> Result<Job, InvokeError> + Send + Sync,
{
    fn path_resolver(&self) -> Option<Arc<dyn PathResolver>> {
        Some(Arc::clone(&self.resolver) as _)
    }

    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        Box::pin(async move {
            let job = (self.work)(arguments)?;
            // A blocking thread goes on when nobody waits for it any more, unless it is told.
            // It has a signal of its own: the caller's is the caller's to give.
            let given_up = context.cancel.child_token();
            let _cancel_on_drop = given_up.clone().drop_guard();
            let running = JobContext { cancel: given_up, paths: context.paths };
            let done = blocking::spawn_or_unreachable(move || job(&running))?.await;
            match done.map_err(|_| InvokeError::Failed("the file tool crashed".to_owned()))? {
                Ok(answer) => Ok(answer),
                Err(JobError::Answer(text)) => Ok(Answer::error(text)),
                Err(JobError::NoDescriptors) => Err(InvokeError::NoDescriptors(NO_DESCRIPTORS.to_owned())),
                Err(JobError::NoRoot(message)) => Err(InvokeError::Unreachable { message, sent: false }),
            }
        })
    }
}

/// Finds the file or directory that `path` names.
struct Resolver {
    jail: Arc<Jail>,
    used: PathUse,
}

impl PathResolver for Resolver {
    fn resolve(&self, arguments: &Map<String, Value>) -> Option<NamedPath> {
        let written = match arguments.get(PATH) {
            None => ".",
            Some(path) => path.as_str()?,
        };
        let asked = RequestedPath::new(PATH, written).ok()?;
        let opened = self.jail.open().ok()?;
        let relative = self.jail.relative(opened, &asked).ok()?;
        let inner = match self.used {
            PathUse::Read | PathUse::List => opened.dir.canonicalize(&relative).ok()?,
            PathUse::Write => Place::of(opened, &relative, &asked, true).ok()?.path(),
        };
        let path = opened.absolute(&inner);
        let holds_key = self.used != PathUse::List && opened.head(&inner).is_some_and(|head| is_key(&head));
        let (written, root) = (written.to_owned(), opened.canonical.clone());
        Some(NamedPath { written, root, path, used: self.used, holds_key })
    }
}

/// Why a job failed.
#[derive(Debug)]
enum JobError {
    /// An error in words for the model.
    Answer(String),
    /// The root directory cannot be opened.
    NoRoot(String),
    /// This process has no file descriptor left.
    NoDescriptors,
}

impl From<String> for JobError {
    fn from(text: String) -> Self {
        Self::Answer(text)
    }
}

fn cancelled() -> JobError {
    JobError::Answer("cancelled before it was done".to_owned())
}

#[cfg(test)]
mod tests;
