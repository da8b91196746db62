//! What is done with servers, and what it may cost.

use crate::bench::samples::Samples;
use crate::figures::Gate;
use crate::scenario::Scenario;

/// Rounds of what mostly waits: its spread is small, and everybody waits for it.
const MOST_SLOW: usize = 5;

#[derive(Debug)]
pub(in crate::bench) struct Case {
    pub(super) servers: usize,
    /// Of `stub-mcp`.
    pub(super) options: &'static str,
    /// Tools of each server.
    pub(super) tools: usize,
    pub(in crate::bench) scenario: Scenario,
    pub(super) rows: &'static [Row],
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) measure: Measure,
    pub(super) gate: Gate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Cpu,
    Wall,
    Faults,
    /// Of all rounds: what a median hides, a wait that is there now and then.
    Slowest,
    /// How much faster than one call of a second after another, the whole process counted.
    SpeedUp,
}

impl Measure {
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::Wall | Self::Slowest => "ms",
            Self::Faults => "",
            Self::SpeedUp => "x",
        }
    }
}

impl Case {
    pub(super) fn rounds(&self, rounds: usize) -> usize {
        let waits = self.rows.iter().all(|row| row.measure != Measure::Cpu);
        if waits { rounds.min(MOST_SLOW) } else { rounds }
    }

    pub(super) fn value(&self, measure: Measure, samples: &Samples) -> f64 {
        let wall = || samples.median(|samples| &samples.wall);
        match measure {
            Measure::Cpu => samples.median(|samples| &samples.cpu),
            Measure::Wall => wall() * 1e3,
            Measure::Faults => samples.median(|samples| &samples.faults),
            Measure::Slowest => samples.wall.iter().copied().fold(0.0, f64::max) * 1e3,
            Measure::SpeedUp => self.scenario.invocations() as f64 / wall(),
        }
    }
}

const fn sleeps(options: &'static str, scenario: Scenario, rows: &'static [Row]) -> Case {
    Case { servers: 1, options, tools: 4, scenario, rows }
}

const fn cpu(name: &'static str, bound: f64) -> Row {
    Row { name, measure: Measure::Cpu, gate: Gate::Ratio(bound) }
}

const fn speed_up(name: &'static str, bound: f64) -> Row {
    Row { name, measure: Measure::SpeedUp, gate: Gate::AtLeast(bound) }
}

const TRIP: &[Row] = &[
    cpu("one trip to a tool over MCP, CPU", 2.5),
    Row { name: "the same, wall", measure: Measure::Wall, gate: Gate::Ratio(3.0) },
    Row { name: "the same, slowest round, wall", measure: Measure::Slowest, gate: Gate::Value(500.0) },
    Row { name: "the same, page faults", measure: Measure::Faults, gate: Gate::None },
];
const CHAIN: &[Row] = &[
    cpu("20 chained calls over MCP, CPU", 2.5),
    Row { name: "the same, wall", measure: Measure::Wall, gate: Gate::Ratio(3.0) },
    Row { name: "the same, page faults", measure: Measure::Faults, gate: Gate::None },
];
const SLOW_START: &[Row] =
    &[Row { name: "10 servers that start in 0.5 s, wall", measure: Measure::Wall, gate: Gate::Value(600.0) }];

const fn calls(scenario: Scenario, rows: &'static [Row]) -> Case {
    Case { servers: 1, options: "--tools 4", tools: 4, scenario, rows }
}

pub(in crate::bench) const ONE_TRIP: Case = calls(Scenario::Trip, TRIP);
pub(in crate::bench) const CHAINED: Case = calls(Scenario::Chain, CHAIN);

pub(in crate::bench) const MANY_TOOLS: Case = Case {
    servers: 1,
    options: "--tools 1000",
    tools: 1000,
    scenario: Scenario::OneShot,
    rows: &[cpu("a server with 1,000 tools, CPU", 0.9)],
};

pub(super) const CASES: [Case; 9] = [
    ONE_TRIP,
    CHAINED,
    sleeps("--hints 1", Scenario::FiveSleeps, &[speed_up("5 calls of 1 s, read-only", 4.9)]),
    sleeps("--hints 0", Scenario::FiveSleeps, &[speed_up("5 calls of 1 s, no hints", 4.9)]),
    sleeps("--hints 1", Scenario::TwentySleeps, &[speed_up("20 calls of 1 s, read-only", 18.0)]),
    sleeps("--hints 0", Scenario::TwentySleeps, &[speed_up("20 calls of 1 s, no hints", 18.0)]),
    Case {
        servers: 10,
        options: "--start-delay 0.5",
        tools: 4,
        scenario: Scenario::OneShot,
        rows: SLOW_START,
    },
    Case {
        servers: 50,
        options: "--tools 4",
        tools: 4,
        scenario: Scenario::OneShot,
        rows: &[cpu("50 servers, CPU", 1.5)],
    },
    MANY_TOOLS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_up_is_over_calls_one_after_another() {
        let samples =
            Samples { wall: vec![1.0, 9.0, 1.25], cpu: vec![7.0], faults: vec![3.0], ..Samples::default() };
        let values = CASES
            .iter()
            .map(|case| case.rows.iter().map(|row| case.value(row.measure, &samples)).collect::<Vec<_>>());
        let expected: [&[f64]; 9] = [
            &[7.0, 1250.0, 9000.0, 3.0],
            &[7.0, 1250.0, 3.0],
            &[4.0],
            &[4.0],
            &[16.0],
            &[16.0],
            &[1250.0],
            &[7.0],
            &[7.0],
        ];
        assert_eq!(values.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_waits_has_few_rounds() {
        for (rounds, all) in [(15, [15, 15, 5, 5, 5, 5, 5, 15, 15]), (2, [2; 9])] {
            assert_eq!(CASES.each_ref().map(|case| case.rounds(rounds)), all);
        }
    }
}
