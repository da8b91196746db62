//! Tokens as a program that the evaluator can read in time that grows with its length only.
//!
//! The evaluator's parser tries `1-(…)` and `2(…)` twice, so each level of brackets doubles its work, and it does not
//! look at its interrupt while it parses: thirty levels would keep a thread busy for hours. So no nested brackets reach
//! it. A bracket that is long, or has brackets in it, becomes a statement of its own (`lifted_3 = …`) and its place is
//! taken by the name; values are exact, so the meaning stays.
//!
//! Two habits of people are rewritten on the way: `A + 15%` takes the fifteen per cent of A (unless A is in per cent
//! itself), and `200 * 15%` is a plain number.

use super::pieces::{Kind, Piece, angles, check_chains, inches, is_function, join, times};
use super::rounding::{Rounding, Whole};

/// What to evaluate: the statements in order, then the expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) lifted: Vec<Lifted>,
    pub(super) last: String,
    /// A `to 2 dp` or `to 3 sf` at the very end, taken off.
    pub(super) rounding: Option<Rounding>,
}

/// A variable and the expression it stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lifted {
    pub(super) name: String,
    pub(super) text: String,
    /// The value is then made whole: `floor(…)`, `ceil(…)`, `round(…)`.
    pub(super) whole: Option<Whole>,
}

const MAX_DEPTH: usize = 64;
/// Brackets this short stay where they are, which keeps `f^(-1)` an inverse.
const SHORT: usize = 32;

/// Makes a program of tokens, or says what is wrong with their brackets.
pub(super) fn program(tokens: Vec<Piece>) -> Result<Program, String> {
    let mut writer = Writer { lifted: Vec::new() };
    let mut outer: Vec<Vec<Piece>> = Vec::new();
    let mut pieces: Vec<Piece> = Vec::new();
    for token in tokens {
        match token.kind {
            Kind::Open => {
                if outer.len() == MAX_DEPTH {
                    return Err(format!("brackets are nested more than {MAX_DEPTH} deep"));
                }
                times(&mut pieces);
                outer.push(std::mem::take(&mut pieces));
            }
            Kind::Close => {
                let around = outer.pop().ok_or("a `)` closes nothing")?;
                let inside = std::mem::replace(&mut pieces, around);
                pieces.push(writer.group(inside)?);
            }
            _ => pieces.push(token),
        }
    }
    if !outer.is_empty() {
        return Err(format!("{} bracket(s) are not closed", outer.len()));
    }
    if pieces.is_empty() {
        return Err("there is nothing to calculate".to_owned());
    }
    let rounding = take_rounding(&mut pieces);
    let last = writer.text(pieces)?;
    Ok(Program { lifted: writer.lifted, last, rounding })
}

/// The evaluator's own rounding is not used (see [`super::rounding`]), so the wish for it is read here.
fn take_rounding(pieces: &mut Vec<Piece>) -> Option<Rounding> {
    let [before @ .., to, number, unit] = pieces.as_slice() else { return None };
    if before.is_empty() || !to.is_conversion() || number.kind != Kind::Number {
        return None;
    }
    let count = number.text.parse().ok()?;
    let rounding = match unit.text.as_str() {
        "dp" => Rounding::Decimals(count),
        "sf" => Rounding::Significant(count),
        _ => return None,
    };
    pieces.truncate(pieces.len() - 3);
    Some(rounding)
}

struct Writer {
    lifted: Vec<Lifted>,
}

impl Writer {
    fn group(&mut self, inside: Vec<Piece>) -> Result<Piece, String> {
        if inside.is_empty() {
            return Err("there is nothing between two brackets".to_owned());
        }
        let text = self.text(inside)?;
        if text.len() <= SHORT && !text.contains('(') {
            return Ok(Piece::new(Kind::Group, format!("({text})")));
        }
        Ok(self.lift(text, None))
    }

    /// Makes a statement of it; the piece stands for its value.
    fn lift(&mut self, text: String, whole: Option<Whole>) -> Piece {
        let name = format!("lifted_{}", self.lifted.len() + 1);
        let piece = Piece::new(Kind::Group, format!("({name})"));
        self.lifted.push(Lifted { name, text, whole });
        piece
    }

