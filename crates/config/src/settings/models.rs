//! `[models."provider/model"]`: the user's facts about a model, over the built-in table.

use std::collections::BTreeMap;

use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::table::Table;

const MAX_TOKENS: i64 = 1_000_000_000;
/// US dollars for a million tokens.
const MAX_RATE: f64 = 1e6;

/// Facts about a model; `None` for a key that is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelPlan {
    /// Tokens of input and output together.
    pub window: Option<u64>,
    /// Tokens of one reply.
    pub max_output: Option<u64>,
    pub images: Option<bool>,
    pub documents: Option<bool>,
    pub audio: Option<bool>,
    pub tools: Option<bool>,
    pub sampling: Option<bool>,
    pub structured: Option<bool>,
    pub thinking: Option<ThinkingPlan>,
    pub needs_responses: Option<bool>,
    pub price: Option<PricePlan>,
}

/// How to request reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingPlan {
    /// `none`
    None,
    /// `budget`
    Budget,
    /// `effort`
    Effort,
}

/// US dollars per million tokens, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PricePlan {
    pub input: u64,
    pub output: u64,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

pub(super) fn models(file: &Table<'_, '_>) -> BTreeMap<String, ModelPlan> {
    let mut models = BTreeMap::new();
    let Some(table) = file.table("models") else { return models };
    for (name, entry) in table.named_tables() {
        let plan = model(&entry);
        entry.finish();
        let is_model = name.value.split_once('/').is_some_and(|(provider, model)| {
            !provider.is_empty() && !model.is_empty() && !model.contains(char::is_whitespace)
        });
        if is_model {
            models.insert(name.value, plan);
        } else {
            let message = format!("{} is not a model: write `provider/model`", quoted(&name.value));
            let hint = "write a name with a slash in quotes: `[models.\"openai/gpt-x\"]`";
            table.problems.push(Diagnostic::error(Code::BadName, name.span, message).hint(hint));
        }
    }
    table.finish_except(|value| value.is_table());
    models
}

fn model(table: &Table<'_, '_>) -> ModelPlan {
    let tokens = |key| table.integer(key, 1..=MAX_TOKENS).and_then(|count| u64::try_from(count.value).ok());
    let flag = |key| table.boolean(key).map(|flag| flag.value);
    let thinking =
        [("none", ThinkingPlan::None), ("budget", ThinkingPlan::Budget), ("effort", ThinkingPlan::Effort)];
    ModelPlan {
        window: tokens("window"),
        max_output: tokens("max_output"),
        images: flag("images"),
        documents: flag("documents"),
        audio: flag("audio"),
        tools: flag("tools"),
        sampling: flag("sampling"),
        structured: flag("structured"),
        thinking: table.choice("thinking", &thinking).map(|word| word.value),
        needs_responses: flag("needs_responses"),
        price: price(table),
    }
}

/// Reads a price. Input and output are both required, because half a price would give half a cost.
fn price(table: &Table<'_, '_>) -> Option<PricePlan> {
    let table = table.table("price")?;
    let rate = |key| table.float(key, 0.0..=MAX_RATE).map(|rate| (rate.value * 1e6).round() as u64);
    for key in ["input", "output"] {
        if !table.has(key) {
            table.missing(key);
        }
    }
    let (input, output) = (rate("input"), rate("output"));
    let (cache_read, cache_write) = (rate("cache_read"), rate("cache_write"));
    table.finish();
    Some(PricePlan { input: input?, output: output?, cache_read, cache_write })
}
