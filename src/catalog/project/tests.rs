use serde_json::Value;

use super::*;
use crate::catalog::VECTORS;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn tool(name: &str) -> Arc<ListedTool> {
    Arc::new(ListedTool::new(name, None, None, None))
}

fn described(name: &str, description: &str, schema: &str) -> Arc<ListedTool> {
    Arc::new(ListedTool::new(
        name,
        Some(&raw(&json::quote(description))),
        Some(&raw(schema)),
        None,
    ))
}

fn listing<'a>(name: &'a str, tools: &'a [Arc<ListedTool>]) -> ServerListing<'a> {
    ServerListing {
        name,
        projected_name: name,
        is_remote: true,
        tools,
        baseline: None,
    }
}

fn trusting(tools: &[Arc<ListedTool>]) -> Baseline {
    Baseline::new(
        tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.fingerprint().digest.clone())),
    )
}

fn everything(listings: &[ServerListing<'_>]) -> Projection {
    project(listings, &Filter::Everything, &Disclosure::default())
}

fn budget(budget: f64) -> Disclosure {
    Disclosure {
        budget,
        ..Disclosure::default()
    }
}

/// Names, descriptions and schemas, as the facade reads them.
fn shown(projection: &Projection) -> Vec<(String, String, String)> {
    let (entries, schemas) = projection.text.split_once('\n').unwrap();
    let entries: Vec<Value> = serde_json::from_str(entries).unwrap();
    let mut rest: Vec<u16> = schemas.encode_utf16().collect();
    let shown = entries
        .iter()
        .map(|entry| {
            let units = usize::try_from(entry["schema"].as_u64().unwrap()).unwrap();
            let schema: Vec<u16> = rest.drain(..units).collect();
            (
                entry["name"].as_str().unwrap().to_owned(),
                entry["description"].as_str().unwrap().to_owned(),
                String::from_utf16(&schema).unwrap(),
            )
        })
        .collect();
    assert!(rest.is_empty());
    shown
}

fn names(projection: &Projection) -> Vec<String> {
    shown(projection).into_iter().map(|(name, ..)| name).collect()
}

fn rules(projection: &Projection) -> Vec<(&'static str, &str)> {
    let diagnostics = projection.diagnostics.iter();
    diagnostics
        .map(|told| (told.rule.name(), told.origin.as_str()))
        .collect()
}

#[test]
fn the_first_of_two_tools_keeps_the_name_whichever_servers_they_come_from() {
    let one = [tool("b__c"), tool("x")];
    let two = [tool("c"), tool("x")];
    let projection = everything(&[listing("a", &one), listing("a__b", &two)]);
    let tools: Vec<_> = projection.tools.iter().map(|t| (t.name.as_str(), t.server)).collect();
    assert_eq!(tools, [("a__b__c", 0), ("a__x", 0), ("a__b__x", 1)]);
    assert_eq!(names(&projection), ["a__b__c", "a__x", "a__b__x"]);
    assert_eq!(rules(&projection), [("server-entry-invalid", "a__b")]);
    assert!(projection.diagnostics[0].message.contains("\"c\""), "{projection:?}");
}

#[test]
fn the_name_of_the_describing_tool_is_reserved() {
    let tools = [tool("describe_tool"), tool("other")];
    let projection = everything(&[listing("mcp", &tools)]);
    assert_eq!(names(&projection), ["mcp__other"]);
    assert_eq!(rules(&projection), [("server-entry-invalid", "mcp")]);
    assert!(
        projection.diagnostics[0].message.contains("\"describe_tool\""),
        "{projection:?}"
    );
}

#[test]
fn a_filtered_tool_takes_no_name_and_is_not_measured() {
    let tools = [described("a.b", &"long ".repeat(50_000), "{}"), tool("a_b")];
    let filter = Filter::new(None, Some(vec!["a.b".to_owned()])).unwrap();
    let projection = project(&[listing("s", &tools)], &filter, &Disclosure::default());
    assert_eq!(
        projection.text,
        "[{\"name\":\"s__a_b\",\"server\":\"s\",\"credentials\":true,\"description\":\"a_b\",\"schema\":17}]\n{\"type\":\"object\"}"
    );
    assert_eq!(
        projection.disclosed,
        [Disclosed {
            tier: Tier::Inline,
            tokens: 6
        }]
    );
    assert!(projection.diagnostics.is_empty());
}

#[test]
fn thousands_of_names_that_are_taken_are_told_of_in_short() {
    let one: Vec<_> = (0..500).map(|n| tool(&format!("b__{n}"))).collect();
    let two: Vec<_> = (0..500).map(|n| tool(&n.to_string())).collect();
    let projection = everything(&[listing("a", &one), listing("a__b", &two)]);
    assert_eq!(projection.diagnostics.len(), limits::MAX_ENTRY_DIAGNOSTICS + 1);
    assert!(projection.diagnostics.last().unwrap().message.contains("400 more"));
}

#[test]
fn each_tier_shows_what_the_vectors_say() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for case in vectors["tiers"].as_array().unwrap() {
        let tools: Vec<_> = case["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                let text = |key: &str| tool[key].as_str().unwrap();
                described(text("name"), text("description"), &tool["inputSchema"].to_string())
            })
            .collect();
        let (id, limit) = (&case["id"], case["budget"].as_f64().unwrap());
        let projection = project(&[listing("s", &tools)], &Filter::Everything, &budget(limit));
        assert_eq!(
            projection.disclosed[0].tier.name(),
            case["mode"].as_str().unwrap(),
            "{id}"
        );
        assert_eq!(
            projection.describes,
            case["describeToolPresent"].as_bool().unwrap(),
            "{id}"
        );
        let shown = shown(&projection);
        assert_eq!(shown.len() as u64, case["toolCount"].as_u64().unwrap(), "{id}");
        let (_, description, schema) = &shown[0];
        assert_eq!(schema, case["firstToolSchemaText"].as_str().unwrap(), "{id}");
        assert_eq!(
            description.ends_with(" Full input schema available via mcp__describe_tool."),
            case["firstToolDescriptionHasDeferredSuffix"].as_bool().unwrap(),
            "{id}"
        );
        let expected: Vec<(String, String)> = serde_json::from_value(case["diagnostics"].clone()).unwrap();
        let told: Vec<_> = rules(&projection)
            .into_iter()
            .map(|(rule, origin)| (rule.to_owned(), origin.to_owned()))
            .collect();
        assert_eq!(told, expected, "{id}");
    }
}

