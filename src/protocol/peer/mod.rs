//! One side of a connection without its wire: what was asked and not yet answered, cancelled, timed out or under way.
//! Text comes in, actions go out, time is an argument. It never awaits, reads no clock and owns no channel.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

pub(crate) use questions::Asked;
use questions::{Input, Origin, Questions};

use super::codes::WireError;
use super::message::{self, Id, Message, Mirror, Outgoing, OutgoingKind, Params, Unreadable};
use super::revision::Revision;
use crate::error::{Error, ErrorCode};
use crate::json::{self, Object};
use crate::limits::{self, Timeout};

mod questions;

/// The peer of a client. `W` is whatever waits for an answer: it is kept, and handed back with the outcome.
pub(crate) struct Peer<W> {
    next_id: u64,
    pending: HashMap<u64, Pending<W>>,
    /// The request under each outside name.
    keys: HashMap<u64, u64>,
    deadlines: BTreeSet<(Instant, u64)>,
    actions: VecDeque<Action<W>>,
    /// What the other side asks and nobody answered yet.
    questions: Questions,
    revision: Option<Revision>,
    /// The members that every request's `_meta` has; empty in the session era.
    envelope: String,
}

/// A request to send.
pub(crate) struct Request<W> {
    pub(crate) method: &'static str,
    pub(crate) params: Params,
    pub(crate) patience: Patience,
    /// The name under which it can be cancelled and its progress is reported; unique among the pending ones.
    pub(crate) key: Option<u64>,
    pub(crate) progress: ProgressUse,
    /// What wires with headers repeat.
    pub(crate) mirror: Mirror,
    /// Whether the stateless era lets the other side answer with questions of its own (protocol, 7.17).
    pub(crate) may_ask: bool,
    pub(crate) waiter: W,
}

/// What progress notifications are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressUse {
    None,
    /// To know that the other side is still at it.
    Patience,
    /// To be told.
    Report,
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout: Timeout,
    /// Whether progress starts `timeout` anew.
    pub(crate) reset_on_progress: bool,
    /// The ceiling, whatever progress comes.
    pub(crate) max_total: Timeout,
}

/// What the owner of the peer has to do.
#[derive(Debug)]
pub(crate) enum Action<W> {
    /// Send this message.
    Send(Outgoing),
    /// Nobody waits for the answer to this request any more.
    Abandon { id: u64 },
    /// Tell the waiter; its request is over.
    Settled { waiter: W, outcome: Outcome },
    /// Progress of a request that asked for it: the `params` as they were sent.
    Progress { key: u64, params: Box<RawValue> },
    /// The other side asks for something: `respond` answers it.
    Asked(Asked),
    /// Nobody waits for the answer to this question any more.
    Withdrawn { ticket: u64 },
    /// Any other notification.
    Notified {
        method: String,
        params: Option<Box<RawValue>>,
        /// The name of the request of ours that opened the subscription, where it says so (protocol, 7.15).
        of: Option<u64>,
    },
    /// The other side broke the protocol, and the connection survived it.
    Violation(Violation),
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Result(Answered),
    Error(WireError),
    TimedOut {
        waited: Duration,
    },
    /// It was answered, with a message over the size limit.
    TooLong {
        bytes: u64,
    },
    /// The transport could not carry it.
    Failed(Error),
    Cancelled,
}

/// A result, and how it came about.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) result: Box<RawValue>,
    /// Whether it answers a request that carried more than its own params: answers to questions, or a state. Nobody may
    /// use it again (protocol, 7.14).
    pub(crate) after_input: bool,
}

/// A breach of the protocol that costs nothing but itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Violation {
    /// Text that is no JSON object.
    NotJson,
    /// An object that is no message.
    NotAMessage,
    /// An array of messages under a revision without batches.
    Batch,
    /// An answer to a request that was never made.
    UnknownAnswer,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A message over the size limit that answers nothing.
    TooLong,
    /// Messages to a server that does not read were dropped.
    Unsent,
    /// A request of the other side in an era that has none.
    Request,
}

impl Violation {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NotJson => "it sent text that is not a JSON-RPC message; the text was skipped",
            Self::NotAMessage => "it sent a JSON object that is not a JSON-RPC message; the object was skipped",
            Self::Batch => {
                "it sent an array of messages, which the negotiated revision does not have, or not in this length; the \
                 array was skipped"
            }
            Self::UnknownAnswer => "it answered a request that was never made; the answer was skipped",
            Self::NotUtf8 => "it sent bytes that are not UTF-8; they were replaced by U+FFFD",
            Self::TooLong => "it sent a message over the size limit (`maxMessageBytes`); the message was skipped",
            Self::Unsent => "it does not read what is sent to it; answers and notifications to it were dropped",
            Self::Request => "it sent a request, which the stateless era has not; the request was skipped",
        }
    }
}

