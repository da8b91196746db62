//! A conversation is saved and the process dies: at any byte, at any write, and again while mending.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use converse_canister::{
    Arguments, Assistant, Canister, Condensed, Cost, Decision, Invocation, InvocationId, InvocationResult,
    Maker, Native, Outcome, ProviderName, Stop, TurnId, Usage, User,
};
use jiff::Timestamp;
use serde_json::json;

use crate::lines::Lines;
use crate::repair::load;
use crate::scan::scan;
use crate::storage::Appendable;
use crate::synced::Synced;
use crate::{Body, Entry, Header, Loaded, Repair, SessionError};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A reply with these calls, which its native form names.
fn reply(turn: u64, calls: &[usize]) -> Vec<Body> {
    let turn = TurnId(turn);
    let ids: Vec<_> = calls.iter().map(|index| InvocationId::of(turn, *index)).collect();
    let maker = Maker {
        provider: ProviderName::new("p").unwrap(),
        dialect: "d".into(),
        model: "m".into(),
        endpoint: "e".into(),
    };
    let items = ids.iter().map(|id| json!({ "call": id })).collect();
    let native = Some(Native { maker, items });
    let said = vec![converse_canister::Content::text("let me see\n{")];
    let first = Assistant { turn, content: said, native, stop: Stop::End, response_id: None };
    let invocation = |id: &InvocationId| {
        let arguments = Arguments::parse(r#"{"x":"ü\n"}"#);
        let id = id.clone();
        Canister::Invocation(Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None })
    };
    let mut bodies = vec![Canister::Assistant(first).into()];
    bodies.extend(ids.iter().map(|id| invocation(id).into()));
    let usage = Usage { output: Some(2), ..Usage::default() };
    bodies.push(Body::Used { usage, cost: Some(Cost(3)), model: "m".into(), provider: None });
    bodies
}

fn decided(turn: u64, index: usize) -> Body {
    Body::Decided {
        id: InvocationId::of(TurnId(turn), index),
        decision: Decision::Allow { rule: "r".into() },
    }
}

fn started(turn: u64, index: usize) -> Body {
    Body::Started { id: InvocationId::of(TurnId(turn), index) }
}

fn result(turn: u64, index: usize) -> Body {
    let id = InvocationId::of(TurnId(turn), index);
    Canister::Result(InvocationResult::new(id, Outcome::Success, "done")).into()
}

fn story() -> Vec<Body> {
    let header = Header::new("p", NOW);
    let later = json!({ "type": "starred", "to": 1 });
    let settings = json!({ "type": "settings", "settings": { "a": 1 } });
    let user = |text: &str| Body::from(Canister::User(User::text(text)));
    [
        vec![Body::Opened(header), Body::Other(settings.as_object().unwrap().clone())],
        vec![user("hello")],
        reply(1, &[0, 1, 2]),
        vec![decided(1, 0), decided(1, 1), started(1, 1), started(1, 0), result(1, 0), result(1, 1)],
        vec![decided(1, 2), started(1, 2), result(1, 2)],
        vec![Body::Other(later.as_object().unwrap().clone())],
        reply(2, &[]),
        vec![user("more")],
        reply(3, &[0]),
        vec![decided(3, 0), started(3, 0), result(3, 0)],
        reply(4, &[]),
    ]
    .concat()
}

/// One that goes back: behind a whole reply, into the middle of one, behind everything. Numbers are used again.
fn wandering_story() -> Vec<Body> {
    let user = |text: &str| Body::from(Canister::User(User::text(text)));
    let back = |to| Body::Rewound { to };
    let condensed =
        |covers| Body::Condensed { condensed: Condensed { covers, summary: "s".into(), model: "m".into() } };
    [
        // Lines 1 to 8.
        vec![Body::Opened(Header::new("p", NOW)), user("one")],
        reply(1, &[0]),
        vec![decided(1, 0), started(1, 0), result(1, 0)],
        // To 13.
        reply(2, &[]),
        vec![condensed(2), user("two"), condensed(9)],
        // To 19: a call that is gone back behind when it runs.
        reply(3, &[0]),
        vec![decided(3, 0), started(3, 0), back(10)],
        // To 23: the same number again, not started.
        vec![user("two again")],
        reply(3, &[0]),
        // To 26: back into the middle of reply 2's only canister and its end.
        vec![decided(3, 0), back(9), user("three")],
        reply(4, &[0, 1]),
        // Between the two calls of reply 4, of which one has been started.
        vec![started(4, 0), back(28)],
    ]
    .concat()
}

