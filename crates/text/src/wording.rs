//! Wording shared by messages: counts, sizes, ages and tool names.

use std::time::Duration;

/// `1 tool`, `2 tools`: adds an `s` for any number except one.
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "reply") => format!("{} replies", grouped(count as u64)),
        (count, noun) => format!("{} {noun}s", grouped(count as u64)),
    }
}

/// `1 tool is`, `2 tools are`.
pub fn they_are(count: usize, noun: &str) -> String {
    they(count, noun, ["is", "are"])
}

/// `1 tool runs`, `2 tools run`: `does` has the singular and the plural form.
pub fn they(count: usize, noun: &str, does: [&str; 2]) -> String {
    let [one, several] = does;
    format!("{} {}", counted(count, noun), if count == 1 { one } else { several })
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `640 B`, `1.2 KiB`.
pub fn bytes(count: u64) -> String {
    let (mut amount, mut unit) = (count as f64, "B");
    for next in ["KiB", "MiB", "GiB"] {
        if amount < 1024.0 {
            break;
        }
        (amount, unit) = (amount / 1024.0, next);
    }
    if unit == "B" { format!("{count} B") } else { format!("{amount:.1} {unit}") }
}

/// Formats the name shown to models, `ensemble__invoker`, as `ensemble.invoker`.
pub fn tool_name(shown: &str) -> String {
    shown.replacen("__", ".", 1)
}

/// Returns an age in the largest unit of which there are at least two: `119 min ago`.
pub fn ago(age: Duration) -> String {
    match age.as_secs() {
        s if s >= 2 * 86_400 => format!("{} days ago", s / 86_400),
        s if s >= 2 * 3_600 => format!("{} h ago", s / 3_600),
        s if s >= 120 => format!("{} min ago", s / 60),
        s => format!("{s} s ago"),
    }
}

/// Millionths as a decimal number: `0.5`, `12.5`, `3`.
pub fn decimal(millionths: u64) -> String {
    let (whole, part) = (millionths / 1_000_000, millionths % 1_000_000);
    let part = format!("{part:06}");
    match part.trim_end_matches('0') {
        "" => whole.to_string(),
        part => format!("{whole}.{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_from_many() {
        for (count, words, are) in [
            (0, "0 tools", "0 tools are"),
            (1, "1 tool", "1 tool is"),
            (2, "2 tools", "2 tools are"),
            (21, "21 tools", "21 tools are"),
            (4321, "4,321 tools", "4,321 tools are"),
        ] {
            assert_eq!((counted(count, "tool").as_str(), they_are(count, "tool").as_str()), (words, are));
        }
        assert_eq!(
            [1, 2].map(|count| they(count, "reply", ["goes", "go"])),
            ["1 reply goes", "2 replies go"]
        );
    }

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_unit_fits_the_size() {
        assert_eq!([640, 2048, 3 << 20, 1 << 42].map(bytes), ["640 B", "2.0 KiB", "3.0 MiB", "4096.0 GiB"]);
    }

    #[test]
    fn money_is_written_as_people_do() {
        for (millionths, text) in [
            (0, "0"),
            (1, "0.000001"),
            (100_000, "0.1"),
            (37_500, "0.0375"),
            (12_500_000, "12.5"),
            (3_000_000, "3"),
        ] {
            assert_eq!(decimal(millionths), text);
        }
    }

    #[test]
    fn ages_are_shown_in_the_unit_that_fits() {
        for (seconds, shown) in [
            (0, "0 s ago"),
            (119, "119 s ago"),
            (120, "2 min ago"),
            (7_199, "119 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 days ago"),
        ] {
            assert_eq!(ago(Duration::from_secs(seconds)), shown);
        }
    }
}
