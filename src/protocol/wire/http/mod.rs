//! What an HTTP exchange means to MCP (Streamable HTTP, and HTTP+SSE of 2024-11-05): which headers a request has, what
//! the head of a reply says about it, and which session it belongs to. Sends nothing, reads no body but as text that it
//! is given, and decides nothing about hosts, redirects or credentials: that is `guard`.

pub(crate) mod probe;
mod retry_after;

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::json::{self, Object};
use crate::limits::MAX_SESSION_ID_BYTES;
use crate::protocol::codes::WireError;
use crate::protocol::message::Message;
use crate::protocol::revision::Revision;

/// `Accept` of everything that is posted; a server may refuse a request that does not list both.
pub(crate) const ACCEPT_REPLY: &str = "application/json, text/event-stream";
/// `Accept` of a GET.
pub(crate) const ACCEPT_STREAM: &str = "text/event-stream";
/// `Content-Type` of everything that is posted, with no parameter: there are servers that compare it as a string.
pub(crate) const CONTENT_TYPE: &str = "application/json";

/// The headers of everything that is posted, but for those that depend on the connection.
pub(crate) fn post_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT_REPLY));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers
}

// Names of headers, in the spelling of the `http` crate.

pub(crate) const SESSION_ID: &str = "mcp-session-id";
pub(crate) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

/// What a reply is a reply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// POST of a request, which is answered in the reply.
    Request,
    /// POST of what has no answer, and in 2024-11-05 of anything: answers come on the stream there.
    Notification,
    /// GET of the stream that a server may offer or not; also one that takes up a cut stream again.
    OptionalStream,
    /// GET of the stream of 2024-11-05, without which there is no connection.
    Stream,
    /// DELETE of a session.
    Delete,
}

/// What the head of a reply says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The answer is the body, one JSON text.
    Json,
    /// The answer comes among the events of the body.
    EventStream,
    /// Done, and there is nothing to read. For a DELETE also: the server ends its sessions by itself.
    Accepted,
    /// A failure whose body may be a JSON-RPC error, and that is then the answer; `error_in` tells. If it is none, this
    /// is `Failed`.
    ErrorBody(StatusCode),
    /// The server no longer knows the session that the request named.
    SessionGone,
    Unauthorized,
    Forbidden,
    /// To be sent again after this time.
    RetryAfter(StatusCode, Duration),
    /// A redirect that nobody followed, and where it leads, as it was sent.
    Redirect(StatusCode, HeaderValue),
    /// No stream is offered here, for whatever reason; all else works without.
    NoStream(StatusCode),
    /// A success that cannot be an answer: its media type, where it names one that can be shown.
    NotMcp(Option<String>),
    /// A success that says that there is no answer.
    Empty(StatusCode),
    Failed(StatusCode),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    EventStream,
    /// In lower case; nothing when it is no media type.
    Other(Option<String>),
}

/// The name that a server gave to a session. Whoever knows it can act in the session, so that it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SessionId(HeaderValue);

/// A session id with characters that none may have, or far too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnusableSessionId;

/// `names_session`: the request had a session id. `now`: seconds since 1970.
pub(crate) fn judge(sent: Sent, names_session: bool, status: StatusCode, headers: &HeaderMap, now: u64) -> Verdict {
    if status.is_success() {
        return judge_success(sent, status, headers);
    }
    if sent == Sent::Delete && status == StatusCode::METHOD_NOT_ALLOWED {
        return Verdict::Accepted;
    }
    let may_be_later = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    if may_be_later && let Some(wait) = headers.get(header::RETRY_AFTER).and_then(|v| retry_after::read(v, now)) {
        return Verdict::RetryAfter(status, wait);
    }
    if status.is_redirection()
        && let Some(target) = headers.get(header::LOCATION)
    {
        return Verdict::Redirect(status, target.clone());
    }
    if sent == Sent::OptionalStream {
        return Verdict::NoStream(status);
    }
    match status {
        StatusCode::UNAUTHORIZED => Verdict::Unauthorized,
        StatusCode::FORBIDDEN => Verdict::Forbidden,
        StatusCode::NOT_FOUND if names_session => Verdict::SessionGone,
        _ if has_error_body(sent, status, headers) => Verdict::ErrorBody(status),
        _ => Verdict::Failed(status),
    }
}

