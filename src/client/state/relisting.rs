//! When a server is listed again: at once where the last listing is long ago, otherwise after a pause; one listing at a time,
//! and one more for all that was said meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::host::Clock;
use crate::limits;

/// When one server is listed. To begin with it is being connected, which sees to what is said meanwhile.
pub(in crate::client) struct Relisting(Mutex<Turn>);

struct Turn {
    /// Something was said that the last listing may not show.
    wanted: bool,
    /// Some task sees to it.
    running: bool,
    /// When the last listing began.
    last: Option<Instant>,
}

impl Default for Relisting {
    fn default() -> Self {
        Self(Mutex::new(Turn {
            wanted: false,
            running: true,
            last: None,
        }))
    }
}

impl Relisting {
    /// The server was listed for the first time; true when the caller has to list it again.
    pub(in crate::client) fn begin(&self, now: Instant) -> bool {
        let mut turn = self.turn();
        turn.last = Some(now);
        turn.running = turn.wanted;
        turn.wanted
    }

    /// Notes that the server said so; true when nobody sees to it yet, and the caller has to.
    pub(in crate::client) fn want(&self) -> bool {
        let mut turn = self.turn();
        turn.wanted = true;
        !std::mem::replace(&mut turn.running, true)
    }

    /// Lists until nothing is wanted any more.
    pub(in crate::client) async fn run<F: Future<Output = ()>>(&self, clock: &dyn Clock, list: impl Fn() -> F) {
        loop {
            let due = self.turn().last.map(|last| last + limits::RELIST_INTERVAL);
            if let Some(due) = due {
                clock.sleep_until(due).await;
            }
            {
                let mut turn = self.turn();
                turn.wanted = false;
                turn.last = Some(clock.now());
            }
            list().await;
            let mut turn = self.turn();
            if !turn.wanted {
                turn.running = false;
                return;
            }
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::transport::clock::SystemClock;

    /// Wants a listing so many times, and runs it where nobody does; each takes 100 ms, and counts.
    struct Server {
        relisting: Relisting,
        listings: AtomicUsize,
        begins: Mutex<Vec<Instant>>,
    }

    impl Server {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                relisting: Relisting::default(),
                listings: AtomicUsize::new(0),
                begins: Mutex::default(),
            })
        }

        fn say_so(self: &Arc<Self>) {
            if self.relisting.want() {
                self.run();
            }
        }

        fn run(self: &Arc<Self>) {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                let list = || async {
                    this.begins.lock().unwrap().push(SystemClock.now());
                    SystemClock
                        .sleep_until(SystemClock.now() + std::time::Duration::from_millis(100))
                        .await;
                    this.listings.fetch_add(1, Ordering::Relaxed);
                };
                this.relisting.run(&SystemClock, list).await;
            });
        }
    }

    async fn pass(millis: u64) {
        SystemClock
            .sleep_until(SystemClock.now() + std::time::Duration::from_millis(millis))
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_one_listing_and_what_is_said_during_it_is_one_more() {
        let server = Server::new();
        assert!(!server.relisting.begin(SystemClock.now()));
        pass(5_000).await;
        for _ in 0..200 {
            server.say_so();
        }
        pass(50).await;
        assert_eq!(server.begins.lock().unwrap().len(), 1);
        for _ in 0..200 {
            server.say_so();
        }
        pass(5_000).await;
        assert_eq!(server.listings.load(Ordering::Relaxed), 2);
        let begins = server.begins.lock().unwrap().clone();
        assert_eq!(begins[1] - begins[0], limits::RELIST_INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_stops_saying_so_is_listed_once_a_second() {
        let server = Server::new();
        server.relisting.begin(SystemClock.now());
        for _ in 0..1_000 {
            server.say_so();
            pass(10).await;
        }
        let listings = server.listings.load(Ordering::Relaxed);
        assert!((8..=10).contains(&listings), "{listings}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_while_connecting_is_heard_afterwards() {
        let server = Server::new();
        server.say_so();
        pass(5_000).await;
        assert_eq!(server.listings.load(Ordering::Relaxed), 0);
        assert!(server.relisting.begin(SystemClock.now()));
        server.run();
        pass(5_000).await;
        assert_eq!(server.listings.load(Ordering::Relaxed), 1);
        server.say_so();
        pass(200).await;
        assert_eq!(server.listings.load(Ordering::Relaxed), 2);
    }
}
