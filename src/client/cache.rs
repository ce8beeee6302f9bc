//! What a server said may be used again for a while: the caching hints of the stateless era (protocol, 7.14). A result is
//! found again only under the very same request with the very same credential.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use crate::json::{self, Object};
use crate::limits;

/// The results of one server. Its keys hold credentials, so that it has no `Debug`.
#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The oldest first.
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Counts what made results untrue, so that one that was asked for before that is not kept after it.
    epoch: u64,
}

struct Entry {
    key: Key,
    result: Box<RawValue>,
    until: Instant,
}

/// Which request a result belongs to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) method: &'static str,
    /// The params as JSON text.
    pub(super) params: String,
    pub(super) bearer: Option<String>,
}

impl Key {
    fn bytes(&self) -> usize {
        self.method.len() + self.params.len() + self.bearer.as_ref().map_or(0, String::len)
    }
}

impl Cache {
    pub(super) fn get(&self, key: &Key, now: Instant) -> Option<Box<RawValue>> {
        let kept = self.kept();
        let entry = kept
            .entries
            .iter()
            .find(|entry| entry.key == *key && now < entry.until)?;
        Some(entry.result.clone())
    }

    pub(super) fn epoch(&self) -> u64 {
        self.kept().epoch
    }

    /// Keeps a result that was asked for in `epoch`, for as long as it says.
    pub(super) fn put(&self, key: Key, result: &RawValue, now: Instant, epoch: u64) {
        let Some(until) = time_to_live(result).and_then(|time| now.checked_add(time)) else {
            return;
        };
        let entry = Entry {
            key,
            result: result.to_owned(),
            until,
        };
        let mut kept = self.kept();
        if kept.epoch != epoch || entry.bytes() > limits::MAX_CACHED_BYTES {
            return;
        }
        kept.retain(|other| other.key != entry.key && now < other.until);
        kept.bytes += entry.bytes();
        kept.entries.push_back(entry);
        while kept.bytes > limits::MAX_CACHED_BYTES || kept.entries.len() > limits::MAX_CACHED_RESULTS {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.bytes();
        }
    }

    /// What methods of this prefix said is not true any more.
    pub(super) fn forget(&self, prefix: &str) {
        let mut kept = self.kept();
        kept.epoch += 1;
        kept.retain(|entry| !entry.key.method.starts_with(prefix));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.entries.retain(keep);
        self.bytes = self.entries.iter().map(Entry::bytes).sum();
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        self.key.bytes() + self.result.get().len()
    }
}

/// How long a result is true; nothing where it does not say, or says no time at all.
fn time_to_live(result: &RawValue) -> Option<Duration> {
    let millis: f64 = json::parse(Object::parse(result.get())?.get("ttlMs")?.get())?;
    let time = Duration::try_from_secs_f64(millis / 1_000.0).ok()?;
    (!time.is_zero()).then_some(time.min(limits::LONGEST_CACHED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(params: &str) -> Key {
        Key {
            method: "resources/read",
            params: params.to_owned(),
            bearer: None,
        }
    }

    fn result(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn start() -> Instant {
        #[expect(
            clippy::disallowed_methods,
            reason = "any instant will do as the zero of a simulated clock"
        )]
        Instant::now()
    }

    #[test]
    fn a_result_is_true_for_as_long_as_it_says_and_under_its_own_key() {
        let (cache, now) = (Cache::default(), start());
        cache.put(key("{}"), &result(r#"{"ttlMs":1000}"#), now, 0);
        let late = now + Duration::from_millis(999);
        assert!(cache.get(&key("{}"), late).is_some());
        assert!(cache.get(&key("{}"), now + Duration::from_secs(1)).is_none());
        assert!(cache.get(&key("[]"), late).is_none());
        let other = Key {
            bearer: Some("t".to_owned()),
            ..key("{}")
        };
        assert!(cache.get(&other, late).is_none());
    }

    #[test]
    fn what_says_no_time_is_not_kept() {
        for text in [
            "{}",
            r#"{"ttlMs":0}"#,
            r#"{"ttlMs":-5}"#,
            r#"{"ttlMs":"9"}"#,
            r#"{"ttlMs":null}"#,
            "[]",
        ] {
            let (cache, now) = (Cache::default(), start());
            cache.put(key("{}"), &result(text), now, 0);
            assert!(cache.get(&key("{}"), now).is_none(), "{text}");
        }
        let (cache, now) = (Cache::default(), start());
        cache.put(key("{}"), &result(r#"{"ttlMs":1e300}"#), now, 0);
        cache.put(key("[]"), &result(r#"{"ttlMs":1e12}"#), now, 0);
        assert!(cache.get(&key("[]"), now + limits::LONGEST_CACHED).is_none());
    }

    #[test]
    fn a_change_forgets_what_came_before_it_and_what_was_asked_for_before_it() {
        let (cache, now) = (Cache::default(), start());
        let epoch = cache.epoch();
        cache.put(key("{}"), &result(r#"{"ttlMs":1000}"#), now, epoch);
        cache.forget("prompts/");
        assert!(cache.get(&key("{}"), now).is_some());
        cache.forget("resources/");
        assert!(cache.get(&key("{}"), now).is_none());
        cache.put(key("{}"), &result(r#"{"ttlMs":1000}"#), now, epoch);
        assert!(cache.get(&key("{}"), now).is_none());
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let (cache, now) = (Cache::default(), start());
        for index in 0..limits::MAX_CACHED_RESULTS + 10 {
            cache.put(key(&index.to_string()), &result(r#"{"ttlMs":1000}"#), now, 0);
        }
        assert!(cache.get(&key("9"), now).is_none() && cache.get(&key("10"), now).is_some());
        let large = format!(r#"{{"ttlMs":1000,"x":"{}"}}"#, "x".repeat(limits::MAX_CACHED_BYTES));
        cache.put(key("large"), &result(&large), now, 0);
        assert!(cache.get(&key("large"), now).is_none());
    }
}
