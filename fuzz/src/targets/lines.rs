//! Any split of a stream gives the lines of one piece. The first byte is the limit, the second the seed of one more
//! split, the rest the stream.

use super::pieces;
use crate::protocol::wire::lines::{Line, Lines};

/// What splits a stream into lines; other implementations are broken ones.
pub(crate) trait Splitter {
    fn new(max_bytes: usize) -> Self;
    fn push(&mut self, bytes: &[u8]);
    fn pop(&mut self) -> Option<Line>;
    fn finish(&mut self) -> Option<Line>;
}

impl Splitter for Lines {
    fn new(max_bytes: usize) -> Self {
        Self::new(max_bytes)
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn pop(&mut self) -> Option<Line> {
        self.pop()
    }

    fn finish(&mut self) -> Option<Line> {
        self.finish()
    }
}

pub(crate) fn run<S: Splitter>(data: &[u8]) {
    let [limit, seed, stream @ ..] = data else { return };
    let limit = usize::from(*limit);
    let one_piece = split::<S>(stream, limit, usize::MAX, 0);
    check(&one_piece, limit);
    assert_eq!(split::<S>(stream, limit, 1, 0), one_piece, "byte by byte");
    assert_eq!(
        split::<S>(stream, limit, usize::from(*seed % 32) + 1, u32::from(*seed)),
        one_piece,
        "split at random"
    );
}

fn check(lines: &[Line], limit: usize) {
    for line in lines {
        match line {
            Line::Text { text, lossy } => {
                assert!(!text.contains('\n'));
                assert!(!text.trim_ascii().is_empty());
                // A replaced byte takes three.
                assert!(*lossy || text.len() <= limit);
            }
            Line::TooLong { bytes, .. } => assert!(*bytes > limit as u64),
        }
    }
}

fn split<S: Splitter>(stream: &[u8], limit: usize, longest: usize, seed: u32) -> Vec<Line> {
    let mut splitter = S::new(limit);
    let mut lines = Vec::new();
    for piece in pieces(stream, longest, seed) {
        splitter.push(piece);
        lines.extend(std::iter::from_fn(|| splitter.pop()));
    }
    lines.extend(std::iter::from_fn(|| splitter.finish()));
    lines
}
