use proptest::prelude::*;

use super::*;

#[test]
fn the_message_names_place_and_expectation() {
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"},"a~/b":{"properties":{"n":{"type":["integer","null"]}}}}}"#;
    for (arguments, said) in [
        (r#"{"text":5}"#, "/text: expected string, got number"),
        (r#"{"text":null}"#, "/text: expected string, got null"),
        (r#"{"text":{}}"#, "/text: expected string, got object"),
        (r#"{"text":[]}"#, "/text: expected string, got array"),
        (r#"{"text":true}"#, "/text: expected string, got boolean"),
        (
            r#"{"a~/b":{"n":1.5}}"#,
            "/a~0~1b/n: expected integer or null, got number",
        ),
        ("[]", "arguments: expected object, got array"),
        ("null", "arguments: expected object, got null"),
    ] {
        assert_eq!(validate(schema, arguments).unwrap_err(), said, "{arguments}");
    }
}

#[test]
fn each_type_takes_its_own_values() {
    let values = ["\"x\"", "1", "1.5", "true", "null", "{}", "[]"];
    for (name, taken) in [
        ("string", &["\"x\""][..]),
        ("number", &["1", "1.5"]),
        ("integer", &["1"]),
        ("boolean", &["true"]),
        ("null", &["null"]),
        ("object", &["{}"]),
        ("array", &["[]"]),
    ] {
        for value in values {
            let schema = format!(r#"{{"properties":{{"v":{{"type":"{name}"}}}}}}"#);
            let fits = validate(&schema, &format!("{{\"v\":{value}}}")).is_ok();
            assert_eq!(fits, taken.contains(&value), "{name} {value}");
        }
    }
}

#[test]
fn a_whole_number_is_an_integer_in_any_spelling() {
    let schema = r#"{"properties":{"v":{"type":"integer"}}}"#;
    for whole in ["1.0", "-0", "1e3", "15e-0", "123456789012345678901234567890"] {
        assert!(validate(schema, &format!("{{\"v\":{whole}}}")).is_ok(), "{whole}");
    }
    for other in ["1.5", "1e-1", "1e400", "\"1\""] {
        assert!(validate(schema, &format!("{{\"v\":{other}}}")).is_err(), "{other}");
    }
}

#[test]
fn required_properties_must_be_there_by_their_own_name() {
    let schema = r#"{"required":["text","toString","__proto__"]}"#;
    assert_eq!(
        validate(schema, "{}").unwrap_err(),
        "/text: expected a value (required), got none"
    );
    assert_eq!(
        validate(schema, r#"{"text":null}"#).unwrap_err(),
        "/toString: expected a value (required), got none"
    );
    assert_eq!(
        validate(schema, r#"{"text":1,"toString":1}"#).unwrap_err(),
        "/__proto__: expected a value (required), got none"
    );
    assert!(validate(schema, r#"{"text":1,"\u0074oString":1,"__proto__":1}"#).is_ok());
}

#[test]
fn a_closed_object_takes_no_other_properties() {
    let schema = r#"{"properties":{"a":{}},"additionalProperties":false}"#;
    assert!(validate(schema, r#"{"a":1,"\u0061":2}"#).is_ok());
    for other in ["b", "__proto__", "constructor", "A", "\\ud800"] {
        let said = validate(schema, &format!("{{\"a\":1,\"{other}\":1}}")).unwrap_err();
        assert!(
            said.ends_with(": not one of the expected properties (additionalProperties: false)"),
            "{said}"
        );
    }
    assert!(validate(r#"{"additionalProperties":false}"#, r#"{"b":1}"#).is_err());
    for open in ["true", "{}", "{\"type\":\"string\"}", "null", "0"] {
        let schema = format!(r#"{{"additionalProperties":{open}}}"#);
        assert!(validate(&schema, r#"{"b":1}"#).is_ok(), "{open}");
    }
    // A property whose name is a lone surrogate is none whose name is another one.
    let schema = r#"{"properties":{"\ud800":{}},"additionalProperties":false}"#;
    assert!(validate(schema, r#"{"\uD800":1}"#).is_ok());
    assert!(validate(schema, r#"{"\ud801":1}"#).is_err());
    assert!(validate(schema, "{\"\u{fffd}\":1}").is_err());
}

#[test]
fn names_of_a_pattern_are_not_taken_for_additional_ones() {
    let schema = r#"{"patternProperties":{"^x-":{}},"additionalProperties":false}"#;
    assert!(validate(schema, r#"{"x-a":1}"#).is_ok());
}

#[test]
fn prototype_names_are_names_like_others() {
    let schema = r#"{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"number"}},"additionalProperties":false}"#;
    assert!(validate(schema, r#"{"__proto__":"x","constructor":1}"#).is_ok());
    assert_eq!(
        validate(schema, r#"{"__proto__":{"admin":true}}"#).unwrap_err(),
        "/__proto__: expected string, got object"
    );
    // A schema's own members count, and nothing that other objects have.
    assert!(validate(r#"{"properties":{"toString":{}}}"#, "{}").is_ok());
    assert!(validate(r#"{"__proto__":{"required":["x"]}}"#, "{}").is_ok());
}

#[test]
fn options_are_compared_by_value_and_containers_as_they_are_printed() {
    let takes = |option: &str, value: &str| {
        let schema = format!(r#"{{"properties":{{"v":{{"enum":["other",{option}]}}}}}}"#);
        validate(&schema, &format!("{{\"v\":{value}}}")).is_ok()
    };
    for (option, value) in [
        ("\"a\"", "\"\\u0061\""),
        ("1", "1.0"),
        ("0", "-0"),
        ("1e2", "100"),
        ("null", "null"),
        ("true", "true"),
        (r#"{"a":1,"b":[2]}"#, "{ \"a\" : 1.0, \"b\" : [ 2 ] }"),
        (r#"{"2":0,"1":0}"#, r#"{"1":0,"2":0}"#),
        ("[1,2]", "[1, 2]"),
        ("[]", "[ ]"),
    ] {
        assert!(takes(option, value), "{option} {value}");
    }
    for (option, value) in [
        ("\"1\"", "1"),
        ("1", "\"1\""),
        ("1", "true"),
        ("null", "\"null\""),
        ("null", "1e400"),
        ("[null]", "null"),
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
        ("[1,2]", "[2,1]"),
        ("{}", "[]"),
        ("\"{}\"", "{}"),
        ("1", "2"),
    ] {
        assert!(!takes(option, value), "{option} {value}");
    }
    let said = validate(r#"{"properties":{"v":{"enum":["a",1,{"b":2}]}}}"#, r#"{"v":"c"}"#).unwrap_err();
    assert_eq!(said, "/v: expected one of \"a\", 1, object (enum), got \"c\"");
    // Nothing is one of no options.
    assert!(validate(r#"{"properties":{"v":{"enum":[]}}}"#, r#"{"v":1}"#).is_err());
}

#[test]
fn objects_are_looked_into_down_to_the_third_level() {
    // The property `v` in an object of each level.
    let schema = |level: usize| {
        let inner =
            r#"{"properties":{"v":{"type":"string"}},"required":["v"],"additionalProperties":false}"#.to_owned();
        (0..level).fold(inner, |schema, _| format!(r#"{{"properties":{{"o":{schema}}}}}"#))
    };
    let arguments =
        |level: usize, inner: &str| (0..level).fold(inner.to_owned(), |inner, _| format!("{{\"o\":{inner}}}"));
    for level in 0..=3 {
        let place = "/o".repeat(level);
        for (wrong, at) in [(r#"{"v":1}"#, "/v"), ("{}", "/v"), (r#"{"v":"","w":1}"#, "/w")] {
            let said = validate(&schema(level), &arguments(level, wrong)).unwrap_err();
            assert!(said.starts_with(&format!("{place}{at}: ")), "{said}");
        }
        assert!(validate(&schema(level), &arguments(level, r#"{"v":""}"#)).is_ok());
    }
    for level in [4, 5, 50] {
        assert!(
            validate(&schema(level), &arguments(level, r#"{"v":1,"w":2}"#)).is_ok(),
            "{level}"
        );
    }
}

#[test]
fn what_is_not_enforced_is_not_looked_at() {
    for schema in [
        r#"{"properties":{"v":{"items":{"type":"string"}}}}"#,
        r#"{"properties":{"v":{"minItems":9}}}"#,
        r#"{"oneOf":[false]}"#,
        r#"{"allOf":[{"required":["x"]}]}"#,
        r#"{"not":{}}"#,
        r##"{"$ref":"#/nowhere"}"##,
        r#"{"properties":{"v":{"const":1}}}"#,
        r#"{"properties":{"v":{"format":"email","pattern":"(((("}}}"#,
    ] {
        assert!(validate(schema, r#"{"v":[1,2]}"#).is_ok(), "{schema}");
    }
}

#[test]
fn odd_schemas_enforce_nothing() {
    for schema in [
        "",
        "true",
        "false",
        "null",
        "[]",
        "5",
        "{oops",
        r#"{"type":"date"}"#,
        r#"{"type":["date","string"]}"#,
        r#"{"type":[]}"#,
        r#"{"type":5}"#,
        r#"{"type":{"string":1}}"#,
        r#"{"required":"v","properties":[],"additionalProperties":"false","enum":{}}"#,
        r#"{"required":[1,null,{}],"properties":{"v":false}}"#,
        r#"{"properties":{"v":null,"w":7}}"#,
    ] {
        assert!(validate(schema, r#"{"v":1}"#).is_ok(), "{schema}");
    }
    let deep = format!("{}true{}", r#"{"properties":{"o":"#.repeat(50_000), "}}".repeat(50_000));
    let arguments = format!("{}1{}", r#"{"o":"#.repeat(50_000), "}".repeat(50_000));
    assert!(validate(&deep, &arguments).is_ok());
    assert!(validate(r#"{"properties":{"o":{"enum":[{"o":1}]}}}"#, &arguments).is_err());
}

#[test]
fn a_message_is_short_whatever_it_is_about() {
    let long = "x".repeat(100_000);
    let schema = format!(r#"{{"required":["{long}"]}}"#);
    assert!(validate(&schema, "{}").unwrap_err().chars().count() <= limits::MAX_ARGUMENT_PROBLEM_CHARS + 1);
    let options = vec![format!("\"{long}\""); 50].join(",");
    let schema = format!(r#"{{"properties":{{"v":{{"enum":[{options}]}}}}}}"#);
    let said = validate(&schema, &format!("{{\"v\":\"y{long}\"}}")).unwrap_err();
    assert!(said.chars().count() <= limits::MAX_ARGUMENT_PROBLEM_CHARS + 1);
    let said = validate(r#"{"additionalProperties":false}"#, "{\"a\\u202eb\\n\":1}").unwrap_err();
    assert!(said.starts_with("/a\\u{202e}b\\u{a}: "), "{said}");
}

proptest! {
    #[test]
    fn no_text_stops_it(schema in "[{](\"(type|enum|required|properties|a)\":(\"string\"|[\\[{]|1|\"a\"|null)[,}\\]]?){0,8}|.{0,30}", arguments in "[{](\"[ab]\":([{\\[]|1|null|\"a\")[,}\\]]?){0,6}|.{0,30}") {
        let _ = validate(&schema, &arguments);
    }

    #[test]
    fn what_fits_the_whole_of_json_schema_fits_here(kind in "string|number|integer|boolean|null|object|array", value in "\"a\"|1|1\\.0|-1\\.5|true|null|[{][}]|\\[\\]", required: bool, present: bool) {
        let required = if required { r#","required":["v"]"# } else { "" };
        let schema = format!(r#"{{"properties":{{"v":{{"type":"{kind}"}}}}{required},"additionalProperties":false}}"#);
        let arguments = if present { format!("{{\"v\":{value}}}") } else { "{}".to_owned() };
        let whole = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
        prop_assert_eq!(
            validate(&schema, &arguments).is_ok(),
            whole.is_valid(&serde_json::from_str(&arguments).unwrap())
        );
    }
}
