//! Numbers that fit into columns.

use converse_canister::Cost;
use converse_session::stats::{Calls, Spent};

/// To three digits: `999`, `1.23k`, `12.3k`, `1.23M`.
pub(crate) fn short(number: u64) -> String {
    let units = ["", "k", "M", "G", "T", "P", "E"];
    let (mut amount, mut unit) = (number as f64, 0);
    // What would be rounded up to a thousand has the next unit already.
    while amount >= 999.5 && unit + 1 < units.len() {
        amount /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || amount >= 99.95 {
        0
    } else if amount >= 9.995 {
        1
    } else {
        2
    };
    format!("{amount:.digits$}{}", units.get(unit).unwrap_or(&""))
}

pub(super) fn dollars(cost: Cost) -> String {
    let amount = cost.dollars();
    match cost.0 {
        0 => "$0".to_owned(),
        100_000_000.. => format!("${amount:.0}"),
        1_000_000.. => format!("${amount:.2}"),
        _ => format!("${amount:.4}"),
    }
}

/// The cost of replies: `?` if unknown, with a trailing `+` if it is a lower bound.
pub(super) fn price(spent: &Spent) -> String {
    match spent {
        Spent { replies: 0, .. } => String::new(),
        Spent { unpriced: 0, cost, .. } => dollars(*cost),
        Spent { cost: Cost(0), .. } => "?".to_owned(),
        Spent { cost, .. } => dollars(*cost) + "+",
    }
}

/// Of tools: most cost nothing.
pub(super) fn fee(calls: &Calls) -> String {
    if calls.cost == Cost(0) { String::new() } else { dollars(calls.cost) }
}

/// `850ms`, `1.2s`, `45s`, `2m05s`, `3h20m`.
pub(super) fn time(milliseconds: Option<u64>) -> String {
    let Some(ms) = milliseconds else { return String::new() };
    match ms {
        0..=999 => format!("{ms}ms"),
        1_000..=9_949 => format!("{:.1}s", ms as f64 / 1000.0),
        9_950..=59_499 => format!("{:.0}s", ms as f64 / 1000.0),
        _ => {
            let seconds = (ms + 500) / 1000;
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            if hours > 0 { format!("{hours}h{minutes:02}m") } else { format!("{minutes}m{seconds:02}s") }
        }
    }
}

/// A share of a whole; nothing of nothing.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return String::new();
    }
    let share = part as f64 * 100.0 / whole as f64;
    match share {
        ..0.1 => "<0.1%".to_owned(),
        ..9.95 => format!("{share:.1}%"),
        _ => format!("{share:.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.00k"),
            (9_994, "9.99k"),
            (9_995, "10.0k"),
            (99_949, "99.9k"),
            (99_950, "100k"),
            (999_499, "999k"),
            (999_500, "1.00M"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn times_and_shares_are_short() {
        for (ms, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_240, "1.2s"),
            (9_949, "9.9s"),
            (9_950, "10s"),
            (59_499, "59s"),
            (59_500, "1m00s"),
            (125_000, "2m05s"),
            (12_000_000, "3h20m"),
        ] {
            assert_eq!(time(Some(ms)), text);
        }
        assert_eq!(time(None), "");
        for (part, whole, text) in
            [(0, 5, ""), (1, 0, ""), (1, 10_000, "<0.1%"), (1, 200, "0.5%"), (1, 3, "33%"), (3, 3, "100%")]
        {
            assert_eq!(percent(part, whole), text);
        }
    }

    #[test]
    fn what_nobody_knows_is_not_nothing() {
        let spent = |cost, unpriced| Spent { replies: 2, cost: Cost(cost), unpriced, ..Spent::default() };
        for (spent, text) in [
            (Spent::default(), ""),
            (spent(0, 0), "$0"),
            (spent(12_345, 0), "$0.0123"),
            (spent(12_345, 1), "$0.0123+"),
            (spent(0, 2), "?"),
            (spent(2_500_000, 0), "$2.50"),
        ] {
            assert_eq!(price(&spent), text);
        }
    }
}
