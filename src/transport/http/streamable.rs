//! Streamable HTTP, both shapes: each message is a request of its own, answered in its reply. In the session era a
//! session is kept, renewed once when the server forgot it, and ended; in the stateless era there is none, and closing a
//! reply is the cancellation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::endpoint::{Ask, Endpoint};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::{Credential, Issued};
use crate::guard::redirect::{Payload, payload_of};
use crate::host::Clock;
use crate::host::http::{Body, HttpResponse};
use crate::json;
use crate::limits;
use crate::protocol::message::{self, Message, Mirror, Outgoing, OutgoingKind, Params};
use crate::protocol::peer::INITIALIZE;
use crate::protocol::revision::{Era, Revision};
use crate::protocol::wire::http::{self as rules, Sent, SessionId, Verdict, judge};
use crate::protocol::wire::param_header;
use crate::protocol::wire::sse::{SseDecoder, SseItem};
use crate::transport::backoff::backoff;
use crate::transport::{Received, Transport};

pub(crate) const DISCOVER: &str = "server/discover";
const INITIALIZED: &str = "notifications/initialized";

pub(crate) struct StreamableTransport {
    wire: Arc<Wire>,
    received: mpsc::Receiver<Received>,
    exchanges: JoinSet<()>,
    /// The exchange of each request under way.
    running: HashMap<u64, AbortHandle>,
    /// At how many of them those that ended are let go of.
    reap_at: usize,
    /// Closed once the server took the last notification that later messages have to come after.
    barrier: Option<watch::Receiver<()>>,
}

/// What the exchanges of one connection share.
struct Wire {
    endpoint: Arc<Endpoint>,
    clock: Arc<dyn Clock>,
    tell: mpsc::Sender<Received>,
    era: Era,
    /// Nothing before it is known.
    revision: RwLock<Option<Revision>>,
    session: RwLock<Session>,
    /// Held while a session is renewed: whoever comes next finds a new one.
    renewal: AsyncMutex<()>,
    /// Told of each new session after the first.
    renewed: Notify,
    opening: Mutex<Option<String>>,
}

#[derive(Default)]
struct Session {
    /// Counts the sessions there were.
    generation: u64,
    id: Option<SessionId>,
    /// Who issued the id.
    issuer: Option<url::Url>,
    /// Whether the server said that it does not know it any more.
    is_gone: bool,
}

/// What became of one attempt to send.
enum Attempt {
    Done,
    /// Its session is gone.
    Again,
    Later(Duration),
}

impl StreamableTransport {
    pub(crate) fn new(endpoint: Arc<Endpoint>, era: Era, revision: Option<Revision>, clock: Arc<dyn Clock>) -> Self {
        let (tell, received) = mpsc::channel(limits::MAX_QUEUED_MESSAGES);
        let wire = Wire {
            endpoint,
            clock,
            tell,
            era,
            revision: RwLock::new(revision),
            session: RwLock::default(),
            renewal: AsyncMutex::new(()),
            renewed: Notify::new(),
            opening: Mutex::new(None),
        };
        Self {
            wire: Arc::new(wire),
            received,
            exchanges: JoinSet::new(),
            running: HashMap::new(),
            reap_at: limits::EXCHANGES_BEFORE_REAPING,
            barrier: None,
        }
    }

    fn reap(&mut self) {
        while self.exchanges.try_join_next().is_some() {}
        self.running.retain(|_, exchange| !exchange.is_finished());
        // Looked through again once there are twice as many, so that it costs each request a constant share.
        self.reap_at = (self.running.len() * 2).max(limits::EXCHANGES_BEFORE_REAPING);
    }
}

