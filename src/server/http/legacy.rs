//! HTTP+SSE, as 2024-11-05 has it: one stream that carries everything to the client, and a place where its messages go.

use std::sync::Arc;

use http::header::HeaderMap;
use http::{Method, StatusCode, Uri};
use hyper::body::Incoming as HttpBody;

use super::body::{self, Takes};
use super::reply::{HttpReply, empty, events, full, json, limited, not_allowed, plain, refusal};
use super::sessions::{StreamOutbox, Streams};
use super::site::{Caller, Site, query};
use super::stream::Channel;
use crate::host::server::Abort;
use crate::protocol::codes::{self, WireError};
use crate::protocol::request;
use crate::protocol::revision::Era;
use crate::server::claims::Around;
use crate::server::connection::Weight;
use crate::server::dispatch::Accepted;

impl Site {
    pub(crate) fn sse_stream(self: &Arc<Self>, method: &Method, headers: &HeaderMap, caller: &Caller) -> HttpReply {
        if *method != Method::GET {
            return not_allowed("GET");
        }
        if !Takes::of(headers).events {
            let error = WireError::new(codes::INVALID_REQUEST, "Accept must allow text/event-stream");
            return refusal(StatusCode::NOT_ACCEPTABLE, &error);
        }
        if self.server().is_stopping() {
            return full();
        }
        let Some(messages) = self.options().forms.sse.as_ref().map(|paths| paths.messages.clone()) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let membership = match self.server().admit(&caller.identity.tenant, Era::Session) {
            Ok(membership) => membership,
            Err(error) => return limited(None, &error),
        };
        let channel = Arc::new(Channel::new(
            None,
            self.limits().max_buffered_bytes,
            self.slow_readers(),
        ));
        let connection = self.server().connect(
            caller.identity.clone(),
            false,
            self.own_slots(),
            Box::new(StreamOutbox(Arc::clone(&channel))),
            membership,
        );
        let streams = Arc::new(Streams::of(Arc::clone(&channel)));
        let Some(id) = self.add_session(&connection, streams) else {
            return full();
        };
        channel.push(Some("endpoint"), &format!("{messages}?sessionId={id}"), Weight::Needed);
        let site = Arc::clone(self);
        events(self.stream(&channel, None, &caller.peer).watched(Box::new(move |_| {
            if let Some(session) = site.session(&id) {
                site.end_session(&session, Abort::Closed);
            }
        })))
    }

    pub(crate) async fn sse_message(
        self: &Arc<Self>,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: HttpBody,
        caller: &Caller,
    ) -> HttpReply {
        if *method != Method::POST {
            return not_allowed("POST");
        }
        if !body::is_json(headers) {
            let error = WireError::new(codes::INVALID_REQUEST, "Content-Type must be application/json");
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
        }
        let Some(id) = query(uri, "sessionId") else {
            let error = WireError::new(codes::INVALID_REQUEST, "sessionId is required");
            return refusal(StatusCode::BAD_REQUEST, &error);
        };
        let session = self
            .session(&id)
            .filter(|session| session.connection.identity.is_same(&caller.identity));
        // One reply for what is not there and what is somebody else's.
        let Some(session) = session.filter(|session| session.streams.is_one()) else {
            let error = WireError::new(codes::INVALID_REQUEST, "Session not found");
            return refusal(StatusCode::NOT_FOUND, &error);
        };
        let bytes = match body::read(headers, body, self.limits(), self.clock()).await {
            Ok(bytes) => bytes,
            Err(reply) => return reply,
        };
        session.hear(self.clock().now());
        let channel = Arc::clone(&session.streams.standalone);
        let incoming = match request::read_bytes(&bytes, self.limits().max_json_depth) {
            Ok(incoming) => incoming,
            Err(refusal) => {
                let answer = self.server().refuse(&refusal);
                return json(StatusCode::BAD_REQUEST, answer.text);
            }
        };
        let around = Around {
            claims: None,
            auth: caller.identity.auth.as_ref(),
        };
        match self.server().take(&session.connection, self.limits(), incoming, around) {
            Accepted::Nothing => {}
            Accepted::Now(answer) => channel.answer(Some("message"), answer),
            Accepted::Later(pending) => {
                self.tasks().spawn(async move {
                    if let Some(answer) = pending.await {
                        channel.answer(Some("message"), answer);
                    }
                });
            }
        }
        plain(StatusCode::ACCEPTED, "Accepted")
    }
}
