//! The content that a message refers to.

use converse_canister::{Canister, Content, Digest, InvocationResult};

/// Returns the digests of the content that a message needs.
pub fn digests(canister: &Canister) -> Vec<Digest> {
    let (content, result): (&[Content], Option<&InvocationResult>) = match canister {
        Canister::User(user) => (&user.content, None),
        Canister::Document(document) => (&document.content, None),
        Canister::Assistant(assistant) => (&assistant.content, None),
        Canister::Result(result) => (&result.content, Some(result)),
        Canister::Supervisor(_) | Canister::Invocation(_) => (&[], None),
    };
    let artefact = result.and_then(|result| result.truncated.as_ref()?.digest);
    let blobs = content.iter().filter_map(|piece| match piece {
        Content::Blob { digest, .. } => Some(*digest),
        _ => None,
    });
    blobs.chain(artefact).collect()
}

/// Returns the same digests for replacement.
pub fn digests_mut(canister: &mut Canister) -> Vec<&mut Digest> {
    let (content, artefact) = match canister {
        Canister::User(user) => (&mut user.content, None),
        Canister::Document(document) => (&mut document.content, None),
        Canister::Assistant(assistant) => (&mut assistant.content, None),
        Canister::Result(result) => {
            (&mut result.content, result.truncated.as_mut().and_then(|artefact| artefact.digest.as_mut()))
        }
        Canister::Supervisor(_) | Canister::Invocation(_) => return Vec::new(),
    };
    let blobs = content.iter_mut().filter_map(|piece| match piece {
        Content::Blob { digest, .. } => Some(digest),
        _ => None,
    });
    blobs.chain(artefact).collect()
}

#[cfg(test)]
mod tests {
    use converse_canister::{Artefact, InvocationId, Outcome, TurnId, User};

    use super::*;

    #[test]
    fn blobs_and_whole_results_are_found_and_replaced() {
        let (one, two) = (Digest([1; 32]), Digest([2; 32]));
        let blob = || Content::Blob { mime: "image/png".into(), digest: one, name: None, seal: None };
        let mut result = InvocationResult::new(InvocationId::of(TurnId(1), 0), Outcome::Success, "cut");
        result.content.push(blob());
        result.truncated = Some(Artefact { bytes: 9, kept: 3, digest: Some(two) });
        let user = Canister::User(User { content: vec![Content::text("x"), blob()] });
        for (mut canister, expected) in [(Canister::Result(result), vec![one, two]), (user, vec![one])] {
            assert_eq!(digests(&canister), expected);
            digests_mut(&mut canister).into_iter().for_each(|digest| *digest = Digest([3; 32]));
            assert_eq!(digests(&canister), vec![Digest([3; 32]); expected.len()]);
        }
    }
}
