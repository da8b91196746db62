//! What is known of a model, as cells of a table. An unknown fact is a dash, never a zero.

use converse_host::model_lists::OfferedModel;
use converse_provider::Price;
use converse_text::wording::decimal;

pub const UNKNOWN: &str = "–";

/// The id, the context window in tokens, and the price.
pub fn cells(offered: &OfferedModel) -> Vec<String> {
    let facts = offered.lore.facts();
    let unknown = || UNKNOWN.to_owned();
    vec![
        offered.id.clone(),
        facts.window.map_or_else(unknown, |tokens| tokens.to_string()),
        facts.price.as_ref().map_or_else(unknown, price),
    ]
}

/// The day on which the model ends, if it is known.
pub fn ends(offered: &OfferedModel) -> Option<String> {
    offered.lore.ends().map(|day| format!("ends {day}"))
}

/// Input and output, in dollars per million tokens.
pub fn price(price: &Price) -> String {
    format!("${} in, ${} out", decimal(price.input), decimal(price.output))
}