    /// Makes one value of a function and its brackets: the evaluator reads `sin(2)^2` as the sine of 4. Functions that
    /// make numbers whole are taken out, because the evaluator computes them in floating point.
    fn calls(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        for piece in pieces {
            let function =
                out.pop_if(|last| piece.is_value() && last.kind == Kind::Word && is_function(&last.text));
            let Some(function) = function else {
                out.push(piece);
                continue;
            };
            let called = match Whole::named(&function.text) {
                Some(whole) => self.lift(piece.text, Some(whole)),
                None if piece.kind == Kind::Group => {
                    Piece::new(Kind::Group, format!("({} {})", function.text, piece.text))
                }
                // `sqrt 16 …`: without brackets the evaluator decides how far it reaches.
                None => {
                    out.extend([function, piece]);
                    continue;
                }
            };
            times(&mut out);
            out.push(called);
        }
        out
    }

    fn text(&mut self, pieces: Vec<Piece>) -> Result<String, String> {
        check_chains(&pieces)?;
        let pieces = self.calls(angles(inches(pieces)));
        Ok(join(&self.percentages(pieces)))
    }

    fn percentages(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        if only_percentages(&pieces) {
            return pieces;
        }
        let mut out: Vec<Piece> = Vec::new();
        // Where the part begins that a `+` would add to.
        let mut start = 0;
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            if !percent_at(&pieces, at) {
                out.push(piece.clone());
                at += 1;
                if piece.is_weak() {
                    start = out.len();
                }
                continue;
            }
            let share = format!("{}/100", piece.text);
            at += 2;
            let term_ends = pieces.get(at).is_none_or(|next| {
                next.is(Kind::Operator, &["+", "-"]) || next.is_conversion() || next.is_weak()
            });
            match adds_to(&out, start).filter(|_| term_ends) {
                Some(sign) => {
                    out.pop();
                    let whole = self.lift(join(&out.split_off(start)), None);
                    let factor = Piece::new(Kind::Group, format!("(1 {sign} {share})"));
                    out.extend([whole, Piece::new(Kind::Operator, "*"), factor]);
                }
                None => out.push(Piece::new(Kind::Group, format!("({share})"))),
            }
        }
        out
    }
}

/// Returns the sign, if `out` ends with a `+` or `-` between two operands.
fn adds_to(out: &[Piece], start: usize) -> Option<String> {
    let (sign, before) = out.get(start..)?.split_last()?;
    let binary = sign.is(Kind::Operator, &["+", "-"]) && before.last()?.ends_operand();
    binary.then(|| sign.text.clone())
}

/// A value with a `%` that means "per hundred": not a remainder (`17 % 5`), not `15% of …`, not `f(x)%`.
fn percent_at(pieces: &[Piece], at: usize) -> bool {
    let value = pieces.get(at).is_some_and(Piece::is_value)
        && pieces.get(at + 1).is_some_and(|piece| piece.is(Kind::Word, &["%"]));
    let applied = at.checked_sub(1).and_then(|before| pieces.get(before));
    let applied = applied.is_some_and(|piece| piece.kind == Kind::Word && !piece.is_keyword());
    let per_hundred = pieces
        .get(at + 2)
        .is_none_or(|next| next.kind == Kind::Operator || next.is_keyword() && !next.is(Kind::Word, &["of"]));
    value && !applied && per_hundred
}

