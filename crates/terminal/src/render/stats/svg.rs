//! Plots as SVG: vertical bars per day, and horizontal bars behind names. No script: the browser shows tooltips from
//! `<title>`. All names are escaped by the caller.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 200.0;
const BOTTOM: f64 = 26.0;

/// Stacked bars, the lowest first: the series, the value and the tooltip.
pub(super) struct Stack {
    pub(super) label: String,
    pub(super) parts: Vec<(usize, f64, String)>,
}

/// `unit` writes a number of the axis.
pub(super) fn stacked(stacks: &[Stack], unit: impl Fn(f64) -> String) -> String {
    let sum = |stack: &Stack| stack.parts.iter().map(|(_, amount, _)| amount).sum::<f64>();
    let top = ceiling(stacks.iter().map(sum).fold(0.0, f64::max));
    let mut svg = frame(TOP + HEIGHT + BOTTOM);
    for line in 0..=4 {
        let y = TOP + HEIGHT - HEIGHT * f64::from(line) / 4.0;
        let label = unit(top * f64::from(line) / 4.0);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            y + 3.5
        );
    }
    let step = (WIDTH - LEFT) / stacks.len().max(1) as f64;
    let wide = (step * 0.78).min(46.0);
    // As many labels as can be read.
    let every = (76.0 / step).ceil().max(1.0) as usize;
    for (place, stack) in stacks.iter().enumerate() {
        let middle = LEFT + step * (place as f64 + 0.5);
        let mut y = TOP + HEIGHT;
        for (series, amount, told) in stack.parts.iter().filter(|(_, amount, _)| *amount > 0.0) {
            let tall = amount / top * HEIGHT;
            y -= tall;
            let x = middle - wide / 2.0;
            let _ = write!(
                svg,
                "<rect class=\"s{series}\" x=\"{x:.1}\" y=\"{y:.2}\" width=\"{wide:.1}\" height=\"{tall:.2}\" rx=\"1.5\">\
                 <title>{told}</title></rect>"
            );
        }
        if place % every == 0 {
            let y = TOP + HEIGHT + 18.0;
            let _ = write!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                stack.label
            );
        }
    }
    svg + "</svg>\n"
}

/// A name with up to two bars behind it: class, length, and the text at its end.
pub(super) struct Lying {
    pub(super) name: String,
    pub(super) bars: Vec<(&'static str, f64, String)>,
}

pub(super) fn lying(rows: &[Lying]) -> String {
    const NAME: f64 = 220.0;
    const VALUE: f64 = 64.0;
    const THICK: f64 = 11.0;
    let longest = rows.iter().flat_map(|row| &row.bars).map(|(_, length, _)| *length).fold(0.0, f64::max);
    let scale = if longest > 0.0 { (WIDTH - NAME - VALUE) / longest } else { 0.0 };
    let tall = |row: &Lying| row.bars.len() as f64 * (THICK + 2.0) + 9.0;
    let mut svg = frame(rows.iter().map(tall).sum::<f64>() + 4.0);
    let mut y = 2.0;
    for row in rows {
        let middle = y + (tall(row) - 9.0) / 2.0 + 3.5;
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            NAME - 10.0,
            row.name
        );
        for (place, (class, length, told)) in row.bars.iter().enumerate() {
            let y = y + place as f64 * (THICK + 2.0);
            let wide = (length * scale).max(1.0);
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{NAME}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{THICK}\" rx=\"2\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{told}</text>",
                NAME + wide + 6.0,
                y + 9.0
            );
        }
        y += tall(row);
    }
    svg + "</svg>\n"
}

fn frame(height: f64) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">")
}

/// The least round number that is not less, whose quarters are round too.
fn ceiling(amount: f64) -> f64 {
    if amount <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(amount.log10().floor());
    let nice = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0].map(|digit| digit * power);
    nice.into_iter().find(|nice| *nice >= amount * 0.999_999).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (amount, top) in
            [(0.0, 1.0), (1.0, 1.0), (1.1, 1.2), (0.03, 0.032), (8.1, 10.0), (41_000.0, 60_000.0)]
        {
            assert!((ceiling(amount) - top).abs() < top * 1e-9, "{amount}: {}", ceiling(amount));
        }
    }

    #[test]
    fn bars_end_at_the_top_of_the_axis() {
        let parts = |parts: &[f64]| parts.iter().map(|amount| (0, *amount, String::new())).collect();
        let stacks = [
            Stack { label: "a".to_owned(), parts: parts(&[5.0, 5.0]) },
            Stack { label: "b".to_owned(), parts: parts(&[0.0]) },
        ];
        let svg = stacked(&stacks, |amount| format!("{amount:.0}"));
        assert_eq!(svg.matches("<rect").count(), 2, "what is nothing is not drawn");
        assert_eq!(svg.matches("height=\"100.00\"").count(), 2, "{svg}");
        assert!(svg.contains("y=\"10.00\"") && svg.contains(">10</text>"), "{svg}");
    }
}