struct Pending<W> {
    key: Option<u64>,
    method: &'static str,
    progress: ProgressUse,
    patience: Patience,
    started: Instant,
    deadline: Option<Instant>,
    /// There where the answer may be a question.
    input: Option<Input>,
    waiter: W,
}

impl<W> Peer<W> {
    pub(crate) fn new() -> Self {
        Self {
            next_id: 0,
            pending: HashMap::new(),
            keys: HashMap::new(),
            deadlines: BTreeSet::new(),
            actions: VecDeque::new(),
            questions: Questions::default(),
            revision: None,
            envelope: String::new(),
        }
    }

    /// From here on each request says this of itself, and requests of the other side are not answered: the stateless era.
    pub(crate) fn set_envelope(&mut self, members: String) {
        self.envelope = members;
        self.next_id = self.next_id.max(IDS_OF_PROBES);
    }

    /// From here on the rules of this revision hold.
    pub(crate) fn set_revision(&mut self, revision: Revision) {
        self.revision = Some(revision);
    }

    pub(crate) fn request(&mut self, request: Request<W>, now: Instant) {
        let Request {
            method,
            params,
            patience,
            key,
            progress,
            mirror,
            may_ask,
            waiter,
        } = request;
        let input = (may_ask && self.is_stateless()).then(|| Input::new(params.clone(), mirror.clone()));
        let pending = Pending {
            key,
            method,
            progress,
            patience,
            started: now,
            deadline: patience.deadline(now, now),
            input,
            waiter,
        };
        self.send_request(pending, &params, mirror);
    }

    fn send_request(&mut self, pending: Pending<W>, params: &Params, mirror: Mirror) {
        let id = self.next_id;
        self.next_id += 1;
        let method = pending.method;
        let token = (pending.progress != ProgressUse::None).then_some(id);
        let text = message::request(id, method, params, token, &self.envelope);
        let kind = OutgoingKind::Request { id, method, mirror };
        self.actions.push_back(Action::Send(Outgoing { text, kind }));
        if let Some(key) = pending.key {
            self.keys.insert(key, id);
        }
        if let Some(deadline) = pending.deadline {
            self.deadlines.insert((deadline, id));
        }
        self.pending.insert(id, pending);
    }

    const fn is_stateless(&self) -> bool {
        !self.envelope.is_empty()
    }

    pub(crate) fn notify(&mut self, method: &'static str, params: &Params) {
        let text = message::notification(method, params);
        let kind = OutgoingKind::Notification { method };
        self.actions.push_back(Action::Send(Outgoing { text, kind }));
    }

    /// Answers a question of the other side with the JSON text of a result, or with an error. In the stateless era an
    /// error ends the request that the question belongs to: there is nobody to tell it to. Questions that were withdrawn
    /// are forgotten.
    pub(crate) fn respond(&mut self, ticket: u64, answer: Result<String, WireError>, now: Instant) {
        match self.questions.take(ticket) {
            None => {}
            Some(Origin::Request { id }) => self.send_answer(&id, answer),
            Some(Origin::Input { request, key }) => self.take_input(request, &key, answer, now),
        }
    }

    /// Gives up the request of this name: the other side is told, the waiter hears `Cancelled`. Unknown names are the
    /// ordinary race with an answer, and ignored.
    pub(crate) fn cancel(&mut self, key: u64) {
        let Some(id) = self.keys.get(&key).copied() else { return };
        let is_under_way = !self.is_asking(id);
        if let Some(pending) = self.take(id) {
            if is_under_way {
                self.send_cancelled(id, pending.method, "the caller gave it up");
            }
            self.actions.push_back(Action::Settled {
                waiter: pending.waiter,
                outcome: Outcome::Cancelled,
            });
        }
    }

    /// Takes one message from the other side.
    pub(crate) fn handle(&mut self, text: &str, now: Instant) {
        if text.trim_start().starts_with('[') {
            return self.handle_batch(text, now);
        }
        self.handle_one(text, now);
    }

    /// Hears that a message over the size limit went by, and which request it answered, where it was an answer.
    pub(crate) fn handle_too_long(&mut self, bytes: u64, answers: Option<u64>) {
        match answers.filter(|id| *id < self.next_id) {
            Some(id) => self.settle(id, Outcome::TooLong { bytes }),
            None => self.violation(Violation::TooLong),
        }
    }

    /// Hears that a request could not be carried.
    pub(crate) fn handle_failure(&mut self, id: u64, error: Error) {
        self.settle(id, Outcome::Failed(error));
    }

