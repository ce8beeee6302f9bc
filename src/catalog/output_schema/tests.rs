use std::fmt::Write as _;

use super::*;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn compile(schema: &str) -> OutputSchema {
    OutputSchema::compile(&raw(schema)).unwrap_or_else(|problem| panic!("{schema}: {problem}"))
}

fn check(schema: &str, value: &str) -> Fit {
    compile(schema).check(&raw(value))
}

fn problem(schema: &str, value: &str) -> String {
    match check(schema, value) {
        Fit::Unfit(problem) => problem,
        other => panic!("{schema} on {value}: {other:?}"),
    }
}

fn refused(schema: &str) -> String {
    match OutputSchema::compile(&raw(schema)) {
        Ok(_) => panic!("{schema}"),
        Err(problem) => problem,
    }
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(","))
}

/// `{"$ref": first, "$defs": {"d0": …}}`, each definition made from the reference to the next one.
fn chain(count: usize, link: impl Fn(&str) -> String, end: &str) -> String {
    let mut defs = String::new();
    for index in 0..count {
        let link = link(&format!(r##"{{"$ref":"#/$defs/d{}"}}"##, index + 1));
        write!(defs, r#""d{index}":{link},"#).unwrap();
    }
    format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{defs}"d{count}":{end}}}}}"##)
}

