//! Parses a line into an entry.
//!
//! Most lines are messages, and a long conversation is parsed at every start. So a line in the usual form takes a fast
//! path: its fields are expected in order, and the message, whose first key is its role, is parsed directly into its type.
//! Every other form takes the slow path to the same entry.

use std::borrow::Cow;

use converse_canister::Canister;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::entry::{BadLine, KNOWN, MAX_DEPTH};
use crate::{Body, Entry, sum};

#[derive(Deserialize)]
struct Head<'a> {
    seq: u64,
    at: Timestamp,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// Parses a line whose checksum, if any, is already checked.
pub(crate) fn entry(line: &[u8]) -> Result<Entry, BadLine> {
    if is_deep(line) {
        return Err(BadLine::TooDeep);
    }
    if let Some(entry) = message(line) {
        return Ok(entry);
    }
    let head: Head<'_> = read(line)?;
    let known = KNOWN.contains(&&*head.kind);
    let body = if known { read(line)? } else { Body::Other(other(line)?) };
    Ok(Entry { seq: head.seq, at: head.at, body })
}

/// Parses a message in the usual form; `None` for any other line.
fn message(line: &[u8]) -> Option<Entry> {
    let (seq, rest) = until(line.strip_prefix(b"{\"seq\":")?, b',')?;
    let (at, rest) = until(rest.strip_prefix(b"\"at\":\"")?, b'"')?;
    let rest = rest.strip_prefix(b",\"type\":\"canister\",\"canister\":")?;
    let seq = if seq.bytes().all(|digit| digit.is_ascii_digit()) { seq.parse().ok()? } else { return None };
    let canister = canister(sum::without(rest)?).ok()?;
    Some(Entry { seq, at: at.parse().ok()?, body: Body::Canister { canister } })
}

fn until(bytes: &[u8], end: u8) -> Option<(&str, &[u8])> {
    let at = bytes.iter().position(|byte| *byte == end)?;
    let (word, rest) = bytes.split_at_checked(at)?;
    Some((std::str::from_utf8(word).ok()?, rest.get(1..)?))
}

/// Returns the format that a first line names, even if nothing else of it is understood.
pub(crate) fn format_of(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct First<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        format: u64,
    }
    let first: First<'_> = if is_deep(line) { None } else { read(line).ok() }?;
    (first.kind == "opened").then_some(first.format)
}

fn canister(json: &[u8]) -> Result<Canister, serde_json::Error> {
    let role = json.strip_prefix(b"{\"role\":\"").and_then(|rest| until(rest, b'"')).map(|(role, _)| role);
    match role {
        Some("supervisor") => read(json).map(Canister::Supervisor),
        Some("user") => read(json).map(Canister::User),
        Some("document") => read(json).map(Canister::Document),
        Some("assistant") => read(json).map(Canister::Assistant),
        Some("invocation") => read(json).map(Canister::Invocation),
        Some("result") => read(json).map(Canister::Result),
        _ => read(json),
    }
}

/// Returns all fields of a valid line, in order.
pub(crate) fn fields(line: &[u8]) -> Result<Map<String, Value>, BadLine> {
    Ok(read(line)?)
}

/// Returns the fields other than number, time, mark of a sync and checksum.
fn other(line: &[u8]) -> Result<Map<String, Value>, serde_json::Error> {
    let mut fields: Map<String, Value> = read(line)?;
    fields.retain(|name, _| !matches!(name.as_str(), "seq" | "at" | "synced" | "sum"));
    Ok(fields)
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Returns whether the nesting exceeds the limit. Nearly every line has fewer brackets than the limit, and counting
/// brackets is much faster than measuring depth.
pub(crate) fn is_deep(json: &[u8]) -> bool {
    memchr::memchr2_iter(b'{', b'[', json).nth(MAX_DEPTH).is_some() && depth(json) > MAX_DEPTH
}

/// Returns the depth of brackets outside strings.
fn depth(json: &[u8]) -> usize {
    let (mut now, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use converse_canister::User;

    use super::*;

    #[test]
    fn brackets_within_strings_are_no_levels() {
        assert_eq!(depth(br#"{"a":"[[[[","b\"{":[{}]}"#), 3);
        let text = format!("[\"{}\"]", "[".repeat(1000));
        assert!(!is_deep(text.as_bytes()));
        assert!(is_deep(&b"[".repeat(MAX_DEPTH + 1)));
    }

    #[test]
    fn a_message_is_the_same_in_any_order_of_its_fields() {
        let ours = |canister: &str| {
            format!(r#"{{"seq":7,"at":"2026-11-20T10:11:12Z","type":"canister","canister":{canister}}}"#)
        };
        let turned = |canister: &str| {
            format!(r#"{{"canister":{canister},"type":"canister","at":"2026-11-20T10:11:12Z","seq":7}}"#)
        };
        let more = |canister: &str| ours(canister).replace("}}", "},\"later\":{}}");
        let expected = Body::Canister { canister: Canister::User(User::text("hi")) };
        for message in [
            r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
            r#"{ "role" : "user", "content":[{"text":"hi","type":"text"}]}"#,
            r#"{"content":[{"type":"text","text":"hi"}],"role":"user"}"#,
        ] {
            for line in [ours(message), turned(message), more(message)] {
                let mut sealed = line.as_bytes().to_vec();
                sum::seal(&mut sealed);
                let entries = [line.as_bytes(), &sealed].map(|line| entry(line).unwrap());
                assert!(entries.iter().all(|entry| entry.seq == 7 && entry.body == expected), "{line}");
                assert_eq!(super::message(&sealed).is_some(), line == ours(message), "{line}");
            }
        }
        for bad in [r#"{"role":"nobody"}"#, r#"{"role":"user"}"#, "null", "{}"] {
            assert!(entry(ours(bad).as_bytes()).is_err() && entry(turned(bad).as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_format_is_found_in_a_first_line_of_any_shape() {
        assert_eq!(format_of(br#"{"type":"opened","format":9,"new":true}"#), Some(9));
        for other in ["", "{", "[]", r#"{"type":"note","format":9}"#, r#"{"type":"opened","format":"9"}"#] {
            assert_eq!(format_of(other.as_bytes()), None, "{other}");
        }
    }
}
