//! What was measured, against what it should be.

use serde_json::{Value, json};

/// One row: a measured value, the same of the yardstick, and the bound on what is judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) yardstick: Option<Yardstick>,
    pub(crate) gate: Gate,
}

/// Another program that did the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Yardstick {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Gate {
    /// Our value divided by the yardstick's is at most this.
    Ratio(f64),
    /// Our value is at most this.
    Value(f64),
    /// Our value is at least this.
    AtLeast(f64),
    /// For information.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    /// The yardstick is missing.
    Unjudged,
    NoGate,
}

impl Figure {
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.yardstick.filter(|theirs| theirs.value > 0.0).map(|theirs| self.ours / theirs.value)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let passed = match self.gate {
            Gate::None => return Verdict::NoGate,
            Gate::Value(bound) => Some(self.ours <= bound),
            Gate::AtLeast(bound) => Some(self.ours >= bound),
            Gate::Ratio(bound) => self.ratio().map(|ratio| ratio <= bound),
        };
        match passed {
            None => Verdict::Unjudged,
            Some(true) => Verdict::Passed,
            Some(false) => Verdict::Failed,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let gate = match self.gate {
            Gate::Ratio(bound) => json!({ "ratio": bound }),
            Gate::Value(bound) => json!({ "value": bound }),
            Gate::AtLeast(bound) => json!({ "at_least": bound }),
            Gate::None => Value::Null,
        };
        let yardstick = self.yardstick.map(|theirs| json!({ "name": theirs.name, "value": theirs.value }));
        json!({
            "figure": self.name, "unit": self.unit, "converse": self.ours, "yardstick": yardstick,
            "ratio": self.ratio(), "gate": gate, "verdict": self.verdict().word(),
        })
    }
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unjudged => "unjudged",
            Self::NoGate => "no gate",
        }
    }
}

/// The figures as columns for people.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["figure", "converse", "yardstick", "ratio", "gate", ""].map(str::to_owned)];
    rows.extend(figures.iter().map(row));
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 5 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn row(figure: &Figure) -> [String; 6] {
    let number = |value: f64| format!("{value:.2} {}", figure.unit);
    let gate = match figure.gate {
        Gate::Ratio(bound) => format!("≤ {bound}"),
        Gate::Value(bound) => format!("≤ {bound} {}", figure.unit),
        Gate::AtLeast(bound) => format!("≥ {bound} {}", figure.unit),
        Gate::None => String::new(),
    };
    let yardstick = figure.yardstick.map(|theirs| format!("{} {}", theirs.name, number(theirs.value)));
    [
        figure.name.clone(),
        number(figure.ours),
        yardstick.unwrap_or_else(|| "-".to_owned()),
        figure.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        gate,
        if figure.gate == Gate::None { String::new() } else { figure.verdict().word().to_owned() },
    ]
}

/// The middle one, or the mean of the two in the middle. 0 of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { at(half) } else { (at(half.wrapping_sub(1)) + at(half)) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ours: f64, curl: Option<f64>, gate: Gate) -> Figure {
        let yardstick = curl.map(|value| Yardstick { name: "curl", value });
        Figure { name: "cpu".to_owned(), unit: "ms", ours, yardstick, gate }
    }

    #[test]
    fn a_gate_judges_what_it_says() {
        for (ours, curl, gate, verdict) in [
            (4.0, Some(8.0), Gate::Ratio(0.5), Verdict::Passed),
            (4.1, Some(8.0), Gate::Ratio(0.5), Verdict::Failed),
            (4.0, None, Gate::Ratio(0.5), Verdict::Unjudged),
            (4.0, Some(0.0), Gate::Ratio(0.5), Verdict::Unjudged),
            (2.0, None, Gate::Value(2.0), Verdict::Passed),
            (2.1, Some(9.0), Gate::Value(2.0), Verdict::Failed),
            (4.8, Some(4.9), Gate::AtLeast(4.8), Verdict::Passed),
            (4.7, None, Gate::AtLeast(4.8), Verdict::Failed),
            (9.0, Some(1.0), Gate::None, Verdict::NoGate),
        ] {
            assert_eq!(figure(ours, curl, gate).verdict(), verdict, "{ours} {curl:?} {gate:?}");
        }
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
    }

    #[test]
    fn columns_stand_under_each_other() {
        let figures = [figure(4.0, Some(8.0), Gate::Ratio(0.5)), figure(12.5, None, Gate::None)];
        assert_eq!(
            table(&figures),
            "figure  converse     yardstick  ratio   gate\n\
             cpu      4.00 ms  curl 8.00 ms   0.50  ≤ 0.5  passed\n\
             cpu     12.50 ms             -      -\n"
        );
        assert_eq!(figures[0].json()["verdict"], "passed");
        assert_eq!(figures[1].json()["yardstick"], Value::Null);
    }
}
