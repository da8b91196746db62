use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{sleep, timeout};

use super::*;

fn flow(tool: &'static str) -> Flow<'static> {
    Flow { tool, ensemble: "one", principal: &Principal::Owner }
}

fn runs(slot: &Result<QueueSlot<'_>, Full>) -> bool {
    matches!(slot, Ok(QueueSlot::Running { .. }))
}

/// Enters calls until one does not run, and returns those that run.
fn fill<'a>(queue: &'a Queue, flow: Flow<'_>) -> Vec<QueueSlot<'a>> {
    std::iter::from_fn(|| {
        queue.enter(flow, Some(1)).ok().filter(|slot| matches!(slot, QueueSlot::Running { .. }))
    })
    .collect()
}

#[tokio::test]
async fn what_waits_is_bounded_and_what_will_not_run_waits_for_nobody() {
    let queue = Queue::new(1);
    let running = queue.enter(flow("a"), Some(MAX_WEIGHT * 2));
    assert!(runs(&running), "a slot is free");
    let waiting = queue.enter(flow("a"), Some(MAX_WEIGHT - 10));
    assert!(matches!(waiting, Ok(QueueSlot::Waiting(_))));
    assert_eq!(queue.enter(flow("a"), Some(11)).unwrap_err(), Full::Memory);
    assert_eq!(queue.enter(flow("a"), Some(usize::MAX)).unwrap_err(), Full::Memory);
    assert!(matches!(queue.enter(flow("a"), None), Ok(QueueSlot::NotNeeded)));
    drop(running);
    let turn = queue.wait(waiting.unwrap()).await;
    assert!(matches!(turn, Some(QueueSlot::Running { .. })));
    let again = queue.enter(flow("a"), Some(11));
    assert!(matches!(again, Ok(QueueSlot::Waiting(_))), "its memory was given back");
    drop((turn, again));
    assert!(queue.0.lock().is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_leaves_places_for_others() {
    let queue = Queue::new(512);
    let mut held = fill(&queue, flow("hangs"));
    assert_eq!(held.len(), 342);
    let waiting: Vec<_> = (0..MAX_CALLS).map(|_| queue.enter(flow("hangs"), Some(1)).unwrap()).collect();
    assert_eq!(queue.enter(flow("hangs"), Some(1)).unwrap_err(), Full::Calls);
    for tool in ["quick", "also quick"] {
        for _ in 0..1_000 {
            assert!(runs(&queue.enter(flow(tool), Some(1))), "{tool}");
        }
    }
    // Another one hangs too: the rest is shared in the same way. Then its whole server has its share.
    let second = fill(&queue, flow("hangs too"));
    assert_eq!((second.len(), fill(&queue, flow("third")).len()), (114, 0));
    let elsewhere = fill(&queue, Flow { ensemble: "two", ..flow("other") });
    assert_eq!(elsewhere.len(), 38);
    // Another principal finds a place too.
    let theirs = Principal::Other("1".into());
    assert!(runs(&queue.enter(Flow { tool: "fourth", ensemble: "three", principal: &theirs }, Some(1))));
    held.extend(second.into_iter().chain(elsewhere));
    drop(held);
    // All that waits runs, and nothing is left over.
    for slot in waiting {
        timeout(Duration::from_secs(1), queue.wait(slot)).await.unwrap().unwrap();
    }
    assert!(queue.0.lock().is_forgotten());
}

#[tokio::test]
async fn a_principal_leaves_places_to_others_as_soon_as_there_are_several() {
    let other = Principal::Other("1".into());
    // How many places the first and the other principal take of one tool, and then the first of all.
    for (places, alone, first, second, all) in [
        (512, 342, 228, 76, 349),
        (8, 6, 4, 1, 5),
        (4, 3, 2, 1, 2),
        (3, 2, 1, 1, 1),
        (2, 2, 1, 1, 1),
        (1, 1, 1, 0, 1),
    ] {
        let queue = Queue::new(places);
        let theirs = |tool| Flow { principal: &other, ..flow(tool) };
        assert_eq!(fill(&queue, flow("hangs")).len(), alone, "of {places}, without another principal");
        drop(queue.enter(theirs("hangs"), Some(1)));
        let mut held = fill(&queue, flow("hangs"));
        let held_by_other = fill(&queue, theirs("hangs"));
        assert_eq!((held.len(), held_by_other.len()), (first, second), "of {places}");
        for tool in ["a", "b", "c", "d", "e"] {
            held.extend(fill(&queue, flow(tool)));
        }
        assert_eq!(held.len(), all, "of {places}");
        drop((held, held_by_other));
        assert!(queue.0.lock().is_forgotten());
    }
}

#[tokio::test]
async fn principals_and_tools_take_turns() {
    let queue = Queue::new(1);
    let (other, order) = (Principal::Other("1".into()), Mutex::new(Vec::new()));
    let first = queue.enter(flow("a"), Some(1)).unwrap();
    let theirs = |tool| Flow { principal: &other, ..flow(tool) };
    let flows = [flow("a"), flow("a"), flow("a"), theirs("a"), flow("b"), flow("b")];
    let labels = ["own a", "own a", "own a", "their a", "own b", "own b"];
    let slots: Vec<_> = flows.map(|flow| queue.enter(flow, Some(1)).unwrap()).into();
    let queued = slots.into_iter().zip(labels).map(|(slot, label)| {
        let (queue, order) = (&queue, &order);
        async move {
            let place = queue.wait(slot).await;
            order.lock().push(label);
            drop(place);
        }
    });
    let all = futures_util::future::join_all(queued);
    drop(first);
    all.await;
    assert_eq!(*order.lock(), ["own a", "own b", "their a", "own b", "own a", "own a"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_leaves_takes_no_place_with_it() {
    let queue = Queue::new(1);
    let running = queue.enter(flow("a"), Some(1)).unwrap();
    let gone = queue.enter(flow("a"), Some(1)).unwrap();
    let granted = queue.enter(flow("a"), Some(1)).unwrap();
    let last = queue.enter(flow("a"), Some(1)).unwrap();
    drop(gone);
    drop(running);
    // It has a place, and does not know that yet.
    drop(granted);
    let place = queue.wait(last).now_or_never().flatten();
    assert!(matches!(place, Some(QueueSlot::Running { .. })));
    let late = queue.enter(flow("a"), Some(1)).unwrap();
    let late = timeout(Duration::from_secs(1), async {
        tokio::join!(queue.wait(late), async {
            sleep(Duration::from_millis(1)).await;
            drop(place);
        })
    });
    assert!(late.await.is_ok_and(|(place, ())| place.is_some()));
    assert!(queue.0.lock().is_forgotten());
}
