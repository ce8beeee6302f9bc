//! The real clock: the one place where time is read and slept through.

use std::time::Instant;

use crate::host::{Clock, Sleep};

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        // The runtime's clock is the system's; tests may pause it.
        tokio::time::Instant::now().into_std()
    }

    #[expect(clippy::disallowed_methods, reason = "the one home of the wall clock")]
    fn unix_seconds(&self) -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |since| since.as_secs())
    }

    #[expect(clippy::disallowed_methods, reason = "the one home of sleeping")]
    fn sleep_until(&self, instant: Instant) -> Sleep {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}
