//! How many requests of a connection are worked on at once, and how many may wait for their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::tenants::Place;

pub(crate) struct Slots {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    capacity: usize,
    max_waiting: usize,
}

/// What a request runs on: whoever holds it, keeps it.
pub(crate) type Slot = Arc<Held>;

/// One place among those of its connection that run, and one among those of its tenant where tenants have limits. Held, not
/// read.
pub(crate) struct Held {
    _own: OwnedSemaphorePermit,
    _of_tenant: Option<Place>,
}

impl Held {
    pub(crate) fn new(own: OwnedSemaphorePermit, of_tenant: Option<Place>) -> Slot {
        Arc::new(Self {
            _own: own,
            _of_tenant: of_tenant,
        })
    }
}

/// Too many wait already.
#[derive(Debug)]
pub(crate) struct Busy;

/// A place among those that wait.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Slots {
    pub(crate) fn new(capacity: usize, max_waiting: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(capacity.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            capacity,
            max_waiting,
        }
    }

    /// A slot, once there is one: first come, first served.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, Busy> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        let waits = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= self.max_waiting {
            return Err(Busy);
        }
        let permit = Arc::clone(&self.running).acquire_owned().await;
        drop(waits);
        // The semaphore is never closed.
        permit.map_err(|_| Busy)
    }

    pub(crate) fn running(&self) -> usize {
        self.capacity.saturating_sub(self.running.available_permits())
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_on_top_waits_and_who_comes_on_top_of_those_is_refused() {
        let slots = Slots::new(1, 1);
        let first = slots.take().await.unwrap();
        let mut second = Box::pin(slots.take());
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!((slots.running(), slots.waiting()), (1, 1));
        assert!(slots.take().await.is_err());
        assert_eq!(slots.waiting(), 1);

        drop(first);
        let second = second.await.unwrap();
        assert_eq!((slots.running(), slots.waiting()), (1, 0));
        drop(second);
        assert_eq!(slots.running(), 0);
    }

    #[tokio::test]
    async fn who_stops_waiting_makes_room() {
        let slots = Slots::new(1, 1);
        let _first = slots.take().await.unwrap();
        let mut second = Box::pin(slots.take());
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(second);
        assert_eq!(slots.waiting(), 0);
    }
}
