//! What turns and tools cost, and the invocations behind each figure.

use converse_canister::{Cost, Outcome};
use converse_host::turn::sessions;
use converse_session::stats::{
    Calls, Cursor, Figures, Folding, ListedCall, Outcomes, Page, Pattern, Sketch, Spent, StatsFilter,
};
use http::StatusCode;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::Caller;
use super::failure::ApiFailure;
use super::parameters::Parameters;
use crate::front::{Front, json_reply};
use crate::http_server::Reply;

/// The most invocations of a page.
const MAX_PAGE: usize = 200;

impl Front {
    /// `GET /api/figures`. Reads the journals that were written since the first day.
    pub(super) async fn figures(&self, caller: &Caller, query: &Parameters<'_>) -> Result<Reply, ApiFailure> {
        let by = query.text("by").unwrap_or("day").to_owned();
        if !["day", "model", "tool"].contains(&by.as_str()) {
            return Err(ApiFailure::bad_request("`by` is day, model or tool"));
        }
        let folding = self.folded(caller, Folding::new(wanted(query)?).of_project(project(query))).await?;
        let figures = folding.figures();
        let body = json!({ "rows": rows(&figures, &by), "total": total(&figures) });
        Ok(json_reply(StatusCode::OK, &body))
    }

    /// `GET /api/invocations`: the last ones first.
    pub(super) async fn invocations(
        &self,
        caller: &Caller,
        query: &Parameters<'_>,
    ) -> Result<Reply, ApiFailure> {
        let mut wanted = wanted(query)?;
        if let Some(day) = day(query, "day")? {
            (wanted.since, wanted.until) = (Some(day), Some(day));
        }
        let cursor = query.text("cursor").map(str::parse::<Cursor>).transpose();
        let cursor = cursor.map_err(|()| ApiFailure::bad_request("the cursor is not valid"))?;
        let limit = query.number("limit")?.unwrap_or(50).clamp(1, MAX_PAGE);
        let page = Page::new(cursor, limit, outcomes(query.text("outcome"))?);
        let folding =
            self.folded(caller, Folding::new(wanted).of_project(project(query)).listing(page)).await?;
        let (calls, next) = folding.into_page().map(Page::into_calls).unwrap_or_default();
        let items = calls.into_iter().map(|(place, call)| self.invocation(place, call));
        let mut body = json!({ "items": items.collect::<Vec<_>>() });
        if let Some(next) = next {
            body["next"] = json!(next.to_string());
        }
        Ok(json_reply(StatusCode::OK, &body))
    }

    async fn folded(&self, caller: &Caller, mut folding: Folding) -> Result<Folding, ApiFailure> {
        let Some(store) = sessions::store(&caller.world) else { return Ok(folding) };
        let folded = self.heavy_sessions.run(move || folding.read_all(&store).map(|()| folding)).await;
        Ok(folded??)
    }

    fn invocation(&self, place: Cursor, mut call: ListedCall) -> Value {
        self.redactor.clean_json(&mut call.arguments);
        let (ensemble, tool) = call.tool.split_once('.').unwrap_or(("", &call.tool));
        json!({
            "session": place.session().to_string(),
            "index": call.index,
            "id": call.id.to_string(),
            "at": place.at().to_string(),
            "model": call.model,
            "ensemble": ensemble,
            "tool": tool,
            "outcome": call.outcome,
            "elapsed_ms": call.milliseconds.unwrap_or(0),
            "arguments": call.arguments,
        })
    }
}

/// Days are those of UTC.
fn wanted(query: &Parameters<'_>) -> Result<StatsFilter, ApiFailure> {
    let pattern = |name| query.text(name).map(Pattern::new);
    let (since, until) = (day(query, "since")?, day(query, "until")?);
    Ok(StatsFilter { zone: TimeZone::UTC, since, until, model: pattern("model"), tool: pattern("tool") })
}

fn project(query: &Parameters<'_>) -> Option<String> {
    query.text("project").map(str::to_owned)
}

/// Returns a parameter that is a day, or a time whose day counts.
fn day(query: &Parameters<'_>, name: &str) -> Result<Option<Date>, ApiFailure> {
    let wrong = || ApiFailure::bad_request(format!("`{name}` is not a day such as 2026-11-23"));
    let read = |text: &str| {
        let time = || Some(TimeZone::UTC.to_datetime(text.parse::<Timestamp>().ok()?).date());
        if text.len() == 10 { text.parse().ok() } else { time() }
    };
    query.text(name).map(|text| read(text).ok_or_else(wrong)).transpose()
}

fn outcomes(word: Option<&str>) -> Result<Outcomes, ApiFailure> {
    let Some(word) = word else { return Ok(Outcomes::All) };
    if word == "failed" {
        return Ok(Outcomes::Failed);
    }
    let outcome: Result<Outcome, _> = serde_json::from_value(word.into());
    outcome.map(Outcomes::Only).map_err(|_| ApiFailure::bad_request("`outcome` is not an outcome"))
}

fn rows(figures: &Figures, by: &str) -> Vec<Value> {
    match by {
        "day" => {
            let days = figures.days.iter();
            days.map(|(day, one)| row(&day.to_string(), one.turns, &one.spent, &one.calls, &one.time))
                .collect()
        }
        "model" => {
            let mut models: Vec<_> = figures.models.iter().collect();
            models.sort_by_key(|(_, one)| std::cmp::Reverse(one.spent.tokens()));
            models
                .into_iter()
                .map(|(name, one)| row(name, one.turns, &one.spent, &one.calls, &one.time))
                .collect()
        }
        _ => {
            let mut tools: Vec<_> = figures.tools.iter().collect();
            tools.sort_by_key(|(_, one)| std::cmp::Reverse(one.calls.calls));
            let none = Spent::default();
            tools.into_iter().map(|(name, one)| row(name, 0, &none, &one.calls, &one.time)).collect()
        }
    }
}

fn total(figures: &Figures) -> Value {
    row("total", figures.turns, &figures.spent, &figures.calls, &figures.time)
}

fn row(key: &str, turns: u64, spent: &Spent, calls: &Calls, time: &Sketch) -> Value {
    let mut row = json!({
        "key": key,
        "turns": turns,
        "invocations": calls.calls,
        "failures": calls.calls - calls.of(Outcome::Success),
        "input_tokens": spent.input,
        "cached_input_tokens": spent.cache_read,
        "output_tokens": spent.output,
    });
    let cost = spent.cost.plus(calls.cost);
    // Without any known price the cost is unknown, not zero.
    if cost != Cost::default() || (spent.replies > 0 && spent.unpriced < spent.replies) {
        row["cost"] = json!({ "dollars": cost.dollars().to_string() });
    }
    if let (Some(p50), Some(p95)) = (time.quantile(0.5), time.quantile(0.95)) {
        row["latency_ms"] = json!({ "p50": p50, "p95": p95 });
    }
    row
}
