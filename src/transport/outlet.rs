//! What waits to be written, up to a bound: one side puts messages in and never waits, the other takes what is there, together.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub(crate) struct Outlet {
    state: Mutex<State>,
    capacity: usize,
    filled: Notify,
    emptied: Notify,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Whether what was taken is being written.
    is_writing: bool,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing more comes in; what is there is written.
    Shut,
    /// Nobody reads.
    Broken,
}

impl State {
    /// Whole lines, up to the one that passes so many bytes: answers that came together do not go out as one.
    fn piece(&mut self, bytes: usize) -> Vec<u8> {
        let from = bytes.saturating_sub(1).min(self.waiting.len());
        let rest = memchr::memchr(b'\n', self.waiting.get(from..).unwrap_or_default())
            .map_or_else(Vec::new, |end| self.waiting.split_off(from + end + 1));
        std::mem::replace(&mut self.waiting, rest)
    }
}

impl Outlet {
    /// `capacity`: how many bytes may wait before it counts as full.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::default(),
            capacity,
            filled: Notify::new(),
            emptied: Notify::new(),
        }
    }

    /// Adds one line.
    pub(crate) fn push(&self, line: &str) {
        {
            let mut state = self.state();
            if state.end.is_some() {
                return;
            }
            state.waiting.reserve(line.len() + 1);
            state.waiting.extend_from_slice(line.as_bytes());
            state.waiting.push(b'\n');
        }
        self.filled.notify_one();
    }

    pub(crate) fn is_full(&self) -> bool {
        self.state().waiting.len() >= self.capacity
    }

    /// Resolves when it is not full, or broken.
    pub(crate) async fn until_roomy(&self) {
        self.until(|state| state.waiting.len() < self.capacity || state.end == Some(End::Broken))
            .await;
    }

    /// Resolves when nobody reads any more.
    pub(crate) async fn until_broken(&self) {
        self.until(|state| state.end == Some(End::Broken)).await;
    }

    /// Shuts it, and resolves when everything is written or cannot be.
    pub(crate) async fn finish(&self) {
        self.state().end.get_or_insert(End::Shut);
        self.filled.notify_one();
        self.until(|state| state.end == Some(End::Broken) || (state.waiting.is_empty() && !state.is_writing))
            .await;
    }

    /// What waits, once there is something: whole lines, and all of them unless they are more than a full one has. Nothing
    /// when it is shut and empty. `written` has to follow.
    pub(crate) async fn take(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.state();
                if state.end == Some(End::Broken) {
                    return None;
                }
                if !state.waiting.is_empty() {
                    state.is_writing = true;
                    return Some(state.piece(self.capacity));
                }
                if state.end.is_some() {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }

    pub(crate) fn written(&self) {
        self.state().is_writing = false;
        self.emptied.notify_waiters();
    }

    /// Resolves when what was taken is written, or cannot be.
    pub(crate) async fn until_written(&self) {
        self.until(|state| !state.is_writing).await;
    }

    /// What is in it can never be written.
    pub(crate) fn break_off(&self) {
        {
            let mut state = self.state();
            state.end = Some(End::Broken);
            state.waiting = Vec::new();
            state.is_writing = false;
        }
        self.emptied.notify_waiters();
        self.filled.notify_one();
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let changed = self.emptied.notified();
            let mut changed = std::pin::pin!(changed);
            // Registered before the look, so that nothing is missed between them.
            changed.as_mut().enable();
            if holds(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_put_in_comes_out_together_and_a_full_one_says_so() {
        let outlet = Outlet::new(4);
        outlet.push("ab");
        assert!(!outlet.is_full());
        outlet.push("c");
        assert!(outlet.is_full());
        let mut roomy = Box::pin(outlet.until_roomy());
        assert!(futures_util::poll!(&mut roomy).is_pending());
        assert_eq!(outlet.take().await.unwrap(), b"ab\nc\n");
        outlet.written();
        roomy.await;
    }

    #[tokio::test]
    async fn what_is_more_than_a_full_one_comes_out_in_pieces_of_whole_lines() {
        let outlet = Outlet::new(4);
        for line in ["a", "b", "cdefgh", "i", "j", "k"] {
            outlet.push(line);
        }
        for piece in ["a\nb\n", "cdefgh\n", "i\nj\n", "k\n"] {
            assert_eq!(outlet.take().await.unwrap(), piece.as_bytes());
            outlet.written();
        }
        let nothing = outlet.take();
        assert!(futures_util::poll!(Box::pin(nothing)).is_pending());
        outlet.finish().await;
    }

    #[tokio::test]
    async fn the_end_is_when_all_is_written() {
        let outlet = Outlet::new(4);
        outlet.push("ab");
        let mut finished = Box::pin(outlet.finish());
        assert!(futures_util::poll!(&mut finished).is_pending());
        outlet.push("late");
        assert_eq!(outlet.take().await.unwrap(), b"ab\n");
        assert!(futures_util::poll!(&mut finished).is_pending());
        outlet.written();
        finished.await;
        assert_eq!(outlet.take().await, None);
    }

    #[tokio::test]
    async fn what_nobody_reads_is_dropped() {
        let outlet = Outlet::new(4);
        outlet.push("abcdef");
        outlet.break_off();
        outlet.push("more");
        assert!(!outlet.is_full());
        assert_eq!(outlet.take().await, None);
        outlet.until_broken().await;
        outlet.finish().await;
    }
}
