//! What the core asks of an HTTP stack: one exchange at a time, without any policy. Redirects, hosts, credentials and
//! size limits are decided above it, so that they hold whichever stack is behind it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use crate::error::Result;

/// Sends requests. One per toolset; it may keep connections open between them.
pub(crate) trait HttpClient: Send + Sync {
    /// Sends a request and resolves when the head of its answer is there. Never follows a redirect. Dropping the future,
    /// or later the body, closes the exchange.
    ///
    /// # Errors
    /// `connection-lost` when there is no answer, `host-blocked` when an address is refused, with a text that names the
    /// host and neither query, userinfo nor any header.
    fn send(&self, request: HttpRequest) -> Exchange;
}

pub(crate) type Exchange = Pin<Box<dyn Future<Output = Result<HttpResponse>> + Send>>;

/// Its headers may hold secrets, so that it has no `Debug`.
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
}

pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Decoded: no content coding is left.
    pub(crate) body: Body,
}

/// The chunks of a body. An error in it ends it.
pub(crate) type Body = Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>;

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpResponse({})", self.status)
    }
}
