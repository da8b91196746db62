//! `/undo`, `/retry`, `/edit`: the last turn taken back, asked again, said differently. What its tools did stays done.

use std::collections::{BTreeSet, HashSet};

use converse_canister::{Canister, Content, InvocationId};
use converse_config::Effects;

use crate::repl::session::ReplSession;
use crate::repl::slash::{Slash, parse};
use crate::repl::turn::Words;
use converse_host::failure::Failure;
use converse_text::safe_line;

/// Characters of words that are named.
const SHOWN: usize = 60;

impl ReplSession<'_> {
    /// `restored`: calls of which nothing is left.
    pub(super) fn undo(&mut self, turns: u32, restored: &HashSet<InvocationId>) -> Result<(), Failure> {
        for turn in 0..turns {
            if turn > 0 && self.conversation.last_start().is_none() {
                break;
            }
            let turn = self.taken_back(restored)?;
            self.view.note(&format!("undone: {}", named(&turn)));
            // To be said differently.
            self.editor.prefill(&typed(words(&inputs_of(turn))));
        }
        Ok(())
    }

    /// The same words, and what was handed over with them.
    pub(super) async fn retry(&mut self) -> Result<(), Failure> {
        let turn = self.taken_back(&HashSet::new())?;
        let said = inputs_of(turn);
        self.view.echo(&words(&said));
        self.turn(Words::Again(said)).await
    }

    /// The last words in the user's editor, then as if they had been said so; nothing written, nothing done.
    pub(super) async fn edit(&mut self) -> Result<(), Failure> {
        let said = inputs_of(self.conversation.last_turn().to_vec());
        if said.is_empty() {
            return Err(nothing());
        }
        let before = words(&said);
        let Some(text) = self.composed(&before).await? else { return Ok(()) };
        self.taken_back(&HashSet::new())?;
        self.view.echo(&text);
        self.turn(Words::Again(reworded(said, &text))).await
    }

    fn taken_back(&mut self, restored: &HashSet<InvocationId>) -> Result<Vec<Canister>, Failure> {
        let did = self.effects(self.conversation.last_turn(), restored);
        let turn = self.conversation.undo()?.ok_or_else(nothing)?;
        self.recalls();
        self.tell_effects(&did);
        Ok(turn)
    }

    /// Says which effects remain.
    pub(super) fn tell_effects(&self, did: &BTreeSet<String>) {
        if !did.is_empty() {
            let did: Vec<&str> = did.iter().map(String::as_str).collect();
            self.view.note(&format!("effects of these tools remain: {}", did.join(", ")));
        }
    }

    /// The tools of a turn that ran and may have changed something; those that are not known any more among them.
    pub(super) fn effects(&self, turn: &[Canister], restored: &HashSet<InvocationId>) -> BTreeSet<String> {
        let offer = self.connected.roster.offer();
        let result = |id: &InvocationId| {
            turn.iter().find_map(|one| match one {
                Canister::Result(result) if result.id == *id => Some(result.outcome),
                _ => None,
            })
        };
        let mut did = BTreeSet::new();
        for canister in turn {
            let Canister::Invocation(invocation) = canister else { continue };
            let ran = self.conversation.ran.has(&invocation.id, result(&invocation.id));
            let tool = offer.find(&invocation.tool);
            let harmless = tool.is_some_and(|tool| tool.policy.effects <= Effects::Read);
            if ran && !harmless && !restored.contains(&invocation.id) {
                did.insert(tool.map_or_else(|| invocation.tool.clone(), |tool| tool.qualified.clone()));
            }
        }
        did
    }
}

pub(super) fn nothing() -> Failure {
    Failure::usage("no-turn", "there is no message yet")
}

/// What the user said in a turn: everything up to the model's first word.
fn inputs_of(turn: Vec<Canister>) -> Vec<Canister> {
    let is_models = |one: &Canister| one.turn().is_some() || matches!(one, Canister::Result(_));
    let users = |one: &Canister| matches!(one, Canister::User(_));
    // A prompt of a server may hold words of the assistant; behind the last word of the user all is the model's.
    match turn.iter().position(is_models) {
        Some(place) if turn.iter().take(place).any(users) => turn.into_iter().take(place).collect(),
        Some(_) => {
            let last = turn.iter().rposition(users).map_or(0, |place| place + 1);
            turn.into_iter().take(last).collect()
        }
        None => turn,
    }
}

