//! Results as JSON text, and arrays of limited length.
//!
//! [`crate::stdio`] passes results on as the text received. The protocol library decodes some into the first of its types
//! that matches; those are serialised again, so that there is one parser for both.
//!
//! A long text is passed on in pieces, because the library copies the longest string of a message several times.

use rmcp::model::{CustomResult, ServerResult};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Bytes of a piece of a result.
const PIECE: usize = 64 * 1024;

/// Returns a result that [`text`] turns back into its text.
pub(crate) fn result(mut text: &str) -> ServerResult {
    if text.len() <= PIECE {
        return ServerResult::CustomResult(CustomResult(Value::String(text.to_owned())));
    }
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 2);
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
        pieces.push(Value::String(piece.to_owned()));
        text = rest;
    }
    ServerResult::CustomResult(CustomResult(Value::Array(pieces)))
}

pub(crate) fn text(result: ServerResult) -> String {
    match result {
        ServerResult::CustomResult(CustomResult(Value::String(text))) => text,
        ServerResult::CustomResult(CustomResult(Value::Array(pieces))) => {
            let mut text = String::with_capacity(pieces.iter().filter_map(Value::as_str).map(str::len).sum());
            pieces.iter().filter_map(Value::as_str).for_each(|piece| text.push_str(piece));
            text
        }
        // The library's types have only string keys and finite numbers, so this cannot fail.
        result => serde_json::to_string(&result).unwrap_or_default(),
    }
}

/// The first `N` entries of an array, and the number of the others.
#[derive(Debug)]
pub(crate) struct First<T, const N: usize> {
    pub(crate) items: Vec<T>,
    pub(crate) left: usize,
}

impl<T, const N: usize> Default for First<T, N> {
    fn default() -> Self {
        Self { items: Vec::new(), left: 0 }
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for First<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T, const N: usize>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Reader<T, N> {
            type Value = First<T, N>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
                let mut first = First::default();
                while first.items.len() < N
                    && let Some(item) = array.next_element()?
                {
                    first.items.push(item);
                }
                if first.items.len() == N {
                    while array.next_element::<IgnoredAny>()?.is_some() {
                        first.left += 1;
                    }
                }
                Ok(first)
            }
        }

        deserializer.deserialize_seq(Reader(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{RequestId, ServerJsonRpcMessage};

    use super::*;

    #[test]
    fn an_array_is_kept_up_to_a_limit() {
        for (json, items, left) in [("[]", 0, 0), ("[1,2]", 2, 0), ("[1,2,3]", 3, 0), ("[1,2,3,4,5]", 3, 2)] {
            let first: First<u8, 3> = serde_json::from_str(json).unwrap();
            assert_eq!((first.items.len(), first.left), (items, left), "{json}");
        }
        assert!(serde_json::from_str::<First<u8, 3>>("{}").is_err());
        assert!(serde_json::from_str::<First<u8, 3>>("[1,2,3,4").is_err());
    }

    #[test]
    fn results_become_text() {
        let long = format!("{{\"a\": \"{}\"}}", "\u{e9}x\u{1f600}".repeat(PIECE));
        for whole in ["{\"a\": 1}", &long] {
            let message = ServerJsonRpcMessage::response(result(whole), RequestId::Number(1));
            let json = serde_json::to_string(&message).unwrap();
            let read = serde_json::from_str::<ServerJsonRpcMessage>(&json).unwrap();
            let ServerJsonRpcMessage::Response(read) = read else { panic!("{read:?}") };
            assert!(text(read.result) == whole, "{} bytes", whole.len());
        }
        let decoded = ServerResult::CustomResult(CustomResult(serde_json::json!({ "a": 1 })));
        assert_eq!(text(decoded), "{\"a\":1}");
    }
}
