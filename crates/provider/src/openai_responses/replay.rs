//! Replays a turn to the provider that wrote it, item by item: reasoning in encrypted form with its id, messages with
//! their `phase`, and items of unknown types.
//!
//! These changes are made, because servers refuse the original form although they wrote it (recorded refusals; 2026-11:
//! <https://community.openai.com/t/how-to-use-reasoning-encrypted-content-with-store-false-stateless/1286934>):
//! - reasoning without content (neither `encrypted_content` nor text) is left out, because the server does not know its id.
//!   The items after it are sent without an id as well, because their ids refer to it;
//! - reasoning without a following item (a reply truncated by its limit) is left out;
//! - an empty message is left out with the reasoning before it;
//! - messages between two calls are moved before them, because some servers require adjacent calls. Reasoning stays before
//!   the item that it led to;
//! - repeated ids, and arguments that are not a JSON object, are replaced.
//!
//! If the calls in the native form are not the invocations of the transcript, the native form is not used.

use serde_json::{Map, Value, json};

use crate::grouping::{Call, Turn};

/// The items to replay, if there is a native form to replay them from.
pub(super) fn items(turn: &Turn<'_>) -> Option<Vec<Value>> {
    let native = turn.native.filter(|items| !items.is_empty())?;
    let calls: Vec<&Call<'_>> = turn.calls().collect();
    let mut waiting = calls.iter();
    let mut items = Vec::with_capacity(native.len());
    for item in native {
        let item = item.as_object()?.clone();
        items.push(if is(&item, CALL) { call_item(item, waiting.next()?) } else { item });
    }
    waiting.next().is_none().then_some(())?;
    let items = side_by_side(without_orphans(items));
    Some(items.into_iter().map(Value::Object).collect())
}

type Item = Map<String, Value>;

const CALL: &str = "function_call";
const MESSAGE: &str = "message";
const REASONING: &str = "reasoning";

fn is(item: &Item, kind: &str) -> bool {
    item.get("type").is_some_and(|value| value == kind)
}

/// The text of a call's arguments: the model's own, byte for byte, or that of an empty object.
pub(super) fn arguments<'c>(call: &'c Call<'_>) -> &'c str {
    let arguments = &call.invocation.arguments;
    if arguments.object.is_empty() { "{}" } else { arguments.raw.trim() }
}

fn call_item(mut item: Item, call: &Call<'_>) -> Item {
    item.insert("call_id".to_owned(), json!(call.wire_id));
    item.insert("name".to_owned(), json!(call.tool));
    let written = item.get("arguments").and_then(Value::as_str).map(str::trim);
    if written != Some(arguments(call)) {
        item.insert("arguments".to_owned(), json!(arguments(call)));
    }
    item
}

/// Removes reasoning that cannot be sent back, and references to it.
fn without_orphans(items: Vec<Item>) -> Vec<Item> {
    let mut kept: Vec<Item> = Vec::with_capacity(items.len());
    // The reasoning before here was left out.
    let mut orphaned = false;
    for mut item in items {
        if is(&item, REASONING) {
            orphaned = !can_go_back(&item);
            if !orphaned {
                kept.push(item);
            }
        } else if is(&item, MESSAGE) && is_blank(&item) {
            orphaned |= pop_reasoning(&mut kept);
        } else {
            if orphaned && is(&item, CALL) {
                item.shift_remove("id");
            }
            kept.push(if orphaned && is(&item, MESSAGE) { easy(&item) } else { item });
        }
    }
    pop_reasoning(&mut kept);
    kept
}

/// A message without its id: the full form wants one (SDK 3.52.0, `ResponseOutputMessageParam`), this one has none.
fn easy(message: &Item) -> Item {
    let mut easy = Item::new();
    easy.insert("type".to_owned(), json!(MESSAGE));
    easy.insert("role".to_owned(), json!("assistant"));
    easy.insert("content".to_owned(), json!(texts(message).collect::<String>()));
    easy.extend(message.get_key_value("phase").map(|(key, phase)| (key.clone(), phase.clone())));
    easy
}

fn can_go_back(reasoning: &Item) -> bool {
    let text = |key: &str| reasoning.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let own = reasoning.get("content").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
    text("encrypted_content") || own
}

