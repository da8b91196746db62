//! Calls that the user has changed before they ran: what ran is shown, and what the model had asked for.

use std::collections::HashMap;

use converse_canister::{Arguments, Canister, Decision, Invocation, InvocationId};
use converse_session::Document;
use serde_json::{Map, Value};

/// Of one conversation, by their calls.
pub(super) struct Edits<'d>(HashMap<&'d InvocationId, &'d Map<String, Value>>);

impl<'d> Edits<'d> {
    pub(super) fn of(document: &'d Document) -> Self {
        let edits = document.decisions.iter().filter_map(|decided| match &decided.decision {
            Decision::AllowEdited { arguments } => Some((&decided.id, arguments)),
            _ => None,
        });
        Self(edits.collect())
    }

    /// The original call, if the user changed it.
    pub(super) fn made(&self, canister: &Canister) -> Option<Invocation> {
        let Canister::Invocation(asked) = canister else { return None };
        let arguments = Arguments::from_object((*self.0.get(&asked.id)?).clone());
        Some(Invocation { arguments, ..asked.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use converse_canister::{Cost, InvocationResult, Outcome, TurnId, Usage};
    use converse_session::{Decided, Kept};
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::{Look, html, markdown, text};
    use super::*;

    fn document(decision: Decision) -> Document {
        let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
        let arguments = Arguments::parse(r#"{"path":"danger.txt"}"#);
        let tool = "io__write_file".to_owned();
        let call = Invocation { turn, id: id.clone(), wire_id: None, tool, arguments, seal: None };
        let result = InvocationResult::new(id.clone(), Outcome::Success, "wrote 1 byte");
        let canisters = [Canister::Invocation(call), Canister::Result(result)];
        Document {
            program: "p".to_owned(),
            session: "s".to_owned(),
            created: Timestamp::UNIX_EPOCH,
            name: None,
            tags: Vec::new(),
            model: None,
            usage: Usage::default(),
            cost: Cost::default(),
            condensed: None,
            canisters: canisters.map(|canister| Kept { at: Timestamp::UNIX_EPOCH, canister }).into(),
            decisions: vec![Decided { id, decision }],
            contents: BTreeMap::new(),
        }
    }

    #[test]
    fn what_ran_stands_before_what_was_asked_for_and_is_told_apart() {
        let Value::Object(arguments) = json!({ "path": "harmless.txt" }) else { panic!("no object") };
        let look = Look { terminal: true, colour: false, full: false, answers: None };
        let all = |document: &Document| [text(document, look), markdown(document), html(document)];
        for shown in all(&document(Decision::AllowEdited { arguments })) {
            let place = |word: &str| shown.find(word).unwrap_or_else(|| panic!("no {word} in {shown}"));
            assert!(place("harmless.txt") < place("danger.txt"), "{shown}");
            assert!(place("dited by the user") < place("danger.txt"), "{shown}");
            assert!(place("he model asked for") < place("danger.txt"), "{shown}");
        }
        for shown in all(&document(Decision::Allow { rule: "user".to_owned() })) {
            assert!(shown.contains("danger.txt") && !shown.contains("dited by"), "{shown}");
        }
    }
}
