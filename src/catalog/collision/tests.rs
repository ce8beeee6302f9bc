use serde_json::Value;

use super::*;

#[test]
fn clashes_resolve_as_in_the_reference() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let cases = vectors["serverNameCollisions"].as_array().unwrap();
    assert!(cases.len() > 3);
    for case in cases {
        let servers = case["servers"].as_array().unwrap();
        let text = |server: &Value, key: &str| server[key].as_str().unwrap().to_owned();
        let candidates: Vec<_> = servers
            .iter()
            .map(|server| candidate(&text(server, "name"), &text(server, "url"), ""))
            .collect();
        let resolution = resolve(&candidates);
        let tools: Vec<_> = resolution
            .servers
            .iter()
            .map(|server| tool_name::project(&server.name, "whoami"))
            .collect();
        assert_eq!(Value::from(tools), case["toolNames"], "{}", case["id"]);
        let diagnostics: Vec<_> = resolution
            .diagnostics
            .iter()
            .map(|d| Value::from(vec![d.rule.section(), d.rule.name(), d.origin.as_str()]))
            .collect();
        assert_eq!(Value::from(diagnostics), case["diagnostics"], "{}", case["id"]);
    }
}

#[test]
fn a_name_that_does_not_clash_is_untouched() {
    let resolution = resolve(&[candidate("a", "x", ""), candidate("b", "x", "")]);
    assert_eq!(names(&resolution), ["a", "b"]);
    assert!(resolution.diagnostics.is_empty());
}

#[test]
fn configurations_that_agree_are_one_server_and_others_are_kept() {
    let resolution = resolve(&[
        candidate("s", "cmd", "env 1"),
        candidate("s", "cmd", "env 2"),
        candidate("s", "cmd", "env 1"),
        candidate("s", "cmd", "env 3"),
    ]);
    let expected = ["cmd", "cmd #2", "cmd #3"].map(|identity| format!("s_{}", tool_name::hash(identity)));
    assert_eq!(names(&resolution), expected);
    assert_eq!(
        resolution.servers.iter().map(|server| server.index).collect::<Vec<_>>(),
        [0, 1, 3]
    );
    assert_eq!(resolution.diagnostics.len(), 1);
}

#[test]
fn a_suffixed_name_that_is_taken_gives_way() {
    let plain = format!("s_{}", tool_name::hash("one"));
    let resolution = resolve(&[
        candidate("s", "one", ""),
        candidate("s", "two", ""),
        candidate(&plain, "three", ""),
        candidate("s", "two #2", ""),
        candidate("s", "two", "other"),
    ]);
    let unique: HashSet<_> = names(&resolution).into_iter().collect();
    assert_eq!(unique.len(), 5);
    assert_eq!(resolution.servers[2].name, plain);
}

#[test]
fn one_diagnostic_per_name_and_nothing_secret_in_it() {
    let resolution = resolve(&[
        candidate("b", "https://h/?key=k1", "token"),
        candidate("a", "run --password p1", "token"),
        candidate("b", "https://h/?key=k2", "token"),
        candidate("a", "run --password p1", "token"),
        candidate("b", "https://h/?key=k3", "token"),
    ]);
    let origins: Vec<_> = resolution.diagnostics.iter().map(|d| d.origin.as_str()).collect();
    assert_eq!(origins, ["b", "a"]);
    for diagnostic in &resolution.diagnostics {
        assert!(diagnostic.message.contains(&format!("\"{}\"", diagnostic.origin)));
        for secret in ["k1", "k2", "k3", "p1", "token", "https"] {
            assert!(!diagnostic.message.contains(secret), "{}", diagnostic.message);
        }
    }
    let merged = &resolution.diagnostics[1].message;
    assert!(merged.contains("one server"), "{merged}");
}

fn candidate(name: &str, identity: &str, extras: &str) -> Candidate {
    Candidate {
        name: name.to_owned(),
        identity: identity.to_owned(),
        extras: extras.to_owned(),
    }
}

fn names(resolution: &Resolution) -> Vec<&str> {
    resolution.servers.iter().map(|server| server.name.as_str()).collect()
}

const VECTORS: &str = include_str!("../../../__test__/vectors/client.json");
