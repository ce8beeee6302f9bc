//! Newline framing for byte streams (client specification, section 10): bytes in, whole lines out, up to a size. Owns
//! where a line ends and how its bytes become text; it does not read, and does not know what a line says.

use super::oversize::IdFinder;

/// Splits what a stream delivers into lines. Between two calls of `push`, `pop` is called until it has nothing more;
/// then what is kept is one unfinished line, at most `max_bytes` of it. Each byte is looked at once and moved a bounded
/// number of times, however the stream cuts it up.
pub(crate) struct Lines {
    max_bytes: usize,
    buffer: Vec<u8>,
    /// Where the first line begins that was not handed out yet.
    start: usize,
    /// How far the buffer was searched for the end of that line.
    scanned: usize,
    keeps_blank: bool,
    /// Within a line that is too long: what is known of the part that is gone already.
    dropped: Option<Dropped>,
}

#[derive(Default)]
struct Dropped {
    bytes: u64,
    finder: IdFinder,
}

/// What a stream said from one line end to the next. A blank line is not reported, unless it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its line end, and without a byte order mark before it. `lossy`: some bytes were no UTF-8 and are U+FFFD.
    Text { text: String, lossy: bool },
    /// A line over the limit, reported at its end; `bytes` counts all it had before that. `answers`: the request that it
    /// answers, where it is an answer.
    TooLong { bytes: u64, answers: Option<u64> },
}

impl Lines {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            keeps_blank: false,
            dropped: None,
        }
    }

    /// Reports blank lines too: in free text they mean something.
    pub(crate) fn of_free_text(max_bytes: usize) -> Self {
        Self {
            keeps_blank: true,
            ..Self::new(max_bytes)
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.compact();
        let needed = self.buffer.len().saturating_add(bytes.len());
        let most = self.longest_kept().saturating_add(bytes.len());
        if needed > self.buffer.capacity() && needed <= most {
            // Doubling, as a vector does by itself, but not past what can ever be needed.
            let capacity = needed.saturating_mul(2).min(most);
            self.buffer.reserve_exact(capacity - self.buffer.len());
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line that is complete.
    pub(crate) fn pop(&mut self) -> Option<Line> {
        loop {
            let Some(end) = self.find_end() else {
                self.drop_overflow();
                return None;
            };
            if let Some(line) = self.take(end) {
                return Some(line);
            }
        }
    }

    /// What is left when the stream has ended: complete lines first, then the unfinished one, then nothing.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        self.pop().or_else(|| self.take(self.buffer.len()))
    }

    fn find_end(&mut self) -> Option<usize> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        // A long line is mostly bytes that end nothing, and `contains` passes over them several at a time.
        if !unseen.contains(&LINE_FEED) {
            self.scanned = self.buffer.len();
            return None;
        }
        unseen
            .iter()
            .position(|byte| *byte == LINE_FEED)
            .map(|offset| self.scanned + offset)
    }

    /// Consumes the line that ends before `end`, and its line end.
    fn take(&mut self, end: usize) -> Option<Line> {
        let raw = self.buffer.get(self.start..end).unwrap_or_default();
        let begins = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
        let content = begins.strip_suffix(&[CARRIAGE_RETURN]).unwrap_or(begins);
        let too_long = self.dropped.is_some() || content.len() > self.max_bytes;
        if too_long {
            let mut dropped = self.dropped.take().unwrap_or_default();
            dropped.add(raw);
            self.skip_to(end + 1);
            return Some(Line::TooLong {
                bytes: dropped.bytes,
                answers: dropped.finder.id(),
            });
        }
        let is_blank = content.trim_ascii().is_empty();
        let is_rest = end >= self.buffer.len();
        if is_blank && (is_rest || !self.keeps_blank) {
            self.skip_to(end + 1);
            return None;
        }
        let from = self.start + raw.len() - begins.len();
        let to = from + content.len();
        if content.len().saturating_mul(OWNED_SHARE) < self.buffer.capacity() {
            let line = text(content.to_vec());
            self.skip_to(end + 1);
            return Some(line);
        }
        // The line makes up much of the buffer, so it keeps the memory and what follows it moves.
        let rest = self.buffer.split_off((end + 1).min(self.buffer.len()));
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.skip_to(0);
        line.truncate(to);
        line.drain(..from);
        Some(text(line))
    }

    fn skip_to(&mut self, position: usize) {
        self.start = position.min(self.buffer.len());
        self.scanned = self.start;
    }

    /// Lets go of an unfinished line that is too long by now.
    fn drop_overflow(&mut self) {
        let pending = self.buffer.get(self.start..).unwrap_or_default();
        if let Some(dropped) = &mut self.dropped {
            dropped.add(pending);
            self.buffer.clear();
        } else if pending.len() > self.longest_kept() {
            self.dropped.get_or_insert_default().add(pending);
            self.buffer = Vec::new();
        } else {
            return;
        }
        self.skip_to(0);
    }

    /// Moves the rest to the front of the buffer once no more bytes move than were handed out.
    fn compact(&mut self) {
        if self.start > 0 && self.start >= self.buffer.len() - self.start {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
    }

    /// A line may have these around its content, which alone is measured.
    fn longest_kept(&self) -> usize {
        self.max_bytes.saturating_add(BYTE_ORDER_MARK.len() + 1)
    }
}

impl Dropped {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(as_u64(bytes.len()));
        self.finder.feed(bytes);
    }
}

/// Decoded here, once the line is whole: a chunk may end within a character.
fn text(bytes: Vec<u8>) -> Line {
    match String::from_utf8(bytes) {
        Ok(text) => Line::Text { text, lossy: false },
        Err(error) => Line::Text {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            lossy: true,
        },
    }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

const LINE_FEED: u8 = b'\n';
const CARRIAGE_RETURN: u8 = b'\r';
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// A line of at least one part in this many of the buffer is not copied out of it.
const OWNED_SHARE: usize = 4;

#[cfg(test)]
mod tests;
