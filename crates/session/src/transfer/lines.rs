//! A document as JSON Lines: the session, then each message, then each content.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Document, ImportError, MAX_IMPORT_BYTES};

/// The keys of the document whose items have lines of their own.
const LISTS: [&str; 2] = ["canisters", "contents"];

impl Document {
    /// Parses a document, whichever of [`Document::write_json`] and [`Document::write_lines`] made it.
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

    /// Parses a document that [`Document::write_lines`] made.
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
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use converse_canister::{Canister, Cost, Decision, InvocationId, TurnId, Usage, User};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::super::{Decided, Kept};
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

    fn lines(document: &Document) -> String {
        let mut text = Vec::new();
        document.write_lines(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// What is written one by one is what a value of the whole is as text.
    #[test]
    fn a_document_in_pieces_is_the_document_as_one_value() {
        let mut document = document();
        let odd = "{\"canister\":{\"role\":\"result\",\"id\":\"inv_1_0\",\"outcome\":\"success\",\"content\":[\
            {\"type\":\"structured\",\"value\":{\"z\":1.50,\"a\":[1e30,-0.0,18446744073709551615,null,{}],\"\u{7f}\":[]}}]}}";
        let odd: Value = serde_json::from_str(odd).unwrap();
        let canister = serde_json::from_value(odd["canister"].clone()).unwrap();
        document.canisters.push(Kept { at: Timestamp::UNIX_EPOCH, canister });
        for empty in [false, true] {
            if empty {
                (document.canisters, document.contents) = Default::default();
            } else {
                (document.name, document.tags) = (Some("n\u{9b}\"".to_owned()), vec!["t".to_owned()]);
                let call = InvocationId::of(TurnId(1), 0);
                document.decisions =
                    vec![Decided { id: call, decision: Decision::Allow { rule: "user".to_owned() } }];
            }
            let canisters: Vec<_> = document
                .canisters
                .iter()
                .zip(1..)
                .map(|(kept, number)| json!({ "number": number, "at": kept.at, "canister": kept.canister }))
                .collect();
            let mut value = json!({
                "format": 1,
                "program": document.program,
                "session": document.session,
                "created": document.created,
                "name": document.name,
                "tags": document.tags,
                "model": document.model,
                "usage": document.usage,
                "cost": document.cost,
                "condensed": document.condensed,
                "canisters": canisters,
                "decisions": document.decisions,
            });
            let mut text = Vec::new();
            document.write_without_contents(&mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value:#}\n"));
            let contents: Vec<_> = document
                .contents
                .iter()
                .map(|(digest, bytes)| json!({ "digest": digest, "base64": STANDARD.encode(bytes) }))
                .collect();
            value["contents"] = contents.into();
            let mut text = Vec::new();
            document.write_json(&mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value:#}\n"));
            let mut session = value;
            let lists = LISTS.map(|key| session.as_object_mut().unwrap().shift_remove(key).unwrap());
            let items = lists.iter().filter_map(Value::as_array).flatten();
            let expected: String =
                [&session].into_iter().chain(items).map(|line| format!("{line}\n")).collect();
            assert_eq!(lines(&document), expected);
        }
    }

    #[test]
    fn a_document_is_read_as_it_is_written() {
        let (document, text) = (document(), lines(&document()));
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(Document::read_lines(text.as_bytes()).unwrap(), document);
        let json = serde_json::to_value(&document).unwrap();
        for text in [text.clone(), format!("{json}\n"), format!("{json:#}")] {
            assert_eq!(Document::read_any(text.as_bytes()).unwrap(), document);
        }
        let padded = text.replace('\n', "\r\n\n");
        assert_eq!(Document::read_lines(padded.as_bytes()).unwrap(), document);
    }

    #[test]
    fn lines_of_something_else_are_refused() {
        let text = lines(&document());
        let without_first = text.split_once('\n').unwrap().1;
        for wrong in
            ["", "[]", "{}", "\u{0}", without_first, &(text.clone() + "{}\n"), &text[..text.len() - 9]]
        {
            assert!(Document::read_lines(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Document::read_lines(b"\xff").is_err());
    }
}