/// All that the user said in it, in short.
pub(super) fn named(turn: &[Canister]) -> String {
    let mut texts = Vec::new();
    let mut handed = Vec::new();
    for canister in inputs_of(turn.to_vec()) {
        match canister {
            Canister::Document(document) => handed.push(document.name),
            Canister::User(user) => {
                let text: String = user.content.iter().filter_map(Content::as_text).collect();
                texts.extend(Some(text).filter(|text| !text.trim().is_empty()));
                handed.extend(user.content.into_iter().filter_map(|content| match content {
                    Content::Blob { name, .. } => name,
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    let texts: Vec<String> = texts.iter().map(|text| safe_line(text, SHOWN)).collect();
    let handed: Vec<String> = handed.iter().map(|name| safe_line(name, SHOWN)).collect();
    match handed.is_empty() {
        true => texts.join(" · "),
        false => format!("{} (with {})", texts.join(" · "), handed.join(", ")),
    }
}

/// The text of the user's last message in it.
fn words(turn: &[Canister]) -> String {
    let last = turn.iter().rev().find_map(|one| match one {
        Canister::User(user) => Some(user),
        _ => None,
    });
    last.map(|user| user.content.iter().filter_map(Content::as_text).collect()).unwrap_or_default()
}

/// The same with other words; what was handed over stays.
fn reworded(mut said: Vec<Canister>, text: &str) -> Vec<Canister> {
    let last = said.iter_mut().rev().find_map(|one| match one {
        Canister::User(user) => Some(user),
        _ => None,
    });
    if let Some(user) = last {
        user.content.retain(|content| content.as_text().is_none());
        user.content.push(Content::text(text));
    }
    said
}

/// Returns what to type so that these words are sent, and not run as a command.
fn typed(words: String) -> String {
    let is_sent = match parse(&words) {
        Slash::Text(text) => text == words.trim_end(),
        other => matches!(other, Slash::Nothing),
    };
    match words.trim_start().chars().next() {
        Some(sign) if !is_sent => format!("{sign}{}", words.trim_start()),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Assistant, Stop, TurnId, User};

    use super::*;

    fn user(text: &str) -> Canister {
        Canister::User(User::text(text))
    }

    fn assistant() -> Canister {
        let (turn, stop) = (TurnId(1), Stop::End);
        Canister::Assistant(Assistant { turn, content: vec![], native: None, stop, response_id: None })
    }

    #[test]
    fn words_that_are_put_back_are_never_a_command() {
        for (words, expected) in [
            ("plain", "plain"),
            ("!rm -r build, good idea?", "!!rm -r build, good idea?"),
            (" !ls", "!!ls"),
            ("!", "!!"),
            ("/clear", "//clear"),
            ("//twice", "///twice"),
            ("/usr/bin is a path", "/usr/bin is a path"),
            ("!a\nb", "!a\nb"),
        ] {
            assert_eq!(typed(words.to_owned()), expected);
            let sent = parse(&typed(words.to_owned()));
            assert!(matches!(&sent, Slash::Text(text) if text == words.trim_start()), "{words}");
        }
    }

    #[test]
    fn what_the_user_said_is_told_from_what_was_answered() {
        let count = |turn: Vec<Canister>| inputs_of(turn).len();
        assert_eq!(count(vec![user("a"), assistant()]), 1);
        assert_eq!(count(vec![user("a"), user("b")]), 2, "it was never answered");
        assert_eq!(count(vec![user("a"), assistant(), user("repair"), assistant()]), 1);
        assert_eq!(count(vec![assistant(), user("a"), assistant()]), 2, "a prompt began with the assistant");
        let document = |name: &str| {
            let (name, mime) = (name.to_owned(), "text/plain".to_owned());
            Canister::Document(converse_canister::Document { name, mime, content: vec![], labels: None })
        };
        assert_eq!(named(&[document("d.txt"), user("a"), user("b"), assistant()]), "a · b (with d.txt)");
        assert_eq!(named(&[user("a"), assistant(), user("repair"), assistant()]), "a");
        assert_eq!(words(&[user("a"), user("b")]), "b");
        assert_eq!(words(&reworded(vec![user("a"), user("b")], "c")), "c");
    }
}
