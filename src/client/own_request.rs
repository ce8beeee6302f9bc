//! What became of a request of our own.

use serde_json::value::RawValue;

use super::connection::Refused;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};

/// The result of a request of our own, or why there is none.
pub(super) fn answer(method: &str, ended: Result<Ended, Refused>) -> Result<Box<RawValue>> {
    let (code, problem) = match ended {
        Ok(Ended::Result(answered)) => return Ok(answered.result),
        Ok(Ended::Error(error)) => (
            ErrorCode::ServerError,
            format!("it answered `{method}` with error {}: {}", error.code, error.message),
        ),
        Ok(Ended::TimedOut { .. }) => (
            ErrorCode::Timeout,
            format!("it did not answer `{method}` in time: connecting timed out"),
        ),
        Ok(Ended::Failed(error)) => (error.code(), format!("{error}; it had not answered `{method}`")),
        Ok(Ended::TooLong { bytes }) => (
            ErrorCode::TooLarge,
            format!("its answer to `{method}` has {bytes} bytes, more than `maxMessageBytes`"),
        ),
        Ok(Ended::Lost(error) | Ended::NotSent(error)) | Err(Refused::Gone(Some(error))) => {
            (error.code(), format!("{error}; it had not answered `{method}`"))
        }
        Ok(Ended::Busy) | Err(Refused::Busy) => {
            (ErrorCode::Unavailable, "it does not read what is sent to it".to_owned())
        }
        Ok(Ended::Cancelled | Ended::Closed) | Err(Refused::Gone(None)) => (ErrorCode::Closed, CLOSED.to_owned()),
    };
    Err(Error::new(code, problem))
}

pub(super) const CLOSED: &str = "the toolset was closed while it was connecting";
