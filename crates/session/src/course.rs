//! Determines which lines of a journal belong to the current conversation. Pure.
//!
//! A `rewound` line means "as after line `to`". The conversation is found backwards, from the last line to the first,
//! continuing at each `rewound` line from the line that it names. So nothing has to be undone, and it is possible to go
//! back to a line that was itself left by going back.

use std::collections::HashSet;

use converse_canister::{Canister, TurnId};

use crate::{Body, Entry};

#[derive(Debug, Default)]
pub(crate) struct Course {
    /// For each entry: whether it belongs to the conversation.
    pub(crate) live: Vec<bool>,
    /// The steps back, earliest first: target line and line of the step.
    pub(crate) steps: Vec<(u64, u64)>,
    /// Replies of which only a part belongs to the conversation: their native form contains more than their canisters.
    pub(crate) cut: HashSet<TurnId>,
}

impl Course {
    /// `entries` are all lines but the first; each `rewound` names an earlier line.
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut course = Self { live: vec![false; entries.len()], ..Self::default() };
        // The first entry is line 2. Each step leads to an earlier line.
        let mut left = entries.len();
        while let Some(index) = left.checked_sub(1) {
            let entry = entries.get(index);
            left = match entry.map(|entry| &entry.body) {
                Some(Body::Rewound { to }) => {
                    let kept = usize::try_from(*to).unwrap_or_default().saturating_sub(1).min(index);
                    course.steps.push((*to, index as u64 + 2));
                    course.cut.extend(cut_reply(entries, kept));
                    kept
                }
                _ => {
                    course.live.iter_mut().skip(index).take(1).for_each(|live| *live = true);
                    index
                }
            };
        }
        course.steps.reverse();
        course
    }
}

/// Returns the reply that ends at the last of the `kept` entries, if it continues after it or was never complete.
fn cut_reply(entries: &[Entry], kept: usize) -> Option<TurnId> {
    let turn = canister(entries.get(kept.checked_sub(1)?)?)?.turn()?;
    let goes_on = match &entries.get(kept)?.body {
        Body::Canister { canister } => canister.turn() == Some(turn),
        Body::Incomplete { turn: incomplete } => *incomplete == turn,
        _ => false,
    };
    goes_on.then_some(turn)
}

/// Returns the reply at the end of the journal, if its native form may contain more than its canisters.
pub(crate) fn unfinished_reply(entries: &[Entry]) -> Option<TurnId> {
    let mut behind = entries.iter().rev().map_while(canister).peekable();
    let turn = behind.peek()?.turn()?;
    let native = |canister: &Canister| matches!(canister, Canister::Assistant(a) if a.native.is_some());
    behind.take_while(|canister| canister.turn() == Some(turn)).any(native).then_some(turn)
}

/// Returns the text of the reply that was arriving when the journal ended, if there is any. An empty piece takes back what
/// came before it.
pub(crate) fn partial_reply(entries: &[Entry]) -> Option<(TurnId, String)> {
    let settles =
        |body: &Body| matches!(body, Body::Canister { .. } | Body::Used { .. } | Body::Rewound { .. });
    let settled = entries.iter().rposition(|entry| settles(&entry.body)).map_or(0, |at| at + 1);
    let mut reply: Option<(TurnId, String)> = None;
    for entry in entries.get(settled..).unwrap_or_default() {
        let Body::Partial { turn, from, text } = &entry.body else { continue };
        let mut known = reply.take().filter(|(of, _)| of == turn).map(|(_, text)| text).unwrap_or_default();
        let from = usize::try_from(*from).unwrap_or(usize::MAX).min(known.len());
        known.truncate(known.floor_char_boundary(from));
        known.push_str(text);
        reply = Some((*turn, known));
    }
    reply.filter(|(_, text)| !text.trim().is_empty())
}

fn canister(entry: &Entry) -> Option<&Canister> {
    match &entry.body {
        Body::Canister { canister } => Some(canister),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::User;
    use jiff::Timestamp;

    use super::*;

    /// A number is a line that goes back to that line; 0 is any other line.
    fn live(lines: &[u64]) -> (Vec<u64>, Vec<(u64, u64)>) {
        let body = |to: &u64| match to {
            0 => Canister::User(User::text("x")).into(),
            to => Body::Rewound { to: *to },
        };
        let entries: Vec<_> = (2..)
            .zip(lines)
            .map(|(seq, to)| Entry { seq, at: Timestamp::UNIX_EPOCH, body: body(to) })
            .collect();
        let course = Course::of(&entries);
        ((2..).zip(course.live).filter_map(|(seq, live)| live.then_some(seq)).collect(), course.steps)
    }

    #[test]
    fn the_conversation_is_as_it_was_after_the_named_line() {
        for (lines, expected, steps) in [
            (&[][..], &[][..], &[][..]),
            (&[0, 0, 0], &[2, 3, 4], &[]),
            (&[0, 0, 1], &[], &[(1, 4)]),
            (&[0, 0, 0, 2, 0], &[2, 6], &[(2, 5)]),
            (&[0, 0, 2, 0, 5, 0], &[2, 5, 7], &[(2, 4), (5, 6)]),
            // Back, and further back.
            (&[0, 0, 0, 3, 2], &[2], &[(2, 6)]),
            // Back to a line that was left: it is as it was then.
            (&[0, 0, 0, 2, 0, 4, 0], &[2, 3, 4, 8], &[(4, 7)]),
            // Back to a line that goes back itself.
            (&[0, 0, 2, 0, 4, 0], &[2, 7], &[(2, 4), (4, 6)]),
        ] {
            assert_eq!(live(lines), (expected.to_vec(), steps.to_vec()), "{lines:?}");
        }
    }

    #[test]
    fn pieces_of_a_reply_count_until_it_is_settled() {
        let piece =
            |turn, from, text: &str| Body::Partial { turn: TurnId(turn), from, text: text.to_owned() };
        let user = || Body::from(Canister::User(User::text("x")));
        let note = || Body::Note { text: "n".to_owned() };
        let used = || Body::Used {
            usage: converse_canister::Usage::default(),
            cost: None,
            model: "m".to_owned(),
            provider: None,
        };
        for (bodies, expected) in [
            (vec![user()], None),
            (vec![user(), piece(1, 0, "one ")], Some((1, "one "))),
            (vec![user(), piece(1, 0, "one "), note(), piece(1, 4, "two")], Some((1, "one two"))),
            // Taken back, and begun again.
            (vec![user(), piece(1, 0, "one "), piece(1, 0, "")], None),
            (vec![user(), piece(1, 0, "one "), piece(1, 0, ""), piece(1, 0, "anew")], Some((1, "anew"))),
            // Neither a place outside the text nor one within a letter is trusted.
            (vec![piece(1, 9, "ж"), piece(1, 1, "x")], Some((1, "x"))),
            (vec![piece(1, 0, "one"), piece(2, 3, "two")], Some((2, "two"))),
            (vec![piece(1, 0, " \n")], None),
            (vec![piece(1, 0, "one"), user()], None),
            (vec![piece(1, 0, "one"), used()], None),
            (vec![user(), piece(1, 0, "one"), Body::Rewound { to: 3 }], None),
        ] {
            let entries: Vec<_> =
                (2..).zip(bodies).map(|(seq, body)| Entry { seq, at: Timestamp::UNIX_EPOCH, body }).collect();
            let expected = expected.map(|(turn, text)| (TurnId(turn), text.to_owned()));
            assert_eq!(partial_reply(&entries), expected, "{entries:?}");
        }
    }
}
