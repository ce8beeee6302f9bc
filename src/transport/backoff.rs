//! How long to wait before something is tried again: longer after each failure, and never the same for two who failed at
//! the same moment.

use std::time::Duration;

use crate::limits;

/// The wait after so many failures in a row, from `first` on. Never less than `first`.
pub(crate) fn backoff(first: Duration, failures: u32) -> Duration {
    let full = first
        .saturating_mul(2_u32.pow(failures.min(limits::MAX_BACKOFF_DOUBLINGS)))
        .min(limits::LONGEST_RETRY.max(first));
    full + full.mul_f64(limits::BACKOFF_JITTER * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_to_an_end_and_never_below_what_was_asked_for() {
        let first = Duration::from_secs(1);
        for failures in 0..100 {
            let wait = backoff(first, failures);
            let full = first * 2_u32.pow(failures.min(limits::MAX_BACKOFF_DOUBLINGS));
            assert!(
                wait >= full && wait <= full.mul_f64(1.0 + limits::BACKOFF_JITTER),
                "{failures}: {wait:?}"
            );
        }
        let waits: std::collections::HashSet<_> = (0..50).map(|_| backoff(first, 0)).collect();
        assert!(waits.len() > 1, "no two of them should go off together");
        assert!(backoff(limits::LONGEST_RETRY, 9) >= limits::LONGEST_RETRY);
    }
}
