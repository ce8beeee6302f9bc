//! HTTP+SSE, the transport of 2024-11-05: one stream on which everything arrives, and a second address, named by its
//! first event, to which everything is posted.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

use super::endpoint::{Ask, Endpoint};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::Credential;
use crate::guard::redirect::{Payload, payload_of, same_origin};
use crate::host::Clock;
use crate::host::http::Body;
use crate::limits;
use crate::protocol::message::{Outgoing, OutgoingKind};
use crate::protocol::peer::INITIALIZE;
use crate::protocol::revision::Revision;
use crate::protocol::wire::http::{self as rules, Sent, Verdict, judge};
use crate::protocol::wire::sse::{SseDecoder, SseItem};
use crate::transport::{Received, Transport};

pub(crate) struct SseTransport {
    wire: Arc<Wire>,
    received: mpsc::Receiver<Received>,
    exchanges: JoinSet<()>,
    /// The last post under way: the next one follows it, so that what is sent arrives in order.
    posts: mpsc::UnboundedSender<Outgoing>,
}

struct Wire {
    endpoint: Arc<Endpoint>,
    clock: Arc<dyn Clock>,
    tell: mpsc::Sender<Received>,
    /// Where messages are posted.
    target: Url,
    revision: RwLock<Option<Revision>>,
}

impl SseTransport {
    /// Opens the stream and waits for its first event.
    ///
    /// # Errors
    /// When there is no stream, or its first event names no address that may be used.
    pub(crate) async fn open(endpoint: Arc<Endpoint>, clock: Arc<dyn Clock>) -> Result<Self> {
        let mut body = open_stream(&endpoint, &*clock).await?;
        let mut decoder = SseDecoder::new(endpoint.max_message_bytes);
        let target = loop {
            match decoder.pop() {
                Some(SseItem::Event {
                    event: Some(kind),
                    data,
                }) if kind == "endpoint" => {
                    break address(&endpoint, &data)?;
                }
                Some(_) => {}
                None => match body.next().await {
                    Some(Ok(chunk)) => decoder.push(&chunk),
                    Some(Err(error)) => return Err(endpoint.redacted(&error)),
                    None => {
                        let message = "its stream ended before the `endpoint` event";
                        return Err(Error::new(ErrorCode::ConnectionLost, message));
                    }
                },
            }
        };
        let (tell, received) = mpsc::channel(limits::MAX_QUEUED_MESSAGES);
        // Bounded by the peer, which refuses requests past its own bound.
        let (posts, queue) = mpsc::unbounded_channel();
        let wire = Arc::new(Wire {
            endpoint,
            clock,
            tell,
            target,
            revision: RwLock::default(),
        });
        let mut exchanges = JoinSet::new();
        exchanges.spawn(Arc::clone(&wire).listen(body, decoder));
        exchanges.spawn(Arc::clone(&wire).post_all(queue));
        Ok(Self {
            wire,
            received,
            exchanges,
            posts,
        })
    }
}

impl Transport for SseTransport {
    fn send(&mut self, outgoing: Outgoing) {
        // The task that takes it lives as long as this does.
        drop(self.posts.send(outgoing));
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn settle(&mut self, revision: Revision) {
        *self.wire.revision.write().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }

    async fn next(&mut self) -> Received {
        match self.received.recv().await {
            Some(received) => received,
            None => std::future::pending().await,
        }
    }

    async fn close(mut self) {
        self.exchanges.shutdown().await;
    }
}

impl Wire {
    async fn listen(self: Arc<Self>, mut body: Body, mut decoder: SseDecoder) {
        loop {
            while let Some(item) = decoder.pop() {
                match item {
                    SseItem::Event { event, data } if event.as_deref().is_none_or(|kind| kind == "message") => {
                        self.hand_over(Received::Message(data)).await;
                    }
                    SseItem::TooLong { bytes, answers } => self.hand_over(Received::TooLong { bytes, answers }).await,
                    SseItem::Event { .. } | SseItem::Empty | SseItem::Id(_) | SseItem::Retry(_) => {}
                }
            }
            match body.next().await {
                Some(Ok(chunk)) => decoder.push(&chunk),
                Some(Err(_)) | None => break,
            }
        }
        let error = Error::new(ErrorCode::ConnectionLost, "its event stream ended");
        self.hand_over(Received::Lost(error)).await;
    }

