//! What came of it, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::body::Dialect;
use crate::points::{Fault, Point};

#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) scenario: &'static str,
    pub(crate) point: Point,
    pub(crate) reader: Dialect,
    /// The run may have ended before it came so far, or gone on without what failed.
    pub(crate) hit: bool,
    pub(crate) loss: Option<String>,
}

impl Tried {
    /// A loss is told at once.
    pub(crate) fn tell(&self) {
        let Some(loss) = &self.loss else { return };
        let Point { dialect, call, nth, fault, .. } = self.point;
        let fault = fault.name();
        eprintln!(
            "loss: {} by {dialect:?}, {fault} at {call} {nth}, read by {:?}: {loss}",
            self.scenario, self.reader
        );
    }
}

#[derive(Debug)]
pub(crate) struct Report {
    /// Points that there are.
    pub(crate) known: usize,
    pub(crate) tried: Vec<Tried>,
    pub(crate) took: Duration,
}

impl Report {
    pub(crate) fn killed(&self) -> usize {
        self.hit(Fault::Killed)
    }

    fn hit(&self, fault: Fault) -> usize {
        self.tried.iter().filter(|one| one.hit && one.point.fault == fault).count()
    }

    pub(crate) fn has_losses(&self) -> bool {
        self.tried.iter().any(|one| one.loss.is_some())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = BTreeMap::<(Fault, &str), BTreeMap<&str, usize>>::new();
        for one in self.tried.iter().filter(|one| one.hit) {
            *rows.entry((one.point.fault, one.scenario)).or_default().entry(one.point.call).or_default() += 1;
        }
        let calls: BTreeSet<_> = rows.values().flat_map(|row| row.keys().copied()).collect();
        write!(f, "{:<16}", "hit at")?;
        calls.iter().try_for_each(|call| write!(f, " {call:>9}"))?;
        for ((fault, scenario), row) in &rows {
            write!(f, "\n{:<6} {scenario:<9}", fault.name())?;
            calls.iter().try_for_each(|call| write!(f, " {:>9}", row.get(call).copied().unwrap_or(0)))?;
        }
        let losses = self.tried.iter().filter(|one| one.loss.is_some()).count();
        writeln!(
            f,
            "\n{} of {} points tried, {}; went on in {}; {losses} losses; {:.0} s",
            self.tried.len(),
            self.known,
            self.hits(),
            self.readers(),
            self.took.as_secs_f64()
        )
    }
}

impl Report {
    fn hits(&self) -> String {
        let faults = [Fault::Killed, Fault::Disk, Fault::Server, Fault::Connection];
        let hits = faults.map(|fault| (fault.name(), self.hit(fault)));
        let hits = hits.iter().filter(|(_, hits)| *hits > 0);
        hits.map(|(name, hits)| format!("{name} at {hits}")).collect::<Vec<_>>().join(", ")
    }

    fn readers(&self) -> String {
        let times = |dialect: &Dialect| self.tried.iter().filter(|one| one.reader == *dialect).count();
        Dialect::ALL
            .iter()
            .map(|dialect| format!("{dialect:?} {}", times(dialect)))
            .collect::<Vec<_>>()
            .join(", ")
    }
}
