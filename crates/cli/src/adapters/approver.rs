//! The question on the terminal. Without a terminal nobody is asked, and "ask" means refused.

mod memory;
mod together;

use std::io::Write as _;
use std::sync::Arc;

use converse_canister::Decision;
use converse_config::Permission;
use converse_engine::Approver;
use converse_ensemble::Pending;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{Mutex, oneshot};

use crate::render::in_words;
use crate::render::output::write_stderr;
use crate::render::progress::Progress;
use crate::render::quoted::{broken, columns};
use crate::render::safe::{safe, safe_line};
use crate::world::World;

pub(crate) use memory::Memory;
use memory::{Offered, Reach};
pub(crate) use together::Approvers;

/// Who talks with the person: one at a time, a question and its answer together.
pub(crate) static FLOOR: Mutex<()> = Mutex::const_new(());

/// How long a question that nobody waits for any more may still read, and bytes of a line.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const MAX_LINE: usize = 64 * 1024;

pub(crate) struct TerminalApprover {
    can_ask: bool,
    progress: Arc<Progress>,
    memory: Option<Memory>,
}

impl TerminalApprover {
    pub(crate) fn new(can_ask: bool, progress: Arc<Progress>) -> Self {
        Self { can_ask, progress, memory: None }
    }

    /// One that also takes answers for more than one call.
    pub(crate) fn remembering(self, memory: Memory) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// `who` is told in the question, where several models may ask.
    async fn one(&self, pending: &Pending, place: (usize, usize), who: Option<&str>) -> Decision {
        let deny = |comment| Decision::Deny { rule: "user".to_owned(), comment };
        // The answer before this one may have been for all of them.
        let judged = self.memory.as_ref().map(|memory| pending.judged_anew(&memory.rules));
        if let Some(judged) = judged.filter(|judged| judged.permission == Permission::Allow) {
            return Decision::Allow { rule: judged.rule };
        }
        let offered = self.memory.as_ref().map(|memory| memory.offered(pending)).unwrap_or_default();
        let _floor = FLOOR.lock().await;
        match answer(&self.progress, question(pending, place, who, offered), offered).await {
            Some(Answer::Yes) => Decision::Allow { rule: "user".to_owned() },
            Some(Answer::Further(reach)) => self.further(pending, reach),
            Some(Answer::No(comment)) => deny(comment),
            None => deny(None),
        }
    }

    /// What cannot be kept is a yes all the same.
    fn further(&self, pending: &Pending, reach: Reach) -> Decision {
        let Some(memory) = &self.memory else { return Decision::Allow { rule: "user".to_owned() } };
        match memory.remember(pending, reach, World::now().to_string()) {
            Ok(pattern) => Decision::Remember { pattern },
            Err(why) => {
                let why = memory.redactor.clean(&why);
                write_stderr(&format!("warning: allowed this once, for it cannot be kept: {}\n", safe(&why)));
                Decision::Allow { rule: "user".to_owned() }
            }
        }
    }
}

/// Asks a question to which nothing but a plain yes is a yes.
pub(crate) async fn says_yes(progress: &Progress, question: String) -> bool {
    matches!(answer(progress, question, Offered::default()).await, Some(Answer::Yes))
}

/// Asks for a line; `None` if nobody answers any more.
pub(crate) async fn asks(progress: &Progress, question: String) -> Option<String> {
    let line = progress.suspended(|| read_answer(question)).await?;
    Some(line.trim().to_owned())
}

/// Asks until the answer is plain; `None` if nobody answers any more.
async fn answer(progress: &Progress, mut question: String, offered: Offered) -> Option<Answer> {
    loop {
        let line = progress.suspended(|| read_answer(question.clone())).await?;
        match parse(&line, offered) {
            None => question = format!("  please answer y or n{}: ", further_words(offered)),
            answer => return answer,
        }
    }
}

fn further_words(offered: Offered) -> String {
    let keys = FURTHER.iter().filter(|(_, reach, _)| offered.has(*reach)).map(|(key, ..)| format!(", {key}"));
    keys.collect()
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        async move {
            let mut decisions = Vec::with_capacity(pending.len());
            for (index, one) in pending.iter().enumerate() {
                decisions.push(self.one(one, (index + 1, pending.len()), None).await);
            }
            decisions
        }
        .boxed()
    }

    fn can_ask(&self) -> bool {
        self.can_ask
    }
}

enum Answer {
    Yes,
    /// Yes, and from now on.
    Further(Reach),
    No(Option<String>),
}

const FURTHER: [(&str, Reach, &str); 3] = [
    ("a", Reach::Arguments, "always, with just these arguments"),
    ("t", Reach::Tool, "always, this tool whatever its arguments"),
    ("r", Reach::Run, "this tool for the rest of this run"),
];

