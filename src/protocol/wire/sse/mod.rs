//! Event streams (HTML standard, "Server-sent events", parsing and interpreting an event stream): bytes in, events out,
//! up to a size. Owns how lines become fields and fields become events; it does not read, does not reconnect, and does
//! not know what an event says.

use std::collections::VecDeque;
use std::mem;

use super::oversize::IdFinder;
use crate::limits::{MAX_EVENT_FIELD_BYTES, READ_CHUNK};

/// Reads one event stream, from its first byte. Between two calls of `push`, `pop` is called until it has nothing more;
/// then what is kept is one unfinished event, at most `max_bytes` of its data. What is unfinished when the stream ends is
/// no event. Each byte is looked at once and moved a bounded number of times, however the stream cuts it up.
pub(crate) struct SseDecoder {
    max_bytes: usize,
    input: Vec<u8>,
    /// How much of the input was read.
    read: usize,
    /// How many bytes of a byte order mark the stream began with; nothing once that is settled.
    mark: Option<usize>,
    /// The last line ended with a carriage return: a line feed right after it belongs to it.
    after_carriage_return: bool,
    place: Place,
    /// How much of the line was read.
    line: u64,
    /// The field name of a line that is not complete.
    name: Vec<u8>,
    /// The value of such a line, where it is not data.
    value: Value,
    event: Event,
    ready: VecDeque<SseItem>,
}

/// What a stream said, in the order in which it took effect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseItem {
    /// A message. `event` is its type; nothing stands for `message`, which is what an event has that names none. The data
    /// is not empty.
    Event { event: Option<String>, data: String },
    /// An event without data, which primes a stream: there is nothing to read in it.
    Empty,
    /// An event over the limit, reported at its end; `bytes` counts all its data. `answers`: the request that it answers,
    /// where it is a message and an answer.
    TooLong { bytes: u64, answers: Option<u64> },
    /// The last event id from here on: what `Last-Event-ID` says when the stream is taken up again. An empty one means
    /// that there is none. It comes before the event that brought it, and also where there is only an id and no event.
    Id(String),
    /// How long to wait before connecting again, in milliseconds.
    Retry(u64),
}

/// Where the next byte stands within its line.
#[derive(Clone, Copy)]
enum Place {
    Name,
    /// Right after the colon, where one space is no part of the value.
    Colon(Field),
    Value(Field),
    /// In a comment, or in a field that nobody knows.
    Ignored,
}

#[derive(Clone, Copy)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

/// What is known of the event that the next blank line ends.
#[derive(Default)]
struct Event {
    kind: Option<String>,
    id: Option<String>,
    /// Joined by line feeds; nothing before the first line of data.
    data: Option<Vec<u8>>,
    /// In the place of data that is too long.
    dropped: Option<Dropped>,
}

#[derive(Default)]
struct Dropped {
    bytes: u64,
    finder: IdFinder,
}

#[derive(Default)]
struct Value {
    bytes: Vec<u8>,
    cut: bool,
}

impl SseDecoder {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            input: Vec::new(),
            read: 0,
            mark: Some(0),
            after_carriage_return: false,
            place: Place::Name,
            line: 0,
            name: Vec::new(),
            value: Value::default(),
            event: Event::default(),
            ready: VecDeque::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// What comes next in the bytes so far.
    pub(crate) fn pop(&mut self) -> Option<SseItem> {
        let input = mem::take(&mut self.input);
        while self.ready.is_empty()
            && let Some((first, rest)) = input.get(self.read..).and_then(<[u8]>::split_first)
        {
            let length = self.step(*first, rest);
            self.read += length;
            self.line = self.line.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        }
        self.input = input;
        if self.read >= self.input.len() {
            self.input.clear();
            self.input.shrink_to(READ_CHUNK);
            self.read = 0;
        }
        self.ready.pop_front()
    }

    /// How long the event, or the line, is by now that is over the limit and has not ended. Lines that hold no data may be
    /// as many as they like: a stream is kept alive by comments.
    pub(crate) fn overflow(&self) -> Option<u64> {
        let event = self.event.dropped.as_ref().map_or(0, |dropped| dropped.bytes);
        Some(event.max(self.line)).filter(|bytes| usize::try_from(*bytes).is_ok_and(|bytes| bytes > self.max_bytes))
    }

    /// Reads one byte, or as many as belong together; says how many.
    fn step(&mut self, first: u8, rest: &[u8]) -> usize {
        if let Some(seen) = self.mark {
            if BYTE_ORDER_MARK.get(seen) == Some(&first) {
                self.mark = Some(seen + 1).filter(|seen| *seen < BYTE_ORDER_MARK.len());
                return 1;
            }
            self.mark = None;
            if seen > 0 {
                // Half a mark is the beginning of a name that nobody knows.
                self.place = Place::Ignored;
            }
        }
        let after_carriage_return = mem::take(&mut self.after_carriage_return);
        match (first, self.place) {
            (LINE_FEED, _) if after_carriage_return => 1,
            (LINE_FEED | CARRIAGE_RETURN, _) => {
                self.after_carriage_return = first == CARRIAGE_RETURN;
                self.end_line();
                1
            }
            (b':', Place::Name) => {
                self.place = match Field::named(&self.name) {
                    Some(field) => {
                        self.begin(field);
                        Place::Colon(field)
                    }
                    None => Place::Ignored,
                };
                1
            }
            (_, Place::Name) if self.name.len() < LONGEST_NAME => {
                self.name.push(first);
                1
            }
            (_, Place::Name) => {
                self.place = Place::Ignored;
                1
            }
            (b' ', Place::Colon(field)) => {
                self.place = Place::Value(field);
                1
            }
            (_, Place::Colon(field) | Place::Value(field)) => {
                self.place = Place::Value(field);
                let length = within_line(rest);
                self.add(field, first, rest.get(..length).unwrap_or_default());
                1 + length
            }
            (_, Place::Ignored) => 1 + within_line(rest),
        }
    }

