//! Reading an event stream message by message: what its events mean to a connection, where it stood when it was cut, and
//! when a request has been answered in it.

use std::time::Duration;

use futures_util::StreamExt as _;

use super::frame::Frame;
use crate::host::http::Body;
use crate::json;
use crate::limits;
use crate::protocol::message::Message;
use crate::protocol::revision::Revision;
use crate::protocol::wire::sse::{SseDecoder, SseItem};
use crate::transport::Received;

/// Where a stream stood when it was cut, and when it may be taken up again.
pub(super) struct Cursor {
    pub(super) last_event_id: Option<String>,
    pub(super) retry: Duration,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            last_event_id: None,
            retry: limits::DEFAULT_RETRY,
        }
    }
}

/// How reading a stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// The request was answered.
    Answered,
    /// The stream ended, or broke off. `said`: whether there was any event in it.
    Ended { said: bool },
}

impl Frame {
    /// Hands over what a stream brings until it ends, or until the request is answered. A decoder may have begun to read.
    pub(super) async fn drain(
        &self,
        mut body: Body,
        mut decoder: SseDecoder,
        answered_by: Option<u64>,
        cursor: &mut Cursor,
    ) -> Drained {
        let mut said = false;
        loop {
            while let Some(item) = decoder.pop() {
                said = true;
                match item {
                    SseItem::Event { event: None, data } => {
                        let is_answer = answered_by.is_some_and(|id| self.is_answer(&data, id));
                        self.hand_over(Received::Message(data)).await;
                        if is_answer {
                            return Drained::Answered;
                        }
                    }
                    SseItem::TooLong { bytes, answers } => {
                        self.hand_over(Received::TooLong { bytes, answers }).await;
                        if answers.is_some() && answers == answered_by {
                            return Drained::Answered;
                        }
                    }
                    SseItem::Id(id) => cursor.last_event_id = Some(id).filter(|id| !id.is_empty()),
                    SseItem::Retry(millis) => {
                        let asked = Duration::from_millis(millis);
                        cursor.retry = asked.clamp(limits::SHORTEST_RETRY, limits::LONGEST_RETRY);
                    }
                    SseItem::Event { event: Some(_), .. } | SseItem::Empty => {}
                }
            }
            // An event is reported at its end. One that has none must not be waited for.
            if let Some(bytes) = decoder.overflow().filter(|bytes| *bytes > self.most_bytes()) {
                let answers = answered_by;
                self.hand_over(Received::TooLong { bytes, answers }).await;
                return match answers {
                    Some(_) => Drained::Answered,
                    None => Drained::Ended { said },
                };
            }
            match body.next().await {
                Some(Ok(chunk)) => decoder.push(&chunk),
                Some(Err(_)) | None => return Drained::Ended { said },
            }
        }
    }

    /// Whether a text is the answer to this request, or holds it where arrays of messages are allowed.
    pub(super) fn is_answer(&self, text: &str, id: u64) -> bool {
        let has_batches = self.revision().is_some_and(Revision::has_batches);
        let holds = || json::array(text).is_some_and(|messages| messages.iter().any(|m| answers(m.get(), id)));
        answers(text, id) || (has_batches && holds())
    }

    /// How much of an event without an end is read.
    fn most_bytes(&self) -> u64 {
        self.endpoint.max_message_bytes.saturating_add(limits::READ_CHUNK) as u64
    }
}

/// The first answer in a reply to one request, whatever its id; nothing when there is none that can be kept.
pub(super) async fn first_answer(mut body: Body, max_bytes: usize) -> Option<String> {
    let mut decoder = SseDecoder::new(max_bytes);
    loop {
        while let Some(item) = decoder.pop() {
            match item {
                SseItem::Event { event: None, data }
                    if matches!(Message::parse(&data), Ok(Message::Response { .. })) =>
                {
                    return Some(data);
                }
                _ => {}
            }
        }
        if decoder.overflow().is_some() {
            return None;
        }
        decoder.push(&body.next().await?.ok()?);
    }
}

/// Whether a text is the answer to this request.
fn answers(text: &str, id: u64) -> bool {
    matches!(Message::parse(text), Ok(Message::Response { id: Some(answered), .. }) if answered.number() == Some(id))
}
