//! `calculator`: exact arithmetic with units, by a foreign evaluator in a cage.
//!
//! The text comes from a model and may be hostile. It is cut into tokens ([`tokens`]), brought into a form the evaluator
//! reads in bounded time ([`program`]), evaluated on a thread that can be stopped ([`cage`]), and rounded by ourselves
//! ([`rounding`]). Refused: randomness,
//! dates, currencies, strings, functions of one's own, commas. Angles are radians unless they carry a unit; `log` is to
//! base ten; `in` after a number is inches where it cannot be a conversion.

mod cage;
mod pieces;
mod program;
mod rounding;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use converse_canister::Arguments;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::arguments::{count, required_text, shown};
use super::{BuildError, Settings};
use crate::{Answer, Context, Invocable, InvokeError};
use cage::Cage;
use rounding::{Computed, Rounding};

/// What one calculation may take.
const TIME_LIMIT: Duration = Duration::from_millis(500);
const MAX_INPUT_BYTES: usize = 1_000;
const MAX_RESULT_CHARS: usize = 10_000;
const MAX_DECIMALS: usize = 50;

pub(super) fn build(_: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    Ok(Arc::new(Calculator { cage: Cage::new(TIME_LIMIT) }))
}

struct Calculator {
    cage: Cage,
}

impl Invocable for Calculator {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        Box::pin(async move {
            let expression = required_text(arguments, "expression")?;
            let decimals = count(arguments, "decimals")?;
            if decimals.is_some_and(|decimals| decimals > MAX_DECIMALS) {
                return Err(InvokeError::Invalid(format!("`decimals` can be {MAX_DECIMALS} at most")));
            }
            Ok(match self.calculate(expression, decimals, &context).await {
                Ok(Computed { text, exact }) => {
                    Answer::structured(json!({ "expression": expression, "result": text, "exact": exact }))
                }
                Err(message) => Answer::error(shown(&message)),
            })
        })
    }
}

impl Calculator {
    async fn calculate(
        &self,
        expression: &str,
        decimals: Option<usize>,
        context: &Context,
    ) -> Result<Computed, String> {
        if expression.len() > MAX_INPUT_BYTES {
            return Err(format!(
                "the expression has {} bytes; at most {MAX_INPUT_BYTES} are read",
                expression.len()
            ));
        }
        let program = program::program(tokens::tokens(expression)?)?;
        let wish = decimals.map(Rounding::Decimals).or(program.rounding).unwrap_or(Rounding::Usual);
        if let Rounding::Decimals(count) | Rounding::Significant(count) = wish
            && count > MAX_DECIMALS
        {
            return Err(format!("a result has {MAX_DECIMALS} decimals at most"));
        }
        answerable(self.cage.run(program, wish, &context.cancel).await?)
    }
}

/// A value that can be handed out: a number, a quantity, a truth value, of bounded length.
fn answerable(computed: Computed) -> Result<Computed, String> {
    let characters = computed.text.chars().count();
    if characters > MAX_RESULT_CHARS {
        return Err(format!("the result has {characters} characters; at most {MAX_RESULT_CHARS} are given"));
    }
    if computed.text.starts_with('\\') || computed.text.contains(':') || pieces::is_function(&computed.text) {
        return Err("the result is a function, not a value: does it lack its argument?".to_owned());
    }
    if computed.text.is_empty() || computed.text.contains(['{', '\n']) {
        return Err("the result is not a number".to_owned());
    }
    Ok(computed)
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
