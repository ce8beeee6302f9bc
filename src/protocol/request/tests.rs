use super::*;

const DEPTH: usize = 128;

#[test]
fn each_kind_of_message_is_told_by_its_members() {
    let Incoming::Request(request) = accepted(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"b":[1]}}"#)
    else {
        panic!("a request")
    };
    assert_eq!(request.id.text(), "\"a\"");
    assert_eq!(request.method, "tools/call");
    assert_eq!(request.params.unwrap().get(), "{\"b\":[1]}");
    assert!(matches!(
        accepted(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        Incoming::Notification { method, params: None } if method == "notifications/initialized"
    ));
    assert!(matches!(
        accepted(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#),
        Incoming::Response { id: Some(id), outcome: Ok(result) } if id.number() == Some(7) && result.get() == "{}"
    ));
    assert!(matches!(
        accepted(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#),
        Incoming::Response { id: None, outcome: Err(error) } if error.code == -32_700
    ));
}

#[test]
fn what_stands_for_nothing_is_nothing() {
    assert!(matches!(
        accepted(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#),
        Incoming::Request(Request { params: None, .. })
    ));
    assert!(matches!(
        accepted(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#),
        Incoming::Response { outcome: Ok(_), .. }
    ));
}

#[test]
fn what_is_no_json_is_a_parse_error_without_an_id() {
    for text in [
        "",
        " ",
        "{oops",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {}",
        "{'jsonrpc':'2.0'}",
        "[{\"jsonrpc\":\"2.0\"},",
        "[1,]",
        "NaN",
        "\u{feff}{}",
        "{\"id\":1,\"method\":\"a\nb\"}",
        "{\"id\":1,\"method\":\"\\x\"}",
        "{\"id\":01}",
    ] {
        assert_eq!(refused(text), (codes::PARSE_ERROR, None), "{text}");
    }
    let refusal = read_bytes(b"{\"id\":1,\"method\":\"\xff\"}", DEPTH).unwrap_err();
    assert_eq!((refusal.error.code, refusal.id), (codes::PARSE_ERROR, None));
    assert!(read_bytes(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", DEPTH).is_ok());
}

#[test]
fn json_that_is_no_request_is_an_invalid_request() {
    for text in ["123", "null", "true", "\"x\"", "[]", " [ ] ", "{}"] {
        assert_eq!(refused(text), (codes::INVALID_REQUEST, None), "{text}");
    }
}

#[test]
fn a_refusal_repeats_the_id_that_could_be_read() {
    for members in [
        "",
        r#""method":"ping","#,
        r#""jsonrpc":"1.0","method":"ping","#,
        r#""jsonrpc":2.0,"method":"ping","#,
        r#""jsonrpc":null,"method":"ping","#,
        r#""jsonrpc":"2.0","#,
        r#""jsonrpc":"2.0","method":1,"#,
        r#""jsonrpc":"2.0","method":null,"#,
        r#""jsonrpc":"2.0","method":["ping"],"#,
        r#""jsonrpc":"2.0","method":"\ud800","#,
        r#""jsonrpc":"2.0","method":"ping","params":[],"#,
        r#""jsonrpc":"2.0","method":"ping","params":"x","#,
        r#""jsonrpc":"2.0","method":"ping","params":1,"#,
        r#""jsonrpc":"2.0","method":"ping","params":false,"#,
        r#""jsonrpc":"1.0","method":"ping","result":{},"#,
    ] {
        let text = format!("{{{members}\"id\":\"a\\u0062\"}}");
        assert_eq!(refused(&text), (codes::INVALID_REQUEST, Some("\"a\\u0062\"")), "{text}");
    }
}

#[test]
fn an_id_is_a_string_or_a_whole_number() {
    for id in [
        "null",
        "1.5",
        "-0.1",
        "1e-1",
        "15e-1",
        "true",
        "{}",
        "[1]",
        "1e99999999999",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(refused(&text), (codes::INVALID_REQUEST, None), "{id}");
    }
    for id in [
        "0",
        "-1",
        "1.0",
        "1e3",
        "10e-1",
        "-0",
        "\"\"",
        "\"null\"",
        "123456789012345678901234567890",
        "1e400",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let Incoming::Request(request) = accepted(&text) else {
            panic!("{id}")
        };
        assert_eq!(request.id.text(), id);
    }
}

#[test]
fn of_a_repeated_member_the_last_one_counts() {
    let Incoming::Request(request) = accepted(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":1,"method":"ping"}"#) else {
        panic!("a request")
    };
    assert_eq!((request.id.text(), request.method.as_ref()), ("2", "ping"));
}

#[test]
fn a_wrong_answer_is_refused_without_its_id() {
    for text in [
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#,
    ] {
        assert_eq!(refused(text), (codes::INVALID_REQUEST, None), "{text}");
    }
}

#[test]
fn a_wrong_notification_is_marked_as_one() {
    let refusal = read(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#,
        DEPTH,
    )
    .unwrap_err();
    assert!(refusal.is_notification);
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
        r#"{"method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
    ] {
        assert!(!read(text, DEPTH).unwrap_err().is_notification, "{text}");
    }
}

#[test]
fn a_message_may_be_nested_up_to_the_limit_and_no_deeper() {
    let nested = |depth: usize| {
        // The message and its params are two levels.
        let inner = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{{"a":{inner}}}}}"#)
    };
    assert!(read(&nested(DEPTH), DEPTH).is_ok());
    assert_eq!(refused(&nested(DEPTH + 1)), (codes::PARSE_ERROR, Some("5")));
    assert_eq!(refused(&nested(1_000_000)), (codes::PARSE_ERROR, Some("5")));
    assert_eq!(refused(&"[".repeat(1_000_000)), (codes::PARSE_ERROR, None));
    assert_eq!(refused(&"{\"a\":".repeat(1_000_000)), (codes::PARSE_ERROR, None));
    // Brackets in a string are none.
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{{"a":"\"{}"}}}}"#,
        "[".repeat(1_000)
    );
    assert!(read(&text, DEPTH).is_ok());
}

