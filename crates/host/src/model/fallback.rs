//! Fallback models, asked where the first model cannot answer.

use converse_canister::Cost;
use converse_config::SettingsPlan;

use super::{Model, choose};
use crate::cassette::CassetteMode;
use crate::failure::Failure;
use crate::world::World;

/// The usable fallbacks, and notes about the others.
#[derive(Debug, Clone, Default)]
pub struct Fallbacks {
    pub models: Vec<Model>,
    /// A line for each fallback that is skipped.
    pub left_out: Vec<String>,
}

/// Resolves the named fallbacks. One without its key is skipped, because the first model may well answer.
pub fn fallbacks(
    named: &[String],
    first: &Model,
    limit: Option<Cost>,
    cassette: &CassetteMode,
    files: &SettingsPlan,
    world: &World,
) -> Result<Fallbacks, Failure> {
    let mut fallbacks = Fallbacks::default();
    for name in named {
        let model = choose(Some(name), files, world)?;
        if model.id == first.id
            || fallbacks.models.iter().any(|known| known.id == model.id)
            || !cassette.has_model(&model.id)
        {
            continue;
        }
        let keyed = if cassette.answers_for_models() { Ok(()) } else { model.require_key() };
        match keyed.and_then(|()| require_price(&model, limit)) {
            Ok(()) => fallbacks.models.push(model),
            Err(why) => {
                fallbacks.left_out.push(format!("warning: no fallback to {}: {}", model.id, why.message))
            }
        }
    }
    Ok(fallbacks)
}

/// A cost limit needs known prices.
pub(crate) fn require_price(model: &Model, limit: Option<Cost>) -> Result<(), Failure> {
    let told = || model.row.is_some_and(|row| row.reports_cost());
    if limit.is_none() || model.facts.price.is_some() || model.is_understudy() || told() {
        return Ok(());
    }
    let message =
        format!("the cost limit cannot be enforced, because the price of `{}` is unknown", model.id);
    Err(Failure::usage("unknown-price", message)
        .of_model(&model.id)
        .hint(format!(
            "add the price to your own config.toml: `[models.\"{}\"] price = {{ input = USD, output = USD }}`, per million tokens",
            model.id
        ))
        .hint("or remove `--max-cost`, or `max_cost` in `[limits]`"))
}
