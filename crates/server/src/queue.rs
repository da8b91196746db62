//! Slots for running calls, and memory for waiting calls.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum bytes of all waiting calls.
const MAX_WEIGHT: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Queue {
    slots: Semaphore,
    memory: Semaphore,
}

/// The state of a call in the queue.
#[derive(Debug)]
pub(crate) enum QueueSlot<'a> {
    /// The call will not run, so it needs no slot.
    NotNeeded,
    Running {
        _slot: SemaphorePermit<'a>,
    },
    /// The permit is the memory that the waiting call takes.
    Waiting(SemaphorePermit<'a>),
}

impl Queue {
    pub(crate) fn new(slots: usize) -> Self {
        let slots = Semaphore::new(slots.min(Semaphore::MAX_PERMITS));
        Self { slots, memory: Semaphore::new(MAX_WEIGHT) }
    }

    /// Takes a free slot, or memory to wait for a slot; `None` if there is neither.
    pub(crate) fn enter(&self, weight: Option<usize>) -> Option<QueueSlot<'_>> {
        let Some(weight) = weight else { return Some(QueueSlot::NotNeeded) };
        // Only free slots: a slot that is given back goes to the first waiting call.
        if let Ok(slot) = self.slots.try_acquire() {
            return Some(QueueSlot::Running { _slot: slot });
        }
        let weight = u32::try_from(weight).ok()?;
        self.memory.try_acquire_many(weight).ok().map(QueueSlot::Waiting)
    }

    /// Waits for a slot, then gives the memory back.
    pub(crate) async fn wait<'a>(&'a self, slot: QueueSlot<'a>) -> Option<QueueSlot<'a>> {
        match slot {
            QueueSlot::Waiting(_memory) => {
                self.slots.acquire().await.ok().map(|slot| QueueSlot::Running { _slot: slot })
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_is_bounded_and_what_will_not_run_waits_for_nobody() {
        let queue = Queue::new(1);
        let running = queue.enter(Some(MAX_WEIGHT * 2));
        assert!(matches!(running, Some(QueueSlot::Running { .. })), "a slot is free");
        let waiting = queue.enter(Some(MAX_WEIGHT - 10));
        assert!(matches!(waiting, Some(QueueSlot::Waiting(_))));
        assert!(queue.enter(Some(11)).is_none());
        assert!(queue.enter(Some(usize::MAX)).is_none());
        assert!(matches!(queue.enter(None), Some(QueueSlot::NotNeeded)));
        drop(running);
        let turn = queue.wait(waiting.unwrap()).await;
        assert!(matches!(turn, Some(QueueSlot::Running { .. })));
        assert!(matches!(queue.enter(Some(11)), Some(QueueSlot::Waiting(_))), "its memory was given back");
    }
}
