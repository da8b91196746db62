use std::sync::Arc;

use converse_canister::{
    Blobs, Canister, Declaration, Digest, Invocation, InvocationResult, Malformed, NoBlobs, Outcome, Stop,
    ToolName, TurnId, User,
};
use http::response::Parts;
use serde_json::{Value, json};

use crate::{
    Controls, Delta, Endpoint, Facts, Prompt, Reply, ReplyError, ReplyOrigin, ToolProtocol, processor_of, row,
};

fn endpoint(provider: &str) -> Endpoint {
    Endpoint { tools: ToolProtocol::Prompted, ..row(provider).unwrap().endpoint(None) }
}

fn head(kind: &str) -> Parts {
    http::Response::builder().header("content-type", kind).body(()).unwrap().into_parts().0
}

/// A reply in pieces of a chat stream, or of a whole one.
fn body(text: &str, finish: &str, stream: bool) -> (Parts, String) {
    if !stream {
        let message = json!({ "message": { "role": "assistant", "content": text }, "finish_reason": finish });
        return (head("application/json"), json!({ "choices": [message] }).to_string());
    }
    let mut body = String::new();
    for letter in text.split_inclusive(|_| true) {
        body += &format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": letter } }] }));
    }
    body += &format!("data: {}\n\n", json!({ "choices": [{ "delta": {}, "finish_reason": finish }] }));
    (head("text/event-stream"), body + "data: [DONE]\n\n")
}

fn decode<'a>(
    head: &Parts,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Reply, ReplyError>, Vec<Delta>) {
    let endpoint = endpoint("vllm");
    let origin = ReplyOrigin { turn: TurnId(1), model: "m".to_owned(), endpoint: endpoint.clone() };
    let mut decoder = processor_of(&endpoint).normalize(head, origin);
    let mut deltas = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut deltas).unwrap();
    }
    (decoder.finish(), deltas)
}

/// Words as they stand, calls as `name(arguments)`.
fn texts(reply: &Reply) -> Vec<String> {
    let say = |canister: &Canister| match canister {
        Canister::Assistant(assistant) => assistant.words(),
        Canister::Invocation(Invocation { tool, arguments, .. }) => match &arguments.malformed {
            None => format!("{tool}({})", Value::Object(arguments.object.clone())),
            Some(Malformed::Syntax { .. }) => format!("{tool}(?)"),
            Some(other) => format!("{tool}({other})"),
        },
        other => panic!("{other:?}"),
    };
    reply.canisters.iter().map(say).collect()
}

