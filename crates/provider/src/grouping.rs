//! Groups a flat list of canisters as every wire needs them: input to the model, and the model's turns with the results
//! of their invocations.
//!
//! A turn is found by its number, not by position: results may come in any order, and a reply may have text before,
//! between and after its invocations. Every invocation gets an answer, because every provider requires one; a missing
//! result (which should not happen) is reported as missing.
//!
//! A turn that was refused is left out altogether: providers ask for that, and its text may be empty.

use std::collections::HashMap;

use converse_canister::{
    Assistant, Canister, Invocation, InvocationId, InvocationResult, Maker, Outcome, Stop, ToolName, TurnId,
};
use serde_json::Value;

use crate::Endpoint;
use crate::wire_ids::WireIds;

/// A view grouped for a wire.
#[derive(Debug)]
pub(crate) struct Grouped<'a> {
    /// All instructions, joined by blank lines.
    pub(crate) instructions: Option<String>,
    pub(crate) sections: Vec<Section<'a>>,
}

/// A section of a conversation.
#[derive(Debug)]
pub(crate) enum Section<'a> {
    /// Consecutive user messages and documents.
    Input(Vec<&'a Canister>),
    Turn(Turn<'a>),
}

impl Section<'_> {
    /// Returns whether the user speaks in it.
    pub(crate) fn has_user(&self) -> bool {
        matches!(self, Self::Input(canisters) if canisters.iter().any(|canister| matches!(canister, Canister::User(_))))
    }
}

/// One reply of a model.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) stop: &'a Stop,
    /// Its native items, if this very endpoint and model made them.
    pub(crate) native: Option<&'a [Value]>,
}

#[derive(Debug)]
pub(crate) enum Part<'a> {
    Words(&'a Assistant),
    Call(Call<'a>),
}

#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) answer: Answer<'a>,
    pub(crate) wire_id: String,
    /// A name that every wire accepts: models invent tools, and servers check names in the history.
    pub(crate) tool: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Answer<'a> {
    Result(&'a InvocationResult),
    Missing,
}

impl Answer<'_> {
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) => result.outcome,
            Self::Missing => Outcome::Interrupted,
        }
    }
}

impl<'a> Turn<'a> {
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Words(_) => None,
        })
    }

    /// Returns its texts, without blank ones.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = self.parts.iter().filter_map(|part| match part {
            Part::Words(assistant) => Some(assistant.words()),
            Part::Call(_) => None,
        });
        words.filter(|words| !words.trim().is_empty()).collect()
    }
}

/// Groups a view for one endpoint and model.
pub(crate) fn group<'a>(view: &'a [Canister], endpoint: &Endpoint, model: &str) -> Grouped<'a> {
    group_with(view, endpoint, model, &mut WireIds::new(endpoint))
}

/// The same for a part of a view, with the ids of what is before it.
pub(crate) fn group_with<'a>(
    view: &'a [Canister],
    endpoint: &Endpoint,
    model: &str,
    ids: &mut WireIds<'_>,
) -> Grouped<'a> {
    let maker = endpoint.maker(model);
    let results: HashMap<&InvocationId, &InvocationResult> = view.iter().filter_map(result).collect();
    let first_words = first_words(view);
    let mut sections: Vec<Section<'a>> = Vec::new();
    let mut places: HashMap<TurnId, usize> = HashMap::new();
    for canister in view {
        match canister {
            Canister::User(_) | Canister::Document(_) => match sections.last_mut() {
                Some(Section::Input(canisters)) => canisters.push(canister),
                _ => sections.push(Section::Input(vec![canister])),
            },
            Canister::Assistant(_) | Canister::Invocation(_) => {
                let Some(turn) = canister.turn() else { continue };
                let first = first_words.get(&turn).copied();
                if first.is_some_and(|first| matches!(first.stop, Stop::Refused { .. })) {
                    continue;
                }
                let place = *places.entry(turn).or_insert_with(|| {
                    sections.push(Section::Turn(empty_turn(first, &maker)));
                    sections.len() - 1
                });
                let made_by = first.and_then(|first| first.native.as_ref()).map(|native| &native.maker);
                if let Some(Section::Turn(turn)) = sections.get_mut(place) {
                    turn.parts.extend(part(canister, &results, ids, made_by));
                }
            }
            Canister::Supervisor(_) | Canister::Result(_) => {}
        }
    }
    Grouped { instructions: instructions(view), sections }
}