    /// Lets the requests go whose time is up.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some((deadline, id)) = self.deadlines.first().copied() {
            if deadline > now {
                break;
            }
            let is_under_way = !self.is_asking(id);
            let Some(pending) = self.take(id) else {
                self.deadlines.remove(&(deadline, id));
                continue;
            };
            let waited = now.saturating_duration_since(pending.started);
            // While answers are collected there is no request that the other side could give up.
            if is_under_way {
                self.send_cancelled(id, pending.method, "the request timed out");
            }
            self.actions.push_back(Action::Settled {
                waiter: pending.waiter,
                outcome: Outcome::TimedOut { waited },
            });
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action<W>> {
        self.actions.pop_front()
    }

    /// When `handle_timeout` has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Ends the connection: whoever still waits is handed out.
    pub(crate) fn abandon(&mut self) -> Vec<W> {
        self.keys.clear();
        self.deadlines.clear();
        self.questions = Questions::default();
        let mut pending: Vec<_> = self.pending.drain().collect();
        pending.sort_unstable_by_key(|(id, _)| *id);
        pending.into_iter().map(|(_, pending)| pending.waiter).collect()
    }

    fn handle_batch(&mut self, text: &str, now: Instant) {
        match json::array(text) {
            None => self.violation(Violation::NotJson),
            Some(_) if !self.revision.is_some_and(Revision::has_batches) => self.violation(Violation::Batch),
            Some(messages) if messages.len() > limits::MAX_BATCH_MESSAGES => self.violation(Violation::Batch),
            Some(messages) => messages
                .into_iter()
                .for_each(|message| self.handle_one(message.get(), now)),
        }
    }

    fn handle_one(&mut self, text: &str, now: Instant) {
        match Message::parse(text) {
            Ok(Message::Response { id, outcome }) => self.handle_response(id, outcome, now),
            Ok(Message::Request { id, method, params }) => self.handle_request(id, &method, params),
            Ok(Message::Notification { method, params }) => self.handle_notification(&method, params, now),
            Err(Unreadable::NotAnObject) => self.violation(Violation::NotJson),
            Err(Unreadable::NotAMessage) => self.violation(Violation::NotAMessage),
        }
    }

    fn handle_response(&mut self, id: Option<Id<'_>>, outcome: Result<&RawValue, WireError>, now: Instant) {
        let Some(id) = id.and_then(Id::number).filter(|id| *id < self.next_id) else {
            return self.violation(Violation::UnknownAnswer);
        };
        match outcome {
            Ok(result) if self.is_stateless() => self.handle_result(id, result, now),
            Ok(result) => self.settle_result(id, result),
            Err(error) => self.settle(id, Outcome::Error(error)),
        }
    }

    fn settle_result(&mut self, id: u64, result: &RawValue) {
        let input = self.pending.get(&id).and_then(|pending| pending.input.as_ref());
        let answered = Answered {
            result: result.to_owned(),
            after_input: input.is_some_and(Input::was_asked),
        };
        self.settle(id, Outcome::Result(answered));
    }

    /// An answer that comes late or twice is the ordinary race with a cancel or a timeout, and changes nothing. So does
    /// one to a request whose answer was a question.
    fn settle(&mut self, id: u64, outcome: Outcome) {
        if self.is_asking(id) {
            return;
        }
        if let Some(pending) = self.take(id) {
            self.actions.push_back(Action::Settled {
                waiter: pending.waiter,
                outcome,
            });
        }
    }

    fn handle_request(&mut self, id: Id<'_>, method: &str, params: Option<&RawValue>) {
        if self.is_stateless() {
            return self.violation(Violation::Request);
        }
        if method == "ping" {
            return self.send_answer(id.text(), Ok("{}".to_owned()));
        }
        let origin = Origin::Request {
            id: id.text().to_owned(),
        };
        match self.questions.ask(origin, method, params, None) {
            Some(asked) => self.actions.push_back(Action::Asked(asked)),
            None => self.send_answer(id.text(), Err(WireError::internal("too many requests at a time"))),
        }
    }

    fn send_answer(&mut self, id: &str, answer: Result<String, WireError>) {
        let text = match answer {
            Ok(result) => message::result(id, &result),
            Err(error) => message::error(id, &error),
        };
        let kind = OutgoingKind::Answer;
        self.actions.push_back(Action::Send(Outgoing { text, kind }));
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, now: Instant) {
        match method {
            "notifications/progress" => self.handle_progress(params, now),
            "notifications/cancelled" => self.handle_cancelled(params),
            _ => self.actions.push_back(Action::Notified {
                method: method.to_owned(),
                params: params.map(ToOwned::to_owned),
                of: self.subscription(params),
            }),
        }
    }

