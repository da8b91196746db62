//! Calls that a model wrote only because a result or a document of the conversation contains them.

use converse_canister::{Assistant, Canister, Content, Invocation};
use converse_provider::{Reply, ToolProtocol, echoes_data};
use serde_json::json;

use crate::Route;

/// Returns the reply with repeated calls as text, and the names of their tools. Only where calls are read from text: a
/// native call is the model's own.
pub(crate) fn without_echoes(
    mut reply: Reply,
    transcript: &[Canister],
    route: &Route<'_>,
) -> (Reply, Vec<String>) {
    let mut echoes = Vec::new();
    if route.endpoint.tools != ToolProtocol::Prompted {
        return (reply, echoes);
    }
    let mut canisters: Vec<Canister> = Vec::new();
    for canister in std::mem::take(&mut reply.canisters) {
        match (canister, canisters.last_mut()) {
            (Canister::Invocation(call), last) if echoes_data(&call, transcript) => {
                echoes.push(call.tool.clone());
                let words = Content::text(written(&call));
                match last {
                    Some(Canister::Assistant(assistant)) => assistant.content.push(words),
                    _ => canisters.push(Canister::Assistant(Assistant {
                        turn: call.turn,
                        content: vec![words],
                        native: None,
                        stop: reply.stop.clone(),
                        response_id: None,
                    })),
                }
            }
            (canister, _) => canisters.push(canister),
        }
    }
    reply.canisters = canisters;
    (reply, echoes)
}

/// The call as the model wrote it, but for blanks.
fn written(call: &Invocation) -> String {
    let arguments = json!(call.arguments.object);
    format!("\n<tool_call>\n{}\n</tool_call>\n", json!({ "name": call.tool, "arguments": arguments }))
}
