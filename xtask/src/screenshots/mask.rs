//! What differs from run to run, replaced by what never does: times, numbers of sessions, a spinner's phase.

use super::picture::{Glyph, Picture, Row};

const SPINNER: [&str; 4] = ["⠋", "⠹", "⠼", "⠧"];

pub(super) fn masked(mut picture: Picture) -> Picture {
    for (index, row) in picture.rows.iter_mut().enumerate() {
        let before: usize = columns(row);
        mask(row);
        let after: usize = columns(row);
        if let Some((_, column)) = picture.cursor.as_mut().filter(|(at, _)| *at == index) {
            *column = (*column + after).saturating_sub(before);
        }
    }
    picture
}

fn columns(row: &Row) -> usize {
    row.iter().map(|glyph| glyph.columns).sum()
}

fn mask(row: &mut Row) {
    for glyph in row.iter_mut().filter(|glyph| SPINNER.contains(&glyph.text.as_str())) {
        SPINNER[1].clone_into(&mut glyph.text);
    }
    let begins = |row: &Row, sign: &str| row.first().is_some_and(|glyph| glyph.text == sign);
    let time = if begins(row, SPINNER[1]) {
        "2 s"
    } else if begins(row, "✓") || begins(row, "✗") {
        "420 ms"
    } else {
        "2.9 s"
    };
    times(row, time);
    digits(row);
}

/// A number and its unit.
fn times(row: &mut Row, time: &str) {
    let words = words(row);
    for pair in words.windows(2).rev() {
        let [(from, number), (at, unit)] = pair else { continue };
        let is_time = matches!(unit.as_str(), "ms" | "s") && number.parse::<f64>().is_ok();
        if is_time {
            let style = row[*from].style;
            let glyphs = time.chars().map(|c| Glyph { text: c.to_string(), columns: 1, style });
            row.splice(*from..at + unit.len(), glyphs);
        }
    }
}

/// Dates, times of day, and names of sessions, digit by digit.
fn digits(row: &mut Row) {
    for (from, word) in words(row) {
        let fixed = match word.as_str() {
            word if is_like(word, "2026-11-22") => "2026-11-22".to_owned(),
            word if is_like(word, "08:30") => "09:41".to_owned(),
            word if is_like(word, "08:30:00") => "09:41:00".to_owned(),
            word if is_id(word) => {
                "01a1c0de".chars().chain(std::iter::repeat('0')).take(word.len()).collect()
            }
            _ => continue,
        };
        row[from..].iter_mut().zip(fixed.chars()).for_each(|(glyph, c)| glyph.text = c.to_string());
    }
}

fn is_like(word: &str, example: &str) -> bool {
    let shape =
        |text: &str| text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
    shape(word) == shape(example)
}

fn is_id(word: &str) -> bool {
    word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-') && word.starts_with("01")
}

/// Each with the place of its first glyph.
fn words(row: &Row) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (at, glyph) in row.iter().enumerate() {
        match glyph.text.as_str() {
            " " => inside = false,
            text if inside => {
                if let Some((_, word)) = words.last_mut() {
                    word.push_str(text);
                }
            }
            text => {
                inside = true;
                words.push((at, text.to_owned()));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::picture::PLAIN;
    use super::*;

    #[test]
    fn what_differs_is_replaced_and_the_rest_stays() {
        for (shown, expected) in [
            ("⠼ io.read 17 s", "⠹ io.read 2 s"),
            ("✓ [1] io.read 3 ms → 5 lines", "✓ [1] io.read 420 ms → 5 lines"),
            ("gpt · 10 in · 151 ms", "gpt · 10 in · 2.9 s"),
            ("01a20267-4654-7652 2027-01-30 23:59 x", "01a1c0de0000000000 2026-11-22 09:41 x"),
            ("5 in, 7 out, 10:1", "5 in, 7 out, 10:1"),
        ] {
            let mut row: Row =
                shown.chars().map(|c| Glyph { text: c.to_string(), columns: 1, style: PLAIN }).collect();
            mask(&mut row);
            let text: String = row.iter().map(|glyph| glyph.text.as_str()).collect();
            assert_eq!(text, expected);
        }
    }
}