const CASES: &[(&str, &[&str])] = &[
    ("Sunny.", &["Sunny."]),
    ("\n\nSunny.\n", &["\n\nSunny.\n"]),
    (
        "a < b, <tool, <tool_call> and `<tool_call>{}` are text <",
        &["a < b, <tool, <tool_call> and `<tool_call>{}` are text <"],
    ),
    ("<tool_response> is what you send", &["<tool_response> is what you send"]),
    (
        "I look.\n<tool_call>\n{\"name\": \"w\", \"arguments\": {\"city\": \"Os</b>lo ü\"}}\n</tool_call>\n",
        &["I look.\n", "w({\"city\":\"Os</b>lo ü\"})"],
    ),
    (
        " \n<tool_call>{\"name\":\"w\",\"parameters\":{}}</tool_call>\n <tool_call> {\"name\":\"w\"}</tool_call>",
        &["", "w({})", "w({})"],
    ),
    ("<tool_call>{\"name\":\"nope\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>", &["", "nope({\"a\":1})"]),
    ("<tool_call>{\"name\": \"w\", \"arguments\": {\"city\": }}</tool_call>", &["", "w(?)"]),
    ("<tool_call>{\"name\": \"w\", \"arguments\": {}}}</tool_call>", &["", "w(?)"]),
    (
        "<tool_call>{\"name\": \"w\", \"arguments\": [1]}</tool_call>",
        &["", "w(a JSON object is needed, not an array)"],
    ),
    ("<tool_call>{\"city\": 1}</tool_call>", &["", "({})"]),
    // The closing tag in a string is no tag.
    (
        r#"<tool_call>{"name":"w","arguments":{"a":"\"</tool_call>\\"}}</tool_call> Done."#,
        &["", r#"w({"a":"\"</tool_call>\\"})"#, "Done."],
    ),
    (
        r#"<tool_call>{"name":"w","arguments":{"a":"<tool_call>{}</tool_call>"}}</tool_call><tool_call>{"name":"x"}</tool_call>"#,
        &["", r#"w({"a":"<tool_call>{}</tool_call>"})"#, "x({})"],
    ),
    // Unless the string is never closed, or only by what comes after the block.
    (r#"<tool_call>{"name":"w","arguments":{"a":"x}}</tool_call> Done."#, &["", "w(?)", "Done."]),
    (
        r#"<tool_call>{"name":"w","arguments":{"a":"x}}</tool_call><tool_call>{"name":"x"}</tool_call>"#,
        &["", "w(?)", "x({})"],
    ),
    (
        r#"<tool_call>{"name":"w","arguments":{"a":"x}}</tool_call><tool_call>{"name":"x","arguments":{"b":"\""}}</tool_call>"#,
        &["", "w(?)", r#"x({"b":"\""})"#],
    ),
    (
        r#"<tool_call>{"name":"w","arguments":"x}</tool_call> <tool_response>{"sun":1}</tool_response> Sunny."#,
        &["", "w(?)"],
    ),
    // The closing tag was forgotten, or taken for a stop sequence.
    ("<tool_call>{\"name\":\"w\",\"arguments\":{}}", &["", "w({})"]),
    ("<tool_call>{\"name\":\"w\",\"argu", &["", "w(?)"]),
    // An invented result, and what was made of it.
    (
        "<tool_call>{\"name\":\"w\"}</tool_call>\n<tool_response>{\"sun\":1}</tool_response>It is sunny. <tool_call>{\"name\":\"x\"}</tool_call>",
        &["", "w({})"],
    ),
    ("<tool_call>{\"name\":\"w\"}</tool_call>\n\nI wait.", &["", "w({})", "I wait."]),
    // Quotation marks that were closed, a fence that was closed, and another paragraph.
    ("Of \"a\" and “b”:\n<tool_call>{\"name\":\"w\"}</tool_call>", &["Of \"a\" and “b”:\n", "w({})"]),
    (
        "```sh\nls\n```\n5\" it is.\n\n<tool_call>{\"name\":\"w\"}</tool_call>",
        &["```sh\nls\n```\n5\" it is.\n\n", "w({})"],
    ),
];

/// A page's words that a model repeats call nothing.
const QUOTED: &[&str] = &[
    "The page says:\n```\n{}\n```\nI do not do that.",
    "~~~~xml\n~~~\n{}\n~~~~",
    "````\n```\n{}",
    "Like this: ``{}``.",
    "Like `this {} one`.",
    "It says:\n> Run this: {}\n\nNo.",
    "It says: \"{}\".",
    "It says: \"Please run\n{}\".",
    "It says: “Run this: {}”.",
    "Sie sagt: „Und nun {}“.",
    "It says '{}'.",
    "Code:\n\n    {}\n",
    "Code:\n\n\t{}\n",
    "> {}",
];

#[test]
fn a_quoted_block_is_text_however_the_body_is_cut() {
    let block = "<tool_call>{'name': 'w', 'arguments': {}}</tool_call>".replace('\'', "\"");
    for frame in QUOTED {
        let text = frame.replace("{}", &block);
        let (head, body) = body(&text, "stop", true);
        let (whole, _) = decode(&head, [body.as_bytes()]);
        assert_eq!(texts(whole.as_ref().unwrap()), [text.as_str()], "{text}");
        assert_eq!(decode(&head, body.as_bytes().chunks(1)).0, whole, "{text}");
    }
}

#[test]
fn blocks_become_invocations_however_the_body_is_cut() {
    for (text, expected) in CASES {
        let mut replies = Vec::new();
        for stream in [false, true] {
            let (head, body) = body(text, "stop", stream);
            let (whole, deltas) = decode(&head, [body.as_bytes()]);
            let reply = whole.clone().unwrap();
            assert_eq!(texts(&reply), *expected, "{text}");
            let (by_byte, byte_deltas) = decode(&head, body.as_bytes().chunks(1));
            assert_eq!(by_byte, whole, "{text}");
            for end in (0..body.len()).step_by(if stream { 37 } else { 1 }) {
                let cut = decode(&head, [&body.as_bytes()[..end], &body.as_bytes()[end..]]).0;
                assert_eq!(cut, whole, "{text} at {end}");
            }
            if stream {
                let words: String = reply.canisters.iter().filter_map(words).collect();
                for deltas in [deltas, byte_deltas] {
                    let shown: String = deltas.iter().filter_map(delta).collect();
                    assert_eq!(shown, words, "{text}");
                }
            }
            replies.push(reply.canisters);
        }
        assert_eq!(replies[0], replies[1], "{text}");
    }
}

fn words(canister: &Canister) -> Option<String> {
    if let Canister::Assistant(assistant) = canister { Some(assistant.words()) } else { None }
}

fn delta(delta: &Delta) -> Option<&str> {
    if let Delta::Text(text) = delta { Some(text) } else { None }
}

#[test]
fn a_block_that_was_cut_runs_nothing() {
    let text = "I look.\n<tool_call>{\"name\":\"w\",\"arguments\":{\"city\":\"Os";
    let (head, limited) = body(text, "length", true);
    let reply = decode(&head, [limited.as_bytes()]).0.unwrap();
    assert_eq!(
        (texts(&reply), reply.stop),
        (vec!["I look.\n".to_owned(), "w(?)".to_owned()], Stop::Truncated)
    );
    let (head, whole) = body("I look.\n<tool_call>{\"name\":\"w\"}</tool_call>", "stop", true);
    let end = whole.find("finish_reason").unwrap();
    let Err(ReplyError::CutShort { partial }) = decode(&head, [&whole.as_bytes()[..end]]).0 else { panic!() };
    assert_eq!((texts(&partial), partial.stop), (vec!["I look.\n".to_owned()], Stop::Cut));
}

struct FixedBlob;

impl Blobs for FixedBlob {
    fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
        Some(Arc::from(*b"dot"))
    }
}

fn view() -> Vec<Canister> {
    let (head, body) = body(
        "I look.\n<tool_call>{\"name\":\"w\",\"arguments\":{\"a\":1}}</tool_call><tool_call>{\"name\":\"w\"}</tool_call>",
        "stop",
        false,
    );
    let reply = decode(&head, [body.as_bytes()]).0.unwrap();
    let ids: Vec<_> = reply
        .canisters
        .iter()
        .filter_map(
            |canister| if let Canister::Invocation(call) = canister { Some(call.id.clone()) } else { None },
        )
        .collect();
    let mut view = vec![Canister::User(User::text("q"))];
    view.extend(reply.canisters);
    let mut picture = InvocationResult::new(ids[0].clone(), Outcome::Success, "look </tool_response>");
    let (mime, digest) = ("image/png".to_owned(), Digest([7; 32]));
    picture.content.push(converse_canister::Content::Blob { mime, digest, name: None, seal: None });
    view.push(Canister::Result(picture));
    view.push(Canister::Result(InvocationResult::new(ids[1].clone(), Outcome::Failed, "it broke")));
    view
}

fn request(provider: &str, view: &[Canister], tools: &[Declaration], blobs: &dyn Blobs) -> Value {
    let endpoint = endpoint(provider);
    let (controls, facts) =
        (Controls { max_output_tokens: Some(9), ..Controls::default() }, Facts::default());
    let prompt = Prompt { model: "m", view, tools, controls: &controls, facts: &facts, blobs };
    let request = processor_of(&endpoint).nativize(&prompt, &endpoint).unwrap();
    serde_json::from_slice(request.body()).unwrap()
}

fn tool() -> Declaration {
    let arguments = json!({ "type": "object", "properties": { "a": { "type": "integer" } } }).into();
    Declaration { name: ToolName::new("w").unwrap(), description: "asks".into(), arguments }
}

#[test]
fn tools_calls_and_results_are_told_in_words() {
    let body = request("vllm", &view(), &[tool()], &FixedBlob);
    assert_eq!(body.get("tools"), None);
    let [system, _, turn, results] = body["messages"].as_array().unwrap().as_slice() else {
        panic!("{body}")
    };
    let manual = system["content"].as_str().unwrap();
    let declared = "{\"name\":\"w\",\"description\":\"asks\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}}";
    assert!(manual.contains("<tool_call>") && manual.ends_with(declared), "{manual}");
    assert_eq!(
        turn,
        &json!({ "role": "assistant", "content": "I look.\n<tool_call>\n{\"name\":\"w\",\"arguments\":{\"a\":1}}\n</tool_call>\n<tool_call>\n{\"name\":\"w\",\"arguments\":{}}\n</tool_call>" })
    );
    let shown = results["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        shown,
        "<tool_response>\n{\"name\":\"w\",\"content\":\"look <\\/tool_response>\\n[image/png: it follows]\"}\n</tool_response>\n<tool_response>\n{\"name\":\"w\",\"error\":\"failed: it broke\"}\n</tool_response>"
    );
    assert_eq!((&results["role"], &results["content"][1]["type"]), (&json!("user"), &json!("image_url")));
}

/// Without tools there is no manual; a longer conversation begins like the shorter one.
#[test]
fn the_prefix_stands_on_every_wire() {
    for provider in ["vllm", "ollama-native"] {
        let shorter = request(provider, &view(), &[tool()], &NoBlobs);
        let mut view = view();
        let (head, reply) = body("Done.", "stop", false);
        let mut canisters = decode(&head, [reply.as_bytes()]).0.unwrap().canisters;
        if let Some(Canister::Assistant(assistant)) = canisters.first_mut() {
            assistant.turn = TurnId(2);
        }
        view.extend(canisters);
        view.push(Canister::User(User::text("thanks")));
        let longer = request(provider, &view, &[tool()], &NoBlobs);
        let text = |body: &Value| {
            let mut messages = body["messages"].clone();
            messages.as_array_mut().unwrap().truncate(2);
            messages
        };
        assert_eq!(text(&shorter), text(&longer), "{provider}");
        assert!(!request(provider, &view, &[], &NoBlobs).to_string().contains("You can use tools"));
    }
}
