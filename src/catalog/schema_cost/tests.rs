use serde_json::json;

use super::*;

fn of(schema: &Value) -> SchemaCost {
    SchemaCost::of(schema).unwrap_or_else(|problem| panic!("{schema}: {problem}"))
}

fn problem(schema: &Value) -> String {
    match SchemaCost::of(schema) {
        Ok(cost) => panic!("{schema}: {cost:?}"),
        Err(problem) => problem,
    }
}

#[test]
fn an_ordinary_schema_costs_a_step_per_look() {
    let cost = of(&json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/b"}, "c": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
        "$defs": {"b": {"enum": [1]}}
    }));
    assert_eq!(
        cost,
        SchemaCost {
            nesting: 3,
            ..SchemaCost::NONE
        }
    );
}

#[test]
fn schemas_that_do_not_look_at_the_value_are_counted_with_the_look_before() {
    let silent = |count: usize| json!({"type": "object", "anyOf": vec![json!({}); count]});
    assert_eq!(of(&silent(10)).look, 11);
    assert_eq!(of(&json!({"items": silent(10)})).look, 11);
    assert_eq!(
        of(&json!({"items": {"anyOf": vec![json!({"type": "null"}); 10]}})).look,
        2
    );
    // Only one of the properties has the name that a member has; of the patterns, all may match.
    let many = |keyword: &str| json!({keyword: {"a": {}, "b": {}, "c": {}}});
    assert_eq!(of(&many("properties")).look, 2);
    assert_eq!(of(&many("patternProperties")).look, 4);
    // What stands alone is never evaluated, and looks at nothing.
    assert_eq!(
        of(&json!({"items": {"allOf": vec![json!({"if": {"type": "null"}}); 10]}})).look,
        12
    );
}

#[test]
fn what_is_reached_twice_counts_twice() {
    let doubling = |times: usize| {
        let mut defs = Map::new();
        for index in 0..times {
            let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
            defs.insert(format!("d{index}"), json!({"allOf": [next, next]}));
        }
        defs.insert(format!("d{times}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    assert!(of(&doubling(5)).look > 10);
    assert!(problem(&doubling(30)).contains("too much work"));
    assert!(problem(&doubling(200)).contains("too much work"));
}

#[test]
fn references_are_found_by_place_by_anchor_and_by_identity() {
    for reference in [
        "#/$defs/a%20b",
        "#anchor",
        "#dynamic",
        "#old",
        "https://x.example/y#/$defs/a%20b",
        "https://x.example/y#anchor",
    ] {
        of(&json!({
            "$id": "https://x.example/y",
            "items": {"$ref": reference},
            "$defs": {"a b": {"$anchor": "anchor", "$dynamicAnchor": "dynamic", "$id": "#old"}}
        }));
    }
    for (reference, word) in [
        ("#/$defs/none", "does not have"),
        ("#none", "does not have"),
        ("https://y.example/#anchor", "outside"),
        ("other.json", "outside"),
        ("#%zz", "outside"),
        ("#%ff", "outside"),
    ] {
        assert!(
            problem(&json!({"items": {"$ref": reference}})).contains(word),
            "{reference}"
        );
    }
    assert!(problem(&json!({"items": {"$ref": 3}})).contains("no text"));
}

#[test]
fn a_schema_inside_another_document_is_refused_and_data_is_not() {
    assert!(problem(&json!({"items": {"$id": "https://x.example/"}})).contains("identity"));
    assert!(
        problem(&json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"id": "x"}}))
            .contains("identity")
    );
    of(&json!({"examples": [{"id": "x"}], "properties": {"id": {"type": "string"}, "$id": {"type": "string"}}}));
}

#[test]
fn circles_without_a_descent_are_refused_and_others_are_not() {
    assert!(problem(&json!({"$ref": "#"})).contains("circle"));
    assert!(problem(&json!({"items": {"dependentSchemas": {"a": {"$ref": "#/items"}}}})).contains("circle"));
    for keyword in [
        "items",
        "additionalProperties",
        "contains",
        "propertyNames",
        "unevaluatedItems",
    ] {
        of(&json!({keyword: {"$ref": "#"}}));
    }
    of(&json!({"$dynamicAnchor": "node", "properties": {"children": {"items": {"$dynamicRef": "#node"}}}}));
    of(&json!({"$recursiveAnchor": true, "items": {"$recursiveRef": "#"}}));
}

#[test]
fn what_the_compiler_would_go_too_deep_into_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!({"$ref": "#/$defs/b"}), |inner, _| json!({"items": inner}));
    let with = |levels: usize| json!({"items": nested(levels), "$defs": {"b": nested(levels)}});
    of(&with(10));
    assert!(problem(&with(50)).contains("too deeply"));
}

#[test]
fn a_long_chain_of_references_is_refused_without_recursion() {
    let mut defs = Map::new();
    for index in 0..3_000 {
        defs.insert(format!("d{index}"), json!({"$ref": format!("#/$defs/d{}", index + 1)}));
    }
    defs.insert("d3000".to_owned(), json!(true));
    assert!(problem(&json!({"$ref": "#/$defs/d0", "$defs": defs})).contains("too much work"));
}

#[test]
fn patterns_are_left_out_only_where_they_are_patterns() {
    let mut schema = json!({
        "properties": {"pattern": {"pattern": "(?=a)"}, "b": {"pattern": "a"}},
        "anyOf": [{"pattern": "(a)\\1"}],
        "const": {"pattern": "(?=a)"}
    });
    assert!(leave_out_tried_patterns(&mut schema));
    assert_eq!(
        schema,
        json!({
            "properties": {"pattern": {"pattern": ""}, "b": {"pattern": "a"}},
            "anyOf": [{"pattern": ""}],
            "const": {"pattern": "(?=a)"}
        })
    );
    assert!(!leave_out_tried_patterns(&mut schema));
}
