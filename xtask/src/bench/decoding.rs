//! What decoding a stream costs (`xtask/decode`): the decoder alone, no network, no screen. And what reading one from
//! a server costs, against genai (`xtask/decode-genai`).

use std::process::Command;

use crate::figures::{Figure, Gate, Yardstick};
use crate::{Result, built};

/// Faster than any model writes.
const TOKENS_A_SECOND: f64 = 10_000.0;
/// Per cent of one core.
const MOST: f64 = 2.0;

pub(super) fn figures() -> Result<Vec<Figure>> {
    let [program] = built::apart("decode", ["decode"])?;
    let said = output(&mut Command::new(program))?;
    let figures = said.lines().map(rows).collect::<Result<Vec<_>>>()?;
    if figures.len() < 5 {
        return Err(format!("five wires were expected: {said}").into());
    }
    Ok(figures.into_iter().flatten().collect())
}

/// Medians of so many rounds.
pub(super) fn against_genai(rounds: usize) -> Result<Vec<Figure>> {
    let [program] = built::apart("decode-genai", ["decode-genai"])?;
    let said = output(Command::new(program).args(["--rounds", &rounds.to_string()]))?;
    let figures = said.lines().map(pair).collect::<Result<Vec<_>>>()?;
    if figures.len() == 3 { Ok(figures) } else { Err(format!("three wires were expected: {said}").into()) }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("decoding failed: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// `LABEL NANOSECONDS ALLOCATIONS BYTES`, each of one token.
fn rows(line: &str) -> Result<[Figure; 2]> {
    let (label, [nanoseconds, allocations, _]) = read(line)?;
    let share = nanoseconds * TOKENS_A_SECOND / 1e9 * 100.0;
    let figure = |name: String, unit, ours, gate| Figure { name, unit, ours, yardstick: None, gate };
    Ok([
        figure(format!("decoding {label}, 10,000 tokens a second"), "% of a core", share, Gate::Value(MOST)),
        figure("the same, allocations for each token".to_owned(), "", allocations, Gate::None),
    ])
}

/// `LABEL OURS GENAI RATIO`, in milliseconds.
fn pair(line: &str) -> Result<Figure> {
    let (label, [ours, value, _]) = read(line)?;
    let yardstick = Some(Yardstick { name: "genai", value });
    Ok(Figure {
        name: format!("20,000 tokens of {label}, CPU"),
        unit: "ms",
        ours,
        yardstick,
        gate: Gate::None,
    })
}

fn read(line: &str) -> Result<(&str, [f64; 3])> {
    let (label, numbers) = line.split_once(' ').unwrap_or_default();
    let numbers = numbers.split(' ').map(str::parse).collect::<std::result::Result<Vec<f64>, _>>()?;
    let numbers = numbers.try_into().map_err(|_| format!("three numbers were expected: {line}"))?;
    Ok((label, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_two_figures() {
        let [share, allocations] = rows("openai-chat 663 2.50 1392").unwrap();
        assert!((share.ours - 0.663).abs() < 1e-9 && (allocations.ours - 2.5).abs() < 1e-9);
        for bad in ["openai-chat 663 2.50", "x a b c", ""] {
            assert!(rows(bad).is_err() && pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_against_genai_is_one() {
        let figure = pair("gemini 60.5 121.0 0.50").unwrap();
        assert_eq!((figure.name.as_str(), figure.ratio()), ("20,000 tokens of gemini, CPU", Some(0.5)));
    }
}
