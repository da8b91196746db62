//! A processor alone: a question becomes request bytes, response bytes become a reply. No network, no key.

use converse_canister::{Canister, Content, NoBlobs, ProviderName, TurnId, User};
use converse_provider::{
    AuthScheme, Controls, Dialect, Endpoint, Facts, Prompt, Quirks, ReplyOrigin, processor_of,
};

/// What a server might send, cut in the middle of a line.
const PIECES: [&str; 3] = [
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel",
    "lo\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::new(
        ProviderName::try_from("example".to_owned())?,
        Dialect::OpenAiChat,
        "https://llm.example/v1".to_owned(),
        AuthScheme::Bearer,
        Quirks::default(),
    );
    let processor = processor_of(&endpoint);
    let view = [Canister::User(User::text("Say hello."))];
    let (controls, facts) = (Controls { stream: true, ..Controls::default() }, Facts::default());
    let prompt =
        Prompt { model: "m", view: &view, tools: &[], controls: &controls, facts: &facts, blobs: &NoBlobs };
    let request = processor.nativize(&prompt, &endpoint)?;
    assert_eq!(request.uri(), "https://llm.example/v1/chat/completions");

    let head = http::Response::builder().header("content-type", "text/event-stream").body(())?.into_parts().0;
    let origin = ReplyOrigin { turn: TurnId(1), model: "m".to_owned(), endpoint };
    let mut decoder = processor.normalize(&head, origin);
    let mut deltas = Vec::new();
    for piece in PIECES {
        decoder.feed(piece.as_bytes(), &mut deltas)?;
    }
    let reply = decoder.finish()?;
    let [Canister::Assistant(assistant)] = reply.canisters.as_slice() else { return Err("no reply".into()) };
    assert!(matches!(assistant.content.as_slice(), [Content::Text { text, .. }] if text == "Hello"));
    Ok(())
}
