//! How the end of a request that brought no result is told: what it was, what became of it, and whether the server may have
//! carried it out.

use super::state::server::Server;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode};
use crate::json;

/// `what` names the request and its server.
pub(super) fn failure(ended: Ended, what: &str, server: &Server) -> Error {
    match ended {
        Ended::Error(error) => {
            let message = format!("{what} was answered with error {}: {}", error.code, error.message);
            Error::new(ErrorCode::ServerError, message).with_data(error.to_json())
        }
        Ended::TimedOut { waited } => {
            let message = format!(
                "{what} timed out after {} ms; its outcome is unknown",
                waited.as_millis()
            );
            Error::new(ErrorCode::Timeout, message)
        }
        Ended::TooLong { bytes } => {
            let message = format!("{what} was answered with {bytes} bytes, more than `maxMessageBytes`");
            Error::new(ErrorCode::TooLarge, message)
        }
        Ended::Failed(error) if error.code() == ErrorCode::ConnectionLost && !error.message().contains("unknown") => {
            Error::new(error.code(), format!("{what} failed: {error}; its outcome is unknown"))
        }
        Ended::Failed(error) => Error::new(error.code(), format!("{what} failed: {error}")),
        Ended::Lost(error) => {
            let message = format!("{what} lost its connection: {error}; its outcome is unknown");
            Error::new(ErrorCode::ConnectionLost, message)
        }
        // A result is no failure, and who gave the request up does not ask.
        Ended::Closed | Ended::Cancelled | Ended::Result(_) => {
            let message = format!(
                "{what} was under way when the toolset was closed; its outcome is unknown and the server unavailable"
            );
            Error::new(ErrorCode::Closed, message)
        }
        Ended::NotSent(error) => unavailable(server, &error),
        Ended::Busy => {
            let name = json::quote(&server.config.name);
            Error::new(
                ErrorCode::Unavailable,
                format!("MCP server {name} does not keep up: too much waits to be sent or answered"),
            )
        }
    }
}

pub(super) fn unavailable(server: &Server, cause: &Error) -> Error {
    let name = json::quote(&server.config.name);
    Error::new(
        ErrorCode::Unavailable,
        format!("MCP server {name} is unavailable: {cause}"),
    )
}
