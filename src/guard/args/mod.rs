//! The shallow validation of a tool's arguments (seed, "Executing tools"): `type`, `enum`, `required`, `properties` and
//! `additionalProperties: false`, on the arguments and on the objects in them down to the third level. Every other keyword
//! is for the tool itself to check. It works on text: a member is one that the text has, `__proto__` like any other.
//! What a schema says in a way that JSON Schema does not know is not enforced. The whole of JSON Schema is
//! `catalog::arguments`.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use crate::json::{self, canonical};
use crate::limits;

/// Says whether arguments fit a schema, as far as this validation goes.
///
/// # Errors
/// The first thing that does not fit: where, and what was expected.
pub(crate) fn validate(schema: &str, arguments: &str) -> Result<(), String> {
    ShallowSchema::read(schema).check(arguments)
}

/// What a schema demands, made ready.
#[derive(Debug, Default)]
pub(crate) struct ShallowSchema {
    /// None where anything is allowed.
    types: Option<Vec<Type>>,
    options: Option<Options>,
    /// Names here and below are string literals in one spelling.
    required: Vec<String>,
    properties: HashMap<String, ShallowSchema>,
    is_closed: bool,
}

/// The values that `enum` allows.
#[derive(Debug)]
struct Options {
    keys: HashSet<String>,
    /// For messages.
    shown: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Object,
    Array,
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "object" => Self::Object,
            "array" => Self::Array,
            _ => return None,
        })
    }

    /// Of a JSON value; a number is just that.
    fn of(value: &str) -> Self {
        match value.bytes().next() {
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            _ => Self::Number,
        }
    }

    fn takes(self, value: &str) -> bool {
        match (self, Self::of(value)) {
            (Self::Integer, Self::Number) => value.parse::<f64>().is_ok_and(|number| number.fract() == 0.0),
            (expected, found) => expected == found,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Object => "object",
            Self::Array => "array",
        }
    }
}

/// How deep objects are looked into: the arguments are level 0.
const DEEPEST: usize = 3;

impl ShallowSchema {
    pub(crate) fn read(schema: &str) -> Self {
        Self::read_level(schema.trim(), 0)
    }

    /// Recursion ends below the deepest level.
    fn read_level(schema: &str, level: usize) -> Self {
        let Some(members) = Members::of(schema) else {
            return Self::default();
        };
        let mut read = Self {
            types: members.get("type").and_then(read_types),
            options: members.get("enum").and_then(Options::read),
            ..Self::default()
        };
        if level > DEEPEST {
            return read;
        }
        let required = members.get("required").and_then(json::array).unwrap_or_default();
        read.required = required
            .into_iter()
            .map(RawValue::get)
            .filter(|name| json::is_string(name))
            .map(json::respelt)
            .collect();
        if let Some(properties) = members.get("properties").and_then(json::distinct_members) {
            let properties = properties.into_iter();
            read.properties = properties
                .map(|(name, schema)| (name, Self::read_level(schema.get(), level + 1)))
                .collect();
        }
        // Which names a pattern adds cannot be told without its keyword.
        let has_patterns = members
            .get("patternProperties")
            .and_then(json::distinct_members)
            .is_some_and(|patterns| !patterns.is_empty());
        read.is_closed = members.get("additionalProperties") == Some("false") && !has_patterns;
        read
    }

    /// # Errors
    /// The first thing that does not fit.
    pub(crate) fn check(&self, arguments: &str) -> Result<(), String> {
        let arguments = arguments.trim();
        if Type::of(arguments) != Type::Object {
            return Err(format!(
                "arguments: expected object, got {}",
                Type::of(arguments).name()
            ));
        }
        self.check_value(arguments, &mut Vec::new()).map_err(shortened)
    }

