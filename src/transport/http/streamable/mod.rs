//! Streamable HTTP, both shapes: each message is a request of its own, answered in its reply. In the session era there is a
//! session besides (`session`), and a stream that stands open (`standing`); in the stateless era there is neither, and
//! closing a reply is the cancellation.

mod session;
mod standing;

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::{mpsc, watch};

use self::session::{Session, Sessions};
use super::endpoint::{Ask, Endpoint};
use super::events::{Cursor, Drained};
use super::exchanges::Exchanges;
use super::frame::{Barrier, Frame, Reply, passed, read_failure};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::Credential;
use crate::guard::redirect::payload_of;
use crate::host::Clock;
use crate::host::http::Body;
use crate::json;
use crate::protocol::message::{Mirror, Outgoing, OutgoingKind};
use crate::protocol::peer::{INITIALIZE, Violation};
use crate::protocol::revision::{Era, Revision};
use crate::protocol::wire::http::{self as rules, Sent, Verdict};
use crate::protocol::wire::param_header;
use crate::protocol::wire::sse::SseDecoder;
use crate::transport::{Received, Transport};

pub(super) const INITIALIZED: &str = "notifications/initialized";

pub(crate) struct StreamableTransport {
    wire: Arc<Wire>,
    received: mpsc::Receiver<Received>,
    exchanges: Exchanges,
    /// Closed once the server took the last notification that later messages have to come after.
    barrier: Barrier,
    /// Something to send was dropped.
    unsent: bool,
}

/// What the exchanges of one connection share.
struct Wire {
    frame: Frame,
    era: Era,
    sessions: Sessions,
}

/// What became of one attempt to send.
enum Attempt {
    Done,
    /// Its session is gone.
    Again,
}

impl StreamableTransport {
    pub(crate) fn new(endpoint: Arc<Endpoint>, era: Era, revision: Option<Revision>, clock: Arc<dyn Clock>) -> Self {
        let (frame, received) = Frame::new(endpoint, clock, revision);
        let wire = Wire {
            frame,
            era,
            sessions: Sessions::default(),
        };
        Self {
            wire: Arc::new(wire),
            received,
            exchanges: Exchanges::new(),
            barrier: None,
            unsent: false,
        }
    }

    /// Posts what has no answer; `INITIALIZED` has to be taken before anything else is sent.
    fn post_quietly(&mut self, text: String, method: &'static str) {
        let wire = Arc::clone(&self.wire);
        let barrier = self.barrier.clone();
        let is_first = method == INITIALIZED;
        let (done, passed_on) = watch::channel(());
        if is_first {
            self.barrier = Some(passed_on);
        }
        let posting = Arc::clone(&wire);
        let post = async move {
            passed(barrier).await;
            let issued = posting.sessions.issued();
            let url = posting.frame.endpoint.configured.url();
            posting.frame.post_quietly(url, &issued, &text).await;
            drop(done);
        };
        let listen = async move {
            if is_first {
                wire.listen().await;
            }
        };
        self.unsent |= !self.exchanges.quiet(post, listen);
    }
}

impl Transport for StreamableTransport {
    fn send(&mut self, outgoing: Outgoing) {
        let Outgoing { text, kind } = outgoing;
        match kind {
            OutgoingKind::Request { id, method, mirror } => {
                let wire = Arc::clone(&self.wire);
                let barrier = self.barrier.clone();
                self.exchanges.request(id, async move {
                    passed(barrier).await;
                    wire.request(id, method, mirror, &text).await;
                });
            }
            // Over HTTP the end of the reply is the cancellation (protocol, 7.12).
            OutgoingKind::Notification { .. } if self.wire.era == Era::Stateless => {}
            OutgoingKind::Notification { method } => self.post_quietly(text, method),
            OutgoingKind::Answer => self.post_quietly(text, ""),
        }
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn abandon(&mut self, id: u64) {
        self.exchanges.abandon(id);
    }

    fn settle(&mut self, revision: Revision) {
        self.wire.frame.settle(revision);
    }

    async fn next(&mut self) -> Received {
        if std::mem::take(&mut self.unsent) {
            return Received::Violation(Violation::Unsent);
        }
        match self.received.recv().await {
            Some(received) => received,
            // The wire holds a sender for as long as this lives.
            None => std::future::pending().await,
        }
    }

    async fn close(self) {
        self.exchanges.shutdown().await;
        self.wire.sessions.end(&self.wire.frame).await;
    }
}

impl Wire {
    /// Sends a request and hands over whatever its reply says. Ends when the answer was handed over, or cannot come.
    async fn request(&self, id: u64, method: &'static str, mirror: Mirror, text: &str) {
        if let Err(error) = self.try_request(id, method, mirror, text).await {
            self.frame.hand_over(Received::Failed { id, error }).await;
        }
    }

