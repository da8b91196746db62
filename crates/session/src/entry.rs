//! One line of a journal.
//!
//! A line may nest deeper than serde_json reads by default: arguments and results are read within its limit of 128 levels
//! and are some levels deeper in a line. So the limit here is wider, and a line beyond it is not written.

use converse_canister::{Canister, Condensed, Cost, Decision, InvocationId, TurnId, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FileChange, parse, sum};

/// Limit on the levels of nesting in a line: serde_json's 128, plus the levels around a value.
pub(crate) const MAX_DEPTH: usize = 256;

/// Limit on the bytes of a line with its newline. A reply has at most 64 MiB on the wire, and is twice in its canister.
pub(crate) const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

/// One line: number, time, content.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// From 1, without gaps.
    pub seq: u64,
    pub at: Timestamp,
    pub body: Body,
}

/// The content of a line. In JSON, `type` is the variant's name in snake case, with its fields next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "most lines are canisters")]
pub enum Body {
    /// The first line.
    Opened(Header),
    /// A message joined the transcript.
    Canister { canister: Canister },
    /// An invocation was allowed or denied.
    Decided { id: InvocationId, decision: Decision },
    /// An invocation is about to run. Synced before it runs, so without this line it did not run.
    Started { id: InvocationId },
    /// The turn ended before these invocations ran: they wait for a decision, and the next turn may continue with them.
    Waiting { ids: Vec<InvocationId> },
    /// A reply is complete. Follows the canisters of every reply, and so shows that none is missing.
    Used {
        usage: Usage,
        /// `None` if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// The provider's name of the model.
        model: String,
        /// `None` in lines of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// The reply was cut while it was saved: its native form must not be replayed.
    Incomplete { turn: TurnId },
    /// Models get this instead of the beginning of the conversation.
    Condensed { condensed: Condensed },
    /// The conversation is as after the earlier line `to`. Lines in between are kept, but belong to the conversation only
    /// if a later line goes back to one of them. Turn numbers outside the conversation may be used again. Usage stays
    /// counted. Going back to the first line is possible.
    Rewound { to: u64 },
    /// A call is about to change a file, or has ended (with `after`).
    Changed { change: FileChange },
    /// A comment for people.
    Note { text: String },
    /// A piece of the text of a reply that is not complete yet, from this byte of its text on. Written about once a
    /// second and not synced. A later `canister`, `used` or `rewound` line makes it obsolete.
    Partial { turn: TurnId, from: u64, text: String },
    /// A line of a later version, or `settings` of an earlier one: all fields except `seq`, `at`, `synced` and `sum`.
    #[serde(skip)]
    Other(Map<String, Value>),
}

pub(crate) const KNOWN: [&str; 12] = [
    "opened",
    "canister",
    "decided",
    "started",
    "waiting",
    "used",
    "incomplete",
    "condensed",
    "rewound",
    "changed",
    "note",
    "partial",
];

impl From<Canister> for Body {
    fn from(canister: Canister) -> Self {
        Self::Canister { canister }
    }
}

impl From<Header> for Body {
    fn from(header: Header) -> Self {
        Self::Opened(header)
    }
}

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    /// The program that wrote it, such as `converse 0.1.0`.
    pub program: String,
    pub created: Timestamp,
    /// The session that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Origin>,
    /// The id of the imported session; its usage was spent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
}

/// The origin of the messages of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub session: String,
    /// The line of the last copied message.
    pub seq: u64,
}

impl Header {
    /// Returns the header of a new session in the current format.
    pub fn new(program: impl Into<String>, created: Timestamp) -> Self {
        Self { format: crate::FORMAT, program: program.into(), created, forked: None, imported: None }
    }
}

/// Why a line cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    #[error("not a journal entry: {0}")]
    Json(String),
    /// The line was changed after it was written.
    #[error("the checksum does not match: the line was changed")]
    Sum,
    #[error("more than {MAX_DEPTH} levels of nesting")]
    TooDeep,
    #[error("more than {MAX_LINE_BYTES} bytes")]
    TooLong,
}

