//! The note for the model about a call that the user has changed before it ran.
//!
//! The call itself stays as the model wrote it, because its provider may verify it. The arguments that ran are in the
//! result, and so in the journal: a resumed conversation shows the same.

use converse_canister::{Arguments, Content, InvocationResult};
use converse_text::shorten;
use serde_json::Value;

use crate::Approver;

/// Bytes shown of a text among the arguments, and of all arguments.
const TEXT: usize = 200;
const ALL: usize = 1024;

/// Returns the note, redacted and bounded.
pub(super) fn note(arguments: &Arguments, approver: &dyn Approver) -> String {
    let mut redacted = approver.redacted(&arguments.object);
    for value in redacted.values_mut() {
        if let Value::String(text) = value {
            *text = shorten::bytes(text, TEXT).into_owned();
        }
    }
    let redacted = Value::Object(redacted).to_string();
    let redacted = shorten::bytes(&redacted, ALL);
    format!("[the user changed the arguments of this call: it was made with {redacted}]")
}

/// Returns the result with the note. The note comes first, because only the beginning of a long old result is shown. In a
/// failure it comes last, after the reason.
pub(super) fn with_note(mut result: InvocationResult, note: String) -> InvocationResult {
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
            let noted = with_note(result, "note".to_owned());
            assert_eq!((noted.content.len(), noted.content[0].as_text()), (2, Some(first)), "{outcome:?}");
        }
    }
}
