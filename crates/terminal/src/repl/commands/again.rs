//! `/undo`, `/retry`, `/edit`: the last turn taken back, asked again, said differently. What its tools did stays done.

use std::collections::BTreeSet;

use converse_canister::{Canister, Content, InvocationId};
use converse_config::Effects;

use crate::repl::session::ReplSession;
use crate::repl::turn::Words;
use converse_host::failure::Failure;
use converse_text::safe_line;

/// Messages that can be gone back to.
const MOST: usize = 20;
/// Characters of words that are named.
const SHOWN: usize = 60;

impl ReplSession<'_> {
    pub(super) fn undo(&mut self, turns: u32) -> Result<(), Failure> {
        for turn in 0..turns {
            if turn > 0 && self.conversation.last_start().is_none() {
                break;
            }
            let turn = self.taken_back()?;
            self.view.note(&format!("undone: {}", named(&turn)));
            // To be said differently.
            self.editor.prefill(&words(&inputs_of(turn)));
        }
        Ok(())
    }

    /// Lists the last messages, and undoes up to the chosen one, which is put back into the line.
    pub(in crate::repl) async fn go_back(&mut self) -> Result<(), Failure> {
        self.await_servers_first().await?;
        let canisters = self.conversation.transcript().as_slice();
        let said = self.conversation.sayings().into_iter().rev().take(MOST);
        let turns = said.filter_map(|(start, end)| canisters.get(start..end));
        let rows = turns.enumerate().map(|(at, turn)| vec![(at + 1).to_string(), named(turn)]);
        let heading = ["", "message"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = [heading].into_iter().chain(rows).collect();
        if rows.len() == 1 {
            return Err(nothing());
        }
        self.view.say(self.view.table(&rows).trim_end());
        let question = "back to which message? (its number; Enter: none) ";
        let Some(picked) = self.read_answer(question).await? else { return Ok(()) };
        match picked.trim().parse() {
            Ok(turns) if (1..rows.len()).contains(&(turns as usize)) => self.undo(turns),
            _ => Err(Failure::usage("no-such-message", "there is no message with this number")),
        }
    }

    /// The same words, and what was handed over with them.
    pub(super) async fn retry(&mut self) -> Result<(), Failure> {
        let turn = self.taken_back()?;
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
        self.taken_back()?;
        self.view.echo(&text);
        self.turn(Words::Again(reworded(said, &text))).await
    }

    fn taken_back(&mut self) -> Result<Vec<Canister>, Failure> {
        let did = self.effects(self.conversation.last_turn());
        let turn = self.conversation.undo()?.ok_or_else(nothing)?;
        self.recalls();
        if !did.is_empty() {
            let did: Vec<&str> = did.iter().map(String::as_str).collect();
            self.view.note(&format!("effects of these tools remain: {}", did.join(", ")));
        }
        Ok(turn)
    }

    /// The tools of a turn that ran and may have changed something; those that are not known any more among them.
    fn effects(&self, turn: &[Canister]) -> BTreeSet<String> {
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
            if ran && !harmless {
                did.insert(tool.map_or_else(|| invocation.tool.clone(), |tool| tool.qualified.clone()));
            }
        }
        did
    }
}

fn nothing() -> Failure {
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
fn named(turn: &[Canister]) -> String {
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
