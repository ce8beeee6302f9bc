//! Values of a message that travel in headers as well (protocol 2026-07-28, Streamable HTTP): how a value becomes a
//! header's, and which arguments of a tool do. Owns the `x-mcp-header` of schemas; which tool has which schema, and which
//! requests have an `Mcp-Name`, is known elsewhere.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use serde_json::{Map, Value};

use crate::json::{self, Object};
use crate::limits::MAX_PARAM_HEADERS;

/// An argument that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// All of it, `Mcp-Param-` too; a legal name of a header.
    pub(crate) name: String,
    /// Where the argument stands: the names of the properties that lead to it.
    pub(crate) path: Vec<String>,
}

/// Why the definition of a tool is invalid. A client over HTTP leaves such a tool out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// The name for the header is no string, or cannot stand in a name of a header.
    Name {
        property: String,
    },
    /// Two names differ in nothing but case.
    Repeated {
        property: String,
    },
    /// The property is no string, no integer and no boolean.
    Type {
        property: String,
    },
    /// It stands where no chain of `properties` leads.
    Place,
    TooMany,
    /// The schema has it, but is nested too deeply or not quite JSON.
    Unreadable,
}

/// The headers that a tool's `inputSchema`, as JSON text, asks for.
///
/// # Errors
/// When one of them breaks a rule: then the tool is invalid.
pub(crate) fn read(input_schema: &str) -> Result<Vec<ParamHeader>, Invalid> {
    let mentioned = input_schema.contains(ANNOTATION);
    // The name can be spelt with escapes. Every other schema is left alone.
    if !mentioned && !input_schema.contains("\\u") {
        return Ok(Vec::new());
    }
    match json::parse::<Value>(input_schema) {
        Some(Value::Object(schema)) if schema.contains_key(ANNOTATION) => Err(Invalid::Place),
        Some(Value::Object(schema)) => {
            let mut found = Vec::new();
            walk(&schema, &mut Vec::new(), &mut found)?;
            Ok(found)
        }
        None if mentioned => Err(Invalid::Unreadable),
        _ => Ok(Vec::new()),
    }
}

/// The headers of one call, names and values: those whose argument is there, not `null`, and a text, a truth value or an
/// integer that every receiver reads as the same one. What is left out besides, the server refuses by its own rules.
pub(crate) fn mirrored(headers: &[ParamHeader], arguments: &str) -> Vec<(String, String)> {
    let Some(arguments) = Object::parse(arguments).filter(|_| !headers.is_empty()) else {
        return Vec::new();
    };
    headers
        .iter()
        .filter_map(|header| {
            let (first, rest) = header.path.split_first()?;
            let value = rest.iter().try_fold(arguments.get(first)?.get(), |value, key| {
                Some(Object::parse(value)?.get(key)?.get())
            })?;
            Some((header.name.clone(), encode(&plain(value)?).into_owned()))
        })
        .collect()
}

/// A text as the value of `Mcp-Name` or `Mcp-Param-…`: as it is where a header can hold it, and wrapped otherwise.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    let is_wrapped = text.starts_with(WRAPPER.0) && text.ends_with(WRAPPER.1);
    let is_held =
        text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.starts_with(' ') && !text.ends_with(' ');
    if is_held && !is_wrapped {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{}{}", WRAPPER.0, STANDARD.encode(text), WRAPPER.1))
}