/// `y`, `n`, `n` with a word to the model, or a letter that was offered. Anything else is asked again: an approval is
/// never guessed.
fn parse(line: &str, offered: Offered) -> Option<Answer> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    match (word.to_lowercase().as_str(), rest) {
        ("y" | "yes" | "д" | "да", None) => Some(Answer::Yes),
        ("n" | "no" | "н" | "нет", comment) => Some(Answer::No(comment)),
        (key, None) => {
            let known = FURTHER.iter().find(|(letter, reach, _)| *letter == key && offered.has(*reach));
            known.map(|(_, reach, _)| Answer::Further(*reach))
        }
        _ => None,
    }
}

/// All that would run, in full: nothing is cut off unseen, and invisible characters are shown.
fn question(
    pending: &Pending,
    (index, count): (usize, usize),
    who: Option<&str>,
    offered: Offered,
) -> String {
    let effects = in_words(pending.effects());
    let who = who.map_or(String::new(), |who| format!("{}: ", safe_line(who, 100)));
    let place = if count > 1 { format!(" ({index} of {count})") } else { String::new() };
    let mut text = format!(
        "\n{who}allow {}?{place}  [{effects}; asked because of {}]\n",
        pending.tool(),
        safe_line(pending.rule(), 200)
    );
    if let Some(reason) = pending.reason() {
        text.push_str(&format!("  ({})\n", safe_line(reason, 400)));
    }
    for (name, value) in pending.arguments() {
        let value = match value.as_str() {
            Some(string) => format!("{string:?}"),
            None => value.to_string(),
        };
        let lead = format!("  {} = ", safe_line(name, 200));
        text.push_str(&broken(&lead, &safe(&value), columns()));
    }
    text.push_str("  y = yes, n = no, n WHY = no, and tell the model why");
    if offered.is_any() {
        let further = FURTHER.iter().filter(|(_, reach, _)| offered.has(*reach));
        let further: Vec<String> = further.map(|(key, _, what)| format!("{key} = {what}")).collect();
        text.push_str(&format!("\n  {}", further.join("; ")));
    }
    text + ": "
}

/// Reads one line on a thread of its own: a run that is cancelled does not wait for it, and a question that is taken back
/// takes no line from the next one.
pub(crate) async fn read_answer(question: String) -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut stderr = std::io::stderr().lock();
        // What was typed before the question is no answer to it.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let asked = stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush());
        drop(stderr);
        let line = asked.ok().and_then(|()| line(&sender));
        let _ = sender.send(line);
    });
    receiver.await.ok().flatten()
}

/// A terminal gives whole lines. Nothing is read ahead.
fn line(sender: &oneshot::Sender<Option<String>>) -> Option<String> {
    let (stdin, mut line) = (std::io::stdin(), Vec::new());
    while !line.ends_with(b"\n") {
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let ready = match poll(&mut waits, Some(&LOOK)) {
            Err(rustix::io::Errno::INTR) => 0,
            ready => ready.ok()?,
        };
        if sender.is_closed() {
            return None;
        }
        let mut bytes = [0; 4096];
        if ready > 0 {
            let read = rustix::io::read(&stdin, &mut bytes).ok().filter(|read| *read > 0)?;
            line.extend_from_slice(bytes.get(..read)?);
        }
        if line.len() > MAX_LINE {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Offered = Offered { arguments: true, tool: true, run: true };

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for offered in [ALL, Offered::default()] {
            let parse = |line| parse(line, offered);
            assert!(matches!(parse("y\n"), Some(Answer::Yes)));
            assert!(matches!(parse(" Да "), Some(Answer::Yes)));
            assert!(matches!(parse("n"), Some(Answer::No(None))));
            let why = parse("no use the other file");
            assert!(matches!(why, Some(Answer::No(Some(why))) if why == "use the other file"));
            for unclear in ["", "yy", "y and n", "maybe", "\x1b[A", "a b", "always", "tt", "r."] {
                assert!(parse(unclear).is_none(), "{unclear:?}");
            }
        }
    }

    #[test]
    fn only_what_was_offered_is_taken() {
        for (line, reach) in [("a", Reach::Arguments), (" T\n", Reach::Tool), ("r", Reach::Run)] {
            assert!(matches!(parse(line, ALL), Some(Answer::Further(far)) if far == reach));
            assert!(parse(line, Offered::default()).is_none());
        }
        let run = Offered { run: true, ..Offered::default() };
        assert!(parse("a", run).is_none() && parse("t", run).is_none() && parse("r", run).is_some());
        assert_eq!((further_words(ALL), further_words(run)), (", a, t, r".to_owned(), ", r".to_owned()));
    }
}
