//! Bodies that nobody would send in good faith: decoders neither panic nor grow without bound, and what comes out is
//! the same however the body was cut.

use converse_canister::{Canister, Transcript};
use converse_provider::{DecodeError, Dialect, Reply, ReplyError};
use proptest::prelude::*;

use crate::cases::{self, OriginalPrompt, decode, head};

const DIALECTS: [Dialect; 4] =
    [Dialect::AnthropicMessages, Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Ollama];
const HEADS: [&str; 5] = [
    "200\ncontent-type: text/event-stream",
    "200\ncontent-type: application/json",
    "429\ncontent-type: application/json\nretry-after: 1",
    "200",
    "200\ncontent-type: application/x-ndjson",
];

/// Pieces of both wires, whole and broken, from which bodies are put together.
fn fragment() -> impl Strategy<Value = String> {
    let json = prop_oneof![
        Just("null".to_owned()),
        Just("\"text\"".to_owned()),
        Just("\"{\\\"a\\\":1}\"".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("true".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        "[a-z<>/]{0,8}".prop_map(|text| format!("\"{text}\"")),
    ];
    let nested = json.prop_recursive(4, 24, 5, |inner| {
        let key = prop::sample::select(KEYS.to_vec());
        let pair = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\":{value}"));
        prop_oneof![
            prop::collection::vec(pair, 0..5).prop_map(|pairs| format!("{{{}}}", pairs.join(","))),
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    });
    prop_oneof![
        nested.clone(),
        nested.clone().prop_map(|json| format!("data: {json}\n\n")),
        (prop::sample::select(EVENTS.to_vec()), nested)
            .prop_map(|(name, json)| format!("event: {name}\ndata: {json}\n\n")),
        prop::sample::select(WIRE.to_vec()).prop_map(str::to_owned),
        "\\PC{0,8}",
    ]
}

const KEYS: &[&str] = &[
    "type",
    "index",
    "delta",
    "message",
    "content",
    "content_block",
    "text",
    "partial_json",
    "thinking",
    "id",
    "name",
    "input",
    "usage",
    "choices",
    "tool_calls",
    "function",
    "arguments",
    "finish_reason",
    "stop_reason",
    "error",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "refusal",
    "code",
    "model",
    "detail",
    "item",
    "output_index",
    "output",
    "response",
    "status",
    "call_id",
    "summary",
];
const EVENTS: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.completed",
    "response.incomplete",
];
const WIRE: &[&str] = &[
    "event: message_start\ndata: {\"message\":{\"id\":\"m\",\"content\":[]}}\n\n",
    "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"t\"}}\n\n",
    "event: content_block_start\ndata: {\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n",
    "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
    "event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"y\"}}\n\n",
    "event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    "event: message_stop\ndata: {}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"<think>a\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"</think>b\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thoughtSignature\":\"c2ln\"}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"t\",\"args\":{}}}]}}]}\r\n\r\n",
    "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n",
    "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}",
    "data: [DONE]\n\n",
    "{\"message\":{\"content\":\"<think>a\"}}\n",
    "{\"message\":{\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"t\",\"arguments\":{}}}]}}\r\n",
    "{\"message\":{\"content\":\"</think>\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    "event: response.output_item.added\ndata: {\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"t\"}}\n\n",
    "event: response.output_item.done\ndata: {\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"t\",\"arguments\":\"{}\"}}\n\n",
    "event: response.output_item.done\ndata: {\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"y\"}]}}\n\n",
    "event: response.output_text.delta\ndata: {\"output_index\":1,\"delta\":\"x\"}\n\n",
    "event: response.completed\ndata: {\"response\":{\"output\":[{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"t\"}]}}\n\n",
    "\n",
    "\r",
    "\r\n",
    ": c\n",
    "\u{feff}",
    "data:",
    "{\"error\":",
    "<html><title>t",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_body_gives_the_same_however_it_is_cut(
        fragments in prop::collection::vec(fragment(), 0..10),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        dialect in 0..DIALECTS.len(),
        status in 0..HEADS.len(),
    ) {
        let mut body = fragments.concat().into_bytes();
        for (at, byte) in noise {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).chain([0, body.len()]).collect();
        cuts.sort_unstable();
        let (original, head) = (OriginalPrompt::nothing(DIALECTS[dialect]), head(HEADS[status]));
        let whole = decode(&original, &head, [body.as_slice()]).0;
        let pieces = decode(&original, &head, cuts.windows(2).map(|pair| &body[pair[0]..pair[1]])).0;
        let bytes = decode(&original, &head, body.chunks(1)).0;
        prop_assert_eq!(&pieces, &whole);
        prop_assert_eq!(&bytes, &whole);
        lawful(&whole)?;
    }
}

/// A reply continues any conversation; a cut one calls nothing.
fn lawful(result: &Result<Reply, ReplyError>) -> Result<(), TestCaseError> {
    let canisters = match result {
        Ok(reply) => &reply.canisters,
        Err(ReplyError::CutShort { partial }) => {
            let calls = partial.canisters.iter().any(|canister| matches!(canister, Canister::Invocation(_)));
            prop_assert!(!calls, "a call from a cut reply");
            &partial.canisters
        }
        Err(ReplyError::Refusal(refusal)) => {
            prop_assert!(refusal.message.len() <= 2048 && !refusal.message.is_empty());
            return Ok(());
        }
        Err(ReplyError::Empty { reply }) => &reply.canisters,
        Err(ReplyError::Decode(_)) => return Ok(()),
    };
    prop_assert!(Transcript::try_from(canisters.clone()).is_ok());
    Ok(())
}

#[test]
fn a_line_of_twenty_mebibytes_is_an_error_at_sixteen() {
    let piece = [b'x'; 64 * 1024];
    for dialect in DIALECTS {
        let original = OriginalPrompt::nothing(dialect);
        let body = [b"data: ".as_slice()].into_iter().chain(std::iter::repeat_n(piece.as_slice(), 320));
        let (result, _) = decode(&original, &head(HEADS[0]), body);
        let limit = 16 * 1024 * 1024;
        assert_eq!(result, Err(DecodeError::EventTooLarge { limit }.into()));
    }
}

#[test]
fn a_body_without_end_is_an_error_at_sixty_four_mebibytes() {
    let piece = b": keep-alive\n".repeat(10_000);
    for head_text in [HEADS[0], HEADS[1]] {
        let original = OriginalPrompt::nothing(Dialect::OpenAiChat);
        let body = std::iter::repeat_n(piece.as_slice(), 600);
        let (result, _) = decode(&original, &head(head_text), body);
        let limit = 64 * 1024 * 1024;
        assert_eq!(result, Err(DecodeError::BodyTooLarge { limit }.into()), "{head_text}");
    }
}

/// Nothing of a reply is read after its end, however much comes.
#[test]
fn what_follows_the_end_is_not_read() {
    let original = OriginalPrompt::nothing(Dialect::OpenAiChat);
    let body =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\ndata: not json\n\n";
    let (result, deltas) = decode(&original, &head(HEADS[0]), [body.as_slice()]);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(cases::text_of(&deltas), "Hi");
}
