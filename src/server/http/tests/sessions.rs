//! Streamable HTTP with sessions.

use super::{Peer, Stage, call, get, initialize, post, request};
use crate::host::server::{Abort, Inquiry, InquiryMethod};
use crate::server::testing::until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn of(session: &str) -> [(&str, &str); 1] {
    [("mcp-session-id", session)]
}

/// A stream that answers a call of `hold`, which has told of its progress once.
async fn streaming(stage: &Stage, session: &str) -> (Peer, crate::host::server::Job) {
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(session), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    let head = peer.head().await;
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    (peer, job)
}

/// The name of the stream that an event with an id came from.
async fn name_of(peer: &mut Peer) -> String {
    let first = peer.event().await.unwrap();
    assert_eq!(first.data.as_deref(), Some(""));
    first.id.unwrap().strip_suffix("-0").unwrap().to_owned()
}

#[tokio::test]
async fn a_session_is_opened_used_and_deleted() {
    let stage = Stage::http("").await;
    let opened = stage.ask(post("/mcp", &[], &initialize("2025-11-25"))).await;
    assert_eq!(
        (opened.status, opened.header("content-type")),
        (200, Some("application/json"))
    );
    assert!(
        opened.body.contains(r#""protocolVersion":"2025-11-25""#),
        "{}",
        opened.body
    );
    let id = opened.header("mcp-session-id").unwrap();
    assert!(id.len() >= 26 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    let other = stage.session("2025-06-18").await;
    assert_ne!(id, other);
    assert_eq!(stage.sessions(), 2);

    // All on one connection.
    let mut peer = stage.peer().await;
    for _ in 0..3 {
        peer.send(post("/mcp", &of(id), PING)).await;
        let pong = peer.response().await;
        assert_eq!(
            (pong.status, pong.body.as_str()),
            (200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        );
        assert_eq!(pong.header("mcp-session-id"), None);
    }
    peer.send(post("/mcp", &of(id), &call(2, "echo"))).await;
    let called = peer.response().await;
    assert_eq!(called.header("content-type"), Some("application/json"));
    assert!(called.body.contains(r#"{\"a\":1}"#), "{}", called.body);

    assert_eq!(stage.ask(request("DELETE", "/mcp", &of(id), "")).await.status, 200);
    for gone in [
        post("/mcp", &of(id), PING),
        get("/mcp", &of(id)),
        request("DELETE", "/mcp", &of(id), ""),
    ] {
        let reply = stage.ask(gone).await;
        assert_eq!(reply.status, 404, "{}", reply.body);
    }
    assert_eq!(stage.sessions(), 1);
    stage.stopped().await;
}

#[tokio::test]
async fn each_wrong_request_has_its_status() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let of_session = of(&id);
    let with = |more: (&'static str, &'static str)| [("mcp-session-id", id.as_str()), more];
    let cases = [
        (post("/mcp", &[], PING), 400, "-32600"),
        (get("/mcp", &[]), 400, "-32600"),
        (request("DELETE", "/mcp", &[], ""), 400, "-32600"),
        (
            post("/mcp", &[("mcp-session-id", "unknown")], PING),
            404,
            "Session not found",
        ),
        (post("/mcp", &of_session, "{"), 400, "-32700"),
        (post("/mcp", &of_session, ""), 400, "-32700"),
        (post("/mcp", &of_session, "[]"), 400, "-32600"),
        (post("/mcp", &of_session, &format!("[{PING}]")), 400, "-32600"),
        (post("/mcp", &of_session, &PING.replace('1', "null")), 400, "-32600"),
        (
            post("/mcp", &of_session, &PING.replace("ping", "nothing")),
            200,
            "-32601",
        ),
        (
            post(
                "/mcp",
                &of_session,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            ),
            200,
            "-32602",
        ),
        (post("/mcp", &of_session, &initialize("2025-11-25")), 200, "-32600"),
        (
            post("/mcp", &with(("mcp-protocol-version", "2025-11-25")), PING),
            200,
            "result",
        ),
        (
            post("/mcp", &with(("mcp-protocol-version", "2025-03-26")), PING),
            200,
            "result",
        ),
        (
            post("/mcp", &with(("mcp-protocol-version", "1999-01-01")), PING),
            400,
            "-32600",
        ),
        (
            post("/mcp", &with(("mcp-protocol-version", "2026-07-28")), PING),
            400,
            "-32600",
        ),
        (post("/mcp", &with(("mcp-session-id", "second")), PING), 400, "-32600"),
        (post("/mcp", &with(("content-type", "text/plain")), PING), 415, "-32600"),
        (post("/mcp", &with(("content-type", "")), PING), 415, "-32600"),
        (post("/mcp", &with(("accept", "text/html")), PING), 406, "-32600"),
        (post("/mcp", &with(("accept", "")), PING), 200, "result"),
        (
            request("GET", "/mcp", &with(("accept", "application/json")), ""),
            406,
            "-32600",
        ),
        (get("/mcp", &with(("last-event-id", "9-9"))), 400, "-32600"),
        (get("/mcp", &with(("last-event-id", "0"))), 400, "-32600"),
        (get("/mcp", &with(("last-event-id", "0--1"))), 400, "-32600"),
    ];
    for (request, status, text) in cases {
        let reply = stage.ask(&request).await;
        assert_eq!(reply.status, status, "{request}\n{}", reply.body);
        assert!(reply.body.contains(text), "{request}\n{}", reply.body);
    }
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let reply = stage.ask(request(method, "/mcp", &of_session, "")).await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("GET, POST, DELETE")),
            "{method}"
        );
    }
    for path in ["/", "/mcp/", "/MCP", "/sse", "/messages", "/ws", "/mcp%2f"] {
        assert_eq!(stage.ask(post(path, &of_session, PING)).await.status, 404, "{path}");
    }
    assert_eq!(stage.ask(post("/mcp?x=1", &of_session, PING)).await.status, 200);
    let initialize_again = stage
        .ask(post(
            "/mcp",
            &[],
            &initialize("2025-11-25").replace("\"2025-11-25\"", "1"),
        ))
        .await;
    assert!(initialize_again.body.contains("-32602"), "{}", initialize_again.body);
    assert_eq!(initialize_again.header("mcp-session-id"), None);
    assert_eq!(stage.sessions(), 1);
    stage.stopped().await;
}

#[tokio::test]
async fn notifications_and_answers_are_accepted_without_a_body() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    for text in [
        r#"{"jsonrpc":"2.0","method":"notifications/anything"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    ] {
        let reply = stage.ask(post("/mcp", &of(&id), text)).await;
        assert_eq!((reply.status, reply.body.as_str()), (202, ""));
    }
    stage.stopped().await;
}

