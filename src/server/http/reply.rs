//! What goes back over HTTP: a text at once, or events as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};

use super::stream::EventStream;
use crate::protocol::codes::WireError;
use crate::server::answer::{Answer, Fault};
use crate::server::tenants::Load;

pub(crate) enum Reply {
    Text(Option<Bytes>),
    Events(Pin<Box<EventStream>>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            Self::Text(text) => return Poll::Ready(text.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events.as_mut().poll_bytes(cx),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => {
                let bytes = text.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

pub(crate) type HttpReply = Response<Reply>;

pub(crate) fn empty(status: StatusCode) -> HttpReply {
    let mut reply = Response::new(Reply::Text(None));
    *reply.status_mut() = status;
    reply
}

pub(crate) fn json(status: StatusCode, text: String) -> HttpReply {
    of_json(status, Bytes::from(text))
}

fn of_json(status: StatusCode, text: Bytes) -> HttpReply {
    let mut reply = Response::new(Reply::Text(Some(text)));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// An answer; it is in flight until its last byte is written.
pub(crate) fn written(status: StatusCode, answer: Answer) -> HttpReply {
    struct Written(String, #[expect(dead_code, reason = "held until it is written")] Load);
    impl AsRef<[u8]> for Written {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    let retry = match answer.fault {
        Some(Fault::Limited(seconds)) => Some(seconds),
        _ => None,
    };
    let bytes = match answer.load {
        None => Bytes::from(answer.text),
        Some(load) => Bytes::from_owner(Written(answer.text, load)),
    };
    let mut reply = of_json(status, bytes);
    if let Some(seconds) = retry {
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}

/// A tenant has too many of something.
pub(crate) fn limited(id: Option<&str>, error: &WireError) -> HttpReply {
    let answer = Answer::refusal(id, error, Fault::of(error));
    written(StatusCode::TOO_MANY_REQUESTS, answer)
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> HttpReply {
    let mut reply = Response::new(Reply::Text(Some(Bytes::from_static(text.as_bytes()))));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}

pub(crate) fn events(stream: EventStream) -> HttpReply {
    let mut reply = Response::new(Reply::Events(Box::pin(stream)));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// A refusal that is no answer to a request.
pub(crate) fn refusal(status: StatusCode, error: &WireError) -> HttpReply {
    json(status, Answer::refusal(None, error, Fault::Malformed).text)
}

pub(crate) fn not_allowed(methods: &'static str) -> HttpReply {
    let mut reply = empty(StatusCode::METHOD_NOT_ALLOWED);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}

/// No room for one more, at the moment.
pub(crate) fn full() -> HttpReply {
    let mut reply = empty(StatusCode::SERVICE_UNAVAILABLE);
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}
