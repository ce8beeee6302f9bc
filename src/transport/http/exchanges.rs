//! The exchanges of one connection that are under way: each a task, bounded in number, ended one by one or all together.
//! What goes with no request, a notification or an answer, has a bound of its own, because the other side causes it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use crate::limits;

pub(super) struct Exchanges {
    tasks: JoinSet<()>,
    /// Those that carry a request.
    running: HashMap<u64, AbortHandle>,
    /// At how many of them those that ended are let go of.
    reap_at: usize,
    /// One for each request that may have a connection.
    requests: Arc<Semaphore>,
    /// One for each message that has no answer.
    quiet: Arc<Semaphore>,
}

impl Exchanges {
    pub(super) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            running: HashMap::new(),
            reap_at: limits::EXCHANGES_BEFORE_REAPING,
            requests: Arc::new(Semaphore::new(limits::MAX_OPEN_EXCHANGES)),
            quiet: Arc::new(Semaphore::new(limits::MAX_QUIET_EXCHANGES)),
        }
    }

    /// Runs what belongs to the connection as a whole.
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Carries a request as soon as there is room for it.
    pub(super) fn request(&mut self, id: u64, exchange: impl Future<Output = ()> + Send + 'static) {
        self.reap();
        let requests = Arc::clone(&self.requests);
        let task = self.tasks.spawn(async move {
            // It is never closed.
            let _room = requests.acquire_owned().await.ok();
            exchange.await;
        });
        self.running.insert(id, task);
    }

    /// Carries what has no answer, and then does what follows from it. Says no when too much of that is under way.
    #[must_use]
    pub(super) fn quiet(
        &mut self,
        exchange: impl Future<Output = ()> + Send + 'static,
        then: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        self.reap();
        let Ok(room) = Arc::clone(&self.quiet).try_acquire_owned() else {
            return false;
        };
        self.tasks.spawn(async move {
            exchange.await;
            drop(room);
            then.await;
        });
        true
    }

    /// Ends the exchange of a request, or keeps it from beginning.
    pub(super) fn abandon(&mut self, id: u64) {
        if let Some(exchange) = self.running.remove(&id) {
            exchange.abort();
        }
    }

    /// Ends all of them, and waits for their end.
    pub(super) async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }

    fn reap(&mut self) {
        if self.tasks.len() < self.reap_at {
            return;
        }
        while self.tasks.try_join_next().is_some() {}
        self.running.retain(|_, exchange| !exchange.is_finished());
        // Looked through again once there are twice as many, so that it costs each a constant share.
        self.reap_at = (self.tasks.len() * 2).max(limits::EXCHANGES_BEFORE_REAPING);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn what_has_ended_is_let_go_of() {
        let mut exchanges = Exchanges::new();
        for id in 0..2_000 {
            exchanges.request(id, ready(()));
            assert!(exchanges.quiet(ready(()), ready(())));
            tokio::task::yield_now().await;
        }
        assert!(exchanges.tasks.len() <= 2 * limits::EXCHANGES_BEFORE_REAPING);
        assert!(exchanges.running.len() <= 2 * limits::EXCHANGES_BEFORE_REAPING);
    }

    #[tokio::test]
    async fn what_the_other_side_causes_and_does_not_take_is_bounded() {
        let mut exchanges = Exchanges::new();
        let taken = (0..10_000).filter(|_| exchanges.quiet(pending(), ready(()))).count();
        assert_eq!(taken, limits::MAX_QUIET_EXCHANGES);
        exchanges.shutdown().await;
    }

    #[tokio::test]
    async fn what_follows_takes_no_room() {
        let mut exchanges = Exchanges::new();
        for _ in 0..1_000 {
            assert!(exchanges.quiet(ready(()), pending()));
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_request_past_the_bound_waits_and_is_not_carried_when_it_is_abandoned() {
        let mut exchanges = Exchanges::new();
        let limit = limits::MAX_OPEN_EXCHANGES as u64;
        for id in 0..limit {
            exchanges.request(id, pending());
        }
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        for id in [limit, limit + 1] {
            let tell = tell.clone();
            exchanges.request(id, async move { tell.send(id).unwrap() });
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(told.try_recv().is_err());
        exchanges.abandon(limit);
        exchanges.abandon(7);
        assert_eq!(told.recv().await, Some(limit + 1));
    }
}
