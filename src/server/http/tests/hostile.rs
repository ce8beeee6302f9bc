//! What no client should send. Each has its answer or its end, and the port goes on.

use tokio::io::AsyncWriteExt as _;

use super::{Peer, Stage, call, get, initialize, post, request};
use crate::host::server::Abort;
use crate::server::testing::until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn of(session: &str) -> [(&str, &str); 1] {
    [("mcp-session-id", session)]
}

/// The status of the first answer; nothing where there is none.
async fn status(stage: &Stage, bytes: impl AsRef<[u8]>) -> Option<u16> {
    let mut peer = stage.peer().await;
    peer.send(bytes).await;
    peer.stream.shutdown().await.unwrap();
    let text = String::from_utf8_lossy(&peer.rest().await).into_owned();
    let status = text.split(' ').nth(1)?;
    status.parse().ok()
}

async fn is_well(stage: &Stage, session: &str) {
    let reply = stage.ask(post("/mcp", &of(session), PING)).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, PONG));
}

#[tokio::test]
async fn bytes_that_are_no_http_are_refused() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let long_header = get("/mcp", &[("x-long", "x".repeat(200_000).as_str())]);
    let many_headers = get("/mcp", &vec![("x-a", "b"); 500]);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /mcp\r\n\r\n",
        b"GET /mcp HTTP/9.9\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n Host: a\r\n\r\n",
        b"GET /m\0cp HTTP/1.1\r\nHost: a\r\n\r\n",
        long_header.as_bytes(),
        many_headers.as_bytes(),
    ] {
        let status = status(&stage, bytes).await;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert!(
            status.is_none_or(|status| (400..500).contains(&status)),
            "{status:?}: {shown}"
        );
    }
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn no_request_hides_in_the_body_of_another() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let start = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: */*\r\nMcp-Session-Id: {id}\r\n"
    );
    let hidden = request("DELETE", "/mcp", &of(&id), "");
    let chunk = format!("{:x}\r\n{PING}\r\n0\r\n\r\n", PING.len());
    let framings = [
        format!(
            "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}",
            PING.len()
        ),
        format!(
            "Transfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n{chunk}",
            chunk.len() + hidden.len()
        ),
        format!(
            "Content-Length: {}\r\nContent-Length: {}\r\n\r\n{PING}",
            PING.len(),
            PING.len() + 1
        ),
        format!("Content-Length: +{}\r\n\r\n{PING}", PING.len()),
        format!("Content-Length: {}, {}\r\n\r\n{PING}", PING.len(), PING.len() + 1),
        format!("Content-Length: -1\r\n\r\n{PING}"),
        format!("Content-Length: 99999999999999999999\r\n\r\n{PING}"),
        format!("Transfer-Encoding: gzip\r\n\r\n{chunk}"),
        format!("Transfer-Encoding: chunked, identity\r\n\r\n{chunk}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n{chunk}"),
        format!(
            "Transfer-Encoding: chunked\r\n\r\n{:x} \r\n{PING}\r\nzz\r\n",
            PING.len()
        ),
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx".to_owned(),
        "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n".to_owned(),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{PING}X0\r\n\r\n", PING.len()),
    ];
    for framing in framings {
        let mut peer = stage.peer().await;
        peer.send(format!("{start}{framing}{hidden}")).await;
        peer.stream.shutdown().await.unwrap();
        let answer = String::from_utf8_lossy(&peer.rest().await).into_owned();
        // Whatever is taken is taken as what the framing says; one that says two things ends the connection.
        assert!(answer.matches("HTTP/1.1").count() <= 1, "{framing}\n{answer}");
        assert_eq!(stage.sessions(), 1, "{framing}\n{answer}");
    }
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peer = stage.peer().await;
    let many: String = (0..200)
        .map(|number| post("/mcp", &of(&id), &PING.replace('1', &number.to_string())))
        .collect();
    peer.send(many).await;
    for number in 0..200 {
        let reply = peer.response().await;
        assert_eq!(reply.body, PONG.replace('1', &number.to_string()));
    }
    // One behind a call waits for it.
    peer.send(post("/mcp", &of(&id), &call(7, "hold")) + &post("/mcp", &of(&id), PING))
        .await;
    let job = stage.job().await;
    stage.settle(&job, "done");
    assert!(peer.response().await.body.contains("done"));
    assert_eq!(peer.response().await.body, PONG);
    stage.stopped().await;
}

#[tokio::test]
async fn targets_in_other_forms_lead_nowhere_else() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let absolute = format!("http://127.0.0.1:{}/mcp", stage.port);
    let reply = stage.ask(post(&absolute, &of(&id), PING)).await;
    assert_eq!(reply.status, 200);
    for target in ["*", "//mcp", "/../mcp", "/mcp/..", "/./mcp", "/%6dcp", "/mcp;x"] {
        let status = status(&stage, post(target, &of(&id), PING)).await;
        assert!(
            status.is_none_or(|status| matches!(status, 400 | 404)),
            "{target}: {status:?}"
        );
    }
    let connect = request("CONNECT", "127.0.0.1:80", &[], "");
    assert!(
        status(&stage, connect)
            .await
            .is_none_or(|status| (400..500).contains(&status))
    );
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn strange_session_ids_are_unknown() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let other = Stage::http("").await;
    let long = "x".repeat(64 * 1024);
    let upper = id.to_ascii_lowercase();
    for strange in [
        long.as_str(),
        &upper,
        &other.session("2025-11-25").await,
        "*",
        "..",
        "\u{e9}",
        "a b",
    ] {
        let reply = stage.ask(post("/mcp", &of(strange), PING)).await;
        assert_eq!(reply.status, 404, "{strange:.20}");
        assert!(!reply.body.contains(strange), "{strange:.20}");
    }
    for empty in ["", " "] {
        let text = post("/mcp", &[], PING).replacen("\r\n", &format!("\r\nMcp-Session-Id:{empty}\r\n"), 1);
        assert_eq!(stage.ask(text).await.status, 404);
    }
    let split = stage
        .ask(post("/mcp", &[("mcp-session-id", "x\r\nx-other: y")], PING))
        .await;
    assert_eq!((split.status, split.header("x-other")), (404, None));
    let long_event = [("mcp-session-id", id.as_str()), ("last-event-id", long.as_str())];
    assert_eq!(stage.ask(get("/mcp", &long_event)).await.status, 400);
    is_well(&stage, &id).await;
    other.stopped().await;
    stage.stopped().await;
}

#[tokio::test]
async fn two_streams_at_once_are_one_and_a_refusal() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peers = [stage.peer().await, stage.peer().await];
    for peer in &mut peers {
        peer.send(get("/mcp", &of(&id))).await;
    }
    let mut statuses = Vec::new();
    for peer in &mut peers {
        statuses.push(peer.head().await.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    stage.stopped().await;
}

#[tokio::test]
async fn a_request_in_a_session_that_is_being_deleted_has_one_of_two_answers() {
    let stage = Stage::http("").await;
    for _ in 0..20 {
        let id = stage.session("2025-11-25").await;
        let (mut calling, mut deleting) = (stage.peer().await, stage.peer().await);
        calling.send(post("/mcp", &of(&id), &call(7, "echo"))).await;
        deleting.send(request("DELETE", "/mcp", &of(&id), "")).await;
        let reply = calling.response().await;
        assert!(matches!(reply.status, 200 | 404), "{}", reply.status);
        assert!(reply.status == 404 || reply.body.contains("result"), "{}", reply.body);
        assert_eq!(deleting.response().await.status, 200);
    }
    assert_eq!((stage.sessions(), stage.server.connections().len()), (0, 0));
    stage.stopped().await;
}

#[tokio::test]
async fn who_only_stops_to_write_gets_an_answer_or_is_gone() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    assert_eq!(status(&stage, post("/mcp", &of(&id), PING)).await, Some(200));
    // A body that ends early.
    let cut = post("/mcp", &of(&id), PING);
    let status = status(&stage, &cut[..cut.len() - 1]).await;
    assert!(status.is_none_or(|status| status == 400), "{status:?}");
    let mut peer = stage.peer().await;
    peer.send(post("/mcp", &of(&id), &call(7, "hold"))).await;
    let job = stage.job().await;
    peer.stream.shutdown().await.unwrap();
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    until("the end of all", || (stage.connected() == 0).then_some(())).await;
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn bodies_that_are_no_messages_are_refused() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let batch = format!("[{}]", [PING; 101].join(","));
    for body in [
        "\0",
        "null",
        "1",
        "\"",
        "{}{}",
        "\u{feff}{}",
        &batch,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
    ] {
        let reply = stage.ask(post("/mcp", &of(&id), body)).await;
        assert_eq!(reply.status, 400, "{body:.40}");
        assert!(
            reply.body.contains("-32700") || reply.body.contains("-32600"),
            "{}",
            reply.body
        );
    }
    let text = post("/mcp", &of(&id), "????");
    let mut not_utf8 = text.into_bytes();
    let end = not_utf8.len();
    not_utf8[end - 4..].copy_from_slice(b"\"\xff\xfe\"");
    let reply = stage.ask(not_utf8).await;
    assert!(reply.status == 400 && reply.body.contains("-32700"), "{}", reply.body);
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn a_batch_is_taken_in_the_version_that_has_them() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-03-26").await;
    let batch = |count: usize| {
        let items: Vec<_> = (0..count).map(|id| PING.replace('1', &id.to_string())).collect();
        format!("[{}]", items.join(","))
    };
    let reply = stage.ask(post("/mcp", &of(&id), &batch(100))).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body.matches("result").count(), 100);
    let reply = stage.ask(post("/mcp", &of(&id), &batch(101))).await;
    assert!(reply.status == 400 && reply.body.contains("-32600"), "{}", reply.body);
    stage.stopped().await;
}

#[tokio::test]
async fn many_who_come_and_go_leave_nothing() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    for round in 0..40 {
        let mut peer = stage.peer().await;
        match round % 4 {
            0 => drop(peer),
            1 => peer.send("POST /mcp HT").await,
            2 => peer.send(post("/mcp", &of(&id), &call(7 + round, "hold"))).await,
            _ => {
                peer.send(post("/mcp", &[], &initialize("2025-11-25"))[..100].to_owned())
                    .await;
            }
        }
    }
    until("the end of all", || (stage.connected() == 0).then_some(())).await;
    let jobs = std::mem::take(&mut *stage.program.jobs.lock().unwrap());
    for job in &jobs {
        assert_eq!(stage.abandoned(job).await, Abort::Closed);
    }
    assert_eq!(stage.sessions(), 1);
    is_well(&stage, &id).await;
    stage.stopped().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_not_read_from_for_ever() {
    let stage = Stage::http("").await;
    let id = stage.session("2025-11-25").await;
    let mut peer: Peer = stage.peer().await;
    let many = post("/mcp", &of(&id), &call(7, "big")).repeat(50);
    // It fits into what systems buffer; the answers do not.
    assert!(peer.try_send(many).await);
    is_well(&stage, &id).await;
    drop(peer);
    until("its end", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}
