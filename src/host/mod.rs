//! What the core asks of the program around it, as traits: time, and somebody who listens. Implementations live in
//! `binding` and in tests.

pub(crate) mod http;

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};

pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The only way time enters the core.
pub(crate) trait Clock: Send + Sync {
    fn now(&self) -> Instant;
    fn sleep_until(&self, instant: Instant) -> Sleep;
    /// The wall clock, in seconds since 1970.
    fn unix_seconds(&self) -> u64;
}

/// What the host answers to a question: a token, or nothing.
///
/// # Errors
/// What the caller's function threw, in words.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Option<String>>> + Send>>;

/// The caller's own number for one call: it comes back with the call's progress and its end.
pub(crate) type CallId = u64;

/// How a call ended.
pub(crate) enum CallEnd {
    /// The JSON text of its value.
    Value(String),
    Failed(Error),
    /// The caller gave it up.
    Aborted,
}

/// Who is told what happens to a toolset. Called from any thread; must return at once and must not block.
pub(crate) trait Listener: Send + Sync {
    /// Told once per call.
    fn settled(&self, call: CallId, end: CallEnd);
    /// A server reported progress of a call: its JSON text, as sent.
    fn progress(&self, call: CallId, params: String);
    fn diagnostic(&self, diagnostic: Diagnostic);
    /// The credential for a server, where the caller gives credentials.
    fn credential(&self, server: &str) -> Answer;
    /// A child wrote a line to its standard error.
    fn stderr(&self, server: &str, line: String);
}
