use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn canonical(text: &str) -> Option<String> {
    let mut out = String::new();
    write_canonical(text, &mut out).map(|()| out)
}

#[test]
fn members_are_in_the_order_of_their_code_units_and_the_last_of_repeated_ones_counts() {
    for (text, expected) in [
        (
            r#"{"b":1,"a":2,"b":[3,{"d":1,"c":2}]}"#,
            r#"{"a":2,"b":[3,{"c":2,"d":1}]}"#,
        ),
        (r#"{"2":0,"10":0,"1":0,"":0}"#, r#"{"":0,"1":0,"10":0,"2":0}"#),
        (
            "{\"\u{ff00}\":1,\"\u{1f600}\":2,\"\u{e000}\":3,\"\u{d7ff}\":4}",
            "{\"\u{d7ff}\":4,\"\u{1f600}\":2,\"\u{e000}\":3,\"\u{ff00}\":1}",
        ),
        // The same key in two spellings is one key.
        (r#"{"\u0061":1,"a":2}"#, r#"{"a":2}"#),
        (r#"{"a":2,"\u0061":1}"#, r#"{"a":1}"#),
        ("{\"\\ud83d\\ude00\":1,\"\u{1f600}\":2}", "{\"\u{1f600}\":2}"),
        // A lone surrogate is a key of its own, before what lies above the surrogates.
        (
            "{\"\u{e000}\":1,\"\\uDC00\":2,\"\\ud800\":3}",
            "{\"\\ud800\":3,\"\\udc00\":2,\"\u{e000}\":1}",
        ),
        (
            r#"{"__proto__":{"x":1},"constructor":2}"#,
            r#"{"__proto__":{"x":1},"constructor":2}"#,
        ),
        // Objects within repeated and moved members are still the right ones.
        (
            r#"{"z":{"b":{"y":1,"x":2}},"a":[{"d":3,"c":4}],"z":{"m":{"q":5,"p":6}}}"#,
            r#"{"a":[{"c":4,"d":3}],"z":{"m":{"p":6,"q":5}}}"#,
        ),
        (" [ { } , [ ] , \"\" , { \"a\" : [ ] } ] ", r#"[{},[],"",{"a":[]}]"#),
    ] {
        assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn as_javascript_prints_it_members_keep_their_places_but_for_array_indices() {
    for (text, expected) in [
        (r#"{"b":1,"a":2}"#, r#"{"b":1,"a":2}"#),
        (
            r#"{"b":1,"2":0,"a":2,"10":0,"1":{"d":1,"c":2}}"#,
            r#"{"1":{"d":1,"c":2},"2":0,"10":0,"b":1,"a":2}"#,
        ),
        (r#"{"\u0032":0,"a":2,"1":0}"#, r#"{"1":0,"2":0,"a":2}"#),
        // A repeated member has the place of the first and the value of the last.
        (
            r#"{"b":1,"a":2,"\u0062":[{"z":1,"y":2}]}"#,
            r#"{"b":[{"z":1,"y":2}],"a":2}"#,
        ),
        // No indices: leading zeros, signs, fractions, and what is too large.
        (
            r#"{"b":0,"01":0,"-1":0,"1.5":0,"":0,"+1":0}"#,
            r#"{"b":0,"01":0,"-1":0,"1.5":0,"":0,"+1":0}"#,
        ),
        (
            r#"{"b":0,"4294967295":0,"4294967294":0,"0":0}"#,
            r#"{"0":0,"4294967294":0,"b":0,"4294967295":0}"#,
        ),
        (" [ 1.0 , { \"b\" : [ ] , \"a\" : -0 } ] ", r#"[1,{"b":[],"a":0}]"#),
        (
            r#"{"__proto__":1,"constructor":2}"#,
            r#"{"__proto__":1,"constructor":2}"#,
        ),
    ] {
        let mut out = String::new();
        assert_eq!(
            write_stringified(text, &mut out).map(|()| out).as_deref(),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn scalars_are_what_javascript_prints() {
    for (text, expected) in [
        ("1.0", "1"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("9007199254740993", "9007199254740992"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("1e400", "null"),
        ("-1e400", "null"),
        ("123456789012345", "123456789012345"),
        ("-12", "-12"),
        ("5e-324", "5e-324"),
        ("1e-400", "0"),
        ("true", "true"),
        ("null", "null"),
        (r#""\u2028\u00e9\/\u007f""#, "\"\u{2028}\u{e9}/\u{7f}\""),
        (
            r#""\u0008\u0009\u000a\u000c\u000d\u0000\u001F\"\\""#,
            r#""\b\t\n\f\r\u0000\u001f\"\\""#,
        ),
        (r#""\uD83D\uDE00""#, "\"\u{1f600}\""),
        (r#""a\uD83Db\uDE00""#, r#""a\ud83db\ude00""#),
        ("\"\\ud83d\u{1f600}\"", "\"\\ud83d\u{1f600}\""),
    ] {
        assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn depth_and_length_cost_no_stack() {
    for (open, close) in [("[", "]"), ("{\"b\":1,\"a\":", "}")] {
        let text = format!("{}0{}", open.repeat(50_000), close.repeat(50_000));
        let canonical = canonical(&text).unwrap();
        assert_eq!(canonical.len(), text.len());
    }
    let flat: Vec<_> = (0..100_000).rev().map(|n| format!("\"{n}\":{n}")).collect();
    let canonical = canonical(&format!("{{{}}}", flat.join(","))).unwrap();
    assert!(canonical.starts_with(r#"{"0":0,"1":1,"10":10,"100":100,"1000":1000"#));
}

#[test]
fn what_shows_itself_not_to_be_json_is_refused() {
    for text in [
        "",
        " ",
        "[",
        "]",
        "{",
        "}",
        "[}",
        "{]",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "nul",
        "01x",
        "\"",
        "\"\\",
        "1 2",
        "{\"a\":1,\"b\"}",
        "-",
    ] {
        assert_eq!(canonical(text), None, "{text:?}");
    }
}

#[test]
fn lengths_count_utf16_code_units() {
    for (text, units) in [("", 0), ("aé", 2), ("😀", 2), ("中\u{ffff}", 2)] {
        assert_eq!(crate::json::utf16_len(text), units, "{text}");
        assert_eq!(
            crate::json::literal_utf16_len(&crate::json::quote(text)),
            units,
            "{text}"
        );
    }
    assert_eq!(crate::json::literal_utf16_len(r#""\ud800\n\"a""#), 4);
}

proptest! {
    #[test]
    fn it_is_what_a_tree_gives(value in json(), spaces: bool) {
        let text = if spaces { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut expected = String::new();
        of_tree(&value, &mut expected);
        prop_assert_eq!(canonical(&text), Some(expected.clone()));
        prop_assert_eq!(canonical(&expected), Some(expected));
    }

    #[test]
    fn any_text_ends_well(text in "[\\[\\]{}:,\"\\\\u0-9ae. -]{0,40}") {
        let ours = canonical(&text);
        if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok() {
            let ours = ours.unwrap();
            prop_assert_eq!(canonical(&ours), Some(ours));
        }
    }
}

fn json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        "[\u{0}-\u{20}\"\\\\é\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,4}"
    ]
}

/// The same by way of a tree: short, and good for what a tree can hold.
fn of_tree(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
            out.push('{');
            for (place, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                out.push_str(&serde_json::to_string(key).unwrap());
                out.push(':');
                of_tree(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                of_tree(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(ryu_js::Buffer::new().format(number.as_f64().unwrap())),
        scalar => out.push_str(&scalar.to_string()),
    }
}
