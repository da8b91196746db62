//! `!command`: a command of the user in the project, with the rights of the user. Its output goes with the next message.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::Origin;
use converse_process::{Child, Spawn};
use converse_text::secrets::is_secret;
use converse_text::shorten;
use futures_util::FutureExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::{sleep, timeout};

use crate::repl::internal;
use crate::repl::session::ReplSession;
use crate::repl::turn::with_stop_notice;
use crate::view::TerminalView;
use converse_host::attach::UserInput;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::world::World;
use converse_text::wording::{bytes, counted};

const SHELL: &str = "/bin/sh";
/// How long a command may run.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Time between the steps of ending a command.
const GRACE: Duration = Duration::from_millis(400);
/// How long output is awaited after the end: processes that were left running may hold the pipe.
const LEFTOVER: Duration = Duration::from_millis(500);
/// Bytes of the output that are kept at its beginning, and at its end.
const KEPT: usize = 32 * 1024;
/// Lines that are shown.
const SHOWN: usize = 500;
/// Bytes of a line that is shown before it has ended.
const LONGEST_LINE: usize = 4096;
const NAME: usize = 60;

impl ReplSession<'_> {
    /// Runs a command, and keeps its output for the next message.
    pub(super) async fn shell(&mut self, command: &str) -> Result<(), Failure> {
        let attended = self.attention.to_turn();
        let view = Arc::clone(&self.view);
        view.begin_turn();
        let running = self.ran_in_shell(command, &attended.interrupt).boxed_local();
        let ran = view.during(with_stop_notice(&view, &attended, running)).await;
        view.end_turn(None);
        let (end, output) = ran?;
        view.say(&end);
        let text = self.console.context.redactor.clean(&format!("$ {command}\n{output}[{end}]\n"));
        let name = self.console.context.redactor.clean(command);
        let name = format!("!{}", shorten::within_chars(&name, NAME));
        let kept = UserInput::of_text(&name, &text, Origin::machine());
        self.waiting = self.waiting.clone().and(kept)?;
        view.note(&format!(
            "the output goes with the next message ({}); `/attach -` drops it",
            bytes(text.len() as u64)
        ));
        Ok(())
    }

    /// Returns how it ended, and what it wrote.
    async fn ran_in_shell(&self, command: &str, interrupt: &Interrupt) -> Result<(String, String), Failure> {
        let spawn = Spawn {
            program: PathBuf::from(SHELL),
            // Stderr comes in its place among the output.
            arguments: vec!["-c".to_owned(), format!("exec 2>&1\n{command}")],
            environment: environment(self.world),
            cwd: self.world.cwd.clone(),
            stdin: false,
        };
        let mut child = spawn.start(self.connected.guardian()).map_err(internal)?;
        let mut output =
            Output { pipe: child.stdout.take(), kept: Kept::default(), lines: Lines::new(&self.view) };
        let end = tokio::select! {
            biased;
            status = to_its_end(&mut child, &mut output) => ended(status.map_err(internal)?),
            () = interrupt.token.cancelled() => "stopped".to_owned(),
            () = sleep(LONGEST) => format!("stopped after {} minutes", LONGEST.as_secs() / 60),
        };
        child.end(GRACE).await;
        output.lines.end();
        if interrupt.number().is_some_and(|number| number != 2) {
            return Err(interrupt.failure());
        }
        Ok((end, output.kept.text()))
    }
}

/// The environment of the user, without what holds keys.
fn environment(world: &World) -> Vec<(String, String)> {
    let is_passed = |(name, value): &(&String, &String)| !is_secret(name, value);
    world.env.iter().filter(is_passed).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

async fn to_its_end(child: &mut Child, output: &mut Output<'_>) -> std::io::Result<ExitStatus> {
    let early = tokio::select! {
        () = output.read() => None,
        status = child.wait() => Some(status),
    };
    match early {
        Some(status) => {
            let _ = timeout(LEFTOVER, output.read()).await;
            status
        }
        None => child.wait().await,
    }
}

struct Output<'v> {
    pipe: Option<ChildStdout>,
    kept: Kept,
    lines: Lines<'v>,
}

