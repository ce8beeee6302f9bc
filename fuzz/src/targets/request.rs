//! What the strict reader takes is a message to the lenient one as well, and what it refuses it refuses for a reason.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::json;
use crate::protocol::codes;
use crate::protocol::id;
use crate::protocol::message::{Id, Message};
use crate::protocol::request::{Incoming, Refusal};

/// What stands for `request::read`.
pub(crate) type Read = for<'a> fn(&'a str, usize) -> Result<Incoming<'a>, Refusal<'a>>;

pub(crate) fn run(data: &[u8], read: Read) {
    let Some((&max_depth, text)) = data.split_first() else {
        return;
    };
    let max_depth = usize::from(max_depth);
    let text = String::from_utf8_lossy(text);
    match read(&text, max_depth) {
        Err(refusal) => is_refused_for_a_reason(&text, max_depth, &refusal),
        Ok(incoming) => {
            assert!(!json::is_deeper_than(&text, max_depth), "{text}");
            match incoming {
                Incoming::Batch(items) => {
                    let raws = json::array(&text).unwrap_or_default();
                    assert_eq!(raws.len(), items.len(), "{text}");
                    for (raw, item) in raws.into_iter().zip(items) {
                        match item {
                            Ok(incoming) => is_a_message(raw.get(), &incoming),
                            Err(refusal) => is_refused_for_a_reason(raw.get(), max_depth, &refusal),
                        }
                    }
                }
                one => is_a_message(&text, &one),
            }
        }
    }
}

fn is_a_message(text: &str, incoming: &Incoming<'_>) {
    let lenient = Message::parse(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    match (incoming, lenient) {
        (Incoming::Request(ours), Message::Request { id, method, params }) => {
            assert_eq!(ours.id.text(), id.text());
            assert_eq!(ours.method, method);
            assert_eq!(ours.params.map(RawValue::get), params.map(RawValue::get));
            assert!(params.is_none_or(|params| params.get().starts_with('{')), "{text}");
            // The key of a key that is an id is itself.
            let key = ours.id.key();
            assert!(!key.is_empty() && !key.contains('\n'), "{text}");
            if let Some(raw) = json::parse(&key) {
                assert_eq!(id::key(raw).as_deref(), Some(key.as_str()), "{text}");
            }
        }
        (Incoming::Notification { method: ours, .. }, Message::Notification { method, .. }) => {
            assert_eq!(*ours, method);
        }
        (Incoming::Response { id: ours, .. }, Message::Response { id, .. }) => {
            assert_eq!(ours.map(Id::text), id.map(Id::text));
        }
        (incoming, lenient) => panic!("{incoming:?} and {lenient:?}: {text}"),
    }
}

fn is_refused_for_a_reason(text: &str, max_depth: usize, refusal: &Refusal<'_>) {
    let is_json = json::parse::<IgnoredAny>(text).is_some();
    let is_parsable = is_json && !json::is_deeper_than(text, max_depth);
    let expected = if is_parsable {
        codes::INVALID_REQUEST
    } else {
        codes::PARSE_ERROR
    };
    assert_eq!(refusal.error.code, expected, "{text}");
    if let Some(id) = refusal.id {
        assert!(is_json, "{text}");
        assert!(json::parse(id).is_some_and(|raw| id::key(raw).is_some()), "{text}");
    }
}