impl From<serde_json::Error> for BadLine {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error.to_string())
    }
}

impl Entry {
    /// Returns the line with its newline. [`Entry::from_line`] reads every line that this returns.
    pub fn to_line(&self) -> Result<Vec<u8>, BadLine> {
        self.to_line_after(None)
    }

    /// Returns the line, which also says up to which line the journal is on disk.
    pub(crate) fn to_line_after(&self, synced: Option<u64>) -> Result<Vec<u8>, BadLine> {
        #[derive(Serialize)]
        struct Line<'a, T> {
            seq: u64,
            at: Timestamp,
            #[serde(flatten)]
            body: &'a T,
        }
        let (seq, at) = (self.seq, self.at);
        let mut line = match &self.body {
            Body::Other(body) => serde_json::to_vec(&Line { seq, at, body })?,
            body => serde_json::to_vec(&Line { seq, at, body })?,
        };
        if parse::is_deep(&line) {
            return Err(BadLine::TooDeep);
        }
        if let Some(synced) = synced {
            sum::mark(&mut line, synced);
        }
        sum::seal(&mut line);
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES { Err(BadLine::TooLong) } else { Ok(line) }
    }

    /// Parses a line, with or without its newline, and checks its checksum.
    pub fn from_line(line: &[u8]) -> Result<Self, BadLine> {
        Self::of_format(crate::FORMAT, line)
    }

    /// Parses a line of a format. Lines of format 1 have no checksum; a line with one has a damaged first line.
    pub(crate) fn of_format(format: u32, line: &[u8]) -> Result<Self, BadLine> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let fits = match sum::holds(line) {
            None => format == 1,
            Some(holds) => holds && format > 1,
        };
        if fits { parse::entry(line) } else { Err(BadLine::Sum) }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Content, InvocationResult, Outcome, User};
    use serde_json::json;

    use super::*;

    fn entry(body: Body) -> Entry {
        Entry { seq: 7, at: "2026-11-20T10:11:12.345Z".parse().unwrap(), body }
    }

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("not an object") };
        object
    }

    /// The line as it is in a journal, without its newline.
    fn sealed(line: &str) -> String {
        let mut line = line.as_bytes().to_vec();
        sum::seal(&mut line);
        String::from_utf8(line).unwrap()
    }

    /// What versions 1 and 2 wrote. If this test must change, the format version must too.
    #[test]
    fn formats_1_and_2_read_as_they_were() {
        let at = "2026-11-20T10:11:12.345Z";
        for (written, kind) in [
            (json!({"type": "opened", "format": 1, "program": "converse 0.1.0", "created": at}), "Opened"),
            (
                json!({"type": "canister", "canister": {"role": "user", "content": [{"type": "text", "text": "hi"}]}}),
                "Canister",
            ),
            (
                json!({"type": "decided", "id": "inv_1_0", "decision": {"decision": "allow", "rule": "user"}}),
                "Decided",
            ),
            (json!({"type": "started", "id": "inv_1_0"}), "Started"),
            (
                json!({"type": "changed", "change": {"id": "inv_1_0", "path": "/w/a", "before": "absent"}}),
                "Changed",
            ),
            (json!({"type": "used", "usage": {"input": 3, "output": 5}, "cost": 12, "model": "m"}), "Used"),
            (
                json!({"type": "used", "usage": {"input": 3, "output": 5}, "model": "m", "provider": "p"}),
                "Used",
            ),
            // Nothing was ever made of it.
            (json!({"type": "settings", "settings": {"model": "openai/gpt-5"}}), "Other"),
            (json!({"type": "incomplete", "turn": 1}), "Incomplete"),
            (
                json!({"type": "condensed", "condensed": {"covers": 3, "summary": "so far", "model": "m"}}),
                "Condensed",
            ),
            (json!({"type": "rewound", "to": 3}), "Rewound"),
            (json!({"type": "note", "text": "by hand"}), "Note"),
            // Older programs keep and skip it.
            (json!({"type": "partial", "turn": 1, "from": 4, "text": "and"}), "Partial"),
        ] {
            let mut line = object(json!({"seq": 7, "at": at}));
            line.extend(object(written));
            let line = Value::Object(line).to_string();
            let entry = Entry::of_format(1, line.as_bytes()).unwrap();
            assert!(format!("{:?}", entry.body).starts_with(kind), "{line}");
            let written = format!("{}\n", sealed(&line));
            assert_eq!(String::from_utf8(entry.to_line().unwrap()).unwrap(), written);
            assert_eq!(Entry::from_line(written.as_bytes()), Ok(entry));
            assert_eq!(Entry::from_line(line.as_bytes()), Err(BadLine::Sum));
            assert_eq!(Entry::of_format(1, written.as_bytes()), Err(BadLine::Sum));
        }
        assert_eq!(crate::FORMAT, 2);
    }

    #[test]
    fn what_a_later_version_wrote_is_kept_as_it_was() {
        let line =
            r#"{"seq":7,"at":"2026-11-20T10:11:12Z","type":"starred","z":[1.50,null],"a":{"type":"x"}}"#;
        let entry = Entry::from_line(sealed(line).as_bytes()).unwrap();
        assert!(matches!(&entry.body, Body::Other(fields) if fields["type"] == "starred"));
        let again = entry.to_line().unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), sealed(&line.replace("1.50", "1.5")) + "\n");
    }

    #[test]
    fn a_known_type_with_wrong_fields_is_no_unknown_type() {
        for (line, problem) in [
            ("", "EOF"),
            ("[]", "not a journal entry"),
            ("{\"seq\":1}x", "not a journal entry"),
            ("{}", "`seq`"),
            (r#"{"seq":-1,"at":"2026-11-20T10:11:12Z","type":"note","text":""}"#, "`-1`, expected u64"),
            (r#"{"seq":1,"type":"note","text":""}"#, "`at`"),
            (r#"{"seq":1,"at":"yesterday","type":"note","text":""}"#, "as year"),
            (r#"{"seq":1,"at":"2026-11-20T10:11:12Z","text":""}"#, "`type`"),
            (r#"{"seq":1,"at":"2026-11-20T10:11:12Z","type":"note"}"#, "missing field `text`"),
            (
                r#"{"seq":1,"at":"2026-11-20T10:11:12Z","type":"started","id":"a b"}"#,
                "not a valid invocation id",
            ),
        ] {
            let error = Entry::of_format(1, line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(problem), "{line}: {error}");
        }
    }

    #[test]
    fn whatever_was_read_elsewhere_can_be_written_and_read_again() {
        let deepest = format!("{{\"a\":{}{}}}", "[".repeat(126), "]".repeat(126));
        let arguments = Arguments::parse(&deepest);
        assert_eq!(arguments.malformed, None);
        let id = InvocationId::of(TurnId(1), 0);
        let invocation = converse_canister::Invocation {
            turn: TurnId(1),
            id: id.clone(),
            wire_id: None,
            tool: "t".into(),
            arguments,
            seal: None,
        };
        let mut result = InvocationResult::new(id, Outcome::Success, "");
        result.content = vec![Content::Structured { value: serde_json::from_str(&deepest).unwrap() }];
        for canister in [Canister::Invocation(invocation), Canister::Result(result)] {
            let entry = entry(Body::Canister { canister });
            assert_eq!(Entry::from_line(&entry.to_line().unwrap()), Ok(entry));
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_not_written() {
        let mut value = Value::Null;
        for _ in 0..MAX_DEPTH {
            value = json!([value]);
        }
        let canister = Canister::User(User { content: vec![Content::Structured { value }] });
        assert_eq!(entry(Body::Canister { canister }).to_line(), Err(BadLine::TooDeep));
        let bomb = [b"{\"seq\":".as_slice(), &b"[".repeat(1_000_000)].concat();
        assert_eq!(Entry::of_format(1, &bomb), Err(BadLine::TooDeep));
    }
}
