//! Any text can be the value of a header and is read back from it, and the headers of a call are those that the schema
//! asks for. The schema, a blank line, the arguments.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::protocol::wire::param_header::{self, ParamHeader};

/// `encode` makes a value of a text; another one than `param_header::encode` is a broken one.
pub(crate) fn run(data: &[u8], encode: impl Fn(&str) -> String) {
    let text = String::from_utf8_lossy(data);
    let (schema, arguments) = text.split_once("\n\n").unwrap_or((&text, ""));
    for text in [&text, schema, arguments] {
        let value = encode(text);
        assert!(HeaderValue::from_str(&value).is_ok(), "{value:?}");
        assert_eq!(decode(&value).as_deref(), Some(text), "{value:?}");
    }
    match param_header::read(schema) {
        Ok(headers) => check(&headers, schema, arguments),
        Err(invalid) => assert!(!invalid.to_string().contains(char::is_control)),
    }
}

fn check(headers: &[ParamHeader], schema: &str, arguments: &str) {
    let names: BTreeSet<_> = headers.iter().map(|header| header.name.to_ascii_lowercase()).collect();
    assert_eq!(names.len(), headers.len(), "{headers:?}");
    let schema = serde_json::from_str(schema).unwrap_or(Value::Null);
    for header in headers {
        assert!(HeaderName::from_bytes(header.name.as_bytes()).is_ok());
        let property = header
            .path
            .iter()
            .try_fold(&schema, |schema, key| schema.get("properties")?.get(key));
        let annotation = property.and_then(|property| property.get("x-mcp-header")?.as_str());
        assert_eq!(annotation, header.name.strip_prefix("Mcp-Param-"), "{header:?}");
    }
    let values = param_header::mirrored(headers, arguments);
    assert!(values.len() <= headers.len());
    // A tree holds less than the text that is read: no half characters, no deep nesting.
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return;
    };
    let expected = headers.iter().filter_map(|header| {
        let argument = header.path.iter().try_fold(&arguments, |value, key| {
            value.as_object().and_then(|object| object.get(key))
        })?;
        Some((header.name.clone(), print(argument)?))
    });
    let found = values.into_iter().map(|(name, value)| {
        let text = decode(&value).unwrap_or_else(|| panic!("{name}: {value:?}"));
        (name, text)
    });
    assert!(found.eq(expected), "{headers:?} {arguments}");
}

/// As JavaScript's `String` prints a text, a truth value and an integer.
fn print(argument: &Value) -> Option<String> {
    match argument {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => {
            let number = number.as_f64()?;
            let is_safe = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
            is_safe.then(|| format!("{:.0}", number + 0.0))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// How a receiver reads a value.
fn decode(value: &str) -> Option<String> {
    // Optional white space around a value is no part of it.
    let value = value.trim_matches([' ', '\t']);
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
