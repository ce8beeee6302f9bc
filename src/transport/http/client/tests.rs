//! The stack against real sockets on the loopback device, whose other side is written out byte by byte.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZstdEncoder};
use futures_util::StreamExt;
use futures_util::future::join_all;
use http::{HeaderMap, Method, StatusCode};
use reqwest::dns::{Addrs, Name, Resolving};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::settings::Proxy;
use super::*;
use crate::error::ErrorCode;
use crate::host::http::Body;

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
    let zeros = vec![0; 8 * 1024 * 1024];
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

#[tokio::test]
async fn private_addresses_are_refused_by_literal_and_by_name() {
    let (listener, url) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let client = client(Proxy::None, &[], true);
    let by_name = format!("http://localhost:{port}/");
    for url in [
        &*url,
        &by_name,
        "http://169.254.169.254/latest/meta-data/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
    ] {
        let error = soon(client.send(get(url))).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked, "{url}: {error}");
    }
    assert!(no_connection(&listener).await);
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_used() {
    let (listener, _) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://rebind.test:{port}/");
    // In the block of public addresses, and nobody has it: IANA keeps this part back.
    let public: IpAddr = "2d00::1".parse().unwrap();

    // One private address among public ones is enough.
    let mixed = Changing::new(vec![vec![public, LOOPBACK]]);
    let error = blocking(&mixed).send(get(&url)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::HostBlocked);
    assert_eq!(
        error.to_string(),
        "rebind.test resolves to 127.0.0.1, which is not a public address, and blockPrivateAddresses is on"
    );

    // A second look-up would lead to the listener, and there is none.
    let changing = Changing::new(vec![vec![public], vec![LOOPBACK]]);
    let client = blocking(&changing);
    let mut sending = client.send(get(&url));
    assert!(no_connection_while(&listener, &mut sending).await);
    assert_eq!(changing.asked(), 1);
    drop(sending);

    // The next exchange looks up again, and is refused.
    let error = client.send(get(&url)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::HostBlocked);
    assert_eq!(changing.asked(), 2);
}

