//! The models that answer instead, where the first one cannot.

use converse_canister::Cost;
use converse_config::SettingsPlan;

use super::{Model, choose};
use crate::cassette::mode::CassetteMode;
use crate::failure::Failure;
use crate::world::World;

/// Who answers instead, and who was named for it and cannot.
#[derive(Debug, Default)]
pub struct Fallbacks {
    pub models: Vec<Model>,
    /// A line for each that is left out.
    pub left_out: Vec<String>,
}

/// The models of those names that can be asked. One without its key is left out: the first may well answer.
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
            || !cassette.knows(&model.id)
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

/// A limit of costs holds only where it is known what things cost.
pub(crate) fn require_price(model: &Model, limit: Option<Cost>) -> Result<(), Failure> {
    let told = || model.row.is_some_and(|row| row.reports_cost());
    if limit.is_none() || model.facts.price.is_some() || model.is_understudy() || told() {
        return Ok(());
    }
    let message = format!("a limit of costs cannot be held: what `{}` costs is not known", model.id);
    Err(Failure::usage("unknown-price", message)
        .of_model(&model.id)
        .hint(format!(
            "say it in your own config.toml: `[models.\"{}\"] price = {{ input = USD, output = USD }}`, per million tokens",
            model.id
        ))
        .hint("or go without `--max-cost`, or `max_cost` of `[limits]`"))
}