#[test]
fn what_fits_passes_and_what_does_not_is_placed_and_not_repeated() {
    let schema = r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"integer"}}}"##;
    assert_eq!(check(schema, r#"{"n":1}"#), Fit::Fits);
    let problem_of_n = problem(schema, r#"{"n":"hunter2"}"#);
    assert!(
        problem_of_n.starts_with("at /n: ") && problem_of_n.contains("integer") && !problem_of_n.contains("hunter2"),
        "{problem_of_n}"
    );
    assert!(problem(schema, "[1]").starts_with("at /: "));
    assert_eq!(
        check(r#"{"prefixItems":[{"type":"string"}],"items":false}"#, r#"["a"]"#),
        Fit::Fits
    );
}

#[test]
fn a_problem_is_told_briefly() {
    let value = format!(r#"{{"{}":1}}"#, "a".repeat(100_000));
    let problem = problem(r#"{"additionalProperties":false}"#, &value);
    assert!(problem.chars().count() <= limits::MAX_OUTPUT_PROBLEM_CHARS + 1);
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
        refused(schema);
    }
}

#[test]
fn keywords_mean_what_json_schema_says() {
    for (schema, fits, does_not) in [
        (r#"{"const":{"a":[1,"x"]}}"#, r#"{"a":[1.0,"x"]}"#, r#"{"a":[1,"y"]}"#),
        (r#"{"enum":[1,"a",null,[2]]}"#, "[2.0]", "[3]"),
        (
            r#"{"uniqueItems":true}"#,
            r#"[1,"1",true,[1],[[1]],{"a":1}]"#,
            "[1,1.0]",
        ),
        (
            r#"{"uniqueItems":true}"#,
            r#"[{"a":1,"b":2},{"a":2,"b":1}]"#,
            r#"[{"a":1,"b":2},{"b":2,"a":1}]"#,
        ),
        (r#"{"uniqueItems":true}"#, "[0.5,-0.5,1e30]", "[0,-0.0]"),
        (
            r#"{"uniqueItems":true}"#,
            "[9007199254740993,9007199254740992]",
            "[9007199254740992,9007199254740992.0]",
        ),
        (r#"{"multipleOf":0.01}"#, "4.02", "4.025"),
        (r#"{"minLength":2,"maxLength":2}"#, r#""éé""#, r#""é""#),
        (
            r#"{"propertyNames":{"pattern":"^[a-z]+$","maxLength":3}}"#,
            r#"{"abc":1}"#,
            r#"{"abcd":1}"#,
        ),
        (
            r#"{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#,
            r#"{"x-a":"b"}"#,
            r#"{"y":"b"}"#,
        ),
        (
            r#"{"properties":{"a":true},"unevaluatedProperties":false}"#,
            r#"{"a":1}"#,
            r#"{"b":1}"#,
        ),
        (
            r#"{"contains":{"type":"string"},"minContains":2}"#,
            r#"["a",1,"b"]"#,
            r#"["a",1]"#,
        ),
        (r#"{"dependentRequired":{"a":["b"]}}"#, r#"{"a":1,"b":1}"#, r#"{"a":1}"#),
        (
            r#"{"if":{"type":"string"},"then":{"minLength":1},"else":{"type":"number"}}"#,
            "1",
            r#""""#,
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}"#,
            r#"["a"]"#,
            r#"["a",1]"#,
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}"#,
            "2",
            "3",
        ),
    ] {
        assert_eq!(check(schema, fits), Fit::Fits, "{schema}");
        problem(schema, does_not);
    }
}

#[test]
fn formats_and_encoded_content_are_remarks_in_every_draft() {
    for draft in ["2020-12/schema", "draft-07/schema#"] {
        let host = if draft.starts_with("20") {
            "https://json-schema.org/draft/"
        } else {
            "http://json-schema.org/"
        };
        let schema = format!(
            r#"{{"$schema":"{host}{draft}","format":"email","contentEncoding":"base64","contentMediaType":"application/json"}}"#
        );
        assert_eq!(check(&schema, r#""neither""#), Fit::Fits, "{draft}");
    }
}

#[test]
fn schemas_that_only_go_in_circles_are_refused() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        r##"{"$dynamicRef":"#x","$dynamicAnchor":"x"}"##,
        r##"{"not":{"$ref":"#"}}"##,
    ] {
        assert!(refused(schema).contains("circle"), "{schema}");
    }
}

#[test]
fn schemas_that_recurse_as_real_ones_do_check_values() {
    let tree = r##"{"type":"object","properties":{"value":{"type":"integer"},"left":{"$ref":"#"},"right":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["value"]}"##;
    let deep = format!(
        "{}{}{}",
        r#"{"value":1,"left":"#.repeat(100),
        r#"{"value":1,"right":null}"#,
        "}".repeat(100)
    );
    assert_eq!(check(tree, &deep), Fit::Fits);
    problem(tree, &deep.replace("null", "3"));

    let meta = r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"schemas":{"type":"array","minItems":1,"items":{"$ref":"#"}}},"type":["object","boolean"],"properties":{"title":{"type":"string"},"items":{"anyOf":[{"$ref":"#"},{"$ref":"#/definitions/schemas"}]},"properties":{"type":"object","additionalProperties":{"$ref":"#"}},"allOf":{"$ref":"#/definitions/schemas"},"not":{"$ref":"#"}},"default":true}"##;
    assert_eq!(check(meta, meta), Fit::Fits);
    problem(meta, r#"{"properties":{"a":{"allOf":[{"title":3}]}}}"#);

    // Ten kinds of expressions, each over a list of expressions, with and without what tells them apart.
    for told_apart in [r#"{"const":"KIND"}"#, r#"{"pattern":"^KIND$"}"#] {
        let mut kinds = String::new();
        for kind in 0..10 {
            let told_apart = told_apart.replace("KIND", &format!("k{kind}"));
            write!(
                kinds,
                r##""k{kind}":{{"type":"object","properties":{{"op":{told_apart},"args":{{"type":"array","items":{{"$ref":"#/$defs/expr"}}}}}},"required":["op","args"]}},"##
            )
            .unwrap();
        }
        let any = list(10, |kind| format!(r##"{{"$ref":"#/$defs/k{kind}"}}"##));
        let schema = format!(r##"{{"$ref":"#/$defs/expr","$defs":{{{kinds}"expr":{{"oneOf":{any}}}}}}}"##);
        let mut value = r#"{"op":"k1","args":[]}"#.to_owned();
        for level in 0..50 {
            value = format!(r#"{{"op":"k{}","args":[{value}]}}"#, level % 10);
        }
        assert_eq!(check(&schema, &value), Fit::Fits);
        problem(&schema, &value.replace("[]", "[1]"));
    }
}

/// What `schema_cost` takes for granted.
#[test]
fn keywords_that_are_said_to_look_at_the_value_do() {
    for keyword in [
        r#""type":["null","boolean","object","array","number","string","integer"]"#,
        r#""type":"object""#,
        r#""enum":[1]"#,
        r#""required":["a"]"#,
        r#""properties":{"a":true}"#,
        r##""$ref":"#/$defs/a""##,
        r##""allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]"##,
        r##""anyOf":[{"$ref":"#/$defs/a"}]"##,
        r##""oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]"##,
        r##""not":{"$ref":"#/$defs/a"}"##,
    ] {
        let schema = compile(&format!(r#"{{{keyword},"$defs":{{"a":{{"type":"object"}}}}}}"#));
        for value in ["1", "{}", "[]", "null", r#""a""#] {
            let value: Value = serde_json::from_str(value).unwrap();
            let looked = meter::run(&value, SchemaCost::NONE, 0, |value| schema.validator.is_valid(value));
            assert_eq!(looked, None, "{keyword} on {value}");
        }
    }
    // Names are metered as well.
    let schema = compile(r#"{"propertyNames":{"maxLength":3}}"#);
    let value: Value = serde_json::from_str(r#"{"a":1,"b":1,"c":1}"#).unwrap();
    let runs = |steps| {
        meter::run(&value, SchemaCost::NONE, steps, |value| {
            schema.validator.is_valid(value)
        })
    };
    assert_eq!((runs(3), runs(100)), (None, Some(true)));
}

#[test]
fn a_schema_that_doubles_in_place_is_refused_or_checked_at_once() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for end in ["true", "{}", r#"{"type":"object"}"#, r#"{"type":"array"}"#] {
            let twice = |next: &str| format!(r#"{{"{keyword}":[{next},{next}]}}"#);
            assert!(refused(&chain(30, twice, end)).contains("too much work"));
            // Small enough to be allowed.
            let schema = compile(&format!(r#"{{"items":{}}}"#, chain(10, twice, end)).replace("#/", "#/items/"));
            let _any = schema.check(&raw(&list(100_000, |_| "1".to_owned())));
        }
    }
}

#[test]
fn a_schema_that_doubles_with_each_level_is_left_when_it_takes_too_long() {
    for end in ["true", r#"{"type":"string"}"#] {
        let twice = |next: &str| format!(r#"{{"type":"array","anyOf":[{{"items":{next}}},{{"items":{next}}}]}}"#);
        let schema = compile(&chain(60, twice, end));
        let fit = schema.check(&raw(&format!("{}1{}", "[".repeat(60), "]".repeat(60))));
        assert_eq!(matches!(fit, Fit::Unknown(_)), end != "true", "{fit:?}");
    }
    let itself = r##"{"type":"array","oneOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}"##;
    assert!(problem(itself, &nested(120)).contains("somewhere"));
    let itself = r##"{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}"##;
    assert_eq!(check(itself, &nested(120)), Fit::Fits);
}

#[test]
fn collecting_what_others_have_seen_is_bounded_while_compiling() {
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        let twice = |next: &str| format!(r#"{{"{keyword}":false,"anyOf":[{next},{next}]}}"#);
        assert!(refused(&chain(14, twice, "true")).contains("too much work"));
    }
}

#[test]
fn no_schema_and_no_value_overflows_the_stack() {
    // As much as the compiler may take, and more.
    for keyword in [
        "items",
        "not",
        "additionalProperties",
        "unevaluatedProperties",
        "if",
        "contains",
    ] {
        for (links, levels) in [(1, 120), (9, 20), (9, 100), (400, 4), (5_000, 1)] {
            let wrap = |next: &str| {
                format!(
                    "{}{next}{}",
                    format!(r#"{{"{keyword}":"#).repeat(levels),
                    "}".repeat(levels)
                )
            };
            if let Ok(schema) = OutputSchema::compile(&raw(&chain(links, wrap, "true"))) {
                let _any = schema.check(&raw(r#"{"a":{"b":[[[1]]]}}"#));
            }
        }
    }
    // A ladder of references on each level of a deep value.
    for rungs in [1, 5, 10, 15, 100] {
        let schema = compile(&chain(
            rungs,
            |next| format!(r#"{{"anyOf":[{next}]}}"#),
            r##"{"items":{"$ref":"#"}}"##,
        ));
        let _any = schema.check(&raw(&nested(120)));
    }
    let schema = r##"{"type":"array","items":{"$ref":"#"}}"##;
    assert_eq!(check(schema, &nested(120)), Fit::Fits);
    assert!(matches!(check(schema, &nested(100_000)), Fit::Unknown(_)));
}

#[test]
fn patterns_take_the_time_of_their_text() {
    let ab: String = (0..200_000_u32)
        .map(|index| {
            if index.wrapping_mul(2_654_435_761) >> 30 & 1 == 0 {
                'a'
            } else {
                'b'
            }
        })
        .collect();
    for pattern in ["(a|b)*a(a|b){300}c", "[ab]*a[ab]{20}c", "(a+)+$", "(a|aa)+$"] {
        let schema = compile(&format!(r#"{{"items":{{"not":{{"pattern":"{pattern}"}}}}}}"#));
        let _any = schema.check(&raw(&list(10, |_| format!("\"{ab}\""))));
    }
    for pattern in ["(a{1000}){1000}", "(((a{100}){100}){100}){100}"] {
        refused(&format!(r#"{{"pattern":"{pattern}"}}"#));
    }
    let many = list(2_000, |index| format!(r#"{{"pattern":"^{index}"}}"#));
    refused(&format!(r#"{{"allOf":{many}}}"#));
}

#[test]
fn a_pattern_that_looks_around_is_left_out_and_turns_no_verdict_around() {
    let pattern = r#"{"type":"string","pattern":"^(?!.*secret)(a+)+$"}"#;
    assert_eq!(check(pattern, &format!("\"{}b\"", "a".repeat(5_000))), Fit::Fits);
    assert!(problem(pattern, "1").contains("string"));
    let turned = format!(r#"{{"not":{pattern}}}"#);
    assert!(matches!(check(&turned, "\"secret\""), Fit::Unknown(_)));
    assert_eq!(check(&turned, "1"), Fit::Fits);
    // Data that looks like a pattern, and a property of that name.
    assert_eq!(
        check(r#"{"const":{"pattern":"(?=a)"}}"#, r#"{"pattern":"(?=a)"}"#),
        Fit::Fits
    );
    problem(r#"{"properties":{"pattern":{"type":"string"}}}"#, r#"{"pattern":1}"#);
}

#[test]
fn numbers_that_are_far_apart_end() {
    let value = list(100_000, |index| {
        if index % 2 == 0 { "1e308" } else { "123456.789" }.to_owned()
    });
    for divisor in ["5e-324", "1e-7", "1e308", "0.1", "3"] {
        let _any = check(&format!(r#"{{"items":{{"multipleOf":{divisor}}}}}"#), &value);
    }
}

#[test]
fn many_of_anything_ends() {
    let shape = |index: usize| {
        (0..12).fold("1".to_owned(), |inner, bit| {
            if index >> bit & 1 == 1 {
                format!("[{inner}]")
            } else {
                format!("[{inner},1]")
            }
        })
    };
    // All of them have the same hash in the validator's own set.
    assert_eq!(check(r#"{"uniqueItems":true}"#, &list(4_000, shape)), Fit::Fits);
    let options = list(1_000, |index| format!("[{index}]"));
    let _any = check(
        &format!(r#"{{"items":{{"enum":{options}}}}}"#),
        &list(20_000, |_| "[-1]".to_owned()),
    );
    let required = list(5_000, |index| format!("\"k{index}\""));
    let _any = check(
        &format!(r#"{{"items":{{"not":{{"required":{required}}}}}}}"#),
        &list(20_000, |_| "{}".to_owned()),
    );
    let _any = check(
        r#"{"contains":{"type":"string"},"minContains":1000000000}"#,
        &list(100_000, |_| "\"a\"".to_owned()),
    );
    for branch in [r#"{"if":{"type":"string"}}"#, "true", "false"] {
        let branches = list(4_000, |_| branch.to_owned());
        let schema = compile(&format!(r#"{{"items":{{"not":{{"not":{{"anyOf":{branches}}}}}}}}}"#));
        let _any = schema.check(&raw(&list(100_000, |_| "1".to_owned())));
    }
}

#[test]
fn a_large_result_of_an_ordinary_tool_is_checked() {
    let schema = r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","minLength":1},"tags":{"type":"array","items":{"type":"string"}},"kind":{"enum":["a","b"]}},"required":["id","name"],"additionalProperties":false}}},"required":["rows"]}"#;
    let rows = |last: &str| {
        let mut rows = list(20_000, |index| {
            format!(r#"{{"id":{index},"name":"row","tags":["x","y"],"kind":"a"}}"#)
        });
        rows.truncate(rows.len() - 1);
        format!(r#"{{"rows":{rows},{last}]}}"#)
    };
    assert_eq!(check(schema, &rows(r#"{"id":1,"name":"n"}"#)), Fit::Fits);
    problem(schema, &rows(r#"{"id":1}"#));
}

#[test]
fn a_schema_that_is_too_large_is_refused() {
    let names = list(20_000, |index| format!("\"property{index}\""));
    assert!(refused(&format!(r#"{{"required":{names}}}"#)).contains("bytes"));
}
