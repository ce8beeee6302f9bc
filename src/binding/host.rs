//! The core's listener, over the mailbox into JavaScript. What nobody asked for waits in lanes with a
//! bound.

use std::sync::Arc;

use napi_derive::napi;

use super::callback::{Lane, Mailbox};
use super::reply::NativeFailure;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode};
use crate::host::{CallEnd, CallId, Listener};
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
    /// Whether anybody listens to standard error.
    wants_stderr: bool,
}

impl JsListener {
    pub(super) fn new(mailbox: Arc<Mailbox<NativeEvent>>, wants_stderr: bool) -> Self {
        Self { mailbox, wants_stderr }
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
        if !self.wants_stderr {
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

    fn of(kind: NativeEventKind) -> Self {
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
