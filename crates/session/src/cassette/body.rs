//! The body of a response: events and lines one by one, all else as it came.
//!
//! A stream is kept as what it says, not as how it was cut into packets: a cassette is the same wherever it is recorded.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Redact, redact_across};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Each with everything that ends it.
    Events(Vec<String>),
    Text(String),
    Base64(String),
}

impl Kept {
    /// `content_type` tells whether it is a stream.
    pub fn of(content_type: &str, bytes: &[u8], redact: &dyn Redact) -> Self {
        // Half a character at the end of what broke off is nothing that anybody could read.
        let whole = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let bytes = if bytes.len() - whole < 4 { bytes.get(..whole).unwrap_or_default() } else { bytes };
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => Self::from_text(content_type, text, redact),
            // Stored exactly only if it contains no secret, because a secret in base64 would not be found.
            Cow::Owned(text) => match Self::from_text(content_type, &text, redact) {
                clean if clean.text() == text => Self::Base64(STANDARD.encode(bytes)),
                clean => clean,
            },
        }
    }

    /// A text, without secrets.
    fn from_text(content_type: &str, text: &str, redact: &dyn Redact) -> Self {
        let kind = content_type.trim_start().to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return Self::Events(cleaned(events(text), redact));
        }
        if kind.contains("ndjson") || kind.contains("jsonl") {
            return Self::Events(cleaned(text.split_inclusive('\n').map(str::to_owned).collect(), redact));
        }
        Self::Text(cleaned(vec![text.to_owned()], redact).concat())
    }

    fn text(&self) -> String {
        match self {
            Self::Events(events) => events.concat(),
            Self::Text(text) | Self::Base64(text) => text.clone(),
        }
    }

    /// In the pieces that it is handed on in.
    pub fn pieces(&self) -> Result<Vec<Bytes>, String> {
        Ok(match self {
            Self::Events(events) => events.iter().map(|event| Bytes::from(event.clone())).collect(),
            Self::Text(text) => vec![Bytes::from(text.clone())],
            Self::Base64(text) => {
                vec![STANDARD.decode(text).map_err(|error| format!("not base64: {error}"))?.into()]
            }
        })
    }
}

/// A piece of JSON in an event or a text, and its position.
struct Piece {
    event: usize,
    line: usize,
    prefix: &'static str,
    end: String,
    value: Value,
    changed: bool,
}

/// Cut behind each blank line.
fn events(text: &str) -> Vec<String> {
    let mut events = vec![String::new()];
    let mut ended = false;
    for line in text.split_inclusive('\n') {
        let blank = line.trim_end_matches(['\r', '\n']).is_empty();
        if ended && !blank {
            events.push(String::new());
        }
        ended = blank;
        if let Some(event) = events.last_mut() {
            event.push_str(line);
        }
    }
    events.retain(|event| !event.is_empty());
    events
}

/// Without secrets: in no event, and in no text that is put together of several.
fn cleaned(events: Vec<String>, redact: &dyn Redact) -> Vec<String> {
    let mut lines: Vec<Vec<String>> = events.iter().map(|event| rows(event)).collect();
    let mut pieces = Vec::new();
    for (event, rows) in lines.iter_mut().enumerate() {
        for (line, row) in rows.iter_mut().enumerate() {
            match piece(row) {
                Some((prefix, value, end)) => {
                    pieces.push(Piece { event, line, prefix, end, value, changed: false });
                }
                None => *row = redact.text(row),
            }
        }
    }
    // Secrets across several pieces come first: after a partial redaction, the rest could not be recognised.
    let mut values: Vec<&mut Value> = pieces.iter_mut().map(|piece| &mut piece.value).collect();
    let changed = redact_across(&mut values, redact);
    for (at, piece) in pieces.iter_mut().enumerate() {
        let mut clean = piece.value.clone();
        redact.json(&mut clean);
        piece.changed = changed.contains(&at) || clean != piece.value;
        piece.value = clean;
    }
    for Piece { event, line, prefix, end, value, .. } in pieces.iter().filter(|piece| piece.changed) {
        if let Some(row) = lines.get_mut(*event).and_then(|rows| rows.get_mut(*line)) {
            *row = format!("{prefix}{value}{end}");
        }
    }
    lines.into_iter().map(|rows| rows.concat()).collect()
}

/// Returns the lines of an event. A text that is entirely JSON is one line.
fn rows(event: &str) -> Vec<String> {
    if piece(event).is_some() {
        return vec![event.to_owned()];
    }
    event.split_inclusive('\n').map(str::to_owned).collect()
}

fn piece(row: &str) -> Option<(&'static str, Value, String)> {
    let text = row.trim_end_matches(['\r', '\n']);
    let end = row.get(text.len()..)?.to_owned();
    let (prefix, json) = ["data: ", "data:"]
        .into_iter()
        .find_map(|prefix| Some((prefix, text.strip_prefix(prefix)?)))
        .unwrap_or(("", text));
    let value: Value = serde_json::from_str(json).ok()?;
    (value.is_object() || value.is_array()).then_some((prefix, value, end))
}
