//! From an exact value to the digits of an answer.
//!
//! The evaluator (fend-core 1.5.9, measured) rounds wrongly: it leaves zeros out before it rounds up, so it
//! writes 0.006 to two decimals as `1` and 20.06 to one as `21`; and it writes fifty digits of a root of which sixteen
//! are right. So it is asked for fractions and for whole numbers only, and the decimal point is set here. Its `floor`, `ceil` and `round`
//! go through floating point (10^25 becomes 2^64), so they are made of whole divisions too. Of a value
//! that it calls approximate no more than fifteen significant digits are given.

/// A value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Computed {
    pub(super) text: String,
    /// The text is the value: nothing was rounded off, here or before.
    pub(super) exact: bool,
}

/// How many digits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// All digits of an exact decimal; else ten decimals, or ten digits of something smaller than one.
    Usual,
    Decimals(usize),
    Significant(usize),
}

/// Which whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Floor,
    Ceil,
    /// Halves go away from zero.
    Nearest,
}

impl Whole {
    pub(super) fn named(function: &str) -> Option<Self> {
        Some(match function {
            "floor" => Self::Floor,
            "ceil" => Self::Ceil,
            "round" => Self::Nearest,
            _ => return None,
        })
    }

    /// An expression for the whole number of `numerator / denominator`, both whole and not negative.
    fn of(self, numerator: &str, denominator: &str) -> String {
        let (above, below) = match self {
            Self::Floor => (numerator.to_owned(), denominator.to_owned()),
            Self::Ceil => (format!("({numerator} + {denominator} - 1)"), denominator.to_owned()),
            Self::Nearest => (format!("(2 * {numerator} + {denominator})"), format!("(2 * {denominator})")),
        };
        format!("({above} - ({above} mod {below})) / {below}")
    }

    /// What it is for the same number without its sign.
    fn mirrored(self) -> Self {
        match self {
            Self::Floor => Self::Ceil,
            Self::Ceil => Self::Floor,
            Self::Nearest => Self::Nearest,
        }
    }
}

/// Digits of an approximate value that are right.
const TRUSTED_DIGITS: i64 = 15;
/// Maximum number of digits before or after the point in a result.
const MOST_PLACES: i64 = 20_000;

const APPROXIMATELY: &str = "approx. ";

/// Asks the evaluator for something.
type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// The value of the variable `name` in words.
pub(super) fn written(name: &str, rounding: Rounding, ask: Ask<'_>) -> Result<Computed, String> {
    let plain = ask(name)?;
    if rounding == Rounding::Usual && !plain.starts_with(APPROXIMATELY) {
        return Ok(Computed { text: plain, exact: true });
    }
    // Truth values and the like have no fraction and no digits.
    let Ok(fraction) = ask(&format!("{name} to fraction")) else { return Ok(as_it_is(&plain)) };
    if let Some(fraction) = Fraction::read(&fraction) {
        return fraction.rounded(rounding, ask);
    }
    match complex(name, rounding, ask) {
        Some(computed) => Ok(computed),
        // A fraction is ugly but right.
        None => Ok(as_it_is(&fraction)),
    }
}

/// An expression for the value of the variable `name` made whole. A unit is kept.
pub(super) fn made_whole(name: &str, whole: Whole, ask: Ask<'_>) -> Result<String, String> {
    let text = ask(&format!("({name} to decimal) to fraction"))?;
    let fraction = Fraction::read(&text).ok_or("only a number can be made whole")?;
    let Fraction { negative, numerator, denominator, unit, .. } = fraction;
    let number = ask(&if negative { whole.mirrored() } else { whole }.of(numerator, denominator))?;
    let sign = if negative { "-" } else { "" };
    Ok(match (unit, numerator) {
        ("", _) => format!("{sign}{number}"),
        (_, "0") => name.to_owned(),
        _ => format!("{name} * ({number} * {denominator} / {numerator})"),
    })
}

fn as_it_is(text: &str) -> Computed {
    let stripped = text.strip_prefix(APPROXIMATELY);
    Computed { text: stripped.unwrap_or(text).to_owned(), exact: stripped.is_none() }
}

/// `2 + 3i`, each part rounded by itself. Not for quantities with units.
fn complex(name: &str, rounding: Rounding, ask: Ask<'_>) -> Option<Computed> {
    let real = ask(&format!("real({name}) to fraction")).ok()?;
    let imaginary = ask(&format!("imag({name}) to fraction")).ok()?;
    let (real, imaginary) = (Fraction::read(&real)?, Fraction::read(&imaginary)?);
    if !real.unit.is_empty() || !imaginary.unit.is_empty() {
        return None;
    }
    let mut part = |one: &Fraction<'_>, other: &Fraction<'_>| {
        // Beside the other part it is what an approximation left over.
        let nothing = one.approximate && one.magnitude() + TRUSTED_DIGITS < other.magnitude();
        let zero = Computed { text: "0".to_owned(), exact: false };
        if nothing { Some(zero) } else { one.rounded(rounding, ask).ok() }
    };
    let (real, imaginary) = (part(&real, &imaginary)?, part(&imaginary, &real)?);
    let (sign, size) = match imaginary.text.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("+", imaginary.text.as_str()),
    };
    let size = if size == "1" { "" } else { size };
    let text = match (real.text.as_str(), sign) {
        ("0", "+") => format!("{size}i"),
        ("0", _) => format!("-{size}i"),
        (real, sign) => format!("{real} {sign} {size}i"),
    };
    Some(Computed { text, exact: real.exact && imaginary.exact })
}

