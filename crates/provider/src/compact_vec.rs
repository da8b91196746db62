//! A list that nearly always has one element.
//!
//! A growing vector reserves room for four elements: for the choices of a chat chunk that is more than a kilobyte per
//! token. (Storing the first element inline instead moves it with the whole chunk, which is slower.)

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// A vector that is deserialised without spare capacity for its first element.
#[derive(Debug)]
pub(crate) struct CompactVec<T>(Vec<T>);

impl<T> CompactVec<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> IntoIterator for CompactVec<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CompactVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CompactVecVisitor(PhantomData))
    }
}

struct CompactVecVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for CompactVecVisitor<T> {
    type Value = CompactVec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(next) = seq.next_element()? {
            if all.is_empty() {
                all.reserve_exact(1);
            }
            all.push(next);
        }
        Ok(CompactVec(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there_in_their_order() {
        for (json, all) in [("[]", vec![]), ("[1]", vec![1]), ("[1,2,3]", vec![1, 2, 3])] {
            let compact_vec: CompactVec<u8> = serde_json::from_str(json).unwrap();
            assert_eq!(
                (compact_vec.is_empty(), compact_vec.into_iter().collect::<Vec<_>>()),
                (all.is_empty(), all),
                "{json}"
            );
        }
        assert!(serde_json::from_str::<CompactVec<u8>>("{}").is_err());
        assert_eq!(
            serde_json::from_str::<CompactVec<u8>>("[1]").unwrap().0.capacity(),
            1,
            "no room without need"
        );
    }
}
