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

use std::path::Path;
use std::sync::Arc;

use converse_canister::Arguments;
use converse_process::NO_DESCRIPTORS;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{BuildError, Settings, on_blocking_thread};
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
    Arc::new(FileTool { work, resolver: Arc::new(Resolver::new(jail, used, PATH)) })
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
            Ok(on_thread(&context, job).await?.unwrap_or_else(Answer::error))
        })
    }
}

/// Runs a job on a blocking thread. The inner error is words for the model.
async fn on_thread<T: Send + 'static>(
    context: &Context,
    job: impl FnOnce(&JobContext) -> Result<T, JobError> + Send + 'static,
) -> Result<Result<T, String>, InvokeError> {
    // A blocking thread goes on when nobody waits for it any more, unless it is told.
    // It has a signal of its own: the caller's is the caller's to give.
    let given_up = context.cancel.child_token();
    let _cancel_on_drop = given_up.clone().drop_guard();
    let running = JobContext { cancel: given_up, paths: context.paths.clone() };
    match on_blocking_thread("the file tool", move || job(&running)).await? {
        Ok(done) => Ok(Ok(done)),
        Err(JobError::Answer(text)) => Ok(Err(text)),
        Err(JobError::NoDescriptors) => Err(InvokeError::NoDescriptors(NO_DESCRIPTORS.to_owned())),
        Err(JobError::NoRoot(message)) => Err(InvokeError::Unreachable { message, sent: false }),
    }
}

/// Reads a file below the working directory that a request sends. It is found and judged like the file of `read_file`.
pub(crate) struct Upload(Resolver);

impl Upload {
    /// Opens nothing. `argument` names the file.
    pub(crate) fn new(workspace: &Path, argument: &str) -> Self {
        Self(Resolver::new(&Arc::new(Jail::of_workspace(workspace)), PathUse::Read, argument))
    }

    /// Returns the path as written, or `None` if it is not given. The file is judged and read by this path.
    fn path<'a>(&self, arguments: &'a Map<String, Value>) -> Result<Option<&'a str>, InvokeError> {
        match arguments.get(&self.0.argument) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(path)) => Ok(Some(path)),
            Some(_) => Err(InvokeError::Invalid(format!("`{}` must be a text: a path", self.0.argument))),
        }
    }

    /// Returns the name of the file, without directories, and its content; or `None` if no path is given. A file that was
    /// not found when the call was judged is refused.
    pub(crate) async fn read(
        &self,
        context: &Context,
        arguments: &Map<String, Value>,
    ) -> Result<Option<(String, Vec<u8>)>, InvokeError> {
        let Some(path) = self.path(arguments)? else { return Ok(None) };
        let asked = RequestedPath::new(&self.0.argument, path)?;
        let jail = Arc::clone(&self.0.jail);
        let job = move |context: &JobContext| {
            let paths = context.paths.clone().only_named();
            read::bytes(&jail, &asked, &JobContext { cancel: context.cancel.clone(), paths })
        };
        let bytes = on_thread(context, job).await?.map_err(InvokeError::Invalid)?;
        let name = Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        Ok(Some((name, bytes)))
    }
}

impl PathResolver for Upload {
    fn resolve(&self, arguments: &Map<String, Value>) -> Option<NamedPath> {
        self.0.named(self.path(arguments).ok()??)
    }
}

/// Finds the file or directory that an argument names.
struct Resolver {
    jail: Arc<Jail>,
    used: PathUse,
    argument: String,
}

impl PathResolver for Resolver {
    fn resolve(&self, arguments: &Map<String, Value>) -> Option<NamedPath> {
        match arguments.get(&self.argument) {
            None => self.named("."),
            Some(path) => self.named(path.as_str()?),
        }
    }
}

impl Resolver {
    fn new(jail: &Arc<Jail>, used: PathUse, argument: &str) -> Self {
        Self { jail: Arc::clone(jail), used, argument: argument.to_owned() }
    }

    fn named(&self, written: &str) -> Option<NamedPath> {
        let asked = RequestedPath::new(PATH, written).ok()?;
        let opened = self.jail.open().ok()?;
        let relative = self.jail.relative(opened, &asked).ok()?;
        let inner = match self.used {
            PathUse::Read | PathUse::List => opened.dir.canonicalize(&relative).ok()?,
            PathUse::Write => Place::of(opened, &relative, &asked, true).ok()?.path(),
        };
        let path = opened.absolute(&inner);
        let holds_key = self.used != PathUse::List && opened.head(&inner).is_some_and(|head| is_key(&head));
        let (argument, written) = (self.argument.clone(), written.to_owned());
        Some(NamedPath {
            argument,
            written,
            root: opened.canonical.clone(),
            path,
            used: self.used,
            holds_key,
        })
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
