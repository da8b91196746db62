use std::io;
use std::sync::mpsc::{Sender, channel};

use converse_canister::{InvocationId, InvocationResult, Outcome, TurnId};
use converse_session::Happened;
use converse_testkit::hang_guard::{LIMIT, ends, wait_until};
use futures_util::future::join_all;
use parking_lot::Mutex;

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

/// A log that answers when it is told to.
struct Told {
    answers: Receiver<Answer>,
    /// What was to be written by then, and why it was resumed.
    asked: Arc<Mutex<Vec<String>>>,
}

fn syncs() -> Gathering {
    let file = tempfile::tempfile().unwrap();
    Gathering::begin(move || file.sync_data())
}

impl Book for Told {
    fn append(&mut self, batches: &[(&[Record], Timestamp)]) -> Answer {
        let tools = batches.iter().flat_map(|(records, _)| *records).map(|record| record.tool.clone());
        self.asked.lock().push(tools.collect::<Vec<_>>().join(" + "));
        self.answers.recv().unwrap()
    }

    fn resume(&mut self, reason: &str) -> Result<Gathering, AuditError> {
        self.asked.lock().push(format!("resume: {reason}"));
        self.answers.recv().unwrap().map(|()| syncs())
    }
}

struct Stage {
    scribe: Scribe,
    answers: Sender<Answer>,
    asked: Arc<Mutex<Vec<String>>>,
    health: Arc<Health>,
    warnings: Arc<Mutex<Vec<String>>>,
}

fn stage(gathering: Gathering) -> Stage {
    let (answers, next) = channel::<Answer>();
    let (asked, warnings) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<String>>>::default());
    let shown = Arc::clone(&warnings);
    let health = Arc::new(Health::new(Arc::new(move |text: &str| shown.lock().push(text.to_owned()))));
    let book = Told { answers: next, asked: Arc::clone(&asked) };
    Stage { scribe: Scribe::begin(book, gathering, Arc::clone(&health)), answers, asked, health, warnings }
}

fn scribe() -> (Scribe, Sender<Answer>, Arc<Mutex<Vec<String>>>) {
    let Stage { scribe, answers, asked, .. } = stage(syncs());
    (scribe, answers, asked)
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
        wait_until("the first is being written", || !asked.lock().is_empty());
    }
    let waiting = join_all(slips.iter().map(|slip| slip.settle()));
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
    assert_eq!(*asked.lock(), ["begins 0"]);
    // Who comes afterwards is written again.
    answers.send(Ok(())).unwrap();
    let later = Slip::new();
    scribe.hand(record("later"), true, &later).unwrap();
    assert_eq!(later.settle().await, Ok(()));
    assert_eq!(*asked.lock(), ["begins 0", "later"]);
}

#[test]
fn lines_that_nobody_waits_for_are_synced_after_a_while() {
    let (sender, synced) = channel();
    let Stage { scribe, answers, .. } =
        stage(Gathering::begin(move || sender.send(()).map_err(io::Error::other)));
    for _ in 0..2 {
        answers.send(Ok(())).unwrap();
        scribe.hand(record("reads"), false, &Slip::new()).unwrap();
        synced.recv_timeout(LIMIT).unwrap();
    }
}

#[tokio::test]
async fn the_order_is_that_of_the_hands_and_nothing_follows_what_was_not_written() {
    let (scribe, answers, asked) = scribe();
    let (first, one, other) = (Slip::new(), Slip::new(), Slip::new());
    scribe.hand(record("first"), false, &first).unwrap();
    wait_until("the first is being written", || !asked.lock().is_empty());
    scribe.hand(record("one decided"), false, &one).unwrap();
    scribe.hand(record("other decided"), false, &other).unwrap();
    scribe.hand(record("one started"), true, &one).unwrap();
    scribe.hand(record("other started"), true, &other).unwrap();
    answers.send(Ok(())).unwrap();
    // What waited together, and then each alone.
    (0..2).for_each(|_| answers.send(Err(AuditError::TooLong { bytes: 1 })).unwrap());
    (0..2).for_each(|_| answers.send(Ok(())).unwrap());
    assert!(is_audit(one.settle().await));
    assert_eq!(other.settle().await, Ok(()));
    assert!(is_audit(scribe.hand(record("one finished"), false, &one)));
    let together = "one decided + other decided + one started + other started";
    assert_eq!(*asked.lock(), ["first", together, "one decided", "other decided", "other started"]);
}

