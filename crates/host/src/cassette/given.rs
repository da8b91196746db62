//! What came of an invocation, as a cassette has it.

use converse_ensemble::{Answer, InvokeError};
use converse_session::cassette::{ErrorKind, Given};

/// What is recorded of an invocation.
pub(super) fn given(outcome: &Result<Answer, InvokeError>) -> Given {
    match outcome {
        Ok(Answer { content, is_error, kept, .. }) => {
            Given::Answer { content: content.clone(), is_error: *is_error, kept: *kept }
        }
        Err(error) => given_error(error),
    }
}

fn given_error(error: &InvokeError) -> Given {
    let (kind, sent) = match error {
        InvokeError::Invalid(_) => (ErrorKind::Invalid, false),
        InvokeError::Unreachable { sent, .. } => (ErrorKind::Unreachable, *sent),
        InvokeError::NoDescriptors(_) => (ErrorKind::NoDescriptors, false),
        InvokeError::Failed(_) => (ErrorKind::Failed, false),
        InvokeError::Interrupted(_) => (ErrorKind::Interrupted, false),
        InvokeError::Unsandboxed(_) => (ErrorKind::Unsandboxed, false),
        InvokeError::HeldBack(_) => (ErrorKind::HeldBack, false),
        InvokeError::Timeout(_) => (ErrorKind::Timeout, false),
        InvokeError::Kept(inner) => {
            return match given_error(inner) {
                Given::Error { kind, message, sent, .. } => Given::Error { kind, message, sent, kept: true },
                answer @ Given::Answer { .. } => answer,
            };
        }
    };
    Given::Error { kind, message: error.to_string(), sent, kept: false }
}

/// What a recorded invocation returns to its pipeline.
pub(super) fn outcome(given: Given) -> Result<Answer, InvokeError> {
    match given {
        Given::Answer { content, is_error, kept } => Ok(Answer { kept, ..Answer::new(content, is_error) }),
        Given::Error { kind, message, sent, kept } => {
            let error = match kind {
                ErrorKind::Invalid => InvokeError::Invalid(message),
                ErrorKind::Unreachable => InvokeError::Unreachable { message, sent },
                ErrorKind::NoDescriptors => InvokeError::NoDescriptors(message),
                ErrorKind::Failed => InvokeError::Failed(message),
                ErrorKind::Interrupted => InvokeError::Interrupted(message),
                ErrorKind::Unsandboxed => InvokeError::Unsandboxed(message),
                ErrorKind::HeldBack => InvokeError::HeldBack(message),
                ErrorKind::Timeout => InvokeError::Timeout(message),
            };
            Err(if kept { InvokeError::Kept(Box::new(error)) } else { error })
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::Content;
    use serde_json::json;

    use super::*;

    #[test]
    fn invocations_are_answered_as_they_were() {
        let content = vec![Content::text("t"), Content::Structured { value: json!({ "a": 1 }) }];
        let outcomes = [
            Ok(Answer::new(content, true)),
            Ok(Answer { kept: true, ..Answer::text("k") }),
            Err(InvokeError::Invalid("a".to_owned())),
            Err(InvokeError::Unreachable { message: "b".to_owned(), sent: true }),
            Err(InvokeError::Unreachable { message: "b".to_owned(), sent: false }),
            Err(InvokeError::NoDescriptors("n".to_owned())),
            Err(InvokeError::Failed("c".to_owned())),
            Err(InvokeError::Interrupted("d".to_owned())),
            Err(InvokeError::Unsandboxed("e".to_owned())),
            Err(InvokeError::HeldBack("f".to_owned())),
            Err(InvokeError::Timeout("g".to_owned())),
            Err(InvokeError::Kept(Box::new(InvokeError::Timeout("h".to_owned())))),
        ];
        for told in outcomes {
            let line = serde_json::to_string(&given(&told)).unwrap();
            assert_eq!(outcome(serde_json::from_str(&line).unwrap()), told, "{line}");
        }
    }
}
