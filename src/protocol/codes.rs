//! JSON-RPC's numeric error codes and the error object as it travels. The codes of `error::ErrorCode` are local and never
//! appear on the wire.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::json::{self, Object};

/// The receiver does not know the method (JSON-RPC 2.0, section 5.1).
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The params of a request are not what its method takes (JSON-RPC 2.0, section 5.1).
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// The receiver failed (JSON-RPC 2.0, section 5.1).
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// Not JSON at all (JSON-RPC 2.0, section 5.1).
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// JSON, and no request (JSON-RPC 2.0, section 5.1).
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// No slot is free and the queue is full (server specification, section 8; the session era alone).
pub(crate) const SERVER_BUSY: i64 = -32_000;
/// A request took too long (server specification, section 8; the session era alone).
pub(crate) const REQUEST_TIMED_OUT: i64 = -32_001;
/// No runtime for whoever asks (server seed, "Multi-tenant routing").
pub(crate) const UNAUTHORIZED: i64 = -32_001;
/// There is no such resource (revisions with a session).
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32_002;
/// A header is missing or differs from the body (protocol 2026-07-28).
pub(crate) const HEADER_MISMATCH: i64 = -32_020;
/// The request needs a capability that it did not declare (protocol 2026-07-28).
pub(crate) const MISSING_CLIENT_CAPABILITY: i64 = -32_021;
/// The revision that the request names is not spoken; `data.supported` lists those that are (protocol 2026-07-28).
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// An error object as a peer sent it, read leniently: what is missing or of another type is left empty.
#[derive(Debug, Default)]
pub(crate) struct WireError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
    /// When to try again, for wires that have a place of their own for it.
    pub(crate) retry_after: Option<Duration>,
}

impl WireError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            retry_after: None,
        }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Attaches JSON text.
    #[must_use]
    pub(crate) fn with_data(mut self, data: String) -> Self {
        self.data = RawValue::from_string(data).ok();
        self
    }

    pub(crate) fn parse(raw: &RawValue) -> Self {
        let Some(object) = Object::parse(raw.get()) else {
            return Self {
                message: raw.get().to_owned(),
                ..Self::default()
            };
        };
        Self {
            code: object
                .get("code")
                .and_then(|code| json::parse::<i64>(code.get()))
                .unwrap_or_default(),
            message: object
                .get("message")
                .and_then(|message| json::string_lossy(message.get()))
                .unwrap_or_default()
                .into_owned(),
            data: object.get("data").map(ToOwned::to_owned),
            retry_after: None,
        }
    }

    /// The error object as JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut text = format!("{{\"code\":{},\"message\":{}", self.code, json::quote(&self.message));
        if let Some(data) = &self.data {
            text.push_str(",\"data\":");
            text.push_str(data.get());
        }
        text.push('}');
        text
    }
}
