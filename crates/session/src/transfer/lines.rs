//! A document as JSON Lines: the session, then each message, then each content.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Document, ImportError, MAX_IMPORT_BYTES};

/// The keys of the document whose items have lines of their own.
const LISTS: [&str; 2] = ["canisters", "contents"];

impl Document {
    /// Returns the document as lines, for programs that read one message at a time.
    pub fn to_lines(&self) -> String {
        let mut session = self.to_json();
        let lists = LISTS.map(|key| session.as_object_mut().and_then(|all| all.shift_remove(key)));
        let items = lists.iter().flatten().filter_map(Value::as_array).flatten();
        [&session].into_iter().chain(items).map(|line| format!("{line}\n")).collect()
    }

    /// Parses a document, whichever of [`Document::to_json`] and [`Document::to_lines`] made it.
    ///
    /// # Errors
    ///
    /// As of [`Document::read`].
    pub fn read_any(bytes: &[u8]) -> Result<Self, ImportError> {
        let (first, rest) =
            bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()));
        let session = serde_json::from_slice::<BTreeMap<String, &RawValue>>(first);
        let is_lines = session.is_ok_and(|session| !session.contains_key(LISTS[0]));
        let read = if is_lines && !rest.trim_ascii().is_empty() { Self::read_lines } else { Self::read };
        read(bytes)
    }

    /// Parses a document that [`Document::to_lines`] made.
    ///
    /// # Errors
    ///
    /// As of [`Document::read`].
    pub fn read_lines(bytes: &[u8]) -> Result<Self, ImportError> {
        if bytes.len() > MAX_IMPORT_BYTES {
            return Err(ImportError::TooLarge);
        }
        let text = str::from_utf8(bytes).map_err(|error| ImportError::NoJson(error.to_string()))?;
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut session = object(lines.next().unwrap_or_default())?;
        let mut lists = [Vec::new(), Vec::new()];
        let [canisters, contents] = &mut lists;
        for line in lines {
            let list = if object(line)?.contains_key("canister") { &mut *canisters } else { &mut *contents };
            list.push(line);
        }
        for (key, list) in LISTS.into_iter().zip(lists) {
            let list = RawValue::from_string(format!("[{}]", list.join(","))).map_err(no_json)?;
            session.insert(key.to_owned(), list);
        }
        Self::read(&serde_json::to_vec(&session).map_err(no_json)?)
    }
}

fn object(line: &str) -> Result<BTreeMap<String, Box<RawValue>>, ImportError> {
    serde_json::from_str(line).map_err(no_json)
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn no_json(error: serde_json::Error) -> ImportError {
    ImportError::NoJson(error.to_string())
}

#[cfg(test)]
mod tests {
    use converse_canister::{Canister, Cost, Usage, User};
    use jiff::Timestamp;

    use super::super::Kept;
    use super::*;

    fn document() -> Document {
        let said =
            |text: &str| Kept { at: Timestamp::UNIX_EPOCH, canister: Canister::User(User::text(text)) };
        Document {
            program: "p".to_owned(),
            session: "s".to_owned(),
            created: Timestamp::UNIX_EPOCH,
            name: None,
            tags: Vec::new(),
            model: None,
            usage: Usage::default(),
            cost: Cost::default(),
            condensed: None,
            canisters: vec![said("one\ntwo"), said("{\"canister\":3}\u{2028}")],
            decisions: Vec::new(),
            contents: [(crate::digest(b"bytes"), b"bytes".as_slice().into())].into(),
        }
    }

    #[test]
    fn a_document_is_read_as_it_is_written() {
        let (document, text) = (document(), document().to_lines());
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(Document::read_lines(text.as_bytes()).unwrap(), document);
        for text in [text.clone(), format!("{}\n", document.to_json()), format!("{:#}", document.to_json())] {
            assert_eq!(Document::read_any(text.as_bytes()).unwrap(), document);
        }
        let padded = text.replace('\n', "\r\n\n");
        assert_eq!(Document::read_lines(padded.as_bytes()).unwrap(), document);
    }

    #[test]
    fn lines_of_something_else_are_refused() {
        let text = document().to_lines();
        let without_first = text.split_once('\n').unwrap().1;
        for wrong in
            ["", "[]", "{}", "\u{0}", without_first, &(text.clone() + "{}\n"), &text[..text.len() - 9]]
        {
            assert!(Document::read_lines(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Document::read_lines(b"\xff").is_err());
    }
}