fn line(seq: usize, body: Body) -> Vec<u8> {
    Entry { seq: seq as u64, at: NOW, body }.to_line().unwrap()
}

fn written(story: Vec<Body>) -> Vec<u8> {
    story.into_iter().enumerate().flat_map(|(index, body)| line(index + 1, body)).collect()
}

fn read(bytes: &[u8]) -> Result<Loaded, SessionError> {
    Ok(load(scan(bytes, Synced::default(), Path::new("j"))?, Path::new("j"))?.answered())
}

/// What opening the session makes of the file.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let loaded = read(bytes).unwrap();
    let mut bytes = bytes[..loaded.length as usize].to_vec();
    for (index, body) in loaded.amendments().into_iter().enumerate() {
        bytes.extend(line(loaded.next_seq as usize + index, body));
    }
    bytes
}

/// What a provider would refuse is not in there.
fn assert_sendable(loaded: &Loaded) {
    let canisters = loaded.transcript.as_slice();
    assert!(!loaded.transcript.has_open());
    assert_eq!(loaded.places.len(), canisters.len());
    assert!(loaded.places.is_sorted_by(|a, b| a.seq < b.seq));
    assert!(loaded.condensed.as_ref().is_none_or(|condensed| condensed.covers <= canisters.len()));
    let invocations: HashSet<_> = canisters
        .iter()
        .filter_map(|canister| match canister {
            Canister::Invocation(invocation) => Some(invocation.id.to_string()),
            _ => None,
        })
        .collect();
    for canister in canisters {
        if let Canister::Assistant(Assistant { native: Some(native), .. }) = canister {
            for item in &native.items {
                assert!(
                    invocations.contains(item["call"].as_str().unwrap()),
                    "a native call without a canister"
                );
            }
        }
    }
}

/// Nor is anything claimed that did not happen.
fn assert_lawful(loaded: &Loaded, all: &Loaded) {
    assert_sendable(loaded);
    let canisters = loaded.transcript.as_slice();
    let genuine = |canister: &&Canister| {
        let made_up = [Outcome::Cancelled, Outcome::Interrupted];
        !matches!(canister, Canister::Result(result) if made_up.contains(&result.outcome))
    };
    let plain = |canister: &Canister| match canister.clone() {
        Canister::Assistant(assistant) => Canister::Assistant(Assistant { native: None, ..assistant }),
        other => other,
    };
    let kept: Vec<_> = canisters.iter().filter(genuine).map(plain).collect();
    let whole: Vec<_> = all.transcript.as_slice().iter().map(plain).collect();
    assert!(whole.starts_with(&kept));
}

#[test]
fn a_finished_story_needs_no_repair_and_keeps_its_native_forms() {
    let loaded = read(&written(story())).unwrap();
    assert_eq!(loaded.repairs, []);
    assert!(loaded.amendments().is_empty());
    assert_eq!((loaded.usage.output, loaded.cost, loaded.decisions.len()), (Some(8), Cost(12), 4));
    let natives = loaded.transcript.as_slice().iter();
    let natives = natives.filter(|c| matches!(c, Canister::Assistant(a) if a.native.is_some()));
    assert_eq!(natives.count(), 4);
}

#[test]
fn cut_at_every_byte_the_story_is_lawful_and_mended_once() {
    let whole = written(story());
    let all = read(&whole).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in 0..whole.len() {
        let cut = &whole[..length];
        if length < header {
            assert!(matches!(read(cut), Err(SessionError::Empty { .. })), "{length}");
            continue;
        }
        let loaded = read(cut).unwrap();
        assert_lawful(&loaded, &all);
        let whole_lines = cut.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(loaded.next_seq as usize, whole_lines + 1, "{length}");
        // A torn line is a torn line, however long: some cuts of each are enough.
        if length % 7 > 0 && !cut.ends_with(b"\n") {
            continue;
        }
        let again = read(&repaired(cut)).unwrap();
        assert_eq!(again.repairs, [], "{length}");
        assert_eq!(again.transcript, loaded.transcript, "{length}");
    }
}

