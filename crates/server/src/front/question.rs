//! What identifies a question about a call: a yes counts for nothing else.

use converse_canister::{Digest, canonical};
use converse_ensemble::Pending;
use converse_session::digest;
use serde_json::json;

/// Returns the digest of what a person is shown about a call, and of what would run: the tool as it is defined and
/// connected, the arguments, the files that they lead to, and the rule that asks. The id of the call is not part of it.
pub(super) fn question_digest(pending: &Pending) -> Digest {
    let binding = pending.binding();
    let question = json!({
        "tool": pending.tool(),
        "definition": binding.definition,
        "connection": binding.connection,
        "local": binding.local,
        "effects": pending.effects().as_str(),
        "arguments": pending.arguments(),
        "rule": pending.rule(),
        "reason": pending.reason(),
        "reaches": pending.named_elsewhere(),
    });
    digest(canonical(&question).as_ref())
}
