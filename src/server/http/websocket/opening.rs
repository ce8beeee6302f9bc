//! The handshake that opens a WebSocket (RFC 6455, section 4.2). No extension is taken, so that nothing is compressed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderMap, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Version};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::protocol::codes::{self, WireError};
use crate::server::http::reply::{HttpReply, empty, not_allowed, refusal};

/// A request for a WebSocket.
pub(crate) struct Opening<'a> {
    pub(crate) head: &'a Parts,
    pub(crate) has_body: bool,
}

const PROTOCOL: &str = "mcp";
const VERSION: &str = "13";

impl Opening<'_> {
    /// The reply that switches.
    ///
    /// # Errors
    /// With the reply that says why it does not.
    #[expect(
        clippy::result_large_err,
        reason = "a reply is moved once, to whoever sent the request"
    )]
    pub(super) fn accept(&self) -> Result<HttpReply, HttpReply> {
        let headers = &self.head.headers;
        if self.head.method != Method::GET {
            return Err(not_allowed("GET"));
        }
        let asks = has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket");
        if self.head.version != Version::HTTP_11 || !asks {
            return Err(upgrade_required());
        }
        if single(headers, &SEC_WEBSOCKET_VERSION) != Some(VERSION) {
            return Err(upgrade_required());
        }
        let key = single(headers, &SEC_WEBSOCKET_KEY)
            .filter(|key| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == NONCE_BYTES));
        let Some(key) = key else {
            return Err(wrong("Sec-WebSocket-Key must be 16 bytes in base64, once"));
        };
        if self.has_body {
            return Err(wrong("a request for a WebSocket has no body"));
        }
        let offers = headers.contains_key(SEC_WEBSOCKET_PROTOCOL);
        let is_ours = has_exact(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
        if offers && !is_ours {
            return Err(wrong("the only subprotocol is mcp"));
        }
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        let mut reply = empty(StatusCode::SWITCHING_PROTOCOLS);
        let told = reply.headers_mut();
        told.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        told.insert(UPGRADE, HeaderValue::from_static("websocket"));
        if let Ok(accept) = accept {
            told.insert(SEC_WEBSOCKET_ACCEPT, accept);
        }
        if is_ours {
            told.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        }
        Ok(reply)
    }
}

/// How many bytes a key stands for.
const NONCE_BYTES: usize = 16;

fn upgrade_required() -> HttpReply {
    let mut reply = empty(StatusCode::UPGRADE_REQUIRED);
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
    reply
}

fn wrong(text: &str) -> HttpReply {
    refusal(StatusCode::BAD_REQUEST, &WireError::new(codes::INVALID_REQUEST, text))
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|found| found.eq_ignore_ascii_case(token))
}

/// Names of subprotocols are compared letter by letter.
fn has_exact(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|found| found == token)
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (first, more) = (values.next()?, values.next());
    first.to_str().ok().filter(|_| more.is_none())
}
