//! Who uses a server, and since when nobody does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::client::options::{Endpoint, Options, ServerConfig};
use crate::host::Clock;

/// Who uses one server, and since when nobody does.
pub(in crate::client) struct Activity {
    pub(in crate::client) limit: Duration,
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
pub(in crate::client) struct InUse(Arc<Activity>);

impl Activity {
    /// Nothing for a server that is never stopped.
    pub(in crate::client) fn of(config: &ServerConfig, options: &Options, clock: &Arc<dyn Clock>) -> Option<Arc<Self>> {
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

    pub(in crate::client) fn begin(self: &Arc<Self>) -> InUse {
        self.uses().now += 1;
        InUse(Arc::clone(self))
    }

    /// Begins to wait anew.
    pub(in crate::client) fn touch(&self) {
        self.uses().since = self.clock.now();
    }

    /// When it has been unused for long enough; nothing while it is used.
    fn due(&self) -> Option<Instant> {
        let uses = self.uses();
        (uses.now == 0).then(|| uses.since.checked_add(self.limit)).flatten()
    }

    pub(in crate::client) fn is_due(&self) -> bool {
        self.due().is_some_and(|due| due <= self.clock.now())
    }

    /// Resolves when nobody has used it for long enough.
    pub(in crate::client) async fn idle(&self) {
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
