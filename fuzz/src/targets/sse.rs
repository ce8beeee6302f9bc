//! Any split of a stream gives the events of one piece, and without a limit they are those that the standard describes.
//! The first byte is the limit, 255 for none, the second the seed of one more split, the rest the stream.

use super::pieces;
use crate::limits::MAX_EVENT_FIELD_BYTES;
use crate::protocol::wire::sse::{SseDecoder, SseItem};

/// What reads an event stream; other implementations are broken ones.
pub(crate) trait Decoder {
    fn new(max_bytes: usize) -> Self;
    fn push(&mut self, bytes: &[u8]);
    fn pop(&mut self) -> Option<SseItem>;
}

impl Decoder for SseDecoder {
    fn new(max_bytes: usize) -> Self {
        Self::new(max_bytes)
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn pop(&mut self) -> Option<SseItem> {
        self.pop()
    }
}

pub(crate) fn run<D: Decoder>(data: &[u8]) {
    let [limit, seed, stream @ ..] = data else { return };
    let limit = if *limit == u8::MAX {
        usize::MAX
    } else {
        usize::from(*limit)
    };
    let one_piece = decode::<D>(stream, limit, usize::MAX, 0);
    assert_eq!(decode::<D>(stream, limit, 1, 0), one_piece, "byte by byte");
    assert_eq!(
        decode::<D>(stream, limit, usize::from(*seed % 32) + 1, u32::from(*seed)),
        one_piece,
        "split at random"
    );
    if stream.len() > MAX_EVENT_FIELD_BYTES {
        return;
    }
    let by_the_standard = by_the_standard(&String::from_utf8_lossy(stream));
    if limit == usize::MAX {
        assert_eq!(one_piece, by_the_standard);
    }
    // A limit takes the place of some events and changes nothing else. A replaced byte takes three.
    assert_eq!(one_piece.len(), by_the_standard.len());
    for (item, expected) in one_piece.iter().zip(&by_the_standard) {
        match (item, expected) {
            (SseItem::TooLong { bytes, .. }, SseItem::Event { data, .. }) => {
                assert!(*bytes > limit as u64 && *bytes <= data.len() as u64, "{item:?}");
            }
            (SseItem::Event { data, .. }, _) => {
                assert_eq!(item, expected);
                assert!(data.len() <= limit || data.contains('\u{fffd}'));
            }
            _ => assert_eq!(item, expected),
        }
    }
}

fn decode<D: Decoder>(stream: &[u8], limit: usize, longest: usize, seed: u32) -> Vec<SseItem> {
    let mut decoder = D::new(limit);
    let mut items = Vec::new();
    for piece in pieces(stream, longest, seed) {
        decoder.push(piece);
        items.extend(std::iter::from_fn(|| decoder.pop()));
    }
    items
}

/// The rules once more, in the order and the words of the standard, on text that is all there.
fn by_the_standard(stream: &str) -> Vec<SseItem> {
    let stream = stream.strip_prefix('\u{feff}').unwrap_or(stream);
    let lines = stream.replace("\r\n", "\n").replace('\r', "\n");
    let Some((complete, _)) = lines.rsplit_once('\n') else {
        return Vec::new();
    };
    let mut items = Vec::new();
    let (mut data, mut event_type, mut id) = (String::new(), "", None);
    for line in complete.split('\n') {
        if line.is_empty() {
            items.extend(id.take().map(|id: &str| SseItem::Id(id.to_owned())));
            if let Some(data) = data.strip_suffix('\n') {
                items.push(if data.is_empty() {
                    SseItem::Empty
                } else {
                    let named = !matches!(event_type, "" | "message");
                    SseItem::Event {
                        event: named.then(|| event_type.to_owned()),
                        data: data.to_owned(),
                    }
                });
            }
            data.clear();
            event_type = "";
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event_type = value,
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            "id" if !value.contains('\0') => id = Some(value),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                items.push(SseItem::Retry(value.parse().unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }
    items
}