    fn check_value<'a>(&'a self, value: &str, path: &mut Vec<&'a str>) -> Result<(), String> {
        if let Some(types) = self.types.as_deref()
            && !types.iter().any(|expected| expected.takes(value))
        {
            let names: Vec<_> = types.iter().map(|expected| expected.name()).collect();
            return Err(format!(
                "{}: expected {}, got {}",
                pointer(path, None),
                names.join(" or "),
                Type::of(value).name()
            ));
        }
        if let Some(options) = &self.options
            && !options.have(value)
        {
            return Err(format!(
                "{}: expected one of {} (enum), got {}",
                pointer(path, None),
                options.shown,
                shown(value)
            ));
        }
        let looks_inside = !self.required.is_empty() || !self.properties.is_empty() || self.is_closed;
        if Type::of(value) != Type::Object || !looks_inside {
            return Ok(());
        }
        let members = json::distinct_members(value).unwrap_or_default();
        let names: HashSet<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(missing) = self.required.iter().find(|name| !names.contains(name.as_str())) {
            return Err(format!(
                "{}: expected a value (required), got none",
                pointer(path, Some(missing))
            ));
        }
        for (name, value) in &members {
            match self.properties.get_key_value(name) {
                Some((name, schema)) => {
                    path.push(name);
                    schema.check_value(value.get(), path)?;
                    path.pop();
                }
                None if self.is_closed => {
                    return Err(format!(
                        "{}: not one of the expected properties (additionalProperties: false)",
                        pointer(path, Some(name))
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// One type, or several. With a name among them that is none, nothing is known of what is meant.
fn read_types(types: &str) -> Option<Vec<Type>> {
    let parse = |name: &str| Type::parse(&json::string(name)?);
    if json::is_string(types) {
        return parse(types).map(|only| vec![only]);
    }
    let types: Option<Vec<_>> = json::array(types)?.into_iter().map(|name| parse(name.get())).collect();
    types.filter(|types| !types.is_empty())
}

impl Options {
    fn read(options: &str) -> Option<Self> {
        let options = json::array(options)?;
        let mut text = String::new();
        for (index, option) in options.iter().enumerate() {
            if text.len() > limits::MAX_ARGUMENT_PROBLEM_CHARS / 2 {
                text.push_str(", …");
                break;
            }
            if index > 0 {
                text.push_str(", ");
            }
            text.push_str(&shown(option.get()));
        }
        Some(Self {
            keys: options.iter().filter_map(|option| value_key(option.get())).collect(),
            shown: text,
        })
    }

    fn have(&self, value: &str) -> bool {
        // Looking for what cannot be among them would be work for nothing.
        let is_container = |text: &str| text.starts_with(['{', '[']);
        if is_container(value) && !self.keys.iter().any(|key| is_container(key)) {
            return false;
        }
        value_key(value).is_some_and(|key| self.keys.contains(&key))
    }
}

/// The same text for values that JavaScript would call the same: primitives by value, objects and arrays as it prints
/// them.
fn value_key(value: &str) -> Option<String> {
    match Type::of(value) {
        Type::String => Some(json::respelt(value)),
        Type::Boolean | Type::Null => Some(value.to_owned()),
        Type::Object | Type::Array => {
            let mut out = String::with_capacity(value.len());
            canonical::write_stringified(value, &mut out).map(|()| out)
        }
        // -0 is 0.
        Type::Number | Type::Integer => value.parse::<f64>().ok().map(|number| format!("{:?}", number + 0.0)),
    }
}

/// The members of an object by name, each with its last value.
struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    fn of(text: &'a str) -> Option<Self> {
        Some(Self(json::distinct_members(text)?.into_iter().collect()))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(&json::quote(name)).map(|value| value.get())
    }
}

/// A JSON pointer to a place, and to a name in it.
fn pointer(path: &[&str], name: Option<&str>) -> String {
    let names = path.iter().copied().chain(name);
    let steps = names.map(|name| {
        let name = json::string_lossy(name).unwrap_or_default();
        format!("/{}", name.replace('~', "~0").replace('/', "~1"))
    });
    json::visibly(&steps.collect::<Vec<_>>().concat())
}

/// A value for a message: a container by its kind alone.
fn shown(value: &str) -> String {
    match Type::of(value) {
        Type::String => json::visibly(&json::quote_short(&json::string_lossy(value).unwrap_or_default())),
        kind @ (Type::Object | Type::Array) => kind.name().to_owned(),
        _ => value.chars().take(limits::QUOTED_CHARS).collect(),
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(limits::MAX_ARGUMENT_PROBLEM_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
