//! Places for calls that run, and room for those that wait for one.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes of all calls that wait.
const MAX_WEIGHT: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Queue {
    places: Semaphore,
    room: Semaphore,
}

/// Where a call stands.
#[derive(Debug)]
pub(crate) enum Standing<'a> {
    /// It needs no place: nothing of it will run.
    Aside,
    Running {
        _place: SemaphorePermit<'a>,
    },
    /// With the room that it takes.
    Waiting(SemaphorePermit<'a>),
}

impl Queue {
    pub(crate) fn new(places: usize) -> Self {
        let places = Semaphore::new(places.min(Semaphore::MAX_PERMITS));
        Self { places, room: Semaphore::new(MAX_WEIGHT) }
    }

    /// `None`: there is no place and no room to wait for one.
    pub(crate) fn stand(&self, weight: Option<usize>) -> Option<Standing<'_>> {
        let Some(weight) = weight else { return Some(Standing::Aside) };
        // Free ones only: a place that is given back goes to who waits.
        if let Ok(place) = self.places.try_acquire() {
            return Some(Standing::Running { _place: place });
        }
        let weight = u32::try_from(weight).ok()?;
        self.room.try_acquire_many(weight).ok().map(Standing::Waiting)
    }

    /// When it is its turn; the room is given back then.
    pub(crate) async fn turn<'a>(&'a self, standing: Standing<'a>) -> Option<Standing<'a>> {
        match standing {
            Standing::Waiting(_room) => {
                self.places.acquire().await.ok().map(|place| Standing::Running { _place: place })
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
        let running = queue.stand(Some(MAX_WEIGHT * 2));
        assert!(matches!(running, Some(Standing::Running { .. })), "a place is free");
        let waiting = queue.stand(Some(MAX_WEIGHT - 10));
        assert!(matches!(waiting, Some(Standing::Waiting(_))));
        assert!(queue.stand(Some(11)).is_none());
        assert!(queue.stand(Some(usize::MAX)).is_none());
        assert!(matches!(queue.stand(None), Some(Standing::Aside)));
        drop(running);
        let turn = queue.turn(waiting.unwrap()).await;
        assert!(matches!(turn, Some(Standing::Running { .. })));
        assert!(matches!(queue.stand(Some(11)), Some(Standing::Waiting(_))), "its room was given back");
    }
}
