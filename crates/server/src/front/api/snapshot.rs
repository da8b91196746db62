//! What a session of several servers is at one time, and the events that lead there from what a client has seen. It is pure.
//!
//! The server that runs a turn sends its events as they come. The others read the session when there is more, and send
//! whole messages.

use converse_canister::{Canister, InvocationId};
use converse_session::storage::SharedTurn;
use serde_json::Value;

use super::message::Markdown;
use super::narrator::{Batch, Position, begun, missed, missed_end};

/// How much of a session a client has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) position: Position,
    /// The last run whose beginning it has seen.
    pub(super) run: Option<String>,
}

/// A session and its last turn, read at one time.
pub(super) struct Snapshot {
    pub(super) session: String,
    pub(super) turn: Option<SharedTurn>,
    pub(super) messages: Vec<Canister>,
    /// The calls that another model's run has answered.
    pub(super) shared: Vec<InvocationId>,
    /// The approvals that it waits for.
    pub(super) interrupts: Vec<Value>,
    pub(super) markdown: Markdown,
}

impl Snapshot {
    fn is_running(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_running)
    }

    /// Returns what a client has seen that has seen everything.
    pub(super) fn all_seen(&self) -> Seen {
        let ended = !self.is_running();
        let messages = self.messages.len();
        let position = Position { messages, events: if ended { 2 } else { 1 }, ended, ..Position::default() };
        Seen { position, run: self.turn.as_ref().map(|turn| turn.run.clone()) }
    }

    /// Returns what a client has seen that names the position of its last event.
    pub(super) fn seen_until(&self, position: Position) -> Seen {
        let knows = |turn: &&SharedTurn| match position.ended {
            // It has seen the end of this run, or of an earlier one.
            true => !turn.is_running && position.messages >= self.messages.len(),
            false => turn.began.is_some_and(|began| position >= started_at(began)),
        };
        Seen { position, run: self.turn.as_ref().filter(knows).map(|turn| turn.run.clone()) }
    }

    /// Returns the events from there to the end.
    pub(super) fn since(&self, seen: &Seen) -> Vec<Batch> {
        let (all, mut at, mut batches) = (self.messages.as_slice(), seen.position, Vec::new());
        if let Some(turn) = self.turn.as_ref().filter(|turn| seen.run.as_ref() != Some(&turn.run)) {
            let began = turn.began.unwrap_or(all.len()).min(all.len());
            let before = all.get(..began).unwrap_or_default();
            batches.extend(self.missed(before, at));
            if seen.run.is_some() && !at.ended {
                // The run before ended and this one began in between.
                batches.extend(missed_end(before, at, &self.session, None, &[]));
            }
            batches.push(begun(&self.session, &turn.run, began));
            // The messages of an answer that was being sent are not sent again.
            let sent = if began == at.messages && !at.ended { at.sent } else { 0 };
            at = Position { messages: began, sent, ..Position::default() };
        }
        batches.extend(self.missed(all, at));
        if !self.is_running() {
            let ending =
                self.turn.as_ref().and_then(|turn| serde_json::from_str(turn.ending.as_deref()?).ok());
            batches.extend(missed_end(all, at, &self.session, ending, &self.interrupts));
        }
        batches
    }

    fn missed(&self, messages: &[Canister], from: Position) -> Vec<Batch> {
        missed(messages, from, &self.session, self.markdown, &self.shared)
    }
}

