//! How the core's failures look on the other side: values with a stable code, which the facade turns into errors where
//! there is a useful stack.

use napi_derive::napi;

use crate::error::{Error, ErrorCode};

/// The stable names of what can go wrong; the public `McpErrorCode` is derived from this list.
#[napi(string_enum = "kebab-case")]
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NativeErrorCode {
    ConnectionLost,
    Timeout,
    ServerError,
    ToolError,
    OutputSchema,
    Unavailable,
    Closed,
    NotPublished,
    Unauthorized,
    HostBlocked,
    TooLarge,
    InvalidArguments,
    InvalidOption,
    InvalidResponse,
    Store,
}

/// A failure as a value.
#[napi(object, object_from_js = false)]
#[derive(serde::Serialize)]
pub struct NativeFailure {
    pub code: NativeErrorCode,
    pub message: String,
    /// JSON text.
    pub data: Option<String>,
}

/// What a synchronous export answers: a JSON text, or a failure.
#[napi(object, object_from_js = false)]
pub struct NativeReply {
    pub text: Option<String>,
    pub failure: Option<NativeFailure>,
}

impl From<&Error> for NativeFailure {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code().into(),
            message: error.message().to_owned(),
            data: error.data().map(ToOwned::to_owned),
        }
    }
}

impl From<crate::error::Result<Option<String>>> for NativeReply {
    fn from(result: crate::error::Result<Option<String>>) -> Self {
        match result {
            Ok(text) => Self { text, failure: None },
            Err(error) => Self {
                text: None,
                failure: Some(NativeFailure::from(&error)),
            },
        }
    }
}

impl From<ErrorCode> for NativeErrorCode {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::ConnectionLost => Self::ConnectionLost,
            ErrorCode::Timeout => Self::Timeout,
            ErrorCode::ServerError => Self::ServerError,
            ErrorCode::ToolError => Self::ToolError,
            ErrorCode::OutputSchema => Self::OutputSchema,
            ErrorCode::Unavailable => Self::Unavailable,
            ErrorCode::Closed => Self::Closed,
            ErrorCode::NotPublished => Self::NotPublished,
            ErrorCode::Unauthorized => Self::Unauthorized,
            ErrorCode::HostBlocked => Self::HostBlocked,
            ErrorCode::TooLarge => Self::TooLarge,
            ErrorCode::InvalidArguments => Self::InvalidArguments,
            ErrorCode::InvalidOption => Self::InvalidOption,
            ErrorCode::InvalidResponse => Self::InvalidResponse,
            ErrorCode::Store => Self::Store,
        }
    }
}
