//! The parts of an expression between two brackets, and what is read differently by people and by the evaluator.

/// Signs or powers in a row; each is a level of recursion in the evaluator.
const MAX_CHAIN: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A unit, a function, a constant, or an operator written as a word.
    Word,
    Operator,
    Open,
    Close,
    /// A text in brackets, with the brackets.
    Group,
}

#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) text: String,
}

impl Piece {
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub(super) fn is(&self, kind: Kind, texts: &[&str]) -> bool {
        self.kind == kind && texts.contains(&self.text.as_str())
    }

    pub(super) fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Group)
    }

    /// Whether the piece can come before a binary operator.
    pub(super) fn ends_operand(&self) -> bool {
        match self.kind {
            Kind::Number | Kind::Group => true,
            Kind::Word => !KEYWORDS.contains(&self.text.as_str()),
            Kind::Operator => self.text == "!",
            Kind::Open | Kind::Close => false,
        }
    }

    pub(super) fn is_keyword(&self) -> bool {
        self.kind == Kind::Word && KEYWORDS.contains(&self.text.as_str())
    }

    pub(super) fn is_conversion(&self) -> bool {
        self.is(Kind::Word, &["to", "as", "in"])
    }

    /// Binds weaker than `+`.
    pub(super) fn is_weak(&self) -> bool {
        self.is(Kind::Operator, &["<<", ">>", "&", "|", "==", "!="])
            || self
                .is(Kind::Word, &["and", "or", "xor", "AND", "OR", "XOR", "nCr", "choose", "nPr", "permute"])
    }
}

const KEYWORDS: [&str; 16] = [
    "to", "as", "in", "per", "of", "mod", "and", "or", "xor", "AND", "OR", "XOR", "nCr", "choose", "nPr",
    "permute",
];
const ANGLE_FUNCTIONS: [&str; 3] = ["sin", "cos", "tan"];
const ANGLE_UNITS: [&str; 9] =
    ["°", "deg", "degs", "degree", "degrees", "rad", "radian", "radians", "gradian"];
const FUNCTIONS: &str = "sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh ln log log2 log10 exp \
    abs floor ceil round real imag conjugate arg fib not";

/// Whether a word names a function (which alone is not an answer).
pub(super) fn is_function(word: &str) -> bool {
    FUNCTIONS.split_whitespace().any(|function| function == word)
}

/// Writes out the times sign of `2(3)`, which costs the evaluator a second try.
pub(super) fn times(pieces: &mut Vec<Piece>) {
    if pieces.last().is_some_and(|piece| piece.kind == Kind::Number) {
        pieces.push(Piece::new(Kind::Operator, "*"));
    }
}

/// `6 in to cm`: the evaluator takes every `in` for a conversion.
pub(super) fn inches(mut pieces: Vec<Piece>) -> Vec<Piece> {
    for at in 1..pieces.len() {
        let after_number = pieces[at - 1].kind == Kind::Number && pieces[at].is(Kind::Word, &["in"]);
        let unit = pieces.get(at + 1).is_none_or(|next| next.kind == Kind::Operator || next.is_conversion());
        if after_number && unit {
            pieces[at].text = "inch".to_owned();
        }
    }
    pieces
}

/// `sin 30°` is the sine of 30 degrees, not the sine of 30, in degrees.
pub(super) fn angles(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for piece in pieces {
        let angle = piece.is(Kind::Word, &ANGLE_UNITS)
            && matches!(out.as_slice(), [.., function, number]
                if function.is(Kind::Word, &ANGLE_FUNCTIONS) && number.kind == Kind::Number);
        match out.last_mut().filter(|_| angle) {
            Some(number) => *number = Piece::new(Kind::Group, format!("({} {})", number.text, piece.text)),
            None => out.push(piece),
        }
    }
    out
}

pub(super) fn check_chains(pieces: &[Piece]) -> Result<(), String> {
    let (mut signs, mut powers) = (0, 0);
    for piece in pieces {
        signs = if piece.kind == Kind::Operator { signs + 1 } else { 0 };
        powers += usize::from(piece.is(Kind::Operator, &["^"]));
        if signs > MAX_CHAIN || powers > MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} operators or powers in a row"));
        }
    }
    Ok(())
}

pub(super) fn join(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(" ")
}
