//! `current_datetime`: the time somewhere, in the words asked for.
//!
//! The clock is handed in. The zone data is in the binary, so an empty container knows as much as a desktop; the
//! machine's own zone is not asked for. `local` is what `timezone` under `[configuration]` says, else UTC.

mod places;
mod zones;

use std::sync::Arc;

use converse_canister::Arguments;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::arguments::text;
use super::{BuildError, Clock, Settings};
use crate::{Answer, Context, Invocable, InvokeError};
use zones::Zone;

pub(super) fn build(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    let utc = || Zone { name: "UTC".to_owned(), zone: TimeZone::UTC };
    let local = match settings.text("timezone")? {
        None => utc(),
        Some(asked) => zones::find(asked, &utc()).map_err(|reason| BuildError { key: "timezone", reason })?,
    };
    Ok(Arc::new(CurrentDatetime { clock: Arc::clone(&settings.clock), local }))
}

struct CurrentDatetime {
    clock: Clock,
    local: Zone,
}

impl Invocable for CurrentDatetime {
    fn invoke<'a>(
        &'a self,
        _: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        Box::pin(std::future::ready(self.answer(arguments)))
    }
}

impl CurrentDatetime {
    fn answer(&self, arguments: &Arguments) -> Result<Answer, InvokeError> {
        let zone = match text(arguments, "timezone")? {
            None => self.local.clone(),
            Some(asked) => zones::find(asked, &self.local).map_err(InvokeError::Invalid)?,
        };
        let format = text(arguments, "format")?.unwrap_or("human");
        let now = (self.clock)().to_zoned(zone.zone);
        let text = written(&now, format).map_err(InvokeError::Invalid)?;
        Ok(Answer::structured(described(&now, &zone.name, text)))
    }
}

fn described(now: &Zoned, zone: &str, text: String) -> Value {
    json!({
        "timezone": zone,
        "datetime": rfc3339(now),
        "text": text,
        "utc_offset": now.strftime("%:z").to_string(),
        "weekday": now.strftime("%A").to_string(),
        "unix": now.timestamp().as_second(),
    })
}

fn written(now: &Zoned, format: &str) -> Result<String, String> {
    Ok(match format {
        "human" => now.strftime("%A, %-d %B %Y, %H:%M:%S (UTC%:z)").to_string(),
        "iso" => rfc3339(now),
        "rfc2822" => jiff::fmt::rfc2822::to_string(now).map_err(|error| error.to_string())?,
        "date" => now.strftime("%Y-%m-%d").to_string(),
        "time" => now.strftime("%H:%M:%S").to_string(),
        "unix" => now.timestamp().as_second().to_string(),
        _ => return Err("`format` must be one of human, iso, rfc2822, date, time, unix".to_owned()),
    })
}

fn rfc3339(now: &Zoned) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests;
