//! Results as JSON text, and arrays of limited length.
//!
//! [`crate::stdio`] passes results on as the text received. The protocol library decodes some into the first of its types
//! that matches; those are serialised again, so that there is one parser for both.

use rmcp::model::{CustomResult, ServerResult};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub(crate) fn text(result: ServerResult) -> String {
    match result {
        ServerResult::CustomResult(CustomResult(Value::String(text))) => text,
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
        let raw = ServerResult::CustomResult(CustomResult(Value::String("{\"a\": 1}".into())));
        assert_eq!(text(raw), "{\"a\": 1}");
        let decoded = ServerResult::CustomResult(CustomResult(serde_json::json!({ "a": 1 })));
        assert_eq!(text(decoded), "{\"a\":1}");
    }
}
