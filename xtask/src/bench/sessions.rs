//! What long sessions cost (`xtask/sessions`): reading one.
//!
//! Each reading is a process of its own, as it is at a start of the program. What else the machine does only adds to it,
//! so the least of some rounds counts.

use std::process::Command;

use crate::figures::{Figure, Gate};
use crate::{Result, built};

/// Milliseconds to read 10,000 messages: less than anybody notices at a start.
const MOST_TO_LOAD: f64 = 100.0;
/// A message of a conversation that is ten times as long may cost this many times as much.
const MOST_GROWTH: f64 = 1.3;

const SHORT: u32 = 10_000;
const LONG: u32 = 100_000;

pub(super) fn figures(rounds: usize) -> Result<Vec<Figure>> {
    let ([program], dir) = (built::apart("sessions", ["sessions"])?, tempfile::TempDir::new()?);
    let said = |what: &str, messages: u32| -> Result<f64> {
        let mut command = Command::new(&program);
        number(command.arg(what).arg(dir.path().join(messages.to_string())).arg(messages.to_string()))
    };
    let (mut short, mut long) = (f64::INFINITY, f64::INFINITY);
    for messages in [SHORT, LONG] {
        said("make", messages)?;
    }
    for _ in 0..rounds {
        short = short.min(said("load", SHORT)?);
        long = long.min(said("load", LONG)?);
    }
    Ok(loading(short, long))
}

fn loading(short: f64, long: f64) -> Vec<Figure> {
    let figure =
        |name: &str, unit, ours, gate| Figure { name: name.to_owned(), unit, ours, yardstick: None, gate };
    let growth = long / short * f64::from(SHORT) / f64::from(LONG);
    vec![
        figure("reading a session of 10,000 messages", "ms", short, Gate::Value(MOST_TO_LOAD)),
        figure("reading a session of 100,000 messages", "ms", long, Gate::None),
        figure("the same, a message against one of 10,000", "×", growth, Gate::Value(MOST_GROWTH)),
    ]
}

fn number(command: &mut Command) -> Result<f64> {
    let output = command.output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
    } else {
        Err(format!("measuring sessions failed: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Verdict;

    #[test]
    fn both_gates_can_fail() {
        for (short, long, verdicts) in [
            (50.0, 600.0, [Verdict::Passed, Verdict::NoGate, Verdict::Passed]),
            (101.0, 900.0, [Verdict::Failed, Verdict::NoGate, Verdict::Passed]),
            (50.0, 700.0, [Verdict::Passed, Verdict::NoGate, Verdict::Failed]),
        ] {
            let figures = loading(short, long);
            assert_eq!(figures.iter().map(Figure::verdict).collect::<Vec<_>>(), verdicts, "{short} {long}");
        }
    }
}
