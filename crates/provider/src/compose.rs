//! From what an assembly has collected to a [`Reply`]: the last step, the same for every dialect.
//!
//! Here invocations get their ids, a wire id that cannot be trusted is dropped, and a reply that may not act loses its
//! invocations: one that was cut, because its end is unknown, and one that was refused, because its turn is left out
//! of every later prompt. A truncated one keeps them; the engine answers them without running anything.

use std::collections::HashMap;

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Invocation, InvocationId, Native, Stop, Usage,
};
use serde_json::Value;

use crate::head::Head;
use crate::{Reply, ReplyError, ReplyOrigin};

/// Longer ids are not echoed: nothing unbounded enters a request again and again.
const MAX_WIRE_ID: usize = 512;

/// A piece of a reply, in the reply's order.
#[derive(Debug)]
pub(crate) enum Piece {
    Words(Content),
    Call { id: Option<String>, tool: String, arguments: Arguments },
}

/// All that is known of a reply when its body is over.
#[derive(Debug, Default)]
pub(crate) struct ReplyParts {
    pub(crate) pieces: Vec<Piece>,
    /// The native items; empty where the neutral form says it all.
    pub(crate) native: Vec<Value>,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Cost>,
    pub(crate) model: Option<String>,
    pub(crate) response_id: Option<String>,
}

impl ReplyParts {
    /// `stop` is `Stop::Cut` if the terminal marker has not come.
    pub(crate) fn into_reply(
        self,
        stop: Stop,
        origin: &ReplyOrigin,
        head: &Head,
    ) -> Result<Reply, ReplyError> {
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
        if reply.stop == Stop::Cut {
            Err(ReplyError::CutShort { partial: Box::new(reply) })
        } else {
            Ok(reply)
        }
    }
}

/// The canisters of a reply from its pieces; `first` holds what belongs to the reply as a whole.
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

/// How often each usable id occurs.
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
