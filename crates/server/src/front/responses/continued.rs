//! A conversation that continues an earlier response.

use std::collections::HashMap;

use converse_canister::{
    Assistant, Canister, Invocation, InvocationId, InvocationResult, Outcome, Transcript, TranscriptError,
    TurnId,
};

use super::approver::approval_id;
use super::files::Record;
use converse_openai::{ApiError, ApprovalAnswer, Conversation};

/// Approvals by the invocation that they are about.
pub(super) type Answers = HashMap<InvocationId, ApprovalAnswer>;

/// Returns the conversation of the earlier response with what is new.
///
/// # Errors
/// Calls of the earlier response have no result, or an approval is about none of them.
pub(super) fn continued(
    id: &str,
    earlier: &Record,
    new: &Conversation,
    approvals: Vec<ApprovalAnswer>,
) -> Result<(Transcript, Answers), ApiError> {
    let invalid = |why: String| ApiError::invalid_value("input", why);
    let mut transcript = earlier.transcript.clone();
    let open: Vec<Invocation> = transcript.open().into_iter().cloned().collect();
    if !approvals.is_empty() {
        if !new.answers.is_empty() || !new.transcript.as_slice().is_empty() {
            return Err(invalid("approvals must be the only items; send messages afterwards".to_owned()));
        }
        return Ok((transcript, answers(id, earlier, approvals)?));
    }
    if new.answers.is_empty() && new.transcript.as_slice().is_empty() {
        return Err(ApiError::missing("input"));
    }
    let mut results = Vec::new();
    for call in open {
        let known = call.wire_id.clone().unwrap_or_else(|| call.id.to_string());
        let given = new.answers.iter().find(|answer| answer.call_id == known);
        results.push(match given {
            Some(answer) => InvocationResult {
                id: call.id,
                content: answer.content.clone(),
                outcome: Outcome::Success,
                truncated: None,
                cost: None,
                labels: None,
            },
            // A message instead of an answer to the approval.
            None if !earlier.asked.is_empty() => {
                InvocationResult::new(call.id, Outcome::Refused, "not approved; nothing was run".to_owned())
            }
            None => return Err(invalid(format!("no output for the function call `{known}`"))),
        });
    }
    let is_known = |call_id: &str| {
        let ids = earlier.transcript.open().into_iter();
        ids.map(|call| call.wire_id.clone().unwrap_or_else(|| call.id.to_string())).any(|one| one == call_id)
    };
    if let Some(stray) = new.answers.iter().find(|answer| !is_known(&answer.call_id)) {
        return Err(invalid(format!("`{}` is not a call that waits for its output", stray.call_id)));
    }
    let added = results.into_iter().try_for_each(|result| transcript.push(Canister::Result(result)));
    added.and_then(|()| append(&mut transcript, &new.transcript)).map_err(|why| invalid(why.to_string()))?;
    Ok((transcript, Answers::new()))
}

fn answers(id: &str, earlier: &Record, approvals: Vec<ApprovalAnswer>) -> Result<Answers, ApiError> {
    let mut given: HashMap<String, ApprovalAnswer> =
        approvals.into_iter().map(|one| (one.request_id.clone(), one)).collect();
    let mut answers = Answers::new();
    for invocation in &earlier.asked {
        let wanted = approval_id(id, invocation);
        let Some(answer) = given.remove(&wanted) else {
            return Err(ApiError::invalid_value("input", format!("the approval `{wanted}` has no answer")));
        };
        answers.insert(invocation.clone(), answer);
    }
    match given.into_keys().next() {
        Some(stray) => {
            let message = format!("`{stray}` is not a request for approval of that response");
            Err(ApiError::invalid_value("input", message))
        }
        None => Ok(answers),
    }
}

/// Appends messages whose replies are counted from 1.
fn append(transcript: &mut Transcript, new: &Transcript) -> Result<(), TranscriptError> {
    let before = transcript.next_turn().0.saturating_sub(1);
    let later = |turn: TurnId| TurnId(turn.0.saturating_add(before));
    let mut ids: HashMap<InvocationId, InvocationId> = HashMap::new();
    let mut calls: HashMap<TurnId, usize> = HashMap::new();
    for canister in new.as_slice() {
        transcript.push(match canister.clone() {
            Canister::Assistant(one) => Canister::Assistant(Assistant { turn: later(one.turn), ..one }),
            Canister::Invocation(one) => {
                let turn = later(one.turn);
                let index = calls.entry(turn).or_default();
                let id = InvocationId::of(turn, *index);
                *index += 1;
                ids.insert(one.id.clone(), id.clone());
                Canister::Invocation(Invocation { turn, id, ..one })
            }
            Canister::Result(one) => {
                let id = ids.get(&one.id).cloned().unwrap_or_else(|| one.id.clone());
                Canister::Result(InvocationResult { id, ..one })
            }
            other => other,
        })?;
    }
    Ok(())
}
