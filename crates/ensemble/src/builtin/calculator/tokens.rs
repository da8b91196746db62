//! An expression as tokens, in one notation.
//!
//! The lexer of the evaluator knows more than a calculator needs (strings, functions, assignments, dice, dates,
//! comments, attributes). Other tokens than arithmetic are refused here, so that the evaluator never gets them. A comma
//! is refused on purpose: the evaluator would read `1,5` as 15.

use super::pieces::{Kind, Piece};
use crate::builtin::arguments::shown;

/// Splits an expression into tokens, or returns which part is not arithmetic.
pub(super) fn tokens(expression: &str) -> Result<Vec<Piece>, String> {
    let mut cursor = Cursor { rest: trim(expression) };
    let mut tokens = Vec::new();
    while let Some(next) = cursor.peek() {
        match next {
            _ if next.is_whitespace() => cursor.skip(next),
            '0'..='9' | '.' => tokens.push(cursor.number()?),
            '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '⁻' => tokens.extend(cursor.superscript()?),
            _ if starts_word(next) => tokens.push(cursor.word()?),
            _ => tokens.push(cursor.symbol(next)?),
        }
    }
    Ok(tokens)
}

/// People end a calculation with `=` or `?`.
fn trim(expression: &str) -> &str {
    let end = |character: char| character.is_whitespace() || matches!(character, '=' | '?');
    expression.trim_end_matches(end).trim_start()
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, character: char) {
        self.rest = self.rest.strip_prefix(character).unwrap_or(self.rest);
    }

    /// The longest run of characters for which `take` holds.
    fn run(&mut self, take: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !take(character)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run
    }

    fn number(&mut self) -> Result<Piece, String> {
        let based = ["0x", "0X", "0b", "0B", "0o", "0O"].iter().any(|prefix| self.rest.starts_with(prefix));
        if based {
            let digits = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(Piece::new(Kind::Number, digits.to_ascii_lowercase()));
        }
        let mut number = self.run(digit).to_owned();
        if self.rest.starts_with('#') {
            self.skip('#');
            number.push('#');
            number.push_str(self.run(|c| c.is_ascii_alphanumeric()));
            return Ok(Piece::new(Kind::Number, number));
        }
        self.fraction(&mut number)?;
        self.exponent(&mut number);
        if self.rest.starts_with(',') {
            return Err(comma());
        }
        Ok(Piece::new(Kind::Number, number))
    }

    fn fraction(&mut self, number: &mut String) -> Result<(), String> {
        if !self.rest.starts_with('.') {
            return Ok(());
        }
        self.skip('.');
        let fraction = self.run(digit);
        match (number.is_empty(), fraction.is_empty()) {
            (true, true) => return Err("`.` is not a number".to_owned()),
            (_, true) if self.rest.trim_start().starts_with('(') => {
                return Err("write a recurring decimal as a fraction, such as 1/3".to_owned());
            }
            // `5.` is 5
            (false, true) => {}
            (empty, false) => {
                number.push_str(if empty { "0." } else { "." });
                number.push_str(fraction);
            }
        }
        Ok(())
    }

    fn exponent(&mut self, number: &mut String) {
        let Some(after) = self.rest.strip_prefix(['e', 'E']) else { return };
        let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        number.push('e');
        number.push_str(after.get(..after.len() - digits.len()).unwrap_or_default());
        self.rest = digits;
        number.push_str(self.run(|c| c.is_ascii_digit()));
    }

    fn superscript(&mut self) -> Result<Vec<Piece>, String> {
        const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
        let negative = self.peek() == Some('⁻');
        self.skip('⁻');
        let run = self.run(|c| DIGITS.contains(c));
        if run.is_empty() {
            return Err("`⁻` needs a number after it".to_owned());
        }
        let digits = run.chars().filter_map(|c| DIGITS.chars().position(|d| d == c)).map(|d| d.to_string());
        let power = Piece::new(Kind::Number, digits.collect::<String>());
        let operator = |sign: &str| Piece::new(Kind::Operator, sign);
        Ok(if negative {
            let (open, close) = (Piece::new(Kind::Open, "("), Piece::new(Kind::Close, ")"));
            vec![operator("^"), open, operator("-"), power, close]
        } else {
            vec![operator("^"), power]
        })
    }

    fn word(&mut self) -> Result<Piece, String> {
        let first = self.peek().unwrap_or_default();
        self.skip(first);
        let mut word = first.to_string();
        if !ALONE.contains(&first) {
            word.push_str(self.run(|c| c.is_alphabetic() || c.is_ascii_digit() || c == '_'));
        }
        let dice =
            word.strip_prefix('d').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if dice {
            return Err(format!("`{}`: dice are not rolled here", shown(&word)));
        }
        Ok(match word.as_str() {
            // There are no variables, so a lone x (Latin or Cyrillic) is the times sign.
            "x" | "X" | "х" | "Х" => Piece::new(Kind::Operator, "*"),
            _ => Piece::new(Kind::Word, spelling(&word).map_or(word, str::to_owned)),
        })
    }

    fn symbol(&mut self, first: char) -> Result<Piece, String> {
        for (operator, spellings) in OPERATORS {
            if let Some(rest) = spellings.split(' ').find_map(|spelt| self.rest.strip_prefix(spelt)) {
                self.rest = rest;
                return Ok(Piece::new(Kind::Operator, operator));
            }
        }
        self.skip(first);
        match first {
            '(' | '[' | '{' => Ok(Piece::new(Kind::Open, "(")),
            ')' | ']' | '}' => Ok(Piece::new(Kind::Close, ")")),
            '√' => Ok(Piece::new(Kind::Word, "sqrt")),
            '∛' => Ok(Piece::new(Kind::Word, "cbrt")),
            ',' => Err(comma()),
            '=' => Err("`=` assigns nothing here; `==` compares".to_owned()),
            '$' | '€' | '£' | '¥' | '₽' | '₹' => {
                Err(format!("`{first}`: currencies are not known here"))
            }
            _ => Err(format!("`{}` is not part of an arithmetic expression", shown(&first.to_string()))),
        }
    }
}

