//! Log messages of servers: cleaned, rate-limited and written to our own log.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging> (checked 2026-11).
#![expect(deprecated, reason = "servers still send logs")]

use std::time::Duration;

use converse_config::LogLevel;
use converse_ensemble::ServerLog;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, RequestMetaObject, SetLevelRequestParams};
use rmcp::service::Peer;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::Era;
use crate::sanitize;

/// Lines logged per window; further ones are counted.
const MAX_LINES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// Bytes of a line.
const LINE: usize = 1024;
/// Limit for `logging/setLevel`.
const SETTING: Duration = Duration::from_secs(10);

/// The log of one connection.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    dropped: u64,
    /// Messages that no client got, because nobody knows whose call they belong to.
    withheld: u64,
}

impl Log {
    /// Logs a message. Returns the text of warnings and errors, which the user should also see as progress.
    pub(crate) fn record(&self, ensemble: &str, message: &LoggingMessageNotificationParam) -> Option<String> {
        let dropped = self.passes()?;
        if dropped > 0 {
            tracing::info!(target: "converse_mcp::server", ensemble, "{dropped} lines of the server log were dropped");
        }
        let text = match &message.data {
            Value::String(text) => sanitize::clean(text, LINE),
            data => sanitize::clean(&data.to_string(), LINE),
        };
        let text = match &message.logger {
            Some(logger) => format!("{}: {text}", sanitize::clean(logger, 100)),
            None => text,
        };
        match message.level {
            LoggingLevel::Debug => tracing::debug!(target: "converse_mcp::server", ensemble, "{text}"),
            LoggingLevel::Info | LoggingLevel::Notice => {
                tracing::info!(target: "converse_mcp::server", ensemble, "{text}");
            }
            // An error of the server is not an error of converse.
            _ => {
                tracing::warn!(target: "converse_mcp::server", ensemble, "{text}");
                return Some(text);
            }
        }
        None
    }

    /// Counts a message that no client gets, and logs the count each time that it has doubled.
    pub(crate) fn withhold(&self, ensemble: &str) {
        let mut window = self.0.lock();
        window.withheld += 1;
        if window.withheld.is_power_of_two() {
            let count = window.withheld;
            tracing::info!(target: "converse_mcp::server", ensemble, "{count} log messages were passed on to no client: \
                several principals call this server, and a message does not say whose call it belongs to");
        }
    }

    /// Counts a line. Returns the number of lines dropped before it, or `None` if the line itself is dropped.
    fn passes(&self) -> Option<u64> {
        let mut window = self.0.lock();
        let now = Instant::now();
        if window.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (window.began, window.lines) = (Some(now), 0);
        }
        if window.lines >= MAX_LINES {
            window.dropped += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.dropped))
    }
}

/// Sets the log level of a legacy server that declares `logging`. Modern servers receive the level with each request.
pub(crate) fn set_level(peer: &Peer<RoleClient>, era: Era, level: Option<LogLevel>) {
    let has_log = peer.peer_info().is_some_and(|info| info.capabilities.logging.is_some());
    let Some(level) = level.filter(|_| era == Era::Legacy && has_log) else { return };
    let peer = peer.clone();
    tokio::spawn(async move {
        let set = peer.set_level(SetLevelRequestParams::new(of(level)));
        if !matches!(timeout(SETTING, set).await, Ok(Ok(()))) {
            tracing::debug!("a server did not accept the log level");
        }
    });
}

/// Returns the `_meta` of requests to a modern server, which sets the log level.
pub(crate) fn meta(era: Era, level: Option<LogLevel>) -> Option<RequestMetaObject> {
    let level = level.filter(|_| era == Era::Modern)?;
    let mut meta = RequestMetaObject::new();
    meta.set_log_level(of(level));
    Some(meta)
}

/// Returns the message as the server wrote it, for clients of a gateway.
pub(crate) fn server_log(log: LoggingMessageNotificationParam) -> ServerLog {
    let level = match log.level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        LoggingLevel::Emergency => LogLevel::Emergency,
    };
    ServerLog { level, logger: log.logger, data: log.data }
}

fn of(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(level: &str, data: Value) -> LoggingMessageNotificationParam {
        serde_json::from_value(json!({ "level": level, "data": data })).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn excess_lines_are_dropped_and_counted() {
        let log = Log::default();
        let passed = |log: &Log| (0..10_000).filter(|_| log.passes().is_some()).count();
        assert_eq!(passed(&log), 100);
        tokio::time::advance(WINDOW).await;
        assert_eq!(log.passes(), Some(9900), "what was left out is known");
        assert_eq!((log.passes(), passed(&log)), (Some(0), 98));
    }

    #[tokio::test]
    async fn warnings_are_returned_and_clean() {
        let log = Log::default();
        for (level, data, reported) in [
            ("debug", json!("x"), None),
            ("notice", json!("x"), None),
            ("warning", json!("a\u{1b}[31m\nb"), Some("a\\x1b[31m b")),
            ("emergency", json!({ "a": 1 }), Some("{\"a\":1}")),
        ] {
            assert_eq!(log.record("e", &line(level, data)).as_deref(), reported, "{level}");
        }
        let long = log.record("e", &line("error", json!("x".repeat(5000)))).unwrap();
        assert!(long.len() <= LINE + '…'.len_utf8());
    }
}
