//! The decoder of all dialects: detects the kind of body and feeds the dialect's assembly.
//!
//! An error status becomes a refusal. A success is a stream if its head and its first character agree (some servers
//! answer a streaming request with a plain JSON error), else one JSON document. A page, an empty body or anything else
//! is nonsense. Streams and documents end in the same [`Assembly`], so they give the same reply.
//!
//! The first error is kept until the end and later bytes are ignored, so `finish` returns the same error however the
//! body was cut.

use serde_json::Value;

use crate::head::Head;
use crate::html;
use crate::lines::LineReader;
use crate::refusal;
use crate::sse::{Event, EventReader};
use crate::{DecodeError, Decoder, Delta, Refusal, Reply, ReplyError};

/// Longest body that is read, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Bytes that are kept of an error page.
const MAX_PAGE: usize = 256 * 1024;

/// Collector of one reply of one dialect.
pub(crate) trait Assembly: Send {
    /// Takes one event of a stream; never called after [`Assembly::is_complete`].
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// Takes the whole reply as one JSON object.
    fn whole(&mut self, body: &str) -> Result<(), Fault>;

    /// Returns whether the whole reply may be an array of chunks. Elsewhere an array can only be a wrapped error.
    fn reads_arrays(&self) -> bool {
        false
    }

    /// Returns whether the last event of the stream has come.
    fn is_complete(&self) -> bool;

    /// Returns the reply, or the part of it that came.
    fn finish(self: Box<Self>, head: &Head) -> Result<Reply, ReplyError>;
}

/// Why an assembly cannot go on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Not JSON of this wire; `cut` if only the end is missing.
    Syntax { message: String, cut: bool },
    /// JSON that breaks the wire's own order.
    Malformed(String),
    /// An error within a success.
    Refused(Value),
    /// The provider ended the reply with a finish reason for failure and nothing else.
    BrokenOff(String),
    /// JSON that is not of this wire at all.
    Nonsense,
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Syntax { message: error.to_string(), cut: error.is_eof() }
    }
}

/// Reads the data of an error event. Incomplete JSON is a cut; text that is not JSON is the message.
pub(crate) fn refused(data: &str) -> Fault {
    match serde_json::from_str(data) {
        Ok(value) => Fault::Refused(value),
        Err(error) if error.is_eof() => error.into(),
        Err(_) => Fault::Refused(Value::String(data.to_owned())),
    }
}

enum Mode {
    /// Announced as a stream; only blanks have come.
    Sniffing,
    Stream(Reader),
    /// Kept whole until the end; at most this many bytes of it.
    Kept {
        bytes: Vec<u8>,
        limit: usize,
    },
}

/// The framing of a stream.
enum Reader {
    Events(EventReader),
    /// One JSON object a line.
    Lines(LineReader),
}

impl Reader {
    fn feed(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        match self {
            Self::Events(reader) => reader.feed(bytes, each),
            Self::Lines(reader) => reader.feed(bytes, each),
        }
    }

    fn finish(self, each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>) -> Result<(), DecodeError> {
        match self {
            Self::Events(reader) => reader.finish(each),
            Self::Lines(reader) => reader.finish(each),
        }
    }
}

pub(crate) struct BodyDecoder<A> {
    head: Head,
    mode: Mode,
    assembly: Box<A>,
    read: usize,
    over: Option<ReplyError>,
}

impl<A: Assembly> BodyDecoder<A> {
    pub(crate) fn new(head: Head, assembly: A) -> Self {
        let mode = match (head.is_success(), head.event_stream || head.lines) {
            (true, true) => Mode::Sniffing,
            (true, false) => Mode::Kept { bytes: Vec::new(), limit: MAX_BODY },
            (false, _) => Mode::Kept { bytes: Vec::new(), limit: MAX_PAGE },
        };
        Self { head, mode, assembly: Box::new(assembly), read: 0, over: None }
    }

    fn take(&mut self, mut bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), ReplyError> {
        if matches!(self.mode, Mode::Sniffing) {
            // A byte order mark and white space may precede any body.
            let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
            let start = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
            bytes = bytes.get(start..).unwrap_or_default();
            match bytes.first() {
                None => return Ok(()),
                Some(b'{') if self.head.lines => self.mode = Mode::Stream(Reader::Lines(LineReader::new())),
                Some(b'{' | b'[' | b'<') => self.mode = Mode::Kept { bytes: Vec::new(), limit: MAX_BODY },
                Some(_) => self.mode = Mode::Stream(Reader::Events(EventReader::new())),
            }
        }
        match &mut self.mode {
            Mode::Sniffing => Ok(()),
            Mode::Stream(reader) => {
                let (assembly, head, mut over) = (&mut self.assembly, &self.head, None);
                let fed = reader
                    .feed(bytes, &mut |event| dispatch(assembly.as_mut(), head, &event, out, &mut over));
                over.map_or(Ok(()), Err)?;
                fed.map_err(ReplyError::from)
            }
            Mode::Kept { bytes: kept, limit } => {
                let room = limit.saturating_sub(kept.len());
                kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
                Ok(())
            }
        }
    }

