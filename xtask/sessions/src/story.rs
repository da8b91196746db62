//! Conversations of any length, as they are on disk after real use: questions, replies in their native form, calls with
//! their decisions and results, about 400 bytes a message.

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Decision, Invocation, InvocationId, InvocationResult,
    Maker, Native, Outcome, ProviderName, Stop, TurnId, Usage, User,
};
use converse_session::{Body, Session};
use jiff::Timestamp;
use serde_json::json;

use crate::Result;

pub(crate) const WORDS: &str = "The quick brown fox jumps over the lazy dog, \"twice\", and reads the weather of \
    Saint Petersburg aloud; then it writes a short report about wind, rain and sunshine to the file that was named, \
    and asks whether anything else is wanted today.";

/// Messages come in fours: question, words before a call, the call, its result.
pub(crate) const OF_A_TURN: u64 = 4;

/// Adds so many messages, rounded up to whole turns, and brings them to the disk.
pub(crate) fn tell(session: &mut Session, messages: u64, now: Timestamp) -> Result<()> {
    for turn in 1..=messages.div_ceil(OF_A_TURN) {
        for body in lines(TurnId(turn))? {
            session.append(body, now)?;
        }
    }
    session.journal.commit()?;
    Ok(())
}

fn lines(turn: TurnId) -> Result<Vec<Body>> {
    let id = InvocationId::of(turn, 0);
    let question = User::text(format!("{}: {WORDS} {WORDS}", turn.0));
    let maker = Maker {
        provider: ProviderName::new("openai")?,
        dialect: "openai-responses".into(),
        model: "gpt-5".into(),
        endpoint: "https://api.openai.com/v1".into(),
    };
    let items = vec![
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] }),
        json!({ "type": "function_call", "call_id": id, "name": "weather__now", "arguments": "{\"city\":\"SPb\"}" }),
    ];
    let assistant = Assistant {
        turn,
        content: vec![Content::text("I look.")],
        native: Some(Native { maker, items }),
        stop: Stop::End,
        response_id: Some(format!("resp_{}", turn.0)),
    };
    let arguments =
        Arguments::parse(r#"{"city": "Saint Petersburg", "units": "metric", "days": 3, "wind": true}"#);
    let invocation = Invocation {
        turn,
        id: id.clone(),
        wire_id: Some(format!("call_{}", turn.0)),
        tool: "weather__now".into(),
        arguments,
        seal: None,
    };
    let usage = Usage { input: Some(1200), output: Some(80), cache_read: Some(1000), ..Usage::default() };
    let result = InvocationResult::new(id.clone(), Outcome::Success, format!("{WORDS} {}", turn.0));
    Ok(vec![
        Canister::User(question).into(),
        Canister::Assistant(assistant).into(),
        Canister::Invocation(invocation).into(),
        Body::Used { usage, cost: Some(Cost(1234)), model: "gpt-5".into(), provider: Some("openai".into()) },
        Body::Decided { id: id.clone(), decision: Decision::Allow { rule: "default".into() } },
        Body::Started { id },
        Canister::Result(result).into(),
    ])
}
