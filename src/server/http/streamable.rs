//! Streamable HTTP, in both shapes: with sessions, and with requests that say everything themselves. An answer is JSON
//! where nothing comes before it, and a stream where something does.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use http::header::{HeaderMap, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use hyper::body::Incoming as HttpBody;

use super::body::{self, Takes};
use super::reply::{HttpReply, empty, events, full, json, limited, not_allowed, refusal, written};
use super::sessions::{RequestOutbox, Session, SessionOutbox, Streams, Way};
use super::site::{Caller, Site};
use super::stream::{Channel, EventStream};
use crate::protocol::codes::{self, WireError};
use crate::protocol::envelope;
use crate::protocol::message::Id;
use crate::protocol::request::{self, Incoming};
use crate::protocol::revision::{Era, Revision};
use crate::server::answer::{Answer, Fault};
use crate::server::claims::{Around, Claims};
use crate::server::dispatch::{Accepted, Pending};
use crate::transport::listen::Peer;

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PARAM_PREFIX: &str = "mcp-param-";

/// What came first of a request under way.
enum First {
    Answer(Option<Answer>),
    /// Something that belongs to it, or a long silence.
    News,
}

impl Site {
    pub(crate) async fn streamable(
        self: &Arc<Self>,
        method: &Method,
        headers: &HeaderMap,
        body: HttpBody,
        caller: Caller,
    ) -> HttpReply {
        let is_stateless = !headers.contains_key(SESSION_ID) && names_stateless(headers);
        match *method {
            Method::GET | Method::DELETE if is_stateless => not_allowed("POST"),
            Method::POST => self.post(headers, body, caller).await,
            Method::GET if self.has_sessions() => self.get(headers, &caller),
            Method::DELETE if self.has_sessions() => self.delete(headers, &caller),
            _ if self.has_sessions() => not_allowed("GET, POST, DELETE"),
            _ => not_allowed("POST"),
        }
    }

    async fn post(self: &Arc<Self>, headers: &HeaderMap, body: HttpBody, caller: Caller) -> HttpReply {
        if !body::is_json(headers) {
            return refuse(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json",
            );
        }
        let takes = Takes::of(headers);
        if !takes.json && !takes.events {
            let text = "Accept must allow application/json and text/event-stream";
            return refuse(StatusCode::NOT_ACCEPTABLE, text);
        }
        let bytes = match body::read(headers, body, self.limits(), self.clock()).await {
            Ok(bytes) => bytes,
            Err(reply) => return reply,
        };
        let incoming = match request::read_bytes(&bytes, self.limits().max_json_depth) {
            Ok(incoming) => incoming,
            Err(refusal) => {
                let answer = self.server().refuse(&refusal);
                return json(StatusCode::BAD_REQUEST, answer.text);
            }
        };
        if self.is_stateless(headers, &incoming) {
            self.post_stateless(headers, incoming, caller, takes).await
        } else {
            self.post_session(headers, incoming, caller, takes).await
        }
    }

    /// Whether a message is read by the rules of the stateless era.
    fn is_stateless(&self, headers: &HeaderMap, incoming: &Incoming<'_>) -> bool {
        if let Incoming::Request(request) = incoming
            && request.meta().is_stateless()
        {
            return true;
        }
        (names_stateless(headers) && !headers.contains_key(SESSION_ID)) || !self.has_sessions()
    }

    // Requests that say everything themselves.

