use proptest::prelude::*;

use super::*;
use crate::error::ErrorCode;

const NONE: Option<&[&str]> = None;

#[test]
fn on_loopback_its_own_names_are_allowed_on_any_port() {
    let hosts = InboundHosts::new(NONE, "127.0.0.1").unwrap();
    for host in [
        "localhost",
        "localhost:3001",
        "LOCALHOST",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:9",
        "[::1]",
        "[0:0:0:0:0:0:0:1]:9",
        "localhost:",
        " localhost ",
    ] {
        assert_eq!(judged(&hosts, &[host]), Verdict::Allowed, "{host}");
    }
    for host in [
        "localhost.",
        "localhost.:3001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example",
        "evil.example:80",
        "127.0.0.2",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "::1",
        "[::1",
        "[::1]x",
        "[::1%25lo]",
        "[localhost]",
        "localhost:80:80",
        "localhost:http",
        "localhost:99999",
        "localhost:+1",
        "user@localhost",
        "localhost@evil.example",
        "http://localhost",
        "localhost/",
        "localhost,evil.example",
        "local host",
        "localhost%00",
        "ｌocalhost",
        "*",
        ":80",
    ] {
        assert_eq!(judged(&hosts, &[host]), Verdict::Refused, "{host}");
    }
}

#[test]
fn the_address_that_a_server_is_bound_to_is_allowed() {
    let hosts = InboundHosts::new(NONE, "127.3.2.1").unwrap();
    assert_eq!(judged(&hosts, &["127.3.2.1:80"]), Verdict::Allowed);
    assert_eq!(judged(&hosts, &["localhost"]), Verdict::Allowed);
    assert_eq!(judged(&hosts, &["127.3.2.2"]), Verdict::Refused);
}

#[test]
fn a_host_that_is_missing_empty_or_doubled_is_malformed_everywhere() {
    for hosts in [
        InboundHosts::new(NONE, "127.0.0.1").unwrap(),
        InboundHosts::new(NONE, "0.0.0.0").unwrap(),
        InboundHosts::new(Some(&["a.example"]), "0.0.0.0").unwrap(),
    ] {
        for sent in [
            &[][..],
            &[""],
            &[" "],
            &["localhost", "localhost"],
            &["localhost", "evil.example"],
        ] {
            assert_eq!(judged(&hosts, sent), Verdict::Malformed, "{sent:?}");
        }
    }
}

#[test]
fn on_a_public_address_hosts_are_checked_where_there_is_a_list() {
    let hosts = InboundHosts::new(NONE, "0.0.0.0").unwrap();
    assert_eq!(hosts, InboundHosts::Any);
    assert_eq!(judged(&hosts, &["anything.example:1"]), Verdict::Allowed);
    let hosts = InboundHosts::new(Some(&["mcp.example"]), "0.0.0.0").unwrap();
    assert_eq!(judged(&hosts, &["MCP.example:443"]), Verdict::Allowed);
    assert_eq!(judged(&hosts, &["localhost"]), Verdict::Refused);
    // An empty list is a list.
    let hosts = InboundHosts::new(Some::<&[&str]>(&[]), "127.0.0.1").unwrap();
    assert_eq!(judged(&hosts, &["localhost"]), Verdict::Refused);
}

