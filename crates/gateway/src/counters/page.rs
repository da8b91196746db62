//! The metrics page.

use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::{Counters, Totals};

impl Counters {
    /// Returns all counters in the Prometheus text format, version 0.0.4.
    pub fn text(&self) -> String {
        let mut page = Page::default();
        self.calls(&mut page, &self.totals());
        self.upstream_states(&mut page);
        page.single("converse_calls_running", "gauge", "Calls that are running.", self.running());
        if let Some(audit) = &self.audit {
            let is_writable = u8::from(audit.is_writable());
            let help = "Whether the audit log can be written (1), or calls are refused (0).";
            page.single("converse_audit_writable", "gauge", help, is_writable);
            let help = "Times that the audit log could no longer be written.";
            page.single("converse_audit_failures_total", "counter", help, audit.failures());
        }
        let open = self.open.load(Ordering::Relaxed);
        page.single("converse_connections", "gauge", "Open connections.", open);
        let accepted = self.accepted.load(Ordering::Relaxed);
        page.single("converse_connections_total", "counter", "Accepted connections.", accepted);
        let sessions = self.sessions.load(Ordering::Relaxed);
        page.single("converse_mcp_sessions", "gauge", "Open MCP sessions.", sessions);
        let uptime = self.began.elapsed().as_secs_f64();
        page.single("converse_uptime_seconds", "gauge", "Time since the start.", uptime);
        let since = self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let help = "Start time of the program since the epoch.";
        page.single("process_start_time_seconds", "gauge", help, since);
        page.head("converse_build_info", "gauge", "The version, as a label.");
        page.line("converse_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.0
    }

    fn upstream_states(&self, page: &mut Page) {
        let all = self.upstreams.all();
        let states: Vec<_> = all.iter().map(|one| (one.ensemble.as_str(), one.upstream.state())).collect();
        if states.is_empty() {
            return;
        }
        page.head("converse_upstream_up", "gauge", "Whether the server is connected, or starts on demand.");
        for (ensemble, state) in &states {
            page.line("converse_upstream_up", &[("ensemble", ensemble)], u8::from(state.is_usable()));
        }
        page.head("converse_upstream_restarts_total", "counter", "How often the server was connected again.");
        for (ensemble, state) in &states {
            page.line("converse_upstream_restarts_total", &[("ensemble", ensemble)], state.restarts());
        }
        let name = "converse_upstream_last_change_timestamp_seconds";
        page.head(name, "gauge", "When the state of the server last changed, since the epoch.");
        for (ensemble, state) in &states {
            let since = state.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            page.line(name, &[("ensemble", ensemble)], since.as_secs_f64());
        }
    }

    fn calls(&self, page: &mut Page, totals: &Totals) {
        page.head("converse_calls_total", "counter", "Ended calls, by tool and outcome.");
        for ((tool, view, outcome), count) in &totals.calls {
            let [tool, view, outcome] = [("tool", &**tool), ("view", view), ("outcome", outcome)];
            match view.1.is_empty() {
                true => page.line("converse_calls_total", &[tool, outcome], count),
                false => page.line("converse_calls_total", &[tool, view, outcome], count),
            }
        }
        let durations = &totals.durations;
        page.head("converse_call_duration_seconds", "histogram", "Duration of calls, including waiting.");
        for (bound, count) in durations.buckets() {
            page.line("converse_call_duration_seconds_bucket", &[("le", &bound.to_string())], count);
        }
        page.line("converse_call_duration_seconds_bucket", &[("le", "+Inf")], durations.count());
        page.line("converse_call_duration_seconds_sum", &[], durations.sum());
        page.line("converse_call_duration_seconds_count", &[], durations.count());
        page.head(
            "converse_calls_not_accepted_total",
            "counter",
            "Calls that were answered at once, by limit.",
        );
        for (limit, count) in &totals.not_accepted {
            page.line("converse_calls_not_accepted_total", &[("limit", limit)], count);
        }
        page.head("converse_requests_refused_total", "counter", "Refused requests, by reason.");
        for (reason, count) in &totals.refused {
            page.line("converse_requests_refused_total", &[("reason", reason)], count);
        }
        page.head("converse_reloads_total", "counter", "Changed configurations, by what became of them.");
        for (outcome, count) in &totals.reloads {
            page.line("converse_reloads_total", &[("outcome", outcome)], count);
        }
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{opening}{label}=\"{}\"", escaped(value));
        }
        let closing = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{closing} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
