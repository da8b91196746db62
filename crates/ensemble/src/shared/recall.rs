//! Calls that ran before a restart: their results answer equal calls, so that nothing runs again.

use converse_canister::{Arguments, InvocationResult, Outcome};
use serde_json::json;

use super::is_repeatable;
use super::runs::{SharedRuns, key};
use crate::tool::Tool;
use crate::{Answer, InvokeError};

impl SharedRuns {
    /// Takes in the result of a call that a model made earlier. Call it for the calls of each model in their order.
    pub(crate) fn recall(
        &self,
        caller: usize,
        tool: &Tool,
        arguments: &Arguments,
        result: &InvocationResult,
    ) {
        let digest = tool.digest().to_string();
        let run = self.joined(caller, key(&json!([tool.qualified, digest]), arguments));
        let answer = |is_error| Ok(Answer::new(result.content.clone(), is_error));
        run.end(match result.outcome {
            Outcome::Success => answer(false),
            Outcome::Failed => answer(true),
            // An equal call runs it again.
            _ if is_repeatable(tool) => return,
            _ => {
                let text = "the call ran for another model and was stopped, so its outcome is unknown";
                Err(InvokeError::Interrupted(text.to_owned()))
            }
        });
    }
}