/// The text that a header stands for; nothing where it is wrapped and cannot be unwrapped.
pub(crate) fn decode(value: &str) -> Option<Cow<'_, str>> {
    let wrapped = value
        .strip_prefix(WRAPPER.0)
        .and_then(|rest| rest.strip_suffix(WRAPPER.1));
    match wrapped {
        None => Some(Cow::Borrowed(value)),
        Some(wrapped) => {
            let bytes = STANDARD.decode(wrapped).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// The text of an argument.
fn plain(value: &str) -> Option<Cow<'_, str>> {
    match value {
        "true" | "false" => Some(Cow::Borrowed(value)),
        _ if json::is_string(value) => json::string_lossy(value),
        _ => integer(value).map(Cow::Owned),
    }
}

/// In decimal, as JavaScript prints it: `42.0` and `4.2e1` are 42.
fn integer(value: &str) -> Option<String> {
    if let Ok(number) = value.parse::<i64>() {
        return (number.unsigned_abs() <= LARGEST_INTEGER).then(|| number.to_string());
    }
    #[expect(clippy::cast_precision_loss, reason = "it is the largest that doubles hold exactly")]
    let largest = LARGEST_INTEGER as f64;
    let number: f64 = json::parse(value)?;
    // Adding zero leaves no minus before it.
    (number.fract() == 0.0 && number.abs() <= largest).then(|| format!("{:.0}", number + 0.0))
}

/// Collects what a chain of `properties` leads to, and refuses what stands anywhere else.
fn walk(schema: &Map<String, Value>, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) -> Result<(), Invalid> {
    if let Some(name) = schema.get(ANNOTATION) {
        found.push(annotated(name, schema, path, found)?);
    }
    if elsewhere(schema).any(is_annotated) {
        return Err(Invalid::Place);
    }
    for (key, property) in properties(schema) {
        if let Value::Object(property) = property {
            path.push(key.clone());
            walk(property, path, found)?;
            path.pop();
        }
    }
    Ok(())
}

fn annotated(
    name: &Value,
    schema: &Map<String, Value>,
    path: &[String],
    found: &[ParamHeader],
) -> Result<ParamHeader, Invalid> {
    let property = || path.join(".");
    let name = name
        .as_str()
        .filter(|name| !name.is_empty())
        .map(|name| format!("{PREFIX}{name}"))
        .filter(|name| HeaderName::from_bytes(name.as_bytes()).is_ok())
        .ok_or_else(|| Invalid::Name { property: property() })?;
    if !has_plain_type(schema) {
        return Err(Invalid::Type { property: property() });
    }
    if found.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
        return Err(Invalid::Repeated { property: property() });
    }
    if found.len() >= MAX_PARAM_HEADERS {
        return Err(Invalid::TooMany);
    }
    Ok(ParamHeader {
        name,
        path: path.to_vec(),
    })
}

/// One of the three types, or one of them and `null`, for which there is no header.
fn has_plain_type(schema: &Map<String, Value>) -> bool {
    let is_plain = |value: &Value| value.as_str().is_some_and(|name| PLAIN_TYPES.contains(&name));
    match schema.get("type") {
        Some(Value::Array(names)) => {
            let mut others = names.iter().filter(|name| *name != "null");
            others.next().is_some_and(is_plain) && others.next().is_none()
        }
        Some(name) => is_plain(name),
        None => false,
    }
}

fn is_annotated(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| {
        schema.contains_key(ANNOTATION)
            || elsewhere(schema).any(is_annotated)
            || properties(schema).any(|(_, property)| is_annotated(property))
    })
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The schemas within a schema but for those of `properties`. Values under other keywords are data.
fn elsewhere(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one_or_many = SCHEMAS.iter().filter_map(|keyword| schema.get(*keyword));
    let named = NAMED_SCHEMAS
        .iter()
        .filter_map(|keyword| schema.get(*keyword)?.as_object());
    one_or_many
        .flat_map(|value| match value {
            Value::Array(schemas) => &schemas[..],
            one => std::slice::from_ref(one),
        })
        .chain(named.flat_map(Map::values))
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (property, what) = match self {
            Self::Name { property } => (property, "names no legal header"),
            Self::Repeated { property } => (property, "names a header that another property has"),
            Self::Type { property } => (property, "is allowed on a string, an integer or a boolean only"),
            Self::Place => return write!(f, "`{ANNOTATION}` stands where no chain of `properties` leads"),
            Self::TooMany => return write!(f, "`{ANNOTATION}` is there more than {MAX_PARAM_HEADERS} times"),
            Self::Unreadable => return write!(f, "`{ANNOTATION}` is in a schema that cannot be read"),
        };
        let shown: String = property.chars().take(LONGEST_SHOWN_PROPERTY).collect();
        // Not as JSON: that leaves some control characters as they are.
        write!(f, "`{ANNOTATION}` of the property {shown:?} {what}")
    }
}

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "Mcp-Param-";
const WRAPPER: (&str, &str) = ("=?base64?", "?=");
const PLAIN_TYPES: [&str; 3] = ["string", "integer", "boolean"];
/// Up to here a double and an integer are the same.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;
const LONGEST_SHOWN_PROPERTY: usize = 64;

/// Keywords with one schema or an array of them (JSON Schema 2020-12 and before).
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with schemas under names.
const NAMED_SCHEMAS: [&str; 5] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
];

#[cfg(test)]
mod tests;
