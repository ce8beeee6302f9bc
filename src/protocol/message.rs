//! JSON-RPC messages: lenient in, strict out. Bodies stay the text they are; no method is known here by name.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::codes::WireError;
use crate::json::{self, Object};

/// One message as it was read.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request {
        id: Id<'a>,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// An answer; without an `id` when its sender could not read the request.
    Response {
        id: Option<Id<'a>>,
        outcome: Result<&'a RawValue, WireError>,
    },
}

/// The `id` of a request as the text it was sent as, so that an answer repeats its value and type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id<'a>(&'a RawValue);

/// Why a text is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Not a JSON object.
    NotAnObject,
    /// A JSON object, but neither request nor notification nor answer.
    NotAMessage,
}

impl<'a> Message<'a> {
    /// Reads one message. Absent `jsonrpc`, unknown members, and an `error` of `null` beside a `result` are forgiven.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unreadable> {
        let object = Object::parse(text).ok_or(Unreadable::NotAnObject)?;
        let id = match object.present("id") {
            Some(raw) => Some(Id::new(raw).ok_or(Unreadable::NotAMessage)?),
            None => None,
        };
        if let Some(method) = object.get("method") {
            let method = json::string(method.get()).ok_or(Unreadable::NotAMessage)?;
            let params = object.present("params");
            return match (id, object.get("id")) {
                (Some(id), _) => Ok(Self::Request { id, method, params }),
                (None, None) => Ok(Self::Notification { method, params }),
                // `"id": null`: a request that asks for an answer nobody could match.
                (None, Some(_)) => Err(Unreadable::NotAMessage),
            };
        }
        let outcome = match (object.present("error"), object.get("result")) {
            (Some(error), _) => Err(WireError::parse(error)),
            (None, Some(result)) => Ok(result),
            // Neither, but it answers a request, which must not wait for more.
            (None, None) if id.is_some() => Ok(RawValue::NULL),
            (None, None) => return Err(Unreadable::NotAMessage),
        };
        Ok(Self::Response { id, outcome })
    }
}

impl<'a> Id<'a> {
    /// A string or a number; nothing else may be an id.
    pub(crate) fn new(raw: &'a RawValue) -> Option<Self> {
        let first = raw.get().bytes().next()?;
        (first == b'"' || first == b'-' || first.is_ascii_digit()).then_some(Self(raw))
    }

    /// The id as one of ours: a whole number. A peer that counts in doubles may write it with a fraction of zero, and a
    /// careless one as a string.
    pub(crate) fn number(self) -> Option<u64> {
        const LARGEST: f64 = 9_007_199_254_740_991.0;
        let text = self.0.get().trim_matches('"');
        text.parse().ok().or_else(|| {
            let double = json::parse::<f64>(text)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and in range"
            )]
            (double.fract() == 0.0 && (0.0..=LARGEST).contains(&double)).then_some(double as u64)
        })
    }

    pub(crate) fn text(self) -> &'a str {
        self.0.get()
    }
}

/// The members of a `params` object under construction. `_meta` is added where a request is sent, because what it holds
/// depends on the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    members: String,
}

impl Params {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        let value = json::quote(value);
        self.raw(key, &value)
    }

    /// Adds a member whose value is JSON text on one line. The key is one of ours, and needs no escape.
    #[must_use]
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        self.members.reserve(key.len() + value.len() + 4);
        if !self.members.is_empty() {
            self.members.push(',');
        }
        self.members.push('"');
        self.members.push_str(key);
        self.members.push_str("\":");
        self.members.push_str(value);
        self
    }

    /// Adds a member whose key is anybody's.
    #[must_use]
    pub(crate) fn entry(self, key: &str, value: &str) -> Self {
        let quoted = json::quote(key);
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        self.raw(inner.unwrap_or_default(), value)
    }

    /// Adds members that are text already, as `"a":1,"b":2`.
    #[must_use]
    pub(crate) fn members(mut self, members: &str) -> Self {
        if !self.members.is_empty() && !members.is_empty() {
            self.members.push(',');
        }
        self.members.push_str(members);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The object as JSON text.
    pub(crate) fn object(&self) -> String {
        format!("{{{}}}", self.members)
    }
}

/// A message on its way out, with what a wire may want to know of it.
pub(crate) struct Outgoing {
    /// One line of text.
    pub(crate) text: String,
    pub(crate) kind: OutgoingKind,
}

pub(crate) enum OutgoingKind {
    Request {
        id: u64,
        method: &'static str,
        mirror: Mirror,
    },
    Notification {
        method: &'static str,
    },
    Answer,
}