/// `approx. -25/8 km`, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Fraction<'a> {
    approximate: bool,
    negative: bool,
    numerator: &'a str,
    denominator: &'a str,
    /// With the blank before it, if any.
    unit: &'a str,
}

impl<'a> Fraction<'a> {
    /// Decimal fractions only: not `0xff/0x7`, not `2i/3`.
    fn read(text: &'a str) -> Option<Self> {
        let value = text.strip_prefix(APPROXIMATELY);
        let (approximate, value) = (value.is_some(), value.unwrap_or(text));
        let positive = value.strip_prefix('-');
        let (numerator, rest) = digits(positive.unwrap_or(value))?;
        let (denominator, unit) = match rest.strip_prefix('/') {
            Some(rest) => digits(rest)?,
            None => ("1", rest),
        };
        let glued = unit.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '(' | '#'));
        let sum = unit.starts_with(" + ") || unit.starts_with(" - ");
        let negative = positive.is_some();
        (!glued && !sum).then_some(Self { approximate, negative, numerator, denominator, unit })
    }

    /// The power of ten of its first digit.
    fn magnitude(&self) -> i64 {
        if self.numerator == "0" {
            return 0;
        }
        let (above, below) = (self.numerator.len(), self.denominator.len());
        let difference = above as i64 - below as i64;
        // Both are made equally long; then they compare as text.
        let above = format!("{:0<width$}", self.numerator, width = below.max(above));
        let below = format!("{:0<width$}", self.denominator, width = above.len());
        if above >= below { difference } else { difference - 1 }
    }

    fn rounded(&self, rounding: Rounding, ask: Ask<'_>) -> Result<Computed, String> {
        let magnitude = self.magnitude();
        let wanted = |count: usize| i64::try_from(count).unwrap_or(MOST_PLACES);
        let mut places = match rounding {
            Rounding::Decimals(count) => wanted(count),
            Rounding::Significant(count) => wanted(count.max(1)) - 1 - magnitude,
            Rounding::Usual => 10 - (magnitude + 1).min(0),
        };
        if self.approximate {
            places = places.min(TRUSTED_DIGITS - 1 - magnitude);
        }
        if magnitude.abs() > MOST_PLACES || places.abs() > MOST_PLACES {
            return Err("the result has too many digits".to_owned());
        }
        let power = format!("10^{}", places.abs());
        let (above, below) = match places {
            0.. => (format!("({} * {power})", self.numerator), self.denominator.to_owned()),
            _ => (self.numerator.to_owned(), format!("({} * {power})", self.denominator)),
        };
        let whole = ask(&Whole::Nearest.of(&above, &below))?;
        if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("the result cannot be rounded".to_owned());
        }
        let exact = !self.approximate && ask(&format!("{above} == {whole} * {below}"))? == "true";
        let number = point(&whole, places);
        let sign = if self.negative && number != "0" { "-" } else { "" };
        Ok(Computed { text: format!("{sign}{number}{}", self.unit), exact })
    }
}

