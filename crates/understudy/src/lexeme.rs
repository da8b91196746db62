//! A clause as the signs and words of arithmetic: "15 percent of 2500" is a number, a percent sign, an "of", a number.
//!
//! Surprising: most of a clause is none of these; such a word becomes a [`Lex::Gap`], which no expression may cross.

use crate::numbers::{number_at, number_words};
use crate::words::{Word, is_cyrillic, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lex {
    Number(String),
    /// A binary operator.
    Operator(&'static str),
    Open,
    Close,
    Percent,
    Of,
    /// A function before its operand; the name is empty for "half of", which divides.
    Function(&'static str),
    /// What follows its operand: `^2`, `!`.
    Postfix(&'static str),
    Constant(&'static str),
    /// "multiply A by B", "the sum of A and B": the operator, and whether the operands change places.
    Verb(&'static str, bool),
    /// What may part the two operands of a verb.
    Separator,
    Gap,
}

#[derive(Debug, Clone)]
pub(crate) struct Lexeme {
    pub(crate) lex: Lex,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Written in letters.
    pub(crate) worded: bool,
}

use Lex::{Constant, Function, Of, Operator, Percent, Postfix, Separator, Verb};

/// Phrases, the longer ones first where one begins another. `abc*` is any word that begins so.
const PHRASES: &[(&[&str], Lex)] = &[
    (&["to", "the", "power", "of"], Operator("^")),
    (&["raised", "to"], Operator("^")),
    (&["в", "степен*"], Operator("^")),
    (&["multiplied", "by"], Operator("*")),
    (&["times"], Operator("*")),
    (&["умножить", "на"], Operator("*")),
    (&["умноженн*", "на"], Operator("*")),
    (&["помножить", "на"], Operator("*")),
    (&["divided", "by"], Operator("/")),
    (&["over"], Operator("/")),
    (&["разделить", "на"], Operator("/")),
    (&["поделить", "на"], Operator("/")),
    (&["делить", "на"], Operator("/")),
    (&["деленн*", "на"], Operator("/")),
    (&["plus"], Operator("+")),
    (&["плюс"], Operator("+")),
    (&["minus"], Operator("-")),
    (&["минус"], Operator("-")),
    (&["modulo"], Operator("mod")),
    (&["mod"], Operator("mod")),
    (&["x"], Operator("*")),
    (&["х"], Operator("*")),
    (&["percent"], Percent),
    (&["per", "cent"], Percent),
    (&["процент*"], Percent),
    (&["square", "root"], Function("sqrt")),
    (&["cube", "root"], Function("cbrt")),
    (&["cubic", "root"], Function("cbrt")),
    (&["квадратн*", "корень"], Function("sqrt")),
    (&["квадратн*", "корня"], Function("sqrt")),
    (&["кубическ*", "корень"], Function("cbrt")),
    (&["корень", "квадратный"], Function("sqrt")),
    (&["корень", "кубический"], Function("cbrt")),
    (&["корень"], Function("sqrt")),
    (&["sqrt"], Function("sqrt")),
    (&["cbrt"], Function("cbrt")),
    (&["sin"], Function("sin")),
    (&["sine"], Function("sin")),
    (&["синус*"], Function("sin")),
    (&["cos"], Function("cos")),
    (&["cosine"], Function("cos")),
    (&["косинус*"], Function("cos")),
    (&["tan"], Function("tan")),
    (&["tangent"], Function("tan")),
    (&["тангенс*"], Function("tan")),
    (&["ln"], Function("ln")),
    (&["natural", "log*"], Function("ln")),
    (&["натуральн*", "логарифм*"], Function("ln")),
    (&["log2"], Function("log2")),
    (&["log10"], Function("log10")),
    (&["abs"], Function("abs")),
    (&["log"], Function("log")),
    (&["логарифм*"], Function("log")),
    (&["exp"], Function("exp")),
    (&["factorial"], Function("!")),
    (&["факториал*"], Function("!")),
    (&["half"], Function("")),
    (&["половин*"], Function("")),
    (&["squared"], Postfix("^2")),
    (&["cubed"], Postfix("^3")),
    (&["в", "квадрат*"], Postfix("^2")),
    (&["в", "куб*"], Postfix("^3")),
    (&["pi"], Constant("pi")),
    (&["пи"], Constant("pi")),
    (&["multiply"], Verb("*", false)),
    (&["product"], Verb("*", false)),
    (&["умнож*"], Verb("*", false)),
    (&["перемнож*"], Verb("*", false)),
    (&["произведение"], Verb("*", false)),
    (&["divide"], Verb("/", false)),
    (&["раздел*"], Verb("/", false)),
    (&["подели*"], Verb("/", false)),
    (&["add"], Verb("+", false)),
    (&["sum"], Verb("+", false)),
    (&["прибавь*"], Verb("+", false)),
    (&["сложи*"], Verb("+", false)),
    (&["сумм*"], Verb("+", false)),
    (&["difference"], Verb("-", false)),
    (&["разность"], Verb("-", false)),
    (&["subtract"], Verb("-", true)),
    (&["вычти*"], Verb("-", true)),
    (&["вычесть"], Verb("-", true)),
    (&["отними*"], Verb("-", true)),
    (&["raise"], Verb("^", false)),
    (&["возвед*"], Verb("^", false)),
    (&["of", "the"], Of),
    (&["of"], Of),
    (&["on"], Of),
    (&["от"], Of),
    (&["из"], Of),
    (&["числа"], Of),
    (&["to", "the"], Separator),
    (&["to"], Separator),
    (&["by"], Separator),
    (&["and"], Separator),
    (&["from"], Separator),
    (&["between"], Separator),
    (&["и"], Separator),
    (&["на"], Separator),
    (&["к"], Separator),
    (&["с"], Separator),
    (&["между"], Separator),
];

/// The lexemes of a clause, gaps between them included.
pub(crate) fn lexemes(clause: &str) -> Vec<Lexeme> {
    let russian = clause.chars().any(is_cyrillic);
    let all = words(clause);
    let mut found: Vec<Lexeme> = Vec::new();
    let mut at = 0;
    while let Some(c) = clause.get(at..).and_then(|rest| rest.chars().next()) {
        let (lex, end, worded) = if c.is_ascii_digit() {
            number(clause, at, russian)
        } else if c.is_alphanumeric() && !"²³π".contains(c) {
            phrase(clause, &all, at)
        } else {
            let after = at + c.len_utf8();
            if c.is_whitespace() || "$€£₽".contains(c) {
                at = after;
                continue;
            }
            let (lex, end) = sign(clause, at, c);
            (lex, end.max(after), false)
        };
        found.push(Lexeme { lex, start: at, end, worded });
        at = end.max(at + c.len_utf8());
    }
    found
}

/// A number; one with letters stuck to it is a gap, save `5x3`.
fn number(clause: &str, at: usize, russian: bool) -> (Lex, usize, bool) {
    let stuck = |end: usize| {
        let mut after = clause.get(end..).unwrap_or_default().chars();
        match (after.next(), after.next()) {
            (Some('x' | 'х'), Some(next)) => !next.is_ascii_digit() && !next.is_whitespace(),
            (Some(c), _) => c.is_alphabetic() || c == '_',
            _ => false,
        }
    };
    match number_at(clause, at, russian) {
        Some((number, end)) if !stuck(end) => (Lex::Number(number), end, false),
        _ => {
            let rest = clause.get(at..).unwrap_or_default();
            let length =
                rest.find(|c: char| !c.is_alphanumeric() && !".,_".contains(c)).unwrap_or(rest.len());
            (Lex::Gap, at + length, false)
        }
    }
}

fn phrase(clause: &str, all: &[Word], at: usize) -> (Lex, usize, bool) {
    let index = all.partition_point(|word| word.end <= at);
    let rest = all.get(index..).unwrap_or_default();
    let whole = rest.first().map_or(at, |word| word.end);
    // `x3` in `5x3` is one word to the word splitter.
    if clause
        .get(at..whole)
        .is_some_and(|word| word.starts_with(['x', 'х']) && word.chars().skip(1).all(|c| c.is_ascii_digit()))
    {
        let length = clause.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        return (Operator("*"), at + length, false);
    }
    if all.get(index).is_some_and(|word| word.start != at) {
        return (
            if clause.get(at..whole).is_some_and(|word| word == "x" || word == "х") {
                Operator("*")
            } else {
                Lex::Gap
            },
            whole,
            false,
        );
    }
    for (pattern, lex) in PHRASES {
        let fits = |(mine, word): (&&str, &Word)| match mine.strip_suffix('*') {
            Some(start) => word.text.starts_with(start),
            None => word.text == *mine,
        };
        if rest.len() >= pattern.len() && pattern.iter().zip(rest).all(fits) {
            let end = rest.get(pattern.len() - 1).map_or(whole, |word| word.end);
            return (lex.clone(), end, true);
        }
    }
    let texts: Vec<&str> = rest.iter().take(8).map(|word| word.text.as_str()).collect();
    if let Some((number, count)) = number_words(&texts) {
        let end = rest.get(count - 1).map_or(whole, |word| word.end);
        return (Lex::Number(number.to_string()), end, true);
    }
    (Lex::Gap, whole, true)
}

fn sign(clause: &str, at: usize, c: char) -> (Lex, usize) {
    let after = at + c.len_utf8();
    let next = clause.get(after..).and_then(|rest| rest.chars().next());
    let spaced = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let before = clause.get(..at).and_then(|text| text.chars().next_back());
    match c {
        '+' => (Operator("+"), after),
        '-' | '−' | '–' => (Operator("-"), after),
        '*' if next == Some('*') => (Operator("^"), after + 1),
        '*' | '×' | '·' | '⋅' => (Operator("*"), after),
        '/' | '÷' => (Operator("/"), after),
        ':' if spaced(before) && spaced(next) => (Operator("/"), after),
        '^' => (Operator("^"), after),
        '%' => (Percent, after),
        '(' => (Lex::Open, after),
        ')' => (Lex::Close, after),
        '!' => (Postfix("!"), after),
        '²' => (Postfix("^2"), after),
        '³' => (Postfix("^3"), after),
        '√' => (Function("sqrt"), after),
        'π' => (Constant("pi"), after),
        _ => (Lex::Gap, after),
    }
}
