//! `sessions search` over a million messages, and over a tenth of them: by the program, start and end included.
//!
//! The sessions are written by `xtask/sessions`. What each search finds is known, so that none of them can be quick by
//! looking at less. The first round, which does not count, makes the indexes.

use std::path::Path;
use std::process::Command;

use super::{Bench, Who};
use crate::child::{Program, Run};
use crate::figures::{Figure, Gate};
use crate::{Result, built};

const SESSIONS: u64 = 1_000;
const MESSAGES: u64 = 1_000;
const TIMES: u64 = 10;
/// Seconds that a search of all of them may take.
const MOST: f64 = 1.0;
/// And a message of ten times as many, times that of a tenth.
const MOST_GROWTH: f64 = 1.3;
/// Each takes long enough to be measured.
const ROUNDS: usize = 5;

/// Words, and in how many messages of a session they are.
const WORDS: [(&str, &[&str], u64); 3] = [
    ("nowhere", &["xylophone"], 0),
    ("in one message of each session", &["250:", "fox"], 1),
    ("in half of all messages", &["LAZY", "sunshine"], MESSAGES / 2),
];

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let (few, many) = (bench.dir.path().join("few"), bench.dir.path().join("many"));
    shelf(&few, SESSIONS / TIMES)?;
    shelf(&many, SESSIONS)?;
    let mut figures = Vec::new();
    for (place, words, each) in WORDS {
        let (few, many) = (search(bench, &few, words), search(bench, &many, words));
        let rounds = bench.rounds.min(ROUNDS);
        let pair = bench.in_turn(rounds, &many, Some(&few), |who, run| {
            let sessions = if who == Who::Ours { SESSIONS } else { SESSIONS / TIMES };
            check_hits(run, sessions * each).map(|()| None)
        })?;
        let wall = pair.ours.median(|samples| &samples.wall);
        let [all, tenth] = [Some(&pair.ours), pair.theirs.as_ref()]
            .map(|samples| samples.map_or(0.0, |samples| samples.median(|samples| &samples.cpu)));
        let figure = |name: String, unit, ours, gate| Figure { name, unit, ours, yardstick: None, gate };
        figures.push(figure(
            format!("1,000,000 messages, words {place}, wall"),
            "s",
            wall,
            Gate::Value(MOST),
        ));
        let growth = all / tenth / TIMES as f64;
        figures.push(figure(
            "the same, CPU of each against 100,000".into(),
            "x",
            growth,
            Gate::Value(MOST_GROWTH),
        ));
    }
    Ok(figures)
}

/// A data directory with so many sessions.
fn shelf(dir: &Path, sessions: u64) -> Result<()> {
    let place = dir.join("converse/sessions");
    let [program] = built::apart("sessions", ["sessions"])?;
    let made = Command::new(program)
        .arg("shelf")
        .arg(place)
        .args([sessions.to_string(), MESSAGES.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&made.stdout);
    match made.status.success() && said.trim() == (sessions * MESSAGES).to_string() {
        true => Ok(()),
        false => {
            Err(format!("no sessions were made: {said}{}", String::from_utf8_lossy(&made.stderr)).into())
        }
    }
}

fn search(bench: &Bench, data: &Path, words: &[&str]) -> Program {
    let words = [&["sessions", "search", "--json"][..], words].concat();
    let mut program = bench.program(&bench.binary, &words, None);
    program.environment.push(("XDG_DATA_HOME", data.into()));
    program
}

fn check_hits(run: &Run, messages: u64) -> Result<()> {
    let said: serde_json::Value = serde_json::from_slice(&run.stdout)?;
    match said["total"].as_u64() {
        Some(total) if total == messages => Ok(()),
        total => Err(format!("{messages} messages were expected, {total:?} found").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_must_have_been_looked_at() {
        for (said, good) in
            [("{\"total\": 1000}", true), ("{\"total\": 999}", false), ("{}", false), ("", false)]
        {
            assert_eq!(check_hits(&Run::of(said), 1000).is_ok(), good, "{said}");
        }
    }
}
