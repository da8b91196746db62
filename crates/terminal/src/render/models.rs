//! What is known of a model, as cells of a table. An unknown fact is a dash, never a zero.

use converse_host::model_lists::OfferedModel;
use converse_provider::Price;
use converse_text::wording::decimal;

use super::stats::number::short;

pub const UNKNOWN: &str = "–";

/// The id, the context window in tokens, and the price.
pub fn cells(offered: &OfferedModel) -> Vec<String> {
    let facts = offered.lore.facts();
    let unknown = || UNKNOWN.to_owned();
    vec![
        offered.id.clone(),
        facts.window.map_or_else(unknown, window),
        facts.price.as_ref().map_or_else(unknown, price),
    ]
}

/// `400k`, `1M`: to three digits.
fn window(tokens: u64) -> String {
    let text = short(tokens);
    let (amount, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let amount =
        if amount.contains('.') { amount.trim_end_matches('0').trim_end_matches('.') } else { amount };
    format!("{amount}{unit}")
}

/// The day on which the model ends, if it is known.
pub fn ends(offered: &OfferedModel) -> Option<String> {
    offered.lore.ends().map(|day| format!("ends {day}"))
}

/// Input and output, in dollars per million tokens.
pub fn price(price: &Price) -> String {
    format!("${} in, ${} out", decimal(price.input), decimal(price.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_short() {
        for (tokens, text) in [
            (5, "5"),
            (200, "200"),
            (8_192, "8.19k"),
            (128_000, "128k"),
            (200_000, "200k"),
            (400_000, "400k"),
            (1_000_000, "1M"),
            (1_048_576, "1.05M"),
            (10_000_000, "10M"),
        ] {
            assert_eq!(window(tokens), text);
        }
    }
}