#[tokio::test]
async fn nobody_waits_for_a_writer_that_has_gone() {
    let (scribe, answers, _) = scribe();
    drop(answers);
    let slip = Slip::new();
    let _ = scribe.hand(record("a"), false, &slip);
    let _ = scribe.hand(record("b"), true, &slip);
    assert!(is_audit(ends("waiting for a writer that has gone", slip.settle()).await));
}

fn no_room() -> Answer {
    Err(AuditError::Io { path: "audit.jsonl".into(), source: std::io::ErrorKind::StorageFull.into() })
}

const NO_ROOM: &str = "the audit log could not be written: `audit.jsonl`: no storage space";

#[tokio::test]
async fn a_log_that_fails_is_resumed_by_itself_and_each_change_is_reported_once() {
    let Stage { scribe, answers, asked, health, warnings } = stage(syncs());
    let slips: Vec<_> = (0..3).map(|_| Slip::new()).collect();
    for (number, slip) in slips.iter().enumerate() {
        scribe.hand(record(&number.to_string()), true, slip).unwrap();
        wait_until("the first is being written", || !asked.lock().is_empty());
    }
    // The record, and the resumption.
    answers.send(no_room()).unwrap();
    answers.send(no_room()).unwrap();
    for slip in &slips {
        assert!(is_audit(ends("a call that is refused", slip.settle()).await));
    }
    assert_eq!(*asked.lock(), ["0".to_owned(), format!("resume: {NO_ROOM}")], "the others fail at once");
    assert!(!health.is_writable());
    // Nobody calls, and it is tried again, more than once.
    answers.send(no_room()).unwrap();
    answers.send(Ok(())).unwrap();
    wait_until("the log is resumed", || health.is_writable());
    let later = Slip::new();
    scribe.hand(record("later"), true, &later).unwrap();
    answers.send(Ok(())).unwrap();
    assert_eq!(ends("a call after that", later.settle()).await, Ok(()));
    assert_eq!(asked.lock()[2..], [&format!("resume: {NO_ROOM}"), &format!("resume: {NO_ROOM}"), "later"]);
    let warnings = warnings.lock().clone();
    assert_eq!((warnings.len(), health.failures()), (2, 1), "{warnings:?}");
    assert!(warnings[0].contains(NO_ROOM) && warnings[1].contains("again"), "{warnings:?}");
}

#[tokio::test]
async fn a_record_is_written_at_once_to_a_log_that_can_be_resumed() {
    let Stage { scribe, answers, asked, health, warnings } = stage(syncs());
    for answer in [no_room(), Ok(()), Ok(())] {
        answers.send(answer).unwrap();
    }
    let slip = Slip::new();
    scribe.hand(record("a"), true, &slip).unwrap();
    assert_eq!(ends("a call", slip.settle()).await, Ok(()));
    assert_eq!(*asked.lock(), ["a", &format!("resume: {NO_ROOM}"), "a"]);
    assert!(health.is_writable() && health.failures() == 1 && warnings.lock().len() == 1);
}

#[tokio::test]
async fn whose_line_was_not_synced_is_refused_although_the_log_was_resumed() {
    let failing = Gathering::begin(|| Err(std::io::ErrorKind::Other.into()));
    let Stage { scribe, answers, health, .. } = stage(failing);
    (0..3).for_each(|_| answers.send(Ok(())).unwrap());
    let slip = Slip::new();
    scribe.hand(record("a"), true, &slip).unwrap();
    assert!(is_audit(ends("a call", slip.settle()).await));
    // Without another call.
    wait_until("the log is resumed", || health.failures() == 1);
    let later = Slip::new();
    scribe.hand(record("later"), true, &later).unwrap();
    assert_eq!(ends("a later call", later.settle()).await, Ok(()));
}
