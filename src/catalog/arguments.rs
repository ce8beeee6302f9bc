//! The arguments of a tool against all of its input schema: JSON Schema as for output schemas, without fetching anything
//! and with bounded work. Where an output schema that cannot be used refuses nothing, here nothing gets through that was
//! not checked. The shallow validation is `guard::args`.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::output_schema::{Fit, OutputSchema};
use crate::json;

/// Says whether arguments fit a schema; both are JSON text.
///
/// # Errors
/// The first thing that does not fit, or why that cannot be told.
pub(crate) fn validate(schema: &str, arguments: &str) -> Result<(), String> {
    let schema: &RawValue = json::parse(schema).ok_or("arguments: the input schema is not JSON")?;
    InputSchema::compile(schema)?.check(arguments)
}

/// A schema that is ready to check with.
#[derive(Debug)]
pub(crate) struct InputSchema(OutputSchema);

impl InputSchema {
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn compile(schema: &RawValue) -> Result<Self, String> {
        let unusable = |why: &str| format!("arguments: the input schema cannot be used: {why}");
        let schema = OutputSchema::compile(schema).map_err(|why| unusable(&why))?;
        if schema.leaves_out() {
            return Err(unusable("a pattern in it looks around or back"));
        }
        Ok(Self(schema))
    }

    /// # Errors
    /// The first thing that does not fit, or why that cannot be told.
    pub(crate) fn check(&self, arguments: &str) -> Result<(), String> {
        let arguments: &RawValue = json::parse(arguments).ok_or("arguments: they are not JSON")?;
        if !arguments.get().starts_with('{') {
            let found = json::parse(arguments.get()).as_ref().map_or("a value", type_of);
            return Err(format!("arguments: expected object, got {found}"));
        }
        match self.0.judge(arguments, explain) {
            Fit::Fits => Ok(()),
            Fit::Unfit(problem) => Err(problem),
            Fit::Unknown(why) => Err(format!("arguments: they cannot be checked: {why}")),
        }
    }
}

/// Where it is, and what was expected: in the words of the shallow validation where that knows the keyword.
fn explain(arguments: &Value, error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "arguments" } else { &path };
    let below = |name: &str| json::visibly(&format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")));
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(only) => only.to_string(),
                TypeKind::Multiple(types) => types.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
            };
            let found = arguments.pointer(&path).map_or("another value", type_of);
            format!("{place}: expected {expected}, got {found}")
        }
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{}: expected a value (required), got none", below(name)),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            closed(unexpected.first().map_or_else(|| place.to_owned(), |name| below(name)))
        }
        // Where nothing is expected at all.
        ValidationErrorKind::FalseSchema if error.schema_path().to_string().ends_with("/additionalProperties") => {
            let first = arguments
                .pointer(&path)
                .and_then(Value::as_object)
                .and_then(|object| object.keys().next());
            closed(first.map_or_else(|| place.to_owned(), |name| below(name)))
        }
        kind => format!("{place}: {} ({})", error.masked(), kind.keyword()),
    }
}

fn closed(place: String) -> String {
    place + ": not one of the expected properties (additionalProperties: false)"
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_place_keyword_and_expectation() {
        for (schema, arguments, said) in [
            (
                r#"{"properties":{"text":{"type":"string"}}}"#,
                r#"{"text":5}"#,
                "/text: expected string, got number",
            ),
            (
                r#"{"properties":{"a/b":{"items":{"type":["integer","null"]}}}}"#,
                r#"{"a/b":[1,"x"]}"#,
                "/a~1b/1: expected null or integer, got string",
            ),
            (
                r#"{"properties":{"o":{"required":["x"]}}}"#,
                r#"{"o":{}}"#,
                "/o/x: expected a value (required), got none",
            ),
            (
                r#"{"additionalProperties":false}"#,
                r#"{"__proto__":{}}"#,
                "/__proto__: not one of the expected properties (additionalProperties: false)",
            ),
            (
                r#"{"properties":{"o":{"properties":{"a":{}},"additionalProperties":false}}}"#,
                r#"{"o":{"a":1,"b":2}}"#,
                "/o/b: not one of the expected properties (additionalProperties: false)",
            ),
            (
                r#"{"properties":{"n":{"minimum":3}}}"#,
                r#"{"n":2}"#,
                "/n: value is less than the minimum of 3 (minimum)",
            ),
            (
                r#"{"properties":{"s":{"enum":["a","b"]}}}"#,
                r#"{"s":"secret"}"#,
                r#"/s: value is not one of "a" or "b" (enum)"#,
            ),
            (
                r#"{"properties":{"s":{"pattern":"^a+$"}}}"#,
                r#"{"s":"b"}"#,
                r#"/s: value does not match "^a+$" (pattern)"#,
            ),
            ("{}", "[1]", "arguments: expected object, got array"),
            ("{}", "{oops", "arguments: they are not JSON"),
            (
                r#"{"maxProperties":1}"#,
                r#"{"a":1,"b":2}"#,
                "arguments: value has more than 1 property (maxProperties)",
            ),
        ] {
            assert_eq!(validate(schema, arguments).unwrap_err(), said, "{schema} {arguments}");
        }
    }

    #[test]
    fn what_the_shallow_validation_leaves_is_enforced() {
        for (schema, right, wrong) in [
            (
                r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
                r#"{"a":1}"#,
                r#"{"a":1,"b":1}"#,
            ),
            (
                r##"{"$defs":{"n":{"type":"number"}},"properties":{"v":{"$ref":"#/$defs/n"}}}"##,
                r#"{"v":1}"#,
                r#"{"v":"x"}"#,
            ),
            (
                r#"{"properties":{"v":{"prefixItems":[{"type":"string"}],"items":false}}}"#,
                r#"{"v":["x"]}"#,
                r#"{"v":["x",1]}"#,
            ),
            (
                r#"{"$schema":"http://json-schema.org/draft-07/schema#","if":{"required":["a"]},"then":{"required":["b"]}}"#,
                "{}",
                r#"{"a":1}"#,
            ),
        ] {
            assert_eq!(validate(schema, right), Ok(()), "{schema}");
            assert!(validate(schema, wrong).is_err(), "{schema}");
        }
    }

    #[test]
    fn nothing_gets_through_that_was_not_checked() {
        for schema in [
            r#"{"$ref":"https://example.com/schema.json"}"#,
            r##"{"$ref":"#/nowhere"}"##,
            r#"{"type":"date"}"#,
            r#"{"properties":{"s":{"pattern":"^(?!b)"}}}"#,
            "[]",
            "{oops",
        ] {
            let said = validate(schema, r#"{"s":"a"}"#).unwrap_err();
            assert!(said.starts_with("arguments: the input schema "), "{schema}: {said}");
        }
        let said = validate("{}", r#"{"n":1e400}"#).unwrap_err();
        assert!(said.starts_with("arguments: they cannot be checked: "), "{said}");
        let deep = format!("{}1{}", "{\"o\":".repeat(1_000), "}".repeat(1_000));
        assert!(validate("{}", &deep).is_err());
    }
}