#[test]
fn cut_again_while_mending_it_is_lawful_still() {
    let whole = written(story());
    let all = read(&whole).unwrap();
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for end in ends {
        let once = repaired(&whole[..end]);
        // A torn line is a torn line, however long: some cuts of each are enough.
        for length in (end..once.len()).step_by(23) {
            let loaded = read(&once[..length]).unwrap();
            assert_lawful(&loaded, &all);
            assert_eq!(read(&repaired(&once[..length])).unwrap().repairs, [], "{end} {length}");
        }
    }
}

#[test]
fn cut_at_every_line_a_story_that_goes_back_can_be_sent_and_is_mended_once() {
    let whole = written(wandering_story());
    let ends: Vec<_> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(ends.len(), wandering_story().len());
    for end in ends {
        for torn in [&b""[..], b"{\"seq\":", b"\0\0\0"] {
            let cut = [&whole[..end], torn].concat();
            let loaded = read(&cut).unwrap();
            assert_sendable(&loaded);
            let again = read(&repaired(&cut)).unwrap();
            assert_eq!(again.repairs, [], "{end}");
            assert_eq!(again.transcript, loaded.transcript, "{end}");
            let seqs = |loaded: &Loaded| loaded.places.iter().map(|place| place.seq).collect::<Vec<_>>();
            assert_eq!(seqs(&again), seqs(&loaded), "a repair stands where it was said to stand");
        }
    }
}

/// After so many lines of the story: the lines of the conversation, how many replies have their native form, what is
/// condensed, what became of open calls.
#[test]
fn what_was_gone_back_behind_is_no_part_of_the_conversation() {
    use Outcome::{Cancelled, Interrupted, Success};
    let story = wandering_story();
    for (lines, expected, natives, covers, results) in [
        // What covers more than there is does not hold.
        (13, &[2, 3, 4, 8, 9, 12][..], 2, Some(2), &[Success][..]),
        (18, &[2, 3, 4, 8, 9, 12, 14, 15, 19], 3, Some(2), &[Success, Interrupted]),
        (19, &[2, 3, 4, 8, 9], 2, None, &[Success]),
        // The call of the same number was started before it was gone back behind; this one was not.
        (24, &[2, 3, 4, 8, 9, 20, 21, 22, 25], 3, None, &[Success, Cancelled]),
        // To the last message of a reply that is whole.
        (25, &[2, 3, 4, 8, 9], 2, None, &[Success]),
        (29, &[2, 3, 4, 8, 9, 26, 27, 28, 29, 31, 32], 2, None, &[Success, Cancelled, Cancelled]),
        (31, &[2, 3, 4, 8, 9, 26, 27, 28, 29, 32, 33], 3, None, &[Success, Interrupted, Cancelled]),
        // Into the middle of a reply: it is not replayed in its native form, which has the second call.
        (32, &[2, 3, 4, 8, 9, 26, 27, 28, 33], 2, None, &[Success, Cancelled]),
    ] {
        let loaded = read(&written(story[..lines].to_vec())).unwrap();
        let seqs: Vec<_> = loaded.places.iter().map(|place| place.seq).collect();
        let canisters = loaded.transcript.as_slice().iter();
        let native = canisters.clone().filter(|c| matches!(c, Canister::Assistant(a) if a.native.is_some()));
        let outcomes: Vec<_> = canisters
            .filter_map(|canister| match canister {
                Canister::Result(result) => Some(result.outcome),
                _ => None,
            })
            .collect();
        let condensed = loaded.condensed.map(|condensed| condensed.covers);
        let seen = (seqs.as_slice(), native.count(), condensed, outcomes.as_slice());
        assert_eq!(seen, (expected, natives, covers, results), "{lines}");
    }
    let loaded = read(&written(story)).unwrap();
    assert_eq!((loaded.usage.output, loaded.cost), (Some(10), Cost(15)), "all of it was paid for");
    assert_eq!(loaded.decisions.len(), 1);
}

