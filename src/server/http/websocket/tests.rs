//! The upgrade and what follows it, over loopback: with a client of a library where it says what is needed, and in bytes where it does not.

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

use crate::host::server::Abort;
use crate::server::http::tests::{BIG, Peer, Stage, call, get, initialize, request, stateless};
use crate::server::testing::{until, within};

type Client = WebSocketStream<TcpStream>;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

async fn start(more: &str) -> Stage {
    Stage::with("{}", "websocket", more).await
}

async fn connect(stage: &Stage) -> Client {
    let mut request = format!("ws://127.0.0.1:{}/ws", stage.port)
        .into_client_request()
        .unwrap();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", http::HeaderValue::from_static("mcp"));
    let stream = TcpStream::connect(("127.0.0.1", stage.port)).await.unwrap();
    let (client, response) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], "mcp");
    assert!(!response.headers().contains_key("sec-websocket-extensions"));
    client
}

async fn say(client: &mut Client, text: impl Into<String>) {
    within("room to write", client.send(Message::text(text.into())))
        .await
        .unwrap();
}

/// The next text; control frames are answered by the library.
async fn hear(client: &mut Client) -> String {
    loop {
        match within("a message", client.next()).await.unwrap().unwrap() {
            Message::Text(text) => return text.to_string(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The code that it is closed with; everything before is passed over.
async fn closed(client: &mut Client) -> u16 {
    loop {
        match within("the end", client.next()).await {
            Some(Ok(Message::Close(frame))) => return frame.unwrap().code.into(),
            Some(Ok(_)) => {}
            other => panic!("no close frame: {other:?}"),
        }
    }
}

/// A request for a WebSocket, with headers besides.
fn opening(more: &[(&str, &str)]) -> String {
    let usual = [
        ("Connection", "keep-alive, Upgrade"),
        ("Upgrade", "WebSocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let is_given = |name: &str| more.iter().any(|(key, _)| *key == name);
    let all: Vec<_> = usual
        .into_iter()
        .filter(|(name, _)| !is_given(name))
        .chain(more.iter().copied().filter(|(_, value)| !value.is_empty()))
        .collect();
    request("GET", "/ws", &all, "")
}

/// One that speaks in frames of the test's own.
async fn raw(stage: &Stage) -> Peer {
    let mut peer = stage.peer().await;
    peer.send(opening(&[])).await;
    let head = peer.head().await;
    assert_eq!(head.status, 101);
    assert_eq!(
        head.header("sec-websocket-accept"),
        Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    );
    assert_eq!(head.header("sec-websocket-protocol"), None);
    peer
}

const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CONTINUATION: u8 = 0x0;
const CLOSE: u8 = 0x8;
const PING_FRAME: u8 = 0x9;
const FINAL: u8 = 0x80;

/// A masked frame. Its first byte is the caller's.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut bytes = head(first, payload.len());
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// What comes before mask and payload.
fn head(first: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![first];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => bytes.push(0x80 | short),
        (_, Ok(medium)) => {
            bytes.push(0x80 | 0x7e);
            bytes.extend(medium.to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 0x7f);
            bytes.extend(u64::try_from(length).unwrap().to_be_bytes());
        }
    }
    bytes
}

/// A frame of the server: its first byte and its payload. Frames of servers have no mask.
async fn received(peer: &mut Peer) -> (u8, Vec<u8>) {
    let start = peer.bytes(2).await;
    let length = match start[1] {
        126 => u64::from(u16::from_be_bytes(peer.bytes(2).await.try_into().unwrap())),
        127 => u64::from_be_bytes(peer.bytes(8).await.try_into().unwrap()),
        short => u64::from(short),
    };
    let payload = peer.bytes(usize::try_from(length).unwrap()).await;
    (start[0], payload)
}

async fn text_of(peer: &mut Peer) -> String {
    let (first, payload) = received(peer).await;
    assert_eq!(first, FINAL | TEXT);
    String::from_utf8(payload).unwrap()
}

async fn close_of(peer: &mut Peer) -> u16 {
    let (first, payload) = received(peer).await;
    assert_eq!(first, FINAL | CLOSE, "{payload:?}");
    let code = u16::from_be_bytes(payload[..2].try_into().unwrap());
    assert!(!payload[2..].is_empty(), "{code} comes without a reason");
    assert!(peer.rest().await.is_empty());
    code
}

#[tokio::test]
async fn messages_of_both_eras_are_answered_on_one_connection() {
    let stage = start("").await;
    let mut client = connect(&stage).await;
    say(&mut client, initialize("2025-11-25")).await;
    assert!(hear(&mut client).await.contains(r#""protocolVersion":"2025-11-25""#));
    say(&mut client, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    say(&mut client, call(2, "echo")).await;
    assert!(hear(&mut client).await.contains(r#""text":"{\"a\":1}""#));
    say(&mut client, stateless(3, "tools/call", r#""name":"echo""#)).await;
    assert!(hear(&mut client).await.contains(r#""resultType":"complete""#));
    say(&mut client, PING).await;
    assert_eq!(hear(&mut client).await, PONG);
    for (wrong, code) in [
        ("{", "-32700"),
        ("", "-32700"),
        ("[]", "-32600"),
        ("{}", "-32600"),
        ("\"x\"", "-32600"),
    ] {
        say(&mut client, wrong).await;
        let answer = hear(&mut client).await;
        assert!(answer.contains(code), "{answer}");
    }
    client.close(None).await.unwrap();
    until("the end of the connection", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}

#[tokio::test]
async fn a_subprotocol_is_chosen_when_it_is_ours_and_refused_when_none_is() {
    let stage = start("").await;
    for (offered, chosen) in [
        (&["mcp"][..], true),
        (&["other, mcp"], true),
        (&["other", "mcp"], true),
        (&[], false),
    ] {
        let headers: Vec<_> = offered.iter().map(|offer| ("Sec-WebSocket-Protocol", *offer)).collect();
        let mut peer = stage.peer().await;
        peer.send(opening(&headers)).await;
        let head = peer.head().await;
        assert_eq!(head.status, 101, "{offered:?}");
        assert_eq!(head.header("sec-websocket-protocol"), chosen.then_some("mcp"));
    }
    for offered in ["other", "MCP", ",", "mcpx, xmcp"] {
        let reply = stage.ask(opening(&[("Sec-WebSocket-Protocol", offered)])).await;
        assert_eq!(reply.status, 400, "{offered}");
    }
    stage.stopped().await;
}

#[tokio::test]
async fn what_does_not_ask_for_a_websocket_gets_none() {
    let stage = start("").await;
    for wrong in [
        [("Connection", "close")],
        [("Connection", "upgraded")],
        [("Upgrade", "h2c")],
        [("Sec-WebSocket-Version", "8")],
        [("Sec-WebSocket-Version", "")],
    ] {
        let reply = stage.ask(opening(&wrong)).await;
        assert_eq!(reply.status, 426, "{wrong:?}");
        assert_eq!(reply.header("sec-websocket-version"), Some("13"));
    }
    for key in ["", "short", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZSE="] {
        assert_eq!(
            stage.ask(opening(&[("Sec-WebSocket-Key", key)])).await.status,
            400,
            "{key}"
        );
    }
    assert_eq!(stage.ask(get("/ws", &[])).await.status, 426);
    assert_eq!(stage.ask(request("POST", "/ws", &[], "{}")).await.status, 405);
    assert_eq!(stage.ask(get("/mcp", &[])).await.status, 404);
    let with_body = opening(&[("Content-Length", "2")]) + "{}";
    assert_eq!(stage.ask(with_body).await.status, 400);
    assert_eq!(
        stage.ask(opening(&[]).replace("HTTP/1.1", "HTTP/1.0")).await.status,
        426
    );
    stage.stopped().await;
}

#[tokio::test]
async fn who_is_behind_it_is_settled_when_it_opens() {
    let stage = start(r#""identifies":true"#).await;
    stage.server.set_session("s".to_owned(), 4, Some("acme".to_owned()));
    let refused = stage.ask(opening(&[])).await;
    assert_eq!(refused.status, 401);
    let mut peer = stage.peer().await;
    peer.send(opening(&[("x-tenant", "acme")])).await;
    assert_eq!(peer.head().await.status, 101);
    peer.send(frame(FINAL | TEXT, call(2, "hold").as_bytes())).await;
    let job = stage.job().await;
    assert_eq!(job.runtime, Some(4));
    assert!(job.caller.contains(r#""tenantId":"acme""#));
    stage.settle(&job, "done");
    assert!(text_of(&mut peer).await.contains("done"));
    stage.stopped().await;
}

#[tokio::test]
async fn fragments_are_one_message_and_pings_between_them_are_answered() {
    let stage = start("").await;
    let mut peer = raw(&stage).await;
    let (start, end) = PING.as_bytes().split_at(10);
    peer.send(frame(TEXT, start)).await;
    peer.send(frame(FINAL | PING_FRAME, b"hi")).await;
    assert_eq!(received(&mut peer).await, (FINAL | 0xa, b"hi".to_vec()));
    peer.send(frame(CONTINUATION, b"")).await;
    peer.send(frame(FINAL | CONTINUATION, end)).await;
    assert_eq!(text_of(&mut peer).await, PONG);
    // Byte by byte it is the same.
    for byte in frame(FINAL | TEXT, PING.as_bytes()) {
        peer.send([byte]).await;
    }
    assert_eq!(text_of(&mut peer).await, PONG);
    peer.send(frame(FINAL | CLOSE, &1000_u16.to_be_bytes())).await;
    assert_eq!(
        received(&mut peer).await,
        (FINAL | CLOSE, 1000_u16.to_be_bytes().to_vec())
    );
    assert!(peer.rest().await.is_empty());
    stage.stopped().await;
}

#[tokio::test]
async fn what_breaks_the_rules_is_closed_with_the_code_for_it() {
    let stage = start("").await;
    let mut unmasked = head(FINAL | TEXT, PING.len());
    unmasked[1] &= 0x7f;
    unmasked.extend(PING.as_bytes());
    let compressed = frame(FINAL | 0x40 | TEXT, PING.as_bytes());
    let cases = [
        (frame(FINAL | BINARY, PING.as_bytes()), 1003),
        (frame(FINAL | TEXT, b"\"\xff\""), 1007),
        (
            [frame(TEXT, b"\"\xc3"), frame(FINAL | CONTINUATION, b"x")].concat(),
            1007,
        ),
        (unmasked, 1002),
        (compressed, 1002),
        (frame(FINAL | CONTINUATION, b"x"), 1002),
        ([frame(TEXT, b"{"), frame(FINAL | TEXT, b"}")].concat(), 1002),
        (frame(FINAL | 0x3, b""), 1002),
        (frame(FINAL | 0xb, b""), 1002),
        (frame(PING_FRAME, b"fragmented"), 1002),
        (frame(FINAL | PING_FRAME, &[0; 126]), 1002),
        (frame(FINAL | CLOSE, &[3]), 1002),
    ];
    for (bytes, code) in cases {
        let mut peer = raw(&stage).await;
        peer.send(&bytes).await;
        assert_eq!(close_of(&mut peer).await, code, "{bytes:?}");
    }
    until("the end of all", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_by_its_length_alone() {
    let stage = start(r#""maxBodyBytes":1000"#).await;
    let longest = format!("{PING}{}", " ".repeat(1000 - PING.len()));
    let mut peer = raw(&stage).await;
    peer.send(frame(FINAL | TEXT, longest.as_bytes())).await;
    assert_eq!(text_of(&mut peer).await, PONG);
    peer.send(frame(TEXT, &longest.as_bytes()[..400])).await;
    peer.send(frame(FINAL | CONTINUATION, &longest.as_bytes()[400..])).await;
    assert_eq!(text_of(&mut peer).await, PONG);
    // Nothing of what it announces is there yet.
    peer.send([head(FINAL | TEXT, 1001), vec![0; 4]].concat()).await;
    assert_eq!(close_of(&mut peer).await, 1009);

    let mut peer = raw(&stage).await;
    peer.send(frame(TEXT, &[b' '; 600])).await;
    peer.send(frame(CONTINUATION, &[b' '; 401])).await;
    assert_eq!(close_of(&mut peer).await, 1009);

    let mut peer = raw(&stage).await;
    peer.send([head(FINAL | TEXT, usize::MAX), vec![0; 4096]].concat())
        .await;
    assert_eq!(close_of(&mut peer).await, 1009);
    stage.stopped().await;
}

#[tokio::test]
async fn json_is_taken_up_to_its_depth() {
    let stage = start(r#""maxJsonDepth":8"#).await;
    let mut client = connect(&stage).await;
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{open}{close}}}}}"#)
    };
    say(&mut client, deep(8)).await;
    assert_eq!(hear(&mut client).await, PONG);
    say(&mut client, deep(9)).await;
    assert!(hear(&mut client).await.contains("-32700"));
    stage.stopped().await;
}

#[tokio::test]
async fn the_end_of_the_stream_gives_up_what_runs() {
    let stage = start("").await;
    let mut peer = raw(&stage).await;
    peer.send(frame(FINAL | TEXT, call(1, "hold").as_bytes())).await;
    let first = stage.job().await;
    drop(peer);
    assert_eq!(stage.abandoned(&first).await, Abort::Closed);

    let mut client = connect(&stage).await;
    say(&mut client, call(1, "hold")).await;
    let second = stage.job().await;
    client.close(None).await.unwrap();
    assert_eq!(stage.abandoned(&second).await, Abort::Closed);

    let mut client = connect(&stage).await;
    say(&mut client, call(1, "hold")).await;
    let third = stage.job().await;
    say(
        &mut client,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    )
    .await;
    assert_eq!(stage.abandoned(&third).await, Abort::Cancelled);
    say(&mut client, PING).await;
    assert_eq!(hear(&mut client).await, PONG);
    stage.stopped().await;
}

#[tokio::test]
async fn who_answers_pings_stays_and_who_misses_one_goes() {
    let stage = start(r#""heartbeatIntervalMs":1000,"idleTimeoutMs":0"#).await;
    let mut peer = raw(&stage).await;
    for _ in 0..3 {
        peer.send(frame(FINAL | TEXT, PING.as_bytes())).await;
        assert_eq!(text_of(&mut peer).await, PONG);
        stage.advance(1000);
        assert_eq!(received(&mut peer).await, (FINAL | PING_FRAME, Vec::new()));
        peer.send(frame(FINAL | 0xa, b"")).await;
    }
    peer.send(frame(FINAL | TEXT, call(2, "hold").as_bytes())).await;
    let job = stage.job().await;
    stage.advance(1000);
    assert_eq!(received(&mut peer).await.0, FINAL | PING_FRAME);
    stage.advance(999);
    peer.send(frame(FINAL | TEXT, PING.as_bytes())).await;
    assert_eq!(text_of(&mut peer).await, PONG);
    assert!(!stage.is_abandoned(&job));
    stage.advance(1);
    assert_eq!(stage.abandoned(&job).await, Abort::Heartbeat);
    assert_eq!(close_of(&mut peer).await, 1001);
    stage.stopped().await;
}

#[tokio::test]
async fn who_says_nothing_is_reaped_unless_a_call_runs() {
    let stage = start(r#""heartbeatIntervalMs":400,"idleTimeoutMs":1000"#).await;
    let mut client = connect(&stage).await;
    say(&mut client, PING).await;
    assert_eq!(hear(&mut client).await, PONG);
    // Neither heartbeats nor what is no message count.
    beat(&stage, &mut client, 400).await;
    beat(&stage, &mut client, 400).await;
    stage.advance(199);
    say(&mut client, call(7, "hold")).await;
    let job = stage.job().await;
    beat(&stage, &mut client, 201).await;
    for _ in 0..3 {
        beat(&stage, &mut client, 400).await;
    }
    assert!(!stage.is_abandoned(&job));
    stage.settle(&job, "done");
    assert!(hear(&mut client).await.contains("done"));
    beat(&stage, &mut client, 400).await;
    beat(&stage, &mut client, 400).await;
    stage.advance(200);
    let close = within("the end", client.next()).await.unwrap().unwrap();
    let Message::Close(Some(close)) = close else {
        panic!("{close:?}");
    };
    assert_eq!(
        (u16::from(close.code), close.reason.as_str()),
        (1001, "idle for too long")
    );
    stage.stopped().await;
}

/// A heartbeat that is answered.
async fn beat(stage: &Stage, client: &mut Client, millis: u64) {
    stage.advance(millis);
    assert!(within("a ping", client.next()).await.unwrap().unwrap().is_ping());
    say(client, "no message").await;
    assert!(hear(client).await.contains("-32700"));
}

#[tokio::test]
async fn a_reader_that_is_slower_than_its_bound_is_let_go() {
    let stage = start(r#""maxBufferedBytes":10000"#).await;
    let mut client = connect(&stage).await;
    say(&mut client, call(1, "hold")).await;
    let job = stage.job().await;
    // What its system and ours take on the way is not counted.
    let note = "n".repeat(5000);
    until("a flood", || {
        for number in 0..1000 {
            stage.server.progress(job.id, f64::from(number), None, Some(&note));
        }
        stage.server.log(job.id, "error", &format!("\"{note}\"")).unwrap();
        stage.is_abandoned(&job).then_some(())
    })
    .await;
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    stage.advance(2000);
    until("the end", || (stage.connected() == 0).then_some(())).await;
    stage.stopped().await;
}

#[tokio::test]
async fn long_answers_reach_a_reader_who_asks_faster_than_it_reads() {
    let stage = start(r#""maxBufferedBytes":1000"#).await;
    let client = connect(&stage).await;
    let (mut asking, mut answers) = client.split();
    let asked = tokio::spawn(async move {
        for id in 0..40 {
            let call = stateless(id, "tools/call", r#""name":"big""#);
            asking.send(Message::text(call)).await.unwrap();
        }
        asking
    });
    let mut answered = 0;
    while answered < 40 {
        match within("an answer", answers.next()).await {
            Some(Ok(Message::Text(text))) => {
                assert!(text.len() > BIG);
                answered += 1;
            }
            other => panic!("{answered} answers, then {other:?}"),
        }
    }
    drop(asked.await.unwrap());
    stage.stopped().await;
}

#[tokio::test]
async fn requests_on_top_of_those_that_wait_are_refused() {
    let stage = start(r#""maxConcurrentRequests":1,"maxQueuedRequests":1"#).await;
    let mut client = connect(&stage).await;
    say(&mut client, initialize("2025-11-25")).await;
    hear(&mut client).await;
    for id in 1..=300 {
        say(&mut client, call(id, "hold")).await;
    }
    for _ in 3..=300 {
        let answer = hear(&mut client).await;
        assert!(answer.contains("-32000") && answer.contains("Server busy"), "{answer}");
    }
    for _ in 1..=2 {
        let job = stage.job().await;
        stage.settle(&job, "done");
        assert!(hear(&mut client).await.contains("done"));
    }
    stage.stopped().await;
}

#[tokio::test]
async fn a_request_has_its_time() {
    let stage = start(r#""requestTimeoutMs":500"#).await;
    let mut client = connect(&stage).await;
    say(&mut client, stateless(7, "tools/call", r#""name":"hold""#)).await;
    let job = stage.job().await;
    stage.advance(499);
    say(&mut client, PING).await;
    assert_eq!(hear(&mut client).await, PONG);
    assert!(!stage.is_abandoned(&job));
    stage.advance(1);
    let answer = hear(&mut client).await;
    assert!(answer.contains("Request timed out") && answer.contains(r#""reason":"timeout""#));
    assert_eq!(stage.abandoned(&job).await, Abort::Timeout);
    stage.stopped().await;
}

#[tokio::test]
async fn each_counts_as_a_connection_until_its_end() {
    let stage = start(r#""maxConnections":2"#).await;
    let mut first = connect(&stage).await;
    let _second = connect(&stage).await;
    let mut third = stage.peer().await;
    let refused = third.response().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    first.close(None).await.unwrap();
    until("room", || (stage.connected() == 1).then_some(())).await;
    let mut fourth = connect(&stage).await;
    say(&mut fourth, PING).await;
    assert_eq!(hear(&mut fourth).await, PONG);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stop_lets_calls_finish_and_then_closes() {
    let stage = start("").await;
    let mut client = connect(&stage).await;
    say(&mut client, initialize("2025-11-25")).await;
    hear(&mut client).await;
    say(&mut client, call(1, "hold")).await;
    let job = stage.job().await;
    stage.stop.cancel();
    until("the stop", || stage.server.is_stopping().then_some(())).await;
    say(&mut client, call(2, "hold")).await;
    assert!(hear(&mut client).await.contains("stopping"));
    assert_eq!(stage.ask(opening(&[])).await.status, 503);
    stage.settle(&job, "done");
    assert!(hear(&mut client).await.contains("done"));
    assert_eq!(closed(&mut client).await, 1001);
    stage.stopped().await;
}

#[tokio::test]
async fn a_stop_gives_up_what_takes_too_long_and_who_does_not_read() {
    let stage = start(r#""shutdownTimeoutMs":1000"#).await;
    let mut client = connect(&stage).await;
    let silent = raw(&stage).await;
    say(&mut client, call(1, "hold")).await;
    let job = stage.job().await;
    stage.stop.cancel();
    until("the stop", || stage.server.is_stopping().then_some(())).await;
    stage.advance(1000);
    assert_eq!(stage.abandoned(&job).await, Abort::Stopped);
    assert!(hear(&mut client).await.contains("stopping"));
    assert_eq!(closed(&mut client).await, 1001);
    // It neither reads nor leaves.
    stage
        .advance_until(500, "the end", || (stage.connected() == 0).then_some(()))
        .await;
    drop(silent);
    stage.stopped().await;
}

#[tokio::test]
async fn a_client_that_only_stops_to_write_is_gone() {
    let stage = start("").await;
    let mut client = connect(&stage).await;
    say(&mut client, call(1, "hold")).await;
    let job = stage.job().await;
    let stream = client.get_mut();
    tokio::io::AsyncWriteExt::shutdown(stream).await.unwrap();
    assert_eq!(stage.abandoned(&job).await, Abort::Closed);
    loop {
        match within("the end", client.next()).await {
            None | Some(Err(Error::Protocol(_) | Error::Io(_))) => break,
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.stopped().await;
}

#[tokio::test]
async fn a_flood_of_pings_is_answered_and_bounded() {
    let stage = start("").await;
    let mut client = connect(&stage).await;
    for _ in 0..2000 {
        client.feed(Message::Ping(Bytes::from_static(b"p"))).await.unwrap();
    }
    client.flush().await.unwrap();
    say(&mut client, PING).await;
    assert_eq!(hear(&mut client).await, PONG);
    stage.stopped().await;
}
