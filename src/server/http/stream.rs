//! Events on their way to a client. What waits is bounded: a reader that is slower is let go. Events with ids are kept for
//! a while, so that a reader who lost its connection can go on where it was.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::host::{Clock, Sleep};
use crate::server::answer::Answer;
use crate::server::connection::Weight;
use crate::server::dispatch::Pending;
use crate::server::stats::Counter;
use crate::server::tenants::Load;

/// What is to be told on one stream.
pub(crate) struct Channel {
    /// What its event ids begin with; nothing where events have none.
    name: Option<String>,
    capacity: usize,
    /// Counts readers that did not keep up.
    slow: Arc<Counter>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// How many bytes are kept.
    bytes: usize,
    /// How many of them nobody read.
    unread: usize,
    /// The number of the last event.
    last: u64,
    /// The number of the last event that a reader took.
    taken: u64,
    end: Option<End>,
    /// Whether somebody reads, and which reader it is.
    reader: u64,
    is_read: bool,
    waker: Option<Waker>,
    /// Ends the connection of the reader.
    hang_up: Option<CancellationToken>,
}

struct Event {
    number: u64,
    text: Bytes,
    /// Whether it is for the reader that is there, and for nobody who comes later.
    is_passing: bool,
    /// What is in flight until somebody reads it.
    load: Option<Load>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was told.
    Done,
    /// This reader is to come back later.
    Pause,
}

impl Channel {
    pub(crate) fn new(name: Option<String>, capacity: usize, slow: &Arc<Counter>) -> Self {
        Self {
            name,
            capacity,
            slow: Arc::clone(slow),
            state: Mutex::default(),
        }
    }

