//! Who is behind a request: the program says so.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::HeaderMap;
use http::{Method, StatusCode, Uri};
use sha2::{Digest as _, Sha256};

use super::bearer::Credential;
use super::metadata::Lack;
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
        let protection = self.options().protection.as_ref();
        if !self.options().identifies && protection.is_none() {
            return Ok(Identity::default());
        }
        let refused = |lack| protection.map_or_else(|| empty(StatusCode::UNAUTHORIZED), |open| open.refuse(lack));
        let token = match protection.map(|_| Credential::of(headers)) {
            None => None,
            Some(Credential::Token(token)) => Some(token),
            Some(Credential::None) => return Err(refused(Lack::Token)),
            Some(Credential::Malformed) => return Err(refused(Lack::Malformed)),
        };
        let connection = Server::detached();
        let limit = Some(self.limits().header_timeout);
        let exchange = Arc::new(Exchange::unasked(&connection, limit, self.clock().now()));
        let task = Task {
            kind: JobKind::Identify,
            runtime: None,
            name: "",
            text: described(method, uri, headers, peer, token),
            answers: None,
        };
        let performed = tokio::select! {
            performed = self.server().jobs().perform(&exchange, None, task) => performed,
            () = exchange.timer.expired(self.clock()) => return Err(refused(Lack::Token)),
        };
        let Some(Performed::Value { text, .. }) = performed else {
            return Err(refused(Lack::Token));
        };
        let found = Object::parse(&text).unwrap_or_default();
        if let Some(refusal) = found.present("refused") {
            return Err(refused(match json::string(refusal.get()).as_deref() {
                Some("token") => Lack::Valid,
                Some("scope") => Lack::Scope,
                _ => Lack::Token,
            }));
        }
        let auth = found.object("auth");
        if protection.is_some() && auth.is_none() {
            return Err(refused(Lack::Token));
        }
        Ok(Identity {
            tenant: found.string("tenantId").as_deref().map(Arc::from),
            session: found.string("sessionId").map(std::borrow::Cow::into_owned),
            auth: found.present("auth").map(|auth| auth.get().into()),
            principal: auth.map(|auth| principal(&auth)),
        })
    }
}

/// A request as the program's functions see it, as JSON text: of headers and queries the first value of a name counts.
fn described(method: &Method, uri: &Uri, headers: &HeaderMap, peer: SocketAddr, token: Option<&str>) -> String {
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
    let mut described = Params::new();
    if let Some(token) = token {
        described = described.text("token", token);
    }
    described
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

/// Whose token it is: the user's and the client's name; of a verifier that tells neither, the token itself, unreadable.
fn principal(auth: &Object<'_>) -> Arc<str> {
    let (client, subject) = (auth.string("clientId"), auth.string("subject"));
    if client.is_some() || subject.is_some() {
        return format!("{client:?} {subject:?}").into();
    }
    let token = auth.string("token").unwrap_or_default();
    format!("{:x?}", Sha256::digest(token.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_token_is_of_the_same_one_and_nobody_elses() {
        let of = |text: &str| principal(&Object::parse(text).unwrap());
        let ada = of(r#"{"token":"one","subject":"ada","clientId":"app","scopes":["a"]}"#);
        assert_eq!(
            ada,
            of(r#"{"token":"two","subject":"ada","clientId":"app","expiresAt":7}"#)
        );
        for other in [
            r#"{"token":"one","subject":"bob","clientId":"app"}"#,
            r#"{"token":"one","subject":"ada"}"#,
            r#"{"token":"one","subject":"app","clientId":"ada"}"#,
            r#"{"token":"one"}"#,
        ] {
            assert_ne!(ada, of(other), "{other}");
        }
        let nameless = of(r#"{"token":"s3cret"}"#);
        assert_ne!(nameless, of(r#"{"token":"other"}"#));
        assert!(!nameless.contains("s3cret"));
    }
}
