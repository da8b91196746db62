//! Arithmetic in a clause, brought to one plain form: «15% от 2500» is `15% of 2500`, "2 to the power of 10" `2^10`.
//!
//! A recursive descent over the lexemes with a bound on its depth. Refused: anything without an operation ("15%" alone,
//! "2500"), and whatever a gap interrupts. A bare `10-15` or `1/2` is found but called weak: it may be a range or a date.

use crate::lexeme::{Lex, Lexeme, lexemes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression {
    /// The plain form.
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Certainly arithmetic, whatever stands around it.
    pub(crate) strong: bool,
}

const DEPTH: usize = 64;
const BYTES: usize = 1000;

/// All expressions of a clause, in order, none within another.
pub(crate) fn expressions(clause: &str) -> Vec<Expression> {
    let all = lexemes(clause);
    let mut found = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let mut parser = Parser { all: &all, at, depth: 0, operations: 0, sure: false };
        let Some(text) = parser.sum().filter(|_| parser.operations > 0 && parser.at > at) else {
            at += 1;
            continue;
        };
        if text.len() > BYTES {
            // Not tried again from its middle: the end of a sum is another sum.
            at = parser.at;
            continue;
        }
        let span = all.get(at).zip(all.get(parser.at - 1)).map(|(first, last)| (first.start, last.end));
        if let Some((start, end)) = span {
            found.push(Expression { text, start, end, strong: parser.sure || parser.operations > 1 });
        }
        at = parser.at;
    }
    found
}

