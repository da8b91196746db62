//! The audit log of a principal: its records as they are, the last first, and whether its chain is whole.

use converse_host::audit::place;
use http::StatusCode;
use serde_json::json;

use super::Caller;
use super::failure::ApiFailure;
use super::parameters::Parameters;
use crate::front::{Front, json_reply};
use crate::http_server::Reply;

/// The records of a page.
const PAGE: usize = 100;

impl Front {
    /// `GET /api/audit`. The first page says whether the log is whole.
    pub(super) async fn audit(&self, caller: &Caller, query: &Parameters<'_>) -> Result<Reply, ApiFailure> {
        let before = query.number("cursor")?.map(|seq| seq as u64);
        let session = query.text("session").map(str::to_owned);
        let Some(place) = place(&caller.world) else {
            return Ok(json_reply(StatusCode::OK, &json!({ "items": [], "verified": true })));
        };
        let read = self.heavy_work.run(move || {
            let verified = before.is_none().then(|| place.is_whole()).transpose();
            (place.records(before, session.as_deref(), PAGE), verified)
        });
        let (items, verified) = read.await?;
        let unreadable = |error: std::io::Error| {
            if caller.world.database.is_some() {
                return ApiFailure::no_database(&error);
            }
            ApiFailure::new(StatusCode::INTERNAL_SERVER_ERROR, "audit-unreadable", error.to_string())
        };
        let items = items.map_err(unreadable)?;
        let next = items.last().filter(|_| items.len() == PAGE).map(|last| last["seq"].to_string());
        let mut body = json!({ "items": items });
        if let Some(next) = next {
            body["next"] = json!(next);
        }
        if let Some(verified) = verified? {
            body["verified"] = json!(verified);
        }
        Ok(json_reply(StatusCode::OK, &body))
    }
}
