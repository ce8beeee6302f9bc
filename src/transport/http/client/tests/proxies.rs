//! Which proxy a URL goes through.

use super::support::*;
use super::*;

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