impl Transport for StreamableTransport {
    fn send(&mut self, outgoing: Outgoing) {
        let wire = Arc::clone(&self.wire);
        let barrier = self.barrier.clone();
        let Outgoing { text, kind } = outgoing;
        match kind {
            OutgoingKind::Request { id, method, mirror } => {
                if self.running.len() >= self.reap_at {
                    self.reap();
                }
                let exchange = self.exchanges.spawn(async move {
                    passed(barrier).await;
                    wire.request(id, method, mirror, &text).await;
                });
                self.running.insert(id, exchange);
            }
            // Over HTTP the end of the reply is the cancellation (protocol, 7.12).
            OutgoingKind::Notification { .. } if wire.era == Era::Stateless => {}
            OutgoingKind::Notification { method } => {
                let (done, passed_on) = watch::channel(());
                if method == INITIALIZED {
                    self.barrier = Some(passed_on);
                }
                self.exchanges.spawn(async move {
                    passed(barrier).await;
                    wire.post_quietly(&text).await;
                    drop(done);
                    if method == INITIALIZED {
                        wire.listen().await;
                    }
                });
            }
            OutgoingKind::Answer => {
                self.exchanges.spawn(async move {
                    passed(barrier).await;
                    wire.post_quietly(&text).await;
                });
            }
        }
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn abandon(&mut self, id: u64) {
        if let Some(exchange) = self.running.remove(&id) {
            exchange.abort();
        }
    }

    fn settle(&mut self, revision: Revision) {
        *self.wire.revision.write().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }

    async fn next(&mut self) -> Received {
        match self.received.recv().await {
            Some(received) => received,
            // The wire holds a sender for as long as this lives.
            None => std::future::pending().await,
        }
    }

    async fn close(mut self) {
        self.exchanges.shutdown().await;
        self.wire.end_session().await;
    }
}

/// Asks a server of unknown era what it speaks, in words of the stateless era: the status of its reply, and the message in
/// it, if there is one.
///
/// # Errors
/// When there is no reply.
pub(crate) async fn discover(
    endpoint: &Endpoint,
    clock: &dyn Clock,
    revision: Revision,
    text: &str,
) -> Result<(StatusCode, Option<String>)> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(rules::ACCEPT_REPLY));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(rules::CONTENT_TYPE));
    headers.insert(
        HeaderName::from_static(rules::PROTOCOL_VERSION),
        rules::protocol_version(revision),
    );
    mirror_in(&mut headers, DISCOVER, &Mirror::default());
    let ask = Ask {
        method: Method::POST,
        url: endpoint.configured.url(),
        payload: Payload::OfTheProtocol,
        protocol: &headers,
        issued: &[],
        credential: None,
        body: Some(text),
    };
    let (response, _) = endpoint.exchange(ask).await?;
    let status = response.status;
    let message = match judge(Sent::Request, false, status, &response.headers, clock.unix_seconds()) {
        Verdict::EventStream => first_event(response.body, endpoint.max_message_bytes).await,
        _ => endpoint.read(response.body).await?.ok(),
    };
    Ok((status, message))
}

async fn first_event(mut body: Body, max_bytes: usize) -> Option<String> {
    let mut decoder = SseDecoder::new(max_bytes);
    while let Some(Ok(chunk)) = body.next().await {
        decoder.push(&chunk);
        while let Some(item) = decoder.pop() {
            match item {
                SseItem::Event { data, .. } if matches!(Message::parse(&data), Ok(Message::Response { .. })) => {
                    return Some(data);
                }
                _ => {}
            }
        }
    }
    None
}

/// Waits until what has to come first was taken.
async fn passed(barrier: Option<watch::Receiver<()>>) {
    if let Some(mut barrier) = barrier {
        // It never changes: it is closed.
        drop(barrier.changed().await);
    }
}

impl Wire {
    /// Sends a request and hands over whatever its reply says. Ends when the answer was handed over, or cannot come.
    async fn request(&self, id: u64, method: &'static str, mirror: Mirror, text: &str) {
        if let Err(error) = self.try_request(id, method, mirror, text).await {
            self.hand_over(Received::Failed { id, error }).await;
        }
    }