#[tokio::test]
async fn what_belongs_to_a_call_comes_on_its_stream_with_the_answer_last() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    let name = name_of(&mut peer).await;
    let second = peer.event().await.unwrap();
    assert_eq!(second.id, Some(format!("{name}-1")));
    assert!(second.data.unwrap().contains("notifications/progress"));
    stage.server.ask(
        job.id,
        vec![Inquiry {
            id: 5,
            key: "k".to_owned(),
            method: InquiryMethod::Elicit,
            params: r#"{"message":"?","requestedSchema":{"type":"object","properties":{}}}"#.to_owned(),
        }],
    );
    let question = peer.data().await;
    assert!(
        question.contains("elicitation/create") && question.contains(r#""id":1"#),
        "{question}"
    );
    let answer = stage
        .ask(post(
            "/mcp",
            &of(&id),
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#,
        ))
        .await;
    assert_eq!(answer.status, 202);
    let answered = std::mem::take(&mut *stage.program.answered.lock().unwrap());
    assert!(matches!(&answered[..], [(5, Ok(text))] if text.contains("accept")));
    stage.settle(&job, "done");
    assert!(peer.data().await.contains("done"));
    assert_eq!(peer.event().await, None);
    stage.stopped().await;
}

#[tokio::test]
async fn who_takes_json_alone_gets_it_without_progress_and_who_takes_events_alone_gets_those() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post(
        "/mcp",
        &[("mcp-session-id", &id), ("accept", "application/json")],
        &call(7, "hold"),
    ))
    .await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    stage.settle(&job, "done");
    let reply = peer.response().await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert!(
        reply.body.contains("done") && !reply.body.contains("progress"),
        "{}",
        reply.body
    );

    let reply = stage
        .ask(post(
            "/mcp",
            &[("mcp-session-id", &id), ("accept", "text/event-stream")],
            &call(7, "echo"),
        ))
        .await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert!(
        reply.body.contains("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\""),
        "{}",
        reply.body
    );
    stage.stopped().await;
}

#[tokio::test]
async fn a_session_has_one_stream_for_what_answers_nothing() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut first = stage.peer().await;
    first.send(get("/mcp", &of(&id))).await;
    assert_eq!(first.head().await.status, 200);
    assert_eq!(stage.ask(get("/mcp", &of(&id))).await.status, 409);
    stage
        .server
        .changed(crate::host::Change::Tools, None, std::time::Duration::ZERO);
    let event = first.event().await.unwrap();
    assert_eq!(event.id.as_deref(), Some("0-1"));
    assert!(event.data.unwrap().contains("notifications/tools/list_changed"));
    drop(first);
    // Its place is free once the server sees that it is gone.
    until("a free place", || (stage.connected() == 0).then_some(())).await;
    let mut second = stage.peer().await;
    second
        .send(get("/mcp", &[("mcp-session-id", &id), ("last-event-id", "0-0")]))
        .await;
    assert_eq!(second.head().await.status, 200);
    assert_eq!(second.event().await.unwrap().id.as_deref(), Some("0-1"));
    stage.stopped().await;
}

