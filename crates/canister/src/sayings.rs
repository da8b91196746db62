//! The messages of the user in a conversation, in order, as far as they can be recognised.

use converse_canister::Canister;

fn is_users(canister: &Canister) -> bool {
    matches!(canister, Canister::Supervisor(_) | Canister::User(_) | Canister::Document(_))
}

/// Where each saying begins: a message of the user with the documents and instructions right before it.
pub fn starts(canisters: &[Canister]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut goes_on = false;
    for (place, canister) in canisters.iter().enumerate() {
        if is_users(canister) && !goes_on {
            starts.push(place);
        }
        goes_on = matches!(canister, Canister::Supervisor(_) | Canister::Document(_));
    }
    starts
}

/// How many canisters there are up to the last word of a model or a tool: what follows was never answered.
pub fn answered(canisters: &[Canister]) -> usize {
    canisters.iter().rposition(|one| !is_users(one)).map_or(0, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use converse_canister::{Assistant, Document, Stop, Supervisor, TurnId, User};

    use super::*;

    #[test]
    fn each_message_of_the_user_is_a_saying_with_what_goes_before_it() {
        let user = || Canister::User(User::text("words"));
        let system = || Canister::Supervisor(Supervisor { text: "s".to_owned() });
        let document = || {
            Canister::Document(Document {
                name: "n".to_owned(),
                mime: "text/plain".to_owned(),
                content: vec![],
                labels: None,
            })
        };
        let reply = || {
            let (turn, stop) = (TurnId(1), Stop::End);
            Canister::Assistant(Assistant { turn, content: vec![], native: None, stop, response_id: None })
        };
        for (canisters, begin, known) in [
            (vec![], vec![], 0),
            (vec![user(), reply()], vec![0], 2),
            (vec![system(), document(), document(), user(), reply(), user()], vec![0, 5], 5),
            // Never answered: each is one of its own.
            (vec![user(), reply(), user(), document(), user(), user()], vec![0, 2, 3, 5], 2),
            (vec![user(), user()], vec![0, 1], 0),
            // A crash came in the middle of saying it.
            (vec![user(), reply(), document()], vec![0, 2], 2),
        ] {
            assert_eq!((starts(&canisters), answered(&canisters)), (begin, known), "{canisters:?}");
        }
    }
}
