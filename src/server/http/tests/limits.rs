//! Each limit, reached from outside and not quite.

use std::fmt::Write as _;

use super::{BIG, Peer, Stage, call, get, initialize, post, stateless};
use crate::host::server::Abort;
use crate::server::testing::until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn of(session: &str) -> [(&str, &str); 1] {
    [("mcp-session-id", session)]
}

fn calling(id: u64, name: &str) -> String {
    let body = stateless(id, "tools/call", &format!(r#""name":"{name}","arguments":{{"a":1}}"#));
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name),
    ];
    post("/mcp", &headers, &body)
}

/// The stream of a session that answers nothing.
async fn listening(stage: &Stage, session: &str) -> Peer {
    let mut peer = stage.peer().await;
    peer.send(get("/mcp", &of(session))).await;
    assert_eq!(peer.head().await.status, 200);
    peer
}

#[tokio::test]
async fn connections_over_the_limit_are_refused_before_anything_is_read() {
    let stage = Stage::http(r#""maxConnections":2"#).await;
    let mut first = stage.peer().await;
    first.send(calling(1, "echo")).await;
    assert_eq!(first.response().await.status, 200);
    let mut second = stage.peer().await;
    second.send(calling(1, "echo")).await;
    assert_eq!(second.response().await.status, 200);
    let mut third = stage.peer().await;
    let refused = third.response().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(third.rest().await.is_empty());
    drop(second);
    until("room", || (stage.connected() == 1).then_some(())).await;
    assert_eq!(stage.ask(calling(1, "echo")).await.status, 200);
    stage.stopped().await;
}

#[tokio::test]
async fn sessions_over_the_limit_are_refused_until_one_ends() {
    for kind in ["http", "sse"] {
        let stage = Stage::with("{}", kind, r#""maxSessions":2,"streamableHttp":true"#).await;
        let first = stage.session("2025-11-25").await;
        stage.session("2025-11-25").await;
        let refused = stage.ask(post("/mcp", &[], &initialize("2025-11-25"))).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        if kind == "sse" {
            assert_eq!(stage.ask(get("/sse", &[])).await.status, 503);
        }
        let deleted = stage.ask(super::request("DELETE", "/mcp", &of(&first), "")).await;
        assert_eq!(deleted.status, 200);
        stage.session("2025-11-25").await;
        assert_eq!(stage.server.connections().len(), 2);
        stage.stopped().await;
    }
}

#[tokio::test]
async fn bodies_are_taken_up_to_their_limit() {
    let stage = Stage::http(r#""maxBodyBytes":1000"#).await;
    let id = stage.session("2025-11-25").await;
    let longest = format!("{PING}{}", " ".repeat(1000 - PING.len()));
    assert_eq!(stage.ask(post("/mcp", &of(&id), &longest)).await.status, 200);
    assert_eq!(stage.ask(chunked(&id, &longest)).await.status, 200);
    // By its length alone: nothing of it was sent.
    let head = post("/mcp", &of(&id), "").replace("Content-Length: 0", "Content-Length: 1001");
    let refused = stage.ask(head).await;
    assert_eq!(refused.status, 413);
    assert!(refused.body.contains("-32600"), "{}", refused.body);
    // By what came: its end was never sent.
    let refused = stage
        .ask(chunked(&id, &format!("{longest} ")).trim_end_matches("0\r\n\r\n"))
        .await;
    assert_eq!((refused.status, refused.header("connection")), (413, Some("close")));
    stage.stopped().await;
}

/// A ping without a length, in chunks of 100 bytes.
fn chunked(session: &str, body: &str) -> String {
    let mut text = post("/mcp", &of(session), "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    for chunk in body.as_bytes().chunks(100) {
        write!(text, "{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()).unwrap();
    }
    text + "0\r\n\r\n"
}

#[tokio::test]
async fn json_is_taken_up_to_its_depth() {
    let stage = Stage::http(r#""maxJsonDepth":8"#).await;
    let id = stage.session("2025-11-25").await;
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{open}{close}}}}}"#)
    };
    assert_eq!(stage.ask(post("/mcp", &of(&id), &deep(8))).await.status, 200);
    let refused = stage.ask(post("/mcp", &of(&id), &deep(9))).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("-32700"), "{}", refused.body);
    let bottomless = stage.ask(post("/mcp", &of(&id), &"[".repeat(1_000_000))).await;
    assert_eq!(bottomless.status, 400);
    stage.stopped().await;
}

