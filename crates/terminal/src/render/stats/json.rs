//! The object of `--json`: `docs/reference/stats.md`. Keys are only ever added.

use converse_canister::Cost;
use converse_session::stats::{Calls, Figures, Sketch, Spent};
use serde_json::{Map, Value, json};

use super::Period;

pub fn json(figures: &Figures, period: &Period) -> Value {
    let days = figures.days.iter().map(|(date, day)| {
        let models = day.models.iter().map(|(name, share)| {
            json!({ "model": name, "tokens": share.tokens, "cost_at_least": share.cost.dollars() })
        });
        let models: Vec<Value> = models.collect();
        let mut row = json!({ "day": date.to_string(), "sessions": day.sessions, "turns": day.turns, "models": models });
        join(&mut row, spent(&day.spent));
        join(&mut row, json!({ "calls": calls(&day.calls) }));
        row
    });
    let models = figures.models.iter().map(|(name, model)| {
        let mut row = json!({
            "model": name, "broken": model.broken, "truncated": model.truncated, "refused": model.refused,
            "milliseconds": times(&model.time), "calls": calls(&model.calls),
            "invalid_rate": rate(model.calls.invalid(), model.calls.calls),
        });
        join(&mut row, spent(&model.spent));
        row
    });
    let tools = figures.tools.iter().map(|(name, tool)| {
        let of = &tool.calls;
        json!({
            "tool": name, "calls": calls(of), "milliseconds": times(&tool.time),
            "failure_rate": rate(of.failed(), of.calls), "invalid_rate": rate(of.invalid(), of.calls),
        })
    });
    let pairs = figures.pairs.iter().filter(|(_, pair)| pair.invalid > 0).map(|((model, tool), pair)| {
        let rate = rate(pair.invalid, pair.calls);
        json!({ "model": model, "tool": tool, "calls": pair.calls, "invalid": pair.invalid, "invalid_rate": rate })
    });
    let named = figures.named.iter();
    let unread =
        named.map(|one| json!({ "session": one.session, "problem": one.problem })).collect::<Vec<_>>();
    let mut total =
        json!({ "sessions": figures.sessions, "turns": figures.turns, "calls": calls(&figures.calls) });
    join(&mut total, spent(&figures.spent));
    json!({
        "since": period.since.map(|date| date.to_string()), "until": period.until.to_string(), "zone": period.zone,
        "unreadable": figures.unreadable, "unread": unread, "total": total,
        "days": days.collect::<Vec<_>>(), "models": models.collect::<Vec<_>>(), "tools": tools.collect::<Vec<_>>(),
        "schema_errors": pairs.collect::<Vec<_>>(),
    })
}

fn join(row: &mut Value, more: Value) {
    if let (Value::Object(row), Value::Object(more)) = (row, more) {
        row.extend(more);
    }
}

/// As in `-o json`: `cost` is null if it is unknown in part or entirely, and the known part is next to it.
fn spent(spent: &Spent) -> Value {
    let mut object = json!({
        "replies": spent.replies, "uncounted": spent.uncounted, "unpriced": spent.unpriced,
        "usage": {
            "input": spent.input, "output": spent.output, "cache_read": spent.cache_read,
            "cache_write": spent.cache_write, "reasoning": spent.reasoning,
        },
        "cost": (spent.unpriced == 0).then(|| spent.cost.dollars()),
    });
    if spent.unpriced > 0 && spent.cost > Cost(0) {
        join(&mut object, json!({ "cost_at_least": spent.cost.dollars() }));
    }
    object
}

fn calls(calls: &Calls) -> Value {
    let outcomes: Map<String, Value> =
        calls.outcomes.iter().map(|(label, count)| ((*label).to_owned(), (*count).into())).collect();
    json!({ "count": calls.calls, "outcomes": outcomes, "cost": calls.cost.dollars() })
}

fn times(times: &Sketch) -> Value {
    json!({ "count": times.count(), "p50": times.quantile(0.5), "p95": times.quantile(0.95) })
}

fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e6).round() / 1e6)
}