    fn finish_kept(mut self, bytes: &[u8]) -> Result<Reply, ReplyError> {
        if !self.head.is_success() {
            return Err(refusal::from_body(&self.head, bytes).into());
        }
        let body = String::from_utf8_lossy(bytes);
        let body = body.trim_start_matches('\u{feff}').trim();
        if ["data:", "event:", ":"].iter().any(|field| body.starts_with(field)) {
            return self.finish_stream(Reader::Events(EventReader::new()), body.as_bytes());
        }
        if body.is_empty() || html::is_page(body) {
            return Err(refusal::nonsense(&self.head, body).into());
        }
        if !self.assembly.reads_arrays()
            && let Ok([error, ..]) = serde_json::from_str::<Vec<Value>>(body).as_deref()
        {
            return Err(in_band(&self.head, error, body).into());
        }
        match self.assembly.whole(body) {
            Ok(()) | Err(Fault::Syntax { cut: true, .. }) => self.assembly.finish(&self.head),
            Err(Fault::Refused(value)) => Err(in_band(&self.head, &value, body).into()),
            Err(Fault::BrokenOff(reason)) => Err(refusal::broken_off(&self.head, &reason).into()),
            Err(Fault::Syntax { .. } | Fault::Malformed(_) | Fault::Nonsense) => {
                Err(refusal::nonsense(&self.head, body).into())
            }
        }
    }

    fn finish_stream(mut self, mut reader: Reader, rest: &[u8]) -> Result<Reply, ReplyError> {
        let mut over = None;
        let mut unseen = Vec::new();
        let (assembly, head) = (&mut self.assembly, &self.head);
        let mut each = |event: Event<'_>| dispatch(assembly.as_mut(), head, &event, &mut unseen, &mut over);
        let fed = reader.feed(rest, &mut each).and_then(|()| reader.finish(&mut each));
        if let Some(error) = over {
            return Err(error);
        }
        fed?;
        self.assembly.finish(&self.head)
    }
}

/// Reads an error that came with a success status.
fn in_band(head: &Head, value: &Value, body: &str) -> Refusal {
    if value.get("error").is_some_and(|error| !error.is_null())
        || value.get("type").is_some_and(|t| t == "error")
    {
        refusal::from_json(head, value)
    } else {
        refusal::nonsense(head, body)
    }
}

/// Hands one event to the assembly and stores the error that ends the reply in `over`.
fn dispatch<A: Assembly>(
    assembly: &mut A,
    head: &Head,
    event: &Event<'_>,
    out: &mut Vec<Delta>,
    over: &mut Option<ReplyError>,
) -> Result<(), DecodeError> {
    if over.is_some() || assembly.is_complete() {
        return Ok(());
    }
    let malformed = match assembly.event(event, out) {
        Ok(()) => return Ok(()),
        // Half an event at the end of a body is a cut, not an error.
        Err(Fault::Syntax { .. }) if event.tail => return Ok(()),
        Err(Fault::Refused(value)) => {
            *over = Some(refusal::from_json(head, &value).into());
            return Ok(());
        }
        Err(Fault::BrokenOff(reason)) => {
            *over = Some(refusal::broken_off(head, &reason).into());
            return Ok(());
        }
        Err(Fault::Nonsense) => "an event of another wire".to_owned(),
        Err(Fault::Syntax { message, .. } | Fault::Malformed(message)) => message,
    };
    let error = DecodeError::Malformed(malformed);
    *over = Some(error.clone().into());
    Err(error)
}

impl<A: Assembly> Decoder for BodyDecoder<A> {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if self.is_complete() {
            return Ok(());
        }
        let room = MAX_BODY - self.read;
        let within = bytes.get(..room).unwrap_or(bytes);
        self.read += within.len();
        let mut taken = self.take(within, out);
        if taken.is_ok() && within.len() < bytes.len() && !self.is_complete() && self.head.is_success() {
            taken = Err(DecodeError::BodyTooLarge { limit: MAX_BODY }.into());
        }
        match taken {
            Ok(()) => Ok(()),
            Err(error) => {
                let reported = match &error {
                    ReplyError::Decode(error) => Err(error.clone()),
                    // A refusal is reported at the end; the decoder says that nothing more is needed.
                    ReplyError::Refusal(_) | ReplyError::CutShort { .. } | ReplyError::Empty { .. } => Ok(()),
                };
                self.over = Some(error);
                reported
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.over.is_some() || self.assembly.is_complete()
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ReplyError> {
        if let Some(error) = self.over.take() {
            return Err(error);
        }
        match std::mem::replace(&mut self.mode, Mode::Sniffing) {
            // A stream that broke before its first event, or that never was one: nothing came, all the same.
            Mode::Sniffing => self.assembly.finish(&self.head),
            Mode::Stream(reader) => self.finish_stream(reader, &[]),
            Mode::Kept { bytes, .. } => self.finish_kept(&bytes),
        }
    }
}
