//! What each tenant may take of a server, reached from outside.

use super::{BIG, Peer, Stage, call, get, initialize, post, request, stateless};
use crate::json::Object;
use crate::server::testing::until;

const ACME: (&str, &str) = ("x-tenant", "acme");
const GLOBEX: (&str, &str) = ("x-tenant", "globex");

async fn start(kind: &str, tenant_limits: &str) -> Stage {
    let server = format!(r#"{{"tenantLimits":{tenant_limits}}}"#);
    let stage = Stage::with(&server, kind, r#""identifies":true,"isTenantAware":true"#).await;
    for (number, (_, tenant)) in (2..).zip([ACME, GLOBEX]) {
        stage
            .server
            .set_session(tenant.repeat(2), number, Some(tenant.to_owned()));
    }
    stage
}

fn calling(tenant: (&str, &str), id: u64, name: &str, padding: usize) -> String {
    let padding = "x".repeat(padding);
    let params = format!(r#""name":"{name}","arguments":{{"a":"{padding}"}}"#);
    let headers = [
        tenant,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name),
    ];
    post("/mcp", &headers, &stateless(id, "tools/call", &params))
}

/// A call that is under way when this returns.
async fn holding(stage: &Stage, tenant: (&str, &str), padding: usize) -> (Peer, crate::host::server::Job) {
    let mut peer = stage.peer().await;
    peer.send(calling(tenant, 1, "hold", padding)).await;
    let job = stage.job().await;
    (peer, job)
}

/// The figures of a tenant; nothing when it is not there.
fn figures(stage: &Stage, (_, tenant): (&str, &str)) -> Option<Vec<u64>> {
    let stats = stage.server.stats();
    let all = Object::parse(&stats)?.get("tenants")?.get().to_owned();
    crate::json::array(&all)?.into_iter().find_map(|one| {
        let one = Object::parse(one.get())?;
        let number = |key: &str| one.get(key).and_then(|value| value.get().parse().ok());
        (one.string("tenantId")? == tenant)
            .then(|| ["running", "queued", "connections", "bytesInFlight", "refused"].map(number))?
            .into_iter()
            .collect()
    })
}

#[tokio::test]
async fn whoever_asks_too_fast_is_told_when_to_come_back_and_others_are_not() {
    let stage = start("http", r#"{"maxRequestsPerSecond":2}"#).await;
    for id in 0..2 {
        assert_eq!(stage.ask(calling(ACME, id, "echo", 0)).await.status, 200);
    }
    let refused = stage.ask(calling(ACME, 3, "echo", 0)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(
        refused.body,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Server busy","data":{"reason":"busy","limit":"maxRequestsPerSecond","retryAfterMs":500}}}"#
    );
    assert_eq!(stage.ask(calling(GLOBEX, 4, "echo", 0)).await.status, 200);
    // One who is nobody's is refused as ever, and there is no record of it.
    let stranger = stage.ask(calling(("x-tenant", "stranger"), 5, "echo", 0)).await;
    assert!(stranger.body.contains("Unauthorized"), "{}", stranger.body);
    assert_eq!(figures(&stage, ("", "stranger")), None);
    assert_eq!(figures(&stage, ACME), Some(vec![0, 0, 0, 0, 1]));
    stage.advance(500);
    assert_eq!(stage.ask(calling(ACME, 6, "echo", 0)).await.status, 200);
    assert_eq!(stage.ask(calling(ACME, 7, "echo", 0)).await.status, 429);
    stage.advance(1_000);
    assert_eq!(figures(&stage, ACME), None);
    stage.stopped().await;
}

#[tokio::test]
async fn in_a_session_the_code_is_that_of_its_era_and_ping_is_answered() {
    let stage = start("http", r#"{"maxRequestsPerSecond":1}"#).await;
    let id = stage.session_of("2025-11-25", &[ACME]).await;
    let headers = [ACME, ("mcp-session-id", id.as_str())];
    let refused = stage.ask(post("/mcp", &headers, &call(1, "echo"))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert!(
        refused
            .body
            .contains(r#""error":{"code":-32000,"message":"Server busy""#),
        "{}",
        refused.body
    );
    for _ in 0..3 {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(stage.ask(post("/mcp", &headers, ping)).await.status, 200);
    }
    stage.stopped().await;
}

#[tokio::test]
async fn requests_of_a_tenant_wait_for_its_own_alone() {
    let stage = start("http", r#"{"maxConcurrentRequests":1}"#).await;
    let (mut first, one) = holding(&stage, ACME, 0).await;
    let mut second = stage.peer().await;
    second.send(calling(ACME, 2, "hold", 0)).await;
    until("a request that waits", || {
        (figures(&stage, ACME)?.get(1) == Some(&1)).then_some(())
    })
    .await;
    let (mut other, others) = holding(&stage, GLOBEX, 0).await;
    assert!(stage.program.jobs.lock().unwrap().is_empty());
    stage.settle(&others, "done");
    assert!(other.response().await.body.contains("done"));

    // A client that goes away leaves its place to whoever waits only once the program is done with it.
    let mut third = stage.peer().await;
    third.send(calling(ACME, 3, "hold", 0)).await;
    until("two that wait", || {
        (figures(&stage, ACME)?.get(1) == Some(&2)).then_some(())
    })
    .await;
    drop(third);
    until("one that waits", || {
        (figures(&stage, ACME)?.get(1) == Some(&1)).then_some(())
    })
    .await;
    stage.settle(&one, "first");
    assert!(first.response().await.body.contains("first"));
    let two = stage.job().await;
    stage.settle(&two, "second");
    assert!(second.response().await.body.contains("second"));
    until("nothing", || figures(&stage, ACME).is_none().then_some(())).await;
    stage.stopped().await;
}

#[tokio::test]
async fn connections_over_the_limit_of_a_tenant_are_refused_before_they_open() {
    let opened = [
        ("http", post("/mcp", &[ACME], &initialize("2025-11-25"))),
        ("sse", get("/sse", &[ACME])),
        (
            "websocket",
            request(
                "GET",
                "/ws",
                &[
                    ACME,
                    ("Connection", "Upgrade"),
                    ("Upgrade", "websocket"),
                    ("Sec-WebSocket-Version", "13"),
                    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ],
                "",
            ),
        ),
    ];
    for (kind, open) in opened {
        let stage = start(kind, r#"{"maxConnections":1}"#).await;
        let mut first = stage.peer().await;
        first.send(&open).await;
        let head = first.head().await;
        assert!([200, 101].contains(&head.status), "{kind}");
        let refused = stage.ask(&open).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (429, Some("1")),
            "{kind}"
        );
        assert!(
            refused.body.contains(r#""retryAfterMs":1000"#),
            "{kind}: {}",
            refused.body
        );
        assert_eq!(figures(&stage, ACME), Some(vec![0, 0, 1, 0, 1]), "{kind}");
        let mut other = stage.peer().await;
        other.send(open.replace("acme", "globex")).await;
        assert_eq!(other.head().await.status, head.status, "{kind}");

        if kind == "http" {
            let id = head.header("mcp-session-id").unwrap().to_owned();
            let ended = request("DELETE", "/mcp", &[ACME, ("mcp-session-id", &id)], "");
            assert_eq!(stage.ask(ended).await.status, 200);
        }
        drop(first);
        until("room", || figures(&stage, ACME).is_none().then_some(())).await;
        let mut again = stage.peer().await;
        again.send(&open).await;
        assert_eq!(again.head().await.status, head.status, "{kind}");
        drop((again, other));
        stage.stopped().await;
    }
}

#[tokio::test]
async fn bytes_count_from_a_request_to_the_last_byte_of_its_answer() {
    let stage = start("http", r#"{"maxBytesInFlight":2000}"#).await;
    let (mut first, job) = holding(&stage, ACME, 1_500).await;
    let refused = stage.ask(calling(ACME, 2, "echo", 500)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert!(
        refused.body.contains(r#""limit":"maxBytesInFlight""#),
        "{}",
        refused.body
    );
    assert_eq!(stage.ask(calling(GLOBEX, 3, "echo", 500)).await.status, 200);
    stage.settle(&job, "done");
    assert_eq!(first.response().await.status, 200);
    until("nothing", || figures(&stage, ACME).is_none().then_some(())).await;

    // Nobody reads the answers: sooner or later they stay where they are.
    let mut silent = stage.peer().await;
    for id in 0..40 {
        silent.send(calling(ACME, id, "big", 0)).await;
    }
    let big = u64::try_from(BIG).unwrap();
    until("an answer that nobody reads", || {
        figures(&stage, ACME)?.get(3).filter(|bytes| **bytes > big).copied()
    })
    .await;
    assert_eq!(stage.ask(calling(ACME, 9, "echo", 0)).await.status, 429);
    drop(silent);
    until("nothing", || figures(&stage, ACME).is_none().then_some(())).await;
    assert_eq!(stage.ask(calling(ACME, 9, "echo", 0)).await.status, 200);
    stage.stopped().await;
}
