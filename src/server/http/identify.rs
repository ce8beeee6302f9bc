//! Who is behind a request: the program says so.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::HeaderMap;
use http::{Method, StatusCode, Uri};

use super::reply::{HttpReply, empty};
use super::site::Site;
use crate::host::server::{JobKind, Performed};
use crate::json::{self, Object};
use crate::protocol::message::Params;
use crate::server::connection::Identity;
use crate::server::exchange::Exchange;
use crate::server::jobs::Task;
use crate::server::lifecycle::Server;

impl Site {
    /// Who is behind a request: the program says so, where it has a way to tell.
    pub(crate) async fn identify(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<Identity, HttpReply> {
        if !self.options().identifies {
            return Ok(Identity::default());
        }
        let unauthorized = || empty(StatusCode::UNAUTHORIZED);
        let connection = Server::detached();
        let limit = Some(self.limits().header_timeout);
        let exchange = Arc::new(Exchange::unasked(&connection, limit, self.clock().now()));
        let task = Task {
            kind: JobKind::Identify,
            runtime: None,
            name: "",
            text: described(method, uri, headers, peer),
            answers: None,
        };
        let performed = tokio::select! {
            performed = self.server().jobs().perform(&exchange, None, task) => performed,
            () = exchange.timer.expired(self.clock()) => return Err(unauthorized()),
        };
        let Some(Performed::Value { text, .. }) = performed else {
            return Err(unauthorized());
        };
        let found = Object::parse(&text).unwrap_or_default();
        if let Some(status) = found
            .present("status")
            .and_then(|status| json::parse::<u16>(status.get()))
        {
            let mut reply = empty(StatusCode::from_u16(status).unwrap_or(StatusCode::UNAUTHORIZED));
            if let Some(challenge) = found.string("challenge").and_then(|text| text.parse().ok()) {
                reply.headers_mut().insert(http::header::WWW_AUTHENTICATE, challenge);
            }
            return Err(reply);
        }
        Ok(Identity {
            tenant: found.string("tenantId").map(std::borrow::Cow::into_owned),
            session: found.string("sessionId").map(std::borrow::Cow::into_owned),
            auth: found.present("auth").map(|auth| auth.get().into()),
        })
    }
}

/// A request as the program's functions see it, as JSON text: of headers and queries the first value of a name counts.
fn described(method: &Method, uri: &Uri, headers: &HeaderMap, peer: SocketAddr) -> String {
    let mut named = Params::new();
    for name in headers.keys() {
        let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        named = named.entry(name.as_str(), &json::quote(&value.unwrap_or_default()));
    }
    let mut queried = Params::new();
    let mut seen = std::collections::HashSet::new();
    for (key, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        if seen.insert(key.clone()) {
            queried = queried.entry(&key, &json::quote(&value));
        }
    }
    Params::new()
        .text("method", method.as_str())
        .text(
            "url",
            &uri.path_and_query().map_or_else(String::new, ToString::to_string),
        )
        .text("path", uri.path())
        .raw("query", &queried.object())
        .raw("headers", &named.object())
        .text("remoteAddress", &peer.ip().to_string())
        .object()
}
