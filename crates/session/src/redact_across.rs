//! Secrets in a stream that begin in one event and end in another.
//!
//! Pieces of one text are known by their place: the path in the JSON, and the numbers (`index`, `output_index`,
//! `content_index`, …) next to it that distinguish concurrent calls and blocks. Text is moved only as far as a secret
//! reaches: its first piece gets the cleaned part, and the others nothing.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::Redact;

/// Limit on the places in the events of a stream; streams have some dozens.
const MAX_PLACES: usize = 16 * 1024;
/// Limit on the secrets of one place that are removed one by one; then the first piece gets the rest.
const MAX_SECRETS: usize = 256;

/// Removes secrets that begin in the text of one value and end in that of another. Returns the indices of changed values.
pub fn redact_across(values: &mut [&mut Value], redact: &dyn Redact) -> BTreeSet<usize> {
    let mut texts: HashMap<String, String> = HashMap::new();
    for value in &*values {
        visit(value, &mut |place, _, text| {
            if let Some(whole) = texts.get_mut(place) {
                whole.push_str(text);
            } else if texts.len() < MAX_PLACES {
                texts.insert(place.to_owned(), text.to_owned());
            }
        });
    }
    texts.retain(|_, whole| redact.text(whole) != *whole);
    let mut changed = BTreeSet::new();
    if texts.is_empty() {
        return changed;
    }
    let mut parts: HashMap<String, Parts> = HashMap::new();
    for (at, value) in values.iter().enumerate() {
        visit(value, &mut |place, pointer, text| {
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
            let Some(value) = values.get_mut(at) else { continue };
            if let Some(value) = value.pointer_mut(&pointer)
                && value.as_str() != Some(&text)
            {
                *value = Value::String(text);
                changed.insert(at);
            }
        }
    }
    changed
}

/// The texts of one place, and for each the index of its value and its JSON pointer.
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
        // The fewest parts from the first that contain a secret, and of these the fewest to the last. The last time, all.
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

/// Returns the least count from 1 to `most` for which `holds` is true. It is true for `most`, and for each count above one
/// for which it is true.
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

/// Calls `each` with the place, the JSON pointer and the text of every text that is not empty.
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

/// Appends the numbers that distinguish an object from others at the same place.
fn number(members: &Map<String, Value>, place: &mut String) {
    for (key, value) in members.iter().filter(|(key, _)| *key == "index" || key.ends_with("_index")) {
        if let Value::Number(number) = value {
            let _ = write!(place, "#{key}={number}");
        }
    }
}
