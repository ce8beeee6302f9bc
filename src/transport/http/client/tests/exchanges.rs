//! One exchange: what is sent, once, and how an answer or its absence is told.

use super::support::*;
use super::*;

#[tokio::test]
async fn a_post_is_answered_and_its_connection_used_again() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        let mut requests = Vec::new();
        for _ in 0..2 {
            requests.push(peer.request().await.unwrap());
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}")
                .await;
        }
        requests
    });
    let client = client(Proxy::None, &[], false);
    for _ in 0..2 {
        let mut request = post(&format!("{url}mcp?q=1#part"), "{}");
        request.headers.insert("x-own", HeaderValue::from_static("1"));
        let response = client.send(request).await.unwrap();
        assert_eq!(response.status, StatusCode::OK);
        assert_eq!(response.headers["content-type"], "application/json");
        assert_eq!(text(response.body).await.unwrap(), r#"{"ok":true}"#);
    }
    for request in server.await.unwrap() {
        assert!(request.starts_with("POST /mcp?q=1 HTTP/1.1\r\n"), "{request}");
        let request = request.to_lowercase();
        for line in [
            "x-own: 1\r\n",
            "accept-encoding: gzip, br, zstd\r\n",
            "content-length: 2\r\n",
        ] {
            assert!(request.contains(line), "{request}");
        }
        for name in ["cookie:", "referer:", "authorization:"] {
            assert!(!request.contains(name), "{request}");
        }
        assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    }
}

#[tokio::test]
async fn userinfo_is_not_sent() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        let request = peer.request().await.unwrap();
        peer.send(EMPTY).await;
        request
    });
    let url = url.replace("http://", "http://user:secret@");
    client(Proxy::None, &[], false).send(get(&url)).await.unwrap();
    let request = server.await.unwrap().to_lowercase();
    assert!(
        !request.contains("authorization") && !request.contains("secret"),
        "{request}"
    );
}

#[tokio::test]
async fn a_stream_arrives_event_by_event() {
    let (listener, url) = listen().await;
    let (seen, mut was_seen) = tokio::sync::mpsc::channel::<()>(1);
    tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        peer.request().await.unwrap();
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
            peer.chunk(event.as_bytes()).await;
            was_seen.recv().await.unwrap();
        }
        peer.send(b"0\r\n\r\n").await;
    });
    let mut body = client(Proxy::None, &[], false).send(get(&url)).await.unwrap().body;
    for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
        assert_eq!(soon(body.next()).await.unwrap().unwrap(), event);
        seen.send(()).await.unwrap();
    }
    assert!(soon(body.next()).await.is_none());
}

#[tokio::test]
async fn failures_name_host_and_reason_and_nothing_secret() {
    // Bound once and closed again, so that nobody listens there.
    let (listener, url) = listen().await;
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let secret = |url: &str| {
        format!(
            "{}secret-path?token=secret#secret",
            url.replace("://", "://user:secret@")
        )
    };

    let refused = failure(&secret(&url)).await;
    assert_eq!(
        refused.to_string(),
        format!("could not connect to 127.0.0.1:{port}: refused")
    );

    let dns = failure(&secret("http://no-such-host.invalid/")).await;
    assert_eq!(
        dns.to_string(),
        "could not connect to no-such-host.invalid:80: dns, its name has no address"
    );

    for (answer, reason) in [
        (&b""[..], "the connection to HOST was closed before an answer"),
        (b"HTTP/1.1 200", "the connection to HOST was closed before an answer"),
        (
            b"220 mail.example ESMTP\r\n\r\n",
            "HOST answered with something that is not HTTP/1.1",
        ),
    ] {
        let url = answering(|| answer.to_vec()).await;
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let error = failure(&secret(&url)).await;
        assert_eq!(error.code(), ErrorCode::ConnectionLost);
        assert_eq!(error.to_string(), reason.replace("HOST", &host));
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_an_error_of_its_body() {
    for head in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let url = answering(move || format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello\r\n").into_bytes()).await;
        let response = client(Proxy::None, &[], false).send(get(&url)).await.unwrap();
        let error = text(response.body).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConnectionLost);
        assert!(
            error.to_string().ends_with("was cut off: the connection was closed"),
            "{error}"
        );
    }
    // In the middle of a coding, too.
    let [packed, _] = encoded("gzip", &["hello", ""]).await;
    let url = answering(move || {
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n";
        [&head[..], &packed].concat()
    })
    .await;
    let response = client(Proxy::None, &[], false).send(get(&url)).await.unwrap();
    let error = text(response.body).await.unwrap_err();
    assert!(
        error.to_string().ends_with("was cut off: the connection was closed"),
        "{error}"
    );
}

#[tokio::test]
async fn redirects_are_returned_as_they_are() {
    for status in [301, 302, 303, 307, 308] {
        let (listener, url) = listen().await;
        let server = tokio::spawn(async move {
            let mut peer = accept(&listener).await;
            peer.request().await.unwrap();
            peer.send(
                format!(
                    "HTTP/1.1 {status} Moved\r\nLocation: /other\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .as_bytes(),
            )
            .await;
            // Anybody who follows would come here.
            tokio::select! {
                _ = listener.accept() => panic!("a second connection"),
                closed = peer.is_closed() => closed,
            }
        });
        let response = client(Proxy::None, &[], false).send(post(&url, "{}")).await.unwrap();
        assert_eq!(response.status.as_u16(), status);
        assert_eq!(response.headers["location"], "/other");
        assert!(soon(server).await.unwrap());
    }
}

#[tokio::test]
async fn a_request_whose_kept_connection_closes_under_it_is_not_sent_again() {
    let (listener, url) = listen().await;
    let posts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&posts);
    tokio::spawn(async move {
        let mut first = accept(&listener).await;
        first.request().await.unwrap();
        first.send(EMPTY).await;
        first.request().await.unwrap();
        counted.fetch_add(1, Ordering::SeqCst);
        drop(first);
        while let Some(mut peer) = Some(accept(&listener).await) {
            peer.request().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            peer.send(EMPTY).await;
        }
    });
    let client = client(Proxy::None, &[], false);
    drain(client.send(post(&url, "{}")).await.unwrap().body).await;
    let error = soon(client.send(post(&url, "{}"))).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConnectionLost);
    assert_eq!(posts.load(Ordering::SeqCst), 1);
}

