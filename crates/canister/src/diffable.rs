//! JSON for people and for a diff: indented, with long texts on several lines.

use serde_json::Value;

/// Characters of a text in one line.
const WIDTH: usize = 96;

/// Formats a value for a diff. Texts are split after their line breaks, and long lines too, so that a diff shows the
/// differing part.
pub fn diffable(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.push('\n');
    text
}

fn write(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                begin(at, depth + 1, text);
                write(item, depth + 1, text);
            }
            end(']', depth, text);
        }
        Value::Object(members) if !members.is_empty() => {
            text.push('{');
            for (at, (key, item)) in members.iter().enumerate() {
                begin(at, depth + 1, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                write(item, depth + 1, text);
            }
            end('}', depth, text);
        }
        Value::String(long) => {
            let written = pieces(long).map(|piece| Value::from(piece).to_string());
            text.push_str(&written.collect::<Vec<_>>().join(&format!("\n{}", "  ".repeat(depth + 1))));
        }
        other => text.push_str(&other.to_string()),
    }
}

fn begin(at: usize, depth: usize, text: &mut String) {
    text.push_str(if at == 0 { "\n" } else { ",\n" });
    text.push_str(&"  ".repeat(depth));
}

fn end(mark: char, depth: usize, text: &mut String) {
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(mark);
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let now = rest.take()?;
        let at = cut(now);
        let (piece, left) = now.split_at(at);
        rest = Some(left).filter(|left| !left.is_empty());
        Some(piece)
    })
}

/// Returns the end of the first piece: after a line break, or at the first blank after [`WIDTH`] characters.
fn cut(text: &str) -> usize {
    let line = text.find('\n').map_or(text.len(), |at| at + 1);
    let wide = text.char_indices().nth(WIDTH).map_or(text.len(), |(at, _)| at);
    let blank = |from: &str| from.find(' ').map_or(from.len(), |at| at + 1);
    let wide = wide + text.get(wide..).map_or(0, blank);
    line.min(wide)
}
