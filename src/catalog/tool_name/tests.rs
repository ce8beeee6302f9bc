use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::catalog::VECTORS;

#[test]
fn names_are_those_of_the_reference() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = vectors["toolNames"].as_array().unwrap();
    assert!(cases.len() > 10);
    for case in cases {
        let (server, tool) = (case["server"].as_str().unwrap(), case["tool"].as_str().unwrap());
        assert_eq!(
            project(server, tool),
            case["projected"].as_str().unwrap(),
            "{server:?} {tool:?}"
        );
    }
}

#[test]
fn hashes_are_those_of_the_reference() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = vectors["fnv1a32Base36"].as_array().unwrap();
    assert!(cases.len() > 4);
    for case in cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(hash(text), case["hash"].as_str().unwrap(), "{text:?}");
    }
}

#[test]
fn names_that_look_alike_after_cleaning_stay_apart() {
    let long = "x".repeat(70);
    let tools = [
        "a.b",
        "a_b",
        "a/b",
        "A_b",
        &format!("{long}one"),
        &format!("{long}two"),
        &project("srv", "a.b"),
    ];
    let projected: HashSet<_> = tools.iter().map(|tool| project("srv", tool)).collect();
    assert_eq!(projected.len(), tools.len());
    assert!(projected.contains("srv__a_b"), "a legal name passes as it is");
}

#[test]
fn the_limit_counts_the_whole_name() {
    assert!(is_provider_legal(&"a".repeat(64)));
    for illegal in ["", "a b", "a\n", "é", "a.b", &"a".repeat(65)] {
        assert!(!is_provider_legal(illegal), "{illegal:?}");
    }
    let longest_verbatim = "t".repeat(64 - "s__".len());
    assert_eq!(project("s", &longest_verbatim), format!("s__{longest_verbatim}"));
}

proptest! {
    #[test]
    fn every_name_becomes_a_legal_one_and_a_legal_one_stays(server in "\\PC{0,40}", tool in "\\PC{0,90}") {
        let qualified = format!("{server}__{tool}");
        let projected = project(&server, &tool);
        prop_assert!(is_provider_legal(&projected), "{projected:?}");
        prop_assert_eq!(is_provider_legal(&qualified), projected == qualified);
    }
}
