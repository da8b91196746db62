//! Any expression has the value that arithmetic gives it, however it is written and bracketed.

use proptest::prelude::*;
use serde_json::json;

use super::Calculator;
use super::cage::Cage;
use crate::builtin::testing::{invoke, value};

#[derive(Debug, Clone)]
enum Term {
    Number(i128),
    Minus(Box<Term>),
    Square(Box<Term>),
    Absolute(Box<Term>),
    Binary(char, Box<Term>, Box<Term>),
}

use Term::{Absolute, Binary, Minus, Number, Square};

impl Term {
    /// Numerator and (positive) denominator; nothing for a division by zero or numbers too large to check.
    fn value(&self) -> Option<(i128, i128)> {
        let (above, below) = match self {
            Number(number) => (*number, 1),
            Minus(term) => term.value().map(|(a, b)| (-a, b))?,
            Absolute(term) => term.value().map(|(a, b)| (a.abs(), b))?,
            Square(term) => term.value().and_then(|(a, b)| Some((a.checked_mul(a)?, b.checked_mul(b)?)))?,
            Binary(sign, left, right) => {
                let ((a, b), (c, d)) = (left.value()?, right.value()?);
                let cross = (a.checked_mul(d)?, c.checked_mul(b)?);
                match sign {
                    '+' => (cross.0.checked_add(cross.1)?, b.checked_mul(d)?),
                    '-' => (cross.0.checked_sub(cross.1)?, b.checked_mul(d)?),
                    '*' => (a.checked_mul(c)?, b.checked_mul(d)?),
                    _ if c == 0 => return None,
                    _ => (cross.0 * c.signum(), b.checked_mul(c.abs())?),
                }
            }
        };
        let (mut a, mut b) = (above.abs(), below);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Some((above / a.max(1), below / a.max(1)))
    }

    fn strength(&self) -> u8 {
        match self {
            Binary('+' | '-', ..) => 1,
            Binary(..) => 2,
            Minus(_) => 3,
            Square(_) => 4,
            Number(_) | Absolute(_) => 5,
        }
    }

    /// Text with no more brackets than it needs, for a place where `least` binds.
    fn written(&self, least: u8) -> String {
        let text = match self {
            Number(number) => number.to_string(),
            Minus(term) => format!("-{}", term.written(3)),
            Square(term) => format!("{}^2", term.written(5)),
            Absolute(term) => format!("abs({})", term.written(0)),
            Binary(sign, left, right) => {
                let strength = self.strength();
                format!("{} {sign} {}", left.written(strength), right.written(strength + 1))
            }
        };
        if self.strength() < least { format!("({text})") } else { text }
    }
}

fn terms() -> impl Strategy<Value = Term> {
    (0i128..40).prop_map(Number).prop_recursive(7, 40, 2, |inner| {
        let boxed = inner.prop_map(Box::new).boxed();
        prop_oneof![
            5 => (prop::sample::select(vec!['+', '-', '*', '/']), boxed.clone(), boxed.clone())
                .prop_map(|(sign, left, right)| Binary(sign, left, right)),
            1 => boxed.clone().prop_map(Minus),
            1 => boxed.clone().prop_map(Square),
            1 => boxed.prop_map(Absolute),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_result_is_what_arithmetic_says(term in terms()) {
        let text = term.written(0);
        prop_assume!(text.len() <= 300);
        let Some((above, below)) = term.value() else { return Ok(()) };
        let calculator = Calculator { cage: Cage::new(std::time::Duration::from_secs(20)) };
        let expression = format!("({text}) * {below} == {above}");
        let answer = invoke(&calculator, json!({ "expression": expression })).unwrap();
        prop_assert!(!answer.is_error, "{}: {:?}", expression, answer);
        prop_assert_eq!(&value(&answer)["result"], "true", "{}", expression);
    }
}
