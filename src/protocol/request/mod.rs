//! What a client sends to a server, read strictly: JSON-RPC 2.0 to the letter, within a depth. What is wrong comes with
//! its code and with the id that a refusal repeats. A server answers each of its clients by this, where the reader of
//! `message` forgives what servers get wrong. Two things are forgiven here too, as nothing can be meant by them but their
//! absence: `params` of `null`, and an `error` of `null` beside a `result`. No method is known by name.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::codes::{self, WireError};
use super::envelope::Meta;
use super::id::is_id;
use super::message::Id;
use crate::json::{self, Object};
use crate::limits;

/// What one text holds.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    Request(Request<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// An answer to what the server asked; without an `id` when the client could not read the question.
    Response {
        id: Option<Id<'a>>,
        outcome: Result<&'a RawValue, WireError>,
    },
    /// The messages of an array, each by itself: one that is wrong costs no other. None of them is an array. Whether the
    /// revision has batches is for whoever knows it.
    Batch(Vec<Result<Incoming<'a>, Refusal<'a>>>),
}

#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// A string, or a whole number.
    pub(crate) id: Id<'a>,
    pub(crate) method: Cow<'a, str>,
    /// An object.
    pub(crate) params: Option<&'a RawValue>,
    meta: OnceCell<Meta<'a>>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(id: Id<'a>, method: Cow<'a, str>, params: Option<&'a RawValue>) -> Self {
        Self {
            id,
            method,
            params,
            meta: OnceCell::new(),
        }
    }

    /// What it says of itself.
    pub(crate) fn meta(&self) -> &Meta<'a> {
        self.meta.get_or_init(|| Meta::of(self.params))
    }
}

/// Why a text is no message that a server takes.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    /// What the answer repeats; without one where none could be read, or where the client would take the answer for one
    /// to a request of its own.
    pub(crate) id: Option<&'a str>,
    pub(crate) error: WireError,
    /// Whether it is a notification, if a wrong one: it has no answer, where the transport does not need one.
    pub(crate) is_notification: bool,
}

impl<'a> Refusal<'a> {
    fn new(id: Option<&'a str>, code: i64, message: &'static str) -> Self {
        Self {
            id,
            error: WireError::new(code, message),
            is_notification: false,
        }
    }

    fn unparsable(message: &'static str) -> Self {
        Self::new(None, codes::PARSE_ERROR, message)
    }

    fn invalid(id: Option<&'a str>, message: &'static str) -> Self {
        Self::new(id, codes::INVALID_REQUEST, message)
    }
}

/// Reads one message, or an array of them.
pub(crate) fn read(text: &str, max_depth: usize) -> Result<Incoming<'_>, Refusal<'_>> {
    if json::is_deeper_than(text, max_depth) {
        // The reader of members does not mind how deep they are, so that the client can be told which request it was.
        let id = Object::parse(text).and_then(|object| usable_id(&object));
        return Err(Refusal::new(
            id.map(Id::text),
            codes::PARSE_ERROR,
            "Parse error: nested too deeply",
        ));
    }
    if let Some(object) = Object::parse(text) {
        return read_message(&object);
    }
    if let Some(batch) = Batch::read(text) {
        return read_batch(batch);
    }
    if json::parse::<IgnoredAny>(text).is_some() {
        return Err(Refusal::invalid(None, "Invalid Request: not an object"));
    }
    Err(Refusal::unparsable("Parse error: not JSON"))
}

/// Reads one message, or an array of them, from bytes that may not even be text.
pub(crate) fn read_bytes(bytes: &[u8], max_depth: usize) -> Result<Incoming<'_>, Refusal<'_>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text, max_depth),
        Err(_) => Err(Refusal::unparsable("Parse error: not UTF-8")),
    }
}