    fn subscription(&self, params: Option<&RawValue>) -> Option<u64> {
        if !self.is_stateless() {
            return None;
        }
        let meta = Object::parse(params?.get())?.object("_meta")?;
        let id = Id::new(meta.get(SUBSCRIPTION_ID)?)?.number()?;
        self.pending.get(&id)?.key
    }

    /// The other side takes a request of its own back. Whatever it cannot mean is ignored.
    fn handle_cancelled(&mut self, params: Option<&RawValue>) {
        let object = params.and_then(|params| Object::parse(params.get()));
        let Some(id) = object.and_then(|object| Id::new(object.get("requestId")?)) else {
            return;
        };
        if let Some(ticket) = self.questions.withdraw_request(id.text()) {
            self.actions.push_back(Action::Withdrawn { ticket });
        } else if self.is_stateless() {
            self.end_subscription(id);
        }
    }

    /// In the stateless era the other side asks nothing that it could take back: what it may end is a subscription.
    fn end_subscription(&mut self, id: Id<'_>) {
        let is_one = |id: &u64| self.pending.get(id).is_some_and(|pending| pending.method == LISTEN);
        if let Some(id) = id.number().filter(is_one) {
            self.actions.push_back(Action::Abandon { id });
            let error = Error::new(ErrorCode::ConnectionLost, "the server ended it");
            self.settle(id, Outcome::Failed(error));
        }
    }

    fn handle_progress(&mut self, params: Option<&RawValue>, now: Instant) {
        let Some(params) = params else { return };
        let token = Object::parse(params.get()).and_then(|object| {
            json::parse::<f64>(object.get("progress")?.get())?;
            Id::new(object.get("progressToken")?)?.number()
        });
        let Some((id, pending)) = token.and_then(|id| Some((id, self.pending.get(&id)?))) else {
            return;
        };
        if pending.progress == ProgressUse::None {
            return;
        }
        if let (ProgressUse::Report, Some(key)) = (pending.progress, pending.key) {
            self.actions.push_back(Action::Progress {
                key,
                params: params.to_owned(),
            });
        }
        self.renew_deadline(id, now);
    }

    /// The other side is still at it.
    fn renew_deadline(&mut self, id: u64, now: Instant) {
        let Some(pending) = self.pending.get_mut(&id) else {
            return;
        };
        if let Some(old) = pending.deadline {
            self.deadlines.remove(&(old, id));
        }
        pending.renew_deadline(now);
        if let Some(renewed) = pending.deadline {
            self.deadlines.insert((renewed, id));
        }
    }

    fn send_cancelled(&mut self, id: u64, method: &str, reason: &str) {
        self.actions.push_back(Action::Abandon { id });
        // The one request that must never be cancelled (protocol, 4.1).
        if method == INITIALIZE {
            return;
        }
        let params = Params::new().raw("requestId", &id.to_string()).text("reason", reason);
        self.notify("notifications/cancelled", &params);
    }

    fn violation(&mut self, violation: Violation) {
        self.actions.push_back(Action::Violation(violation));
    }

    fn take(&mut self, id: u64) -> Option<Pending<W>> {
        let pending = self.pending.remove(&id)?;
        if let Some(key) = pending.key {
            self.keys.remove(&key);
        }
        if let Some(deadline) = pending.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if pending.input.is_some() {
            for ticket in self.questions.withdraw_inputs(id) {
                self.actions.push_back(Action::Withdrawn { ticket });
            }
        }
        Some(pending)
    }
}

impl<W> Pending<W> {
    fn renew_deadline(&mut self, now: Instant) {
        if self.patience.reset_on_progress {
            self.deadline = self.patience.deadline(self.started, now);
        }
    }
}

impl Patience {
    /// The same time limit whatever happens.
    pub(crate) const fn flat(timeout: Timeout) -> Self {
        Self {
            timeout,
            reset_on_progress: false,
            max_total: Timeout::NONE,
        }
    }

    fn deadline(self, started: Instant, now: Instant) -> Option<Instant> {
        let soft = self.timeout.duration().and_then(|timeout| now.checked_add(timeout));
        let hard = self.max_total.duration().and_then(|total| started.checked_add(total));
        match (soft, hard) {
            (Some(soft), Some(hard)) => Some(soft.min(hard)),
            (one, other) => one.or(other),
        }
    }
}

/// Ids that the questions about the era may have had already: no id is used twice.
const IDS_OF_PROBES: u64 = 2;
/// The opening request of the session era.
pub(crate) const INITIALIZE: &str = "initialize";
/// The request of the stateless era that stays open.
pub(crate) const LISTEN: &str = "subscriptions/listen";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[cfg(test)]
mod tests;
