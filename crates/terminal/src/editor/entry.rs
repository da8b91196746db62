//! Entries: when an entry is complete, and which part of it is content.
//!
//! A `\` at the end of a line continues the entry on the next line, `"""` at the start of an entry opens a block that
//! the next `"""` closes. Both are for the editor and not part of the entry. A pasted block keeps its backslashes,
//! since it is likely a script.

use parking_lot::Mutex;

const FENCE: &str = "\"\"\"";

/// Shown for a tab in the line, for the editor counts columns and a tab has no fixed number of them.
pub(crate) const TAB: char = '␉';

/// What is known of the entry that is being typed, besides its text.
#[derive(Debug, Default)]
pub(crate) struct Typing(Mutex<State>);

#[derive(Debug, Default, Clone)]
struct State {
    has_text: bool,
    searches: bool,
    is_pasted: bool,
    is_continued: bool,
    /// There was something in it since it began.
    was_used: bool,
    /// Typed in one breath with a Ctrl-C and after it: the library takes it for a part of the line that ends there.
    behind: Option<String>,
}

impl Typing {
    pub(crate) fn begins(&self) {
        *self.0.lock() = State::default();
    }

    /// The line as it is now.
    pub(crate) fn is_seen(&self, line: &str) {
        let mut state = self.0.lock();
        (state.has_text, state.searches) = (!line.is_empty(), false);
        state.was_used |= state.has_text;
    }

    /// A Ctrl-C: what is put into the line from now on belongs to the next one.
    pub(crate) fn breaks_off(&self) {
        self.0.lock().behind = Some(String::new());
    }

    /// What the next line begins with.
    pub(crate) fn behind(&self) -> String {
        self.0.lock().behind.take().unwrap_or_default()
    }

    /// Something is put into the line, before it is seen.
    pub(crate) fn gains(&self, text: &str, is_pasted: bool) {
        let mut state = self.0.lock();
        if let Some(behind) = &mut state.behind {
            return behind.push_str(text);
        }
        state.has_text |= !text.is_empty();
        state.was_used |= state.has_text;
        state.is_pasted |= is_pasted && text.contains('\n');
    }

    pub(crate) fn searches(&self) {
        let mut state = self.0.lock();
        (state.searches, state.was_used) = (true, true);
    }

    /// Returns whether there is text that Ctrl-C would clear.
    pub(crate) fn has_something(&self) -> bool {
        let state = self.0.lock();
        state.has_text || state.searches
    }

    /// Returns whether anything was typed since the entry began, even if it was removed again.
    pub(crate) fn was_used(&self) -> bool {
        self.0.lock().was_used
    }

    /// Returns whether the entry continues after this line.
    pub(crate) fn goes_on(&self, text: &str) -> bool {
        let continued = is_continued(text);
        self.0.lock().is_continued |= continued;
        continued || is_open(text)
    }

    /// The text without the backslashes that continued it.
    pub(crate) fn joined(&self, text: &str) -> String {
        let state = self.0.lock();
        if state.is_continued && !state.is_pasted { joined(text) } else { text.to_owned() }
    }

    /// What is meant by the text.
    pub(crate) fn meant(&self, text: &str) -> String {
        unfenced(&self.joined(text)).replace(TAB, "\t")
    }
}

/// An odd number of backslashes: two are one that is meant.
pub(crate) fn is_continued(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

pub(crate) fn is_open(text: &str) -> bool {
    text.starts_with(FENCE) && text.matches(FENCE).count() % 2 == 1
}

pub(crate) fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(before) if is_continued(before) => {
                whole.push_str(before.strip_suffix('\\').unwrap_or(before));
                whole.push('\n');
            }
            _ => whole.push_str(line),
        }
    }
    whole
}

/// Returns the inside of a block, or the entry itself.
pub(crate) fn unfenced(text: &str) -> String {
    let inside = text.trim_end().strip_prefix(FENCE).and_then(|rest| rest.strip_suffix(FENCE));
    match inside.filter(|inside| !inside.contains(FENCE)) {
        Some(inside) => {
            let inside = inside.strip_prefix('\n').unwrap_or(inside);
            inside.strip_suffix('\n').unwrap_or(inside).to_owned()
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_and_what_is_meant() {
        for (typed, goes_on, meant) in [
            ("one", false, "one"),
            ("one\\", true, "one\\"),
            ("C:\\\\", false, "C:\\\\"),
            ("one\\\ntwo", false, "one\ntwo"),
            ("one\\\\\ntwo", false, "one\\\\\ntwo"),
            ("\"\"\"", true, "\"\"\""),
            ("\"\"\"\na\\\nb", true, "\"\"\"\na\nb"),
            ("\"\"\"\none\ntwo\n\"\"\"", false, "one\ntwo"),
            ("\"\"\"one\"\"\"", false, "one"),
            ("\"\"\"\"\"\"", false, ""),
            ("say \"\"\" please", false, "say \"\"\" please"),
            ("\"\"\"Doc.\"\"\"\nx = 1", false, "\"\"\"Doc.\"\"\"\nx = 1"),
            ("a␉b", false, "a\tb"),
        ] {
            let typing = Typing::default();
            typing.goes_on("begun \\");
            assert_eq!(typing.goes_on(typed), goes_on, "{typed:?}");
            assert_eq!(typing.meant(typed), meant, "{typed:?}");
        }
    }

    #[test]
    fn a_pasted_script_keeps_its_backslashes() {
        let typing = Typing::default();
        typing.gains("cat \\\n  file", true);
        assert!(!typing.goes_on("cat \\\n  file"));
        assert_eq!(typing.meant("cat \\\n  file"), "cat \\\n  file");
        // Recalled: nothing was continued.
        typing.begins();
        assert_eq!(typing.meant("cat \\\n  file"), "cat \\\n  file");
    }

    #[test]
    fn ctrl_c_has_something_to_clear() {
        let typing = Typing::default();
        assert!(!typing.has_something());
        typing.gains("a", false);
        assert!(typing.has_something());
        typing.is_seen("");
        assert!(!typing.has_something());
        typing.searches();
        assert!(typing.has_something());
        typing.is_seen("");
        assert!(!typing.has_something());
    }
}
