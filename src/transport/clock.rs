//! The real clock: the one place where time is read and slept through.

use std::time::Instant;

use crate::host::{Clock, Sleep};

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one home of the monotonic clock")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "the one home of sleeping")]
    fn sleep_until(&self, instant: Instant) -> Sleep {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}
