//! A tool that was accepted is called as it was accepted, or not at all.
//!
//! A lazy server's list is that of an earlier run, and a server that died may come back as another version of itself. Before
//! the first call after that its tools are listed, and one that is not the same is held back before anything is sent.

use std::collections::HashMap;

use converse_canister::{Digest, InvokerName};
use converse_ensemble::{Definition, HoldReason, InvokeError};
use tokio::time::timeout;

use crate::error::Failure;
use crate::link::Link;
use crate::listing::{self, sift};
use crate::server::{FlagGuard, RELIST};

/// What a tool was when somebody accepted it.
pub(crate) struct Accepted {
    pub(crate) digest: Digest,
    /// What a person must type to accept it anew.
    pub(crate) anew: String,
}

/// `name` is for the model.
pub(crate) async fn verify(
    link: &Link,
    tool: &InvokerName,
    accepted: &Accepted,
    name: &str,
) -> Result<(), InvokeError> {
    let late = Failure::Silent { request: "tools/list", limit: RELIST };
    match timeout(RELIST, is_still(link, tool, accepted.digest)).await.unwrap_or(Err(late)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(InvokeError::HeldBack(HoldReason::Changed.message(name, &accepted.anew))),
        Err(failure) => {
            let message =
                format!("not sent: it cannot be told whether the tool is as it was accepted: {failure}");
            Err(InvokeError::Unreachable { message, sent: false })
        }
    }
}

/// Lists the tools if nobody has seen them as they are now. Calls that come together wait for one list.
async fn is_still(link: &Link, tool: &InvokerName, accepted: Digest) -> Result<bool, Failure> {
    let mut seen = link.seen.lock().await;
    if let Some(unseen) = FlagGuard::take(&link.handler.changed.unverified) {
        let tools = sift(listing::list(link).await?).tools;
        let digests = tools.into_iter().map(|tool| (tool.name, Definition::raw(tool.raw).digest()));
        *seen = Some(digests.collect::<HashMap<_, _>>());
        unseen.done();
    }
    Ok(seen.as_ref().is_none_or(|seen| seen.get(tool) == Some(&accepted)))
}