struct Parser<'a> {
    all: &'a [Lexeme],
    at: usize,
    depth: usize,
    operations: usize,
    sure: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Lex> {
        self.all.get(self.at).map(|lexeme| &lexeme.lex)
    }

    /// Operands and operators in turn. The order of operations is left to whoever computes.
    fn sum(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut text = self.operand()?;
        while let Some(&Lex::Operator(operator)) = self.peek() {
            let (back, lexeme) = (self.at, self.all.get(self.at)?);
            let plain = self.is_plain(operator, lexeme);
            self.at += 1;
            let Some(right) = self.operand() else {
                self.at = back;
                break;
            };
            self.operations += 1;
            self.sure |= !plain;
            text = join(&text, operator, &right);
        }
        self.depth -= 1;
        Some(text)
    }

    /// Whether `-` or `/` stands as in a range or a date: in signs and without blanks around it.
    fn is_plain(&self, operator: &str, lexeme: &Lexeme) -> bool {
        let touches = |at: usize, edge: usize, end: bool| {
            self.all.get(at).is_some_and(|other| if end { other.end == edge } else { other.start == edge })
        };
        let tight =
            touches(self.at.wrapping_sub(1), lexeme.start, true) && touches(self.at + 1, lexeme.end, false);
        !lexeme.worded && (operator == "-" || operator == "/") && tight
    }

    fn operand(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut text = self.primary()?;
        loop {
            match self.peek() {
                Some(Lex::Postfix(sign)) if !self.ends_the_clause(sign) => {
                    text.push_str(sign);
                    self.at += 1;
                    self.operations += 1;
                    self.sure = true;
                }
                Some(Lex::Percent) => {
                    text.push('%');
                    self.at += 1;
                    text = self.share(text);
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Some(text)
    }

    /// "hello, 5!" is no factorial: a `!` at the very end counts only when the clause is nothing but signs.
    fn ends_the_clause(&self, sign: &str) -> bool {
        sign == "!" && self.at + 1 == self.all.len() && self.all.iter().any(|lexeme| lexeme.lex == Lex::Gap)
    }

    /// After a percent sign: "of 2500".
    fn share(&mut self, text: String) -> String {
        let back = (self.at, self.operations, self.sure);
        if self.peek() == Some(&Lex::Of) {
            self.at += 1;
            if let Some(whole) = self.operand() {
                self.operations += 1;
                self.sure = true;
                return format!("{text} of {whole}");
            }
            (self.at, self.operations, self.sure) = back;
        }
        text
    }

    fn primary(&mut self) -> Option<String> {
        let lex = self.peek()?.clone();
        self.at += 1;
        match lex {
            Lex::Number(number) => Some(number),
            Lex::Constant(name) => Some(name.to_owned()),
            Lex::Operator("-") => self.operand().map(|text| format!("-{text}")),
            Lex::Open => self.bracket(),
            Lex::Function(name) => self.function(name),
            Lex::Verb(operator, swapped) => self.verb(operator, swapped),
            _ => None,
        }
    }

    fn bracket(&mut self) -> Option<String> {
        let inner = self.sum()?;
        if self.peek() != Some(&Lex::Close) {
            return None;
        }
        self.at += 1;
        Some(format!("({inner})"))
    }

    fn function(&mut self, name: &str) -> Option<String> {
        while self.peek() == Some(&Lex::Of) {
            self.at += 1;
        }
        let bracketed = self.peek() == Some(&Lex::Open);
        let inner = self.operand()?;
        self.operations += 1;
        self.sure = true;
        Some(match name {
            "" => format!("{inner} / 2"),
            "!" => format!("{inner}!"),
            _ if bracketed => format!("{name}{inner}"),
            _ => format!("{name}({inner})"),
        })
    }

    /// "multiply 5 by 6", "the sum of 2, 3 and 4".
    fn verb(&mut self, operator: &str, swapped: bool) -> Option<String> {
        while matches!(self.peek(), Some(Lex::Of | Lex::Separator)) {
            self.at += 1;
        }
        let mut text = self.operand()?;
        let mut more = 0;
        loop {
            let back = self.at;
            match self.peek() {
                Some(Lex::Separator | Lex::Of) => self.at += 1,
                // A power is parted from its base by «в степень», which is an operator elsewhere.
                Some(Lex::Operator(sign)) if *sign == operator && more == 0 => self.at += 1,
                Some(Lex::Gap) if more == 0 || operator == "+" || operator == "*" => self.at += 1,
                _ => break,
            }
            let comma = self.all.get(back).is_some_and(|lexeme| {
                lexeme.lex == Lex::Gap && (lexeme.worded || lexeme.end - lexeme.start > 1)
            });
            let next = (!comma).then(|| self.operand()).flatten();
            let Some(right) = next else {
                self.at = back;
                break;
            };
            text = if swapped { join(&right, operator, &text) } else { join(&text, operator, &right) };
            more += 1;
        }
        if more == 0 {
            return None;
        }
        self.operations += more;
        self.sure = true;
        Some(text)
    }
}

fn join(left: &str, operator: &str, right: &str) -> String {
    if operator == "^" { format!("{left}^{right}") } else { format!("{left} {operator} {right}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(clause: &str) -> Option<String> {
        expressions(clause).into_iter().next().map(|found| found.text)
    }

    #[test]
    fn arithmetic_is_brought_to_one_form() {
        for (clause, text) in [
            ("What is 15% of 2500?", "15% of 2500"),
            ("Посчитай 15% от 2500", "15% of 2500"),
            ("15 percent of 2,500", "15% of 2500"),
            ("сколько будет 15 процентов от 2 500", "15% of 2500"),
            ("2+2", "2 + 2"),
            ("(3 + 4) * 5", "(3 + 4) * 5"),
            ("3 × 4 ÷ 2", "3 * 4 / 2"),
            ("5x3", "5 * 3"),
            ("5 x 3", "5 * 3"),
            ("2**10", "2^10"),
            ("2 to the power of 10", "2^10"),
            ("2 в степени 10", "2^10"),
            ("возведи 2 в степень 10", "2^10"),
            ("7 squared", "7^2"),
            ("7 в квадрате", "7^2"),
            ("square root of 144", "sqrt(144)"),
            ("the square root of (100 + 44)", "sqrt(100 + 44)"),
            ("квадратный корень из 144", "sqrt(144)"),
            ("корень из 81 плюс 3", "sqrt(81) + 3"),
            ("sqrt(2)", "sqrt(2)"),
            ("three plus four", "3 + 4"),
            ("три плюс четыре", "3 + 4"),
            ("сто двадцать минус пять", "120 - 5"),
            ("12 times 12", "12 * 12"),
            ("6 умножить на 7", "6 * 7"),
            ("умножь 6 на 7", "6 * 7"),
            ("раздели 100 на 8", "100 / 8"),
            ("divide 100 by 8", "100 / 8"),
            ("subtract 5 from 20", "20 - 5"),
            ("вычти 5 из 20", "20 - 5"),
            ("add 5 and 7", "5 + 7"),
            ("the sum of 2, 3 and 4", "2 + 3 + 4"),
            ("сумма 12 и 30", "12 + 30"),
            ("5!", "5!"),
            ("factorial of 5", "5!"),
            ("факториал 6", "6!"),
            ("half of 90", "90 / 2"),
            ("2500 - 15%", "2500 - 15%"),
            ("3,5 * 2 сколько", "3.5 * 2"),
            ("-3 + 5", "-3 + 5"),
            ("$45 * 2", "45 * 2"),
            ("10 : 4", "10 / 4"),
        ] {
            assert_eq!(first(clause).as_deref(), Some(text), "{clause}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_left_alone() {
        for clause in [
            "2500",
            "15%",
            "version 1.2.3",
            "the 3rd of May",
            "hello!",
            "read and write",
            "5 of them",
            "add milk",
            "hello, 5!",
            "(((",
            "sum of money",
        ] {
            assert_eq!(first(clause), None, "{clause}");
        }
    }

    #[test]
    fn ranges_and_dates_are_weak() {
        for (clause, strong) in
            [("10-15 people", false), ("24/7", false), ("10 - 15", true), ("10+15", true), ("1-2-3", true)]
        {
            assert_eq!(expressions(clause).first().map(|found| found.strong), Some(strong), "{clause}");
        }
    }

    #[test]
    fn two_sums_are_two_expressions() {
        let texts: Vec<_> = expressions("2+2 and 3*3").into_iter().map(|found| found.text).collect();
        assert_eq!(texts, ["2 + 2", "3 * 3"]);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "(".repeat(5000) + "1+1" + &")".repeat(5000);
        let found = expressions(&deep);
        assert!(found.iter().all(|one| one.text.len() < 300), "{}", found.len());
        assert!(expressions(&"-".repeat(5000)).is_empty());
        assert_eq!(expressions(&("1+".repeat(5000) + "1")), []);
    }
}
