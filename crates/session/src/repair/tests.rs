use converse_canister::{Arguments, Assistant, Invocation, Stop, User};

use super::*;

fn loaded(bodies: impl IntoIterator<Item = Body>) -> Loaded {
    open(bodies).answered()
}

fn open(bodies: impl IntoIterator<Item = Body>) -> Loaded {
    let at = Timestamp::UNIX_EPOCH;
    let entries = bodies.into_iter().enumerate();
    let entries = entries.map(|(index, body)| Entry { seq: index as u64 + 2, at, body }).collect();
    let scan = Scan { header: Header::new("p", at), entries, length: 0, torn: Vec::new() };
    load(scan, Path::new("j")).unwrap()
}

#[test]
fn what_was_started_and_paid_here_is_known_and_what_was_copied_is_not() {
    let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
    let reply = Assistant { turn, content: vec![], native: None, stop: Stop::End, response_id: None };
    let (tool, arguments) = ("t".to_owned(), Arguments::parse("{}"));
    let call = Invocation { turn, id: id.clone(), wire_id: None, tool, arguments, seal: None };
    let mut result = InvocationResult::new(id.clone(), Outcome::Cancelled, "");
    result.cost = Some(Cost(5));
    let said = |canister: Canister| Body::Canister { canister };
    let used = |cost| Body::Used { usage: Usage::default(), cost, model: "m".to_owned(), provider: None };
    let asked = || [said(Canister::User(User::text("x"))), said(Canister::Assistant(reply.clone()))];
    let called = || said(Canister::Invocation(call.clone()));
    let ended = || said(Canister::Result(result.clone()));
    let start = || Body::Started { id: id.clone() };
    let own = || asked().into_iter().chain([called(), used(None), start(), ended()]);
    let copied = loaded(asked().into_iter().chain([called(), ended(), used(Some(Cost(1)))]));
    assert_eq!((copied.paid, copied.unpriced, copied.started.len()), (Cost(0), false, 0));
    let ran = loaded(own());
    assert_eq!((ran.paid, ran.unpriced, ran.started.contains(&id)), (Cost(5), true, true));
    // Gone back behind: paid for all the same, and the number may be another's by now.
    let back = loaded(own().chain([Body::Rewound { to: 1 }]));
    assert_eq!((back.paid, back.unpriced, back.started.len()), (Cost(5), true, 0));
}

#[test]
fn a_reply_has_what_its_own_used_line_says() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let said = |turn| {
        let turn = TurnId(turn);
        Canister::Assistant(Assistant {
            turn,
            content: vec![],
            native: None,
            stop: Stop::End,
            response_id: None,
        })
    };
    let user = || Body::from(Canister::User(User::text("x")));
    let used = |model: &str, cost| {
        let usage = Usage { input: Some(3), ..Usage::default() };
        Body::Used { usage, cost, model: model.to_owned(), provider: Some("p".to_owned()) }
    };
    let lines = [
        (1, user()),
        // An attempt that broke off.
        (2, used("a", None)),
        (4, said(1).into()),
        (5, used("b", Some(Cost(7)))),
        (6, user()),
        (7, said(2).into()),
        (7, used("left", None)),
        (8, Body::Rewound { to: 5 }),
        (9, user()),
        (11, said(2).into()),
        (12, used("c", None)),
    ];
    let replies = |header: Header| {
        let lines = lines.iter().zip(2..);
        let entries = lines.map(|((second, body), seq)| Entry { seq, at: at(*second), body: body.clone() });
        let scan = Scan { header, entries: entries.collect(), length: 0, torn: Vec::new() };
        let mut replies: Vec<_> = load(scan, Path::new("j")).unwrap().replies.into_iter().collect();
        replies.sort_by_key(|(turn, _)| *turn);
        replies
            .into_iter()
            .map(|(turn, one)| (turn.0, one.model, one.cost, one.milliseconds))
            .collect::<Vec<_>>()
    };
    let header = Header::new("p", at(0));
    let first = (1, "p/b".to_owned(), Some(Cost(7)), Some(4000));
    let second = (2, "p/c".to_owned(), None, Some(3000));
    assert_eq!(replies(header.clone()), [first, second]);
    // Paid for elsewhere: the note that ends the imported lines is missing.
    assert!(replies(Header { imported: Some("s".to_owned()), ..header }).is_empty());
}

