//! Details of Google's errors beyond status and message: `error.details`, a list of typed objects.
//!
//! `RetryInfo.retryDelay` is a duration of protobuf (`"17s"`, `"0.5s"`); `ErrorInfo.reason` a code
//! (`API_KEY_INVALID`, which comes with a 400); `QuotaFailure` names the quota, and one for a day is not over in a
//! minute. <https://ai.google.dev/gemini-api/docs/troubleshooting>,
//! <https://google.aip.dev/193>; that daily quotas are named so:
//! <https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/googleQuotaErrors.ts> (checked 2026-11).

use std::time::Duration;

use serde_json::Value;

fn details(body: &Value) -> impl Iterator<Item = &Value> {
    body.pointer("/error/details").and_then(Value::as_array).into_iter().flatten().take(16)
}

/// Returns the delay that the body requests.
pub(crate) fn retry_delay(body: &Value) -> Option<Duration> {
    let delay = details(body).find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.trim().strip_suffix('s')?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// Codes such as `API_KEY_INVALID`.
pub(crate) fn reasons(body: &Value) -> impl Iterator<Item = String> {
    details(body).filter_map(|detail| detail.get("reason")?.as_str()).map(str::to_owned)
}

/// Returns whether a daily quota is used up.
pub(crate) fn spent_for_today(body: &Value) -> bool {
    details(body)
        .filter_map(|detail| detail.get("violations")?.as_array())
        .flatten()
        .filter_map(|violation| violation.get("quotaId")?.as_str())
        .any(|quota| quota.contains("PerDay"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_wait_is_read_and_nonsense_is_not() {
        for (delay, after) in [
            (json!("17s"), Some(Duration::from_secs(17))),
            (json!("0.5s"), Some(Duration::from_millis(500))),
            (json!("0s"), Some(Duration::ZERO)),
            (json!("-1s"), None),
            (json!("infs"), None),
            (json!("1e300s"), None),
            (json!("17"), None),
            (json!("s"), None),
            (json!(17), None),
        ] {
            let body = json!({"error": {"details": [{"reason": "X"}, {"retryDelay": delay}]}});
            assert_eq!(retry_delay(&body), after, "{delay}");
        }
    }
}
