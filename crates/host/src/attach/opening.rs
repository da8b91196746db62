//! The messages of a prompt as canisters that open the user's turn.
//!
//! Messages of the assistant in a prompt become replies without a model, which contain only text. Sequences that a wire
//! would refuse (an assistant message first, or two in a row) are repaired.

use converse_canister::{Assistant, Blobs, Canister, Content, Stop, TurnId, User};
use converse_ensemble::Artefacts;
use converse_mcp::{PromptMessage, Speaker};

use super::unkept;
use crate::failure::Failure;

/// An empty user message before a prompt that begins with the assistant.
const BEFORE: &str = "[a prepared conversation begins here]";

/// Bytes are taken from `held` and stored. `turn` is that of the next reply.
pub(super) fn canisters(
    messages: &[PromptMessage],
    keep: &dyn Artefacts,
    held: &dyn Blobs,
    turn: TurnId,
) -> Result<Vec<Canister>, Failure> {
    let mut canisters = Vec::new();
    let mut turn = turn;
    for message in messages.iter().filter(|message| says_something(message)) {
        if message.speaker == Speaker::User {
            let content = keep_all(&message.content, keep, held)?;
            canisters.push(Canister::User(User { content }));
            continue;
        }
        let mut words: Vec<Content> = message.content.iter().map(in_words).collect();
        match canisters.last_mut() {
            Some(Canister::Assistant(last)) => last.content.append(&mut words),
            last => {
                if last.is_none() {
                    canisters.push(Canister::User(User::text(BEFORE)));
                }
                canisters.push(Canister::Assistant(Assistant {
                    turn,
                    content: words,
                    native: None,
                    stop: Stop::End,
                    response_id: None,
                }));
                turn = TurnId(turn.0 + 1);
            }
        }
    }
    Ok(canisters)
}

pub(super) fn says_something(message: &PromptMessage) -> bool {
    message.content.iter().any(|content| content.as_text().is_none_or(|text| !text.trim().is_empty()))
}

fn keep_all(content: &[Content], keep: &dyn Artefacts, held: &dyn Blobs) -> Result<Vec<Content>, Failure> {
    for one in content {
        if let Content::Blob { digest, mime, .. } = one {
            let kept = held.bytes(digest).and_then(|bytes| keep.keep(&bytes));
            kept.ok_or_else(|| unkept(mime))?;
        }
    }
    Ok(content.to_vec())
}

/// No wire accepts images from an assistant.
fn in_words(content: &Content) -> Content {
    match content {
        Content::Blob { mime, .. } => Content::text(format!("[{mime}: cannot be shown here]")),
        Content::Resource { uri, .. } => Content::text(format!("[resource {uri}]")),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use converse_canister::{Digest, Transcript};

    use super::*;

    struct Shelf;

    impl Artefacts for Shelf {
        fn keep(&self, bytes: &[u8]) -> Option<Digest> {
            (bytes != b"full").then_some(Digest([1; 32]))
        }
    }

    impl Blobs for Shelf {
        fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
            match digest.0[0] {
                1 => Some(b"bytes".to_vec().into()),
                2 => Some(b"full".to_vec().into()),
                _ => None,
            }
        }
    }

    fn blob(digest: u8) -> Content {
        Content::Blob { mime: "image/png".into(), digest: Digest([digest; 32]), name: None, seal: None }
    }

    fn message(speaker: Speaker, content: Content) -> PromptMessage {
        PromptMessage { speaker, content: vec![content] }
    }

    fn opened(messages: &[PromptMessage]) -> Result<Vec<Canister>, Failure> {
        canisters(messages, &Shelf, &Shelf, TurnId(3))
    }

    #[test]
    fn a_prompt_opens_a_lawful_conversation() {
        let (user, assistant) = (Speaker::User, Speaker::Assistant);
        let says = |speaker, text: &str| message(speaker, Content::text(text));
        for (messages, roles) in [
            (vec![says(user, "a"), says(user, "b")], "uu"),
            (vec![says(user, "a"), says(assistant, "b"), says(user, "c"), says(assistant, "d")], "u3u4"),
            (vec![says(assistant, "a"), says(assistant, "b"), says(user, "c")], "u3u"),
            (vec![says(user, "a"), says(assistant, " \n"), says(user, "")], "u"),
            (vec![], ""),
        ] {
            let canisters = opened(&messages).unwrap();
            let role = |canister: &Canister| match canister {
                Canister::User(_) => "u".to_owned(),
                Canister::Assistant(assistant) => assistant.turn.0.to_string(),
                other => panic!("{other:?}"),
            };
            assert_eq!(canisters.iter().map(role).collect::<String>(), roles);
            let mut transcript = Transcript::new();
            assert!(canisters.into_iter().all(|canister| transcript.push(canister).is_ok()));
        }
        let merged = opened(&[says(assistant, "a"), says(assistant, "b")]).unwrap();
        assert!(matches!(&merged[1], Canister::Assistant(assistant) if assistant.words() == "ab"));
    }

    #[test]
    fn bytes_are_kept_or_the_prompt_is_not_used() {
        let kept = opened(&[message(Speaker::User, blob(1))]).unwrap();
        assert_eq!(kept, [Canister::User(User { content: vec![blob(1)] })]);
        for lost in [2, 3] {
            assert_eq!(opened(&[message(Speaker::User, blob(lost))]).unwrap_err().code, "save-failed");
        }
        let told = opened(&[message(Speaker::Assistant, blob(3))]).unwrap();
        let Canister::Assistant(assistant) = &told[1] else { panic!("{told:?}") };
        assert_eq!(assistant.content, [Content::text("[image/png: cannot be shown here]")]);
    }
}
