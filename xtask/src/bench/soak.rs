//! A REPL that is never left: ten thousand turns with a tool each in one conversation, then a hundred conversations of a
//! hundred turns, all in one process at a terminal. On demand: it takes minutes.
//!
//! What it holds at the end of these hundred it must have held long before. A conversation itself is in memory as long as
//! it lasts, also where the model is told of it in a summary only (`/undo` and the journal need its places): there the
//! gate is what a turn may take.

mod model;
mod session;

use std::time::Instant;

use self::session::{ReplSession, Resources};
use super::Bench;
use crate::Result;
use crate::figures::{Figure, Gate};

const TURNS: usize = 10_000;
const CONVERSATIONS: usize = 100;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
/// MiB by which its memory may grow between a tenth of the turns and all of them.
const MOST_GROWTH: f64 = 10.0;
/// KiB that a turn of a conversation that lasts may take: five messages, one call and its result among them.
const MOST_OF_A_TURN: f64 = 16.0;

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let model = model::start()?;
    let mut figures = Vec::new();
    for (what, conversations) in [("one conversation", 1), ("100 conversations", CONVERSATIONS)] {
        let mut session = ReplSession::start(bench, &model)?;
        let began = Instant::now();
        let each = TURNS / conversations;
        let mut early = None;
        for turn in 1..=TURNS {
            session.turn(turn)?;
            // Before it is cleared: an open session has files of its own, then as at the end.
            if turn == TURNS / 10 {
                early = Some(session.resources()?);
            }
            if turn % each == 0 && turn < TURNS {
                session.clear()?;
            }
        }
        let (early, late) = (early.ok_or("nothing was measured")?, session.resources()?);
        let seconds = began.elapsed().as_secs_f64();
        session.leave()?;
        figures.extend(judged((what, conversations), early, late, seconds));
    }
    Ok(figures)
}

fn judged(
    (what, conversations): (&str, usize),
    early: Resources,
    late: Resources,
    seconds: f64,
) -> Vec<Figure> {
    let figure = |name: String, unit, ours, gate| Figure { name, unit, ours, yardstick: None, gate };
    let grown = late.memory - early.memory;
    let of_a_turn = grown / 1024.0 / (TURNS - TURNS / 10) as f64;
    let growth = format!("the same: grown since turn {}", TURNS / 10);
    let mut figures = vec![
        figure(format!("{TURNS} turns, {what}: memory"), "MiB", late.memory / MEBIBYTE, Gate::None),
        match conversations {
            1 => figure(format!("{growth}, a turn"), "KiB", of_a_turn, Gate::Value(MOST_OF_A_TURN)),
            _ => figure(growth, "MiB", grown / MEBIBYTE, Gate::Value(MOST_GROWTH)),
        },
    ];
    let counts = [
        ("descriptors", early.descriptors, late.descriptors),
        ("threads", early.threads, late.threads),
        ("children", early.children, late.children),
    ];
    figures.extend(counts.map(|(name, before, after)| {
        figure(format!("the same: more {name}"), "", after as f64 - before as f64, Gate::Value(0.0))
    }));
    figures.push(figure("the same: a turn".to_owned(), "ms", seconds * 1000.0 / TURNS as f64, Gate::None));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Verdict;

    #[test]
    fn whatever_grows_is_seen() {
        let resources =
            |memory, descriptors, threads, children| Resources { memory, descriptors, threads, children };
        let early = resources(40.0 * MEBIBYTE, 20, 3, 1);
        for (conversations, late, failed) in [
            (100, resources(45.0 * MEBIBYTE, 20, 3, 1), 0),
            (100, resources(45.0 * MEBIBYTE, 19, 2, 0), 0),
            (100, resources(51.0 * MEBIBYTE, 20, 3, 1), 1),
            (100, resources(40.0 * MEBIBYTE, 21, 4, 2), 3),
            (1, resources(51.0 * MEBIBYTE, 20, 3, 1), 0),
            (1, resources(240.0 * MEBIBYTE, 20, 3, 1), 1),
        ] {
            let figures = judged(("x", conversations), early, late, 1.0);
            let count = figures.iter().filter(|figure| figure.verdict() == Verdict::Failed).count();
            assert_eq!(count, failed, "{conversations}");
        }
    }
}
