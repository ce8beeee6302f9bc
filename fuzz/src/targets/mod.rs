//! What the fuzz targets check. The core's own tests mount this folder too: they run each target on its seeds and on
//! subjects that are broken on purpose, so that a target which finds nothing is found out.

pub(crate) mod canonical;
pub(crate) mod comments;
pub(crate) mod http;
pub(crate) mod inbound;
pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod param_header;
pub(crate) mod peer;
pub(crate) mod request;
pub(crate) mod sealed;
pub(crate) mod sse;

/// A stream in pieces of 1 to `longest` bytes, from a generator that gives the same sizes each time; for the seed 0 all
/// are as long as they may be.
fn pieces(mut stream: &[u8], longest: usize, seed: u32) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut state = seed;
    while !stream.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = if seed == 0 {
            longest
        } else {
            (state >> 16) as usize % longest + 1
        };
        let (piece, rest) = stream.split_at(size.min(stream.len()));
        stream = rest;
        pieces.push(piece);
    }
    pieces
}
