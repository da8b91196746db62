//! Its stdout: whole messages, whichever thread they come from, and the rubbish that was ordered around them.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::flags::Flags;
use super::process;

/// Output of programs that is not meant for other programs.
const NOISE: &[&[u8]] = &[
    b"INFO  listening on stdio, log level: info\n",
    b"\n",
    b"<!doctype html><html><body>502 Bad Gateway</body></html>\n",
    b"\xff\xfe invalid \xc3\x28 utf-8\n",
    b"{\"level\":\"info\",\"msg\":\"a log line that is JSON\"}\n",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"half of a mess\n",
    b"[1, 2, 3]\n",
    b"\"a string\"\n",
    b"   \t  \n",
];

pub(super) struct Out {
    noisy: bool,
    end: &'static [u8],
    /// Lines of rubbish that are still to be written; so that nothing is before them.
    owed: AtomicU64,
    /// Length of the one long line of rubbish.
    long: AtomicU64,
    /// Held for a message at a time.
    turn: Mutex<()>,
}

impl Out {
    pub(super) fn new(flags: &Flags) -> Self {
        let end: &[u8] = if flags.has("crlf") { b"\r\n" } else { b"\n" };
        let out = Self {
            noisy: flags.has("noise"),
            end,
            owed: AtomicU64::new(flags.number("garbage-lines").unwrap_or(0)),
            long: AtomicU64::new(flags.number("garbage-bytes").unwrap_or(0)),
            turn: Mutex::new(()),
        };
        if flags.has("bom") {
            out.raw("\u{feff}".as_bytes());
        }
        out
    }

    pub(super) fn result(&self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(super) fn error(&self, id: &Value, code: i64, message: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
    }

    pub(super) fn request(&self, id: &Value, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(super) fn send(&self, message: &Value) {
        let _turn = self.turn.lock();
        self.rubbish();
        write(message.to_string().as_bytes());
        write(self.end);
        flush();
    }

    /// Writes a message that is too large to build in memory: `times` copies of `unit` between head and tail.
    pub(super) fn send_long(&self, head: &str, unit: &str, times: usize, tail: &str) {
        let _turn = self.turn.lock();
        let per_piece = (64 * 1024 / unit.len().max(1)).max(1);
        let piece = unit.repeat(per_piece);
        write(head.as_bytes());
        for _ in 0..times / per_piece {
            write(piece.as_bytes());
        }
        write(unit.repeat(times % per_piece).as_bytes());
        write(tail.as_bytes());
        write(self.end);
        flush();
    }

    pub(super) fn raw(&self, bytes: &[u8]) {
        let _turn = self.turn.lock();
        write(bytes);
        flush();
    }

    fn rubbish(&self) {
        for number in 0..self.owed.swap(0, Ordering::SeqCst) {
            write(format!("rubbish, line {number}\n").as_bytes());
        }
        let long = self.long.swap(0, Ordering::SeqCst);
        if long > 0 {
            write("x".repeat(usize::try_from(long).unwrap_or(0)).as_bytes());
            write(b"\n");
        }
        if self.noisy {
            NOISE.iter().for_each(|line| write(line));
        }
    }
}

/// Writes bytes, and ends the process if its output is closed.
fn write(bytes: &[u8]) {
    if std::io::stdout().write_all(bytes).is_err() {
        process::leave(0);
    }
}

fn flush() {
    if std::io::stdout().flush().is_err() {
        process::leave(0);
    }
}