/// Operators with their spellings. An operator that begins with another comes before it.
const OPERATORS: [(&str, &str); 12] = [
    ("^", "** ^"),
    ("<<", "<<"),
    (">>", ">>"),
    ("!=", "<> != ≠"),
    ("==", "=="),
    ("+", "+"),
    ("-", "- \u{2212} \u{2013} \u{2012}"),
    ("*", "* × · ⋅ ∗"),
    ("/", "/ ÷ ∕"),
    ("!", "!"),
    ("&", "&"),
    ("|", "|"),
];

/// Words of one character, independent of what follows.
const ALONE: [char; 4] = ['%', '‰', '′', '″'];

fn starts_word(character: char) -> bool {
    (character.is_alphabetic() && character != 'λ')
        || ALONE.contains(&character)
        || matches!(character, '°' | '℃' | '℉')
}

fn digit(character: char) -> bool {
    character.is_ascii_digit() || character == '_'
}

fn comma() -> String {
    "`,` is neither a decimal point nor a thousands separator here: write 1.5 or 1500".to_owned()
}

/// The evaluator's spelling of a word it knows by another.
fn spelling(word: &str) -> Option<&'static str> {
    Some(match word {
        "percent" => "%",
        "modulo" => "mod",
        "degC" | "degc" => "°C",
        "degF" | "degf" => "°F",
        "arcsin" => "asin",
        "arccos" => "acos",
        "arctan" | "arctg" => "atan",
        "tg" => "tan",
        "lg" => "log10",
        "ceiling" => "ceil",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pieces::join;
    use super::*;

    fn spelt(expression: &str) -> String {
        join(&tokens(expression).unwrap())
    }

    #[test]
    fn many_spellings_become_one() {
        for (expression, expected) in [
            ("2**3", "2 ^ 3"),
            ("2×3÷4−1", "2 * 3 / 4 - 1"),
            ("[1+{2}]", "( 1 + ( 2 ) )"),
            ("√9", "sqrt 9"),
            ("5²", "5 ^ 2"),
            ("10⁻¹²", "10 ^ ( - 12 )"),
            ("1.5e-3km", "1.5e-3 km"),
            ("2e", "2 e"),
            (".5 + 5.", "0.5 + 5"),
            ("0xFF", "0xff"),
            ("16#ff", "16#ff"),
            ("1_000", "1_000"),
            ("15%of 20", "15 % of 20"),
            ("2 x 3 =", "2 * 3"),
            ("2+2 = ?", "2 + 2"),
            ("20°C", "20 °C"),
            ("log2(8)", "log2 ( 8 )"),
            ("arcsin 1", "asin 1"),
        ] {
            assert_eq!(spelt(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_refused_by_name() {
        for (expression, said) in [
            ("1,5 + 2", "`,`"),
            ("max(1, 2)", "`,`"),
            ("2d6", "dice"),
            ("d20", "dice"),
            ("a = 5", "`=`"),
            ("f: x", "`:`"),
            ("\\x.x", "`\\`"),
            ("λ", "`λ`"),
            ("\"text\"", "`\"`"),
            ("'text'", "`'`"),
            ("@debug 1", "`@`"),
            ("1; 2", "`;`"),
            ("1 # note", "`#`"),
            ("$5", "currencies"),
            ("3 > 2", "`>`"),
            (".", "`.`"),
            ("0.(3)", "recurring"),
            ("1\u{1b}2", "\\u{1b}"),
            ("⁻", "`⁻`"),
        ] {
            let error = tokens(expression).unwrap_err();
            assert!(error.contains(said), "{expression}: {error}");
        }
    }
}
