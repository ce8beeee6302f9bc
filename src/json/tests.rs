use super::*;

#[test]
fn the_last_of_repeated_members_counts_and_null_is_there_but_not_present() {
    let object = Object::parse(r#" {"a":1,"b":null,"a":{"x":[1, 2]}} "#).unwrap();
    assert_eq!(object.get("a").unwrap().get(), r#"{"x":[1, 2]}"#);
    assert_eq!(object.get("b").unwrap().get(), "null");
    assert!(object.present("b").is_none());
    assert!(object.get("c").is_none());
}

#[test]
fn only_a_whole_object_is_one() {
    for text in ["", "1", "[]", "null", "\"{}\"", "{", "{} {}", "{}x", "{\"a\":}"] {
        assert!(Object::parse(text).is_none(), "{text}");
    }
}

#[test]
fn values_that_serde_trees_refuse_pass_as_text() {
    let deep = format!(
        "{{\"a\":{}{},\"n\":1e400,\"s\":\"\\ud800\",\"\\ud800k\":1}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let object = Object::parse(&deep).unwrap();
    assert_eq!(object.get("n").unwrap().get(), "1e400");
    assert_eq!(object.get("s").unwrap().get(), "\"\\ud800\"");
    assert!(object.string("s").is_none());
    assert_eq!(string_lossy("\"a\\ud800b\"").unwrap(), "a\u{fffd}b");
}

#[test]
fn quoting_is_what_serde_json_writes() {
    let every: String = (0..0x300)
        .filter_map(char::from_u32)
        .chain(['\u{2028}', '😀'])
        .collect();
    let ours = quote(&every);
    assert_eq!(serde_json::from_str::<String>(&ours).unwrap(), every);
    assert!(!ours.contains('\n') && !ours.contains('\r'));
}

#[test]
fn literals_join_without_being_decoded() {
    assert_eq!(
        join_literals(["\"a\\ud800\"", "\"\"", "\"\\\"q\\\"\""], "\\n"),
        "\"a\\ud800\\n\\n\\\"q\\\"\""
    );
    assert_eq!(join_literals([], "\\n"), "\"\"");
}

#[test]
fn depth_counts_structure_and_not_text() {
    for (text, depth) in [
        ("1", 0),
        ("[]", 1),
        (r#"{"a":[{}]}"#, 3),
        (r#"["[[[{", "\"[", "\\"]"#, 1),
        ("[[],[[]]]", 3),
    ] {
        assert_eq!(super::depth(text), depth, "{text}");
    }
}

#[test]
fn a_long_text_is_quoted_in_short() {
    assert_eq!(quote_short("a\"b"), r#""a\"b""#);
    let quoted = quote_short(&"é".repeat(10_000));
    assert!(quoted.ends_with("é…\"") && quoted.chars().count() < 200, "{quoted}");
}

#[test]
fn what_hides_or_reorders_text_is_spelt_out_and_the_rest_stays() {
    assert_eq!(
        quote_visibly("pay\u{202e}\u{200b}\u{e0041}\n\u{85}\"é 中 👨\u{200d}👩"),
        "\"pay\\u{202e}\\u{200b}\\u{e0041}\\n\\u{85}\\\"é 中 👨\\u{200d}👩\""
    );
    assert_eq!(visibly("a, b"), "a, b");
    assert_eq!(visibly("\u{1b}[2K"), "\\u{1b}[2K");
}

#[test]
fn the_beginning_of_a_text_is_told_from_another_text() {
    for cut in ["{", "{\"a\":[1,", "\"a", "[nul"] {
        assert!(breaks_off(cut), "{cut}");
    }
    for whole in ["", " ", "{}", "null", "{}}", "<h1>", "{a", "[1,]", "nothing"] {
        assert!(!breaks_off(whole), "{whole}");
    }
}

#[test]
fn a_list_is_read_with_its_object_or_one_by_one() {
    let text =
        |odd: &str| format!(r#"{{"a":1,"list":[],"list":[{{"x":[1],"x":2}},{odd},{{}}],"b":"\ud800","a":{{"c":[]}}}}"#);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for odd in [
        "7",
        "-1.5",
        "null",
        "true",
        r#""text""#,
        r#""\ud800""#,
        "1e400",
        "[{},[1e400]]",
        &deep,
    ] {
        let text = text(odd);
        let (object, list) = Object::parse_with_list(&text, "list").unwrap();
        assert_eq!(object.get("a").unwrap().get(), r#"{"c":[]}"#, "{odd}");
        let list = list.unwrap();
        assert_eq!(list.len(), 3, "{odd}");
        assert_eq!(list[0].as_ref().unwrap().get("x").unwrap().get(), "2", "{odd}");
        assert!(list[1].is_none() && list[2].is_some(), "{odd}");
    }
    for text in ["{}", r#"{"list":{}}"#, r#"{"list":null}"#, r#"{"list":[],"list":1}"#] {
        assert!(Object::parse_with_list(text, "list").unwrap().1.is_none(), "{text}");
    }
    for text in ["[]", "", "{", r#"{"list":[}"#, r#"{"list":[]} 1"#] {
        assert!(Object::parse_with_list(text, "list").is_none(), "{text}");
    }
}