    async fn post_stateless(
        self: &Arc<Self>,
        headers: &HeaderMap,
        incoming: Incoming<'_>,
        caller: Caller,
        takes: Takes,
    ) -> HttpReply {
        let request = match &incoming {
            Incoming::Request(request) => request,
            Incoming::Notification { .. } => return empty(StatusCode::ACCEPTED),
            Incoming::Response { .. } => return refuse(StatusCode::BAD_REQUEST, "an answer is not expected"),
            Incoming::Batch(_) => {
                return refuse(StatusCode::BAD_REQUEST, "a batch is not taken in this protocol version");
            }
        };
        if !request.meta().is_stateless() {
            let error = if request.method == "initialize" {
                envelope::unsupported(&self.server().options().revisions, "")
            } else {
                match request.meta().version() {
                    Err(error) => error,
                    Ok(_) => WireError::invalid_params("`_meta` is incomplete"),
                }
            };
            return reply(
                Era::Stateless,
                Answer::refusal(Some(request.id.text()), &error, Fault::Envelope),
            );
        }
        let channel = Arc::new(Channel::new(
            None,
            self.limits().max_buffered_bytes,
            self.slow_readers(),
        ));
        let slots = self.shared_slots(&caller);
        let connection = self.server().transient(
            caller.identity.clone(),
            false,
            slots,
            Box::new(RequestOutbox(Arc::clone(&channel))),
        );
        let claims = claims(headers);
        let around = Around {
            claims: Some(&claims),
            auth: None,
        };
        let mut pending = match self.server().take(&connection, self.limits(), incoming, around) {
            Accepted::Nothing => return empty(StatusCode::ACCEPTED),
            Accepted::Now(answer) if takes.json || answer.is_limited() => return reply(Era::Stateless, answer),
            Accepted::Now(answer) => Box::pin(std::future::ready(Some(answer))),
            Accepted::Later(pending) => pending,
        };
        match self.first(&mut pending, &channel, takes).await {
            First::Answer(Some(answer)) => reply(Era::Stateless, answer),
            First::Answer(None) => empty(StatusCode::ACCEPTED),
            First::News => events(self.stream(&channel, None, &caller.peer).answering(pending)),
        }
    }

    // Sessions.

    async fn post_session(
        self: &Arc<Self>,
        headers: &HeaderMap,
        incoming: Incoming<'_>,
        caller: Caller,
        takes: Takes,
    ) -> HttpReply {
        let is_initialize = matches!(&incoming, Incoming::Request(request) if request.method == "initialize");
        if is_initialize && !headers.contains_key(SESSION_ID) {
            return self.open_session(incoming, caller, takes).await;
        }
        let session = match self.session_of(headers, &caller) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        session.hear(self.clock().now());
        let is_resumable = session
            .connection
            .session()
            .is_some_and(|session| session.revision.has_resumable_answers());
        let way = session.streams.open(ids(&incoming), is_resumable);
        let around = Around {
            claims: None,
            auth: caller.identity.auth.as_ref(),
        };
        let accepted = self.server().take(&session.connection, self.limits(), incoming, around);
        let mut pending = match accepted {
            Accepted::Nothing => return empty(StatusCode::ACCEPTED),
            Accepted::Now(answer) if takes.json || answer.is_limited() => return reply(Era::Session, answer),
            Accepted::Now(answer) => Box::pin(std::future::ready(Some(answer))),
            Accepted::Later(pending) => pending,
        };
        match self.first(&mut pending, &way.channel, takes).await {
            First::Answer(answer) => {
                session.hear(self.clock().now());
                match answer {
                    Some(answer) => reply(Era::Session, answer),
                    // The session ended under it.
                    None if session.connection.is_closed() => not_found(),
                    None => empty(StatusCode::ACCEPTED),
                }
            }
            First::News => events(self.answer_by_stream(&session, way, &caller.peer, pending)),
        }
    }

    /// The stream that answers; where its reader may come back, the work goes on without it.
    fn answer_by_stream(
        self: &Arc<Self>,
        session: &Arc<Session>,
        way: Way,
        peer: &Peer,
        pending: Pending,
    ) -> EventStream {
        let channel = Arc::clone(&way.channel);
        if channel.is_resumable() {
            channel.prime();
            session.streams.keep(&channel);
        }
        let site = Arc::clone(self);
        let owner = Arc::clone(session);
        self.stream(&channel, None, peer)
            .answering(pending)
            .watched(Box::new(move |pending| {
                owner.hear(site.clock().now());
                let Some(pending) = pending.filter(|_| way.channel.is_resumable()) else {
                    owner.streams.forget(&way.channel);
                    return;
                };
                let tasks = site.tasks().clone();
                tasks.spawn(async move { site.finish_alone(&owner, way, pending).await });
            }))
    }

