//! Verifies before a call that a tool still matches its accepted definition.
//!
//! The list of a lazy server is from an earlier run, and a restarted server may have been updated. In both cases the
//! tools are listed before the next call, and a changed tool is held back before anything is sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::{Digest, InvokerName};
use converse_ensemble::{Definition, HoldReason, InvokeError};
use futures_util::FutureExt as _;
use tokio::time::timeout;

use crate::error::Failure;
use crate::link::Link;
use crate::listing::{self, Entries, sift};
use crate::server::{FlagGuard, RELIST};

/// The definition of a tool that was offered, and accepted if there is a lockfile.
pub(crate) struct Accepted {
    pub(crate) definition: Definition,
    /// The command that accepts the tool again.
    pub(crate) anew: String,
    /// Whether the tool must match. A lockfile may come while the tool is served.
    pub(crate) is_verified: Arc<AtomicBool>,
}

/// Checks a tool. `name` is its name for the model.
pub(crate) async fn verify(
    link: &Link,
    tool: &InvokerName,
    accepted: &Accepted,
    name: &str,
) -> Result<(), InvokeError> {
    if !accepted.is_verified.load(Ordering::Acquire) {
        return Ok(());
    }
    let late = Failure::Silent { request: "tools/list", limit: RELIST };
    match timeout(RELIST, is_unchanged(link, tool, &accepted.definition)).await.unwrap_or(Err(late)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(InvokeError::HeldBack(HoldReason::Changed.message(name, &accepted.anew))),
        Err(failure) => {
            let message =
                format!("not sent: the tool could not be compared with its accepted definition: {failure}");
            Err(InvokeError::Unreachable { message, sent: false })
        }
    }
}

/// The digests of the definitions in a list.
pub(crate) fn definitions(entries: Entries) -> HashMap<InvokerName, Digest> {
    let tools = sift(entries).tools.into_iter();
    tools.map(|tool| (tool.name, Definition::raw(tool.raw).digest())).collect()
}

/// Returns whether the tool matches. Lists the tools if they may have changed; concurrent calls share one list.
async fn is_unchanged(link: &Link, tool: &InvokerName, accepted: &Definition) -> Result<bool, Failure> {
    let mut seen = link.seen.lock().await;
    if let Some(unseen) = FlagGuard::take(&link.handler.changed.unverified) {
        *seen = Some(definitions(listing::list(link).boxed().await?));
        unseen.done();
    }
    Ok(seen.as_ref().is_none_or(|seen| seen.get(tool) == Some(&accepted.digest())))
}
