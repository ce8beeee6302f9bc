//! Streams that are opened by a GET: the one that a server may offer for what nobody asked for, and a reply that is taken
//! up again where it was cut.

use http::{HeaderName, HeaderValue, Method};

use super::Wire;
use crate::error::{ErrorCode, Result};
use crate::guard::redirect::Payload;
use crate::host::http::Body;
use crate::limits;
use crate::protocol::wire::http::{self as rules, Sent, Verdict};
use crate::protocol::wire::sse::SseDecoder;
use crate::transport::backoff::backoff;
use crate::transport::http::endpoint::Ask;
use crate::transport::http::events::{Cursor, Drained};
use crate::transport::http::frame::pause;

impl Wire {
    /// The stream that a server may offer. It ends with the connection.
    pub(super) async fn listen(&self) {
        loop {
            // A new session has a stream of its own.
            tokio::select! {
                () = self.sessions.renewed.notified() => {}
                () = self.listen_in_session() => {
                    self.sessions.renewed.notified().await;
                }
            }
        }
    }

    /// Ends when the server offers no stream, or its stream failed too often.
    async fn listen_in_session(&self) {
        let clock = &*self.frame.clock;
        let mut cursor = Cursor::default();
        let mut failures = 0;
        while failures < limits::MAX_STREAM_FAILURES {
            let since = clock.now();
            let was_good = match self.open_stream(&cursor).await {
                Ok(Some(body)) => {
                    let decoder = SseDecoder::new(self.frame.endpoint.max_message_bytes);
                    let drained = self.frame.drain(body, decoder, None, &mut cursor).await;
                    let lasted = clock.now().saturating_duration_since(since);
                    drained != Drained::Ended { said: false } || lasted >= limits::STEADY_SUBSCRIPTION
                }
                Ok(None) => return,
                Err(_) => false,
            };
            failures = if was_good { 0 } else { failures + 1 };
            let wait = backoff(cursor.retry, failures);
            clock.sleep_until(clock.now() + wait).await;
        }
    }

    /// Takes a cut reply up again, as often as it takes: the time limit of its request ends that. Nothing when the server
    /// does not let it be taken up.
    pub(super) async fn resume(&self, cursor: &Cursor) -> Option<Body> {
        let clock = &*self.frame.clock;
        loop {
            clock.sleep_until(clock.now() + cursor.retry).await;
            if let Ok(resumed) = self.open_stream(cursor).await {
                return resumed;
            }
        }
    }

    /// GETs a stream; nothing when the server has none to offer.
    async fn open_stream(&self, cursor: &Cursor) -> Result<Option<Body>> {
        let mut headers = self.frame.headers(rules::ACCEPT_STREAM);
        if let Some(id) = &cursor.last_event_id
            && let Ok(value) = HeaderValue::from_bytes(id.as_bytes())
        {
            headers.insert(HeaderName::from_static(rules::LAST_EVENT_ID), value);
        }
        let ask = Ask {
            method: Method::GET,
            url: self.frame.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued: &self.sessions.issued(),
            credential: None,
            body: None,
        };
        let reply = self.frame.exchange(Sent::OptionalStream, &ask).await?;
        match reply.verdict {
            Verdict::EventStream => Ok(Some(reply.response.body)),
            Verdict::RetryAfter(_, wait) => {
                pause(&*self.frame.clock, wait).await;
                Err(self.frame.error(ErrorCode::Unavailable, "it asks to be asked later"))
            }
            _ => Ok(None),
        }
    }
}
