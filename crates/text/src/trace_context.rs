//! The place of a call in a distributed trace: the headers `traceparent` and `tracestate`.
//!
//! <https://www.w3.org/TR/trace-context/>, checked 2026-11.

/// Bytes and entries of a state that are passed on: as many as every system must accept.
const MAX_STATE: usize = 512;
const MAX_ENTRIES: usize = 32;
const MAX_KEY: usize = 256;

/// A span, as the caller of its callees. It contains only hexadecimal digits and a checked state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    state: String,
    sampled: bool,
}

impl TraceContext {
    /// The context of a span that begins a trace, with random numbers that are not 0.
    pub fn root(trace: u128, span: u64) -> Self {
        Self { trace: trace.max(1), span: span.max(1), state: String::new(), sampled: true }
    }

    /// The context of a span that is recorded below this one.
    #[must_use]
    pub fn child(&self, span: u64) -> Self {
        Self { span: span.max(1), sampled: true, ..self.clone() }
    }

    /// Parses both values. An invalid parent counts as absent, and so does an invalid state.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut parts = parent.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may say more.
        let whole = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !whole || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        let state = state.map(str::trim).filter(|state| is_state(state)).unwrap_or_default().to_owned();
        Some(Self { trace, span, state, sampled })
    }

    /// The id of the trace, as 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The id of the span, as 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// The value of `tracestate`; empty if there is none.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Whether the span is recorded.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The names and values to send to a callee.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let parent = format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled));
        let state = Some(&self.state).filter(|state| !state.is_empty()).cloned();
        [("traceparent", parent)].into_iter().chain(state.map(|state| ("tracestate", state)))
    }
}

fn is_hex(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether this is a list of `key=value`, within the limits.
fn is_state(state: &str) -> bool {
    let entries = || state.split(',').map(|entry| entry.trim_matches([' ', '\t']));
    state.len() <= MAX_STATE
        && entries().count() <= MAX_ENTRIES
        && entries().all(|entry| entry.is_empty() || entry.split_once('=').is_some_and(is_entry))
}

fn is_entry((key, value): (&str, &str)) -> bool {
    let begins = key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let in_key = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let in_value = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    begins
        && key.len() <= MAX_KEY
        && key.bytes().all(in_key)
        && !value.is_empty()
        && value.bytes().all(in_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_whole_or_none() {
        for (text, sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-03"), Some(true)),
            (format!("01-{TRACE}-{SPAN}-01-more"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-+{}-{SPAN}-01", &TRACE[1..]), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            ("".to_owned(), None),
        ] {
            assert_eq!(
                TraceContext::parse(&text, None).map(|context| context.is_sampled()),
                sampled,
                "{text}"
            );
        }
    }

    #[test]
    fn only_a_state_that_is_a_state_is_passed_on() {
        let long = format!("a={}", "x".repeat(MAX_STATE));
        let many = "a=b,".repeat(MAX_ENTRIES);
        for (state, kept) in [
            ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true),
            ("fw529a3039@dt=FfffffffX, a/b=c;d", true),
            ("a=b\r\nx: y", false),
            ("a=b\u{1b}[2J", false),
            ("ä=b", false),
            ("a", false),
            ("A=b", false),
            ("a=b=c", false),
            (&long, false),
            (&many, false),
        ] {
            let context = TraceContext::parse(&format!("00-{TRACE}-{SPAN}-01"), Some(state)).unwrap();
            assert_eq!(context.state(), if kept { state } else { "" }, "{state}");
        }
    }

    #[test]
    fn a_callee_gets_the_trace_and_the_span_of_its_caller() {
        let caller = TraceContext::parse(&format!("cc-{TRACE}-{SPAN}-00"), Some("a=b")).unwrap();
        let fields = |context: &TraceContext| context.fields().collect::<Vec<_>>();
        assert_eq!(fields(&caller)[0], ("traceparent", format!("00-{TRACE}-{SPAN}-00")));
        let below = fields(&caller.child(255));
        assert_eq!(below[0], ("traceparent", format!("00-{TRACE}-00000000000000ff-01")));
        assert_eq!(below[1], ("tracestate", "a=b".to_owned()));
        assert_eq!(
            fields(&TraceContext::root(1, 2)),
            [("traceparent", format!("00-{:032x}-{:016x}-01", 1, 2))]
        );
    }
}
