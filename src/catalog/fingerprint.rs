//! The digest that a tool is trusted by, over its description and its input schema. Byte for byte what `fingerprintTools`
//! of the package `ai` (version 7) makes, so that rows of the reference system raise no false alarm. Title, annotations,
//! output schema and name are not part of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::NO_SCHEMA;
use crate::json;
use crate::json::canonical;

/// What is known of a definition once its canonical form was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// SHA-256 in base64url without padding: 43 characters.
    pub(crate) digest: String,
    /// How long the schema is as compact JSON, in UTF-16 code units: sorting its members does not change that.
    pub(crate) schema_units: usize,
}

impl Fingerprint {
    /// Of the text of a description (a string literal) and of a schema; a schema that is missing or `null` is the one
    /// that says nothing.
    pub(crate) fn of(description: Option<&str>, schema: Option<&str>) -> Self {
        let (canonical, schema_units) = canonical_definition(description, schema);
        Self {
            digest: URL_SAFE_NO_PAD.encode(Sha256::digest(canonical)),
            schema_units,
        }
    }
}

/// The text whose digest is taken, and the length of the schema in it.
fn canonical_definition(description: Option<&str>, schema: Option<&str>) -> (String, usize) {
    let description = description.filter(|text| json::is_string(text));
    let schema = schema.filter(|text| *text != "null").unwrap_or(NO_SCHEMA);
    let mut out = String::with_capacity(description.map_or(0, str::len) + schema.len() + FRAME_BYTES);
    out.push_str("{\"description\":");
    match description {
        Some(text) => {
            out.push_str("{\"type\":\"string\",\"value\":");
            canonical::write_literal(json::body(text), &mut out);
            out.push('}');
        }
        None => out.push_str("{\"type\":\"none\"}"),
    }
    out.push_str(",\"inputSchema\":");
    let start = out.len();
    if canonical::write_canonical(schema, &mut out).is_none() {
        // No JSON text of a server gets here. If one did, its own spelling would be as good a thing to trust as any.
        out.truncate(start);
        out.push_str(schema);
    }
    let schema_units = json::utf16_len(out.get(start..).unwrap_or_default());
    out.push_str(",\"title\":undefined}");
    (out, schema_units)
}

/// What stands around description and schema.
const FRAME_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::json::Object;

    fn of_entry(entry: &str) -> (String, Fingerprint) {
        let object = Object::parse(entry).unwrap();
        let text = |key| object.get(key).map(serde_json::value::RawValue::get);
        let (canonical, _) = canonical_definition(text("description"), text("inputSchema"));
        (canonical, Fingerprint::of(text("description"), text("inputSchema")))
    }

    #[test]
    fn digests_are_those_of_the_reference() {
        let vectors: Value = serde_json::from_str(super::super::VECTORS).unwrap();
        let cases = vectors["fingerprints"].as_array().unwrap();
        assert!(cases.len() > 12);
        for case in cases {
            let (canonical, fingerprint) = of_entry(case["wireText"].as_str().unwrap());
            assert_eq!(canonical, case["canonical"].as_str().unwrap(), "{}", case["id"]);
            assert_eq!(fingerprint.digest, case["digest"].as_str().unwrap(), "{}", case["id"]);
            assert_eq!(fingerprint.digest.len(), 43);
        }
    }

    #[test]
    fn the_order_of_keys_and_the_spelling_of_the_same_value_change_nothing() {
        let same = [
            r#"{"description":"\u00e9 \ud83d\ude00","inputSchema":{"a":{"x":1.0,"y":[1,2]},"b":"\/"}}"#,
            r#"{"description":"é 😀", "inputSchema": {"b":"/", "a": {"y":[1.0,2e0], "x":1}}}"#,
        ];
        assert_eq!(of_entry(same[0]).1, of_entry(same[1]).1);
        let other = r#"{"description":"é 😀","inputSchema":{"a":{"x":1,"y":[2,1]},"b":"/"}}"#;
        assert_ne!(of_entry(same[0]).1.digest, of_entry(other).1.digest);
    }

    #[test]
    fn a_change_deep_inside_or_of_one_invisible_character_is_a_change() {
        let deep = |word: &str| {
            let (open, close) = (r#"{"properties":{"p":"#.repeat(5_000), "}}".repeat(5_000));
            format!(r#"{{"description":"d","inputSchema":{open}{{"enum":["a","{word}"]}}{close}}}"#)
        };
        assert_ne!(of_entry(&deep("b")).1.digest, of_entry(&deep("c")).1.digest);
        let described = |text: &str| of_entry(&format!(r#"{{"description":"{text}"}}"#)).1.digest;
        let plain = described("Pays.");
        for hidden in ["\u{200b}", "\u{202e}", "\u{feff}", r"\u0000", r"\ud800"] {
            assert_ne!(described(&format!("Pays.{hidden}")), plain, "{hidden:?}");
        }
    }

    #[test]
    fn a_flat_schema_of_three_mebibytes_is_one_like_others() {
        let mut properties: Vec<_> = (0..6_000)
            .map(|n| format!(r#""{n}":{{"type":"string","description":"{}"}}"#, "x".repeat(500)))
            .collect();
        let schema =
            |properties: &[String]| format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","));
        let forwards = Fingerprint::of(None, Some(&schema(&properties)));
        assert!(forwards.schema_units > 3_000_000);
        properties.reverse();
        assert_eq!(Fingerprint::of(None, Some(&schema(&properties))), forwards);
    }

    #[test]
    fn the_length_of_the_schema_is_that_of_its_compact_text() {
        let (_, fingerprint) = of_entry("{\"inputSchema\": { \"b\" : [1.0, \"\\u00e9😀\"], \"a\" : \"\\ud800\" } }");
        assert_eq!(
            fingerprint.schema_units,
            r#"{"a":"\ud800","b":[1,"é00"]}"#.chars().count()
        );
        assert_eq!(of_entry("{}").1.schema_units, NO_SCHEMA.len());
    }
}
