//! The parent of the trace: `TRACEPARENT` and `TRACESTATE` of the environment.
//!
//! <https://www.w3.org/TR/trace-context/>, <https://opentelemetry.io/docs/specs/otel/context/env-carriers/>, checked
//! 2026-11.

use crate::world::World;

/// Characters of a state that are handed on: as many as everybody must.
const STATE: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    /// 32 hex digits, not all 0.
    pub(super) trace: String,
    /// 16 hex digits, not all 0.
    pub(super) span: String,
    pub(super) state: String,
    pub(super) sampled: bool,
}

impl Parent {
    pub(super) fn of(world: &World) -> Option<Self> {
        let state = world.var("TRACESTATE").filter(|state| state.len() <= STATE && state.is_ascii());
        Self::parse(world.var("TRACEPARENT")?, state.unwrap_or_default())
    }

    /// Parses the values. An invalid value counts as absent.
    fn parse(text: &str, state: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |part: &str, length: usize| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
        // Later versions may say more.
        let whole = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        let fits = whole && is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2);
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        fits.then(|| Self {
            trace: trace.to_owned(),
            span: span.to_owned(),
            state: state.to_owned(),
            sampled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_whole_or_none() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for (text, sampled) in [
            (format!("00-{trace}-{span}-01"), Some(true)),
            (format!("00-{trace}-{span}-00"), Some(false)),
            (format!("00-{trace}-{span}-03"), Some(true)),
            (format!("01-{trace}-{span}-01-more"), Some(true)),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", "0".repeat(32)), None),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{trace}-{span}"), None),
            ("".to_owned(), None),
        ] {
            assert_eq!(Parent::parse(&text, "").map(|parent| parent.sampled), sampled, "{text}");
        }
    }
}