#[tokio::test]
async fn names_are_looked_up_where_nothing_is_blocked() {
    let url = answering(|| EMPTY.to_vec()).await;
    let resolver = Changing::new(vec![vec![LOOPBACK]]);
    let settings = HttpSettings::new(Proxy::None, &[], false).unwrap();
    let client = ReqwestClient::build(&settings, Routes::new(&Proxy::None).unwrap(), resolver).unwrap();
    let response = client.send(get(&url.replace("127.0.0.1", "mcp.test"))).await.unwrap();
    assert_eq!(response.status, StatusCode::OK);
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_used_save_for_the_hosts_it_leaves_out() {
    let (proxy, proxy_url) = listen().await;
    let with_password = proxy_url.replace("://", "://user:pass%20word@");
    let (direct, direct_url) = listen().await;
    let server = tokio::spawn(async move {
        let mut peer = accept(&proxy).await;
        let request = peer.request().await.unwrap();
        peer.send(EMPTY).await;
        request
    });
    let client = through(&[("http_proxy", &with_password), ("NO_PROXY", "*.corp.test 127.0.0.1")]);

    let response = client.send(get("http://mcp.test:8080/mcp")).await.unwrap();
    assert_eq!(response.status, StatusCode::OK);
    let request = server.await.unwrap();
    assert!(
        request.starts_with("GET http://mcp.test:8080/mcp HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request
            .to_lowercase()
            .contains("proxy-authorization: basic dxnlcjpwyxnzihdvcmq=\r\n"),
        "{request}"
    );

    let asked = tokio::spawn(client.send(get(&direct_url)));
    let mut peer = accept(&direct).await;
    let request = peer.request().await.unwrap();
    peer.send(EMPTY).await;
    assert!(request.starts_with("GET / HTTP/1.1\r\n"), "{request}");
    assert!(!request.to_lowercase().contains("proxy-authorization"), "{request}");
    asked.await.unwrap().unwrap();
}

#[test]
fn the_variables_of_a_proxy_are_read_as_usual() {
    let proxy_of = |variables: &[(&str, &str)], url: &str| routes(variables).unwrap().proxy_of(&url.parse().unwrap());
    let plain = "http://mcp.test/";
    let secure = "https://mcp.test/";
    for (variables, url, proxy) in [
        (&[("HTTP_PROXY", "http://p:1")][..], plain, Some("p:1")),
        (&[("HTTP_PROXY", "http://p:1")], secure, None),
        (&[("https_proxy", "p:1")], secure, Some("p:1")),
        (&[("ALL_PROXY", "socks5h://p")], secure, Some("p:1080")),
        (
            &[("all_proxy", "http://p:1"), ("http_proxy", "http://q:2")],
            plain,
            Some("q:2"),
        ),
        (
            &[("HTTP_PROXY", "http://p:1"), ("http_proxy", "http://q:2")],
            plain,
            Some("q:2"),
        ),
        (&[("HTTP_PROXY", "http://p:1"), ("REQUEST_METHOD", "GET")], plain, None),
        (&[("HTTP_PROXY", " ")], plain, None),
        (&[("HTTP_PROXY", "http://p:1"), ("NO_PROXY", "*")], plain, None),
        (
            &[("HTTP_PROXY", "http://p:1"), ("no_proxy", "a.test, .test")],
            plain,
            None,
        ),
        (
            &[("HTTP_PROXY", "http://p:1"), ("no_proxy", "cp.test")],
            plain,
            Some("p:1"),
        ),
        (
            &[("HTTP_PROXY", "http://p:1"), ("no_proxy", "10.0.0.0/8")],
            "http://10.1.2.3/",
            None,
        ),
    ] {
        assert_eq!(proxy_of(variables, url).as_deref(), proxy, "{variables:?} {url}");
    }
    for wrong in [
        "ftp://user:secret@p",
        "http://user:secret@",
        "http://user:secret@p:port",
    ] {
        let error = routes(&[("HTTPS_PROXY", wrong)]).err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        let error = error.to_string();
        assert!(error.starts_with("proxy: ") && error.contains("HTTPS_PROXY"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn the_option_proxy_is_a_word_or_a_url() {
    assert!(matches!(Proxy::parse("env"), Ok(Proxy::Env)));
    assert!(matches!(Proxy::parse("none"), Ok(Proxy::None)));
    assert!(matches!(
        Proxy::parse("http://user:secret@proxy.test:3128"),
        Ok(Proxy::Url(_))
    ));
    for wrong in [
        "",
        "direct",
        "user:secret@proxy:1",
        "ftp://secret@proxy",
        "http://",
        "secret.test:3128",
    ] {
        let error = Proxy::parse(wrong).err().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption, "{wrong}");
        let error = error.to_string();
        assert!(error.starts_with("proxy ") && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_tunnel_that_a_proxy_refuses_is_told_without_its_password() {
    let (listener, url) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        let request = peer.request().await.unwrap();
        peer.send(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            .await;
        request
    });
    let proxy = Proxy::parse(&url.replace("://", "://user:secret@")).unwrap();
    let error = client(proxy, &[], false)
        .send(get("https://mcp.test/secret"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not connect to mcp.test:443 through the proxy 127.0.0.1:{port}: refused by the proxy")
    );
    assert!(server.await.unwrap().starts_with("CONNECT mcp.test:443 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn private_addresses_cannot_be_blocked_through_a_proxy() {
    let proxy = Proxy::parse("http://user:secret@proxy.test:3128").unwrap();
    let error = HttpSettings::new(proxy, &[], true).err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidOption);
    assert!(error.to_string().starts_with("blockPrivateAddresses "), "{error}");

    let settings = HttpSettings::new(Proxy::Env, &[], true).unwrap();
    let routes = routes(&[
        ("HTTPS_PROXY", "http://user:secret@proxy.test:3128"),
        ("NO_PROXY", "direct.test"),
    ])
    .unwrap();
    let resolver = Changing::new(vec![vec![LOOPBACK]]);
    let client = ReqwestClient::build(&settings, routes, resolver).unwrap();
    let proxied = "https://mcp.test/?key=secret".parse().unwrap();
    let configured = client.check_route(&proxied).unwrap_err();
    assert_eq!(configured.code(), ErrorCode::InvalidOption);
    let led_there = client.send(get(proxied.as_str())).await.unwrap_err();
    assert_eq!(led_there.code(), ErrorCode::HostBlocked);
    for error in [configured.to_string(), led_there.to_string()] {
        assert!(
            error.contains("mcp.test:443") && error.contains("proxy.test:3128"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
    // Where the proxy does not apply, the address counts.
    for url in ["https://direct.test/", "http://mcp.test/"] {
        client.check_route(&url.parse().unwrap()).unwrap();
        assert_eq!(client.send(get(url)).await.unwrap_err().code(), ErrorCode::HostBlocked);
    }
}

#[tokio::test]
async fn own_roots_are_trusted_besides_the_usual_ones() {
    let certified = certificate(|_| ());
    let url = answering_tls(&certified).await;
    let error = soon(client(Proxy::None, &[], false).send(get(&url))).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConnectionLost);
    assert!(
        error
            .to_string()
            .contains("tls, the issuer of its certificate is not trusted"),
        "{error}"
    );

    let ca = [certified.cert.pem()];
    let response = soon(client(Proxy::None, &ca, false).send(get(&url))).await.unwrap();
    assert_eq!(response.status, StatusCode::OK);
}

#[tokio::test]
async fn a_self_signed_certificate_that_calls_itself_an_authority_is_trusted_when_named() {
    let authority = |params: &mut rcgen::CertificateParams| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    };
    let certified = certificate(authority);
    let other = certificate(authority);
    let url = answering_tls(&certified).await;
    assert!(
        client(Proxy::None, &[certified.cert.pem()], false)
            .send(get(&url))
            .await
            .is_ok()
    );
    let error = client(Proxy::None, &[other.cert.pem()], false)
        .send(get(&answering_tls(&certified).await))
        .await
        .unwrap_err();
    assert!(error.to_string().contains(": tls, "), "{error}");
}

#[tokio::test]
async fn names_and_times_of_certificates_count_for_own_roots_too() {
    for is_ca in [
        rcgen::IsCa::NoCa,
        rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained),
    ] {
        let elsewhere = certificate(|params| {
            params.is_ca = is_ca;
            params.subject_alt_names = vec![rcgen::SanType::DnsName("elsewhere.test".try_into().unwrap())];
        });
        let expired = certificate(|params| {
            params.is_ca = is_ca;
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        for (certified, reason) in [(elsewhere, "is for another host"), (expired, "has expired")] {
            let url = answering_tls(&certified).await;
            let client = client(Proxy::None, &[certified.cert.pem()], false);
            let error = client.send(get(&url)).await.unwrap_err().to_string();
            assert!(error.ends_with(&format!("tls, its certificate {reason}")), "{error}");
        }
    }
}

#[tokio::test]
async fn https_to_a_server_without_it_says_so() {
    let url = answering(|| b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let error = failure(&url.replace("http:", "https:")).await.to_string();
    assert!(error.ends_with(": tls, it does not speak TLS"), "{error}");
}

#[test]
fn a_root_that_is_no_certificate_is_refused() {
    let certified = certificate(|_| ());
    let good = certified.cert.pem();
    let key = certified.signing_key.serialize_pem();
    let broken = good.replace("MII", "!!!");
    let not_x509 = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
    for wrong in ["", "secret", &key, &broken, not_x509] {
        let error = HttpSettings::new(Proxy::None, &[good.clone(), wrong.to_owned()], false)
            .err()
            .unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidOption, "{wrong}");
        let error = error.to_string();
        assert!(error.starts_with("ca[1] ") && !error.contains("secret"), "{error}");
    }
    let bundle = good.repeat(2);
    assert_eq!(
        HttpSettings::new(Proxy::None, &[bundle], false).unwrap().roots().len(),
        2
    );
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn client(proxy: Proxy, ca: &[String], blocks: bool) -> ReqwestClient {
    ReqwestClient::new(&HttpSettings::new(proxy, ca, blocks).unwrap()).unwrap()
}

fn routes(variables: &[(&str, &str)]) -> Result<Routes> {
    Routes::from_variables(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn through(variables: &[(&str, &str)]) -> ReqwestClient {
    let settings = HttpSettings::new(Proxy::Env, &[], false).unwrap();
    ReqwestClient::build(&settings, routes(variables).unwrap(), Arc::new(SystemResolver)).unwrap()
}

fn blocking(resolver: &Arc<Changing>) -> ReqwestClient {
    let settings = HttpSettings::new(Proxy::None, &[], true).unwrap();
    let resolver: Arc<Changing> = Arc::clone(resolver);
    ReqwestClient::build(&settings, Routes::new(&Proxy::None).unwrap(), resolver).unwrap()
}

fn get(url: &str) -> HttpRequest {
    HttpRequest {
        method: Method::GET,
        url: Url::parse(url).unwrap(),
        headers: HeaderMap::new(),
        body: None,
    }
}

fn post(url: &str, body: &str) -> HttpRequest {
    HttpRequest {
        method: Method::POST,
        body: Some(body.to_owned()),
        ..get(url)
    }
}

async fn failure(url: &str) -> Error {
    let outcome = soon(client(Proxy::None, &[], false).send(post(url, "{}"))).await;
    let error = outcome.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    error
}

async fn text(mut body: Body) -> Result<String> {
    let mut text = Vec::new();
    while let Some(chunk) = body.next().await {
        text.extend_from_slice(&chunk?);
    }
    Ok(String::from_utf8(text).unwrap())
}

async fn drain(body: Body) {
    text(body).await.unwrap();
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (listener, url)
}

/// A server that gives every connection the same bytes after its first request, or what there is of one, and closes it.
async fn answering(answer: impl Fn() -> Vec<u8> + Send + 'static) -> String {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        loop {
            let mut peer = accept(&listener).await;
            peer.request().await;
            peer.send(&answer()).await;
        }
    });
    url
}

async fn answering_tls(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> String {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                let mut peer = Peer::new(stream);
                peer.request().await;
                peer.send(EMPTY).await;
            }
        }
    });
    url.replace("http:", "https:")
}

/// A self-signed certificate for 127.0.0.1.
fn certificate(change: impl FnOnce(&mut rcgen::CertificateParams)) -> rcgen::CertifiedKey<rcgen::KeyPair> {
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    change(&mut params);
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    rcgen::CertifiedKey { cert, signing_key }
}

async fn accept(listener: &TcpListener) -> Peer<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    Peer::new(stream)
}

/// The server's side of one connection.
struct Peer<S> {
    stream: BufReader<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    fn new(stream: S) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// The next request with its body, or `None` when the connection ends before it does.
    async fn request(&mut self) -> Option<String> {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            // A handshake of TLS is no request, but what there is of one.
            if request.starts_with(b"\x16\x03") {
                return None;
            }
            request.push(self.stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(request).unwrap();
        let length = head
            .to_lowercase()
            .split_once("content-length: ")
            .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(head + &String::from_utf8(body).unwrap())
    }

    async fn send(&mut self, bytes: &[u8]) {
        // The other side may be gone by now, which is the test's business.
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    async fn chunk(&mut self, bytes: &[u8]) {
        self.send(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
            .await;
    }

    /// Waits until the other side closes.
    async fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]).await, Ok(0) | Err(_))
    }
}

/// A resolver whose answers are given one after the other; the last one stays.
struct Changing {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Changing {
    fn new(answers: Vec<Vec<IpAddr>>) -> Arc<Self> {
        Arc::new(Self {
            answers,
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Changing {
    fn resolve(&self, _: Name) -> Resolving {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let addresses: Vec<_> = self.answers[turn]
            .iter()
            .map(|address| SocketAddr::from((*address, 0)))
            .collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

/// Two pieces of one encoded text; the first can be decoded without the second.
async fn encoded(coding: &str, [first, rest]: &[impl AsRef<[u8]>; 2]) -> [Vec<u8>; 2] {
    async fn pieces<W>(mut encoder: W, written: impl Fn(&W) -> &Vec<u8>, first: &[u8], rest: &[u8]) -> [Vec<u8>; 2]
    where
        W: AsyncWrite + Unpin,
    {
        encoder.write_all(first).await.unwrap();
        encoder.flush().await.unwrap();
        let split = written(&encoder).len();
        encoder.write_all(rest).await.unwrap();
        encoder.shutdown().await.unwrap();
        let (first, rest) = written(&encoder).split_at(split);
        [first.to_vec(), rest.to_vec()]
    }
    let (first, rest) = (first.as_ref(), rest.as_ref());
    match coding {
        "br" => pieces(BrotliEncoder::new(Vec::new()), BrotliEncoder::get_ref, first, rest).await,
        "zstd" => pieces(ZstdEncoder::new(Vec::new()), ZstdEncoder::get_ref, first, rest).await,
        _ => pieces(GzipEncoder::new(Vec::new()), GzipEncoder::get_ref, first, rest).await,
    }
}

async fn no_connection(listener: &TcpListener) -> bool {
    no_connection_while(listener, std::future::pending::<()>()).await
}

/// Whether nobody connects for a moment, with something going on meanwhile, whatever becomes of it.
#[expect(clippy::disallowed_methods, reason = "nothing happens, for a moment")]
async fn no_connection_while(listener: &TcpListener, meanwhile: impl Future) -> bool {
    let connected = async {
        tokio::select! {
            _ = listener.accept() => (),
            () = async { meanwhile.await; std::future::pending().await } => (),
        }
    };
    tokio::time::timeout(Duration::from_millis(300), connected)
        .await
        .is_err()
}

#[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future)
        .await
        .expect("it takes too long")
}
