//! What the tests of the built-ins share: settings, a fixed clock, a directory that goes away.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Content};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{BuildError, Clock, Settings, builtins};
use crate::{Answer, Context, Host, Invocable, InvokeError};

/// A directory of its own for one test.
pub(super) struct TempDir(PathBuf);

impl TempDir {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("converse-builtin-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn fixed(at: &str) -> Clock {
    let at: Timestamp = at.parse().unwrap();
    Arc::new(move || at)
}

pub(super) fn build(
    name: &str,
    configuration: Value,
    workspace: &Path,
    protected: &[PathBuf],
    clock: Clock,
) -> Result<Arc<dyn Invocable>, BuildError> {
    let builtin = builtins().iter().find(|builtin| builtin.name == name).unwrap();
    let configuration = configuration.as_object().unwrap();
    (builtin.build)(&Settings { configuration, workspace, protected, clock })
}

pub(super) fn context(cancel: CancellationToken) -> Context {
    let deadline = Instant::now() + Duration::from_secs(30);
    Context { invoker: "test.tool".into(), cancel, deadline, host: Host::default() }
}

/// Runs a tool to its end, on a runtime of its own.
pub(super) fn invoke(tool: &dyn Invocable, arguments: Value) -> Result<Answer, InvokeError> {
    let arguments = Arguments::from_object(arguments.as_object().unwrap().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(tool.invoke(context(CancellationToken::new()), &arguments))
}

/// The one piece of an answer, as text.
pub(super) fn words(answer: &Answer) -> &str {
    match answer.content.as_slice() {
        [Content::Text { text, .. }] => text,
        other => panic!("not one text: {other:?}"),
    }
}

/// The one piece of an answer, as a value.
pub(super) fn value(answer: &Answer) -> &Value {
    match answer.content.as_slice() {
        [Content::Structured { value }] => value,
        other => panic!("not one value: {other:?}"),
    }
}
