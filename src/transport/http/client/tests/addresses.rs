//! Which addresses are connected to.

use super::support::*;
use super::*;

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