/// The close of a kept connection meets the next request in every order that scheduling brings about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_race_with_a_closing_connection_sends_a_request_twice() {
    let (listener, url) = listen().await;
    let seen: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let mut peer = accept(&listener).await;
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                while let Some(request) = peer.request().await {
                    let id = request.rsplit("\r\n").next().unwrap().to_owned();
                    let closes = id.len() % 2 == 0;
                    *noted.lock().unwrap().entry(id).or_default() += 1;
                    peer.send(EMPTY).await;
                    if closes {
                        return;
                    }
                }
            });
        }
    });
    let client = client(Proxy::None, &[], false);
    let mut answered = 0;
    for round in 0..300 {
        let id = "x".repeat(round + 1);
        let outcome = client.send(post(&url, &id)).await;
        let times = seen.lock().unwrap().get(&id).copied().unwrap_or_default();
        match outcome {
            Ok(response) => {
                assert_eq!(times, 1);
                answered += 1;
                drain(response.body).await;
            }
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::ConnectionLost);
                assert!(times <= 1, "sent {times} times");
            }
        }
    }
    assert!(answered >= 150, "{answered}");
    assert!(seen.lock().unwrap().values().all(|times| *times == 1));
}

#[tokio::test]
async fn giving_up_closes_the_connection_before_and_within_the_answer() {
    let (listener, url) = listen().await;
    let client = client(Proxy::None, &[], false);

    let asked = tokio::spawn(client.send(post(&url, "{}")));
    let mut peer = accept(&listener).await;
    peer.request().await.unwrap();
    asked.abort();
    assert!(soon(peer.is_closed()).await);

    let asked = tokio::spawn(client.send(post(&url, "{}")));
    let mut peer = accept(&listener).await;
    peer.request().await.unwrap();
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    let mut body = asked.await.unwrap().unwrap().body;
    peer.chunk(b"data: 1\n\n").await;
    assert_eq!(body.next().await.unwrap().unwrap(), "data: 1\n\n");
    drop(body);
    assert!(soon(peer.is_closed()).await);
}

#[tokio::test]
async fn a_hundred_open_streams_do_not_wait_for_each_other() {
    const STREAMS: usize = 100;
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut peers = Vec::new();
        for _ in 0..STREAMS {
            let mut peer = accept(&listener).await;
            peer.request().await.unwrap();
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                .await;
            peers.push(peer);
        }
        // Nobody hears anything before all of them are open; the last one hears first.
        for peer in peers.iter_mut().rev() {
            peer.chunk(b"hello").await;
            peer.send(b"0\r\n\r\n").await;
        }
        // Kept connections.
        std::future::pending::<()>().await;
    });
    let client = client(Proxy::None, &[], false);
    let texts = join_all((0..STREAMS).map(|_| async {
        let body = client.send(get(&url)).await.unwrap().body;
        text(body).await.unwrap()
    }));
    assert!(soon(texts).await.iter().all(|text| text == "hello"));
}
