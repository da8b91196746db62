//! The calls of one chat reply, from fragments that servers number and name as they please.
//!
//! The call of a fragment, in this order:
//!
//! | the fragment has | and there is | then it |
//! |---|---|---|
//! | no name | a call with its index (without an index: its id, else the last call) | goes on with that |
//! | a name | no call with its index (without an index: with its id) | is a new call |
//! | a name, an id | that call has another id or another name | is a new call (an index that is always 0) |
//! | a name, an id | that call has the same id and name | repeats it (Kimi): goes on, or replaces whole arguments by whole ones |
//! | a name, no id | that call has another name, or whole arguments already | is a new call |
//! | a name, no id | none of these | goes on |
//!
//! So arguments of two calls are not mixed as long as the server distinguishes the calls in any way.

use std::borrow::Cow;

use converse_canister::Arguments;
use serde_json::value::RawValue;

use super::chunk::CallPiece;
use crate::Delta;
use crate::body::Fault;
use crate::compose::Piece;
use crate::lenient::count;

/// More calls than any reply has; bounds what a hostile stream can make us search.
const MAX_CALLS: usize = 1024;

#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    balance: Balance,
}

#[derive(Debug, Default)]
pub(super) struct Calls(Vec<OpenCall>);

impl Calls {
    /// A fragment of a stream.
    pub(super) fn feed(&mut self, piece: CallPiece<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let piece = Fragment::from(piece);
        match self.place(&piece) {
            Some(place) => self.go_on(place, piece, out),
            None => self.open(piece, out)?,
        }
        Ok(())
    }

    /// Adds a call of a whole response, which is never merged with another one.
    pub(super) fn add(&mut self, piece: CallPiece<'_>) -> Result<(), Fault> {
        self.open(Fragment::from(piece), &mut Vec::new())
    }

    pub(super) fn into_pieces(self) -> impl Iterator<Item = Piece> {
        self.0.into_iter().map(|call| Piece::Call {
            id: call.id,
            tool: call.name,
            arguments: Arguments::parse(&call.arguments),
        })
    }

    fn place(&self, piece: &Fragment<'_>) -> Option<usize> {
        let with_id = || {
            self.0.iter().rposition(|call| piece.id.is_some() && call.id.as_deref() == piece.id.as_deref())
        };
        let known = match piece.index {
            Some(index) => self.0.iter().rposition(|call| call.index == Some(index)),
            None => with_id(),
        };
        let Some(name) = &piece.name else {
            return known.or_else(|| piece.index.is_none().then(|| self.0.len().checked_sub(1)).flatten());
        };
        let call = self.0.get(known?)?;
        let same_name = call.name.is_empty() || call.name == **name;
        let goes_on = match (&piece.id, &call.id) {
            (Some(id), Some(known)) => id == known && same_name,
            _ => same_name && !call.balance.is_whole(),
        };
        goes_on.then_some(known).flatten()
    }

    fn open(&mut self, piece: Fragment<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if self.0.len() >= MAX_CALLS {
            return Err(Fault::Malformed("more calls than are read".to_owned()));
        }
        self.0.push(OpenCall { index: piece.index, ..OpenCall::default() });
        self.go_on(self.0.len() - 1, piece, out);
        Ok(())
    }

    fn go_on(&mut self, place: usize, piece: Fragment<'_>, out: &mut Vec<Delta>) {
        let Some(call) = self.0.get_mut(place) else { return };
        if call.id.is_none() {
            call.id = piece.id.map(Cow::into_owned);
        }
        let repeats = piece.name.is_some() && !call.name.is_empty();
        if let Some(name) = piece.name.filter(|_| call.name.is_empty()) {
            call.name = name.into_owned();
            out.push(Delta::InvocationStarted { index: place, tool: call.name.clone() });
        }
        if piece.arguments.is_empty() {
            return;
        }
        if repeats && call.balance.is_whole() && Balance::of(&piece.arguments).is_whole() {
            call.arguments.clear();
            call.balance = Balance::default();
        }
        call.balance.feed(&piece.arguments);
        call.arguments.push_str(&piece.arguments);
        out.push(Delta::Arguments { index: place, fragment: piece.arguments.into_owned() });
    }
}

/// A piece with its nothings made one: an empty name, an empty id, and `"0"`, which some servers call every call
/// (LM Studio and others).
struct Fragment<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Cow<'a, str>,
}

impl<'a> From<CallPiece<'a>> for Fragment<'a> {
    fn from(piece: CallPiece<'a>) -> Self {
        let (name, arguments) = match piece.function {
            Some(function) => (function.name.into_text(), arguments(function.arguments)),
            None => (None, Cow::Borrowed("")),
        };
        let id = piece.id.into_text().filter(|id| id != "0");
        Self { index: count(piece.index), id, name, arguments }
    }
}

