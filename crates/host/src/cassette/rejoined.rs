//! Secrets in a stream that begin in one event and end in another.
//!
//! Pieces of one text are known by their place: the path in the JSON, and the numbers (`index`, `output_index`,
//! `content_index`, …) next to it that distinguish concurrent calls and blocks. Text is moved only as far as a secret
//! reaches: its first piece gets the cleaned part, and the others nothing.

use std::collections::HashMap;
use std::fmt::Write as _;

use converse_session::Redact;
use serde_json::{Map, Value};

/// A piece of JSON in an event or a text, and its position.
pub(crate) struct Piece {
    pub(crate) event: usize,
    pub(crate) line: usize,
    pub(crate) prefix: &'static str,
    pub(crate) end: String,
    pub(crate) value: Value,
    pub(crate) changed: bool,
}

/// Places in a stream's events that are looked at together; streams have some dozens.
const MAX_PLACES: usize = 16 * 1024;
/// Secrets of one place that are looked for one by one; beyond that the first piece gets all that is left.
const MAX_SECRETS: usize = 256;

pub(crate) fn rejoined(pieces: &mut [Piece], redact: &dyn Redact) {
    let mut texts: HashMap<String, String> = HashMap::new();
    for piece in &*pieces {
        visit(&piece.value, &mut |place, _, text| {
            if let Some(whole) = texts.get_mut(place) {
                whole.push_str(text);
            } else if texts.len() < MAX_PLACES {
                texts.insert(place.to_owned(), text.to_owned());
            }
        });
    }
    texts.retain(|_, whole| redact.text(whole) != *whole);
    if texts.is_empty() {
        return;
    }
    let mut parts: HashMap<String, Parts> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        visit(&piece.value, &mut |place, pointer, text| {
            if texts.contains_key(place) {
                let parts = parts.entry(place.to_owned()).or_default();
                parts.places.push((at, pointer.to_owned()));
                parts.texts.push(text.to_owned());
            }
        });
    }
    for Parts { places, mut texts } in parts.into_values() {
        clean(&mut texts, redact);
        for ((at, pointer), text) in places.into_iter().zip(texts) {
            let Some(piece) = pieces.get_mut(at) else { continue };
            if let Some(value) = piece.value.pointer_mut(&pointer)
                && value.as_str() != Some(&text)
            {
                *value = Value::String(text);
                piece.changed = true;
            }
        }
    }
}

/// All that is said at one place: in which piece, where there, and what.
#[derive(Default)]
struct Parts {
    places: Vec<(usize, String)>,
    texts: Vec<String>,
}

/// Removes each secret from the parts that contain it.
fn clean(mut parts: &mut [String], redact: &dyn Redact) {
    let whole = |parts: &[String]| {
        let text = parts.concat();
        (redact.text(&text), text)
    };
    let is_secret = |parts: Option<&[String]>| parts.map(whole).is_some_and(|(clean, text)| clean != text);
    for left in (0..MAX_SECRETS).rev() {
        if !is_secret(Some(parts)) {
            return;
        }
        // The fewest parts from the first that show one, and of these the fewest to the last. The last time, all.
        let shown = least(parts.len(), |count| is_secret(parts.get(..count)));
        let before = shown - least(shown, |count| is_secret(parts.get(shown - count..shown)));
        let (first, mut end) = if left == 0 { (0, parts.len()) } else { (before, shown) };
        let Some((_, from)) = parts.split_at_mut_checked(first) else { return };
        end -= first;
        // A key that is recognised by its beginning is found before its end.
        while let (Some(so_far), Some(longer), Some(next)) =
            (from.get(..end), from.get(..=end), from.get(end))
        {
            if whole(longer).0 == whole(so_far).0 + &redact.text(next) {
                break;
            }
            end += 1;
        }
        let mut text = from.get(..end).map(|parts| whole(parts).0);
        for part in from.iter_mut().take(end) {
            *part = text.take().unwrap_or_default();
        }
        parts = from;
    }
}

/// The least count from 1 to `most` of which it holds; it does of `most`, and of all that are larger than one of which it
/// does.
fn least(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Every text that is not empty: its place, its JSON pointer, itself.
fn visit(value: &Value, each: &mut impl FnMut(&str, &str, &str)) {
    walk(value, &mut String::new(), &mut String::new(), each);
}

fn walk(value: &Value, place: &mut String, pointer: &mut String, each: &mut impl FnMut(&str, &str, &str)) {
    let (place_ends, pointer_ends) = (place.len(), pointer.len());
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => each(place, pointer, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                // An item with its own number may be at any position of its list.
                let _ = match item.get("index") {
                    Some(Value::Number(_)) => write!(place, "/"),
                    _ => write!(place, "/{at}"),
                };
                let _ = write!(pointer, "/{at}");
                walk(item, place, pointer, each);
                place.truncate(place_ends);
                pointer.truncate(pointer_ends);
            }
        }
        Value::Object(members) => {
            number(members, place);
            let place_ends = place.len();
            for (key, item) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                let _ = write!(place, "/{key}");
                let _ = write!(pointer, "/{key}");
                walk(item, place, pointer, each);
                place.truncate(place_ends);
                pointer.truncate(pointer_ends);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    place.truncate(place_ends);
}

/// Which of several it is, as it says of itself.
fn number(members: &Map<String, Value>, place: &mut String) {
    for (key, value) in members.iter().filter(|(key, _)| *key == "index" || key.ends_with("_index")) {
        if let Value::Number(number) = value {
            let _ = write!(place, "#{key}={number}");
        }
    }
}