    /// Brings a request to its end whose reader is gone, for as long as a session may be idle.
    async fn finish_alone(&self, session: &Session, way: Way, mut pending: Pending) {
        let limit = self.limits().idle_timeout.duration();
        let until = limit.and_then(|limit| self.clock().now().checked_add(limit));
        let patience = async {
            match until {
                Some(until) => self.clock().sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = &mut pending => {
                if let Some(answer) = answer {
                    way.channel.answer(None, answer);
                }
            }
            () = patience => {
                session.connection.give_up_those(&way.requests, crate::host::server::Abort::Idle);
                // What is given up ends at once, and nobody waits for what it says.
                pending.await;
            }
        }
        way.channel.finish();
        session.hear(self.clock().now());
    }

    async fn open_session(self: &Arc<Self>, incoming: Incoming<'_>, caller: Caller, takes: Takes) -> HttpReply {
        if self.is_full_of_sessions() || self.server().is_stopping() {
            return full();
        }
        let is_resumable = offers_resumable(&incoming);
        let streams = Arc::new(Streams::new(
            self.limits().max_buffered_bytes,
            is_resumable,
            self.slow_readers(),
        ));
        let membership = match self.server().admit(&caller.identity.tenant, Era::Session) {
            Ok(membership) => membership,
            Err(error) => {
                let ids = ids(&incoming);
                return limited(ids.first().map(String::as_str), &error);
            }
        };
        let slots = self.own_slots();
        // Its client may go away before it is opened; until then nothing knows of it.
        let connection = self.server().transient(
            caller.identity,
            false,
            slots,
            Box::new(SessionOutbox(Arc::clone(&streams))),
        );
        connection.join(membership);
        let accepted = self
            .server()
            .take(&connection, self.limits(), incoming, Around::default());
        let answer = match accepted {
            Accepted::Nothing => None,
            Accepted::Now(answer) => Some(answer),
            Accepted::Later(pending) => pending.await,
        };
        let Some(answer) = answer.filter(|_| takes.json || takes.events) else {
            return empty(StatusCode::ACCEPTED);
        };
        if answer.fault.is_some() {
            return reply(Era::Session, answer);
        }
        self.server().keep(&connection);
        let Some(id) = self.add_session(&connection, streams) else {
            return full();
        };
        let mut reply = reply(Era::Session, answer);
        if let Ok(id) = HeaderValue::from_str(&id) {
            reply.headers_mut().insert(SESSION_ID, id);
        }
        reply
    }

    fn get(self: &Arc<Self>, headers: &HeaderMap, caller: &Caller) -> HttpReply {
        if !Takes::of(headers).events {
            return refuse(StatusCode::NOT_ACCEPTABLE, "Accept must allow text/event-stream");
        }
        let session = match self.session_of(headers, caller) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        session.hear(self.clock().now());
        let (channel, after) = match single(headers, &LAST_EVENT_ID) {
            None => (Arc::clone(&session.streams.standalone), None),
            Some(last) => match session.streams.resume(last) {
                Some((channel, number)) => (channel, Some(number)),
                None => return refuse(StatusCode::BAD_REQUEST, "Last-Event-ID is of no stream of this session"),
            },
        };
        if after.is_none() && channel.is_read() {
            return refuse(StatusCode::CONFLICT, "the session has a stream already");
        }
        let site = Arc::clone(self);
        let owner = Arc::clone(&session);
        let left = Arc::clone(&channel);
        events(self.stream(&channel, after, &caller.peer).watched(Box::new(move |_| {
            owner.hear(site.clock().now());
            if left.is_done() && left.is_drained() {
                owner.streams.forget(&left);
            }
        })))
    }

    fn delete(self: &Arc<Self>, headers: &HeaderMap, caller: &Caller) -> HttpReply {
        match self.session_of(headers, caller) {
            Ok(session) => {
                self.end_session(&session, crate::host::server::Abort::Closed);
                empty(StatusCode::OK)
            }
            Err(reply) => reply,
        }
    }

    /// The session that a request names, of whoever sent it.
    #[expect(
        clippy::result_large_err,
        reason = "a reply is moved once, to whoever sent the request"
    )]
    fn session_of(&self, headers: &HeaderMap, caller: &Caller) -> Result<Arc<Session>, HttpReply> {
        if headers.get_all(SESSION_ID).iter().count() != 1 {
            return Err(refuse(StatusCode::BAD_REQUEST, "Mcp-Session-Id is required, once"));
        }
        let session = single(headers, &SESSION_ID)
            .and_then(|id| self.session(id))
            .filter(|session| !session.streams.is_one() && session.connection.identity.is_same(&caller.identity));
        // One reply for what is not there and what is somebody else's.
        let Some(session) = session else {
            return Err(not_found());
        };
        let version = headers.get(PROTOCOL_VERSION);
        let is_spoken = version.is_none_or(|version| {
            version
                .to_str()
                .ok()
                .and_then(Revision::parse)
                .is_some_and(|revision| revision.era() == Era::Session && self.server().options().speaks(revision))
        });
        if !is_spoken {
            return Err(refuse(StatusCode::BAD_REQUEST, "MCP-Protocol-Version is not supported"));
        }
        Ok(session)
    }

    /// Waits until it is clear how a request is answered.
    async fn first(&self, pending: &mut Pending, channel: &Channel, takes: Takes) -> First {
        let long = self.clock().now().checked_add(self.limits().heartbeat_interval);
        let mut silence = match long {
            Some(until) => self.clock().sleep_until(until),
            None => Box::pin(std::future::pending()),
        };
        poll_fn(|cx| {
            if let Poll::Ready(answer) = pending.as_mut().poll(cx) {
                // What was told before must not be left out.
                if !takes.json || (takes.events && !channel.is_drained()) {
                    if let Some(answer) = answer {
                        channel.answer(None, answer);
                    }
                    channel.finish();
                    // There is nothing more to wait for.
                    *pending = Box::pin(std::future::ready(None));
                    return Poll::Ready(First::News);
                }
                return Poll::Ready(First::Answer(answer));
            }
            if takes.events && (channel.poll_news(cx).is_ready() || silence.as_mut().poll(cx).is_ready()) {
                return Poll::Ready(First::News);
            }
            Poll::Pending
        })
        .await
    }

    pub(crate) fn stream(&self, channel: &Arc<Channel>, after: Option<u64>, peer: &Peer) -> EventStream {
        EventStream::new(
            Arc::clone(channel),
            after,
            peer.hang_up.clone(),
            self.shared_clock(),
            self.limits().heartbeat_interval,
        )
    }
}

