//! Questions and documents of the user that are shortened to their beginning and end.
//!
//! They are shortened last, since only the user can repeat them. But a message that a model refused for its length would be
//! refused with every later question too.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use converse_canister::{Blobs, Canister, Content, Document, User};

use super::summary_request::ends;
use super::trimming::words;
use super::weight::content_weight;

/// Bytes: a larger message is shortened, and this much of it stays.
const LARGE: u64 = 4 * 1024;
const KEPT: usize = 2 * 1024;
/// Minimum bytes of one of many documents.
const LEAST: usize = 256;

/// The shortened canisters, by their index in the transcript.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ShortenedInput(BTreeMap<usize, Short>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Short {
    kept: usize,
    /// Bytes of its text. If they differ, the index is now that of another canister.
    bytes: usize,
}

impl ShortenedInput {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps only canisters that still exist.
    pub(super) fn retain(&mut self, canisters: usize) {
        self.0.retain(|at, _| *at < canisters);
    }

    /// Returns the shortened canister at this index, if it is shortened.
    pub(super) fn shown(&self, at: usize, canister: &Canister) -> Option<Canister> {
        let Short { kept, bytes } = *self.0.get(&at)?;
        let text = words(content(canister)?);
        if text.len() != bytes {
            return None;
        }
        let content = vec![Content::text(if bytes > kept {
            let short = ends(&text, kept);
            format!(
                "{short}\n[trimmed: the beginning and the end of {bytes} bytes; the session keeps them all]"
            )
        } else {
            format!("{text}\n[trimmed: what was attached is left out; the session keeps it]")
        })];
        match canister {
            Canister::User(_) => Some(Canister::User(User { content })),
            Canister::Document(document) => {
                Some(Canister::Document(Document { content, ..document.clone() }))
            }
            _ => None,
        }
    }

    fn shorten(&mut self, at: usize, canister: &Canister, kept: usize) {
        let bytes = content(canister).map_or(0, |content| words(content).len());
        let kept = self.0.get(&at).map_or(kept, |short| short.kept.min(kept));
        self.0.insert(at, Short { kept, bytes });
    }

    /// Shortens unanswered questions and their documents if another question follows: they were too long. Nothing from
    /// `current` on is shortened.
    pub(super) fn unanswered(&mut self, canisters: &[Canister], blobs: &dyn Blobs, current: usize) {
        let mut answered = true;
        for (at, canister) in canisters.iter().enumerate().rev() {
            match canister {
                Canister::User(_) => {
                    let is_input =
                        |next: &Canister| content(next).is_some() || matches!(next, Canister::Supervisor(_));
                    answered = !canisters.get(at + 1).is_some_and(is_input);
                }
                Canister::Document(_) | Canister::Supervisor(_) => {}
                _ => answered = true,
            }
            if !answered && at < current && weight(canister, blobs) > LARGE {
                self.shorten(at, canister, KEPT);
            }
        }
    }

    /// Shortens the documents at these indexes, so that they have at most this many bytes together.
    pub(super) fn bounded(
        &mut self,
        canisters: &[Canister],
        places: &[usize],
        blobs: &dyn Blobs,
        bytes: u64,
    ) {
        let there = || places.iter().filter_map(|at| Some((*at, canisters.get(*at)?)));
        let shown =
            |(at, one)| self.shown(at, one).map_or_else(|| weight(one, blobs), |one| weight(&one, blobs));
        if there().map(shown).sum::<u64>() <= bytes {
            return;
        }
        let each = usize::try_from(bytes).unwrap_or(usize::MAX) / places.len().max(1);
        for (at, canister) in there().collect::<Vec<_>>() {
            if weight(canister, blobs) > each.max(LEAST) as u64 {
                self.shorten(at, canister, each.max(LEAST));
            }
        }
    }

    /// Whatever is large and is shown, the largest first and what was said first of all at last, until so many bytes are
    /// saved.
    pub(super) fn squeeze(
        &mut self,
        canisters: &[Canister],
        shown: impl Fn(usize) -> bool,
        blobs: &dyn Blobs,
        bytes: u64,
    ) {
        let first = canisters.iter().position(|one| matches!(one, Canister::User(_)));
        let whole = canisters
            .iter()
            .enumerate()
            .filter(|(at, one)| shown(*at) && !self.0.contains_key(at) && content(one).is_some());
        let mut large: Vec<(u64, usize, &Canister)> = whole
            .map(|(at, one)| (weight(one, blobs), at, one))
            .filter(|(weight, ..)| *weight > LARGE)
            .collect();
        large.sort_by_key(|(weight, at, _)| (Some(*at) == first, Reverse(*weight)));
        let mut saved = 0;
        for (weight, at, canister) in large {
            if saved >= bytes {
                break;
            }
            saved += weight - KEPT as u64;
            self.shorten(at, canister, KEPT);
        }
    }
}

/// Of what is a user's.
fn content(canister: &Canister) -> Option<&[Content]> {
    match canister {
        Canister::User(user) => Some(&user.content),
        Canister::Document(document) => Some(&document.content),
        _ => None,
    }
}