/// The position of the beginning of a run, after so many messages.
fn started_at(messages: usize) -> Position {
    Position { messages, events: 1, ..Position::default() }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Assistant, Content, Stop, TurnId, User};

    use super::*;

    fn user(text: &str) -> Canister {
        Canister::User(User::text(text))
    }

    fn answer(turn: u64, text: &str) -> Canister {
        Canister::Assistant(Assistant {
            turn: TurnId(turn),
            content: vec![Content::text(text)],
            native: None,
            stop: Stop::End,
            response_id: None,
        })
    }

    fn snapshot(messages: Vec<Canister>, turn: Option<(&str, bool, usize)>) -> Snapshot {
        let turn = turn.map(|(run, is_running, began)| SharedTurn {
            run: run.to_owned(),
            is_running,
            began: Some(began),
            ending: (!is_running).then(|| format!(r#"{{"type":"RUN_FINISHED","runId":"{run}"}}"#)),
        });
        Snapshot {
            session: "s".to_owned(),
            turn,
            messages,
            shared: Vec::new(),
            interrupts: Vec::new(),
            markdown: |text| text.to_owned(),
        }
    }

    /// The types of the events, with the run or the text.
    fn words(batches: &[Batch]) -> Vec<String> {
        let text: String =
            batches.iter().map(|batch| String::from_utf8_lossy(&batch.bytes).into_owned()).collect();
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.map(|event| serde_json::from_str::<Value>(event).unwrap());
        let word = |event: Value| {
            let name = |key: &str| event[key].as_str().map(str::to_owned);
            match event["type"].as_str()? {
                "RUN_STARTED" => Some(format!("start {}", name("runId")?)),
                "RUN_FINISHED" | "RUN_ERROR" => Some(format!("end {}", name("runId").unwrap_or_default())),
                "TEXT_MESSAGE_CONTENT" => name("delta"),
                "CUSTOM" if event["name"] == "converse.user" => {
                    event["value"]["content"][0]["text"].as_str().map(str::to_owned)
                }
                _ => None,
            }
        };
        events.filter_map(word).collect()
    }

    /// A client that follows these states of a session one after the other.
    fn followed(from: Seen, states: &[Snapshot]) -> Vec<String> {
        let (mut seen, mut events) = (from, Vec::new());
        for state in states {
            events.extend(words(&state.since(&seen)));
            seen = state.all_seen();
            assert!(state.since(&seen).is_empty(), "nothing is sent twice");
        }
        events
    }

    #[test]
    fn a_client_gets_each_event_once_however_the_session_grew() {
        let (q1, a1, q2, a2) = (user("q1"), answer(1, "a1"), user("q2"), answer(2, "a2"));
        let messages = [q1, a1, q2, a2];
        let upto = |count: usize| messages.iter().take(count).cloned().collect::<Vec<_>>();
        let first = Seen { position: Position { ended: true, ..Position::default() }, run: None };
        let all = ["start r1", "q1", "a1", "end r1", "start r2", "q2", "a2", "end r2"];
        let steps = [
            snapshot(upto(0), Some(("r1", true, 0))),
            snapshot(upto(1), Some(("r1", true, 0))),
            snapshot(upto(2), Some(("r1", true, 0))),
            snapshot(upto(2), Some(("r1", false, 0))),
            snapshot(upto(3), Some(("r2", true, 2))),
            snapshot(upto(4), Some(("r2", false, 2))),
        ];
        assert_eq!(followed(first.clone(), &steps), all);
        // The end of the first and the beginning of the second are read at once.
        let [a, b, .., e, f] = steps;
        let ended = ["start r1", "q1", "a1", "end ", "start r2", "q2", "a2", "end r2"];
        assert_eq!(followed(first, &[a, b, e, f]), ended);
    }

    #[test]
    fn a_client_goes_on_where_it_was() {
        let state = |running| snapshot(vec![user("q1"), answer(1, "one two")], Some(("r1", running, 0)));
        let from = |text: &str, running: bool| {
            let state = state(running);
            words(&state.since(&state.seen_until(text.parse().unwrap())))
        };
        assert_eq!(from("0.0.0", true), ["start r1", "q1", "one two"]);
        assert_eq!(from("0.0.1", true), ["q1", "one two"]);
        assert_eq!(from("1.0.1", true), ["one two"]);
        assert_eq!(from("1.5.3", false), ["two", "end r1"]);
        assert_eq!(from("2.0.1", false), ["end r1"]);
        assert_eq!(from("2.0.2e", false), [""; 0]);
        // The position is the end of the run before.
        let next = snapshot(vec![user("q1"), answer(1, "a1"), user("q2")], Some(("r2", true, 2)));
        assert_eq!(words(&next.since(&next.seen_until("2.0.2e".parse().unwrap()))), ["start r2", "q2"]);
    }

    #[test]
    fn a_run_that_fails_before_its_first_message_is_seen_and_messages_that_were_taken_back_are_replaced() {
        let before = snapshot(vec![user("q1"), answer(1, "a1")], Some(("r1", false, 0)));
        let failed = snapshot(vec![user("q1"), answer(1, "a1")], Some(("r2", false, 2)));
        assert_eq!(words(&failed.since(&before.all_seen())), ["start r2", "end r2"]);
        let again = snapshot(vec![user("other")], Some(("r3", true, 0)));
        assert_eq!(words(&again.since(&before.all_seen())), ["start r3", "other"]);
    }

    #[test]
    fn a_session_without_a_turn_of_a_server_ends_as_its_messages_say() {
        let state = snapshot(vec![user("q1"), answer(1, "a1")], None);
        assert_eq!(followed(state.seen_until(Position::default()), &[state]), ["q1", "a1", "end "]);
    }
}