#[tokio::test]
async fn a_call_goes_on_without_its_stream_and_is_fetched_later() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    let name = name_of(&mut peer).await;
    drop(peer);
    until("the end of the connection", || (stage.connected() == 0).then_some(())).await;
    assert!(!stage.is_abandoned(&job));
    stage.server.progress(job.id, 2.0, None, None);
    stage.settle(&job, "done");
    let mut again = stage.peer().await;
    let last = format!("{name}-1");
    again
        .send(get("/mcp", &[("mcp-session-id", &id), ("last-event-id", &last)]))
        .await;
    assert_eq!(again.head().await.status, 200);
    let second = again.event().await.unwrap();
    assert_eq!(second.id, Some(format!("{name}-2")));
    assert!(second.data.unwrap().contains(r#""progress":2"#));
    let last = again.event().await.unwrap();
    assert_eq!(last.id, Some(format!("{name}-3")));
    assert!(last.data.unwrap().contains("done"));
    assert_eq!(again.event().await, None);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stream_that_is_closed_on_purpose_says_when_to_come_back() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    let name = name_of(&mut peer).await;
    peer.event().await.unwrap();
    stage.server.close_stream(job.id, Some(700));
    assert_eq!(peer.event().await.unwrap().retry.as_deref(), Some("700"));
    assert_eq!(peer.event().await, None);
    let mut again = stage.peer().await;
    let last = format!("{name}-1");
    again
        .send(get("/mcp", &[("mcp-session-id", &id), ("last-event-id", &last)]))
        .await;
    assert_eq!(again.head().await.status, 200);
    stage.server.progress(job.id, 2.0, None, None);
    assert_eq!(again.event().await.unwrap().id, Some(format!("{name}-2")));
    stage.settle(&job, "done");
    assert!(again.data().await.contains("done"));
    assert_eq!(again.event().await, None);
    stage.stopped().await;
}

#[tokio::test]
async fn a_call_whose_stream_has_no_ids_ends_with_it() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-06-18").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    assert_eq!(peer.event().await.unwrap().id, None);
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    stage.stopped().await;
}

#[tokio::test]
async fn a_call_that_was_not_answered_yet_ends_with_its_connection() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    // Its id is free again.
    assert_eq!(stage.ask(post("/mcp", &of(&id), &call(7, "echo"))).await.status, 200);
    stage.stopped().await;
}

#[tokio::test]
async fn deleting_a_session_ends_what_runs_in_it() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    let mut waiting = stage.peer().await;
    waiting.send(post("/mcp", &of(&id), &call(8, "hold"))).await;
    let second = stage.job().await;
    let mut listening = stage.peer().await;
    listening.send(get("/mcp", &of(&id))).await;
    assert_eq!(listening.head().await.status, 200);
    assert_eq!(stage.ask(request("DELETE", "/mcp", &of(&id), "")).await.status, 200);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    assert_eq!(stage.abandoned(&second).await, Abort::Closed);
    while peer.event().await.is_some() {}
    assert_eq!(listening.event().await, None);
    assert_eq!(waiting.response().await.status, 404);
    stage.stopped().await;
}

#[tokio::test]
async fn a_session_is_not_there_for_somebody_else() {
    let stage = Stage::http(r#""identifies":true"#).await;
    stage.server.set_session("a".to_owned(), 4, Some("acme".to_owned()));
    stage.server.set_session("g".to_owned(), 5, Some("globex".to_owned()));
    let id = stage.session_of("2025-11-25", &[("x-tenant", "acme")]).await;
    let with = |tenant| [("mcp-session-id", id.as_str()), ("x-tenant", tenant)];
    assert_eq!(stage.ask(post("/mcp", &with("acme"), PING)).await.status, 200);
    let other = stage.ask(post("/mcp", &with("globex"), PING)).await;
    let unknown = [("mcp-session-id", "unknown"), ("x-tenant", "globex")];
    let unknown = stage.ask(post("/mcp", &unknown, PING)).await;
    assert_eq!((other.status, &other.body), (404, &unknown.body));
    assert_eq!(
        stage.ask(request("DELETE", "/mcp", &with("globex"), "")).await.status,
        404
    );
    assert_eq!(stage.ask(get("/mcp", &with("globex"))).await.status, 404);
    let nobody = stage.ask(post("/mcp", &of(&id), PING)).await;
    assert_eq!((nobody.status, nobody.header("www-authenticate")), (401, None));
    stage.stopped().await;
}

#[tokio::test]
async fn an_id_in_flight_is_refused_and_the_first_is_not_disturbed() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let (mut peer, job) = streaming(&stage, &id).await;
    let second = stage.ask(post("/mcp", &of(&id), &call(7, "echo"))).await;
    assert_eq!(second.status, 200);
    assert!(
        second.body.contains("-32600") && second.body.contains(r#""id":7"#),
        "{}",
        second.body
    );
    stage.server.progress(job.id, 2.0, None, None);
    stage.settle(&job, "done");
    let mut told = Vec::new();
    while let Some(event) = peer.event().await {
        told.push(event.data.unwrap_or_default());
    }
    assert!(told.iter().any(|data| data.contains(r#""progress":2"#)), "{told:?}");
    assert!(told.last().unwrap().contains("done"), "{told:?}");
    stage.stopped().await;
}
