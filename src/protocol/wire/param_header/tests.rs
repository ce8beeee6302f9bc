use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_value_is_wrapped_where_a_header_cannot_hold_it() {
    for (text, value) in [
        ("Brest", "Brest"),
        ("two words", "two words"),
        ("", ""),
        ("~!\"", "~!\""),
        ("Zürich", "=?base64?WsO8cmljaA==?="),
        (" dock 7", "=?base64?IGRvY2sgNw==?="),
        ("dock ", "=?base64?ZG9jayA=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("a\tb", "=?base64?YQli?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?x", "=?base64?x"),
        ("x?=", "x?="),
        ("=?BASE64?x?=", "=?BASE64?x?="),
    ] {
        assert_eq!(encode(text), value, "{text:?}");
    }
}

#[test]
fn annotated_properties_are_found_at_any_depth_of_properties() {
    let schema = json!({
        "type": "object",
        "properties": {
            "port": { "type": "string", "x-mcp-header": "Port" },
            "plain": { "type": "string" },
            "at": { "type": "object", "properties": {
                "day": { "type": "integer", "x-mcp-header": "Method" },
                "": { "type": ["null", "boolean"], "x-mcp-header": "!#$%&'*+-.^_`|~09az" },
            } },
        },
    });
    assert_eq!(
        read(&schema.to_string()),
        Ok(vec![
            header("Mcp-Param-Port", &["port"]),
            header("Mcp-Param-Method", &["at", "day"]),
            header("Mcp-Param-!#$%&'*+-.^_`|~09az", &["at", ""]),
        ])
    );
}

#[test]
fn a_schema_without_annotations_asks_for_nothing() {
    for schema in [
        "{}",
        "true",
        "[]",
        "",
        "nonsense",
        r#"{"properties":[{"x-mcp-header":7}]}"#,
        r#"{"properties":{"a":true}}"#,
        // A property of this name, and data that looks like a schema.
        r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"properties":{"a":{"default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"examples":[{"x-mcp-header":"A"}],"const":{"x-mcp-header":"A"}}}}"#,
        r#"{"description":"x-mcp-header \u00e9"}"#,
        r#"{"description":"\ud800"}"#,
    ] {
        assert_eq!(read(schema), Ok(Vec::new()), "{schema}");
    }
}

#[test]
fn a_name_must_be_a_token() {
    for name in [
        json!(""),
        json!("a b"),
        json!("a:b"),
        json!("a\nb"),
        json!("a\rX: y"),
        json!("é"),
        json!("a/b"),
        json!("\u{0}"),
        json!(7),
        json!(null),
        json!(true),
        json!(["A"]),
        json!("x".repeat(100_000)),
    ] {
        let schema = json!({ "properties": { "p": { "type": "string", "x-mcp-header": name } } });
        assert_eq!(
            read(&schema.to_string()),
            Err(Invalid::Name {
                property: "p".to_owned()
            }),
            "{name}"
        );
    }
}

#[test]
fn a_name_is_there_once_whatever_its_case() {
    let schema = json!({ "properties": {
        "a": { "type": "string", "x-mcp-header": "Port" },
        "b": { "properties": { "c": { "type": "string", "x-mcp-header": "pORT" } } },
    } });
    assert_eq!(
        read(&schema.to_string()),
        Err(Invalid::Repeated {
            property: "b.c".to_owned()
        })
    );
}

#[test]
fn only_strings_integers_and_booleans_have_headers() {
    let with = |kind: Value| {
        let schema = json!({ "properties": { "p": { "type": kind, "x-mcp-header": "P" } } });
        read(&schema.to_string()).is_ok()
    };
    for kind in [
        json!("string"),
        json!("integer"),
        json!("boolean"),
        json!(["integer", "null"]),
    ] {
        assert!(with(kind.clone()), "{kind}");
    }
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!(null),
        json!([]),
        json!(["null"]),
        json!(["string", "number"]),
        json!(["string", "integer"]),
        json!({}),
    ] {
        assert!(!with(kind.clone()), "{kind}");
    }
    assert!(read(r#"{"properties":{"p":{"x-mcp-header":"P"}}}"#).is_err());
}

#[test]
fn an_annotation_anywhere_else_makes_the_tool_invalid() {
    let inner = json!({ "type": "string", "x-mcp-header": "P" });
    let nested = json!({ "properties": { "q": inner } });
    for at in SCHEMAS {
        for schema in [
            json!({ at: inner }),
            json!({ at: [true, nested] }),
            json!({ at: { "items": inner } }),
        ] {
            assert_eq!(read(&schema.to_string()), Err(Invalid::Place), "{schema}");
            let deeper = json!({ "properties": { "a": { "properties": { "b": schema } } } });
            assert_eq!(read(&deeper.to_string()), Err(Invalid::Place), "{deeper}");
        }
    }
    for at in NAMED_SCHEMAS {
        let schema = json!({ at: { "any": nested } });
        assert_eq!(read(&schema.to_string()), Err(Invalid::Place), "{schema}");
    }
    assert_eq!(read(&inner.to_string()), Err(Invalid::Place));
}

#[test]
fn an_annotation_that_is_spelt_with_escapes_is_one() {
    let schema = r#"{"properties":{"p":{"type":"string","\u0078-mcp-header":"P"}}}"#;
    assert_eq!(read(schema), Ok(vec![header("Mcp-Param-P", &["p"])]));
}

#[test]
fn a_repeated_member_counts_with_its_last_value() {
    let schema = r#"{"properties":{"p":{"type":"string","x-mcp-header":"A","x-mcp-header":"B"}}}"#;
    assert_eq!(read(schema), Ok(vec![header("Mcp-Param-B", &["p"])]));
}

#[test]
fn what_cannot_be_checked_is_invalid() {
    let deep = format!(
        r#"{}{{"type":"string","x-mcp-header":"P"}}{}"#,
        r#"{"properties":{"a":"#.repeat(1_000),
        "}}".repeat(1_000)
    );
    assert_eq!(read(&deep), Err(Invalid::Unreadable));
    assert_eq!(read(&deep.replace("x-mcp-header", "x-other")), Ok(Vec::new()));
    let many: Map<_, _> = (0..=MAX_PARAM_HEADERS)
        .map(|n| {
            (
                format!("p{n}"),
                json!({ "type": "string", "x-mcp-header": format!("P{n}") }),
            )
        })
        .collect();
    assert_eq!(read(&json!({ "properties": many }).to_string()), Err(Invalid::TooMany));
}

#[test]
fn a_reason_names_the_property_and_is_one_short_line() {
    let reason = Invalid::Type {
        property: "a.b".to_owned(),
    }
    .to_string();
    assert!(
        reason.contains("x-mcp-header") && reason.contains("\"a.b\""),
        "{reason}"
    );
    let property = "\n\u{1b}\u{7f}\u{9f}".repeat(10_000);
    for invalid in [
        Invalid::Name {
            property: property.clone(),
        },
        Invalid::Repeated { property },
        Invalid::Place,
        Invalid::TooMany,
        Invalid::Unreadable,
    ] {
        let reason = invalid.to_string();
        assert!(reason.len() < 700 && !reason.contains(char::is_control), "{reason}");
    }
}

#[test]
fn arguments_become_headers() {
    let headers = [header("Mcp-Param-A", &["a"]), header("Mcp-Param-B", &["b", "c"])];
    for (arguments, expected) in [
        (
            r#"{"a":"Brest","b":{"c":true}}"#,
            vec![("Mcp-Param-A", "Brest"), ("Mcp-Param-B", "true")],
        ),
        (
            r#"{"b":{"c":"Z\u00fcrich"}}"#,
            vec![("Mcp-Param-B", "=?base64?WsO8cmljaA==?=")],
        ),
        (
            r#"{"a":"","b":{"c":false}}"#,
            vec![("Mcp-Param-A", ""), ("Mcp-Param-B", "false")],
        ),
        (r#"{"a":"x","a":"y"}"#, vec![("Mcp-Param-A", "y")]),
        (r#"{"a":null,"b":{"c":null}}"#, vec![]),
        (r#"{"a":["x"],"b":"c"}"#, vec![]),
        (r#"{"b":{}}"#, vec![]),
        ("{}", vec![]),
        ("null", vec![]),
        ("", vec![]),
    ] {
        let found = mirrored(&headers, arguments);
        let found: Vec<_> = found.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        assert_eq!(found, expected, "{arguments}");
    }
}

#[test]
fn integers_are_printed_as_javascript_prints_them_and_no_other_number_is() {
    let headers = [header("Mcp-Param-N", &["n"])];
    let print = |number: &str| {
        mirrored(&headers, &format!(r#"{{"n":{number}}}"#))
            .pop()
            .map(|(_, value)| value)
    };
    for (number, printed) in [
        ("42", "42"),
        ("-7", "-7"),
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("42.0", "42"),
        ("4.2e1", "42"),
        ("1E3", "1000"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("9007199254740991.0", "9007199254740991"),
    ] {
        assert_eq!(print(number).as_deref(), Some(printed), "{number}");
    }
    for number in [
        "1.5",
        "-0.1",
        "1e-7",
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999",
        "1e21",
        "1e400",
    ] {
        assert_eq!(print(number), None, "{number}");
    }
}

#[test]
fn half_a_character_is_replaced_as_javascript_replaces_it() {
    let headers = [header("Mcp-Param-A", &["a"])];
    assert_eq!(
        mirrored(&headers, r#"{"a":"\ud800"}"#),
        [("Mcp-Param-A".to_owned(), encode("\u{fffd}").into_owned())]
    );
}

proptest! {
    #[test]
    fn any_text_can_be_a_value(text in "\\PC{0,20}|[ -~]{0,20}|\\s?=\\?base64\\?.{0,5}\\?=|.{0,20}") {
        let value = encode(&text);
        prop_assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
        prop_assert_eq!(value.trim(), &value[..]);
        let wrapped = value.strip_prefix(WRAPPER.0).and_then(|rest| rest.strip_suffix(WRAPPER.1));
        if let Some(wrapped) = wrapped {
            prop_assert_eq!(STANDARD.decode(wrapped).unwrap(), text.as_bytes());
        } else {
            prop_assert_eq!(&value[..], &text[..]);
        }
    }

    #[test]
    fn an_integer_prints_as_itself(number in -(1_i64 << 53) + 1..1_i64 << 53, zeros in "(\\.0{1,3})?") {
        prop_assert_eq!(integer(&format!("{number}{zeros}")), Some(number.to_string()));
    }
}

fn header(name: &str, path: &[&str]) -> ParamHeader {
    ParamHeader {
        name: name.to_owned(),
        path: path.iter().map(|&key| key.to_owned()).collect(),
    }
}
