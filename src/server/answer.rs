//! Answers on their way out.

use std::time::Duration;

use super::tenants::Load;
use crate::protocol::codes::{self, WireError};
use crate::protocol::message;
use crate::protocol::revision::Era;

/// The answer to a request, or to several at once.
#[derive(Debug)]
pub(crate) struct Answer {
    /// One line of text.
    pub(crate) text: String,
    pub(crate) fault: Option<Fault>,
    /// What counts as in flight until it is written.
    pub(crate) load: Option<Load>,
}

/// What kind of error an answer is, for wires that tell by a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No message that a server takes.
    Malformed,
    /// What the request says of itself is missing, wrong, or not enough.
    Envelope,
    /// There is no such method.
    Method,
    /// Its tenant has reached a limit; after so many seconds it may try again.
    Limited(u64),
    Other,
}

impl Answer {
    pub(crate) fn of(id: &str, outcome: Result<impl AsRef<str>, WireError>) -> Self {
        match outcome {
            Ok(result) => Self {
                text: message::result(id, result.as_ref()),
                fault: None,
                load: None,
            },
            Err(error) => Self::refusal(Some(id), &error, Fault::of(&error)),
        }
    }

    /// Where the id could not be read there is none.
    pub(crate) fn refusal(id: Option<&str>, error: &WireError, fault: Fault) -> Self {
        let text = match id {
            Some(id) => message::error(id, error),
            None => format!("{{\"jsonrpc\":\"2.0\",\"error\":{}}}", error.to_json()),
        };
        Self {
            text,
            fault: Some(fault),
            load: None,
        }
    }

    /// Counts as in flight, with what was asked, until it is written.
    #[must_use]
    pub(crate) fn carrying(mut self, load: Option<Load>) -> Self {
        self.load = load.map(|mut load| {
            load.grow(self.text.len());
            load
        });
        self
    }

    pub(crate) fn is_limited(&self) -> bool {
        matches!(self.fault, Some(Fault::Limited(_)))
    }
}

impl Fault {
    pub(crate) fn of(error: &WireError) -> Self {
        if let Some(retry_after) = error.retry_after {
            return Self::Limited(whole_seconds(retry_after));
        }
        match error.code {
            codes::METHOD_NOT_FOUND => Self::Method,
            codes::HEADER_MISMATCH | codes::MISSING_CLIENT_CAPABILITY | codes::UNSUPPORTED_VERSION => Self::Envelope,
            _ => Self::Other,
        }
    }
}

/// Never fewer than it takes, and at least one.
fn whole_seconds(span: Duration) -> u64 {
    let has_more = span.subsec_nanos() > 0;
    span.as_secs().saturating_add(u64::from(has_more)).max(1)
}

/// The time of a request ran out.
pub(crate) fn timed_out(era: Era) -> WireError {
    match era {
        Era::Session => WireError::new(codes::REQUEST_TIMED_OUT, TIMED_OUT),
        Era::Stateless => WireError::internal(TIMED_OUT).with_data("{\"reason\":\"timeout\"}".to_owned()),
    }
}

/// Too many requests wait.
pub(crate) fn busy(era: Era) -> WireError {
    match era {
        Era::Session => WireError::new(codes::SERVER_BUSY, BUSY),
        Era::Stateless => WireError::internal(BUSY).with_data("{\"reason\":\"busy\"}".to_owned()),
    }
}

/// The server stops, and takes nothing any more.
pub(crate) fn stopping(era: Era) -> WireError {
    match era {
        Era::Session => WireError::new(codes::SERVER_BUSY, STOPPING),
        Era::Stateless => WireError::internal(STOPPING).with_data("{\"reason\":\"stopping\"}".to_owned()),
    }
}

/// One text for whoever may not reach a runtime, whatever the reason.
pub(crate) fn unauthorized() -> WireError {
    WireError::new(codes::UNAUTHORIZED, "Unauthorized")
}

/// Code of the program threw.
pub(crate) fn thrown(reference: &str) -> WireError {
    WireError::internal(format!("Internal error (ref {reference})"))
}

const TIMED_OUT: &str = "Request timed out";
const BUSY: &str = "Server busy";
const STOPPING: &str = "Server is stopping";
