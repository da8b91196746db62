//! The question on the terminal. Without a terminal nobody is asked, and "ask" means refused.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use converse_canister::Decision;
use converse_engine::Approver;
use converse_ensemble::Pending;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::render::in_words;
use crate::render::progress::Progress;
use crate::render::safe::{safe, safe_line};

pub(crate) struct TerminalApprover {
    can_ask: bool,
    progress: Arc<Progress>,
}

impl TerminalApprover {
    pub(crate) fn new(can_ask: bool, progress: Arc<Progress>) -> Self {
        Self { can_ask, progress }
    }

    async fn one(&self, pending: &Pending, place: (usize, usize)) -> Decision {
        let deny = |comment| Decision::Deny { rule: "user".to_owned(), comment };
        match answer(&self.progress, question(pending, place)).await {
            Some(Answer::Yes) => Decision::Allow { rule: "user".to_owned() },
            Some(Answer::No(comment)) => deny(comment),
            None => deny(None),
        }
    }
}

/// Asks a question to which nothing but a plain yes is a yes.
pub(crate) async fn says_yes(progress: &Progress, question: String) -> bool {
    matches!(answer(progress, question).await, Some(Answer::Yes))
}

/// Asks until the answer is plain; `None` if nobody answers any more.
async fn answer(progress: &Progress, mut question: String) -> Option<Answer> {
    loop {
        let line = progress.suspended(|| read_answer(question.clone())).await?;
        match parse(&line) {
            None => question = "  please answer y or n: ".to_owned(),
            answer => return answer,
        }
    }
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        async move {
            let mut decisions = Vec::with_capacity(pending.len());
            for (index, one) in pending.iter().enumerate() {
                decisions.push(self.one(one, (index + 1, pending.len())).await);
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
    No(Option<String>),
}

/// `y`, `n`, or `n` with a word to the model. Anything else is asked again: an approval is never guessed.
fn parse(line: &str) -> Option<Answer> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    match (word.to_lowercase().as_str(), rest) {
        ("y" | "yes" | "д" | "да", None) => Some(Answer::Yes),
        ("n" | "no" | "н" | "нет", comment) => Some(Answer::No(comment)),
        _ => None,
    }
}

/// All that would run, in full: nothing is cut off unseen, and invisible characters are shown.
fn question(pending: &Pending, (index, count): (usize, usize)) -> String {
    let effects = in_words(pending.effects());
    let place = if count > 1 { format!(" ({index} of {count})") } else { String::new() };
    let mut text = format!(
        "\nallow {}?{place}  [{effects}; asked because of {}]\n",
        pending.tool(),
        safe_line(pending.rule(), 200)
    );
    for (name, value) in pending.arguments() {
        let value = match value.as_str() {
            Some(string) => format!("{string:?}"),
            None => value.to_string(),
        };
        text.push_str(&format!("  {} = {}\n", safe_line(name, 200), safe(&value)));
    }
    text.push_str("  y = yes, n = no, n WHY = no, and tell the model why: ");
    text
}

/// Reads one line on a thread of its own: a run that is cancelled does not wait for it.
async fn read_answer(question: String) -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut stderr = std::io::stderr().lock();
        // What was typed before the question is no answer to it.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let asked = stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush());
        drop(stderr);
        let mut line = String::new();
        let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        let _ = sender.send(matches!(read, Ok(1..)).then_some(line));
    });
    receiver.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        assert!(matches!(parse("y\n"), Some(Answer::Yes)));
        assert!(matches!(parse(" Да "), Some(Answer::Yes)));
        assert!(matches!(parse("n"), Some(Answer::No(None))));
        assert!(
            matches!(parse("no use the other file"), Some(Answer::No(Some(why))) if why == "use the other file")
        );
        for unclear in ["", "yy", "y and n", "maybe", "\x1b[A"] {
            assert!(parse(unclear).is_none(), "{unclear:?}");
        }
    }
}