/// The text of arguments that came as a string or, from some servers, as an object.
fn arguments(raw: Option<&RawValue>) -> Cow<'_, str> {
    let Some(raw) = raw.map(RawValue::get) else { return Cow::Borrowed("") };
    if !raw.starts_with('"') {
        return Cow::Borrowed(raw);
    }
    // Borrowed if nothing is escaped. A lone surrogate is not text, so the raw form is kept and will not parse.
    serde_json::from_str::<&str>(raw)
        .map(Cow::Borrowed)
        .or_else(|_| serde_json::from_str::<String>(raw).map(Cow::Owned))
        .unwrap_or(Cow::Borrowed(raw))
}

/// Whether a growing text is one complete JSON object, tracked incrementally.
#[derive(Debug, Default, Clone, Copy)]
struct Balance {
    depth: u32,
    in_string: bool,
    escaped: bool,
    opened: bool,
}

impl Balance {
    fn of(text: &str) -> Self {
        let mut balance = Self::default();
        balance.feed(text);
        balance
    }

    fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.opened = true;
                    self.depth = self.depth.saturating_add(1);
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(self) -> bool {
        self.opened && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds pieces in JSON and gives `name(arguments)` of each call, with ` #id`.
    fn read(pieces: &[&str]) -> Vec<String> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.feed(serde_json::from_str(piece).unwrap(), &mut Vec::new()).unwrap();
        }
        let show = |call: &OpenCall| {
            let id = call.id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
            format!("{}({}){id}", call.name, call.arguments)
        };
        calls.0.iter().map(show).collect()
    }

    #[test]
    fn fragments_find_their_call() {
        for (what, pieces, calls) in [
            (
                "as documented, interleaved",
                &[
                    r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#,
                    r#"{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{"}}"#,
                    r#"{"index":0,"function":{"arguments":"{\"x\""}}"#,
                    r#"{"index":1,"function":{"arguments":"}"}}"#,
                    r#"{"index":0,"function":{"arguments":":1}"}}"#,
                ][..],
                &[r#"f({"x":1}) #a"#, "f({}) #b"][..],
            ),
            (
                "no index at all",
                &[
                    r#"{"id":"a","function":{"name":"f","arguments":"{"}}"#,
                    r#"{"function":{"arguments":"}"}}"#,
                    r#"{"id":"b","function":{"name":"f","arguments":"{}"}}"#,
                    r#"{"id":"a","function":{"arguments":" "}}"#,
                ],
                &["f({} ) #a", "f({}) #b"],
            ),
            (
                "index always 0",
                &[
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
                    r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{"}}"#,
                    r#"{"index":0,"function":{"arguments":"}"}}"#,
                ],
                &["f({}) #a", "f({}) #b"],
            ),
            (
                "index always 0, no ids",
                &[
                    r#"{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}"#,
                    r#"{"index":0,"id":"0","function":{"name":"f","arguments":"{\"x\":2}"}}"#,
                    r#"{"index":0,"id":null,"function":{"name":"g","arguments":null}}"#,
                ],
                &[r#"f({"x":1})"#, r#"f({"x":2})"#, "g()"],
            ),
            (
                "no index, no ids",
                &[
                    r#"{"function":{"name":"f","arguments":{"x":1}}}"#,
                    r#"{"function":{"name":"f","arguments":{"x":2}}}"#,
                ],
                &[r#"f({"x":1})"#, r#"f({"x":2})"#],
            ),
            (
                "the same call said again",
                &[
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#,
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#,
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#,
                ],
                &[r#"f({"x":1}) #a"#],
            ),
            (
                "name and id in every fragment",
                &[
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#,
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"\"}{\""}}"#,
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
                ],
                &[r#"f({"x":"}{"}) #a"#],
            ),
            (
                "the id and the name come late",
                &[
                    r#"{"index":3,"function":{"arguments":"{"}}"#,
                    r#"{"index":3,"id":"a","function":{"name":"f","arguments":"}"}}"#,
                ],
                &["f({}) #a"],
            ),
            (
                "one id for two calls",
                &[
                    r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
                    r#"{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}"#,
                    r#"{"index":1,"id":"a","function":{"name":"h","arguments":"{}"}}"#,
                ],
                &["f({}) #a", "g({}) #a", "h({}) #a"],
            ),
            ("nothing but an index", &[r#"{"index":0}"#], &["()"]),
        ] {
            assert_eq!(read(pieces), calls, "{what}");
        }
    }

    #[test]
    fn calls_are_bounded() {
        let mut calls = Calls::default();
        let piece = || serde_json::from_str(r#"{"id":"a","function":{"name":"f"}}"#).unwrap();
        for _ in 0..MAX_CALLS {
            calls.add(piece()).unwrap();
        }
        assert!(calls.add(piece()).is_err());
    }
}
