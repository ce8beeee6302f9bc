//! Clients that go away in the middle of something, and those that stay and take nothing: what is left of them.

use super::{Stage, call, get, initialize, post, stateless};
use crate::host::server::{Abort, Inquiry, InquiryMethod};
use crate::server::testing::until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn of(session: &str) -> [(&str, &str); 1] {
    [("mcp-session-id", session)]
}

#[tokio::test]
async fn a_call_that_ended_with_its_connection_leaves_its_id_to_the_next() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    assert_eq!(peer.head().await.header("content-type"), Some("text/event-stream"));
    assert_eq!(peer.data().await, "");
    assert!(peer.data().await.contains(r#""progress":1"#));
    stage.settle(&job, "done");
    assert!(peer.data().await.contains("done"));
    stage.stopped().await;
}

#[tokio::test]
async fn who_goes_away_while_a_session_is_opened_leaves_nothing() {
    let stage = Stage::with(r#"{"hasHook":true}"#, "http", r#""identifies":true"#).await;
    for _ in 0..10 {
        let mut peer = stage.peer().await;
        peer.send(post("/mcp", &[("x-tenant", "held")], &initialize("2025-11-25")))
            .await;
        let job = stage.job().await;
        drop(peer);
        assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    }
    until("the end of all", || (stage.connected() == 0).then_some(())).await;
    assert_eq!((stage.sessions(), stage.server.enlisted()), (0, 0));
    stage.stopped().await;
}

#[tokio::test]
async fn an_event_that_was_never_sent_is_none_to_go_on_from() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    for last in [
        "0-1",
        "0-18446744073709551615",
        "0-18446744073709551616",
        "0--1",
        "0",
        "-",
        "",
    ] {
        let headers = [("mcp-session-id", id.as_str()), ("last-event-id", last)];
        assert_eq!(stage.ask(get("/mcp", &headers)).await.status, 400, "{last}");
    }
    let mut peer = stage.peer().await;
    peer.send(get(
        "/mcp",
        &[("mcp-session-id", id.as_str()), ("last-event-id", "0-0")],
    ))
    .await;
    assert_eq!(peer.head().await.status, 200);
    stage
        .server
        .changed(crate::host::Change::Tools, None, std::time::Duration::ZERO);
    assert!(peer.data().await.contains("list_changed"));
    stage.stopped().await;
}

#[tokio::test]
async fn questions_that_are_taken_back_do_not_pile_up_where_nobody_reads() {
    let stage = Stage::http(r#""maxBufferedBytes":1000"#).await;
    let id = stage.session("2025-11-25").await;
    let headers = [("mcp-session-id", id.as_str()), ("accept", "application/json")];
    for number in 0..100 {
        let mut peer = stage.peer().await;
        peer.send(post("/mcp", &headers, &call(number, "hold"))).await;
        let job = stage.job().await;
        let question = Inquiry {
            id: number,
            key: "k".to_owned(),
            method: InquiryMethod::Elicit,
            params: r#"{"message":"?","requestedSchema":{"type":"object","properties":{}}}"#.to_owned(),
        };
        stage.server.ask(job.id, vec![question]);
        stage.settle(&job, "done");
        assert!(peer.response().await.body.contains("done"));
    }
    let mut peer = stage.peer().await;
    peer.send(get("/mcp", &of(&id))).await;
    assert_eq!(peer.head().await.status, 200);
    let waiting = peer.chunk().await.unwrap();
    assert!(waiting.contains("notifications/cancelled"), "{waiting}");
    assert!(waiting.len() < 1500, "{}", waiting.len());
    stage.stopped().await;
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_is_hung_up_on() {
    let stage = Stage::http(r#""idleTimeoutMs":60000"#).await;
    let mut reads = stage.peer().await;
    let mut never_reads = stage.peer().await;
    let big = stateless(1, "tools/call", r#""name":"big","arguments":{}"#);
    let claims = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "big"),
    ];
    // What systems buffer is less than the answers.
    let many = post("/mcp", &claims, &big).repeat(40);
    reads.send(&many).await;
    never_reads.send(&many).await;
    for _ in 0..40 {
        assert_eq!(reads.response().await.status, 200);
    }
    stage.advance(59_999);
    assert_eq!(stage.connected(), 2);
    stage
        .advance_until(1000, "the end of the other", || (stage.connected() == 1).then_some(()))
        .await;
    assert!(stage.server.stats().contains(r#""slowReaders":1"#));
    stage.stopped().await;
}

#[tokio::test]
async fn a_connection_that_is_kept_and_not_used_ends_with_the_time_for_headers() {
    let stage = Stage::http(r#""headerTimeoutMs":300"#).await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), PING)).await;
    assert_eq!(peer.response().await.status, 200);
    assert!(peer.rest().await.is_empty());
    until("its end", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}
