//! The one error type of the core: what failed, under a stable code, with what caused it. It knows nothing of JSON-RPC
//! numbers (`protocol::codes`) nor of Node-API (`binding::reply`), and its text never holds a secret.

use std::error::Error as StdError;
use std::fmt;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn StdError + Send + Sync>;

/// Stable names of everything that can go wrong (client specification, section 1). The public `McpErrorCode` is derived
/// from this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ErrorCode {
    /// The connection went away under a call; whether the server carried it out is unknown.
    ConnectionLost,
    /// A time limit ran out.
    Timeout,
    /// The server answered with a JSON-RPC error.
    ServerError,
    /// The tool ran and reported a failure.
    ToolError,
    /// A structured result does not fit the tool's output schema.
    OutputSchema,
    /// The server cannot be called.
    Unavailable,
    /// The toolset was closed.
    Closed,
    /// The server no longer publishes the tool.
    NotPublished,
    /// The server refused the credentials.
    Unauthorized,
    /// A host outside the allowed ones.
    HostBlocked,
    /// A message over its size limit.
    TooLarge,
    /// Arguments that are not a JSON object.
    InvalidArguments,
    /// A wrong option.
    InvalidOption,
    /// The server sent something that is not what the protocol says.
    InvalidResponse,
    /// A connection store failed.
    Store,
}

/// What failed. `Debug` and `Display` show the text alone, which by rule holds no secret.
pub(crate) struct Error {
    code: ErrorCode,
    message: String,
    /// JSON text that travels to the caller beside the message.
    data: Option<String>,
    source: Option<Source>,
}

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            source: None,
        }
    }

    pub(crate) fn invalid_option(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidOption, message)
    }

    /// Attaches JSON text for the caller.
    #[must_use]
    pub(crate) fn with_data(mut self, data: impl Into<String>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// The same in other words.
    #[must_use]
    pub(crate) fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Whether it was caused by such a thing.
    pub(crate) fn is_from<S: StdError + 'static>(&self) -> bool {
        self.source
            .as_deref()
            .is_some_and(<dyn StdError + Send + Sync>::is::<S>)
    }

    #[must_use]
    pub(crate) fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
