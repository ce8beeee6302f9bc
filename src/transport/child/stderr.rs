//! A child's standard error: drained always, so that the child never blocks on it; its end kept for diagnostics; its
//! lines offered to whoever listens.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::guard::redact::Redactor;
use crate::limits;
use crate::protocol::wire::lines::{Line, Lines};

/// The end of what was written, shared between the drain and whoever quotes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let surplus = tail.len().saturating_sub(limits::STDERR_TAIL_BYTES);
        tail.drain(..surplus);
    }

    /// The last lines in short; nothing when nothing was written. Secrets go before the text is cut: half of one would
    /// not be found.
    pub(super) fn quote(&self, redactor: &Redactor) -> Option<String> {
        let tail: Vec<u8> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        let text = redactor.redact(&String::from_utf8_lossy(&tail));
        let mut cut = text.len().saturating_sub(limits::STDERR_QUOTE_BYTES);
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        let quoted = text.get(cut..).unwrap_or_default();
        let lines: Vec<_> = quoted
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Reads until the end; `offer` gets each line.
pub(super) async fn drain(mut from: impl AsyncRead + Unpin, tail: Tail, offer: impl Fn(String)) {
    let mut lines = Lines::of_free_text(limits::STDERR_LINE_BYTES);
    let mut chunk = vec![0; limits::READ_CHUNK];
    // An error is an end: the pipe broke with the process behind it.
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        let bytes = chunk.get(..count).unwrap_or_default();
        tail.push(bytes);
        lines.push(bytes);
        while let Some(line) = lines.pop() {
            offer_line(line, &offer);
        }
    }
    if let Some(line) = lines.finish() {
        offer_line(line, &offer);
    }
}

fn offer_line(line: Line, offer: &impl Fn(String)) {
    match line {
        Line::Text { text, .. } => offer(text),
        Line::TooLong { bytes, .. } => offer(format!("[a line of {bytes} bytes]")),
    }
}
