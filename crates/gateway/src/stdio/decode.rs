//! Decodes a line to messages for the protocol library. Invalid lines are answered with an error.

use std::collections::VecDeque;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
};
use serde_json::value::RawValue;

use crate::message::{Message, RejectedMessage, not_json};

/// Maximum messages in one line; the revision 2025-03-26 has batches.
const MAX_BATCH: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The library knows the era of the client. Before that it accepts only requests, and ends on any other message.
    era_known: bool,
}

impl Decoder {
    pub(super) fn decode(
        &mut self,
        line: &[u8],
        messages: &mut VecDeque<ClientJsonRpcMessage>,
    ) -> Option<RejectedMessage> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let Ok(text) = std::str::from_utf8(line) else { return Some(not_json("the line is not UTF-8")) };
        if !text.starts_with('[') {
            return self.one(text, messages);
        }
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(batch) if batch.len() <= MAX_BATCH => {
                // A batch with invalid messages gets one answer, for the first of them.
                let refused: Vec<_> = batch.iter().filter_map(|one| self.one(one.get(), messages)).collect();
                refused.into_iter().next()
            }
            Ok(_) => {
                let text = format!("the batch has more than {MAX_BATCH} messages");
                Some(ErrorData::invalid_request(text, None).into())
            }
            Err(error) => Some(not_json(&error.to_string())),
        }
    }

    fn one(&mut self, text: &str, messages: &mut VecDeque<ClientJsonRpcMessage>) -> Option<RejectedMessage> {
        match Message::parse(text).and_then(|message| message.to_rmcp_with_arguments()) {
            Ok(message) => {
                self.era_known |= fixes_era(&message);
                if self.era_known || matches!(message, JsonRpcMessage::Request(_)) {
                    messages.push_back(message);
                }
                None
            }
            Err(refused) => Some(refused),
        }
    }
}

/// Returns whether the library knows the era of the client after this message.
fn fixes_era(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}
