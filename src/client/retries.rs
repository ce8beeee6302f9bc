//! How often, and how soon after a failure, a server that was lost is brought up again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, ErrorCode};
use crate::limits;

/// The attempts to bring one server up again.
#[derive(Default)]
pub(super) struct Retries {
    /// Those that still count, oldest first.
    begun: VecDeque<Instant>,
    /// Why and when the latest one failed; nothing when it did not.
    failure: Option<(Instant, Arc<Error>)>,
}

impl Retries {
    /// Takes note of one more attempt, unless it would be one too many: a child is started so and so often in so much time
    /// (client specification, section 10), and a remote server is left alone for a moment after each failure.
    ///
    /// # Errors
    /// Why it may not be tried now.
    pub(super) fn begin(&mut self, is_child: bool, lost: &Arc<Error>, now: Instant) -> Result<(), Arc<Error>> {
        if is_child {
            let counts = |begun: &Instant| now.saturating_duration_since(*begun) < limits::CHILD_RESTART_WINDOW;
            self.begun.retain(counts);
            if self.begun.len() >= limits::MAX_CHILD_RESTARTS {
                let message = format!(
                    "it was started again {} times within {} s and is left alone for now; {}",
                    limits::MAX_CHILD_RESTARTS,
                    limits::CHILD_RESTART_WINDOW.as_secs(),
                    self.cause(lost)
                );
                return Err(Arc::new(Error::new(ErrorCode::Unavailable, message)));
            }
            self.begun.push_back(now);
        } else if let Some((at, cause)) = &self.failure
            && now.saturating_duration_since(*at) < limits::REVIVAL_PAUSE
        {
            return Err(Arc::clone(cause));
        }
        Ok(())
    }

    pub(super) fn failed(&mut self, cause: Error, now: Instant) {
        self.failure = Some((now, Arc::new(cause)));
    }

    pub(super) fn succeeded(&mut self) {
        self.failure = None;
    }

    /// What stands between a server and its calls.
    pub(super) fn cause(&self, lost: &Arc<Error>) -> Arc<Error> {
        Arc::clone(self.failure.as_ref().map_or(lost, |(_, cause)| cause))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::host::Clock;
    use crate::transport::clock::SystemClock;

    fn error(message: &str) -> Arc<Error> {
        Arc::new(Error::new(ErrorCode::ConnectionLost, message))
    }

    #[test]
    fn a_child_is_started_again_three_times_in_any_minute() {
        let start = SystemClock.now();
        let lost = error("it ended with exit status 7");
        let mut retries = Retries::default();
        for (seconds, may) in [
            (0, true),
            (10, true),
            (20, true),
            (30, false),
            (59, false),
            (60, true),
            (61, false),
            (70, true),
            (79, false),
            (80, true),
        ] {
            let now = start + Duration::from_secs(seconds);
            let outcome = retries.begin(true, &lost, now);
            assert_eq!(outcome.is_ok(), may, "after {seconds} s");
            if let Err(cause) = outcome {
                assert!(cause.message().ends_with("it ended with exit status 7"), "{cause}");
                assert!(cause.message().contains("3 times within 60 s"), "{cause}");
            }
        }
    }

    #[test]
    fn a_remote_server_is_left_alone_for_a_moment_after_a_failure_only() {
        let now = SystemClock.now();
        let lost = error("its event stream ended");
        let mut retries = Retries::default();
        for _ in 0..100 {
            retries.begin(false, &lost, now).unwrap();
        }
        retries.failed(Error::new(ErrorCode::InvalidResponse, "refused"), now);
        let just_before = now + limits::REVIVAL_PAUSE.saturating_sub(Duration::from_millis(1));
        let cause = retries.begin(false, &lost, just_before).unwrap_err();
        assert_eq!(cause.message(), "refused");
        retries.begin(false, &lost, now + limits::REVIVAL_PAUSE).unwrap();
        retries.succeeded();
        retries.begin(false, &lost, now).unwrap();
    }
}