/// Joins all instructions of a view.
pub(crate) fn instructions(view: &[Canister]) -> Option<String> {
    let texts = view.iter().filter_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.trim()),
        _ => None,
    });
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn result(canister: &Canister) -> Option<(&InvocationId, &InvocationResult)> {
    match canister {
        Canister::Result(result) => Some((&result.id, result)),
        _ => None,
    }
}

fn first_words(view: &[Canister]) -> HashMap<TurnId, &Assistant> {
    let mut first = HashMap::new();
    for canister in view {
        if let Canister::Assistant(assistant) = canister {
            first.entry(assistant.turn).or_insert(assistant);
        }
    }
    first
}

fn empty_turn<'a>(first: Option<&'a Assistant>, maker: &Maker) -> Turn<'a> {
    let stop = first.map_or(&Stop::End, |first| &first.stop);
    let native = first.and_then(|first| first.native.as_ref());
    let native = native.filter(|native| native.maker == *maker && *stop != Stop::Cut);
    Turn { parts: Vec::new(), stop, native: native.map(|native| native.items.as_slice()) }
}

fn part<'a>(
    canister: &'a Canister,
    results: &HashMap<&InvocationId, &'a InvocationResult>,
    ids: &mut WireIds<'_>,
    made_by: Option<&Maker>,
) -> Option<Part<'a>> {
    match canister {
        Canister::Assistant(assistant) => Some(Part::Words(assistant)),
        Canister::Invocation(invocation) => Some(Part::Call(Call {
            invocation,
            answer: results.get(&invocation.id).map_or(Answer::Missing, |result| Answer::Result(result)),
            wire_id: ids.assign(invocation, made_by),
            tool: ToolName::cleaned(&invocation.tool).to_string(),
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Supervisor, User};

    use super::*;
    use crate::rows::row;

    fn words(turn: u64, stop: Stop) -> Canister {
        let content = Vec::new();
        Canister::Assistant(Assistant { turn: TurnId(turn), content, native: None, stop, response_id: None })
    }

    fn call(turn: u64, index: usize) -> Canister {
        let turn = TurnId(turn);
        Canister::Invocation(Invocation {
            turn,
            id: InvocationId::of(turn, index),
            wire_id: None,
            tool: "bad name".into(),
            arguments: Arguments::parse(""),
            seal: None,
        })
    }

    fn answer(turn: u64, index: usize) -> Canister {
        Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), Outcome::Success, "ok"))
    }

    #[test]
    fn a_turn_is_found_by_its_number() {
        let user = || Canister::User(User::text("u"));
        let system = |text: &str| Canister::Supervisor(Supervisor { text: text.into() });
        let view = [
            system("a"),
            user(),
            user(),
            words(1, Stop::End),
            call(1, 0),
            words(1, Stop::End),
            call(1, 1),
            call(1, 2),
            answer(1, 2),
            answer(1, 0),
            system("b"),
            words(2, Stop::Refused { reason: None }),
            user(),
            words(3, Stop::Refused { reason: None }),
            user(),
        ];
        let endpoint = row("openai").unwrap().endpoint(None);
        let grouped = group(&view, &endpoint, "m");
        assert_eq!(grouped.instructions.as_deref(), Some("a\n\nb"));
        let [Section::Input(before), Section::Turn(turn), Section::Input(after)] =
            grouped.sections.as_slice()
        else {
            panic!("{:?}", grouped.sections)
        };
        assert_eq!((before.len(), turn.parts.len(), after.len()), (2, 5, 2));
        let calls: Vec<_> = turn.calls().map(|call| (call.wire_id.as_str(), call.answer.outcome())).collect();
        let success = Outcome::Success;
        assert_eq!(calls, [("inv_1_0", success), ("inv_1_1", Outcome::Interrupted), ("inv_1_2", success)]);
        assert!(turn.calls().all(|call| call.tool == "bad_name"));
    }
}