fn read_message<'a>(object: &Object<'a>) -> Result<Incoming<'a>, Refusal<'a>> {
    let id = usable_id(object);
    let method = object.get("method");
    let result = object.get("result");
    let error = object.present("error");
    if method.is_none() && (result.is_some() || error.is_some()) {
        return read_response(object, id, result, error);
    }
    // Whatever is wrong with a request, its client waits for it by its id.
    let invalid = |message| Refusal::invalid(id.map(Id::text), message);
    if !speaks_2_0(object) {
        return Err(invalid("Invalid Request: jsonrpc must be \"2.0\""));
    }
    let Some(method) = method else {
        return Err(invalid("Invalid Request: method is missing"));
    };
    let Some(method) = json::string(method.get()) else {
        return Err(invalid("Invalid Request: method must be a string"));
    };
    let is_notification = object.get("id").is_none();
    if !is_notification && id.is_none() {
        return Err(invalid("Invalid Request: id must be a string or an integer"));
    }
    let params = object.present("params");
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(Refusal {
            is_notification,
            ..invalid("Invalid Request: params must be an object")
        });
    }
    Ok(match id {
        Some(id) => Incoming::Request(Request::new(id, method, params)),
        None => Incoming::Notification { method, params },
    })
}

/// The id of a wrong answer is never repeated: the client may have a request of its own under that id.
fn read_response<'a>(
    object: &Object<'a>,
    id: Option<Id<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Result<Incoming<'a>, Refusal<'a>> {
    if !speaks_2_0(object) {
        return Err(Refusal::invalid(None, "Invalid Request: jsonrpc must be \"2.0\""));
    }
    if id.is_none() && object.present("id").is_some() {
        return Err(Refusal::invalid(
            None,
            "Invalid Request: id must be a string or an integer",
        ));
    }
    let outcome = match (result, error) {
        (Some(_), Some(_)) => {
            return Err(Refusal::invalid(
                None,
                "Invalid Request: result and error exclude each other",
            ));
        }
        (_, Some(error)) if !error.get().starts_with('{') => {
            return Err(Refusal::invalid(None, "Invalid Request: error must be an object"));
        }
        (_, Some(error)) => Err(WireError::parse(error)),
        (Some(_), None) if id.is_none() => {
            return Err(Refusal::invalid(None, "Invalid Request: a result without an id"));
        }
        (Some(result), None) => Ok(result),
        (None, None) => return Err(Refusal::invalid(None, "Invalid Request: neither result nor error")),
    };
    Ok(Incoming::Response { id, outcome })
}

fn read_batch(batch: Batch<'_>) -> Result<Incoming<'_>, Refusal<'_>> {
    if batch.first.is_empty() {
        return Err(Refusal::invalid(None, "Invalid Request: an empty batch"));
    }
    if batch.has_more {
        return Err(Refusal::invalid(
            None,
            "Invalid Request: too many messages in one batch",
        ));
    }
    let messages = batch.first.into_iter().map(|raw| match Object::parse(raw.get()) {
        Some(object) => read_message(&object),
        None => Err(Refusal::invalid(None, "Invalid Request: not an object")),
    });
    Ok(Incoming::Batch(messages.collect()))
}

fn speaks_2_0(object: &Object<'_>) -> bool {
    object.string("jsonrpc").is_some_and(|version| version == "2.0")
}

fn usable_id<'a>(object: &Object<'a>) -> Option<Id<'a>> {
    let raw = object.get("id")?;
    is_id(raw.get()).then(|| Id::new(raw)).flatten()
}

/// The items of an array, as many as one batch may have.
struct Batch<'a> {
    first: Vec<&'a RawValue>,
    has_more: bool,
}

impl<'a> Batch<'a> {
    /// Nothing when the text is not one JSON array.
    fn read(text: &'a str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let batch = deserializer.deserialize_seq(BatchVisitor).ok()?;
        deserializer.end().ok()?;
        Some(batch)
    }
}

struct BatchVisitor;

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Batch<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut first = Vec::new();
        while first.len() < limits::MAX_REQUEST_BATCH {
            match items.next_element()? {
                Some(item) => first.push(item),
                None => return Ok(Batch { first, has_more: false }),
            }
        }
        let mut has_more = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            has_more = true;
        }
        Ok(Batch { first, has_more })
    }
}

#[cfg(test)]
mod tests;
