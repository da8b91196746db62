//! What the model is told of a call that the user has changed before it ran.
//!
//! The call itself stays as the model wrote it: its provider may have sealed it, and wants it back so. What ran instead
//! stands in the result, and so in the journal too: a conversation that is resumed tells the same.

use converse_canister::{Arguments, Content, InvocationResult};
use converse_text::shorten;
use serde_json::Value;

use crate::Approver;

/// Bytes that are told of a text among the arguments, and of all of them.
const TEXT: usize = 200;
const ALL: usize = 1024;

/// The line that goes with the result.
pub(super) fn note(arguments: &Arguments, approver: &dyn Approver) -> String {
    let mut told = approver.redacted(&arguments.object);
    for value in told.values_mut() {
        if let Value::String(text) = value {
            *text = shorten::bytes(text, TEXT).into_owned();
        }
    }
    let told = Value::Object(told).to_string();
    let told = shorten::bytes(&told, ALL);
    format!("[the user changed the arguments of this call: it was made with {told}]")
}

/// The result with its line, which stands first: of a long result that has gone stale the beginning is shown. What a
/// failure says first is why it failed.
pub(super) fn noted(mut result: InvocationResult, note: String) -> InvocationResult {
    let place = if result.outcome.is_success() { 0 } else { result.content.len() };
    result.content.insert(place, Content::text(note));
    result
}

#[cfg(test)]
mod tests {
    use converse_canister::{Decision, InvocationId, Outcome, TurnId};
    use converse_ensemble::Pending;
    use futures_util::future::BoxFuture;
    use serde_json::{Map, json};

    use super::*;

    struct Redacting;

    impl Approver for Redacting {
        fn decide<'a>(&'a self, _: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
            Box::pin(std::future::ready(Vec::new()))
        }

        fn can_ask(&self) -> bool {
            true
        }

        fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
            let keys = arguments.keys().map(|key| (key.clone(), json!("[redacted]")));
            keys.collect()
        }
    }

    struct Plain;

    impl Approver for Plain {
        fn decide<'a>(&'a self, _: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
            Box::pin(std::future::ready(Vec::new()))
        }

        fn can_ask(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_note_is_redacted_and_bounded() {
        let note = |arguments: Value, approver: &dyn Approver| {
            let Value::Object(object) = arguments else { panic!("no object") };
            super::note(&Arguments::from_object(object), approver)
        };
        assert_eq!(
            note(json!({ "path": "a", "n": 1 }), &Plain),
            r#"[the user changed the arguments of this call: it was made with {"path":"a","n":1}]"#
        );
        assert!(note(json!({ "key": "canary" }), &Redacting).ends_with(r#"with {"key":"[redacted]"}]"#));
        let long = note(json!({ "content": "я".repeat(5_000), "path": "a" }), &Plain);
        assert!(long.ends_with(r#"я…","path":"a"}]"#) && long.len() < 400, "{long}");
        let many: Map<String, Value> = (0..500).map(|n| (format!("a{n}"), json!(n))).collect();
        assert!(note(Value::Object(many), &Plain).len() < ALL + 100);
    }

    #[test]
    fn a_failure_says_first_why_it_failed() {
        for (outcome, first) in
            [(Outcome::Success, "note"), (Outcome::Failed, "said"), (Outcome::Invalid, "said")]
        {
            let result = InvocationResult::new(InvocationId::of(TurnId(1), 0), outcome, "said");
            let noted = noted(result, "note".to_owned());
            assert_eq!((noted.content.len(), noted.content[0].as_text()), (2, Some(first)), "{outcome:?}");
        }
    }
}