fn offers_resumable(incoming: &Incoming<'_>) -> bool {
    let Incoming::Request(request) = incoming else {
        return false;
    };
    request
        .params
        .and_then(|params| crate::json::Object::parse(params.get()))
        .and_then(|params| Revision::parse(&params.string("protocolVersion")?))
        .is_some_and(Revision::has_resumable_answers)
}

/// The ids of the requests, as they were sent.
fn ids(incoming: &Incoming<'_>) -> Vec<String> {
    let id = |id: &Id<'_>| id.text().to_owned();
    match incoming {
        Incoming::Request(request) => vec![id(&request.id)],
        Incoming::Batch(items) => items
            .iter()
            .filter_map(|item| match item {
                Ok(Incoming::Request(request)) => Some(id(&request.id)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether the headers name a version of the stateless era. One that nobody knows is one to come, and those have no
/// sessions.
fn names_stateless(headers: &HeaderMap) -> bool {
    single(headers, &PROTOCOL_VERSION)
        .is_some_and(|version| Revision::parse(version).is_none_or(|revision| revision.era() == Era::Stateless))
}

/// The value of a header that is there once, and text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (first, more) = (values.next()?, values.next());
    first.to_str().ok().filter(|_| more.is_none())
}

fn claims(headers: &HeaderMap) -> Claims {
    let claim = |name: &HeaderName| {
        // One that is there and cannot be compared agrees with nothing.
        headers
            .contains_key(name)
            .then(|| single(headers, name).unwrap_or_default().to_owned())
    };
    let params = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with(PARAM_PREFIX))
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                value.to_str().unwrap_or("=?base64?!?=").to_owned(),
            )
        });
    Claims {
        version: claim(&PROTOCOL_VERSION),
        method: claim(&METHOD),
        name: claim(&NAME),
        params: params.collect(),
    }
}

/// An answer with the status of its era (server specification, section 8).
fn reply(era: Era, answer: Answer) -> HttpReply {
    let status = match (answer.fault, era) {
        (None | Some(Fault::Other), _) | (Some(Fault::Method), Era::Session) => StatusCode::OK,
        (Some(Fault::Malformed | Fault::Envelope), _) => StatusCode::BAD_REQUEST,
        (Some(Fault::Method), Era::Stateless) => StatusCode::NOT_FOUND,
        (Some(Fault::Limited(_)), _) => StatusCode::TOO_MANY_REQUESTS,
    };
    written(status, answer)
}

fn not_found() -> HttpReply {
    refuse(StatusCode::NOT_FOUND, "Session not found")
}

fn refuse(status: StatusCode, text: &str) -> HttpReply {
    refusal(status, &WireError::new(codes::INVALID_REQUEST, text))
}
