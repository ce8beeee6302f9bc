//! The core's listener, over the mailbox into JavaScript. What nobody asked for waits in lanes with a
//! bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use napi_derive::napi;
use tokio::sync::oneshot;

use super::callback::{Lane, Mailbox, Parcel};
use super::reply::NativeFailure;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::host::{Answer, CallEnd, CallId, Change, Listener, Question, QuestionKind};
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
    /// There is another catalogue to take.
    Catalogue,
    /// The credential for `server` is asked for, under the number `id`.
    Credential,
    /// A message of a model is asked for, under the number `id`; `text` is the JSON text of the params, `during` the number
    /// of the call that it is part of, where that is known.
    Sampling,
    /// Input of the user is asked for; the same members.
    Elicitation,
    /// The roots are asked for; the same members, without `text`.
    Roots,
    /// The row `text` is to be saved in the caller's store, under the number `id`.
    Save,
    /// The listing `text` is to be saved there, under the number `id`.
    SaveListing,
    /// The question `id` needs no answer any more.
    Withdrawn,
    /// `server` sent a log message; `text` is the JSON text of the notification's params.
    Log,
    /// What `server` offers changed: `text` is `tools`, `prompts` or `resources`.
    Changed,
    /// A resource of `server` was updated: `text` is a JSON array of the URI that was subscribed to, and the one that was
    /// updated, which may be part of it.
    Updated,
    /// A function of the caller's gave an answer that cannot be used; `text` says which, and why.
    Unusable,
    /// `text` is the JSON text of a server's new state.
    Status,
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
    pub during: Option<i64>,
    pub server: Option<String>,
    pub text: Option<String>,
    pub failure: Option<NativeFailure>,
}

impl Parcel for NativeEvent {
    type Batch = Vec<Self>;

    fn pack(waiting: Vec<Self>) -> Vec<Self> {
        waiting
    }
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

/// A question under way. Unless it was answered, its end takes it back.
struct Asking {
    mailbox: Arc<Mailbox<NativeEvent>>,
    questions: Arc<Questions>,
    id: i64,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.questions.forget(self.id) {
            self.mailbox.answer(NativeEvent {
                id: Some(self.id),
                ..NativeEvent::of(NativeEventKind::Withdrawn)
            });
        }
    }
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
        asked.waiting.insert(id, answer);
        (id, answered)
    }

    /// Whether it was still waiting for its answer.
    fn forget(&self, id: i64) -> bool {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.waiting.remove(&id).is_some()
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

    /// Tells what a server caused and nobody asked for.
    fn tell(&self, lane: Lane, kind: NativeEventKind, server: &str, text: String) {
        let event = NativeEvent {
            server: Some(server.to_owned()),
            text: Some(text),
            ..NativeEvent::of(kind)
        };
        let bytes = event.text.as_ref().map_or(0, String::len);
        self.mailbox.tell(lane, bytes, event);
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

    fn ask(&self, question: Question) -> Answer {
        if question.kind == QuestionKind::Credential && !self.hears.auth {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let (id, answered) = self.questions.ask();
        let asking = Asking {
            mailbox: Arc::clone(&self.mailbox),
            questions: Arc::clone(&self.questions),
            id,
        };
        self.mailbox.answer(NativeEvent {
            id: Some(id),
            during: question.during.map(u64::cast_signed),
            server: Some(question.server),
            text: Some(question.text).filter(|text| !text.is_empty()),
            ..NativeEvent::of(match question.kind {
                QuestionKind::Credential => NativeEventKind::Credential,
                QuestionKind::Sampling => NativeEventKind::Sampling,
                QuestionKind::Elicitation => NativeEventKind::Elicitation,
                QuestionKind::Roots => NativeEventKind::Roots,
                QuestionKind::Save => NativeEventKind::Save,
                QuestionKind::SaveListing => NativeEventKind::SaveListing,
            })
        });
        Box::pin(async move {
            let answer = answered.await;
            drop(asking);
            answer.unwrap_or_else(|_| {
                let message = "the toolset was closed while its caller was asked";
                Err(Error::new(ErrorCode::Closed, message))
            })
        })
    }

    fn log(&self, server: &str, params: String) {
        self.tell(Lane::Logs, NativeEventKind::Log, server, params);
    }

    fn changed(&self, server: &str, change: Change) {
        let change = match change {
            Change::Tools => "tools",
            Change::Prompts => "prompts",
            Change::Resources => "resources",
        };
        self.tell(Lane::Changes, NativeEventKind::Changed, server, change.to_owned());
    }

    fn updated(&self, server: &str, subscription: &str, uri: &str) {
        let text = format!("[{},{}]", json::quote(subscription), json::quote(uri));
        self.tell(Lane::Changes, NativeEventKind::Updated, server, text);
    }

    fn unusable(&self, handler: &str, problem: &str) {
        let text = format!("{handler} gave no usable answer: {problem}");
        self.tell(Lane::Changes, NativeEventKind::Unusable, "", text);
    }

    fn status(&self, text: String) {
        self.tell(Lane::Changes, NativeEventKind::Status, "", text);
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

    fn catalogue_changed(&self) {
        self.mailbox.answer(NativeEvent::of(NativeEventKind::Catalogue));
    }

    fn stderr(&self, server: &str, line: String) {
        if self.hears.stderr {
            self.tell(Lane::Stderr, NativeEventKind::Stderr, server, line);
        }
    }
}

impl NativeEvent {
    /// The end of a request that has no value.
    pub(super) fn done(id: i64, outcome: Result<()>) -> Self {
        let end = outcome.map_or_else(CallEnd::Failed, |()| CallEnd::Value("null".to_owned()));
        Self::settled(id, end)
    }

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
            during: None,
            server: None,
            text: None,
            failure: None,
        }
    }
}

pub(super) fn to_json(diagnostic: &Diagnostic) -> String {
    format!(
        "{{\"section\":{},\"rule\":{},\"origin\":{},\"message\":{}}}",
        json::quote(diagnostic.rule.section()),
        json::quote(diagnostic.rule.name()),
        json::quote(&diagnostic.origin),
        json::quote(&diagnostic.message)
    )
}
