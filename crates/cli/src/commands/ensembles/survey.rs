//! What a server says of itself, once it is connected.

use converse_mcp::{Era, Survey};
use serde_json::{Value, json};

use converse_host::wording::counted;
use converse_text::safe_line;

pub(super) fn json(survey: &Survey) -> Value {
    json!({
        "name": survey.server,
        "version": survey.version,
        "era": era(survey.era),
        "protocol": survey.protocol,
        "offered": survey.offered,
        "kept": survey.kept,
        "skipped": survey.skipped,
        "took_s": survey.took.as_secs_f64(),
    })
}

pub(super) fn line(survey: &Survey) -> String {
    let left_out = match survey.offered.saturating_sub(survey.kept) {
        0 => String::new(),
        count => format!(" of {} ({count} not used)", count + survey.kept),
    };
    format!(
        "{} {}, MCP {} ({}), {}{left_out}, ready in {:.2} s",
        safe_line(&survey.server, 80),
        safe_line(&survey.version, 40),
        safe_line(&survey.protocol, 20),
        era(survey.era),
        counted(survey.kept, "tool"),
        survey.took.as_secs_f64(),
    )
}

fn era(era: Era) -> &'static str {
    match era {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}
