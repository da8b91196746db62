//! One line → messages for the protocol library. What cannot be read is answered, never passed over in silence.

use std::collections::VecDeque;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
};
use serde_json::value::RawValue;

use crate::message::{Message, Refused, unreadable};

/// Messages in one line: 2025-03-26 allowed batches.
const MAX_BATCH: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The library has seen by now which era this client is of. Before that it takes requests only, and gives up on
    /// whoever says anything else.
    begun: bool,
}

impl Decoder {
    pub(super) fn decode(
        &mut self,
        line: &[u8],
        messages: &mut VecDeque<ClientJsonRpcMessage>,
    ) -> Option<Refused> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let Ok(text) = std::str::from_utf8(line) else { return Some(unreadable("it is not UTF-8")) };
        if !text.starts_with('[') {
            return self.one(text, messages);
        }
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(batch) if batch.len() <= MAX_BATCH => {
                // One answer for a batch that has something unreadable in it: the first.
                let refused: Vec<_> = batch.iter().filter_map(|one| self.one(one.get(), messages)).collect();
                refused.into_iter().next()
            }
            Ok(_) => {
                let text = format!("a batch of more than {MAX_BATCH} messages is not read");
                Some(ErrorData::invalid_request(text, None).into())
            }
            Err(error) => Some(unreadable(&error.to_string())),
        }
    }

    fn one(&mut self, text: &str, messages: &mut VecDeque<ClientJsonRpcMessage>) -> Option<Refused> {
        match Message::look_at(text).and_then(|message| message.opened()) {
            Ok(message) => {
                self.begun |= begins(&message);
                if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                    messages.push_back(message);
                }
                None
            }
            Err(refused) => Some(refused),
        }
    }
}

/// Does the library settle on an era with it?
fn begins(message: &ClientJsonRpcMessage) -> bool {
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
