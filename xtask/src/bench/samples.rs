//! What the runs of two programs took.

use std::time::Instant;

use crate::Result;
use crate::child::Run;
use crate::figures::{Figure, Gate, Yardstick, median};

const MEGABYTE: f64 = 1024.0 * 1024.0;

/// The runs of one program in one scenario.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// In milliseconds.
    pub(super) cpu: Vec<f64>,
    /// In megabytes.
    pub(super) peak: Vec<f64>,
    /// In seconds.
    pub(super) wall: Vec<f64>,
    /// Milliseconds from the start to the first byte of output.
    pub(super) spoke: Vec<f64>,
    /// Milliseconds from the server's first byte to the program's.
    pub(super) shown: Vec<f64>,
    /// Page faults.
    pub(super) faults: Vec<f64>,
}

impl Samples {
    pub(super) fn take(&mut self, run: &Run, first: Option<Instant>) -> Result<()> {
        self.cpu.push(run.cpu.as_secs_f64() * 1e3);
        self.peak.push(run.peak as f64 / MEGABYTE);
        self.wall.push(run.wall.as_secs_f64());
        self.faults.push(run.faults as f64);
        self.spoke
            .extend(run.first.map(|first| first.saturating_duration_since(run.began).as_secs_f64() * 1e3));
        if let (Some(shown), Some(first)) = (run.first, first) {
            let after =
                shown.checked_duration_since(first).ok_or("something was said before the server spoke")?;
            self.shown.push(after.as_secs_f64() * 1e3);
        }
        Ok(())
    }

    pub(super) fn median(&self, of: fn(&Self) -> &Vec<f64>) -> f64 {
        median(of(self).clone())
    }
}

/// The same work done by two programs.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ours: Samples,
    pub(super) theirs: Option<Samples>,
}

impl Pair {
    /// A row of the medians. `yardstick` is the other program's name.
    pub(super) fn figure(
        &self,
        name: &str,
        unit: &'static str,
        yardstick: &'static str,
        of: impl Fn(&Samples) -> f64,
        gate: Gate,
    ) -> Figure {
        let theirs = self.theirs.as_ref().map(|theirs| Yardstick { name: yardstick, value: of(theirs) });
        Figure { name: name.to_owned(), unit, ours: of(&self.ours), yardstick: theirs, gate }
    }
}