/// What a request repeats outside its text, for wires with headers. The bearer is a secret, so that there is no `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Mirror {
    /// The tool, prompt or resource that is meant.
    pub(crate) name: Option<String>,
    /// Parameters that the tool's schema wants to see in headers: names and values.
    pub(crate) params: Vec<(String, String)>,
    /// The credential of this one request.
    pub(crate) bearer: Option<String>,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OutgoingKind::Request { id, method, .. } => write!(f, "request {id} {method}"),
            OutgoingKind::Notification { method } => write!(f, "notification {method}"),
            OutgoingKind::Answer => f.write_str("answer"),
        }
    }
}

/// A request as one line of text. `progress_token` asks for progress notifications; `envelope` are the members that the
/// connection adds to every request's `_meta`.
pub(crate) fn request(id: u64, method: &str, params: &Params, progress_token: Option<u64>, envelope: &str) -> String {
    let mut line = String::with_capacity(params.members.len() + method.len() + envelope.len() + 96);
    // Writing to a string cannot fail.
    let _ = write!(line, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"");
    if progress_token.is_none() && envelope.is_empty() {
        push_params(&mut line, params);
    } else {
        line.push_str(",\"params\":{");
        line.push_str(&params.members);
        if !params.members.is_empty() {
            line.push(',');
        }
        line.push_str("\"_meta\":{");
        line.push_str(envelope);
        if let Some(token) = progress_token {
            let separator = if envelope.is_empty() { "" } else { "," };
            let _ = write!(line, "{separator}\"progressToken\":{token}");
        }
        line.push_str("}}");
    }
    line.push('}');
    line
}

pub(crate) fn notification(method: &str, params: &Params) -> String {
    let mut line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"");
    push_params(&mut line, params);
    line.push('}');
    line
}

/// A successful answer. `id` is the text that the request gave, `result` JSON text on one line.
pub(crate) fn result(id: &str, result: &str) -> String {
    // A result may be long, and is to be copied once.
    let mut line = String::with_capacity(id.len() + result.len() + 40);
    for part in ["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":", result, "}"] {
        line.push_str(part);
    }
    line
}

/// An answer that says why there is none. `id` is the text that the request gave.
pub(crate) fn error(id: &str, error: &WireError) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_json())
}

fn push_params(line: &mut String, params: &Params) {
    if !params.members.is_empty() {
        line.push_str(",\"params\":{");
        line.push_str(&params.members);
        line.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_told_by_its_members() {
        assert!(matches!(
            Message::parse(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).unwrap(),
            Message::Request { id, method, params: None } if id.text() == "\"a\"" && method == "ping"
        ));
        assert!(matches!(
            Message::parse(r#"{"method":"x","params":{"a":1}}"#).unwrap(),
            Message::Notification { params: Some(params), .. } if params.get() == "{\"a\":1}"
        ));
        assert!(matches!(
            Message::parse(r#"{"id":3,"result":null,"error":null}"#).unwrap(),
            Message::Response { id: Some(id), outcome: Ok(result) } if id.number() == Some(3) && result.get() == "null"
        ));
        let Message::Response {
            id: None,
            outcome: Err(error),
        } = Message::parse(r#"{"id":null,"error":{"code":-32700,"message":"bad","data":[1]}}"#).unwrap()
        else {
            panic!("an error without an id is an answer");
        };
        assert_eq!(error.to_json(), r#"{"code":-32700,"message":"bad","data":[1]}"#);
    }

    #[test]
    fn what_is_no_message_says_why() {
        for text in ["", "ready", "123", "null", "[]", "\"{}\"", "{\"a\":1"] {
            assert_eq!(Message::parse(text).unwrap_err(), Unreadable::NotAnObject, "{text}");
        }
        for text in [
            "{}",
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":[1],"method":"x"}"#,
            r#"{"method":1}"#,
        ] {
            assert_eq!(Message::parse(text).unwrap_err(), Unreadable::NotAMessage, "{text}");
        }
    }

    #[test]
    fn ids_match_by_value_even_when_written_as_doubles() {
        for (text, number) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("7e0", Some(7)),
            ("7.5", None),
            ("-1", None),
            ("\"7\"", Some(7)),
            ("\"x\"", None),
        ] {
            let message = format!("{{\"id\":{text},\"result\":{{}}}}");
            let Message::Response { id: Some(id), .. } = Message::parse(&message).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(id.number(), number, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back_on_one_line() {
        let params = Params::new().text("name", "a\n\"b\"").raw("arguments", "{}");
        let line = request(4, "tools/call", &params, Some(4), "");
        assert!(!line.contains('\n'));
        let Message::Request {
            id,
            params: Some(params),
            ..
        } = Message::parse(&line).unwrap()
        else {
            panic!("{line}")
        };
        assert_eq!(id.number(), Some(4));
        assert_eq!(
            params.get(),
            r#"{"name":"a\n\"b\"","arguments":{},"_meta":{"progressToken":4}}"#
        );
        assert_eq!(
            request(1, "tools/list", &Params::new(), None, ""),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#
        );
        assert_eq!(result(id.text(), "{}"), r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
        assert_eq!(
            notification("notifications/initialized", &Params::new()),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
        );
    }
}
