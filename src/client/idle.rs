//! Stopping a child that nobody calls, for as long as nobody does. Owns the counting of who uses a server; the next call
//! brings it up again as one that was lost (`revive`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::options::{Endpoint, Options, ServerConfig};
use super::server::{Server, State};
use super::shared::Shared;
use crate::error::{Error, ErrorCode};
use crate::host::Clock;

/// Who uses one server, and since when nobody does.
pub(super) struct Activity {
    limit: Duration,
    clock: Arc<dyn Clock>,
    uses: Mutex<Uses>,
    /// Told when the last user leaves.
    left: Notify,
}

struct Uses {
    now: usize,
    /// When the last one left, or the server came up.
    since: Instant,
}

/// Somebody who uses a server, until this is dropped.
pub(super) struct InUse(Arc<Activity>);

impl Activity {
    /// Nothing for a server that is never stopped.
    pub(super) fn of(config: &ServerConfig, options: &Options, clock: &Arc<dyn Clock>) -> Option<Arc<Self>> {
        let limit = config.idle_stop.unwrap_or(options.idle_stop).duration()?;
        matches!(config.endpoint, Endpoint::Stdio(_)).then(|| Arc::new(Self::new(limit, Arc::clone(clock))))
    }

    fn new(limit: Duration, clock: Arc<dyn Clock>) -> Self {
        let since = clock.now();
        Self {
            limit,
            clock,
            uses: Mutex::new(Uses { now: 0, since }),
            left: Notify::new(),
        }
    }

    fn begin(self: &Arc<Self>) -> InUse {
        self.uses().now += 1;
        InUse(Arc::clone(self))
    }

    /// Begins to wait anew.
    fn touch(&self) {
        self.uses().since = self.clock.now();
    }

    /// When it has been unused for long enough; nothing while it is used.
    fn due(&self) -> Option<Instant> {
        let uses = self.uses();
        (uses.now == 0).then(|| uses.since.checked_add(self.limit)).flatten()
    }

    fn is_due(&self) -> bool {
        self.due().is_some_and(|due| due <= self.clock.now())
    }

    /// Resolves when nobody has used it for long enough.
    async fn idle(&self) {
        while !self.is_due() {
            match self.due() {
                Some(due) => self.clock.sleep_until(due).await,
                None => self.left.notified().await,
            }
        }
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut uses = self.0.uses();
        uses.now = uses.now.saturating_sub(1);
        if uses.now == 0 {
            uses.since = self.0.clock.now();
            drop(uses);
            self.0.left.notify_one();
        }
    }
}

impl Server {
    /// Keeps the server from being stopped as idle. Taken under the lock of its state, or before anything is asked of it.
    pub(super) fn in_use(&self) -> Option<InUse> {
        self.activity.as_ref().map(Activity::begin)
    }
}

impl Shared {
    /// A server came up: from here on it is watched, where it is to be stopped when nobody calls it.
    pub(super) fn watch_idleness(self: &Arc<Self>, index: usize, server: &Server) {
        let Some(activity) = server.activity.clone() else {
            return;
        };
        let ended = match &*server.state() {
            State::Ready(live) => live.connection.ended(),
            _ => return,
        };
        activity.touch();
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            let stopping = async {
                loop {
                    activity.idle().await;
                    if shared.stop_idle(index, &activity) {
                        return;
                    }
                    activity.touch();
                }
            };
            tokio::select! {
                () = shared.tasks.closing.cancelled() => {}
                () = ended => {}
                () = stopping => {}
            }
        });
    }

    /// True when there is nothing left to stop.
    fn stop_idle(&self, index: usize, activity: &Activity) -> bool {
        let Some(server) = self.servers.get(index) else {
            return true;
        };
        let mut state = server.state();
        let State::Ready(live) = &mut *state else { return true };
        if live.connection.lost().is_some() {
            return true;
        }
        // Who subscribed to a resource waits to hear of it.
        if !activity.is_due() || !server.subscriptions().is_empty() {
            return false;
        }
        let why = format!(
            "it was stopped, as nobody had called it for {} ms",
            activity.limit.as_millis()
        );
        // The handle goes, and with it the child.
        live.connection = live.connection.let_go(Error::new(ErrorCode::Unavailable, why));
        live.is_stopped = true;
        drop(state);
        server.cache.forget("");
        self.tell_status(server);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::clock::SystemClock;

    async fn pass(millis: u64) {
        SystemClock
            .sleep_until(SystemClock.now() + Duration::from_millis(millis))
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_idle_when_the_last_user_has_been_gone_for_long_enough() {
        let activity = Arc::new(Activity::new(Duration::from_millis(100), Arc::new(SystemClock)));
        let began = SystemClock.now();
        let (one, other) = (activity.begin(), activity.begin());
        let idle = {
            let activity = Arc::clone(&activity);
            tokio::spawn(async move {
                activity.idle().await;
                SystemClock.now()
            })
        };
        pass(500).await;
        drop(one);
        pass(500).await;
        drop(other);
        assert!(!idle.is_finished());
        pass(50).await;
        drop(activity.begin());
        assert_eq!(idle.await.unwrap() - began, Duration::from_millis(1_150));
        assert!(activity.is_due());
        activity.touch();
        assert!(!activity.is_due());
    }
}