#[test]
fn the_budget_is_per_server_and_the_describing_tool_comes_last() {
    let schema = format!(
        r#"{{"type":"object","properties":{{"p":{{"description":"{}"}}}}}}"#,
        "x".repeat(4_000)
    );
    let (big, small) = ([described("t", "Big.", &schema)], [tool("t")]);
    let projection = project(
        &[listing("big", &big), listing("small", &small)],
        &Filter::Everything,
        &budget(500.0),
    );
    assert_eq!(names(&projection), ["big__t", "small__t", DESCRIBE_TOOL]);
    assert_eq!(
        projection
            .disclosed
            .iter()
            .map(|server| server.tier)
            .collect::<Vec<_>>(),
        [Tier::Names, Tier::Inline]
    );
}

#[test]
fn the_diagnostic_of_the_floor_names_the_count_the_floor_the_budget_and_the_way_down() {
    let tools: Vec<_> = (0..7)
        .map(|n| described(&format!("t{n}"), &"word ".repeat(40), "{}"))
        .collect();
    let projection = project(&[listing("s", &tools)], &Filter::Everything, &budget(12.5));
    let [told] = projection.diagnostics.as_slice() else {
        panic!("{:?}", projection.diagnostics)
    };
    let floor = projection.disclosed[0].tokens;
    for part in ["7 tools", &format!(" {floor} tokens"), "12.5", "`tools` filter"] {
        assert!(told.message.contains(part), "{part}: {}", told.message);
    }
}

