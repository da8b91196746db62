//! Arithmetic in a clause, in one plain form: «15% от 2500» is `15% of 2500`, "2 to the power of 10" is `2^10`.
//!
//! Numbers are read as digits only, because half of a number in words would give a wrong sum. A bare `10-15` or `24/7`
//! is found but not certain: it may be a range or a name.

use crate::words::{Word, among, is_cyrillic, unit, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sum {
    /// The plain form.
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Certainly arithmetic in any context.
    pub(crate) certain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Lex {
    Number(String),
    Operator(&'static str),
    Open,
    Close,
    Percent,
    Of,
    Function(&'static str),
    /// A sign after its operand: `^2`, `!`.
    Postfix(&'static str),
    /// "multiply A by B": the operator, and whether the operands change places.
    Verb(&'static str, bool),
    /// A separator of the operands of a verb.
    Separator,
    /// Anything else. No expression crosses it.
    Gap,
}

#[derive(Debug)]
struct Lexeme {
    lex: Lex,
    start: usize,
    end: usize,
}

use Lex::{Close, Function, Gap, Of, Open, Operator, Percent, Postfix, Separator, Verb};

/// Phrases by their meaning; where one begins another, the longer one is first. `abc*` is any word that begins so.
const PHRASES: &[(Lex, &[&str])] = &[
    (Operator("^"), &["to the power of", "в степен*"]),
    (Operator("*"), &["multiplied by", "times", "x", "х", "умножить на", "умноженн* на"]),
    (Operator("/"), &["divided by", "разделить на", "поделить на", "деленн* на"]),
    (Operator("+"), &["plus", "плюс"]),
    (Operator("-"), &["minus", "минус"]),
    (Operator("mod"), &["mod"]),
    (Percent, &["percent", "процент*"]),
    (Function("sqrt"), &["square root", "квадратн* корень", "корень", "sqrt"]),
    (Function("cbrt"), &["cube root", "кубическ* корень", "cbrt"]),
    (Function("sin"), &["sin"]),
    (Function("cos"), &["cos"]),
    (Function("ln"), &["ln"]),
    (Function("log2"), &["log2"]),
    (Function("log10"), &["log10"]),
    (Postfix("^2"), &["squared", "в квадрат*"]),
    (Postfix("^3"), &["cubed", "в куб*"]),
    (Verb("*", false), &["multiply", "product", "умнож*"]),
    (Verb("/", false), &["divide", "раздел*", "подели*"]),
    (Verb("+", false), &["add", "sum", "сложи*", "сумм*"]),
    (Verb("-", true), &["subtract", "вычти*"]),
    (Of, &["of the", "of", "on", "от", "из"]),
    (Separator, &["by", "and", "from", "и", "на"]),
];

/// A number before one of these is only a part of one.
const SCALES: [&str; 6] = ["hundred", "thousand", "million", "billion", "тысяч", "милли"];

/// Returns all expressions of a clause in order.
pub(crate) fn sums(clause: &str) -> Vec<Sum> {
    let all = lexemes(clause);
    let mut sums = Vec::new();
    let mut at = 0;
    while at < all.len() {
        match verb_sum(&all[at..]).or_else(|| sum(&all[at..])) {
            Some((text, count, certain)) if text.len() <= 1000 => {
                let (start, end) = (all[at].start, all[at + count - 1].end);
                sums.push(Sum { text, start, end, certain });
                at += count;
            }
            // The end of a sum that is too long is another sum; it is not meant.
            Some((_, count, _)) => at += count,
            None => at += 1,
        }
    }
    sums
}

/// Reads operands and operators in turn from the front: the plain form, the lexemes it takes, and whether it is certain.
/// The order of operations is left to the tool.
fn sum(all: &[Lexeme]) -> Option<(String, usize, bool)> {
    let (mut text, mut depth, mut operations, mut certain) = (String::new(), 0_usize, 0, false);
    let mut wants_operand = true;
    let mut whole = None;
    let mut at = 0;
    while let Some(lexeme) = all.get(at) {
        let touches = at > 0
            && all[at - 1].end == lexeme.start
            && all.get(at + 1).is_some_and(|next| next.start == lexeme.end);
        match (&lexeme.lex, wants_operand) {
            (Lex::Number(number), true) => {
                text.push_str(number);
                wants_operand = false;
            }
            (Open, true) => {
                text.push('(');
                depth += 1;
            }
            (Operator("-"), true) if text.is_empty() || text.ends_with('(') => text.push('-'),
            (Function(name), true) => {
                (operations, certain) = (operations + 1, true);
                let operand = at + 1 + all[at + 1..].iter().take_while(|next| next.lex == Of).count();
                text.push_str(name);
                match all.get(operand).map(|next| &next.lex) {
                    Some(Open) => at = operand - 1,
                    Some(Lex::Number(number)) => {
                        text.push_str(&format!("({number})"));
                        (at, wants_operand) = (operand, false);
                    }
                    _ => break,
                }
            }
            (Operator(sign), false) => {
                let bare = touches && (*sign == "-" || *sign == "/");
                (operations, certain) = (operations + 1, certain || !bare);
                text.push_str(&if *sign == "^" { "^".to_owned() } else { format!(" {sign} ") });
                wants_operand = true;
            }
            (Of, false) if text.ends_with('%') => {
                (operations, certain) = (operations + 1, true);
                text.push_str(" of ");
                wants_operand = true;
            }
            (Postfix(sign), false) => {
                (operations, certain) = (operations + 1, true);
                text.push_str(sign);
            }
            (Percent, false) => text.push('%'),
            (Close, false) if depth > 0 => {
                text.push(')');
                depth -= 1;
            }
            _ => break,
        }
        at += 1;
        if !wants_operand && depth == 0 && operations > 0 {
            whole = Some((text.len(), at, certain || operations > 1));
        }
    }
    let (length, count, certain) = whole?;
    text.truncate(length);
    Some((text, count, certain))
}

/// "Multiply 5 by 6", "the sum of 2, 3 and 4".
fn verb_sum(all: &[Lexeme]) -> Option<(String, usize, bool)> {
    let Verb(sign, swapped) = &all.first()?.lex else { return None };
    let mut operands: Vec<&str> = Vec::new();
    let (mut end, mut at) = (0, 1);
    while let Some(lexeme) = all.get(at) {
        match &lexeme.lex {
            Lex::Number(number) => {
                operands.push(number);
                end = at + 1;
            }
            Of | Separator => {}
            // A comma, or «в степень» and the like.
            Gap if lexeme.end - lexeme.start == 1 && !operands.is_empty() => {}
            _ => break,
        }
        at += 1;
    }
    let pair = operands.len() == 2 || (operands.len() > 2 && (*sign == "+" || *sign == "*"));
    let sign = format!(" {sign} ");
    operands = if *swapped { operands.into_iter().rev().collect() } else { operands };
    pair.then(|| (operands.join(&sign), end, true))
}

fn lexemes(clause: &str) -> Vec<Lexeme> {
    let russian = clause.chars().any(is_cyrillic);
    let all = words(clause);
    let mut lexemes: Vec<Lexeme> = Vec::new();
    let mut at = 0;
    while let Some(c) = clause[at..].chars().next() {
        let after = at + c.len_utf8();
        let (lex, end) = if c.is_ascii_digit() {
            number_lexeme(clause, at, russian, &all)
        } else if c.is_alphanumeric() && !"²³".contains(c) {
            phrase(clause, &all, at)
        } else if c.is_whitespace() || "$€£₽".contains(c) {
            at = after;
            continue;
        } else if c == '!' && clause[after..].trim().is_empty() && lexemes.iter().any(|one| one.lex == Gap) {
            // "hello, 5!" is not a factorial.
            (Gap, after)
        } else {
            sign(clause, at, c)
        };
        lexemes.push(Lexeme { lex, start: at, end });
        at = end.max(after);
    }
    lexemes
}

/// A number. With letters at its end it is a gap, except `5x3`.
fn number_lexeme(clause: &str, at: usize, russian: bool, all: &[Word]) -> (Lex, usize) {
    let stuck = |end: usize| {
        let mut after = clause[end..].chars();
        match (after.next(), after.next()) {
            (Some('x' | 'х'), Some(next)) => !next.is_ascii_digit() && !next.is_whitespace(),
            (Some(c), _) => c.is_alphabetic() || c == '_',
            _ => false,
        }
    };
    let scaled = |end: usize| {
        let next = all.iter().find(|word| word.start >= end).map_or("", |word| word.text.as_str());
        SCALES.iter().any(|scale| next.starts_with(scale))
    };
    match number_at(clause, at, russian) {
        Some((number, end)) if !stuck(end) && !scaled(end) => (Lex::Number(number), end),
        _ => {
            let rest = &clause[at..];
            let length = rest.find(|c: char| !c.is_alphanumeric() && !".,_".contains(c));
            (Gap, at + length.unwrap_or(rest.len()))
        }
    }
}

fn phrase(clause: &str, all: &[Word], at: usize) -> (Lex, usize) {
    let rest = &all[all.partition_point(|word| word.end <= at)..];
    let Some(first) = rest.first() else { return (Gap, at + 1) };
    // `x3` of `5x3` is in one word with the number before it.
    let tail = &clause[at..first.end];
    if tail.starts_with(['x', 'х']) && tail.chars().skip(1).all(|c| c.is_ascii_digit()) {
        return (Operator("*"), at + tail.chars().next().map_or(1, char::len_utf8));
    }
    if first.start == at {
        let fits = |(mine, word): (&str, &Word)| match mine.strip_suffix('*') {
            Some(start) => word.text.starts_with(start),
            None => word.text == mine,
        };
        for (lex, patterns) in PHRASES {
            for pattern in *patterns {
                let count = pattern.split(' ').count();
                if rest.len() >= count && pattern.split(' ').zip(rest).all(fits) {
                    return (lex.clone(), rest[count - 1].end);
                }
            }
        }
    }
    (Gap, first.end)
}

fn sign(clause: &str, at: usize, c: char) -> (Lex, usize) {
    let after = at + c.len_utf8();
    let next = clause[after..].chars().next();
    let spaced = clause[..at].ends_with(' ') && next == Some(' ');
    match c {
        '*' if next == Some('*') => (Operator("^"), after + 1),
        '+' => (Operator("+"), after),
        '-' | '−' | '–' => (Operator("-"), after),
        '*' | '×' | '·' => (Operator("*"), after),
        '/' | '÷' => (Operator("/"), after),
        ':' if spaced => (Operator("/"), after),
        '^' => (Operator("^"), after),
        '%' => (Percent, after),
        '(' => (Open, after),
        ')' => (Close, after),
        '!' => (Postfix("!"), after),
        '²' => (Postfix("^2"), after),
        '³' => (Postfix("^3"), after),
        '√' => (Function("sqrt"), after),
        _ => (Gap, after),
    }
}

/// Returns the number in plain digits that begins at this byte, and where it ends. A comma or a blank before three
/// digits separates thousands; in a Russian clause a comma is always the decimal sign.
pub(crate) fn number_at(text: &str, start: usize, russian: bool) -> Option<(String, usize)> {
    let rest = &text[start..];
    let run = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = run(0);
    let mut plain = rest[..end].to_owned();
    let grouped = |c: char| " \u{a0}\u{202f}".contains(c) || (c == ',' && !russian);
    while let Some(mark) = rest[end..].chars().next().filter(|c| grouped(*c)) {
        let from = end + mark.len_utf8();
        if run(from) != 3 || rest.starts_with('0') || (plain.len() > 3 && plain.len() == end) {
            break;
        }
        plain.push_str(&rest[from..from + 3]);
        end = from + 3;
    }
    if rest[end..].starts_with(['.', ',']) && run(end + 1) > 0 {
        let digits = run(end + 1);
        plain.push('.');
        plain.push_str(&rest[end + 1..end + 1 + digits]);
        end += 1 + digits;
    }
    let second_point = rest[end..].starts_with(['.', ',']) && run(end + 1) > 0;
    (!plain.is_empty() && !second_point && plain.len() <= 40).then_some((plain, start + end))
}

/// "5 km to miles", «5 км в милях», "how many miles are in 5 km": the plain form and its span.
pub(crate) fn conversion(clause: &str) -> Option<(String, usize, usize)> {
    let russian = clause.chars().any(is_cyrillic);
    let all = words(clause);
    let (mut amount, mut target) = (None, None);
    for (index, word) in all.iter().enumerate() {
        if let Some((number, end)) = number_at(clause, word.start, russian)
            && let Some(next) = all.iter().find(|next| next.start >= end)
            && clause[end..next.start].chars().all(|c| " \u{a0}°".contains(c))
            && let Some(unit) = unit(&next.text)
        {
            amount = amount.or(Some((number, unit, word.start, next.end)));
        } else if index > 0
            && among(&all[index - 1].text, "to in into many much в во на сколько")
            && let Some(unit) = unit(&word.text)
        {
            target = Some((unit, word.start, word.end));
        }
    }
    let ((number, from, a, b), (to, c, d)) = (amount?, target?);
    (from != to).then(|| (format!("{number} {from} to {to}"), a.min(c), b.max(d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(clause: &str) -> Option<String> {
        sums(clause).into_iter().next().map(|result| result.text)
    }

    #[test]
    fn arithmetic_has_one_form() {
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
            ("7 squared", "7^2"),
            ("7 в квадрате", "7^2"),
            ("square root of 144", "sqrt(144)"),
            ("the square root of (100 + 44)", "sqrt(100 + 44)"),
            ("квадратный корень из 144", "sqrt(144)"),
            ("корень из 81 плюс 3", "sqrt(81) + 3"),
            ("sqrt(2) * 3", "sqrt(2) * 3"),
            ("12 times 12", "12 * 12"),
            ("6 умножить на 7", "6 * 7"),
            ("умножь 6 на 7", "6 * 7"),
            ("divide 100 by 8", "100 / 8"),
            ("subtract 5 from 20", "20 - 5"),
            ("вычти 5 из 20", "20 - 5"),
            ("add 5 and 7", "5 + 7"),
            ("the sum of 2, 3 and 4", "2 + 3 + 4"),
            ("5!", "5!"),
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
    fn other_texts_are_not_arithmetic() {
        for clause in [
            "2500",
            "15%",
            "version 1.2.3",
            "the 3rd of May",
            "hello, 5!",
            "5 of them",
            "add milk",
            "(((",
            "sum of money",
            "двадцать пять умножить на четыре",
            "2 * 15 million",
        ] {
            assert_eq!(first(clause), None, "{clause}");
        }
        assert_eq!(sums("2+2 and 3*3").len(), 2);
        assert_eq!(sums(&("1+".repeat(5000) + "1")), []);
        assert!(sums(&"(".repeat(5000)).is_empty());
    }

    #[test]
    fn ranges_are_not_certain() {
        for (clause, certain) in
            [("10-15 people", false), ("24/7", false), ("10 - 15", true), ("10+15", true), ("1-2-3", true)]
        {
            assert_eq!(sums(clause).first().map(|result| result.certain), Some(certain), "{clause}");
        }
    }

    #[test]
    fn numbers_are_read_as_each_language_writes_them() {
        for (text, russian, number) in [
            ("2,500 x", false, Some("2500")),
            ("2 500", true, Some("2500")),
            ("1\u{a0}234\u{a0}567", true, Some("1234567")),
            ("3,125", true, Some("3.125")),
            ("3,5", false, Some("3.5")),
            ("7. Then", false, Some("7")),
            ("1.2.3", false, None),
            ("2500 100", false, Some("2500")),
            ("x", false, None),
        ] {
            assert_eq!(number_at(text, 0, russian).map(|result| result.0).as_deref(), number, "{text}");
        }
    }

    #[test]
    fn units_are_converted_where_both_are_named() {
        for (clause, text) in [
            ("convert 5 km to miles", Some("5 km to miles")),
            ("5 км в милях", Some("5 km to miles")),
            ("how many minutes are in 3 hours", Some("3 hours to minutes")),
            ("72 °fahrenheit in celsius", Some("72 fahrenheit to celsius")),
            ("how many days are left", None),
            ("run 5 km", None),
        ] {
            assert_eq!(conversion(clause).map(|result| result.0).as_deref(), text, "{clause}");
        }
    }
}
