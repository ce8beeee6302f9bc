//! HTTP+SSE, as 2024-11-05 has it.

use super::{Peer, Stage, call, get, initialize, post, request};
use crate::host::server::Abort;
use crate::server::testing::until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

async fn start(more: &str) -> Stage {
    Stage::with("{}", "sse", more).await
}

/// A stream, and where its messages go.
async fn open(stage: &Stage, headers: &[(&str, &str)]) -> (Peer, String) {
    let mut peer = stage.peer().await;
    peer.send(get("/sse", headers)).await;
    let head = peer.head().await;
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let endpoint = peer.event().await.unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    let target = endpoint.data.unwrap();
    assert!(target.starts_with("/messages?sessionId="), "{target}");
    (peer, target)
}

async fn tell(stage: &Stage, target: &str, body: &str) {
    let reply = stage.ask(post(target, &[], body)).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
}

#[tokio::test]
async fn messages_go_in_by_post_and_come_back_on_the_stream() {
    let stage = start("").await;
    let (mut peer, target) = open(&stage, &[]).await;
    tell(&stage, &target, &initialize("2024-11-05")).await;
    let event = peer.event().await.unwrap();
    assert_eq!(event.name.as_deref(), Some("message"));
    assert!(event.data.unwrap().contains(r#""protocolVersion":"2024-11-05""#));
    tell(
        &stage,
        &target,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    )
    .await;
    tell(&stage, &target, &call(2, "hold")).await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    assert!(peer.data().await.contains("notifications/progress"));
    tell(&stage, &target, &call(3, "echo")).await;
    assert!(peer.data().await.contains(r#""id":3"#));
    stage.settle(&job, "done");
    assert!(peer.data().await.contains(r#""id":2"#));
    stage.stopped().await;
}

#[tokio::test]
async fn each_wrong_request_has_its_status() {
    let stage = start("").await;
    let (_peer, target) = open(&stage, &[]).await;
    let cases = [
        (post("/messages", &[], PING), 400),
        (post("/messages?sessionId=", &[], PING), 404),
        (post("/messages?sessionId=unknown", &[], PING), 404),
        (post(&target, &[], "{"), 400),
        (post(&target, &[("content-type", "text/plain")], PING), 415),
        (get(&target, &[]), 405),
        (post("/sse", &[], PING), 405),
        (request("GET", "/sse", &[("accept", "application/json")], ""), 406),
        (post("/mcp", &[], PING), 404),
    ];
    for (request, status) in cases {
        let reply = stage.ask(&request).await;
        assert_eq!(reply.status, status, "{request}\n{}", reply.body);
    }
    stage.stopped().await;
}

#[tokio::test]
async fn the_two_kinds_of_sessions_do_not_open_each_other() {
    let stage = start(r#""streamableHttp":true"#).await;
    let (_peer, target) = open(&stage, &[]).await;
    let id = target.split_once('=').unwrap().1;
    assert_eq!(
        stage.ask(post("/mcp", &[("mcp-session-id", id)], PING)).await.status,
        404
    );
    assert_eq!(stage.ask(get("/mcp", &[("mcp-session-id", id)])).await.status, 404);
    assert_eq!(
        stage
            .ask(request("DELETE", "/mcp", &[("mcp-session-id", id)], ""))
            .await
            .status,
        404
    );
    let other = stage.session("2025-11-25").await;
    let target = format!("/messages?sessionId={other}");
    assert_eq!(stage.ask(post(&target, &[], PING)).await.status, 404);
    assert_eq!(stage.sessions(), 2);
    stage.stopped().await;
}

#[tokio::test]
async fn the_end_of_the_stream_ends_the_session_and_what_runs_in_it() {
    let stage = start("").await;
    let (peer, target) = open(&stage, &[]).await;
    tell(&stage, &target, &call(2, "hold")).await;
    let job = stage.job().await;
    drop(peer);
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    until("the end of the session", || (stage.sessions() == 0).then_some(())).await;
    assert_eq!(stage.ask(post(&target, &[], &call(3, "echo"))).await.status, 404);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stream_is_not_there_for_somebody_else() {
    let stage = start(r#""identifies":true"#).await;
    let (_peer, target) = open(&stage, &[("x-tenant", "acme")]).await;
    assert_eq!(
        stage
            .ask(post(&target, &[("x-tenant", "globex")], &call(2, "echo")))
            .await
            .status,
        404
    );
    assert_eq!(stage.ask(post(&target, &[], &call(2, "echo"))).await.status, 401);
    assert_eq!(
        stage
            .ask(post(&target, &[("x-tenant", "acme")], &call(2, "echo")))
            .await
            .status,
        202
    );
    stage.stopped().await;
}

#[tokio::test]
async fn a_stop_lets_a_call_finish_and_then_ends_the_stream() {
    let stage = start("").await;
    let (mut peer, target) = open(&stage, &[]).await;
    tell(&stage, &target, &call(2, "hold")).await;
    let job = stage.job().await;
    stage.stop.cancel();
    until("the stop", || stage.server.is_stopping().then_some(())).await;
    stage.settle(&job, "done");
    assert!(peer.data().await.contains("done"));
    assert_eq!(peer.event().await, None);
    stage.stopped().await;
}