#[test]
fn nothing_that_a_server_changed_or_added_after_it_was_trusted_is_seen() {
    let old = [
        described("kept", "Kept.", "{}"),
        described("pay", "Pays.", r#"{"type":"object"}"#),
        described("enum", "Enum.", r#"{"properties":{"p":{"enum":["a"]}}}"#),
        described("order", "Order.", r#"{"a":1,"b":{"c":[1.0],"d":2}}"#),
        tool("gone"),
        tool("also gone"),
    ];
    let new = [
        described("order", "Order.", r#"{"b":{"d":2,"c":[1]},"a":1}"#),
        described("zzz_new", "INJECTED", r#"{"title":"INJECTED"}"#),
        described("enum", "Enum.", r#"{"properties":{"p":{"enum":["INJECTED"]}}}"#),
        described("kept", "Kept.", "{}"),
        described("pay", "INJECTED", r#"{"properties":{"INJECTED":{}}}"#),
    ];
    let baseline = trusting(&old);
    for disclosure in [Disclosure::default(), budget(0.0), budget(170.0)] {
        let with_history = ServerListing {
            baseline: Some(&baseline),
            ..listing("bank", &new)
        };
        let projection = project(&[with_history], &Filter::Everything, &disclosure);
        assert!(!projection.text.contains("INJECTED"), "{}", projection.text);
        let mut shown = shown(&projection);
        shown.retain(|(name, ..)| name != DESCRIBE_TOOL);
        let names: Vec<_> = shown.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["bank__order", "bank__enum", "bank__kept", "bank__pay"]);
        for at in [1, 3] {
            assert_eq!(
                (shown[at].1.as_str(), shown[at].2.as_str()),
                (QUARANTINED, EMPTY_SCHEMA)
            );
            assert!(projection.tools[at].quarantined);
        }
        let told: Vec<_> = projection
            .diagnostics
            .iter()
            .filter(|told| told.rule == Rule::ToolDrift)
            .collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].message.ends_with("withheld: enum, pay, zzz_new"),
            "{}",
            told[0].message
        );
        assert!(
            told[1].message.ends_with("no longer publishes: also gone, gone"),
            "{}",
            told[1].message
        );
        assert!(
            told.iter()
                .all(|told| told.origin == "bank" && !told.message.contains("INJECTED"))
        );
    }
}

#[test]
fn what_is_as_it_was_trusted_is_told_of_by_nobody() {
    let tools = [described("a", "A.", "{}"), tool("b")];
    let baseline = trusting(&tools);
    let projection = everything(&[ServerListing {
        baseline: Some(&baseline),
        ..listing("s", &tools)
    }]);
    assert_eq!(names(&projection), ["s__a", "s__b"]);
    assert!(projection.diagnostics.is_empty());
}

#[test]
fn a_withheld_tool_takes_no_name_from_another_server() {
    let (one, two) = ([tool("b__c")], [tool("c")]);
    let baseline = Baseline::default();
    let projection = everything(&[
        ServerListing {
            baseline: Some(&baseline),
            ..listing("a", &one)
        },
        listing("a__b", &two),
    ]);
    assert_eq!(
        projection
            .tools
            .iter()
            .map(|t| (t.name.as_str(), t.server))
            .collect::<Vec<_>>(),
        [("a__b__c", 1)]
    );
}

#[test]
fn a_quarantined_tool_asks_nobody_for_credentials() {
    let (old, new) = ([described("t", "Old.", "{}")], [described("t", "New.", "{}")]);
    let baseline = trusting(&old);
    let projection = everything(&[ServerListing {
        baseline: Some(&baseline),
        ..listing("s", &new)
    }]);
    let entries: Value = serde_json::from_str(projection.text.lines().next().unwrap()).unwrap();
    assert_eq!(entries[0]["credentials"], false);
    assert!(QUARANTINED.contains("quarantined"));
}

#[test]
fn drifted_names_are_sorted_as_javascript_sorts_and_made_visible_and_very_many_are_told_in_short() {
    let new = [tool("\u{e000}"), tool("\u{1f600}"), tool("b\u{202e}a"), tool("B")];
    let baseline = Baseline::default();
    let of = |tools: &[Arc<ListedTool>]| {
        let listing = ServerListing {
            baseline: Some(&baseline),
            ..listing("s", tools)
        };
        everything(&[listing]).diagnostics.remove(0).message
    };
    assert!(
        of(&new).ends_with("withheld: B, b\\u{202e}a, \u{1f600}, \u{e000}"),
        "{}",
        of(&new)
    );
    let many: Vec<_> = (0..1_500).map(|n| tool(&n.to_string())).collect();
    assert!(of(&many).ends_with(" and 500 more"));
}

#[test]
fn a_denial_is_a_value_that_tells_the_model_why_and_not_to_retry() {
    let denial: Value = serde_json::from_str(&denial("docs__search", "search", "docs")).unwrap();
    assert_eq!(denial["__denied"], true);
    assert_eq!(denial["toolName"], "docs__search");
    assert!(denial["deniedBy"].is_string());
    let message = denial["message"].as_str().unwrap();
    for part in ["\"search\"", "definition changed since it was trusted", "Do not retry"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn schemas_and_descriptions_keep_their_spelling_and_their_lengths_are_those_of_javascript() {
    let schema = "{\"type\" : \"object\", \"title\":\"é 😀 \\ud800\"}";
    let tools = [
        Arc::new(ListedTool::new(
            "t",
            Some(&raw(r#""half \ud800""#)),
            Some(&raw(schema)),
            None,
        )),
        tool("u"),
    ];
    let projection = everything(&[listing("s", &tools)]);
    assert!(projection.text.contains(r#""description":"half \ud800""#));
    let (entries, schemas) = projection.text.split_once('\n').unwrap();
    assert_eq!(schemas, format!("{schema}{NO_SCHEMA}"));
    let entries: Value = serde_json::from_str(&entries.replace("\\ud800", "")).unwrap();
    assert_eq!(
        entries[0]["schema"].as_u64().unwrap(),
        schema.encode_utf16().count() as u64
    );
}