    /// Posts in order: each message is taken before the next one is sent. Answers come on the stream.
    async fn post_all(self: Arc<Self>, mut queue: mpsc::UnboundedReceiver<Outgoing>) {
        let mut posting = JoinSet::new();
        while let Some(outgoing) = queue.recv().await {
            let in_order = !matches!(&outgoing.kind, OutgoingKind::Request { method, .. } if *method != INITIALIZE);
            let wire = Arc::clone(&self);
            let post = async move { wire.post(outgoing).await };
            if in_order {
                // Not before what it may be about was taken: a cancellation must not overtake its call.
                let patience = self.clock.sleep_until(self.clock.now() + limits::POST_ORDER_WAIT);
                tokio::select! {
                    () = async { while posting.join_next().await.is_some() {} } => {}
                    () = patience => {}
                }
                post.await;
            } else {
                posting.spawn(post);
                while posting.try_join_next().is_some() {}
            }
        }
    }

    async fn post(&self, outgoing: Outgoing) {
        let (id, payload, bearer) = match outgoing.kind {
            OutgoingKind::Request { id, method, mirror } => (Some(id), payload_of(method), mirror.bearer),
            OutgoingKind::Notification { .. } | OutgoingKind::Answer => (None, Payload::OfTheProtocol, None),
        };
        let outcome = self.try_post(&outgoing.text, payload, bearer).await;
        if let (Err(error), Some(id)) = (outcome, id) {
            self.hand_over(Received::Failed { id, error }).await;
        }
    }

    async fn try_post(&self, text: &str, payload: Payload, bearer: Option<String>) -> Result<()> {
        let credential = bearer.as_deref().map(Credential::bearer).transpose()?;
        if let Some(token) = &bearer {
            self.endpoint.renew_credential(token)?;
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(rules::ACCEPT_REPLY));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(rules::CONTENT_TYPE));
        if let Some(revision) = *self.revision.read().unwrap_or_else(PoisonError::into_inner) {
            headers.insert(
                HeaderName::from_static(rules::PROTOCOL_VERSION),
                rules::protocol_version(revision),
            );
        }
        loop {
            let ask = Ask {
                method: Method::POST,
                url: &self.target,
                payload,
                protocol: &headers,
                issued: &[],
                credential: credential.as_ref(),
                body: Some(text),
            };
            let (response, _) = self.endpoint.exchange(ask).await?;
            let status = response.status;
            return match judge(
                Sent::Notification,
                false,
                status,
                &response.headers,
                self.clock.unix_seconds(),
            ) {
                Verdict::Accepted => Ok(()),
                Verdict::RetryAfter(_, wait) => {
                    let wait = wait.clamp(limits::SHORTEST_RETRY, limits::LONGEST_WAIT);
                    self.clock.sleep_until(self.clock.now() + wait).await;
                    continue;
                }
                Verdict::Unauthorized => Err(unauthorized("rejected authorization (HTTP 401)")),
                Verdict::Forbidden => Err(unauthorized("denied access (HTTP 403)")),
                _ => Err(Error::new(
                    ErrorCode::InvalidResponse,
                    format!("it answered with HTTP {}", status.as_u16()),
                )),
            };
        }
    }

    async fn hand_over(&self, received: Received) {
        drop(self.tell.send(received).await);
    }
}

async fn open_stream(endpoint: &Endpoint, clock: &dyn Clock) -> Result<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(rules::ACCEPT_STREAM));
    let ask = Ask {
        method: Method::GET,
        url: endpoint.configured.url(),
        payload: Payload::OfTheProtocol,
        protocol: &headers,
        issued: &[],
        credential: None,
        body: None,
    };
    let (response, _) = endpoint.exchange(ask).await?;
    let status = response.status;
    match judge(Sent::Stream, false, status, &response.headers, clock.unix_seconds()) {
        Verdict::EventStream => Ok(response.body),
        Verdict::Unauthorized => Err(unauthorized("rejected authorization (HTTP 401)")),
        Verdict::Forbidden => Err(unauthorized("denied access (HTTP 403)")),
        _ => {
            let message = format!("it offers no event stream (HTTP {})", status.as_u16());
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

fn unauthorized(what: &str) -> Error {
    Error::new(ErrorCode::Unauthorized, format!("it {what}"))
}
