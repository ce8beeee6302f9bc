//! Bodies in content codings.

use http::header::CONTENT_ENCODING;

use super::support::*;
use super::*;

#[tokio::test]
async fn codings_are_taken_off_event_by_event() {
    for coding in ["gzip", "X-GZip", "br", "zstd"] {
        let (listener, url) = listen().await;
        let (seen, was_seen) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let mut peer = accept(&listener).await;
            peer.request().await.unwrap();
            peer.send(
                format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .as_bytes(),
            )
            .await;
            let [first, rest] = encoded(coding, &["data: 1\n\n", "data: 2\n\n"]).await;
            peer.chunk(&first).await;
            was_seen.await.unwrap();
            peer.chunk(&rest).await;
            peer.send(b"0\r\n\r\n").await;
        });
        let response = client(Proxy::None, &[], false).send(get(&url)).await.unwrap();
        assert!(!response.headers.contains_key("content-encoding"));
        let mut body = response.body;
        assert_eq!(soon(body.next()).await.unwrap().unwrap(), "data: 1\n\n", "{coding}");
        seen.send(()).unwrap();
        assert_eq!(soon(text(body)).await.unwrap(), "data: 2\n\n", "{coding}");
    }
}

#[tokio::test]
async fn a_body_that_grows_is_decoded_as_far_as_it_is_read() {
    let zeros = vec![0; 4 * 1024 * 1024];
    for coding in ["gzip", "br", "zstd"] {
        let [packed, rest] = encoded(coding, &[zeros.as_slice(), b""]).await;
        assert!(packed.len() < 64 * 1024, "{coding}: {}", packed.len());
        let url = answering(move || {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
                packed.len() + rest.len()
            );
            [head.as_bytes(), &packed, &rest].concat()
        })
        .await;
        let response = client(Proxy::None, &[], false).send(get(&url)).await.unwrap();
        assert!(!response.headers.contains_key("content-length"));
        let mut body = response.body;
        let mut length = 0;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.unwrap();
            assert!(chunk.len() <= limits::DECODED_CHUNK, "{coding}: {}", chunk.len());
            length += chunk.len();
        }
        assert_eq!(length, zeros.len(), "{coding}");
    }
}

#[tokio::test]
async fn a_body_that_grows_leaves_turns_to_others() {
    let zeros = vec![0; 16 * 1024 * 1024];
    let [packed, rest] = encoded("gzip", &[zeros.as_slice(), b""]).await;
    let mut headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
    let coding = decode::Coding::taken_from(&mut headers).unwrap();
    let came = stream::iter([Ok(Bytes::from([packed, rest].concat()))]);
    let mut body = coding.decoded(came, |error| Error::new(ErrorCode::ConnectionLost, error.to_string()));
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let others = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let mut length = 0;
    while let Some(chunk) = body.next().await {
        length += chunk.unwrap().len();
    }
    others.abort();

    assert_eq!(length, zeros.len());
    // One in a few hundred chunks is enough, and there are a thousand of them.
    assert!(turns.load(Ordering::Relaxed) >= 3);
}

#[tokio::test]
async fn damaged_and_unknown_codings_fail_and_empty_bodies_do_not() {
    for (head, body, expected) in [
        (
            "Content-Encoding: gzip",
            "no gzip at all",
            Err(ErrorCode::ConnectionLost),
        ),
        (
            "Content-Encoding: zstd",
            "no zstd at all",
            Err(ErrorCode::ConnectionLost),
        ),
        ("Content-Encoding: deflate", "x", Err(ErrorCode::InvalidResponse)),
        ("Content-Encoding: gzip, br", "x", Err(ErrorCode::InvalidResponse)),
        ("Content-Encoding: gzip", "", Ok("")),
        ("Content-Encoding: br", "", Ok("")),
        ("Content-Encoding: identity", "as it is", Ok("as it is")),
    ] {
        let url = answering(move || {
            format!(
                "HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes()
        })
        .await;
        let ended = match client(Proxy::None, &[], false).send(get(&url)).await {
            Ok(response) => text(response.body).await,
            Err(error) => Err(error),
        };
        let ended = ended.map_err(|error| error.code());
        assert_eq!(ended.as_deref().map_err(|code| *code), expected, "{head}: {body}");
    }
}