    async fn try_request(&self, id: u64, method: &'static str, mirror: Mirror, text: &str) -> Result<()> {
        let credential = self.frame.credential(mirror.bearer.as_deref())?;
        if method == INITIALIZE {
            self.sessions.begin(text);
        }
        let mark = self.sessions.mark();
        if let Attempt::Done = self.attempt(id, method, &mirror, credential.as_ref(), text).await? {
            return Ok(());
        }
        self.sessions.renew(&self.frame, mark).await?;
        if let Attempt::Done = self.attempt(id, method, &mirror, credential.as_ref(), text).await? {
            return Ok(());
        }
        let message = "its server forgot the session again right after a new one was opened";
        Err(self.frame.error(ErrorCode::Unavailable, message))
    }

    async fn attempt(
        &self,
        id: u64,
        method: &'static str,
        mirror: &Mirror,
        credential: Option<&Credential>,
        text: &str,
    ) -> Result<Attempt> {
        let (mut headers, issued) = if method == INITIALIZE {
            (rules::post_headers(), Vec::new())
        } else {
            (self.frame.post_headers(), self.sessions.issued())
        };
        if self.era == Era::Stateless {
            mirror_in(&mut headers, method, mirror);
        }
        let ask = Ask {
            method: Method::POST,
            url: self.frame.endpoint.configured.url(),
            payload: payload_of(method),
            protocol: &headers,
            issued: &issued,
            credential,
            body: Some(text),
        };
        let reply = self.frame.exchange(Sent::Request, &ask).await?;
        if method == INITIALIZE && reply.response.status.is_success() {
            self.sessions.open(Session::of(&self.frame, &reply)?);
        }
        self.take_reply(id, reply).await
    }

    async fn take_reply(&self, id: u64, reply: Reply) -> Result<Attempt> {
        let Reply { verdict, response, .. } = reply;
        match verdict {
            Verdict::Json => self.take_json(id, response.body).await?,
            Verdict::EventStream => self.take_stream(id, response.body).await?,
            Verdict::SessionGone => return Ok(Attempt::Again),
            Verdict::ErrorBody(status) => {
                let body = read_failure(&self.frame.endpoint, &*self.frame.clock, response.body).await;
                let Some(error) = body.and_then(|body| rules::error_in(&body)) else {
                    return Err(self.frame.refusal(&verdict, status));
                };
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_json());
                self.frame.hand_over(Received::Message(answer)).await;
            }
            verdict => return Err(self.frame.refusal(&verdict, response.status)),
        }
        Ok(Attempt::Done)
    }

    async fn take_json(&self, id: u64, body: Body) -> Result<()> {
        let received = match self.frame.endpoint.read(body).await? {
            Ok(text) if self.frame.is_answer(&text, id) => Received::Message(text),
            Ok(text) if json::breaks_off(&text) => {
                let message = "its reply breaks off before the answer; the outcome is unknown";
                return Err(self.frame.error(ErrorCode::ConnectionLost, message));
            }
            Ok(_) => {
                let message = "its reply holds no answer to the request";
                return Err(self.frame.error(ErrorCode::InvalidResponse, message));
            }
            Err(bytes) => Received::TooLong {
                bytes,
                answers: Some(id),
            },
        };
        self.frame.hand_over(received).await;
        Ok(())
    }

    /// Hands over the events of a reply until it has answered. A cut stream is taken up again where the era allows it.
    async fn take_stream(&self, id: u64, body: Body) -> Result<()> {
        let mut body = body;
        let mut cursor = Cursor::default();
        loop {
            let decoder = SseDecoder::new(self.frame.endpoint.max_message_bytes);
            if self.frame.drain(body, decoder, Some(id), &mut cursor).await == Drained::Answered {
                return Ok(());
            }
            if self.era == Era::Stateless || cursor.last_event_id.is_none() {
                return Err(self.lost("its reply ended before the answer"));
            }
            body = self
                .resume(&cursor)
                .await
                .ok_or_else(|| self.lost("its reply ended before the answer and cannot be taken up again"))?;
        }
    }

    fn lost(&self, what: &str) -> Error {
        self.frame
            .error(ErrorCode::ConnectionLost, format!("{what}; the outcome is unknown"))
    }
}

/// The headers that repeat what a request says (protocol, 5.3.1).
pub(super) fn mirror_in(headers: &mut HeaderMap, method: &'static str, mirror: &Mirror) {
    headers.insert(HeaderName::from_static(rules::METHOD), HeaderValue::from_static(method));
    let name = mirror.name.iter().map(|name| (rules::NAME, param_header::encode(name)));
    // Parameters are encoded already.
    let params = mirror
        .params
        .iter()
        .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())));
    for (name, value) in name.chain(params) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
}