impl Output<'_> {
    /// Reads to the end. May be dropped and called again: nothing that was read is lost.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut piece).await {
            let piece = piece.get(..count).unwrap_or_default();
            self.kept.add(piece);
            self.lines.add(piece);
            // A command that writes without a pause would leave no turn to the keyboard and the clock.
            tokio::task::yield_now().await;
        }
    }
}

/// The beginning and the end of an output.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: usize,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        let room = KEPT - self.head.len();
        let (head, tail) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // Not at each piece: what is cut off is moved.
        if self.tail.len() > 2 * KEPT {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let surplus = self.tail.len().saturating_sub(KEPT);
        self.left_out += surplus;
        self.tail.drain(..surplus);
    }

    /// As text of whole lines. If something is left out, so are the parts of lines beside it: half a key would not be
    /// recognised as one.
    fn text(mut self) -> String {
        self.trim();
        if self.left_out == 0 {
            self.head.append(&mut self.tail);
        } else {
            let head = self.head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.left_out += self.head.len() - head;
            self.head.truncate(head);
            let tail = self.tail.iter().position(|byte| *byte == b'\n').map_or(self.tail.len(), |at| at + 1);
            self.left_out += tail;
            self.tail.drain(..tail);
        }
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
        };
        match self.left_out {
            0 => text(&self.head),
            count => format!("{}[{count} bytes are left out]\n{}", text(&self.head), text(&self.tail)),
        }
    }
}

/// Shows lines as they come.
struct Lines<'v> {
    view: &'v TerminalView,
    /// Of a line that has not ended.
    open: Vec<u8>,
    count: usize,
}

impl<'v> Lines<'v> {
    fn new(view: &'v TerminalView) -> Self {
        Self { view, open: Vec::new(), count: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.open.push(*byte);
            }
            if *byte == b'\n' || self.open.len() >= LONGEST_LINE {
                self.show();
            }
        }
    }

    fn show(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.count += 1;
        if self.count <= SHOWN {
            self.view.say(last_state(&String::from_utf8_lossy(&line)));
        }
    }

    fn end(&mut self) {
        if !self.open.is_empty() {
            self.show();
        }
        if let Some(more @ 1..) = self.count.checked_sub(SHOWN) {
            self.view.note(&format!("{} not shown", counted(more, "more line")));
        }
    }
}

/// What is left of a line that was written over, as progress bars are.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&[u8]]) -> String {
        let mut kept = Kept::default();
        pieces.iter().for_each(|piece| kept.add(piece));
        kept.text()
    }

    #[test]
    fn output_is_kept_in_whole_lines() {
        assert_eq!(kept(&[]), "");
        assert_eq!(kept(&[b"one\r\ntw", b"o"]), "one\ntwo\n");
        assert_eq!(kept(&["日".as_bytes().get(..1).unwrap(), "日".as_bytes().get(1..).unwrap()]), "日\n");
    }

    #[test]
    fn of_a_long_output_both_ends_are_kept() {
        let line = &b"0123456789abcde\n"[..];
        let lines = |count| std::iter::repeat_n(line, count);
        let whole = kept(&lines(2 * KEPT / line.len()).collect::<Vec<_>>());
        assert_eq!(whole.len(), 2 * KEPT);
        let ends = [&b"first\n"[..], b"last\n"];
        let long =
            kept(&ends[..1].iter().copied().chain(lines(100_000)).chain([ends[1]]).collect::<Vec<_>>());
        assert!(long.starts_with("first\n") && long.ends_with("\nlast\n"), "both ends");
        assert!(long.contains(" bytes are left out]\n") && long.len() < 2 * KEPT + 100, "{}", long.len());
        // A line that is cut is left out whole: a part of a key would not be recognised.
        let cut = [&b"first\n"[..], &[b'k'; 4 * KEPT], b"\nlast\n"].concat();
        assert_eq!(kept(&[&cut]), format!("first\n[{} bytes are left out]\nlast\n", 4 * KEPT + 1));
    }

    #[test]
    fn a_line_that_was_written_over_is_shown_as_it_is_in_the_end() {
        for (line, shown) in [("a", "a"), ("10 %\r20 %", "20 %"), ("10 %\r20 %\r", "20 %"), ("\r", "")] {
            assert_eq!(last_state(line), shown);
        }
    }
}
