//! The cost of a call as reported by the server.

use converse_canister::Cost;
use serde_json::Value;

/// Reads the cost that OpenRouter reports, in credits, which are dollars. With the user's own key at the vendor
/// (`is_byok`) it is only the fee, and the vendor's price is in another field; otherwise that field repeats the cost.
/// <https://openrouter.ai/docs/use-cases/usage-accounting> (a copy read 2026-11-22).
pub(crate) fn cost(wire: &Value) -> Option<Cost> {
    let fee = dollars(wire.get("cost")?)?;
    let vendors = match wire.get("is_byok") {
        Some(Value::Bool(true)) => dollars(wire.pointer("/cost_details/upstream_inference_cost")?)?,
        _ => 0.0,
    };
    let millionths = (fee + vendors) * 1e6;
    // Rounded up, but not for what binary fractions add to an exact number.
    Some(Cost((millionths * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64))
}

/// Returns an amount of money; `None` above a million, which is an error of the server.
fn dollars(value: &Value) -> Option<f64> {
    value.as_f64().filter(|dollars| (0.0..=1e6).contains(dollars))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_call_cost_is_all_that_it_cost() {
        let own_key = |cost: Value, upstream: Value| json!({ "cost": cost, "is_byok": true, "cost_details": { "upstream_inference_cost": upstream } });
        for (usage, cost) in [
            (json!({ "cost": 0.25 }), Some(250_000)),
            (json!({ "cost": 0.00045 }), Some(450)),
            (json!({ "cost": 0.0000011 }), Some(2)),
            (json!({ "cost": 1e-9 }), Some(1)),
            (json!({ "cost": 0 }), Some(0)),
            (json!({ "cost": 1e6 }), Some(1_000_000_000_000)),
            (json!({ "cost": 1_000_001 }), None),
            (json!({ "cost": -0.1 }), None),
            (json!({ "cost": "0.1" }), None),
            (json!({}), None),
            (own_key(json!(0), json!(0.036_079_5)), Some(36_080)),
            (own_key(json!(0.05), json!(1)), Some(1_050_000)),
            (own_key(json!(0.05), Value::Null), None),
            (own_key(json!(0.05), json!(-1)), None),
            (json!({ "cost": 0.05, "is_byok": true }), None),
            // Without the user's own key both fields are equal.
            (
                json!({ "cost": 0.05, "is_byok": false, "cost_details": { "upstream_inference_cost": 0.05 } }),
                Some(50_000),
            ),
        ] {
            assert_eq!(super::cost(&usage), cost.map(Cost), "{usage}");
        }
    }
}