#[test]
fn a_reply_that_was_arriving_is_kept_as_cut_and_only_once() {
    let user = Body::from(Canister::User(User::text("x")));
    let piece = |from, text: &str| Body::Partial { turn: TurnId(1), from, text: text.to_owned() };
    let lines = || vec![user.clone(), piece(0, "one "), piece(4, "two")];
    let killed = loaded(lines());
    let kept = Repair::PartialReply { turn: TurnId(1), text: "one two".to_owned() };
    assert_eq!(killed.repairs, std::slice::from_ref(&kept));
    assert!(kept.is_of_a_crash());
    let [_, Canister::Assistant(reply)] = killed.transcript.as_slice() else { panic!("{killed:?}") };
    assert_eq!((reply.words().as_str(), &reply.stop, &reply.native), ("one two", &Stop::Cut, &None));
    assert_eq!(killed.places.last().map(|place| place.seq), Some(5));
    // Once it is written, there is nothing to repair.
    let mended = loaded(mended_lines(&killed, lines()));
    assert_eq!((mended.repairs.len(), mended.transcript.as_slice()), (0, killed.transcript.as_slice()));
    // A complete reply takes its place.
    let whole =
        Assistant { turn: TurnId(1), content: vec![], native: None, stop: Stop::End, response_id: None };
    let complete = loaded(lines().into_iter().chain([Canister::Assistant(whole.clone()).into()]));
    assert_eq!(complete.transcript.as_slice()[1..], [Canister::Assistant(whole)]);
    // A turn that is over grows no more.
    let over = loaded(mended_lines(&killed, lines()).chain([user.clone(), piece(0, "late")]));
    assert_eq!((over.repairs.len(), over.transcript.as_slice().len()), (0, 3));
}

fn mended_lines(loaded: &Loaded, lines: Vec<Body>) -> impl Iterator<Item = Body> {
    lines.into_iter().chain(loaded.amendments())
}

#[test]
fn invocations_that_wait_stay_open_until_one_is_started() {
    let turn = TurnId(1);
    let (first, second) = (InvocationId::of(turn, 0), InvocationId::of(turn, 1));
    let reply = Assistant { turn, content: vec![], native: None, stop: Stop::End, response_id: None };
    let call = |id: &InvocationId| {
        let (tool, arguments) = ("t".to_owned(), Arguments::parse("{}"));
        Canister::Invocation(Invocation { turn, id: id.clone(), wire_id: None, tool, arguments, seal: None })
    };
    let used = Body::Used { usage: Usage::default(), cost: None, model: "m".to_owned(), provider: None };
    let waiting = Body::Waiting { ids: vec![second.clone()] };
    let said = [Canister::User(User::text("x")), Canister::Assistant(reply), call(&first), call(&second)];
    let said: Vec<Body> = said.into_iter().map(Body::from).chain([used]).collect();
    let load = |more: &[Body]| open([said.clone(), more.to_vec()].concat());

    let waits = load(std::slice::from_ref(&waiting));
    assert!(waits.is_waiting() && waits.transcript.open().len() == 2);
    let answered = waits.answered();
    let expected = [first.clone(), second].map(|id| Repair::NotStarted { id });
    assert_eq!((answered.transcript.open().len(), answered.repairs), (0, expected.to_vec()));

    assert!(!load(&[]).is_waiting(), "it was interrupted");
    assert!(!load(&[waiting, Body::Started { id: first }]).is_waiting(), "its outcome is unknown");
}

#[test]
fn a_turn_that_is_taken_up_keeps_open_what_was_not_started_and_what_may_run_again() {
    let turn = TurnId(1);
    let ids = [0, 1, 2].map(|index| InvocationId::of(turn, index));
    let reply = Assistant { turn, content: vec![], native: None, stop: Stop::End, response_id: None };
    let call = |id: &InvocationId| {
        let (tool, arguments) = (id.to_string(), Arguments::parse("{}"));
        Canister::Invocation(Invocation { turn, id: id.clone(), wire_id: None, tool, arguments, seal: None })
    };
    let used = Body::Used { usage: Usage::default(), cost: None, model: "m".to_owned(), provider: None };
    let said = [Canister::User(User::text("x")), Canister::Assistant(reply)];
    let said = said.into_iter().chain(ids.iter().map(call)).map(Body::from).chain([used]);
    let started = ids.iter().take(2).map(|id| Body::Started { id: id.clone() });
    let partial = Body::Partial { turn: TurnId(2), from: 0, text: "half of".to_owned() };

    let lost = open(said.clone().chain(started));
    let taken_up = lost.taken_up(&|invocation| invocation.tool == ids[1].as_str());
    let still_open: Vec<_> = taken_up.transcript.open().iter().map(|one| one.id.clone()).collect();
    assert_eq!(still_open, ids[1..]);
    assert_eq!(taken_up.repairs, [Repair::Interrupted { id: ids[0].clone() }]);
    assert!(taken_up.started.contains(&ids[0]));
    assert_eq!(taken_up.amendments().len(), 2, "the result and a note are written");

    let results = ids
        .iter()
        .map(|id| Body::from(Canister::Result(InvocationResult::new(id.clone(), Outcome::Success, "done"))));
    let arriving = open(said.chain(results).chain([partial]));
    let taken_up = arriving.taken_up(&|_| false);
    assert_eq!((taken_up.repairs, taken_up.transcript.as_slice().len()), (vec![], 8));
}
