//! What waits for the reader of one WebSocket. Bounded: a reader that is slower is let go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::server::connection::{Outbox, Weight};
use crate::server::tenants::Load;

pub(super) struct Lane {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Messages, and what of them counts as in flight.
    waiting: VecDeque<(String, Option<Load>)>,
    bytes: usize,
    /// Whether more came than may wait.
    is_flooded: bool,
    waker: Option<Waker>,
}

/// What there is to write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Message(String),
    /// More came than may wait: nothing of it is written any more.
    Flooded,
}

impl Lane {
    /// `capacity`: how many bytes may wait.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            state: Mutex::default(),
        }
    }

    /// One message is taken whatever its size when nothing is over the bound before it.
    pub(super) fn push(&self, message: String, load: Option<Load>) {
        let waker = {
            let mut state = self.state();
            if state.is_flooded {
                return;
            }
            if state.bytes > self.capacity {
                state.is_flooded = true;
                state.waiting = VecDeque::new();
                state.bytes = 0;
            } else {
                state.bytes += message.len();
                state.waiting.push_back((message, load));
            }
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether there is no room for one more.
    pub(super) fn is_full(&self) -> bool {
        self.state().bytes > self.capacity
    }

    pub(super) fn poll_take(&self, cx: &Context<'_>) -> Poll<Taken> {
        let mut state = self.state();
        if state.is_flooded {
            return Poll::Ready(Taken::Flooded);
        }
        if let Some((message, _written)) = state.waiting.pop_front() {
            state.bytes -= message.len();
            if state.waiting.is_empty() {
                // Not each idle connection keeps the room that it needed once.
                state.waiting = VecDeque::new();
            }
            return Poll::Ready(Taken::Message(message));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether it was flooded; otherwise its reader is woken when it is.
    pub(super) fn is_flooded(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state();
        if !state.is_flooded {
            state.waker = Some(cx.waker().clone());
        }
        state.is_flooded
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way out of a connection.
pub(super) struct LaneOutbox(pub(super) Arc<Lane>);

impl Outbox for LaneOutbox {
    fn send(&self, _about: Option<&str>, text: String, _weight: Weight) {
        self.0.push(text, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(lane: &Lane) -> Poll<Taken> {
        lane.poll_take(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn messages_come_out_in_order_and_a_flood_drops_them_all() {
        let lane = Lane::new(3);
        assert_eq!(take(&lane), Poll::Pending);
        lane.push("a".to_owned(), None);
        lane.push("bcd".to_owned(), None);
        assert!(lane.is_full());
        assert_eq!(take(&lane), Poll::Ready(Taken::Message("a".to_owned())));
        assert!(!lane.is_full());
        lane.push("e".to_owned(), None);
        lane.push("f".to_owned(), None);
        assert_eq!(take(&lane), Poll::Ready(Taken::Flooded));
        lane.push("g".to_owned(), None);
        assert_eq!(take(&lane), Poll::Ready(Taken::Flooded));
        assert!(!lane.is_full());
    }
}
