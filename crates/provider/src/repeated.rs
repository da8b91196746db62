//! [`RepeatedEvent`]: the form that most events of a stream share. They differ only in the text that they add, so most need
//! not be read as JSON.

/// The last event that only added text, without this text.
#[derive(Debug, Default)]
pub(crate) struct RepeatedEvent {
    before: String,
    after: String,
}

impl RepeatedEvent {
    /// Returns the text of an event that has the remembered form.
    ///
    /// JSON that is equal except for what one string contains, without quotes, escapes and control characters, is the same
    /// value except for this string.
    pub(crate) fn text<'a>(&self, data: &'a str) -> Option<&'a str> {
        let text = data.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let is_plain = |text: &str| text.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\'));
        (!self.after.is_empty() && is_plain(text)).then_some(text)
    }

    /// Remembers the form of an event that only adds `text`, which is a part of `data`: what a JSON string contains. Any other
    /// text is not remembered.
    pub(crate) fn remember(&mut self, data: &str, text: &str) {
        let start = (text.as_ptr() as usize).checked_sub(data.as_ptr() as usize);
        let parts = start.and_then(|start| Some((data.get(..start)?, data.get(start + text.len()..)?)));
        let parts = parts.filter(|(before, after)| before.ends_with('"') && after.starts_with('"'));
        let (before, after) = parts.unwrap_or_default();
        self.before.replace_range(.., before);
        self.after.replace_range(.., after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_differs_in_its_text_alone_is_recognised() {
        let first = r#"{"a":[{"t":"one"}],"n":1}"#;
        let mut repeated = RepeatedEvent::default();
        assert_eq!(repeated.text(first), None, "nothing is remembered");
        repeated.remember(first, &first[12..15]);
        for (text, expected) in
            [("", true), ("one", true), ("ä\u{2028}'", true), ("a\"", false), ("\\n", false), ("\n", false)]
        {
            let data = format!(r#"{{"a":[{{"t":"{text}"}}],"n":1}}"#);
            assert_eq!(repeated.text(&data), expected.then_some(text), "{data}");
        }
        for other in
            [r#"{"a":[{"t":"one"}],"n":2}"#, r#"{"a":[{"t":"}],"n":1}"#, r#"{"b":[{"t":"one"}],"n":1}"#, ""]
        {
            assert_eq!(repeated.text(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_string_of_the_event_is_remembered() {
        let data = r#"{"t":"one"}"#;
        let mut repeated = RepeatedEvent::default();
        for text in ["one", &data[1..4], &data[5..10], data] {
            repeated.remember(data, &data[6..9]);
            repeated.remember(data, text);
            assert_eq!(repeated.text(data), None, "{text}");
        }
    }
}