fn is_blank(message: &Item) -> bool {
    let says = |part: &Value| part.get("text").is_some() || part.get("refusal").is_some();
    let parts = message.get("content").and_then(Value::as_array);
    // A part that is not text may have content.
    parts.into_iter().flatten().all(says) && texts(message).all(|text| text.trim().is_empty())
}

/// The texts and refusals of a message.
fn texts(message: &Item) -> impl Iterator<Item = &str> {
    let content = message.get("content");
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    let words = parts.filter_map(|part| part.get("text").or(part.get("refusal"))?.as_str());
    content.and_then(Value::as_str).into_iter().chain(words)
}

/// Removes the reasoning from the end. Returns whether there was any.
fn pop_reasoning(items: &mut Vec<Item>) -> bool {
    let whole = items.len();
    while items.last().is_some_and(|item| is(item, REASONING)) {
        items.pop();
    }
    items.len() < whole
}

/// Moves messages between two calls, unless reasoning led to them, before the first call and its reasoning.
fn side_by_side(mut items: Vec<Item>) -> Vec<Item> {
    let Some(first) = items.iter().position(|item| is(item, CALL)) else { return items };
    let last = items.iter().rposition(|item| is(item, CALL)).unwrap_or(first);
    let reasons = items.iter().take(first).rev().take_while(|item| is(item, REASONING)).count();
    let mut before = first - reasons;
    for at in first..last {
        let between = |at: usize, kind: &str| items.get(at).is_some_and(|item| is(item, kind));
        if between(at, MESSAGE) && !between(at - 1, REASONING) {
            let message = items.remove(at);
            items.insert(before, message);
            before += 1;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(word: &str) -> Item {
        let value = match word.split_at(1) {
            ("r", id) => json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "x"}),
            ("e", id) => json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": null}),
            ("o", id) => json!({"type": "reasoning", "id": id, "summary": [], "content": [{"text": "t"}]}),
            ("c", id) => json!({"type": "function_call", "id": id}),
            ("m", id) => {
                json!({"type": "message", "id": id, "content": [{"type": "output_text", "text": "t"}]})
            }
            ("b", id) => {
                json!({"type": "message", "id": id, "content": [{"type": "output_text", "text": " "}]})
            }
            (_, id) => json!({"type": "web_search_call", "id": id}),
        };
        value.as_object().unwrap().clone()
    }

    fn word(item: &Item) -> String {
        let kind = match item["type"].as_str().unwrap() {
            "reasoning" if item.contains_key("content") => "o",
            "reasoning" => "r",
            "function_call" => "c",
            "message" => "m",
            _ => "w",
        };
        format!("{kind}{}", item.get("id").map_or("-", |id| id.as_str().unwrap()))
    }

    #[test]
    fn what_a_server_would_refuse_is_mended_and_the_rest_stays() {
        for (came, goes) in [
            ("r1 c2", "r1 c2"),
            ("r1 m2 r3 c4 c5", "r1 m2 r3 c4 c5"),
            ("r1 r2 m3", "r1 r2 m3"),
            // Its own text is as good as the encrypted form.
            ("o1 c2", "o1 c2"),
            // Nothing to go back: what it led to forgets it, up to the next reasoning.
            ("e1 c2 m3 r4 c5", "m- c- r4 c5"),
            ("e1 w2 m3", "w2 m-"),
            // Led to nothing.
            ("m1 r2", "m1"),
            ("r1 r2", ""),
            // Blank words.
            ("r1 b2", ""),
            ("b1 c2", "c2"),
            ("r1 b2 c3", "c-"),
            // Words between calls.
            ("c1 m2 c3", "m2 c1 c3"),
            ("r1 c2 m3 c4 m5 c6 m7", "m3 m5 r1 c2 c4 c6 m7"),
            ("c1 r2 m3 c4", "c1 r2 m3 c4"),
            ("m1 c2 w3 c4", "m1 c2 w3 c4"),
        ] {
            let items = came.split_whitespace().map(item).collect();
            let words: Vec<String> = side_by_side(without_orphans(items)).iter().map(word).collect();
            assert_eq!(words.join(" "), goes, "{came}");
        }
    }
}