/// `10% + 5%` stays in per cent.
fn only_percentages(pieces: &[Piece]) -> bool {
    let mut at = 0;
    loop {
        if !percent_at(pieces, at) {
            return false;
        }
        match pieces.get(at + 2) {
            None => return true,
            Some(piece) if piece.is(Kind::Operator, &["+", "-"]) => at += 3,
            Some(piece) => return piece.is_conversion(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn written(expression: &str) -> Result<String, String> {
        let program = program(tokens(expression)?)?;
        let lifted = program.lifted.iter().map(|Lifted { name, text, whole }| match whole {
            Some(whole) => format!("{name} = {whole:?} {text}; "),
            None => format!("{name} = {text}; "),
        });
        Ok(lifted.chain([program.last.clone()]).collect())
    }

    #[test]
    fn long_or_nested_brackets_are_lifted_and_short_ones_stay() {
        for (expression, expected) in [
            ("(1 + 2) * 3", "(1 + 2) * 3"),
            ("sin^(-1)(0.5)", "sin ^ (- 1) (0.5)"),
            ("1-(1-(1-1))", "lifted_1 = 1 - (1 - 1); 1 - (lifted_1)"),
            ("2(3)", "2 * (3)"),
            ("1.5 (2)", "1.5 * (2)"),
        ] {
            assert_eq!(written(expression).unwrap(), expected, "{expression}");
        }
        let deep = format!("{}1{}", "1-(".repeat(64), ")".repeat(64));
        let program = program(tokens(&deep).unwrap()).unwrap();
        assert_eq!(program.lifted.len(), 63);
        assert!(program.lifted.iter().all(|lifted| lifted.text.matches('(').count() <= 1));
    }

    #[test]
    fn a_function_and_its_brackets_are_one_value() {
        for (expression, expected) in [
            ("sqrt(2)", "(sqrt (2))"),
            ("sin(2)^2", "(sin (2)) ^ 2"),
            ("2 sin(2)", "2 * (sin (2))"),
            ("sqrt 16 + 9", "sqrt 16 + 9"),
            ("round(2.5)^2", "lifted_1 = Nearest (2.5); (lifted_1) ^ 2"),
            ("3 floor 2.5", "lifted_1 = Floor 2.5; 3 * (lifted_1)"),
            (
                "ceil(floor(1.5) + 1/2)",
                "lifted_1 = Floor (1.5); lifted_2 = (lifted_1) + 1 / 2; lifted_3 = Ceil (lifted_2); (lifted_3)",
            ),
        ] {
            assert_eq!(written(expression).unwrap(), expected, "{expression}");
        }
    }

    #[test]
    fn percentages_mean_what_people_mean() {
        for (expression, expected) in [
            ("15%", "15 %"),
            ("10% + 5%", "10 % + 5 %"),
            ("15% of 2500", "15 % of 2500"),
            ("200 * 15%", "200 * (15/100)"),
            ("2500 + 15%", "lifted_1 = 2500; (lifted_1) * (1 + 15/100)"),
            ("100 - 10% + 1", "lifted_1 = 100; (lifted_1) * (1 - 10/100) + 1"),
            ("1 << 2 + 50%", "lifted_1 = 2; 1 << (lifted_1) * (1 + 50/100)"),
            ("17 % 5", "17 % 5"),
            ("17 % (5)", "17 % (5)"),
            ("-5% * 2", "- (5/100) * 2"),
            ("100 + 2 * 5%", "100 + 2 * (5/100)"),
            ("sqrt(4)%", "(sqrt (4)) %"),
            ("sqrt(4)% * 5", "((sqrt (4))/100) * 5"),
        ] {
            assert_eq!(written(expression).unwrap(), expected, "{expression}");
        }
    }

    #[test]
    fn units_that_look_like_operators_are_told_apart() {
        for (expression, expected) in [
            ("10 in to cm", "10 inch to cm"),
            ("10 in in cm", "10 inch in cm"),
            ("10 km in miles", "10 km in miles"),
            ("10 in cm", "10 in cm"),
            ("sin 30° + 1", "(sin (30 °)) + 1"),
        ] {
            assert_eq!(written(expression).unwrap(), expected, "{expression}");
        }
    }

    #[test]
    fn a_wish_for_rounding_is_taken_off_the_end() {
        for (expression, last, rounding) in [
            ("1/3 to 5 dp", "1 / 3", Some(Rounding::Decimals(5))),
            ("5 km in miles to 3 sf", "5 km in miles", Some(Rounding::Significant(3))),
            ("5 km to miles", "5 km to miles", None),
            ("1/3 to 5 dp + 1", "1 / 3 to 5 dp + 1", None),
            ("to 5 dp", "to 5 dp", None),
        ] {
            let program = program(tokens(expression).unwrap()).unwrap();
            assert_eq!((program.last.as_str(), program.rounding), (last, rounding), "{expression}");
        }
    }

    #[test]
    fn brackets_and_chains_have_limits() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(written(&nested(64)).is_ok());
        for (expression, said) in [
            (nested(65), "64 deep"),
            ("(1".to_owned(), "not closed"),
            ("1)".to_owned(), "closes nothing"),
            ("()".to_owned(), "between"),
            (" = ".to_owned(), "nothing"),
            (format!("{}1", "-".repeat(65)), "in a row"),
            (vec!["2"; 66].join("^"), "in a row"),
            (format!("5{}", "!".repeat(65)), "in a row"),
        ] {
            let error = written(&expression).unwrap_err();
            assert!(error.contains(said), "{expression}: {error}");
        }
    }
}
