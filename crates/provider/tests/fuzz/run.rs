//! One execution of a decoder on any bytes: what the fuzzer drives, and the tests replay.
//!
//! The first four bytes say which head the body has and where it is cut; the rest is the body.

use converse_canister::{Canister, Transcript, TurnId};
use converse_provider::{
    AuthScheme, Dialect, Endpoint, Quirks, Reply, ReplyError, ReplyOrigin, ToolProtocol, processor_of,
};

/// The dialects, and the protocol in words on top of one of them.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    Wire(Dialect),
    Prompted,
}

const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

fn head(choice: u8, dialect: Dialect) -> http::response::Parts {
    let stream = STREAMS[usize::from(dialect == Dialect::Ollama)];
    let (status, kind) = match choice % 8 {
        0..=3 => (200, stream),
        4 | 5 => (200, "application/json"),
        6 => (429, "application/json"),
        _ => (502, "text/html"),
    };
    http::Response::builder().status(status).header("content-type", kind).body(()).unwrap().into_parts().0
}

fn decode<'a>(
    origin: &ReplyOrigin,
    head: &http::response::Parts,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<Reply, ReplyError> {
    let mut decoder = processor_of(&origin.endpoint).normalize(head, origin.clone());
    let mut deltas = Vec::new();
    for piece in pieces {
        if decoder.feed(piece, &mut deltas).is_err() {
            break;
        }
        deltas.clear();
    }
    decoder.finish()
}

/// Never panics, is lawful, and is the same however the body is cut.
pub fn run(target: Target, data: &[u8]) {
    let Some((choices, body)) = data.split_at_checked(4) else { return };
    let dialect = match target {
        Target::Wire(dialect) => dialect,
        Target::Prompted => Dialect::OpenAiChat,
    };
    let provider = "fuzz".to_owned().try_into().unwrap();
    let base = "http://127.0.0.1:1/v1".to_owned();
    let mut endpoint = Endpoint::new(provider, dialect, base, AuthScheme::None, Quirks::CAUTIOUS);
    if matches!(target, Target::Prompted) {
        endpoint.tools = ToolProtocol::Prompted;
    }
    let origin = ReplyOrigin { turn: TurnId(1), model: "m".to_owned(), endpoint };
    let head = head(choices[0], dialect);
    let whole = decode(&origin, &head, std::iter::once(body));
    let cut = usize::from(choices[1]).min(body.len());
    let (first, rest) = body.split_at(cut);
    let size = usize::from(choices[2]).max(1);
    let pieces = decode(&origin, &head, std::iter::once(first).chain(rest.chunks(size)));
    assert_eq!(whole, pieces, "another reply when cut");
    lawful(&whole);
}

fn lawful(result: &Result<Reply, ReplyError>) {
    let canisters = match result {
        Ok(reply) => &reply.canisters,
        Err(ReplyError::CutShort { partial }) => {
            let calls = partial.canisters.iter().any(|canister| matches!(canister, Canister::Invocation(_)));
            assert!(!calls, "a call from a cut reply");
            &partial.canisters
        }
        Err(ReplyError::Refusal(refusal)) => {
            assert!(refusal.message.len() <= 2048 && !refusal.message.is_empty());
            return;
        }
        Err(ReplyError::Empty { reply }) => &reply.canisters,
        Err(ReplyError::Decode(_)) => return,
    };
    assert!(Transcript::try_from(canisters.clone()).is_ok(), "an unlawful reply");
}
