//! Asking a server what it speaks, with `server/discover`: over HTTP before anything else, and on a connection that stands.

use serde_json::value::RawValue;

use super::connection::Connection;
use super::options::ProtocolMode;
use super::own_request::answer;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::host::Clock;
use crate::protocol::codes::UNSUPPORTED_VERSION;
use crate::protocol::handshake::{self, Established, Introduction};
use crate::protocol::message::{self, Message, Params};
use crate::protocol::peer::Patience;
use crate::protocol::revision::Revision;
use crate::protocol::wire::http::probe::{self, Failure, Probed};
use crate::transport::http::discover::{DISCOVER, discover};
use crate::transport::http::endpoint::Endpoint;

/// Asks over HTTP; nothing means the session era.
///
/// # Errors
/// When it is not known what the server speaks, or nothing that this client does.
pub(super) async fn over_http(
    endpoint: &Endpoint,
    clock: &dyn Clock,
    mode: ProtocolMode,
    introduction: Introduction<'_>,
) -> Result<(Option<Revision>, Option<Box<RawValue>>)> {
    let mut revision = match mode {
        ProtocolMode::Pin(revision) => revision,
        ProtocolMode::Auto | ProtocolMode::Legacy => Revision::NEWEST,
    };
    let mut insisted = false;
    loop {
        let envelope = introduction.envelope(revision);
        let text = message::request(u64::from(insisted), DISCOVER, &Params::new(), None, &envelope);
        let (status, reply) = discover(endpoint, clock, revision, &text).await?;
        let probed = Probed::Reply {
            status,
            message: reply.as_deref(),
        };
        let failure = match probe::read(probed, revision) {
            probe::Next::Stateless(revision) => {
                let result = reply.as_deref().and_then(|reply| match Message::parse(reply) {
                    Ok(Message::Response {
                        outcome: Ok(result), ..
                    }) => Some(result.to_owned()),
                    _ => None,
                });
                return Ok((Some(revision), result));
            }
            probe::Next::Initialize if matches!(mode, ProtocolMode::Pin(_)) => {
                format!("it does not speak {}", revision.name())
            }
            probe::Next::Initialize => return Ok((None, None)),
            probe::Next::RetryWithVersion(other) if other != revision => {
                revision = other;
                continue;
            }
            probe::Next::RetryWithVersion(_) => "it refuses the revision that it says it speaks".to_owned(),
            // Some refuse the very revision that they list, once.
            probe::Next::Fail(Failure::Refused(error)) if error.code == UNSUPPORTED_VERSION && !insisted => {
                insisted = true;
                continue;
            }
            probe::Next::Fail(failure) => return Err(refused(failure)),
        };
        return Err(Error::new(ErrorCode::InvalidResponse, failure));
    }
}

/// Asks on a connection that stands, which from here on is of the stateless era.
///
/// # Errors
/// When it does not answer as a server of that era does.
pub(super) async fn on(
    connection: &Connection,
    patience: impl Fn() -> Patience,
    revision: Revision,
    introduction: Introduction<'_>,
) -> Result<Established> {
    let mut revision = revision;
    let mut asked = 0;
    loop {
        asked += 1;
        connection.envelope(introduction.envelope(revision)).await;
        let mut result = None;
        let next = match connection.ask(DISCOVER, Params::new(), patience()).await {
            Ok(Ended::Error(error)) => probe::read_outcome(Err(error), revision),
            ended => probe::read_outcome(Ok(result.insert(answer(DISCOVER, ended)?)), revision),
        };
        match next {
            probe::Next::Stateless(spoken) if spoken == revision => {
                return Ok(handshake::read_discover_result(&result.unwrap_or_default(), revision));
            }
            probe::Next::Stateless(other) | probe::Next::RetryWithVersion(other) if asked == 1 => revision = other,
            // Some refuse the very revision that they list, once.
            probe::Next::Fail(Failure::Refused(error)) if error.code == UNSUPPORTED_VERSION && asked == 1 => {}
            probe::Next::Fail(failure) => return Err(refused(failure)),
            probe::Next::Stateless(_) | probe::Next::RetryWithVersion(_) | probe::Next::Initialize => {
                let message = format!("it does not speak {}", revision.name());
                return Err(Error::new(ErrorCode::InvalidResponse, message));
            }
        }
    }
}

fn refused(failure: Failure) -> Error {
    match failure {
        Failure::Unauthorized => Error::new(ErrorCode::Unauthorized, "it rejected authorization (HTTP 401)"),
        Failure::Forbidden => Error::new(ErrorCode::Unauthorized, "it denied access (HTTP 403)"),
        Failure::NoAnswer => Error::new(ErrorCode::ConnectionLost, "it did not answer `server/discover`"),
        Failure::Status(status) => Error::new(
            ErrorCode::InvalidResponse,
            format!("it answered `server/discover` with HTTP {}", status.as_u16()),
        ),
        Failure::NoCommonVersion(versions) => Error::new(
            ErrorCode::InvalidResponse,
            format!("it speaks no revision that this client speaks: {}", versions.join(", ")),
        ),
        Failure::Refused(error) => Error::new(
            ErrorCode::ServerError,
            format!(
                "it answered `server/discover` with error {}: {}",
                error.code, error.message
            ),
        ),
    }
}
