use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use converse_canister::{InvocationId, InvocationResult, Outcome, TurnId};
use converse_session::Happened;
use converse_testkit::hang_guard::ends;
use futures_util::future::join_all;

use super::*;

fn record(tool: &str) -> Vec<Record> {
    let invocation = InvocationId::of(TurnId(1), 0);
    let result = InvocationResult::new(invocation.clone(), Outcome::Success, "");
    let happened = Happened::finished(&result, None);
    vec![Record { session: None, client: None, replayed: false, invocation, tool: tool.to_owned(), happened }]
}

type Answer = Result<(), AuditError>;

fn busy() -> Answer {
    Err(AuditError::Busy { path: "audit.jsonl".into() })
}

/// A scribe whose log answers when it is told to, and what it was to write by then.
fn scribe() -> (Scribe, Sender<Answer>, Arc<Mutex<Vec<String>>>) {
    let (answers, next) = channel::<Answer>();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&asked);
    let append = move |records: &[Record], _| {
        seen.lock().unwrap().extend(records.iter().map(|record| record.tool.clone()));
        next.recv().unwrap()
    };
    let file = tempfile::tempfile().unwrap();
    (Scribe::begin(Gathering::begin(move || file.sync_data()), append), answers, asked)
}

fn is_audit<T>(settled: Result<T, SinkError>) -> bool {
    matches!(settled, Err(SinkError::Audit(_)))
}

#[tokio::test]
async fn all_who_wait_for_one_lock_are_told_together_and_others_go_on() {
    let (scribe, answers, asked) = scribe();
    let slips: Vec<_> = (0..5).map(|_| Slip::new()).collect();
    for (number, slip) in slips.iter().enumerate() {
        scribe.hand(record(&format!("begins {number}")), true, slip).unwrap();
    }
    let waiting = join_all(slips.iter().map(|slip| scribe.settle(slip)));
    let mut waiting = std::pin::pin!(waiting);
    // This thread is not the one that waits.
    tokio::select! {
        biased;
        _ = waiting.as_mut() => panic!("nothing was written"),
        () = tokio::task::yield_now() => {}
    }
    answers.send(busy()).unwrap();
    let settled = ends("one wait for all", waiting).await;
    assert!(settled.into_iter().all(is_audit));
    assert_eq!(*asked.lock().unwrap(), ["begins 0"]);
    // Who comes afterwards is written again.
    answers.send(Ok(())).unwrap();
    let later = Slip::new();
    scribe.hand(record("later"), true, &later).unwrap();
    assert_eq!(scribe.settle(&later).await, Ok(()));
    assert_eq!(*asked.lock().unwrap(), ["begins 0", "later"]);
}

#[tokio::test]
async fn the_order_is_that_of_the_hands_and_nothing_follows_what_was_not_written() {
    let (scribe, answers, asked) = scribe();
    let (one, other) = (Slip::new(), Slip::new());
    scribe.hand(record("one decided"), false, &one).unwrap();
    scribe.hand(record("other decided"), false, &other).unwrap();
    scribe.hand(record("one started"), true, &one).unwrap();
    scribe.hand(record("other started"), true, &other).unwrap();
    answers.send(Err(AuditError::TooLong { bytes: 1 })).unwrap();
    (0..2).for_each(|_| answers.send(Ok(())).unwrap());
    assert!(is_audit(scribe.settle(&one).await));
    assert_eq!(scribe.settle(&other).await, Ok(()));
    assert!(is_audit(scribe.hand(record("one finished"), false, &one)));
    assert_eq!(*asked.lock().unwrap(), ["one decided", "other decided", "other started"]);
}

#[tokio::test]
async fn nobody_waits_for_a_writer_that_has_gone() {
    let (scribe, answers, _) = scribe();
    drop(answers);
    let slip = Slip::new();
    let _ = scribe.hand(record("a"), false, &slip);
    let _ = scribe.hand(record("b"), true, &slip);
    assert!(is_audit(ends("waiting for a writer that has gone", scribe.settle(&slip)).await));
}
