//! What the core asks of the program around it, as traits: time, and somebody who listens. Implementations live in
//! `binding` and in tests.

pub(crate) mod http;
pub(crate) mod server;

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

/// What the host answers to a question, as text of the question's kind; or nothing. Dropped early, it takes the question
/// back.
///
/// # Errors
/// What the caller's function threw, in words.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Option<String>>> + Send>>;

/// The caller's own number for one call: it comes back with the call's progress and its end.
pub(crate) type CallId = u64;

/// What the host is asked.
pub(crate) struct Question {
    pub(crate) kind: QuestionKind,
    /// The configured name.
    pub(crate) server: String,
    /// The call that it is asked for, where that is known.
    pub(crate) during: Option<CallId>,
    /// JSON text of what it is about; empty where the kind says all.
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    /// The bearer token for the server; nothing where the caller gives none.
    Credential,
    /// A message by a language model: the request's params, answered with a `CreateMessageResult`.
    Sampling,
    /// Input by the user: the request's params, answered with an `ElicitResult`.
    Elicitation,
    /// The folders that the server may work in, as an array of roots.
    Roots,
    /// That the row of the server is saved in the caller's store: it, as an object.
    Save,
    /// The same for the listing of a server that has no row.
    SaveListing,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
}

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
    /// There is another catalogue to take. Told again only after it was taken.
    fn catalogue_changed(&self);
    /// Asks the caller. Only what the options have a function for is asked, but for the credential.
    fn ask(&self, question: Question) -> Answer;
    /// A server sent a log message: its JSON text, as sent.
    fn log(&self, server: &str, params: String);
    /// What a server, by its projected name, has to offer is another.
    fn changed(&self, server: &str, change: Change);
    /// The resource `uri` of a server, by its projected name, was updated; it is the one that was subscribed to under
    /// `subscription`, or part of that one.
    fn updated(&self, server: &str, subscription: &str, uri: &str);
    /// A handler of the caller's, by the name of its option, gave an answer that cannot be used, and why.
    fn unusable(&self, handler: &str, problem: &str);
    /// The state of a server changed: all that is known of it, as JSON text.
    fn status(&self, text: String);
    /// A child wrote a line to its standard error.
    fn stderr(&self, server: &str, line: String);
}
