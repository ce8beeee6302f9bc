use serde_json::{Value, json};

use super::*;

#[test]
fn a_row_keeps_its_six_fields_and_nothing_else() {
    let vectors = vectors();
    let saved = &vectors["savedRow"];
    let server = PersistedServer::from_json(&saved["input"].to_string()).unwrap();
    assert_eq!(
        encode_tools(server.tools.as_deref().unwrap()),
        saved["toolsText"].as_str().unwrap()
    );
    assert_eq!(
        server.fingerprints.as_ref().unwrap().encode(),
        saved["fingerprintsText"].as_str().unwrap()
    );
    let row: Value = serde_json::from_str(&server.to_json()).unwrap();
    let keys: Vec<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "name", "type", "url", "tools", "toolFingerprints"]);
    assert_eq!(
        PersistedServer::from_json(&server.to_json()).unwrap().to_json(),
        server.to_json()
    );
}

#[test]
fn listings_decode_as_in_the_reference() {
    for case in vectors()["decodeTools"].as_array().unwrap() {
        let decoded = decode_tools(case[0].as_str().unwrap());
        let shown = decoded.map_or(json!("absent"), |tools| {
            serde_json::from_str(&encode_tools(&tools)).unwrap()
        });
        assert_eq!(shown, case[1], "{}", case[0]);
    }
}

#[test]
fn baselines_decode_as_in_the_reference() {
    for case in vectors()["decodeFingerprints"].as_array().unwrap() {
        let decoded = Fingerprints::decode(case[0].as_str().unwrap());
        let shown = decoded.map_or(json!("absent"), |record| {
            serde_json::from_str(&record.encode()).unwrap()
        });
        assert_eq!(shown, case[1], "{}", case[0]);
    }
    for text in ["", "x", "[]", "null", "\"{}\""] {
        assert_eq!(Fingerprints::decode(text), None, "{text}");
    }
}

#[test]
fn an_unsupported_type_names_the_row() {
    let error = PersistedServer::from_json(r#"{"id":"files","name":"files","type":"stdio","url":"u"}"#).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Store);
    assert!(
        error.message().contains("\"files\"") && error.message().contains("stdio"),
        "{error}"
    );
}

/// Rows that are read in one pass, and those that have to be looked at twice, come to the same.
#[test]
fn all_rows_are_read_as_one_row_is() {
    let row = |members: &str| format!(r#"{{"id":"i","name":"n","type":"sse","url":"u"{members}}}"#);
    let odd = [
        "",
        r#","tools":null,"toolFingerprints":null"#,
        r#","tools":[{"name":"a","description":"d","inputSchema":{ "z": 1.0 },"x":[]}],"toolFingerprints":{"a":"1"},"more":{}"#,
        r#","tools":[{"name":"\ud800","description":null,"inputSchema":null}]"#,
        r#","tools":[{"name":"a","description":5}]"#,
        r#","tools":[{"name":"a"},{}],"toolFingerprints":{"a":1}"#,
        r#","tools":{},"toolFingerprints":[]"#,
        r#","tools":[{"name":"a","name":"b"}],"name":"again""#,
        r#","toolFingerprints":{"__proto__":"1","a":"2","a":"3"}"#,
    ];
    let rows = odd.map(row);
    for text in &rows {
        let one = PersistedServer::from_json(text).unwrap().to_json();
        let all = PersistedServer::all_from_json(&format!("[{text}]")).unwrap().unwrap();
        assert_eq!(all.iter().map(PersistedServer::to_json).collect::<Vec<_>>(), [one]);
    }
    let together = PersistedServer::all_from_json(&format!("[{}]", rows.join(","))).unwrap();
    assert_eq!(together.unwrap().len(), rows.len());
    for (text, is_array) in [("{}", false), ("", false), ("[7]", true), ("[]", true)] {
        assert_eq!(PersistedServer::all_from_json(text).is_some(), is_array, "{text}");
    }
    assert!(
        PersistedServer::all_from_json(r#"[{"id":"i","name":"n","type":"stdio","url":"u"}]"#)
            .unwrap()
            .is_err()
    );
}

#[test]
fn what_is_no_row_is_an_error() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"id":1,"name":"n","type":"sse","url":"u"}"#,
        r#"{"id":"i","type":"sse","url":"u"}"#,
        r#"{"id":"i","name":"n","url":"u"}"#,
        r#"{"id":"i","name":"n","type":"sse","url":null}"#,
    ] {
        assert_eq!(
            PersistedServer::from_json(text).unwrap_err().code(),
            ErrorCode::Store,
            "{text}"
        );
    }
}

