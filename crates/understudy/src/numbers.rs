//! Numbers as people write them: `2,500`, `2 500`, `3,5`, "twenty five", «сто двадцать».
//!
//! Surprising: a comma before three digits parts thousands in an English clause and is a decimal point in a Russian
//! one. Refused: a number that letters or a second point follow at once (`3rd`, `1.2.3`).

/// A number in plain digits and where it ends (byte offset), if one begins at `start`. `russian` decides on commas.
pub(crate) fn number_at(text: &str, start: usize, russian: bool) -> Option<(String, usize)> {
    let rest = text.get(start..)?;
    let mut digits = run(rest);
    if digits == 0 {
        return None;
    }
    let mut plain = rest.get(..digits)?.to_owned();
    while let Some(length) = thousands(rest, digits, plain.len(), russian) {
        let group = rest.get(digits..digits + length)?;
        plain.extend(group.chars().filter(char::is_ascii_digit));
        digits += length;
    }
    if let Some(length) = fraction(rest, digits) {
        plain.push('.');
        plain.push_str(rest.get(digits + 1..digits + length)?);
        digits += length;
    }
    let after = rest.get(digits..).unwrap_or_default();
    let second_point =
        after.starts_with(['.', ',']) && after.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
    (!second_point && plain.len() <= 40).then_some((plain, start + digits))
}

fn run(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The bytes of a following group of exactly three digits with the mark before it.
fn thousands(rest: &str, at: usize, before: usize, russian: bool) -> Option<usize> {
    let tail = rest.get(at..)?;
    let mark = tail.chars().next().filter(|&c| " \u{a0}\u{202f}".contains(c) || (c == ',' && !russian))?;
    let leading_zero = rest.starts_with('0');
    let group = run(tail.get(mark.len_utf8()..)?);
    let spare = before <= 3 || at > before;
    (group == 3 && spare && !leading_zero).then_some(mark.len_utf8() + 3)
}

fn fraction(rest: &str, at: usize) -> Option<usize> {
    let tail = rest.get(at..)?;
    let group = run(tail.strip_prefix(['.', ','])?);
    (group > 0).then_some(1 + group)
}

const WORDS: [(&str, u64); 94] = [
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("hundred", 100),
    ("thousand", 1000),
    ("million", 1_000_000),
    ("ноль", 0),
    ("один", 1),
    ("одна", 1),
    ("одну", 1),
    ("два", 2),
    ("две", 2),
    ("двух", 2),
    ("три", 3),
    ("трех", 3),
    ("четыре", 4),
    ("четырех", 4),
    ("пять", 5),
    ("пяти", 5),
    ("шесть", 6),
    ("шести", 6),
    ("семь", 7),
    ("семи", 7),
    ("восемь", 8),
    ("восьми", 8),
    ("девять", 9),
    ("девяти", 9),
    ("десять", 10),
    ("десяти", 10),
    ("одиннадцать", 11),
    ("двенадцать", 12),
    ("двенадцати", 12),
    ("тринадцать", 13),
    ("четырнадцать", 14),
    ("пятнадцать", 15),
    ("пятнадцати", 15),
    ("шестнадцать", 16),
    ("семнадцать", 17),
    ("восемнадцать", 18),
    ("девятнадцать", 19),
    ("двадцать", 20),
    ("двадцати", 20),
    ("тридцать", 30),
    ("тридцати", 30),
    ("сорок", 40),
    ("сорока", 40),
    ("пятьдесят", 50),
    ("пятидесяти", 50),
    ("шестьдесят", 60),
    ("семьдесят", 70),
    ("восемьдесят", 80),
    ("девяносто", 90),
    ("сто", 100),
    ("ста", 100),
    ("двести", 200),
    ("двухсот", 200),
    ("триста", 300),
    ("трехсот", 300),
    ("четыреста", 400),
    ("пятьсот", 500),
    ("пятисот", 500),
    ("шестьсот", 600),
    ("семьсот", 700),
    ("восемьсот", 800),
    ("девятьсот", 900),
    ("тысяча", 1000),
    ("тысячи", 1000),
    ("тысяч", 1000),
    ("миллион", 1_000_000),
];

fn value(word: &str) -> Option<u64> {
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

/// The number that these words (lower case) begin with and how many of them it takes.
pub(crate) fn number_words(words: &[&str]) -> Option<(u64, usize)> {
    let (mut total, mut part, mut taken, mut smallest) = (0_u64, 0_u64, 0, u64::MAX);
    for word in words.iter().take(8) {
        let Some(value) = value(word) else { break };
        if value >= 1000 {
            total = total.saturating_add(part.max(1).saturating_mul(value));
            (part, smallest) = (0, value);
        } else if value == 100 && part > 0 && part < 10 {
            (part, smallest) = (part * 100, 100);
        } else if taken == 0 || (!(10..20).contains(&smallest) && magnitude(value) < magnitude(smallest)) {
            (part, smallest) = (part + value, value);
        } else {
            break;
        }
        taken += 1;
    }
    (taken > 0).then_some((total.saturating_add(part), taken))
}

/// Ones, teens and tens, hundreds: a smaller kind may follow a larger one.
fn magnitude(value: u64) -> u8 {
    match value {
        0..=9 => 0,
        10..=19 => 1,
        20..=99 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_each_language_writes_them() {
        for (text, russian, number) in [
            ("2500", false, Some("2500")),
            ("2,500 x", false, Some("2500")),
            ("2 500", true, Some("2500")),
            ("1\u{a0}234\u{a0}567", true, Some("1234567")),
            ("3,5", true, Some("3.5")),
            ("3,125", true, Some("3.125")),
            ("3,5", false, Some("3.5")),
            ("0.25", false, Some("0.25")),
            ("7. Then", false, Some("7")),
            ("5, 6", false, Some("5")),
            ("1.2.3", false, None),
            ("x", false, None),
            ("2500 100", false, Some("2500")),
        ] {
            assert_eq!(number_at(text, 0, russian).map(|found| found.0).as_deref(), number, "{text}");
        }
    }

    #[test]
    fn words_are_numbers_too() {
        for (text, number) in [
            ("twenty five apples", Some((25, 2))),
            ("three hundred", Some((300, 2))),
            ("two thousand five hundred", Some((2500, 4))),
            ("сто двадцать пять", Some((125, 3))),
            ("пять тысяч", Some((5000, 2))),
            ("ten two", Some((10, 1))),
            ("five six", Some((5, 1))),
            ("apples", None),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(number_words(&words), number, "{text}");
        }
    }
}