#[test]
fn each_message_of_a_batch_is_read_by_itself() {
    let Incoming::Batch(items) = accepted(
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2,"method":"ping"},[],3,{"jsonrpc":"2.0","method":"x"}]"#,
    ) else {
        panic!("a batch")
    };
    assert!(matches!(&items[0], Ok(Incoming::Request(request)) if request.id.text() == "1"));
    let second = items[1].as_ref().unwrap_err();
    assert_eq!((second.error.code, second.id), (codes::INVALID_REQUEST, Some("2")));
    for item in &items[2..4] {
        let refusal = item.as_ref().unwrap_err();
        assert_eq!((refusal.error.code, refusal.id), (codes::INVALID_REQUEST, None));
    }
    assert!(matches!(&items[4], Ok(Incoming::Notification { .. })));
    assert_eq!(items.len(), 5);
}

#[test]
fn a_batch_has_at_most_a_hundred_messages() {
    let batch = |count: usize| format!("[{}]", vec![r#"{"jsonrpc":"2.0","method":"x"}"#; count].join(","));
    assert!(matches!(accepted(&batch(100)), Incoming::Batch(items) if items.len() == 100));
    assert_eq!(refused(&batch(101)), (codes::INVALID_REQUEST, None));
    assert_eq!(refused(&batch(10_000)), (codes::INVALID_REQUEST, None));
    // What is wrong behind the hundredth is still no JSON.
    assert_eq!(refused(&batch(200).replace("}]", "}")), (codes::PARSE_ERROR, None));
}

fn accepted(text: &str) -> Incoming<'_> {
    read(text, DEPTH).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
}

fn refused(text: &str) -> (i64, Option<&str>) {
    match read(text, DEPTH) {
        Ok(accepted) => panic!("{text}: {accepted:?}"),
        Err(refusal) => (refusal.error.code, refusal.id),
    }
}