fn weight(canister: &Canister, blobs: &dyn Blobs) -> u64 {
    content(canister).into_iter().flatten().map(|content| content_weight(content, blobs)).sum()
}

/// Returns where the last question begins, with its documents.
pub(crate) fn last_question(canisters: &[Canister]) -> usize {
    let last = canisters.iter().rposition(|one| matches!(one, Canister::User(_)));
    last.map_or(canisters.len(), |last| handed_over(canisters, last).min().unwrap_or(last))
}

/// Documents that go with the question at this place.
pub(super) fn handed_over(canisters: &[Canister], question: usize) -> impl Iterator<Item = usize> {
    let before = canisters.get(..question).unwrap_or_default().iter().enumerate().rev();
    let with_it =
        before.take_while(|(_, one)| matches!(one, Canister::Document(_) | Canister::Supervisor(_)));
    with_it.filter(|(_, one)| matches!(one, Canister::Document(_))).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use converse_canister::{NoBlobs, Supervisor};

    use super::*;
    use crate::context::testing::{document, reply, user};

    fn places(input: &ShortenedInput) -> Vec<usize> {
        input.0.keys().copied().collect()
    }

    fn text_of(canister: &Canister) -> String {
        words(content(canister).unwrap())
    }

    #[test]
    fn a_question_that_was_never_answered_is_shortened_once_another_follows() {
        let (long, short) = (format!("BEGIN{}END", "x".repeat(9_000)), "hm");
        let all = [
            user(&long),
            reply(1, "ok"),
            document("big.txt", &long),
            user(short),
            user(&long),
            document("new.txt", &long),
            user(short),
        ];
        for (from, to, current, expected) in [
            (0, 7, 7, vec![2, 4]),
            (0, 7, 4, vec![2]),
            (0, 4, 2, vec![]),
            (0, 2, 2, vec![]),
            (2, 4, 9, vec![]),
        ] {
            let mut input = ShortenedInput::default();
            input.unanswered(&all[from..to], &NoBlobs, current);
            assert_eq!(places(&input), expected, "{from}..{to} {current}");
        }
        // The rules may change in between.
        let mut input = ShortenedInput::default();
        let anew = Canister::Supervisor(Supervisor { text: "be brief".into() });
        input.unanswered(&[user(&long), anew, user(short)], &NoBlobs, 2);
        assert_eq!(places(&input), [0]);
        let mut input = ShortenedInput::default();
        input.unanswered(&all, &NoBlobs, last_question(&all));
        let Some(Canister::Document(shown)) = input.shown(2, &all[2]) else { panic!("{input:?}") };
        let text = words(&shown.content);
        assert!(shown.name == "big.txt" && text.len() < 2_300, "{text}");
        assert!(
            text.starts_with("BEGIN") && text.contains("END\n[trimmed: the beginning and the end of 9008")
        );
        assert!(input.shown(3, &all[3]).is_none());
        assert!(
            input.shown(2, &user("something else")).is_none(),
            "what was taken back is not what stands there"
        );
        input.retain(3);
        assert_eq!(places(&input), [2]);
    }

    #[test]
    fn the_last_question_begins_with_its_documents() {
        let all = [user("a"), document("d", "d"), document("e", "e"), user("b"), reply(1, "c")];
        for (to, place) in [(0, 0), (1, 0), (2, 0), (4, 1), (5, 1)] {
            assert_eq!(last_question(&all[..to]), place, "{to}");
        }
    }

    #[test]
    fn the_largest_is_squeezed_first_and_the_task_at_last() {
        let all = [
            user(&"t".repeat(9_000)),
            document("d", &"d".repeat(8_000)),
            user(&"u".repeat(5_000)),
            user("s"),
        ];
        for (bytes, expected) in [(1, vec![1]), (6_000, vec![1, 2]), (9_000, vec![0, 1, 2])] {
            let mut input = ShortenedInput::default();
            input.squeeze(&all, |at| at < 3, &NoBlobs, bytes);
            assert_eq!(places(&input), expected, "{bytes}");
        }
        let mut input = ShortenedInput::default();
        input.squeeze(&all, |at| at == 2, &NoBlobs, 99_999);
        assert_eq!(places(&input), [2]);
    }

    #[test]
    fn documents_share_what_there_is() {
        let all = [document("a", &"a".repeat(9_000)), document("b", &"b".repeat(900)), user("?")];
        let mut input = ShortenedInput::default();
        input.bounded(&all, &[0, 1], &NoBlobs, 10_000);
        assert_eq!(input.len(), 0);
        input.bounded(&all, &[0, 1], &NoBlobs, 4_000);
        assert_eq!(places(&input), [0]);
        assert!((2_000..2_200).contains(&text_of(&input.shown(0, &all[0]).unwrap()).len()));
        input.bounded(&all, &[0, 1], &NoBlobs, 100);
        assert!(text_of(&input.shown(1, &all[1]).unwrap()).len() < 500);
    }
}
