//! An object whose keys are given once each: of two entries of one name, which a bad merge leaves behind, a reader sees
//! both and a program would take the last.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Debug)]
pub(crate) struct Once<V>(pub(crate) BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Once<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
            type Value = Once<V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if entries.contains_key(&key) {
                        return Err(A::Error::custom(format!("`{key}` is there twice")));
                    }
                    entries.insert(key, value);
                }
                Ok(Once(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}
