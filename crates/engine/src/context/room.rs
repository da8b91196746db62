//! The limit on the tokens of a request, and the places where a conversation may be cut.

use converse_canister::Canister;
use converse_provider::{Controls, Facts};

use super::ledger::window;

/// The policy for a conversation or tools that would fill the context window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionPolicy {
    /// Whether old results are shortened and the beginning is summarised near the limit of the window.
    pub compact: bool,
    /// Share of the window available to a request (0 to 1) at which compaction starts.
    pub compact_at: f64,
    /// Share of the window (0 to 1) above which tools are offered through a search; 0 disables the search.
    pub lazy_tools: f64,
}

impl CompactionPolicy {
    /// Never compacts and never offers tools through a search.
    pub const NONE: Self = Self { compact: false, compact_at: 0.8, lazy_tools: 0.0 };
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self { compact: true, compact_at: 0.8, lazy_tools: 0.1 }
    }
}

/// Limits of a request, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// A larger request is made smaller.
    pub(crate) most: u64,
    /// Size to which a larger request is reduced. It is lower than `most`, because after each reduction the provider
    /// reads the whole prompt anew.
    pub(crate) target: u64,
    /// Minimum size of an older part that is summarised.
    pub(crate) worth: u64,
}

impl Room {
    /// Returns the limits, or `None` if the window is unknown. `refused` is the estimate of a request that the provider
    /// refused as too long.
    pub(crate) fn of(
        policy: &CompactionPolicy,
        facts: &Facts,
        controls: &Controls,
        refused: Option<u64>,
    ) -> Option<Self> {
        let window = window(facts).map(|window| {
            let output = controls.max_output_tokens.map(u64::from).or(facts.max_output).unwrap_or(0);
            // In some tables the longest reply equals the window.
            window - output.min(window / 4)
        });
        let refused = refused.map(|tokens| share(tokens, 0.8));
        let room = match (window, refused) {
            (Some(window), Some(refused)) => window.min(refused),
            (window, refused) => window.or(refused)?,
        };
        let most = share(room, policy.compact_at);
        Some(Self { most, target: share(most, 0.9), worth: share(room, 0.1) })
    }
}

pub(crate) fn share(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share) as u64
}

/// Returns whether everything before this index may be left out: between two replies, or after a reply. Never within a
/// reply, before its results, or between a document and the question that goes with it.
pub(super) fn is_lawful(canisters: &[Canister], at: usize) -> bool {
    let (Some(one), Some(before)) = (canisters.get(at), at.checked_sub(1).and_then(|at| canisters.get(at)))
    else {
        return false;
    };
    match one {
        Canister::Result(_) => false,
        Canister::Assistant(_) | Canister::Invocation(_) => one.turn() != before.turn(),
        Canister::User(_) | Canister::Document(_) | Canister::Supervisor(_) => !is_said(before),
    }
}

fn is_said(canister: &Canister) -> bool {
    matches!(canister, Canister::User(_) | Canister::Document(_) | Canister::Supervisor(_))
}

/// Number of latest turns of the user that stay unchanged if there is room for them.
const TURNS: usize = 2;

/// Returns the index at which the summarised part ends. At most `keep` stays after it, at most two turns of the user, and
/// at least the last message. `None` if no reply since `from` comes before that index. `weigh` returns how much of `keep`
/// a canister takes.
pub(crate) fn cut(
    canisters: &[Canister],
    from: usize,
    keep: u64,
    weigh: impl Fn(&Canister) -> u64,
) -> Option<usize> {
    let (mut tail, mut turns, mut best) = (0, 0, None);
    for (at, canister) in canisters.iter().enumerate().skip(from + 1).rev() {
        tail += weigh(canister);
        if !is_lawful(canisters, at) {
            continue;
        }
        if best.is_some() && tail > keep {
            break;
        }
        best = Some(at);
        turns += usize::from(is_said(canister));
        if turns == TURNS {
            break;
        }
    }
    let before = canisters.get(from..best?)?;
    best.filter(|_| before.iter().any(|one| matches!(one, Canister::Assistant(_))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::{call, reply, result, user};

    #[test]
    fn there_is_room_for_what_the_window_leaves() {
        let policy = CompactionPolicy { compact_at: 0.8, ..CompactionPolicy::default() };
        let most = |window, max_output, requested, refused| {
            let facts = Facts { window, max_output, ..Facts::default() };
            let controls = Controls { max_output_tokens: requested, ..Controls::default() };
            Room::of(&policy, &facts, &controls, refused).map(|room| room.most)
        };
        assert_eq!(most(None, Some(10), None, None), None);
        assert_eq!(most(Some(10_000), None, None, None), Some(8_000));
        assert_eq!(most(Some(10_000), Some(1_000), None, None), Some(7_200));
        assert_eq!(most(Some(10_000), Some(1_000), Some(500), None), Some(7_600));
        assert_eq!(
            most(Some(10_000), Some(10_000), None, None),
            Some(6_000),
            "at most a fourth for the reply"
        );
        assert_eq!(most(None, None, None, Some(1_000)), Some(640));
        assert_eq!(most(Some(500), None, None, Some(1_000)), Some(400));
    }

    #[test]
    fn it_is_cut_between_replies_and_enough_stays() {
        let turn = |number| vec![reply(number, "r"), call(number, 0, "t", "{}"), result(number, 0, "x")];
        // 0 user · 1..4 · 4..7 · 7 reply · 8 user · 9..12 · 12 user · 13..16
        let all: Vec<Canister> = [
            vec![user("a")],
            turn(1),
            turn(2),
            vec![reply(3, "r"), user("b")],
            turn(4),
            vec![user("c")],
            turn(5),
        ]
        .concat();
        for (from, keep, place) in [
            (0, 0, Some(13)),
            (0, 3, Some(13)),
            (0, 4, Some(12)),
            (0, 6, Some(12)),
            (0, 7, Some(9)),
            (0, 8, Some(8)),
            (0, 99, Some(8)),
            // Messages that are already summarised stay so.
            (7, 99, Some(8)),
            (9, 99, Some(12)),
            (13, 99, None),
            (12, 99, None),
        ] {
            assert_eq!(cut(&all, from, keep, |_| 1), place, "{from} {keep}");
        }
        assert_eq!(cut(&all[..4], 0, 0, |_| 1), None, "nothing but the task lies before the one reply");
        assert_eq!(cut(&[], 0, 9, |_| 1), None);
    }
}
