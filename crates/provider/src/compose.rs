//! Builds a [`Reply`] from the parts that an assembly collected: the last step, the same for every dialect.
//!
//! Invocations get their ids here, and an unusable wire id is dropped. A reply that was cut loses its invocations,
//! because its end is unknown; so does one that was refused, because its turn is left out of every later prompt. A
//! truncated reply keeps them; the engine answers them without running anything.

use std::collections::HashMap;

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Invocation, InvocationId, Native, Stop, Usage,
};
use serde_json::Value;

use crate::head::Head;
use crate::{Reply, ReplyError, ReplyOrigin};

/// Longest wire id that is echoed, in bytes.
const MAX_WIRE_ID: usize = 512;

/// One piece of a reply, in the reply's order.
#[derive(Debug)]
pub(crate) enum Piece {
    Words(Content),
    Call { id: Option<String>, tool: String, arguments: Arguments },
}

/// Everything collected from a reply's body.
#[derive(Debug, Default)]
pub(crate) struct ReplyParts {
    pub(crate) pieces: Vec<Piece>,
    /// Native items; empty where the neutral form loses nothing.
    pub(crate) native: Vec<Value>,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Cost>,
    pub(crate) model: Option<String>,
    pub(crate) response_id: Option<String>,
}

impl ReplyParts {
    /// Builds the reply. `stop` is `Stop::Cut` if the terminal marker has not come, and `None` if the body was whole and
    /// gave no reason.
    ///
    /// # Errors
    /// [`ReplyError::CutShort`] with the partial reply if `stop` is `Stop::Cut`. [`ReplyError::Empty`] if there is neither
    /// a reason nor anything else.
    pub(crate) fn into_reply(
        self,
        stop: Option<Stop>,
        origin: &ReplyOrigin,
        head: &Head,
    ) -> Result<Reply, ReplyError> {
        let is_empty = stop.is_none() && self.pieces.is_empty() && self.native.is_empty();
        let stop = stop.unwrap_or(Stop::End);
        let acts = !matches!(stop, Stop::Cut | Stop::Refused { .. });
        let native = acts.then(|| Native { maker: origin.endpoint.maker(&origin.model), items: self.native });
        let first = Assistant {
            turn: origin.turn,
            content: Vec::new(),
            native,
            stop: stop.clone(),
            response_id: self.response_id,
        };
        let pieces =
            self.pieces.into_iter().filter(|piece| acts || matches!(piece, Piece::Words(_))).collect();
        let reply = Reply {
            canisters: canisters(pieces, first, origin),
            stop,
            usage: self.usage,
            cost: self.cost,
            model: self.model,
            request_id: head.request_id.clone(),
        };
        match &reply.stop {
            Stop::Cut => Err(ReplyError::CutShort { partial: Box::new(reply) }),
            _ if is_empty => Err(ReplyError::Empty { reply: Box::new(reply) }),
            _ => Ok(reply),
        }
    }
}

/// Returns the canisters of a reply; `first` holds the fields of the whole reply.
pub(crate) fn canisters(pieces: Vec<Piece>, first: Assistant, origin: &ReplyOrigin) -> Vec<Canister> {
    let ids = usable_ids(&pieces);
    let (turn, stop) = (first.turn, first.stop.clone());
    let mut canisters = vec![Canister::Assistant(first)];
    let mut index = 0;
    for piece in pieces {
        match piece {
            Piece::Words(content) => {
                if let Some(Canister::Assistant(assistant)) = canisters.last_mut() {
                    assistant.content.push(content);
                } else {
                    let content = vec![content];
                    let words =
                        Assistant { turn, content, native: None, stop: stop.clone(), response_id: None };
                    canisters.push(Canister::Assistant(words));
                }
            }
            Piece::Call { id, tool, arguments } => {
                canisters.push(Canister::Invocation(Invocation {
                    turn: origin.turn,
                    id: InvocationId::of(origin.turn, index),
                    wire_id: id.filter(|id| ids.get(id) == Some(&1)),
                    tool,
                    arguments,
                    seal: None,
                }));
                index += 1;
            }
        }
    }
    canisters
}

/// Counts the occurrences of each usable id.
fn usable_ids(pieces: &[Piece]) -> HashMap<String, usize> {
    let mut ids = HashMap::new();
    for piece in pieces {
        if let Piece::Call { id: Some(id), .. } = piece
            && !id.trim().is_empty()
            && id.len() <= MAX_WIRE_ID
        {
            *ids.entry(id.clone()).or_insert(0) += 1;
        }
    }
    ids
}
