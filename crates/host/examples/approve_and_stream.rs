//! Decides about calls and shows what happens as it happens. Needs no key and no network: the understudy answers.

#![allow(clippy::print_stderr, reason = "it is what the example shows")]

use converse_host::{Approver, Decision, Event, Host, OwnTool, Pending};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

struct Send;

impl OwnTool for Send {
    const NAME: &'static str = "send_note";
    const DESCRIPTION: &'static str = "Sends a note.";

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] })
    }

    async fn call(&self, arguments: Value) -> Result<String, String> {
        Ok(format!("sent: {}", arguments["text"].as_str().unwrap_or_default()))
    }
}

/// Approves short notes only.
struct Short;

impl Approver for Short {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let decide = |pending: &Pending| match pending.arguments()["text"].as_str() {
            Some(text) if text.len() < 20 => Decision::Allow { rule: "short notes".to_owned() },
            _ => Decision::Deny { rule: "short notes".to_owned(), comment: Some("too long".to_owned()) },
        };
        std::future::ready(pending.iter().map(decide).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), converse_host::Failure> {
    let host = Host::builder().model("understudy").tool(Send).build().await?;
    let mut conversation = host.conversation().approver(Short).start()?;
    let mut ran = Vec::new();
    for text in ["hello", "a note that is far too long"] {
        let mut turn = conversation.ask(format!("@own.send_note text=\"{text}\""));
        while let Some(event) = turn.next().await {
            match event {
                Event::TextDelta(text) => eprint!("{text}"),
                Event::ToolStarted { tool, arguments, .. } => ran.push((tool, arguments)),
                _ => {}
            }
        }
        turn.finish().await?;
    }
    assert_eq!(ran, [("own.send_note".to_owned(), json!({ "text": "hello" }))]);
    drop(conversation);
    host.close().await
}