#[test]
fn what_is_known_of_an_open_invocation_decides_its_result() {
    let (mut before, mut repairs) = (story(), vec![]);
    let at = before.iter().position(|body| *body == result(1, 0)).unwrap();
    before.truncate(at);
    let loaded = read(&written(before)).unwrap();
    for (index, outcome) in [(0, Outcome::Interrupted), (1, Outcome::Interrupted), (2, Outcome::Cancelled)] {
        let id = InvocationId::of(TurnId(1), index);
        let found = loaded.transcript.as_slice().iter().any(|canister| {
            matches!(canister, Canister::Result(result) if result.id == id && result.outcome == outcome)
        });
        assert!(found, "{id}");
        let started = outcome == Outcome::Interrupted;
        repairs.push(if started { Repair::Interrupted { id } } else { Repair::NotStarted { id } });
    }
    assert_eq!(loaded.repairs, repairs);
}

#[test]
fn a_reply_without_its_end_loses_its_native_form_for_good() {
    let mut cut = story();
    let second_call = cut.iter().position(|body| matches!(body, Body::Used { .. })).unwrap() - 1;
    cut.truncate(second_call);
    let repaired = repaired(&written(cut));
    let loaded = read(&repaired).unwrap();
    let native = loaded
        .transcript
        .as_slice()
        .iter()
        .any(|canister| matches!(canister, Canister::Assistant(assistant) if assistant.native.is_some()));
    assert!(!native);
    assert!(String::from_utf8(repaired).unwrap().contains("\"type\":\"incomplete\",\"turn\":1"));
}

#[test]
fn a_canister_against_the_law_is_damage() {
    let mut broken = story();
    broken.insert(3, result(1, 0));
    match read(&written(broken)).unwrap_err() {
        SessionError::Corrupt { line: 4, reason, .. } => {
            assert!(reason.contains("no open invocation"), "{reason}")
        }
        other => panic!("{other}"),
    }
}

proptest::proptest! {
    /// Damage is told or harmless; whatever is handed out is lawful.
    #[test]
    fn a_changed_byte_makes_nothing_fall(at: proptest::sample::Index, byte: u8) {
        let mut bytes = written(story());
        let at = at.index(bytes.len());
        bytes[at] = byte;
        match read(&bytes) {
            Ok(loaded) => proptest::prop_assert!(!loaded.transcript.has_open()),
            Err(error) => {
                let io = matches!(error, SessionError::Io { .. });
                proptest::prop_assert!(!io, "{}", error);
            }
        }
    }
}

/// Takes `bite` bytes at a time, has no more room once in a while, and keeps every state the file was in.
struct Tape {
    bytes: Vec<u8>,
    bite: usize,
    calls: usize,
    full_at: usize,
    states: Vec<Vec<u8>>,
}

impl Appendable for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(self.full_at) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.bite);
        self.bytes.extend(&bytes[..taken]);
        self.states.push(self.bytes.clone());
        Ok(taken)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes.truncate(length as usize);
        self.states.push(self.bytes.clone());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn killed_after_any_write_or_truncation_the_story_is_lawful() {
    let all = read(&written(story())).unwrap();
    for (bite, full_at) in [(usize::MAX, usize::MAX), (usize::MAX, 3), (200, 5), (97, 7), (13, 41)] {
        let tape = Tape { bytes: vec![], bite, calls: 0, full_at, states: vec![] };
        let mut lines = Lines::new(tape, 0, false);
        for (index, body) in story().into_iter().enumerate() {
            let line = line(index + 1, body);
            let tries = (0..20).take_while(|_| lines.append(&line).is_err()).count();
            assert!(tries < 20, "the disk never had room");
        }
        let tape = lines.into_storage();
        assert_eq!(tape.bytes, written(story()));
        for state in &tape.states {
            match read(state) {
                Ok(loaded) => {
                    assert_lawful(&loaded, &all);
                    assert_eq!(read(&repaired(state)).unwrap().repairs, []);
                }
                Err(SessionError::Empty { .. }) => assert!(!state.contains(&b'\n')),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