/// The leading digits and what follows.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A whole number times ten to the minus `places`, without zeros at its end.
fn point(whole: &str, places: i64) -> String {
    let Ok(places) = usize::try_from(places) else {
        let zeros = usize::try_from(places.unsigned_abs()).unwrap_or_default();
        return if whole == "0" { "0".to_owned() } else { format!("{whole}{}", "0".repeat(zeros)) };
    };
    let padded = format!("{whole:0>width$}", width = places + 1);
    let (before, after) = padded.split_at(padded.len() - places);
    let after = after.trim_end_matches('0');
    if after.is_empty() { before.to_owned() } else { format!("{before}.{after}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: &str, rounding: Rounding) -> String {
        let mut context = fend_core::Context::new();
        let mut ask = |text: &str| {
            fend_core::evaluate(text, &mut context).map(|value| value.get_main_result().to_owned())
        };
        ask(&format!("v = {value}")).unwrap();
        let computed = written("v", rounding, &mut ask).unwrap();
        format!("{}{}", if computed.exact { "" } else { "~" }, computed.text)
    }

    #[test]
    fn decimals_are_rounded_half_away_from_zero() {
        for (value, decimals, expected) in [
            ("3.1068", 2, "~3.11"),
            ("0.006", 2, "~0.01"),
            ("0.004", 2, "~0"),
            ("-0.004", 2, "~0"),
            ("20.06", 1, "~20.1"),
            ("20.06", 0, "~20"),
            ("0.09", 1, "~0.1"),
            ("1.006", 2, "~1.01"),
            ("1.996", 2, "~2"),
            ("9.996", 2, "~10"),
            ("2.5", 0, "~3"),
            ("-2.5", 0, "~-3"),
            ("0.125", 2, "~0.13"),
            ("375", 2, "375"),
            ("2.50", 2, "2.5"),
            ("0", 2, "0"),
            ("2/3 kg", 3, "~0.667 kg"),
            ("1/3 %", 2, "~0.33%"),
            ("1/7", 30, "~0.142857142857142857142857142857"),
            ("(1+2i)/3", 2, "~0.33 + 0.67i"),
            ("true", 2, "true"),
        ] {
            assert_eq!(run(value, Rounding::Decimals(decimals)), expected, "{value} {decimals}");
        }
    }

    #[test]
    fn significant_digits_count_from_the_first() {
        for (value, digits, expected) in [
            ("1234.5678", 3, "~1230"),
            ("1009.6", 3, "~1010"),
            ("0.10956", 2, "~0.11"),
            ("0.000123456", 3, "~0.000123"),
            ("109.96", 4, "~110"),
            ("999.96", 4, "~1000"),
            ("5", 3, "5"),
            ("0", 3, "0"),
            ("123", 0, "~100"),
        ] {
            assert_eq!(run(value, Rounding::Significant(digits)), expected, "{value} {digits}");
        }
    }

    #[test]
    fn usually_ten_digits_and_never_more_than_are_known() {
        for (value, expected) in [
            ("1/3", "~0.3333333333"),
            ("200/3", "~66.6666666667"),
            ("0.12345678906789 + 1/3*10^-15", "~0.1234567891"),
            ("1/3*10^-15", "~0.0000000000000003333333333"),
            ("0.1 + 0.2", "0.3"),
            ("sqrt(2)", "~1.4142135624"),
            ("sqrt(2) * 10^20", "~141421356237310000000"),
            ("sqrt(-2)", "~1.4142135624i"),
            ("10^40/3", "~3333333333333333333333333333333333333333.3333333333"),
            ("sqrt(-1)", "~i"),
            ("(1+i)^2", "~2i"),
            ("0xff/7", "0xff/0x7"),
        ] {
            assert_eq!(run(value, Rounding::Usual), expected, "{value}");
        }
        assert_eq!(run("sqrt(2)", Rounding::Decimals(50)), "~1.4142135623731");
        assert_eq!(run("pi", Rounding::Significant(50)), "~3.14159265358979");
    }

    #[test]
    fn numbers_of_any_size_are_made_whole_exactly() {
        use Whole::{Ceil, Floor, Nearest};
        for (value, whole, expected) in [
            ("2.5", Floor, "2"),
            ("2.5", Ceil, "3"),
            ("2.5", Nearest, "3"),
            ("-2.5", Floor, "-3"),
            ("-2.5", Ceil, "-2"),
            ("-2.5", Nearest, "-3"),
            ("2.4", Nearest, "2"),
            ("7", Ceil, "7"),
            ("-7", Floor, "-7"),
            ("0", Ceil, "0"),
            ("10^25 + 1/3", Floor, "10000000000000000000000000"),
            ("10^25 + 1/3", Ceil, "10000000000000000000000001"),
            ("1 - 10^-30", Floor, "0"),
            ("2.5 kg", Nearest, "3 kg"),
            ("-2.5 kg", Nearest, "-3 kg"),
            ("0.4 kg", Nearest, "0 kg"),
            ("0xff/2", Ceil, "128"),
        ] {
            let mut context = fend_core::Context::new();
            let mut ask = |text: &str| {
                fend_core::evaluate(text, &mut context).map(|value| value.get_main_result().to_owned())
            };
            ask(&format!("v = {value}")).unwrap();
            let made = made_whole("v", whole, &mut ask).unwrap();
            assert_eq!(ask(&made).unwrap(), expected, "{value} {whole:?}");
        }
    }

    #[test]
    fn magnitudes_are_powers_of_ten() {
        for (text, expected) in [
            ("1", 0),
            ("9", 0),
            ("10", 1),
            ("99/10", 0),
            ("100/10", 1),
            ("1/3", -1),
            ("1/10", -1),
            ("1/11", -2),
            ("9/100", -2),
            ("12345/2", 3),
            ("0", 0),
        ] {
            assert_eq!(Fraction::read(text).unwrap().magnitude(), expected, "{text}");
        }
        for text in ["2i/3", "1/3 + 2i/3", "0xff", "1.5", "true", "", "x", "1/", "-"] {
            assert_eq!(Fraction::read(text), None, "{text}");
        }
    }
}
