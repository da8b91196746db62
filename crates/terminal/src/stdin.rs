//! Standard input as (part of) the prompt.
//!
//! With words on the command line, a file or a pipe on stdin is added to them; a pipe that stays silent for a second
//! counts as empty, since CI systems leave idle pipes open. `-`, or no words at all, means that stdin *is* the prompt,
//! and it is awaited until the deadline. A signal ends any waiting.

use std::io::Read as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::world::Input;

use crate::poll_io::PollIo;

const MAX_BYTES: usize = 10 * 1024 * 1024;
const FIRST_BYTE: Duration = Duration::from_secs(1);
/// How often a wait looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// The whole prompt, what must be said about it, and a remark for `-v`.
#[derive(Debug, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub warning: Option<&'static str>,
    pub remark: Option<&'static str>,
}

/// What bounds the reading.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub deadline: Option<Instant>,
    pub interrupt: &'a Interrupt,
}

pub fn prompt(words: &[String], input: Input, bounds: Bounds<'_>) -> Result<Prompt, Failure> {
    let dash = words.len() == 1 && words.first().is_some_and(|word| word == "-");
    let words = if dash { String::new() } else { words.join(" ") };
    // Without words stdin is all there is, so it is awaited; a file does not keep anybody waiting.
    let first_byte_by =
        (!words.trim().is_empty() && input == Input::Pipe).then(|| Instant::now() + FIRST_BYTE);
    let read = match input {
        Input::Pipe | Input::File => read(first_byte_by, bounds)?,
        Input::Terminal if dash => read(None, bounds)?,
        Input::Terminal | Input::Nothing => Read::default(),
    };
    join(&words, read)
}

/// Beside a prompt of a server, which may be all that is said: the words that go with it, and what stdin adds.
pub fn beside<'w>(
    words: &'w [String],
    input: Input,
    bounds: Bounds<'_>,
) -> Result<(&'w [String], Prompt), Failure> {
    let (last, before) = words.split_last().filter(|(last, _)| *last == "-").unzip();
    let dash = last.is_some();
    // The time limit is short, because usually nothing comes.
    let first_byte_by = (!dash && input == Input::Pipe).then(|| Instant::now() + FIRST_BYTE);
    let read = match input {
        Input::Pipe | Input::File => read(first_byte_by, bounds)?,
        Input::Terminal if dash => read(None, bounds)?,
        Input::Terminal | Input::Nothing => Read::default(),
    };
    Ok((before.unwrap_or(words), decoded(read)))
}

/// All of it, awaited to its end.
pub fn whole(bounds: Bounds<'_>) -> Result<Vec<u8>, Failure> {
    read(None, bounds).map(|read| read.bytes)
}

#[derive(Debug, Default)]
struct Read {
    bytes: Vec<u8>,
    silent: bool,
}

fn decoded(read: Read) -> Prompt {
    let silent = read.silent.then_some("stdin is open but silent; it was taken as empty");
    let (piped, warning) = match String::from_utf8(read.bytes) {
        Ok(text) => (text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text), None),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some("warning: stdin is not UTF-8; what could not be read was replaced"))
        }
    };
    Prompt { text: piped, warning, remark: silent }
}

fn join(words: &str, read: Read) -> Result<Prompt, Failure> {
    let prompt = decoded(read);
    let piped = prompt.text;
    let text = match (words.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => return Err(missing_prompt()),
        (true, false) => piped,
        (false, true) => words.to_owned(),
        (false, false) => format!("{words}\n\n{piped}"),
    };
    Ok(Prompt { text, ..prompt })
}

fn missing_prompt() -> Failure {
    Failure::usage("no-prompt", "there is no question: no words and nothing on stdin")
        .hint("converse ask \"What is 15% of 2500?\"")
        .hint("echo \"a question\" | converse ask -")
}

/// Reads to the end on a thread of its own, so that waiting has limits. `first_byte_by` is for the first byte only.
fn read(first_byte_by: Option<Instant>, bounds: Bounds<'_>) -> Result<Read, Failure> {
    let pieces = pieces()?;
    let mut bytes = Vec::new();
    loop {
        match pieces.recv_timeout(LOOK) {
            Ok(Ok(piece)) => bytes.extend(piece),
            Ok(Err(error)) => return Err(Failure::usage("stdin", format!("stdin cannot be read: {error}"))),
            Err(RecvTimeoutError::Disconnected) => return Ok(Read { bytes, silent: false }),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if bytes.len() > MAX_BYTES {
            return Err(Failure::usage("stdin-too-long", format!("stdin is longer than {MAX_BYTES} bytes")));
        }
        let past = |limit: Option<Instant>| limit.is_some_and(|limit| Instant::now() >= limit);
        if bounds.interrupt.number().is_some() {
            return Err(bounds.interrupt.failure());
        }
        if past(bounds.deadline) {
            return Err(Failure::new(Kind::Limit, "deadline", "the deadline passed while waiting for stdin"));
        }
        if bytes.is_empty() && past(first_byte_by) {
            return Ok(Read { bytes, silent: true });
        }
    }
}

fn pieces() -> Result<Receiver<std::io::Result<Vec<u8>>>, Failure> {
    let (sender, receiver) = sync_channel(4);
    let begun = std::thread::Builder::new().spawn(move || {
        let mut stdin = PollIo(std::io::stdin().lock());
        let mut buffer = [0; 64 * 1024];
        loop {
            let piece = match stdin.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(buffer.get(..count).unwrap_or_default().to_vec()),
                Err(error) => Err(error),
            };
            if sender.send(piece).is_err() {
                return;
            }
        }
    });
    begun.map(|_| receiver).map_err(|error| converse_host::runtime::denied("stdin", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str, bytes: &[u8]) -> Result<Prompt, Failure> {
        join(words, Read { bytes: bytes.to_vec(), silent: false })
    }

    #[test]
    fn words_come_first_then_a_blank_line_then_stdin() {
        assert_eq!(joined("explain", b"fn main() {}\n").unwrap().text, "explain\n\nfn main() {}\n");
        assert_eq!(joined("", b"all of it").unwrap().text, "all of it");
        assert_eq!(joined("just words", b" \n").unwrap().text, "just words");
    }

    #[test]
    fn nothing_at_all_is_a_usage_error() {
        let failure = joined(" ", b"").unwrap_err();
        assert_eq!((failure.kind, failure.code), (Kind::Usage, "no-prompt"));
    }

    #[test]
    fn other_encodings_are_read_with_a_remark() {
        let prompt = joined("", b"\xcf\xf0\xe8\xe2\xe5\xf2").unwrap();
        assert!(prompt.text.contains('\u{fffd}') && prompt.warning.is_some());
    }
}
