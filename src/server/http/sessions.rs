//! Sessions over HTTP: who is behind an id, and the streams that lead to it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::stream::Channel;
use crate::limits;
use crate::server::connection::{Connection, Outbox, Weight};
use crate::server::stats::Counter;

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) connection: Arc<Connection>,
    pub(crate) streams: Arc<Streams>,
    heard: Mutex<Instant>,
}

/// The streams of one session. What belongs to a request goes on the stream that answers it, and the rest on the one that
/// the client opened for that.
pub(crate) struct Streams {
    capacity: usize,
    slow: Arc<Counter>,
    pub(crate) standalone: Arc<Channel>,
    last: AtomicU64,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// By the id of the request, as it was sent.
    requests: HashMap<String, Arc<Channel>>,
    /// Those that a client may come back to, by name, oldest first.
    kept: VecDeque<(String, Arc<Channel>)>,
}

/// Where the answers to some requests go. Dropped when they are answered or given up: their ids are free again.
pub(crate) struct Way {
    streams: Arc<Streams>,
    /// Their ids, as they were sent.
    pub(crate) requests: Vec<String>,
    pub(crate) channel: Arc<Channel>,
}

impl Drop for Way {
    fn drop(&mut self) {
        let mut open = self.streams.locked();
        for request in &self.requests {
            let is_its_own = open
                .requests
                .get(request)
                .is_some_and(|other| Arc::ptr_eq(other, &self.channel));
            if is_its_own {
                open.requests.remove(request);
            }
        }
    }
}

/// The name of the stream that answers nothing.
const STANDALONE: &str = "0";

impl Session {
    pub(crate) fn new(id: String, connection: Arc<Connection>, streams: Arc<Streams>, now: Instant) -> Self {
        Self {
            id,
            connection,
            streams,
            heard: Mutex::new(now),
        }
    }

    /// A message came.
    pub(crate) fn hear(&self, now: Instant) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Nothing came for so long, nothing is under way, and nobody listens.
    pub(crate) fn is_idle(&self, limit: Duration, now: Instant) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(heard) >= limit && !self.connection.is_busy() && !self.streams.are_read()
    }
}

impl Streams {
    /// `is_resumable`: whether the client may come back to a stream.
    pub(crate) fn new(capacity: usize, is_resumable: bool, slow: &Arc<Counter>) -> Self {
        let name = is_resumable.then(|| STANDALONE.to_owned());
        Self {
            capacity,
            slow: Arc::clone(slow),
            standalone: Arc::new(Channel::new(name, capacity, slow)),
            last: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// One stream that carries everything.
    pub(crate) fn of(channel: Arc<Channel>) -> Self {
        Self {
            capacity: 0,
            slow: Arc::default(),
            standalone: channel,
            last: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Whether one stream carries everything.
    pub(crate) fn is_one(&self) -> bool {
        self.capacity == 0
    }

    /// A stream for the answers to these requests. A request whose id is in use keeps its own: the other one is refused.
    pub(crate) fn open(self: &Arc<Self>, requests: Vec<String>, is_resumable: bool) -> Way {
        let name = is_resumable.then(|| (self.last.fetch_add(1, Ordering::Relaxed) + 1).to_string());
        let channel = Arc::new(Channel::new(name, self.capacity, &self.slow));
        let mut open = self.locked();
        for request in &requests {
            open.requests
                .entry(request.clone())
                .or_insert_with(|| Arc::clone(&channel));
        }
        drop(open);
        Way {
            streams: Arc::clone(self),
            requests,
            channel,
        }
    }

    /// From now on the client may come back to a stream.
    pub(crate) fn keep(&self, channel: &Arc<Channel>) {
        let Some(name) = channel.name() else {
            return;
        };
        let mut open = self.locked();
        if open.kept.len() >= limits::MAX_KEPT_STREAMS {
            // One that is done first; what still runs is not lost by that, only its way back.
            let place = open.kept.iter().position(|(_, channel)| channel.is_done()).unwrap_or(0);
            open.kept.remove(place);
        }
        open.kept.push_back((name.to_owned(), Arc::clone(channel)));
    }

    /// Nobody comes back to it any more.
    pub(crate) fn forget(&self, channel: &Arc<Channel>) {
        self.locked().kept.retain(|(_, kept)| !Arc::ptr_eq(kept, channel));
    }

    /// The stream that an event came from, and the event's number.
    pub(crate) fn resume(&self, last_event_id: &str) -> Option<(Arc<Channel>, u64)> {
        let (name, number) = last_event_id.rsplit_once('-')?;
        let number = number.parse().ok()?;
        let channel = if self.standalone.name() == Some(name) {
            Arc::clone(&self.standalone)
        } else {
            let open = self.locked();
            let (_, channel) = open.kept.iter().find(|(kept, _)| kept == name)?;
            Arc::clone(channel)
        };
        channel.has_told(number).then_some((channel, number))
    }

    /// Ends all of them.
    pub(crate) fn finish(&self) {
        self.standalone.finish();
        let open = std::mem::take(&mut *self.locked());
        for channel in open.requests.into_values() {
            channel.finish();
        }
    }

    fn are_read(&self) -> bool {
        self.standalone.is_read()
    }

    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn to(&self, about: Option<&str>) -> Arc<Channel> {
        let of_request = about.and_then(|request| self.locked().requests.get(request).cloned());
        of_request.unwrap_or_else(|| Arc::clone(&self.standalone))
    }
}

/// The way out of a session.
pub(crate) struct SessionOutbox(pub(crate) Arc<Streams>);

impl Outbox for SessionOutbox {
    fn send(&self, about: Option<&str>, text: String, weight: Weight) {
        self.0.to(about).push(None, &text, weight);
    }

    fn close_stream(&self, about: &str, retry_ms: Option<u64>) {
        let channel = self.0.locked().requests.get(about).cloned();
        if let Some(channel) = channel {
            channel.pause(retry_ms);
        }
    }
}

/// The way out of one request without a session.
pub(crate) struct RequestOutbox(pub(crate) Arc<Channel>);

impl Outbox for RequestOutbox {
    fn send(&self, _about: Option<&str>, text: String, weight: Weight) {
        self.0.push(None, &text, weight);
    }
}

/// The way out of a session whose one stream carries everything.
pub(crate) struct StreamOutbox(pub(crate) Arc<Channel>);

impl Outbox for StreamOutbox {
    fn send(&self, _about: Option<&str>, text: String, weight: Weight) {
        self.0.push(Some("message"), &text, weight);
    }
}
