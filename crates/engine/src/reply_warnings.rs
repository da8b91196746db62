//! Warnings about a reply that the user should know of.

use converse_canister::{Canister, Declaration, Stop};
use converse_provider::{Reply, ToolProtocol, text_calls};

use crate::Route;
use crate::conversation::shortened;

/// Returns the warnings about a whole reply; `echoes` are the tools whose calls were taken as text.
pub(crate) fn reply_warnings(
    reply: &Reply,
    echoes: &[String],
    tools: &[Declaration],
    route: &Route<'_>,
) -> Vec<String> {
    if !echoes.is_empty() {
        let echoed = echoes.iter().map(|tool| {
            format!(
                "the model repeated a call of `{tool}` that is in a result or a document of this conversation; \
                 nothing was run"
            )
        });
        return echoed.chain(unknown_stop(reply, route)).collect();
    }
    [call_in_text(reply, tools, route), unknown_stop(reply, route)].into_iter().flatten().collect()
}

/// Warns about a reply with an unknown stop reason: it may not be whole. A reply without words is not warned about,
/// because it fails.
fn unknown_stop(reply: &Reply, route: &Route<'_>) -> Option<String> {
    let Stop::Other(word) = &reply.stop else { return None };
    let (who, word) = (route.id(), shortened(word));
    if has_invocations(reply) {
        return Some(format!(
            "{who} ended its reply with the unknown stop reason `{word}`; its calls do not run"
        ));
    }
    let has_words = !words(reply).trim().is_empty();
    has_words.then(|| {
        format!("{who} ended its reply with the unknown stop reason `{word}`; the reply may be incomplete")
    })
}

/// Warns about a call that the model wrote into its text instead of making it: nothing was run. An answer that must fit
/// a schema is not warned about, because it is checked anyway.
fn call_in_text(reply: &Reply, tools: &[Declaration], route: &Route<'_>) -> Option<String> {
    if tools.is_empty() || has_invocations(reply) || route.controls.answer.is_some() {
        return None;
    }
    let calls = text_calls(&words(reply), tools);
    let call = calls.first()?;
    let remedy = match route.endpoint.tools {
        ToolProtocol::Native => format!(
            "turn on the server's tools (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice), or set \
             tools = \"prompted\" under [providers.{}]",
            route.endpoint.provider
        ),
        ToolProtocol::Prompted => {
            "the model does not follow the format of its instructions; try another model".to_owned()
        }
    };
    let (tool, form) = (&call.tool, call.form);
    Some(format!(
        "the model wrote a call of `{tool}` into its text ({form}) instead of making it; nothing was run: {remedy}"
    ))
}

fn has_invocations(reply: &Reply) -> bool {
    reply.canisters.iter().any(|canister| matches!(canister, Canister::Invocation(_)))
}

fn words(reply: &Reply) -> String {
    let words = reply.canisters.iter().filter_map(|canister| match canister {
        Canister::Assistant(assistant) => Some(assistant.words()),
        _ => None,
    });
    words.collect()
}