    /// What its event ids begin with.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn is_resumable(&self) -> bool {
        self.name.is_some()
    }

    pub(crate) fn push(&self, event: Option<&str>, data: &str, weight: Weight) {
        self.put(event, data, weight, None);
    }

    /// An answer: it is in flight until it is read.
    pub(crate) fn answer(&self, event: Option<&str>, answer: Answer) {
        self.put(event, &answer.text, Weight::Needed, answer.load);
    }

    fn put(&self, event: Option<&str>, data: &str, weight: Weight, load: Option<Load>) {
        let mut state = self.state();
        if state.end == Some(End::Done) {
            return;
        }
        let mut hang_up = None;
        let is_full = state.unread > self.capacity;
        if is_full && state.is_read {
            // The reader is too slow. Its connection is ended from outside, as nobody asks for more where nothing is taken.
            self.slow.add();
            hang_up = state.hang_up.take();
            state.reader += 1;
            state.is_read = false;
            if !self.is_resumable() {
                // Nobody comes back for it.
                state.events = VecDeque::new();
                state.bytes = 0;
                state.unread = 0;
            }
        }
        if !(is_full && weight == Weight::Droppable) {
            self.add(&mut state, event, data, load);
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(hang_up) = hang_up {
            hang_up.cancel();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Begins with an event that has an id and nothing in it, so that its reader can come back.
    pub(crate) fn prime(&self) {
        let Some(name) = &self.name else {
            return;
        };
        let text = Bytes::from(format!("id: {name}-0\ndata:\n\n"));
        let mut state = self.state();
        state.bytes += text.len();
        state.unread += text.len();
        state.events.push_front(Event {
            number: 0,
            text,
            is_passing: true,
            load: None,
        });
    }

    fn add(&self, state: &mut State, event: Option<&str>, data: &str, load: Option<Load>) {
        state.last += 1;
        let mut text = String::with_capacity(data.len() + 32);
        if let Some(name) = &self.name {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "id: {name}-{}", state.last);
        }
        if let Some(event) = event {
            let _ = writeln!(text, "event: {event}");
        }
        let _ = write!(text, "data: {data}\n\n");
        state.bytes += text.len();
        state.unread += text.len();
        state.events.push_back(Event {
            number: state.last,
            text: Bytes::from(text),
            is_passing: false,
            load,
        });
        // What was read is kept as long as there is room.
        while state.bytes > self.capacity && state.events.front().is_some_and(|first| first.number <= state.taken) {
            if let Some(first) = state.events.pop_front() {
                state.bytes -= first.text.len();
            }
        }
    }

    pub(crate) fn finish(&self) {
        let mut state = self.state();
        state.end = Some(End::Done);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Sends the reader away, to come back after so long.
    pub(crate) fn pause(&self, retry_ms: Option<u64>) {
        let mut state = self.state();
        if !self.is_resumable() || state.end.is_some() || !state.is_read {
            return;
        }
        if let Some(retry) = retry_ms {
            let number = state.last;
            let text = Bytes::from(format!("retry: {retry}\n\n"));
            state.bytes += text.len();
            state.unread += text.len();
            state.events.push_back(Event {
                number,
                text,
                is_passing: true,
                load: None,
            });
        }
        state.end = Some(End::Pause);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether there is something to tell, or it has ended.
    pub(crate) fn poll_news(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.unread > 0 || state.end.is_some() {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether there was an event of such a number.
    pub(crate) fn has_told(&self, number: u64) -> bool {
        number <= self.state().last
    }

    /// Whether somebody reads it.
    pub(crate) fn is_read(&self) -> bool {
        self.state().is_read
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state().end == Some(End::Done)
    }

    /// Whether everything was read.
    pub(crate) fn is_drained(&self) -> bool {
        self.state().unread == 0
    }

    /// Begins to read behind the event of such a number; nothing for the start. Whoever read before reads no more.
    fn attach(&self, after: Option<u64>, hang_up: CancellationToken) -> u64 {
        let mut state = self.state();
        if state.end == Some(End::Pause) {
            state.end = None;
        }
        if let Some(after) = after {
            state.taken = after;
            state.unread = state
                .events
                .iter()
                .filter(|event| event.number > after)
                .map(|event| event.text.len())
                .sum();
        }
        state.reader += 1;
        state.is_read = true;
        state.hang_up = Some(hang_up);
        let (reader, waker) = (state.reader, state.waker.take());
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        reader
    }

    fn detach(&self, reader: u64) {
        let mut state = self.state();
        if state.reader == reader {
            state.is_read = false;
            state.hang_up = None;
        }
    }

    fn poll_read(&self, reader: u64, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.state();
        if state.reader != reader {
            return Poll::Ready(None);
        }
        if state.unread == 0 {
            if state.end.is_some() {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let taken = state.taken;
        let mut bytes = Vec::with_capacity(state.unread);
        let unread = state
            .events
            .iter_mut()
            .filter(|event| event.number > taken || event.is_passing);
        for event in unread {
            bytes.extend_from_slice(&event.text);
            event.load = None;
        }
        state.taken = state.last;
        state.unread = 0;
        if self.is_resumable() {
            state.events.retain(|event| !event.is_passing);
            state.bytes = state.events.iter().map(|event| event.text.len()).sum();
        } else {
            state.events.clear();
            state.bytes = 0;
        }
        Poll::Ready(Some(Bytes::from(bytes)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Left = Box<dyn FnOnce(Option<Pending>) + Send>;

/// One reader of a channel; and, where the stream answers a request, what is answered in the end.
pub(crate) struct EventStream {
    channel: Arc<Channel>,
    reader: u64,
    pending: Option<Pending>,
    /// Told when the reader is gone, with what is still to be answered.
    left: Option<Left>,
    clock: Arc<dyn Clock>,
    heartbeat: Duration,
    beat: Option<Sleep>,
}

impl EventStream {
    /// `hang_up` ends the connection of the reader: for one that is too slow.
    pub(crate) fn new(
        channel: Arc<Channel>,
        after: Option<u64>,
        hang_up: CancellationToken,
        clock: Arc<dyn Clock>,
        heartbeat: Duration,
    ) -> Self {
        Self {
            reader: channel.attach(after, hang_up),
            channel,
            pending: None,
            left: None,
            clock,
            heartbeat,
            beat: None,
        }
    }

    /// What is answered in the end.
    #[must_use]
    pub(crate) fn answering(mut self, pending: Pending) -> Self {
        self.pending = Some(pending);
        self
    }

    /// `left` is told when the reader is gone, with what is still to be answered.
    #[must_use]
    pub(crate) fn watched(mut self, left: Left) -> Self {
        self.left = Some(left);
        self
    }

    pub(crate) fn poll_bytes(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(pending) = &mut self.pending
            && let Poll::Ready(answer) = pending.as_mut().poll(cx)
        {
            self.pending = None;
            if let Some(answer) = answer {
                self.channel.answer(None, answer);
            }
            self.channel.finish();
        }
        if let Poll::Ready(read) = self.channel.poll_read(self.reader, cx) {
            self.beat = None;
            return Poll::Ready(read);
        }
        let Some(until) = self.clock.now().checked_add(self.heartbeat) else {
            return Poll::Pending;
        };
        let clock = Arc::clone(&self.clock);
        let beat = self.beat.get_or_insert_with(|| clock.sleep_until(until));
        ready!(beat.as_mut().poll(cx));
        self.beat = None;
        Poll::Ready(Some(Bytes::from_static(b":\n\n")))
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.channel.detach(self.reader);
        if let Some(left) = self.left.take() {
            left(self.pending.take());
        }
    }
}
