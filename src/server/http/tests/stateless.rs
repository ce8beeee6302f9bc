//! Streamable HTTP with requests that say everything themselves.

use super::{Stage, get, initialize, post, request, stateless};
use crate::host::Change;
use crate::host::server::Abort;
use crate::server::testing::until;

/// The headers that repeat what is in the body.
fn claims<'a>(method: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(more);
    headers
}

fn calling(id: u64, name: &str) -> String {
    let body = stateless(id, "tools/call", &format!(r#""name":"{name}","arguments":{{"a":1}}"#));
    post("/mcp", &claims("tools/call", &[("mcp-name", name)]), &body)
}

#[tokio::test]
async fn a_request_needs_no_session_and_leaves_none() {
    let stage = Stage::http("").await;
    let mut peer = stage.peer().await;
    for id in 1..4 {
        peer.send(calling(id, "echo")).await;
        let reply = peer.response().await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some("application/json"))
        );
        assert!(reply.body.contains(r#""resultType":"complete""#), "{}", reply.body);
        assert_eq!(reply.header("mcp-session-id"), None);
    }
    let body = stateless(1, "server/discover", "");
    let reply = stage.ask(post("/mcp", &claims("server/discover", &[]), &body)).await;
    assert!(reply.body.contains("supportedVersions"), "{}", reply.body);
    assert_eq!(stage.sessions(), 0);
    stage.stopped().await;
}

#[tokio::test]
async fn headers_and_body_have_to_agree() {
    let stage = Stage::http("").await;
    let call = stateless(1, "tools/call", r#""name":"echo""#);
    let read = stateless(1, "resources/read", r#""uri":"a:b""#);
    let named = stateless(1, "tools/call", r#""name":"named","arguments":{"region":"eu"}"#);
    let cases = [
        (vec![], &call, 400, "-32020"),
        (claims("tools/call", &[]), &call, 400, "-32020"),
        (claims("tools/list", &[("mcp-name", "echo")]), &call, 400, "-32020"),
        (claims("tools/call", &[("mcp-name", "Echo")]), &call, 400, "-32020"),
        (
            claims("tools/call", &[("mcp-name", "echo"), ("mcp-name", "echo")]),
            &call,
            400,
            "-32020",
        ),
        (
            claims("tools/call", &[("mcp-name", "echo"), ("mcp-method", "tools/call")]),
            &call,
            400,
            "-32020",
        ),
        (
            claims("tools/call", &[("mcp-name", "=?base64?ZWNobw==?=")]),
            &call,
            200,
            "result",
        ),
        (
            claims("tools/call", &[("mcp-name", "=?base64?Z?=")]),
            &call,
            400,
            "-32020",
        ),
        (claims("resources/read", &[("mcp-name", "a:c")]), &read, 400, "-32020"),
        (claims("resources/read", &[("mcp-name", "a:b")]), &read, 200, "-32602"),
        (claims("tools/call", &[("mcp-name", "named")]), &named, 400, "-32020"),
        (
            claims("tools/call", &[("mcp-name", "named"), ("mcp-param-region", "us")]),
            &named,
            400,
            "-32020",
        ),
        (
            claims("tools/call", &[("mcp-name", "named"), ("mcp-param-region", "eu")]),
            &named,
            200,
            "complete",
        ),
    ];
    for (headers, body, status, text) in cases {
        let reply = stage.ask(post("/mcp", &headers, body)).await;
        assert_eq!(reply.status, status, "{headers:?}\n{}", reply.body);
        assert!(reply.body.contains(text), "{headers:?}\n{}", reply.body);
    }
    stage.stopped().await;
}

#[tokio::test]
async fn each_wrong_request_has_its_status() {
    let stage = Stage::http("").await;
    let with_version = |body: &str, version: &str| body.replace("2026-07-28", version);
    let unknown_method = stateless(1, "nothing", "");
    let future = with_version(&stateless(1, "tools/list", ""), "2099-01-01");
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let unfinished = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let cases = [
        (claims("nothing", &[]), unknown_method.as_str(), 404, "-32601"),
        (claims("tools/list", &[]), bare, 400, "-32602"),
        (claims("tools/list", &[]), unfinished, 400, "-32602"),
        (
            vec![("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")],
            future.as_str(),
            400,
            "-32022",
        ),
        (claims("x", &[]), "{", 400, "-32700"),
        (claims("x", &[]), "[]", 400, "-32600"),
        (
            claims("x", &[]),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            400,
            "-32600",
        ),
    ];
    for (headers, body, status, text) in cases {
        let reply = stage.ask(post("/mcp", &headers, body)).await;
        assert_eq!(reply.status, status, "{body}\n{}", reply.body);
        assert!(reply.body.contains(text), "{body}\n{}", reply.body);
    }
    let unknown_tool = stage.ask(calling(1, "no-such-tool")).await;
    assert_eq!(unknown_tool.status, 200);
    assert!(unknown_tool.body.contains("-32602"), "{}", unknown_tool.body);
    let told = stage
        .ask(post(
            "/mcp",
            &claims("notifications/cancelled", &[]),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        ))
        .await;
    assert_eq!(told.status, 202);
    stage.stopped().await;
}

#[tokio::test]
async fn a_server_of_this_era_alone_has_no_sessions() {
    let stage = Stage::with(r#"{"protocolVersions":["2026-07-28"]}"#, "http", "").await;
    for method in ["GET", "DELETE"] {
        let reply = stage.ask(request(method, "/mcp", &[("accept", "*/*")], "")).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
    }
    let reply = stage.ask(post("/mcp", &[], &initialize("2025-11-25"))).await;
    assert_eq!(reply.status, 400);
    assert!(
        reply.body.contains("-32022") && reply.body.contains("2026-07-28"),
        "{}",
        reply.body
    );
    assert_eq!(reply.header("mcp-session-id"), None);
    stage.stopped().await;
}

#[tokio::test]
async fn a_drop_gives_the_request_up_whether_it_streams_or_not() {
    let stage = Stage::http("").await;
    let mut peer = stage.peer().await;
    peer.send(calling(1, "hold")).await;
    let job = stage.job().await;
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);

    let mut peer = stage.peer().await;
    peer.send(calling(1, "hold")).await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    assert_eq!(peer.head().await.header("content-type"), Some("text/event-stream"));
    let event = peer.event().await.unwrap();
    assert_eq!(event.id, None);
    assert!(event.data.unwrap().contains("notifications/progress"));
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    stage.stopped().await;
}

#[tokio::test]
async fn ids_are_of_one_request_alone() {
    let stage = Stage::http("").await;
    let mut peers = [stage.peer().await, stage.peer().await];
    for peer in &mut peers {
        peer.send(calling(1, "hold")).await;
    }
    let jobs = [stage.job().await, stage.job().await];
    for job in &jobs {
        stage.settle(job, "done");
    }
    for peer in &mut peers {
        assert!(peer.response().await.body.contains("done"));
    }
    stage.stopped().await;
}

#[tokio::test]
async fn a_subscription_is_a_stream_until_either_side_ends_it() {
    let stage = Stage::http(r#""requestTimeoutMs":1000"#).await;
    let listen = stateless(
        9,
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true}"#,
    );
    let listen = post("/mcp", &claims("subscriptions/listen", &[]), &listen);
    let mut peer = stage.peer().await;
    peer.send(&listen).await;
    let head = peer.head().await;
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    assert!(peer.data().await.contains("notifications/subscriptions/acknowledged"));
    // It has no time-out.
    stage.advance(5000);
    stage.server.changed(Change::Tools, None, std::time::Duration::ZERO);
    assert!(peer.data().await.contains("notifications/tools/list_changed"));
    assert_eq!(stage.server.connections().len(), 1);
    drop(peer);
    until("the end of the subscription", || {
        stage.server.connections().is_empty().then_some(())
    })
    .await;

    let mut peer = stage.peer().await;
    peer.send(&listen).await;
    peer.head().await;
    peer.data().await;
    stage.stop.cancel();
    let end = peer.data().await;
    assert!(end.contains(r#""id":9,"result":{"resultType":"complete""#), "{end}");
    assert_eq!(peer.event().await, None);
    stage.stopped().await;
}

#[tokio::test]
async fn a_get_needs_a_session_where_there_are_some() {
    let stage = Stage::http("").await;
    assert_eq!(
        stage
            .ask(get("/mcp", &[("mcp-protocol-version", "2026-07-28")]))
            .await
            .status,
        405
    );
    stage.stopped().await;
}
