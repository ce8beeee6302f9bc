//! HTTP+SSE, the transport of 2024-11-05: one stream on which everything arrives, and a second address, named by its
//! first event, to which everything is posted.

use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, header};
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;
use url::Url;

use super::endpoint::{Ask, Endpoint};
use super::events::Cursor;
use super::exchanges::Exchanges;
use super::frame::{Barrier, Frame, passed};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::redirect::{Payload, payload_of, same_origin};
use crate::host::Clock;
use crate::host::http::Body;
use crate::limits;
use crate::protocol::message::{Mirror, Outgoing, OutgoingKind};
use crate::protocol::peer::Violation;
use crate::protocol::revision::Revision;
use crate::protocol::wire::http::{self as rules, Sent, Verdict};
use crate::protocol::wire::sse::{SseDecoder, SseItem};
use crate::transport::{Received, Transport};

pub(crate) struct SseTransport {
    wire: Arc<Wire>,
    received: mpsc::Receiver<Received>,
    exchanges: Exchanges,
    /// The posts since the last notification, which the next one comes after: a cancellation must not overtake its call.
    earlier: TaskTracker,
    /// Closed once the server took the last notification.
    barrier: Barrier,
    /// Something to send was dropped.
    unsent: bool,
}

struct Wire {
    frame: Frame,
    /// Where messages are posted.
    target: Url,
}

impl SseTransport {
    /// Opens the stream and waits for its first event.
    ///
    /// # Errors
    /// When there is no stream, or its first event names no address that may be used.
    pub(crate) async fn open(endpoint: Arc<Endpoint>, clock: Arc<dyn Clock>) -> Result<Self> {
        let (frame, received) = Frame::new(endpoint, clock, None);
        let mut body = open_stream(&frame).await?;
        let mut decoder = SseDecoder::new(frame.endpoint.max_message_bytes);
        let target = loop {
            match decoder.pop() {
                Some(SseItem::Event {
                    event: Some(kind),
                    data,
                }) if kind == "endpoint" => {
                    break address(&frame.endpoint, &data)?;
                }
                Some(_) => {}
                None => match body.next().await {
                    Some(Ok(chunk)) => decoder.push(&chunk),
                    Some(Err(error)) => return Err(frame.endpoint.redacted(&error)),
                    None => {
                        let message = "its stream ended before the `endpoint` event";
                        return Err(Error::new(ErrorCode::ConnectionLost, message));
                    }
                },
            }
        };
        let wire = Arc::new(Wire { frame, target });
        let mut exchanges = Exchanges::new();
        exchanges.spawn(Arc::clone(&wire).listen(body, decoder));
        Ok(Self {
            wire,
            received,
            exchanges,
            earlier: TaskTracker::new(),
            barrier: None,
            unsent: false,
        })
    }

    fn request(&mut self, id: u64, method: &'static str, mirror: Mirror, text: String) {
        let wire = Arc::clone(&self.wire);
        let barrier = self.barrier.clone();
        let post = async move {
            wire.soon(passed(barrier)).await;
            if let Err(error) = wire.post(payload_of(method), &mirror, &text).await {
                wire.frame.hand_over(Received::Failed { id, error }).await;
            }
        };
        self.exchanges.request(id, self.earlier.track_future(post));
    }

    fn notify(&mut self, text: String) {
        let wire = Arc::clone(&self.wire);
        let barrier = self.barrier.clone();
        let earlier = std::mem::take(&mut self.earlier);
        earlier.close();
        let (done, passed_on) = watch::channel(());
        let post = async move {
            wire.soon(async {
                passed(barrier).await;
                earlier.wait().await;
            })
            .await;
            wire.frame.post_quietly(&wire.target, &[], &text).await;
            drop(done);
        };
        if self.exchanges.quiet(post, std::future::ready(())) {
            self.barrier = Some(passed_on);
        } else {
            self.unsent = true;
        }
    }

    /// What the server asked for is of no order.
    fn answer(&mut self, text: String) {
        let wire = Arc::clone(&self.wire);
        let post = async move { wire.frame.post_quietly(&wire.target, &[], &text).await };
        self.unsent |= !self.exchanges.quiet(post, std::future::ready(()));
    }
}

impl Transport for SseTransport {
    fn send(&mut self, outgoing: Outgoing) {
        let Outgoing { text, kind } = outgoing;
        match kind {
            OutgoingKind::Request { id, method, mirror } => self.request(id, method, mirror, text),
            OutgoingKind::Notification { .. } => self.notify(text),
            OutgoingKind::Answer => self.answer(text),
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
    }
}

impl Wire {
    async fn listen(self: Arc<Self>, body: Body, decoder: SseDecoder) {
        self.frame.drain(body, decoder, None, &mut Cursor::default()).await;
        let error = Error::new(ErrorCode::ConnectionLost, "its event stream ended");
        self.frame.hand_over(Received::Lost(error)).await;
    }

    /// Posts a request. Its answer comes on the stream.
    async fn post(&self, payload: Payload, mirror: &Mirror, text: &str) -> Result<()> {
        let credential = self.frame.credential(mirror.bearer.as_deref())?;
        let ask = Ask {
            method: Method::POST,
            url: &self.target,
            payload,
            protocol: &self.frame.post_headers(),
            issued: &[],
            credential: credential.as_ref(),
            body: Some(text),
        };
        let reply = self.frame.exchange(Sent::Notification, &ask).await?;
        match reply.verdict {
            Verdict::Accepted => Ok(()),
            verdict => Err(self.frame.refusal(&verdict, reply.response.status)),
        }
    }

    /// Waits for what has to come first, but for no longer than a moment: a server may keep it waiting for ever.
    async fn soon(&self, first: impl Future<Output = ()>) {
        let clock = &self.frame.clock;
        let patience = clock.sleep_until(clock.now() + limits::POST_ORDER_WAIT);
        tokio::select! {
            () = first => {}
            () = patience => {}
        }
    }
}

async fn open_stream(frame: &Frame) -> Result<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(rules::ACCEPT_STREAM));
    let ask = Ask {
        method: Method::GET,
        url: frame.endpoint.configured.url(),
        payload: Payload::OfTheProtocol,
        protocol: &headers,
        issued: &[],
        credential: None,
        body: None,
    };
    let reply = frame.exchange(Sent::Stream, &ask).await?;
    match reply.verdict {
        Verdict::EventStream => Ok(reply.response.body),
        verdict @ (Verdict::Unauthorized | Verdict::Forbidden) => Err(frame.refusal(&verdict, reply.response.status)),
        _ => {
            let message = format!("it offers no event stream (HTTP {})", reply.response.status.as_u16());
            Err(Error::new(ErrorCode::InvalidResponse, message))
        }
    }
}

/// The address that the `endpoint` event names, relative to the stream's own, and on the same origin.
fn address(endpoint: &Endpoint, named: &str) -> Result<Url> {
    let stream = endpoint.configured.url();
    let target = stream
        .join(named.trim())
        .map_err(|_| Error::new(ErrorCode::InvalidResponse, "its `endpoint` event holds no URL"))?;
    if !same_origin(stream, &target) {
        let message = format!(
            "endpoint origin does not match: the server is at {}",
            stream.origin().ascii_serialization()
        );
        return Err(Error::new(ErrorCode::HostBlocked, message));
    }
    endpoint.allowed.check(&target)?;
    Ok(target)
}
