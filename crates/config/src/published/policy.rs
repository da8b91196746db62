//! Schemas of the policy keys: in `[defaults]`, next to `source`, in `[invoker]` and in `[tools.NAME]`.

use serde_json::{Value, json};

use super::field::{and, choice, count, described, duration, flag, size};
use crate::policy::{
    EFFECTS, MAX_CACHE, MAX_COST, MAX_INVOCATIONS, MAX_RESULT, MAX_RETRIES, MAX_TIMEOUT, ON_FAILURE,
    PERMISSIONS, SANDBOX_LEVELS,
};

/// Returns the schema of every policy key.
pub(super) fn keys() -> Value {
    json!({
        "timeout": and(duration("Wall-clock time of one call, including retries", MAX_TIMEOUT), json!({ "default": 30 })),
        "idle_timeout": and(
            duration("For a tool of a server: longest time without progress", MAX_TIMEOUT),
            json!({ "default": 60 }),
        ),
        "max_retries": and(
            count("Retries after a failure; only if `idempotent`, or if nothing had been sent", 0, MAX_RETRIES),
            json!({ "default": 0 }),
        ),
        "permission": choice("Decision if no rule matches the tool", &PERMISSIONS, json!({})),
        "effects": choice("Strongest effect of the tool", &EFFECTS, json!({})),
        "idempotent": flag("A repeated call has no further effect", false),
        "parallel": flag("If false, no other tool runs at the same time", true),
        "result_limit": and(size("Size of the part of a result that the model gets", MAX_RESULT), json!({ "default": "64 KiB" })),
        "on_failure": choice(
            "After a failure: `report` it to the model, or `stop` the turn (exit 7)",
            &ON_FAILURE,
            json!({ "default": "report" }),
        ),
        "max_invocations": count("Calls in one turn; further calls are answered without running", 1, MAX_INVOCATIONS),
        "cache": duration("Time for which a successful result answers equal calls without running the tool", MAX_CACHE),
        "sandbox": choice(
            "For a command: `require` a complete sandbox, use the `best-effort` of this machine, or none (`off`)",
            &SANDBOX_LEVELS,
            json!({ "default": "off" }),
        ),
        "cost": described(
            "Price of a call in US dollars",
            json!({ "type": "number", "minimum": 0, "maximum": MAX_COST, "examples": [0.008] }),
        ),
    })
}

/// Returns the policy keys and the keys of `others`.
pub(super) fn keys_and(others: Value) -> Value {
    and(others, keys())
}
