//! The core's listener, over the mailbox into JavaScript. What nobody asked for waits in lanes with a
//! bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use napi_derive::napi;
use tokio::sync::oneshot;

use super::callback::{Lane, Mailbox};
use super::reply::NativeFailure;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::host::{Answer, CallEnd, CallId, Listener};
use crate::json;
use crate::limits;

/// What happened.
#[napi(string_enum = "kebab-case")]
#[derive(Debug, PartialEq, Eq)]
pub enum NativeEventKind {
    /// A request of the facade ended: `id` is its number, `text` the JSON text of its value, or `failure`.
    Settled,
    /// A call was given up by its caller: `id` is its number.
    Aborted,
    /// Progress of the call `id`; `text` is the JSON text of the notification's params.
    Progress,
    /// `text` is the JSON text of a diagnostic.
    Diagnostic,
    /// The credential for `server` is asked for, under the number `id`.
    Credential,
    /// The HTTP request `id` is to be made through the user's `fetch`; `text` is its JSON text.
    Fetch,
    /// The next chunk of the answer to `id` is asked for.
    Pull,
    /// The HTTP request `id` is given up.
    Drop,
    /// `server` wrote the line `text` to its standard error.
    Stderr,
}

#[napi(object, object_from_js = false)]
pub struct NativeEvent {
    pub kind: NativeEventKind,
    pub id: Option<i64>,
    pub server: Option<String>,
    pub text: Option<String>,
    pub failure: Option<NativeFailure>,
}

pub(super) struct JsListener {
    mailbox: Arc<Mailbox<NativeEvent>>,
    questions: Arc<Questions>,
    hears: Hears,
}

/// What the facade has functions for.
#[derive(Clone, Copy)]
pub(super) struct Hears {
    pub(super) stderr: bool,
    pub(super) auth: bool,
}

/// What was asked of the facade and not yet answered.
#[derive(Default)]
pub(super) struct Questions(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Result<Option<String>>>>,
}

impl Questions {
    /// A new question's number, and where its answer comes.
    fn ask(&self) -> (i64, oneshot::Receiver<Result<Option<String>>>) {
        let (answer, answered) = oneshot::channel();
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.last += 1;
        let id = asked.last;
        // Whoever gave up waiting is forgotten here.
        asked.waiting.retain(|_, waiting| !waiting.is_closed());
        asked.waiting.insert(id, answer);
        (id, answered)
    }

    pub(super) fn answer(&self, id: i64, answer: Result<Option<String>>) {
        let waiting = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .remove(&id);
        if let Some(waiting) = waiting {
            // Nobody listens when the connection was given up meanwhile.
            drop(waiting.send(answer));
        }
    }
}

impl JsListener {
    pub(super) fn new(mailbox: Arc<Mailbox<NativeEvent>>, questions: Arc<Questions>, hears: Hears) -> Self {
        Self {
            mailbox,
            questions,
            hears,
        }
    }
}

impl Listener for JsListener {
    fn settled(&self, call: CallId, end: CallEnd) {
        self.mailbox.answer(NativeEvent::settled(call.cast_signed(), end));
    }

    fn progress(&self, call: CallId, params: String) {
        let bytes = params.len();
        let event = NativeEvent {
            id: Some(call.cast_signed()),
            text: Some(params),
            ..NativeEvent::of(NativeEventKind::Progress)
        };
        self.mailbox.tell(Lane::Progress, bytes, event);
    }

    fn credential(&self, server: &str) -> Answer {
        if !self.hears.auth {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let (id, answered) = self.questions.ask();
        self.mailbox.answer(NativeEvent {
            id: Some(id),
            server: Some(server.to_owned()),
            ..NativeEvent::of(NativeEventKind::Credential)
        });
        let gone = || {
            Err(Error::new(
                ErrorCode::Closed,
                "the toolset was closed while a credential was asked for",
            ))
        };
        Box::pin(async move { answered.await.unwrap_or_else(|_| gone()) })
    }

    fn diagnostic(&self, diagnostic: Diagnostic) {
        let text = to_json(&diagnostic);
        let bytes = text.len();
        let event = NativeEvent {
            text: Some(text),
            ..NativeEvent::of(NativeEventKind::Diagnostic)
        };
        if diagnostic.rule.is_told_once() {
            // Bounded by the configuration, and not to be crowded out by what a noisy server causes.
            self.mailbox.answer(event);
        } else {
            self.mailbox.tell(Lane::Diagnostics, bytes, event);
        }
    }

    fn stderr(&self, server: &str, line: String) {
        if !self.hears.stderr {
            return;
        }
        let bytes = line.len();
        let event = NativeEvent {
            server: Some(server.to_owned()),
            text: Some(line),
            ..NativeEvent::of(NativeEventKind::Stderr)
        };
        self.mailbox.tell(Lane::Stderr, bytes, event);
    }
}

impl NativeEvent {
    pub(super) fn settled(id: i64, end: CallEnd) -> Self {
        match end {
            // JavaScript cannot hold it in one string, and the exception would cost everything that is delivered with it.
            CallEnd::Value(text) if text.len() > limits::MAX_TEXT_TO_JS_BYTES => {
                let message = format!(
                    "the value has {} bytes, more than JavaScript can hold in one string",
                    text.len()
                );
                Self::settled(id, CallEnd::Failed(Error::new(ErrorCode::TooLarge, message)))
            }
            CallEnd::Value(text) => Self {
                id: Some(id),
                text: Some(text),
                ..Self::of(NativeEventKind::Settled)
            },
            CallEnd::Failed(error) => Self {
                id: Some(id),
                failure: Some(NativeFailure::from(&error)),
                ..Self::of(NativeEventKind::Settled)
            },
            CallEnd::Aborted => Self {
                id: Some(id),
                ..Self::of(NativeEventKind::Aborted)
            },
        }
    }

    pub(super) fn of(kind: NativeEventKind) -> Self {
        Self {
            kind,
            id: None,
            server: None,
            text: None,
            failure: None,
        }
    }
}

fn to_json(diagnostic: &Diagnostic) -> String {
    format!(
        "{{\"section\":{},\"rule\":{},\"origin\":{},\"message\":{}}}",
        json::quote(diagnostic.rule.section()),
        json::quote(diagnostic.rule.name()),
        json::quote(&diagnostic.origin),
        json::quote(&diagnostic.message)
    )
}
