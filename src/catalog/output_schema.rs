//! Structured results against the output schema that a tool published: JSON Schema 2020-12 unless the schema says
//! otherwise, without fetching anything, and with bounded work. A schema that cannot be used refuses nothing.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;
use crate::limits;

/// A schema that is ready to check with.
#[derive(Debug)]
pub(crate) struct OutputSchema(Validator);

impl OutputSchema {
    /// Compiles a schema, or says why it cannot be used.
    pub(crate) fn compile(schema: &RawValue) -> Result<Self, String> {
        if schema.get().len() > limits::MAX_OUTPUT_SCHEMA_BYTES {
            return Err(format!("it has more than {} bytes", limits::MAX_OUTPUT_SCHEMA_BYTES));
        }
        let schema: Value =
            json::parse(schema.get()).ok_or("it is nested too deeply, or holds numbers out of range")?;
        jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(limits::MAX_PATTERN_BACKTRACKS))
            .build(&schema)
            .map(Self)
            .map_err(|error| error.masked().to_string())
    }

    /// Says what does not fit, and where, without repeating the value.
    pub(crate) fn check(&self, value: &RawValue) -> Result<(), String> {
        let value: Value = json::parse(value.get())
            .ok_or("the value is nested too deeply, or holds numbers out of range, to be checked")?;
        self.0.validate(&value).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "/".to_owned() } else { place };
            format!("at {place}: {}", error.masked())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn check(schema: &str, value: &str) -> Result<(), String> {
        OutputSchema::compile(&raw(schema)).unwrap().check(&raw(value))
    }

    #[test]
    fn what_fits_passes_and_what_does_not_is_placed_and_not_repeated() {
        let schema = r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"integer"}}}"##;
        assert_eq!(check(schema, r#"{"n":1}"#), Ok(()));
        let problem = check(schema, r#"{"n":"hunter2"}"#).unwrap_err();
        assert!(
            problem.starts_with("at /n: ") && problem.contains("integer") && !problem.contains("hunter2"),
            "{problem}"
        );
        assert!(check(schema, "[1]").unwrap_err().starts_with("at /: "));
        assert_eq!(
            check(r#"{"prefixItems":[{"type":"string"}],"items":false}"#, r#"["a"]"#),
            Ok(())
        );
    }

    #[test]
    fn nothing_is_fetched() {
        for schema in [
            r#"{"$ref":"https://schemas.example/x.json"}"#,
            r#"{"$ref":"file:///etc/passwd"}"#,
            r#"{"$schema":"https://schemas.example/meta"}"#,
            r#"{"type":"no-such-type"}"#,
            r#"{"pattern":"("}"#,
            "3",
        ] {
            assert!(OutputSchema::compile(&raw(schema)).is_err(), "{schema}");
        }
    }

    #[test]
    fn schemas_that_go_in_circles_end() {
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"}]}"##,
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
            r##"{"$dynamicRef":"#x","$dynamicAnchor":"x"}"##,
            r##"{"not":{"$ref":"#"}}"##,
        ] {
            if let Ok(schema) = OutputSchema::compile(&raw(schema)) {
                drop(schema.check(&raw(r#"{"a":[1]}"#)));
            }
        }
    }

    #[test]
    fn patterns_that_explode_end() {
        let schema = r#"{"type":"string","pattern":"^(?=(a+)+$)(a|aa)+$"}"#;
        let value = format!("\"{}b\"", "a".repeat(5_000));
        assert!(check(schema, &value).is_err());
    }

    #[test]
    fn a_value_that_recurses_as_deeply_as_it_may_is_checked() {
        let schema = r##"{"type":"array","items":{"$ref":"#"}}"##;
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(schema, &deep(120)), Ok(()));
        assert!(check(schema, &deep(100_000)).is_err());
    }
}