    async fn try_request(&self, id: u64, method: &'static str, mirror: Mirror, text: &str) -> Result<()> {
        let credential = mirror.bearer.as_deref().map(Credential::bearer).transpose()?;
        if let Some(token) = &mirror.bearer {
            self.endpoint.renew_credential(token)?;
        }
        if method == INITIALIZE {
            *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        }
        let mut renewed = false;
        loop {
            let generation = self.generation();
            match self.attempt(id, method, &mirror, credential.as_ref(), text).await? {
                Attempt::Done => return Ok(()),
                Attempt::Again if !renewed => {
                    self.renew(generation).await?;
                    renewed = true;
                }
                Attempt::Again => {
                    let message = "its server forgot the session again right after a new one was opened";
                    return Err(self.endpoint.error(ErrorCode::Unavailable, message));
                }
                Attempt::Later(wait) => {
                    let wait = wait.clamp(limits::SHORTEST_RETRY, limits::LONGEST_WAIT);
                    self.clock.sleep_until(self.clock.now() + wait).await;
                }
            }
        }
    }

    async fn attempt(
        &self,
        id: u64,
        method: &'static str,
        mirror: &Mirror,
        credential: Option<&Credential>,
        text: &str,
    ) -> Result<Attempt> {
        let mut headers = self.post_headers(method != INITIALIZE);
        if self.era == Era::Stateless {
            mirror_in(&mut headers, method, mirror);
        }
        let issued = if method == INITIALIZE {
            Vec::new()
        } else {
            self.issued()
        };
        let ask = Ask {
            method: Method::POST,
            url: self.endpoint.configured.url(),
            payload: payload_of(method),
            protocol: &headers,
            issued: &issued,
            credential,
            body: Some(text),
        };
        let (response, from) = self.endpoint.exchange(ask).await?;
        let verdict = judge(
            Sent::Request,
            !issued.is_empty(),
            response.status,
            &response.headers,
            self.unix_now(),
        );
        if method == INITIALIZE && response.status.is_success() {
            self.open_session(&response.headers, from)?;
        }
        self.take_reply(id, verdict, response).await
    }