#[test]
fn an_entry_means_its_host_however_it_is_written() {
    for (entry, host) in [
        ("mcp.example:8443", "mcp.example:1"),
        ("MCP.Example", "mcp.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("::1", "[::1]"),
        ("[2001:DB8::1]:80", "[2001:db8:0::1]"),
        (" mcp.example ", "mcp.example"),
        ("10.0.0.1", "10.0.0.1:80"),
    ] {
        let hosts = InboundHosts::new(Some(&[entry]), "0.0.0.0").unwrap();
        assert_eq!(judged(&hosts, &[host]), Verdict::Allowed, "{entry} {host}");
    }
    for entry in ["", "http://mcp.example", "mcp.example/", "a b", "[::1", "user@host"] {
        let error = InboundHosts::new(Some(&[entry]), "0.0.0.0").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        assert_eq!(
            error.message(),
            format!("allowedHosts has {}, which is no host", json::quote(entry))
        );
    }
}

#[test]
fn the_authority_of_a_target_is_checked_like_the_host() {
    let hosts = InboundHosts::new(NONE, "127.0.0.1").unwrap();
    let judge = |host: &str, authority| hosts.judge(std::iter::once(host.as_bytes()), Some(authority));
    assert_eq!(judge("localhost", "127.0.0.1:80"), Verdict::Allowed);
    assert_eq!(judge("localhost", "evil.example"), Verdict::Refused);
    assert_eq!(judge("localhost", "localhost."), Verdict::Refused);
    assert_eq!(judge("evil.example", "localhost"), Verdict::Refused);
    assert_eq!(judge("", "localhost"), Verdict::Malformed);
}

#[test]
fn requests_without_an_origin_are_none_of_browsers() {
    assert_eq!(InboundOrigins::default().judge(std::iter::empty()), Verdict::Allowed);
}

#[test]
fn an_origin_is_allowed_where_it_is_listed() {
    let origins = InboundOrigins::new("allowedOrigins", &["https://app.example.com", "http://localhost:5173"]).unwrap();
    for origin in [
        "https://app.example.com",
        "HTTPS://APP.example.com",
        "https://app.example.com:443",
        "http://localhost:5173",
    ] {
        assert_eq!(sent(&origins, &[origin]), Verdict::Allowed, "{origin}");
    }
    for origin in [
        "http://app.example.com",
        "https://app.example.com:444",
        "https://app.example.com.",
        "https://app.example.com.evil.example",
        "https://evil.example",
        "https://app.example.com@evil.example",
        "https://user@app.example.com",
        "https://app.example.com/path",
        "https://app.example.com?x",
        "http://localhost",
        "http://127.0.0.1:5173",
        "app.example.com",
        "null",
        "",
        "*",
        "https://",
        "https:app.example.com",
        "https://app.example.com https://evil.example",
    ] {
        assert_eq!(sent(&origins, &[origin]), Verdict::Refused, "{origin}");
    }
    let twice = ["https://app.example.com", "https://app.example.com"];
    assert_eq!(sent(&origins, &twice), Verdict::Refused);
    assert_eq!(
        origins.judge([&b"https://app.example.com\xff"[..]].into_iter()),
        Verdict::Refused
    );
}

#[test]
fn by_default_no_page_may_send_anything() {
    let origins = InboundOrigins::new::<&str>("allowedOrigins", &[]).unwrap();
    for origin in [
        "https://app.example.com",
        "http://localhost",
        "http://127.0.0.1:3001",
        "null",
    ] {
        assert_eq!(sent(&origins, &[origin]), Verdict::Refused, "{origin}");
    }
}

#[test]
fn a_star_is_any_origin_but_only_an_origin() {
    let origins = InboundOrigins::new("allowedOrigins", &["*"]).unwrap();
    for origin in ["https://app.example.com", "null", "chrome-extension://abc"] {
        assert_eq!(sent(&origins, &[origin]), Verdict::Allowed, "{origin}");
    }
    for origin in ["", "x", "https://a.example/b"] {
        assert_eq!(sent(&origins, &[origin]), Verdict::Refused, "{origin}");
    }
    // As a part of a name it is no star.
    assert!(
        sent(
            &InboundOrigins::new("allowedOrigins", &["https://*.example.com"]).unwrap_or_default(),
            &["https://a.example.com"]
        ) == Verdict::Refused
    );
}

#[test]
fn origins_of_unusual_schemes_are_not_all_one() {
    let origins = InboundOrigins::new("allowedOrigins", &["chrome-extension://abc", "null"]).unwrap();
    assert_eq!(sent(&origins, &["chrome-extension://abc"]), Verdict::Allowed);
    assert_eq!(sent(&origins, &["chrome-extension://xyz"]), Verdict::Refused);
    assert_eq!(sent(&origins, &["null"]), Verdict::Allowed);
    let origins = InboundOrigins::new("allowedOrigins", &["chrome-extension://abc"]).unwrap();
    assert_eq!(sent(&origins, &["null"]), Verdict::Refused);
}

#[test]
fn those_of_two_options_are_allowed_together() {
    let cors = InboundOrigins::new("cors.origins", &["https://b.example"]).unwrap();
    let both = InboundOrigins::new("allowedOrigins", &["https://a.example/"])
        .unwrap()
        .and(&cors);
    assert_eq!(sent(&both, &["https://a.example"]), Verdict::Allowed);
    assert_eq!(sent(&both, &["https://b.example"]), Verdict::Allowed);
    assert!(!cors.allow(b"https://a.example"));
}

#[test]
fn an_entry_that_no_browser_could_send_is_refused() {
    for entry in [
        "app.example.com",
        "",
        "https://a.example/path",
        "https://u@a.example",
        "https://",
        "localhost:80",
    ] {
        let error = InboundOrigins::new("cors.origins", &[entry]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        assert!(
            error
                .message()
                .starts_with(&format!("cors.origins has {}, ", json::quote(entry))),
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn no_other_host_is_taken_for_a_local_one(host in "(localhost|127\\.0\\.0\\.1|\\[::1\\]|[a-z.@:/\\[\\]0-9]{1,4}){1,3}(:[0-9]{0,6})?") {
        let hosts = InboundHosts::new(NONE, "127.0.0.1").unwrap();
        if judged(&hosts, &[&host]) == Verdict::Allowed {
            // What a URL parser makes of it is the machine itself.
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            prop_assert!(matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")), "{}", host);
            prop_assert!(url.username().is_empty());
        }
    }
}

fn judged(hosts: &InboundHosts, sent: &[&str]) -> Verdict {
    hosts.judge(sent.iter().map(|host| host.as_bytes()), None)
}

fn sent(origins: &InboundOrigins, sent: &[&str]) -> Verdict {
    origins.judge(sent.iter().map(|origin| origin.as_bytes()))
}