fn judge_success(sent: Sent, status: StatusCode, headers: &HeaderMap) -> Verdict {
    match (sent, MediaType::of(headers)) {
        (Sent::Notification | Sent::Delete, _) => Verdict::Accepted,
        (Sent::Request, MediaType::Json) => Verdict::Json,
        (Sent::Request | Sent::OptionalStream | Sent::Stream, MediaType::EventStream) => Verdict::EventStream,
        (Sent::OptionalStream, _) => Verdict::NoStream(status),
        (Sent::Request | Sent::Stream, _) if NO_BODY.contains(&status) => Verdict::Empty(status),
        (Sent::Request | Sent::Stream, MediaType::Other(media)) => Verdict::NotMcp(media),
        (Sent::Stream, MediaType::Json) => Verdict::NotMcp(Some(CONTENT_TYPE.to_owned())),
    }
}

/// A JSON-RPC error is looked for wherever the protocol has one, whatever the type says, and elsewhere by the type.
fn has_error_body(sent: Sent, status: StatusCode, headers: &HeaderMap) -> bool {
    let is_failure = status.is_client_error() || status.is_server_error();
    matches!(sent, Sent::Request | Sent::Notification)
        && is_failure
        && (matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
            || MediaType::of(headers) == MediaType::Json)
}

/// The JSON-RPC error that the body of a failure is. Stricter than messages are read elsewhere: other interfaces have
/// bodies with an `error` too. Its `id` does not matter, because the reply says which request it belongs to.
pub(crate) fn error_in(body: &str) -> Option<WireError> {
    let object = Object::parse(body)?;
    let is_json_rpc = object.string("jsonrpc")? == "2.0";
    let _code: i64 = json::parse(object.object("error")?.get("code")?.get())?;
    match Message::parse(body) {
        Ok(Message::Response {
            outcome: Err(error), ..
        }) if is_json_rpc => Some(error),
        _ => None,
    }
}

/// `MCP-Protocol-Version`: on everything but `initialize` and what comes before it. Revisions that do not have the header
/// ignore it, and their servers may serve others as well.
pub(crate) const fn protocol_version(revision: Revision) -> HeaderValue {
    HeaderValue::from_static(revision.name())
}

impl MediaType {
    /// Compared by its essence: without case and without parameters.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(header::CONTENT_TYPE) else {
            return Self::Other(None);
        };
        // A comma stands between the values of a repeated header.
        let essence = value.as_bytes().split(|byte| matches!(byte, b';' | b',')).next();
        let essence = essence.unwrap_or_default().trim_ascii().to_ascii_lowercase();
        match &essence[..] {
            b"application/json" => Self::Json,
            b"text/event-stream" => Self::EventStream,
            _ => Self::Other(shown(essence)),
        }
    }
}

/// A media type that can stand in a text of ours.
fn shown(essence: Vec<u8>) -> Option<String> {
    let is_shown = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+-._".contains(byte);
    let is_one = essence.contains(&b'/') && essence.len() <= LONGEST_SHOWN_MEDIA_TYPE && essence.iter().all(is_shown);
    String::from_utf8(essence).ok().filter(|_| is_one)
}

impl SessionId {
    /// The session that the reply to `initialize` opens, if it opens one.
    ///
    /// # Errors
    /// When it names one that must not be sent back, or more than one.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, UnusableSessionId> {
        let mut values = headers.get_all(SESSION_ID).iter().filter(|value| !value.is_empty());
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let is_one = values.all(|other| other == value);
        let is_usable =
            is_one && value.len() <= MAX_SESSION_ID_BYTES && value.as_bytes().iter().all(u8::is_ascii_graphic);
        if !is_usable {
            return Err(UnusableSessionId);
        }
        let mut value = value.clone();
        value.set_sensitive(true);
        Ok(Some(Self(value)))
    }

    pub(crate) fn header_value(&self) -> HeaderValue {
        self.0.clone()
    }
}

const NO_BODY: [StatusCode; 3] = [StatusCode::ACCEPTED, StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT];
const LONGEST_SHOWN_MEDIA_TYPE: usize = 64;

#[cfg(test)]
mod tests;