#[test]
fn a_listing_or_baseline_that_does_not_parse_is_dropped() {
    let row = r#"{"id":"i","name":"n","type":"streamable-http","url":"u","tools":[{"name":"a"},{}],"toolFingerprints":{"a":1}}"#;
    let server = PersistedServer::from_json(row).unwrap();
    assert!(server.tools.is_none() && server.fingerprints.is_none());
    assert_eq!(
        server.to_json(),
        r#"{"id":"i","name":"n","type":"streamable-http","url":"u"}"#
    );
}

#[test]
fn schemas_and_descriptions_keep_the_text_they_came_with() {
    let schema = r#"{ "z": 1e400, "a": 1.0, "10": {}, "2": "\u00e9\ud800", "n": 9007199254740993 }"#;
    let listing = format!(r#"[{{"name":"t","description":"caf\u00e9 \udc00","inputSchema":{schema}}}]"#);
    let tools = decode_tools(&listing).unwrap();
    assert_eq!(encode_tools(&tools), listing);
}

#[test]
fn null_counts_as_missing_and_a_wrong_description_as_no_tool() {
    let tools = decode_tools(r#"[{"name":"t","description":null,"inputSchema":null}]"#).unwrap();
    assert_eq!(encode_tools(&tools), r#"[{"name":"t"}]"#);
    assert!(decode_tools(r#"[{"name":"t","description":5}]"#).is_none());
}

#[test]
fn names_that_are_special_in_javascript_are_plain_members() {
    let record = Fingerprints::decode(r#"{"__proto__":"1","10":"2","2":"3","__proto__":"4"}"#).unwrap();
    assert_eq!(record.encode(), r#"{"__proto__":"4","10":"2","2":"3"}"#);
}

#[test]
fn userinfo_is_cut_and_nothing_else_changes() {
    for (url, expected) in [
        ("https://user:pass@host/mcp?x=a@b#c@d", "https://host/mcp?x=a@b#c@d"),
        ("https://user@host", "https://host"),
        ("https://u:p@ss@host:8443/", "https://host:8443/"),
        ("https://@host/", "https://host/"),
        ("HTTPS:user:pass@host/", "HTTPS:host/"),
        ("https:\\\\user:pass@host\\x@y", "https:\\\\host\\x@y"),
        (" \thttps:/\n/us\ner:pa\tss@host/", " \thttps:/\n/host/"),
        ("https:////user:pass@host/", "https:////host/"),
        ("https://user:pass@[::1]:80/", "https://[::1]:80/"),
        ("//user:pass@host/", "//host/"),
        ("https://host/@scope/pkg", "https://host/@scope/pkg"),
        ("https://ALPHA.example:443/mcp", "https://ALPHA.example:443/mcp"),
        ("https://host?user@x", "https://host?user@x"),
        ("u", "u"),
        ("", ""),
        ("http:", "http:"),
    ] {
        assert_eq!(without_userinfo(url), expected);
        assert_eq!(PersistedServer::new("i", "n", RemoteKind::Sse, url).url(), expected);
    }
}

fn vectors() -> Value {
    let all: Value = serde_json::from_str(include_str!("../../../__test__/vectors/client.json")).unwrap();
    all["sqlite"].clone()
}