    async fn take_reply(&self, id: u64, verdict: Verdict, response: HttpResponse) -> Result<Attempt> {
        match verdict {
            Verdict::Json => self.take_json(id, response.body).await?,
            Verdict::EventStream => self.take_stream(id, response.body).await?,
            Verdict::ErrorBody(status) => {
                let error = match self.endpoint.read(response.body).await? {
                    Ok(body) => rules::error_in(&body),
                    Err(_) => None,
                };
                let Some(error) = error else {
                    return Err(self.http_failure(status));
                };
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_json());
                self.hand_over(Received::Message(answer)).await;
            }
            Verdict::SessionGone => return Ok(Attempt::Again),
            Verdict::RetryAfter(_, wait) => return Ok(Attempt::Later(wait)),
            Verdict::Unauthorized => return Err(self.refusal("rejected authorization (HTTP 401)")),
            Verdict::Forbidden => return Err(self.refusal("denied access (HTTP 403)")),
            Verdict::NotMcp(media) => {
                let media = media.unwrap_or_else(|| "nothing of a known type".to_owned());
                let message = format!("it answered with {media}, which is no answer");
                return Err(self.endpoint.error(ErrorCode::InvalidResponse, message));
            }
            Verdict::Accepted | Verdict::Empty(_) => {
                return Err(self
                    .endpoint
                    .error(ErrorCode::InvalidResponse, "it answered without an answer"));
            }
            Verdict::Redirect(status, _) | Verdict::NoStream(status) | Verdict::Failed(status) => {
                return Err(self.http_failure(status));
            }
        }
        Ok(Attempt::Done)
    }

    async fn take_json(&self, id: u64, body: Body) -> Result<()> {
        match self.endpoint.read(body).await? {
            Ok(text) if self.is_answer(&text, id) => self.hand_over(Received::Message(text)).await,
            Ok(text) if json::breaks_off(&text) => {
                let message = "its reply breaks off before the answer; the outcome is unknown";
                return Err(self.endpoint.error(ErrorCode::ConnectionLost, message));
            }
            Ok(_) => {
                let message = "its reply holds no answer to the request";
                return Err(self.endpoint.error(ErrorCode::InvalidResponse, message));
            }
            Err(bytes) => {
                self.hand_over(Received::TooLong {
                    bytes,
                    answers: Some(id),
                })
                .await;
            }
        }
        Ok(())
    }

    /// Hands over the events of a reply until it has answered. A cut stream is taken up again where the era allows it.
    async fn take_stream(&self, id: u64, body: Body) -> Result<()> {
        let mut body = body;
        let mut cursor = Cursor::default();
        loop {
            if self.drain(body, Some(id), &mut cursor).await {
                return Ok(());
            }
            let resumes = self.era == Era::Session && cursor.last_event_id.is_some();
            if !resumes {
                let message = "its reply ended before the answer; the outcome is unknown";
                return Err(self.endpoint.error(ErrorCode::ConnectionLost, message));
            }
            body = loop {
                self.clock.sleep_until(self.clock.now() + cursor.retry).await;
                match self.open_stream(&cursor).await {
                    Ok(Some(body)) => break body,
                    Ok(None) => {
                        let message =
                            "its reply ended before the answer and cannot be taken up again; the outcome is unknown";
                        return Err(self.endpoint.error(ErrorCode::ConnectionLost, message));
                    }
                    // The request's own time limit ends this.
                    Err(_) => {}
                }
            };
        }
    }

    /// Reads events until the stream ends, or the request is answered: then it says so.
    async fn drain(&self, mut body: Body, answered_by: Option<u64>, cursor: &mut Cursor) -> bool {
        let mut decoder = SseDecoder::new(self.endpoint.max_message_bytes);
        // An event is reported at its end. One that has none must not be waited for.
        let mut unended = 0;
        while let Some(Ok(chunk)) = body.next().await {
            decoder.push(&chunk);
            unended += chunk.len();
            while let Some(item) = decoder.pop() {
                unended = 0;
                match item {
                    SseItem::Event { event, data } if event.as_deref().is_none_or(|kind| kind == "message") => {
                        let is_answer = answered_by.is_some_and(|id| self.is_answer(&data, id));
                        self.hand_over(Received::Message(data)).await;
                        if is_answer {
                            return true;
                        }
                    }
                    SseItem::TooLong { bytes, answers } => {
                        self.hand_over(Received::TooLong { bytes, answers }).await;
                        if answers.is_some() && answers == answered_by {
                            return true;
                        }
                    }
                    SseItem::Id(id) => cursor.last_event_id = Some(id).filter(|id| !id.is_empty()),
                    SseItem::Retry(millis) => cursor.retry = Duration::from_millis(millis).min(limits::LONGEST_RETRY),
                    SseItem::Event { .. } | SseItem::Empty => {}
                }
            }
            if unended > self.endpoint.max_message_bytes.saturating_add(limits::READ_CHUNK) {
                let bytes = unended as u64;
                self.hand_over(Received::TooLong {
                    bytes,
                    answers: answered_by,
                })
                .await;
                return answered_by.is_some();
            }
        }
        false
    }

    /// The stream that a server may offer for what nobody asked for. It ends with the connection.
    async fn listen(&self) {
        loop {
            // A new session has a stream of its own.
            tokio::select! {
                () = self.renewed.notified() => {}
                () = self.listen_in_session() => {
                    self.renewed.notified().await;
                }
            }
        }
    }

    /// Ends when the server offers no stream, or its stream failed too often.
    async fn listen_in_session(&self) {
        let mut cursor = Cursor::default();
        let mut failures = 0;
        while failures < limits::MAX_STREAM_FAILURES {
            match self.open_stream(&cursor).await {
                Ok(Some(body)) => {
                    failures = 0;
                    self.drain(body, None, &mut cursor).await;
                }
                Ok(None) => return,
                Err(_) => failures += 1,
            }
            self.clock
                .sleep_until(self.clock.now() + backoff(cursor.retry, failures))
                .await;
        }
    }

    /// GETs the server's stream; nothing when it offers none.
    async fn open_stream(&self, cursor: &Cursor) -> Result<Option<Body>> {
        let mut headers = self.common_headers(rules::ACCEPT_STREAM);
        headers.remove(header::CONTENT_TYPE);
        let mut issued = self.issued();
        if let Some(id) = &cursor.last_event_id
            && let Ok(value) = HeaderValue::from_bytes(id.as_bytes())
        {
            headers.insert(HeaderName::from_static(rules::LAST_EVENT_ID), value);
        }
        let ask = Ask {
            method: Method::GET,
            url: self.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued: &issued,
            credential: None,
            body: None,
        };
        let (response, _) = self.endpoint.exchange(ask).await?;
        let names_session = !std::mem::take(&mut issued).is_empty();
        let verdict = judge(
            Sent::OptionalStream,
            names_session,
            response.status,
            &response.headers,
            self.unix_now(),
        );
        Ok(matches!(verdict, Verdict::EventStream).then_some(response.body))
    }

    /// Sends what has no answer. A failure of it shows in the requests that follow.
    async fn post_quietly(&self, text: &str) {
        let headers = self.post_headers(true);
        let issued = self.issued();
        let ask = Ask {
            method: Method::POST,
            url: self.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued: &issued,
            credential: None,
            body: Some(text),
        };
        let problem = match self.endpoint.exchange(ask).await {
            Ok((response, _)) => {
                let verdict = judge(
                    Sent::Notification,
                    !issued.is_empty(),
                    response.status,
                    &response.headers,
                    self.unix_now(),
                );
                (!matches!(verdict, Verdict::Accepted)).then(|| format!("HTTP {}", response.status.as_u16()))
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = problem {
            let server = &self.endpoint.server;
            let message = format!(
                "MCP server {}: it did not take a notification: {error}",
                json::quote(server)
            );
            (self.endpoint.tell)(Diagnostic::new(Rule::ProtocolViolation, server, message));
        }
    }

    /// Opens a new session in the place of one that is gone. Of all who ask for it, one does it.
    async fn renew(&self, gone: u64) -> Result<()> {
        let _renewing = self.renewal.lock().await;
        if self.generation() != gone {
            return Ok(());
        }
        self.session.write().unwrap_or_else(PoisonError::into_inner).is_gone = true;
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(opening) = opening else {
            return Err(self
                .endpoint
                .error(ErrorCode::Unavailable, "there is no session to open again"));
        };
        let headers = self.post_headers(false);
        let ask = Ask {
            method: Method::POST,
            url: self.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued: &[],
            credential: None,
            body: Some(&opening),
        };
        let (response, from) = self.endpoint.exchange(ask).await?;
        if !response.status.is_success() {
            return Err(self.http_failure(response.status));
        }
        self.open_session(&response.headers, from)?;
        // What it says was agreed on before; the body is read so that the connection can be used again.
        drop(self.endpoint.read(response.body).await?);
        self.post_quietly(&message::notification(INITIALIZED, &Params::new()))
            .await;
        self.renewed.notify_waiters();
        self.hand_over(Received::Renewed).await;
        Ok(())
    }

    fn open_session(&self, headers: &HeaderMap, from: url::Url) -> Result<()> {
        let id = SessionId::of(headers).map_err(|_| {
            self.endpoint
                .error(ErrorCode::InvalidResponse, "it sent a session id that cannot be used")
        })?;
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        session.generation += 1;
        session.is_gone = false;
        session.issuer = id.is_some().then_some(from);
        session.id = id;
        Ok(())
    }

    /// Ends the session, if there is one: once, and without waiting for long.
    async fn end_session(&self) {
        let is_gone = self.session.read().unwrap_or_else(PoisonError::into_inner).is_gone;
        let issued = self.issued();
        if is_gone || issued.is_empty() {
            return;
        }
        let headers = self.common_headers(rules::ACCEPT_REPLY);
        let ask = Ask {
            method: Method::DELETE,
            url: self.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued: &issued,
            credential: None,
            body: None,
        };
        let patience = self.clock.sleep_until(self.clock.now() + limits::STOP_GRACE);
        let problem = tokio::select! {
            outcome = self.endpoint.exchange(ask) => match outcome {
                Ok((response, _)) => {
                    let verdict = judge(Sent::Delete, true, response.status, &response.headers, self.unix_now());
                    // A session that the server has forgotten is ended, too.
                    (!matches!(verdict, Verdict::Accepted | Verdict::SessionGone)).then(|| format!("HTTP {}", response.status.as_u16()))
                }
                Err(error) => Some(error.to_string()),
            },
            () = patience => Some("no answer".to_owned()),
        };
        if let Some(problem) = problem {
            let server = &self.endpoint.server;
            let message = format!(
                "MCP server {}: its session could not be ended: {problem}",
                json::quote(server)
            );
            (self.endpoint.tell)(Diagnostic::new(Rule::ConnectionFailure, server, message));
        }
    }

    fn common_headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if let Some(revision) = *self.revision.read().unwrap_or_else(PoisonError::into_inner) {
            headers.insert(
                HeaderName::from_static(rules::PROTOCOL_VERSION),
                rules::protocol_version(revision),
            );
        }
        headers
    }

    fn post_headers(&self, versioned: bool) -> HeaderMap {
        let mut headers = self.common_headers(rules::ACCEPT_REPLY);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(rules::CONTENT_TYPE));
        if !versioned && self.era == Era::Session {
            headers.remove(HeaderName::from_static(rules::PROTOCOL_VERSION));
        }
        headers
    }

    fn issued(&self) -> Vec<Issued> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        let issued = session
            .id
            .as_ref()
            .zip(session.issuer.as_ref())
            .map(|(id, issuer)| Issued {
                issuer: issuer.origin(),
                name: HeaderName::from_static(rules::SESSION_ID),
                value: id.header_value(),
            });
        issued.into_iter().collect()
    }

    fn generation(&self) -> u64 {
        self.session.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Whether a text is the answer to this request, or holds it where arrays of messages are allowed.
    fn is_answer(&self, text: &str, id: u64) -> bool {
        let revision = *self.revision.read().unwrap_or_else(PoisonError::into_inner);
        let holds = || json::array(text).is_some_and(|messages| messages.iter().any(|m| answers(m.get(), id)));
        answers(text, id) || (revision.is_some_and(Revision::has_batches) && holds())
    }

    fn refusal(&self, what: &str) -> Error {
        self.endpoint.error(ErrorCode::Unauthorized, format!("it {what}"))
    }

    fn http_failure(&self, status: StatusCode) -> Error {
        self.endpoint.error(
            ErrorCode::InvalidResponse,
            format!("it answered with HTTP {}", status.as_u16()),
        )
    }

    fn unix_now(&self) -> u64 {
        self.clock.unix_seconds()
    }

    async fn hand_over(&self, received: Received) {
        // Nobody listens once the connection is closing.
        drop(self.tell.send(received).await);
    }
}

/// Where a stream stood when it was cut.
struct Cursor {
    last_event_id: Option<String>,
    retry: Duration,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            last_event_id: None,
            retry: limits::DEFAULT_RETRY,
        }
    }
}

/// The headers that repeat what a request says (protocol, 5.3.1).
fn mirror_in(headers: &mut HeaderMap, method: &'static str, mirror: &Mirror) {
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

/// Whether a text is the answer to this request.
fn answers(text: &str, id: u64) -> bool {
    matches!(Message::parse(text), Ok(Message::Response { id: Some(answered), .. }) if answered.number() == Some(id))
}
