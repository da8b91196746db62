//! Numbers, texts, lists, JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Number, Value};

use super::Packed;
use crate::source::{SourceId, Span, Spanned};

fn byte(from: &mut &[u8]) -> Option<u8> {
    let (first, rest) = from.split_first()?;
    *from = rest;
    Some(*first)
}

fn bytes<'b>(from: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(taken)
}

/// Seven bits per byte, lowest first; the eighth bit says that more bytes follow.
impl Packed for u64 {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        let mut rest = *self;
        while rest >= 0x80 {
            to.push(u8::try_from(rest & 0x7f).ok()? | 0x80);
            rest >>= 7;
        }
        to.push(u8::try_from(rest).ok()?);
        Some(())
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let part = byte(from)?;
            value |= u64::from(part & 0x7f).checked_shl(shift)?;
            if part & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl Packed for usize {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        u64::try_from(*self).ok()?.pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

impl Packed for u32 {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        u64::from(*self).pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

impl Packed for i64 {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        to.extend(self.to_le_bytes());
        Some(())
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(Self::from_le_bytes(bytes(from, 8)?.try_into().ok()?))
    }
}

impl Packed for f64 {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        to.extend(self.to_le_bytes());
        Some(())
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(Self::from_le_bytes(bytes(from, 8)?.try_into().ok()?))
    }
}

impl Packed for bool {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        to.push(u8::from(*self));
        Some(())
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match byte(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Packed for String {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.len().pack(to)?;
        to.extend(self.as_bytes());
        Some(())
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let length = usize::unpack(from)?;
        std::str::from_utf8(bytes(from, length)?).ok().map(str::to_owned)
    }
}

impl Packed for Duration {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.as_secs().pack(to)?;
        self.subsec_nanos().pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let (seconds, nanos) = (u64::unpack(from)?, u32::unpack(from)?);
        (nanos < 1_000_000_000).then(|| Self::new(seconds, nanos))
    }
}

impl<T: Packed> Packed for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.is_some().pack(to)?;
        self.as_ref().map_or(Some(()), |value| value.pack(to))
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        if bool::unpack(from)? { T::unpack(from).map(Some) } else { Some(None) }
    }
}

impl<T: Packed> Packed for Arc<T> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        T::pack(self, to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        T::unpack(from).map(Self::new)
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.len().pack(to)?;
        self.iter().try_for_each(|item| item.pack(to))
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let count = usize::unpack(from)?;
        // Each item takes at least a byte, which limits the capacity.
        let mut items = Self::with_capacity(count.min(from.len()));
        for _ in 0..count {
            items.push(T::unpack(from)?);
        }
        Some(items)
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.0.pack(to)?;
        self.1.pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some((A::unpack(from)?, B::unpack(from)?))
    }
}

impl<V: Packed> Packed for BTreeMap<String, V> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.len().pack(to)?;
        self.iter().try_for_each(|(key, value)| key.pack(to).and_then(|()| value.pack(to)))
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Vec::<(String, V)>::unpack(from).map(Self::from_iter)
    }
}

impl Packed for Span {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.source.0.pack(to)?;
        self.start.pack(to)?;
        self.end.pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let source = SourceId::unpack(from)?;
        Some(Self { source, start: usize::unpack(from)?, end: usize::unpack(from)? })
    }
}

impl Packed for SourceId {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.0.pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        usize::unpack(from).map(Self)
    }
}

impl<T: Packed> Packed for Spanned<T> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.span.pack(to)?;
        self.value.pack(to)
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let span = Span::unpack(from)?;
        Some(Self { value: T::unpack(from)?, span })
    }
}

impl Packed for Map<String, Value> {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        self.len().pack(to)?;
        self.iter().try_for_each(|(key, value)| key.pack(to).and_then(|()| value.pack(to)))
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let count = usize::unpack(from)?;
        let mut map = Self::with_capacity(count.min(from.len()));
        for _ in 0..count {
            map.insert(String::unpack(from)?, Value::unpack(from)?);
        }
        Some(map)
    }
}

impl Packed for Value {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        let tag = match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(number) if number.is_f64() => 2,
            Self::Number(_) => 3,
            Self::String(_) => 4,
            Self::Array(_) => 5,
            Self::Object(_) => 6,
        };
        to.push(tag);
        match self {
            Self::Null => Some(()),
            Self::Bool(value) => value.pack(to),
            Self::Number(number) if number.is_f64() => number.as_f64()?.pack(to),
            Self::Number(number) => number.as_i64()?.pack(to),
            Self::String(text) => text.pack(to),
            Self::Array(items) => items.pack(to),
            Self::Object(map) => map.pack(to),
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Some(match byte(from)? {
            0 => Self::Null,
            1 => Self::Bool(bool::unpack(from)?),
            2 => Self::Number(Number::from_f64(f64::unpack(from)?)?),
            3 => Self::Number(Number::from(i64::unpack(from)?)),
            4 => Self::String(String::unpack(from)?),
            5 => Self::Array(Vec::unpack(from)?),
            6 => Self::Object(Map::unpack(from)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_survive_a_round_trip() {
        let value = json!({"z": [null, true, false, -1, 0, i64::MAX, 1.5, -0.25], "a": {"é": "ü\n", "": []}});
        let mut bytes = Vec::new();
        value.pack(&mut bytes).unwrap();
        let mut left = bytes.as_slice();
        let back = Value::unpack(&mut left).unwrap();
        assert_eq!((back.to_string(), left), (value.to_string(), &[][..]), "in the same order too");
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            number.pack(&mut bytes).unwrap();
            assert_eq!(u64::unpack(&mut bytes.as_slice()), Some(number));
        }
        assert_eq!(json!(u64::MAX).pack(&mut Vec::new()), None, "TOML has no such number");
    }

    #[test]
    fn damaged_values_are_refused() {
        assert_eq!(Value::unpack(&mut &[7][..]), None);
        assert_eq!(bool::unpack(&mut &[2][..]), None);
        assert_eq!(u64::unpack(&mut &[0x80; 11][..]), None);
        assert_eq!(String::unpack(&mut &[1, 0xff][..]), None);
        assert_eq!(Vec::<String>::unpack(&mut &[0xff, 0xff, 0xff, 0x7f, 0][..]), None);
    }
}
