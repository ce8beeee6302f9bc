//! What the exchanges of one connection have in common, whichever transport it is: headers, the waiting that a server may
//! ask for, what is posted without an answer, and the way back to the driver.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::sync::{mpsc, watch};
use url::Url;

use super::endpoint::{Ask, Endpoint};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::{Credential, Issued};
use crate::guard::redirect::Payload;
use crate::host::Clock;
use crate::host::http::{Body, HttpResponse};
use crate::json;
use crate::limits;
use crate::protocol::revision::Revision;
use crate::protocol::wire::http::{self as rules, Sent, Verdict, judge};
use crate::transport::Received;

pub(super) struct Frame {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) clock: Arc<dyn Clock>,
    tell: mpsc::Sender<Received>,
    /// Nothing before it is known.
    revision: RwLock<Option<Revision>>,
}

/// The head of an answer and what it means.
pub(super) struct Reply {
    pub(super) verdict: Verdict,
    pub(super) response: HttpResponse,
    /// Who answered, where it was redirected.
    pub(super) from: Url,
}

impl Frame {
    /// Messages for the driver come out of the other end.
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        clock: Arc<dyn Clock>,
        revision: Option<Revision>,
    ) -> (Self, mpsc::Receiver<Received>) {
        let (tell, received) = mpsc::channel(limits::MAX_QUEUED_MESSAGES);
        let frame = Self {
            endpoint,
            clock,
            tell,
            revision: RwLock::new(revision),
        };
        (frame, received)
    }

    pub(super) fn settle(&self, revision: Revision) {
        *self.revision.write().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        *self.revision.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and again when the server says when to.
    ///
    /// # Errors
    /// As `Endpoint::exchange`.
    pub(super) async fn exchange(&self, sent: Sent, ask: &Ask<'_>) -> Result<Reply> {
        exchange(&self.endpoint, &*self.clock, sent, ask).await
    }

    pub(super) async fn hand_over(&self, received: Received) {
        // Nobody listens once the connection is closing.
        drop(self.tell.send(received).await);
    }

    /// Sends what has no answer. A failure of it shows in the requests that follow.
    pub(super) async fn post_quietly(&self, url: &Url, issued: &[Issued], text: &str) {
        let headers = self.post_headers();
        let ask = Ask {
            method: Method::POST,
            url,
            payload: Payload::OfTheProtocol,
            protocol: &headers,
            issued,
            credential: None,
            body: Some(text),
        };
        let problem = match self.exchange(Sent::Notification, &ask).await {
            Ok(reply) if matches!(reply.verdict, Verdict::Accepted) => return,
            Ok(reply) => format!("HTTP {}", reply.response.status.as_u16()),
            Err(error) => error.to_string(),
        };
        self.tell(
            Rule::ProtocolViolation,
            &format!("it did not take a notification: {problem}"),
        );
    }

    pub(super) fn tell(&self, rule: Rule, what: &str) {
        let server = &self.endpoint.server;
        let message = format!("MCP server {}: {what}", json::quote(server));
        (self.endpoint.tell)(Diagnostic::new(rule, server, message));
    }

    /// The credential of one call, which from here on goes with everything that has none of its own.
    ///
    /// # Errors
    /// `unauthorized` for a token that cannot be sent.
    pub(super) fn credential(&self, bearer: Option<&str>) -> Result<Option<Credential>> {
        let Some(token) = bearer else { return Ok(None) };
        self.endpoint.renew_credential(token)?;
        Credential::bearer(token).map(Some)
    }

    pub(super) fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if let Some(revision) = self.revision() {
            insert_revision(&mut headers, revision);
        }
        headers
    }

    pub(super) fn post_headers(&self) -> HeaderMap {
        let mut headers = rules::post_headers();
        if let Some(revision) = self.revision() {
            insert_revision(&mut headers, revision);
        }
        headers
    }

    pub(super) fn error(&self, code: ErrorCode, message: impl AsRef<str>) -> Error {
        self.endpoint.error(code, message)
    }

    /// Why a request with this verdict, which is no answer, has failed.
    pub(super) fn refusal(&self, verdict: &Verdict, status: StatusCode) -> Error {
        let (code, message) = match verdict {
            Verdict::Unauthorized => (
                ErrorCode::Unauthorized,
                "it rejected authorization (HTTP 401)".to_owned(),
            ),
            Verdict::Forbidden => (ErrorCode::Unauthorized, "it denied access (HTTP 403)".to_owned()),
            Verdict::NotMcp(media) => {
                let media = media.as_deref().unwrap_or("nothing of a known type");
                (
                    ErrorCode::InvalidResponse,
                    format!("it answered with {media}, which is no answer"),
                )
            }
            Verdict::Accepted | Verdict::Empty(_) => {
                (ErrorCode::InvalidResponse, "it answered without an answer".to_owned())
            }
            _ => (
                ErrorCode::InvalidResponse,
                format!("it answered with HTTP {}", status.as_u16()),
            ),
        };
        self.error(code, message)
    }
}

/// Sends a request, and again when the server says when to. Whoever has no frame yet uses this.
///
/// # Errors
/// As `Endpoint::exchange`.
pub(super) async fn exchange(endpoint: &Endpoint, clock: &dyn Clock, sent: Sent, ask: &Ask<'_>) -> Result<Reply> {
    loop {
        let (response, from) = endpoint.exchange(ask).await?;
        let names_session = !ask.issued.is_empty();
        let now = clock.unix_seconds();
        let verdict = judge(sent, names_session, response.status, &response.headers, now);
        match verdict {
            // What a server may offer or not is not waited for here.
            Verdict::RetryAfter(_, wait) if sent != Sent::OptionalStream => {
                drop(response);
                pause(clock, wait).await;
            }
            verdict => {
                return Ok(Reply {
                    verdict,
                    response,
                    from,
                });
            }
        }
    }
}

/// The body of a failure, which may say more than its status: as much of it as comes soon, or nothing.
pub(super) async fn read_failure(endpoint: &Endpoint, clock: &dyn Clock, body: Body) -> Option<String> {
    let patience = clock.sleep_until(clock.now() + limits::ERROR_BODY_WAIT);
    tokio::select! {
        body = endpoint.read(body) => body.ok().and_then(Result::ok),
        () = patience => None,
    }
}

/// Waits as long as a server asks for, within bounds.
pub(super) async fn pause(clock: &dyn Clock, wait: Duration) {
    let wait = wait.clamp(limits::SHORTEST_RETRY, limits::LONGEST_WAIT);
    clock.sleep_until(clock.now() + wait).await;
}

pub(super) fn insert_revision(headers: &mut HeaderMap, revision: Revision) {
    headers.insert(
        HeaderName::from_static(rules::PROTOCOL_VERSION),
        rules::protocol_version(revision),
    );
}

/// Something that has to come first, as long as it is waited for.
pub(super) type Barrier = Option<watch::Receiver<()>>;

/// Waits until what has to come first was taken.
pub(super) async fn passed(barrier: Barrier) {
    if let Some(mut barrier) = barrier {
        // It never changes: it is closed.
        drop(barrier.changed().await);
    }
}