#[tokio::test]
async fn requests_on_top_of_those_that_wait_are_refused() {
    let stage = Stage::http(r#""maxConcurrentRequests":1,"maxQueuedRequests":1"#).await;
    let id = stage.session("2025-11-25").await;
    let mut first = stage.peer().await;
    first.send(post("/mcp", &of(&id), &call(1, "hold"))).await;
    let job = stage.job().await;
    let mut second = stage.peer().await;
    second.send(post("/mcp", &of(&id), &call(2, "hold"))).await;
    until("a request that waits", || {
        let connections = stage.server.connections();
        connections.iter().any(|other| other.slots.waiting() == 1).then_some(())
    })
    .await;
    let busy = stage.ask(post("/mcp", &of(&id), &call(3, "echo"))).await;
    assert_eq!(busy.status, 200);
    assert!(
        busy.body.contains("-32000") && busy.body.contains("Server busy"),
        "{}",
        busy.body
    );
    // Another session has slots of its own.
    let other = stage.session("2025-11-25").await;
    assert!(
        stage
            .ask(post("/mcp", &of(&other), &call(3, "echo")))
            .await
            .body
            .contains("result")
    );
    stage.settle(&job, "done");
    assert!(first.response().await.body.contains("done"));
    let job = stage.job().await;
    stage.settle(&job, "done");
    assert!(second.response().await.body.contains("done"));
    stage.stopped().await;
}

#[tokio::test]
async fn requests_without_a_session_share_the_slots_of_their_address_and_identity() {
    let stage = Stage::http(r#""maxConcurrentRequests":1,"maxQueuedRequests":1,"identifies":true"#).await;
    for tenant in ["acme", "globex"] {
        stage.server.set_session(tenant.to_owned(), 4, Some(tenant.to_owned()));
    }
    let by = |tenant: &str, id: u64, name: &str| {
        calling(id, name).replacen("\r\n", &format!("\r\nx-tenant: {tenant}\r\n"), 1)
    };
    let mut first = stage.peer().await;
    first.send(by("acme", 1, "hold")).await;
    let job = stage.job().await;
    let mut second = stage.peer().await;
    second.send(by("acme", 1, "hold")).await;
    let refused = loop {
        let mut third = stage.peer().await;
        third.send(by("acme", 1, "hold")).await;
        tokio::select! {
            reply = third.response() => break reply,
            () = tokio::task::yield_now() => {}
        }
    };
    assert!(
        refused.body.contains("-32603") && refused.body.contains(r#""reason":"busy""#),
        "{}",
        refused.body
    );
    assert!(stage.ask(by("globex", 1, "echo")).await.body.contains("complete"));
    stage.settle(&job, "done");
    assert!(first.response().await.body.contains("done"));
    stage.stopped().await;
}

#[tokio::test]
async fn a_request_has_its_time() {
    let stage = Stage::http(r#""requestTimeoutMs":500"#).await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.advance(499);
    assert_eq!(stage.ask(post("/mcp", &of(&id), PING)).await.status, 200);
    assert!(!stage.is_abandoned(&job));
    stage.advance(1);
    let reply = peer.response().await;
    assert_eq!(reply.status, 200);
    assert!(
        reply.body.contains("-32001") && reply.body.contains("Request timed out"),
        "{}",
        reply.body
    );
    assert_eq!(stage.abandoned(&job).await, Abort::Timeout);
    stage.settle(&job, "late");
    stage.stopped().await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_reaped_and_one_that_is_read_stays() {
    let stage = Stage::http(r#""idleTimeoutMs":1000"#).await;
    let unused = stage.session("2025-11-25").await;
    let read = stage.session("2025-11-25").await;
    let busy = stage.session("2025-11-25").await;
    let mut stream = listening(&stage, &read).await;
    let mut calling = stage.peer().await;
    calling.send(post("/mcp", &of(&busy), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.advance(999);
    assert_eq!(stage.ask(post("/mcp", &of(&unused), PING)).await.status, 200);
    stage.advance(999);
    assert_eq!(stage.ask(post("/mcp", &of(&unused), PING)).await.status, 200);
    stage
        .advance_until(250, "the end of a session", || (stage.sessions() == 2).then_some(()))
        .await;
    assert_eq!(stage.ask(post("/mcp", &of(&unused), PING)).await.status, 404);
    assert_eq!(stage.ask(post("/mcp", &of(&read), PING)).await.status, 200);
    assert!(!stage.is_abandoned(&job));
    stage.settle(&job, "done");
    assert!(calling.response().await.body.contains("done"));
    drop(stream.stream);
    stream = stage.peer().await;
    drop(stream);
    stage
        .advance_until(250, "the end of all", || (stage.sessions() == 0).then_some(()))
        .await;
    stage.stopped().await;
}

#[tokio::test]
async fn a_call_without_its_stream_lives_as_long_as_a_session_may_be_idle() {
    let stage = Stage::http(r#""idleTimeoutMs":1000,"requestTimeoutMs":0"#).await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.server.progress(job.id, 1.0, None, None);
    assert_eq!(peer.head().await.status, 200);
    drop(peer);
    until("the end of the connection", || (stage.connected() == 0).then_some(())).await;
    stage.advance(999);
    assert_eq!(stage.ask(post("/mcp", &of(&id), PING)).await.status, 200);
    assert!(!stage.is_abandoned(&job));
    stage
        .advance_until(1, "the end of the call", || stage.is_abandoned(&job).then_some(()))
        .await;
    assert_eq!(stage.abandoned(&job).await, Abort::Idle);
    stage.stopped().await;
}

#[tokio::test]
async fn streams_have_heartbeats() {
    let stage = Stage::with("{}", "sse", r#""streamableHttp":true,"heartbeatIntervalMs":1000"#).await;
    let id = stage.session("2025-11-25").await;
    let mut stream = listening(&stage, &id).await;
    let mut legacy = stage.peer().await;
    legacy.send(get("/sse", &[])).await;
    assert_eq!(legacy.head().await.status, 200);
    assert_eq!(legacy.event().await.unwrap().name.as_deref(), Some("endpoint"));
    for _ in 0..3 {
        stage.advance(1000);
        assert!(stream.event().await.unwrap().is_comment);
        assert!(legacy.event().await.unwrap().is_comment);
    }
    // A call that says nothing for so long becomes a stream.
    let mut calling = stage.peer().await;
    calling.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    stage.advance(1000);
    assert_eq!(calling.head().await.header("content-type"), Some("text/event-stream"));
    stage.settle(&job, "done");
    let mut last = String::new();
    while let Some(event) = calling.event().await {
        last = event.data.unwrap_or_default();
    }
    assert!(last.contains("done"), "{last}");
    stage.stopped().await;
}

#[tokio::test]
async fn a_reader_that_is_slower_than_its_bound_is_let_go() {
    let stage = Stage::with("{}", "sse", r#""maxBufferedBytes":10000"#).await;
    let mut peer = stage.peer().await;
    peer.send(get("/sse", &[])).await;
    peer.head().await;
    let target = peer.data().await;
    assert_eq!(stage.ask(post(&target, &[], &call(7, "hold"))).await.status, 202);
    let job = stage.job().await;
    let note = "n".repeat(5000);
    let mut progress = 0.0;
    until("a flood", || {
        progress += 1.0;
        stage.server.progress(job.id, progress, None, Some(&note));
        stage.is_abandoned(&job).then_some(())
    })
    .await;
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    assert_eq!(stage.sessions(), 0);
    stage.stopped().await;
}

#[tokio::test]
async fn one_message_may_be_larger_than_what_may_wait() {
    let stage = Stage::with("{}", "sse", r#""maxBufferedBytes":1000"#).await;
    let mut peer = stage.peer().await;
    peer.send(get("/sse", &[])).await;
    peer.head().await;
    let target = peer.data().await;
    for id in 1..4 {
        assert_eq!(stage.ask(post(&target, &[], &call(id, "big"))).await.status, 202);
        assert!(peer.data().await.len() > BIG);
    }
    stage.stopped().await;
}

#[tokio::test]
async fn what_nobody_reads_is_bounded_and_costs_no_session() {
    let stage = Stage::http(r#""maxBufferedBytes":10000"#).await;
    let id = stage.session("2025-11-25").await;
    for _ in 0..1000 {
        stage
            .server
            .changed(crate::host::Change::Tools, None, std::time::Duration::ZERO);
        tokio::task::yield_now().await;
    }
    let mut stream = listening(&stage, &id).await;
    assert!(stream.data().await.contains("list_changed"));
    assert_eq!(stage.ask(post("/mcp", &of(&id), PING)).await.status, 200);
    stage.stopped().await;
}

#[tokio::test]
async fn headers_have_their_time() {
    let stage = Stage::http(r#""headerTimeoutMs":300"#).await;
    let mut silent = stage.peer().await;
    let mut slow = stage.peer().await;
    slow.send("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ").await;
    assert!(!String::from_utf8_lossy(&slow.rest().await).contains("200"));
    assert!(silent.rest().await.is_empty());
    until("the end of both", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}

#[tokio::test]
async fn bodies_have_their_time_between_any_two_pieces() {
    let stage = Stage::http(r#""headerTimeoutMs":10000"#).await;
    let id = stage.session("2025-11-25").await;
    let request = post("/mcp", &of(&id), PING);
    let (head, body) = request.split_at(request.len() - PING.len());
    let mut peer = stage.peer().await;
    peer.send(head).await;
    for piece in body.as_bytes().chunks(20) {
        // Before its time is over; what it had before is forgotten.
        peer.send(piece).await;
        stage.advance(900);
    }
    assert_eq!(peer.response().await.status, 200);

    let mut peer = stage.peer().await;
    peer.send(&request[..request.len() - 1]).await;
    let mut reply = Box::pin(peer.response());
    let reply = loop {
        tokio::select! {
            reply = &mut reply => break reply,
            () = tokio::task::yield_now() => stage.advance(500),
        }
    };
    assert_eq!(reply.status, 408);
    stage.stopped().await;
}

#[tokio::test]
async fn who_is_not_identified_in_time_is_nobody() {
    let stage = Stage::http(r#""headerTimeoutMs":10000,"identifies":true"#).await;
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &[("x-tenant", "slow")], PING)).await;
    let job = stage.job().await;
    stage.advance(10_000);
    let reply = peer.response().await;
    assert_eq!((reply.status, reply.body.as_str()), (401, ""));
    stage.abandoned(&job).await;
    // It took no place that is anybody's, and leaves nothing.
    assert_eq!(stage.server.jobs().len(), 0);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stop_lets_calls_finish_for_a_while_and_gives_up_the_rest() {
    let stage = Stage::http(r#""shutdownTimeoutMs":1000"#).await;
    let id = stage.session("2025-11-25").await;
    let mut stream = listening(&stage, &id).await;
    let mut first = stage.peer().await;
    first.send(post("/mcp", &of(&id), &call(1, "hold"))).await;
    let finished = stage.job().await;
    let mut second = stage.peer().await;
    second.send(calling(2, "hold")).await;
    let stuck = stage.job().await;
    let mut third = stage.peer().await;
    stage.stop.cancel();
    until("the stop", || stage.server.is_stopping().then_some(())).await;
    third.send(post("/mcp", &of(&id), &call(3, "echo"))).await;
    assert!(third.response().await.body.contains("Server is stopping"));
    stage.advance(999);
    stage.settle(&finished, "done");
    assert!(first.response().await.body.contains("done"));
    assert!(!stage.is_abandoned(&stuck));
    stage.advance(1);
    assert_eq!(stage.abandoned(&stuck).await, Abort::Stopped);
    assert!(second.response().await.body.contains("Server is stopping"));
    assert_eq!(stream.event().await, None);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stop_waits_for_nobody_who_does_not_read() {
    let stage = Stage::http(r#""shutdownTimeoutMs":1000"#).await;
    let mut peer = stage.peer().await;
    for id in 0..40 {
        peer.send(calling(id, "big")).await;
    }
    let idle = stage.peer().await;
    stage.stopped().await;
    drop((peer, idle));
}