    fn end_line(&mut self) {
        self.line = 0;
        match mem::replace(&mut self.place, Place::Name) {
            Place::Name if self.name.is_empty() => self.dispatch(),
            // A line without a colon is a name without a value.
            Place::Name => {
                if let Some(field) = Field::named(&self.name) {
                    self.begin(field);
                    self.end(field);
                }
            }
            Place::Colon(field) | Place::Value(field) => self.end(field),
            Place::Ignored => {}
        }
        self.name.clear();
    }

    fn begin(&mut self, field: Field) {
        match field {
            Field::Data if self.event.data.is_some() => self.event.add(self.max_bytes, b"\n"),
            Field::Data => self.event.data = Some(Vec::new()),
            Field::Event | Field::Id | Field::Retry => self.value.clear(),
        }
    }

    fn add(&mut self, field: Field, first: u8, rest: &[u8]) {
        for bytes in [&[first], rest] {
            match field {
                Field::Data => self.event.add(self.max_bytes, bytes),
                Field::Event | Field::Id | Field::Retry => self.value.add(bytes),
            }
        }
    }

    fn end(&mut self, field: Field) {
        match field {
            Field::Data => {}
            Field::Event => self.event.kind = self.value.event_type(),
            Field::Id => {
                if let Some(id) = self.value.id() {
                    self.event.id = Some(id);
                }
            }
            Field::Retry => self.ready.extend(self.value.millis().map(SseItem::Retry)),
        }
    }

    /// At a blank line.
    fn dispatch(&mut self) {
        let Event {
            kind,
            id,
            data,
            dropped,
        } = mem::take(&mut self.event);
        self.ready.extend(id.map(SseItem::Id));
        if let Some(dropped) = dropped {
            self.ready.push_back(SseItem::TooLong {
                bytes: dropped.bytes,
                answers: dropped.finder.id().filter(|_| kind.is_none()),
            });
        } else if let Some(data) = data {
            self.ready.push_back(if data.is_empty() {
                SseItem::Empty
            } else {
                SseItem::Event {
                    event: kind,
                    data: text(data),
                }
            });
        }
    }
}

impl Field {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"data" => Some(Self::Data),
            b"event" => Some(Self::Event),
            b"id" => Some(Self::Id),
            b"retry" => Some(Self::Retry),
            _ => None,
        }
    }
}

impl Event {
    fn add(&mut self, max_bytes: usize, bytes: &[u8]) {
        let data = self.data.get_or_insert_default();
        if self.dropped.is_none() && bytes.len() > max_bytes.saturating_sub(data.len()) {
            // The vector stays, empty: there was data.
            self.dropped.get_or_insert_default().add(&mem::take(data));
        }
        if let Some(dropped) = &mut self.dropped {
            return dropped.add(bytes);
        }
        let needed = data.len() + bytes.len();
        if needed > data.capacity() && data.capacity() > 0 {
            // Doubling, as a vector does by itself, but not past what can ever be needed.
            data.reserve_exact(needed.saturating_mul(2).min(max_bytes) - data.len());
        }
        data.extend_from_slice(bytes);
    }
}

impl Dropped {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.finder.feed(bytes);
    }
}

impl Value {
    fn clear(&mut self) {
        self.bytes.clear();
        self.cut = false;
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MAX_EVENT_FIELD_BYTES - self.bytes.len();
        self.cut |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
    }

    /// Whatever is cut off is no type that anybody knows, and neither is what is left.
    fn event_type(&self) -> Option<String> {
        match &self.bytes[..] {
            b"" | b"message" => None,
            bytes => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// One that is too long counts for nothing, as one with a NUL does: the last one stands, and the server repeats more
    /// than it had to.
    fn id(&self) -> Option<String> {
        let usable = !self.cut && !self.bytes.contains(&0);
        usable.then(|| String::from_utf8_lossy(&self.bytes).into_owned())
    }

    fn millis(&self) -> Option<u64> {
        let is_number = !self.cut && !self.bytes.is_empty() && self.bytes.iter().all(u8::is_ascii_digit);
        is_number.then(|| {
            self.bytes.iter().fold(0_u64, |number, digit| {
                number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
            })
        })
    }
}

/// How many bytes come before the end of the line.
fn within_line(bytes: &[u8]) -> usize {
    let ends = |byte: &u8| matches!(*byte, LINE_FEED | CARRIAGE_RETURN);
    let mut blocks = bytes.chunks(SEARCH_BLOCK);
    // Without a branch per byte, so that a block is looked at in one go.
    let before: usize = blocks
        .by_ref()
        .take_while(|block| !block.iter().fold(false, |found, byte| found | ends(byte)))
        .map(<[u8]>::len)
        .sum();
    let rest = bytes.get(before..).unwrap_or_default();
    before + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Decoded here, once it is whole: a chunk may end within a character. No character spans the end of a line.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

const LINE_FEED: u8 = b'\n';
const CARRIAGE_RETURN: u8 = b'\r';
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The longest name of a field that anybody knows.
const LONGEST_NAME: usize = 5;
const SEARCH_BLOCK: usize = 64;

#[cfg(test)]
mod tests;
