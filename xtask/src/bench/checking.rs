//! `ensembles check` of many descriptors, and of ten times as many.

use super::{Bench, descriptors};
use crate::Result;
use crate::child::{Program, Run};
use crate::figures::{Figure, Gate};

const ENSEMBLES: usize = 200;
const TIMES: usize = 10;

pub(super) fn figures(bench: &Bench) -> Result<Vec<Figure>> {
    let (few, many) = (check(bench, ENSEMBLES)?, check(bench, ENSEMBLES * TIMES)?);
    let few = bench.in_turn(bench.rounds, &few, Some(&many), |who, run| {
        let times = if who == super::Who::Ours { 1 } else { TIMES };
        sound(run, ENSEMBLES * times)?;
        Ok(None)
    })?;
    let wall = few.ours.median(|samples| &samples.wall);
    let [one, ten] = [Some(&few.ours), few.theirs.as_ref()]
        .map(|samples| samples.map_or(0.0, |samples| samples.median(|samples| &samples.cpu)));
    let figure =
        |name: &str, unit, ours, gate| Figure { name: name.to_owned(), unit, ours, yardstick: None, gate };
    Ok(vec![
        figure("check of 200 ensembles with 1,000 tools, wall", "s", wall, Gate::Value(0.5)),
        figure("the same, CPU", "ms", one, Gate::None),
        figure("of ten times as many, CPU of each tool", "x", ten / one / TIMES as f64, Gate::Value(1.3)),
    ])
}

fn check(bench: &Bench, count: usize) -> Result<Program> {
    let dir = bench.dir.path().join(format!("ensembles-{count}"));
    std::fs::create_dir(&dir)?;
    descriptors::ensembles(&dir, count)?;
    let dir = dir.to_string_lossy();
    Ok(bench.program(&bench.binary, &["ensembles", "check", &dir], None))
}

/// There may be more: the shipped ones.
fn sound(run: &Run, ensembles: usize) -> Result<()> {
    let said = String::from_utf8_lossy(&run.stdout);
    let numbers: Vec<usize> =
        said.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    match numbers[..] {
        [sound, tools, 0, 0] if sound >= ensembles && tools >= ensembles * descriptors::TOOLS => Ok(()),
        _ => Err(format!("{ensembles} sound ensembles were expected: {}", said.trim()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_must_have_been_read() {
        for (said, good) in [
            ("checked 202 ensembles, 1,005 tools: 0 errors, 0 warnings\n", true),
            ("checked 202 ensembles, 1,005 tools: 0 errors, 1 warning\n", false),
            ("checked 199 ensembles, 1,005 tools: 0 errors, 0 warnings\n", false),
            ("checked 202 ensembles, 999 tools: 0 errors, 0 warnings\n", false),
            ("", false),
        ] {
            assert_eq!(sound(&Run::of(said), 200).is_ok(), good, "{said}");
        }
    }
}
