//! What is done with sessions that are kept: search, fork, hand over, check, clear.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

mod checked;
mod cleared;
mod forked;
mod handed_over;
mod searched;

use std::path::PathBuf;

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Decision, Digest, Invocation, InvocationId,
    InvocationResult, Maker, Native, Outcome, ProviderName, Stop, TurnId, Usage, User,
};
use converse_session::{Body, Session, Store, Uuid, new_id};
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

fn id(dice: u8) -> Uuid {
    new_id(at(i64::from(dice)), &[dice; 10])
}

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("sessions"));
    (dir, store)
}

fn path(dir: &TempDir, id: Uuid) -> PathBuf {
    dir.path().join("sessions").join(id.to_string())
}

fn say(session: &mut Session, text: &str, at: Timestamp) {
    session.append(Canister::User(User::text(text)).into(), at).unwrap();
}

fn native(turn: u64) -> Native {
    let maker = Maker {
        provider: ProviderName::new("openai").unwrap(),
        dialect: "openai-chat".into(),
        model: "m".into(),
        endpoint: "https://x".into(),
    };
    Native { maker, items: vec![json!({ "turn": turn })] }
}

/// A turn with a call of a tool: five messages.
fn turn(session: &mut Session, number: u64, words: [&str; 4], blob: Option<Digest>) {
    let [user, reply, arguments, result] = words;
    let (turn, id) = (TurnId(number), InvocationId::of(TurnId(number), 0));
    let now = at(number as i64);
    let mut content = vec![Content::text(user)];
    content.extend(blob.map(|digest| Content::Blob {
        mime: "image/png".into(),
        digest,
        name: None,
        seal: None,
    }));
    session.append(Canister::User(User { content }).into(), now).unwrap();
    let assistant = |turn, text: &str, native| Assistant {
        turn,
        content: vec![Content::text(text)],
        native,
        stop: Stop::End,
        response_id: None,
    };
    session.append(Canister::Assistant(assistant(turn, reply, Some(native(number)))).into(), now).unwrap();
    let arguments = Arguments::parse(&json!({ "q": arguments }).to_string());
    let invocation =
        Invocation { turn, id: id.clone(), wire_id: None, tool: "web__search".into(), arguments, seal: None };
    session.append(Canister::Invocation(invocation).into(), now).unwrap();
    let usage = Usage { input: Some(10), output: Some(2), ..Usage::default() };
    session
        .append(Body::Used { usage, cost: Some(Cost(7)), model: "m".into(), provider: None }, now)
        .unwrap();
    session
        .append(Body::Decided { id: id.clone(), decision: Decision::Allow { rule: "user".into() } }, now)
        .unwrap();
    session.append(Body::Started { id: id.clone() }, now).unwrap();
    let result = InvocationResult::new(id, Outcome::Success, result);
    session.append(Canister::Result(result).into(), now).unwrap();
    session.append(Canister::Assistant(assistant(TurnId(number + 1), "Done.", None)).into(), now).unwrap();
    session.append(Body::Used { usage, cost: None, model: "m".into(), provider: None }, now).unwrap();
    session.journal.commit().unwrap();
}

fn talk(store: &Store, dice: u8, blob: Option<&[u8]>) -> Uuid {
    let mut session = store.create(id(dice), "p", at(0)).unwrap();
    let blob = blob.map(|bytes| session.contents.put(bytes).unwrap());
    turn(&mut session, 1, ["What about Disks?", "Let me look.", "disk FULL", "ПОЛОН диск"], blob);
    turn(&mut session, 3, ["And tapes?", "Looking again.", "tape", "none"], None);
    session.metadata.name = Some("storage".into());
    session.metadata.tags = vec!["work".into()];
    session.metadata.model = Some("openai/m".into());
    session.save_metadata().unwrap();
    id(dice)
}

/// A question and an answer that the model's maker gets back as it wrote it; what it took was not said.
fn plain(store: &Store, dice: u8) -> Uuid {
    let mut session = store.create(id(dice), "p", at(0)).unwrap();
    say(&mut session, "hello", at(1));
    let (turn, content) = (TurnId(1), vec![Content::text("Hello.")]);
    let reply = Assistant { turn, content, native: Some(native(1)), stop: Stop::End, response_id: None };
    session.append(Canister::Assistant(reply).into(), at(2)).unwrap();
    session
        .append(Body::Used { usage: Usage::default(), cost: None, model: "m".into(), provider: None }, at(2))
        .unwrap();
    session.journal.commit().unwrap();
    id(dice)
}
