//! Canisters for tests of what fits.

use converse_canister::{
    Arguments, Assistant, Canister, Content, Document, Invocation, InvocationId, InvocationResult, Outcome,
    Stop, TurnId, User,
};

pub(super) fn user(text: &str) -> Canister {
    Canister::User(User::text(text))
}

pub(super) fn document(name: &str, text: &str) -> Canister {
    let (name, mime) = (name.to_owned(), "text/plain".to_owned());
    Canister::Document(Document { name, mime, content: vec![Content::text(text)], labels: None })
}

pub(super) fn reply(turn: u64, text: &str) -> Canister {
    Canister::Assistant(Assistant {
        turn: TurnId(turn),
        content: vec![Content::text(text)],
        native: None,
        stop: Stop::End,
        response_id: Some(format!("resp_{turn}")),
    })
}

pub(super) fn call(turn: u64, index: usize, tool: &str, arguments: &str) -> Canister {
    let turn = TurnId(turn);
    let (id, tool) = (InvocationId::of(turn, index), tool.to_owned());
    let arguments = Arguments::parse(arguments);
    Canister::Invocation(Invocation { turn, id, wire_id: None, tool, arguments, seal: None })
}

pub(super) fn result(turn: u64, index: usize, text: &str) -> Canister {
    answered(turn, index, Outcome::Success, text)
}

pub(super) fn answered(turn: u64, index: usize, outcome: Outcome, text: &str) -> Canister {
    Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), outcome, text))
}
