use http::HeaderValue;
use proptest::prelude::*;

use super::*;

const HERE: &str = "https://mcp.example/mcp";
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];
const KEEPING: [u16; 4] = [301, 302, 307, 308];

#[test]
fn only_five_statuses_redirect() {
    for status in (100..600).filter(|status| !REDIRECTS.contains(status)) {
        let (step, at) = Case::default().step(status, &["https://other.example/"]);
        assert_eq!((step.unwrap(), at.as_str()), (Step::Arrived, HERE), "{status}");
    }
}

#[test]
fn a_target_on_the_configured_origin_gets_the_same_request_whole() {
    for (location, target) in [
        ("/mcp/", "https://mcp.example/mcp/"),
        ("v2?tenant=1", "https://mcp.example/v2?tenant=1"),
        ("?tenant=1", "https://mcp.example/mcp?tenant=1"),
        ("", HERE),
        ("#part", HERE),
        ("https://MCP.example:443/x#part", "https://mcp.example/x"),
        ("//mcp.example/x", "https://mcp.example/x"),
        ("https://user:pass@mcp.example/x", "https://mcp.example/x"),
        ("/ü", "https://mcp.example/%C3%BC"),
    ] {
        for status in KEEPING {
            for (method, payload) in [
                (Method::POST, Payload::OfTheUser),
                (Method::POST, Payload::OfTheProtocol),
                (Method::GET, Payload::OfTheProtocol),
                (Method::DELETE, Payload::OfTheProtocol),
            ] {
                let case = Case {
                    method,
                    payload,
                    ..Case::default()
                };
                let (step, at) = case.step(status, &[location]);
                assert_eq!(step.unwrap(), Step::Follow { withhold: false }, "{location}");
                assert_eq!(at.as_str(), target);
            }
        }
    }
}

#[test]
fn another_origin_gets_no_secret() {
    for location in [
        "https://other.example/mcp",
        "https://mcp.example:8443/mcp",
        "//other.example/mcp",
        "https:\\\\other.example/mcp",
        "https://mcp.example./mcp",
        "https://[2606:4700::1]/mcp",
    ] {
        let (step, _) = Case::default().step(307, &[location]);
        assert_eq!(step.unwrap(), Step::Follow { withhold: true }, "{location}");
    }
    let case = Case {
        configured: "http://mcp.example/mcp",
        ..Case::default()
    };
    let (step, at) = case.step(308, &["https://mcp.example/mcp"]);
    assert_eq!((step.unwrap(), at.as_str()), (Step::Follow { withhold: true }, HERE));
}

#[test]
fn a_request_that_comes_back_comes_back_without_secrets() {
    Case::default().run(|journey| {
        for target in ["https://other.example/", "https://mcp.example/chosen-by-the-other"] {
            let step = journey.step(StatusCode::TEMPORARY_REDIRECT, &locations(&[target]));
            assert_eq!(step.unwrap(), Step::Follow { withhold: true });
            assert_eq!(journey.at().as_str(), target);
        }
    });
}

#[test]
fn what_the_user_sends_stays_on_the_configured_origin() {
    for status in REDIRECTS {
        let case = Case {
            payload: Payload::OfTheUser,
            ..Case::default()
        };
        let (step, at) = case.step(
            status,
            &["https://me:hunter2@other.example:8443/path?key=hunter2#hunter2"],
        );
        let error = step.unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked);
        assert!(error.message().contains("https://other.example:8443/path"), "{error}");
        assert!(
            error
                .message()
                .ends_with("configure the server at https://other.example:8443"),
            "{error}"
        );
        assert!(!error.message().contains("hunter2"), "{error}");
        assert_eq!(at.as_str(), HERE);
    }
}

#[test]
fn the_methods_that_carry_something_of_the_users() {
    for method in ["tools/call", "resources/read", "prompts/get", "completion/complete"] {
        assert_eq!(payload_of(method), Payload::OfTheUser);
    }
    for method in [
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "notifications/initialized",
    ] {
        assert_eq!(payload_of(method), Payload::OfTheProtocol);
    }
}

#[test]
fn see_other_is_followed_for_get_alone() {
    let get = Case {
        method: Method::GET,
        ..Case::default()
    };
    assert_eq!(get.step(303, &["/x"]).0.unwrap(), Step::Follow { withhold: false });
    for method in [Method::POST, Method::DELETE] {
        let case = Case {
            method: method.clone(),
            ..Case::default()
        };
        let error = case.step(303, &["/login?next=hunter2"]).0.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidResponse);
        assert_eq!(
            error.message(),
            format!(
                "https://mcp.example redirects (HTTP 303) to https://mcp.example/login, which would turn the {method} into a GET"
            )
        );
    }
}

#[test]
fn encryption_is_not_given_up() {
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let case = Case {
            method,
            ..Case::default()
        };
        let (step, _) = case.step(307, &["http://mcp.example/mcp?key=hunter2"]);
        let error = step.unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked);
        assert_eq!(
            error.message(),
            "https://mcp.example redirects (HTTP 307) from https to http://mcp.example/mcp, which is not encrypted"
        );
    }
    // Not on a later hop either.
    let case = Case {
        configured: "http://mcp.example/mcp",
        ..Case::default()
    };
    case.run(|journey| {
        journey.step(StatusCode::FOUND, &locations(&[HERE])).unwrap();
        let error = journey
            .step(StatusCode::FOUND, &locations(&["http://mcp.example/mcp"]))
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked);
    });
}

#[test]
fn other_schemes_are_refused_and_their_content_is_not_shown() {
    for location in [
        "file:///etc/hunter2",
        "data:text/plain,hunter2",
        "javascript:hunter2",
        "ftp://hunter2/",
        "ws://hunter2/",
        "unix:/hunter2",
        "mcp.example:443/hunter2",
    ] {
        let error = Case::default().step(302, &[location]).0.unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked, "{location}");
        assert!(error.message().contains("scheme"), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
}

#[test]
fn every_hop_is_checked_against_the_allowed_hosts() {
    let case = Case {
        allowed: AllowedHosts::only(["mcp.example", "next.example"]),
        ..Case::default()
    };
    case.run(|journey| {
        journey
            .step(StatusCode::FOUND, &locations(&["https://next.example/"]))
            .unwrap();
        for inner in ["https://169.254.169.254/latest", "//0xa9fea9fe/latest"] {
            let error = journey.step(StatusCode::FOUND, &locations(&[inner])).unwrap_err();
            assert_eq!(error.code(), ErrorCode::HostBlocked);
            assert_eq!(
                error.message(),
                "https://next.example redirects (HTTP 302) to https://169.254.169.254/latest: \
                 the host 169.254.169.254 is not in allowedHosts"
            );
        }
    });
    let nowhere = AllowedHosts::only([]);
    let (url, redactor) = (Url::parse(HERE).unwrap(), Redactor::default());
    let refused = Journey::new(
        &url,
        url.clone(),
        &nowhere,
        &redactor,
        &Method::GET,
        Payload::OfTheProtocol,
    );
    assert_eq!(refused.err().unwrap().code(), ErrorCode::HostBlocked);
}

#[test]
fn a_redirect_without_a_usable_target_is_an_error() {
    for (locations, what) in [
        (&[][..], "without a Location header"),
        (&["/a", "/b"], "with more than one Location header"),
        (&["https://"], "to a Location that is no URL"),
        (&["https://[::1"], "to a Location that is no URL"),
        (&["https://mcp.example:99999/"], "to a Location that is no URL"),
        (&["//mcp exam ple/"], "to a Location that is no URL"),
    ] {
        let error = Case::default().step(301, locations).0.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidResponse);
        assert_eq!(
            error.message(),
            format!("https://mcp.example redirects (HTTP 301) {what}")
        );
    }
    let twice_the_same = Case::default().step(301, &["/a", "/a"]);
    assert_eq!(twice_the_same.0.unwrap(), Step::Follow { withhold: false });
    Case::default().run(|journey| {
        let latin = HeaderMap::from_iter([(LOCATION, HeaderValue::from_bytes(b"/\xfc").unwrap())]);
        assert!(journey.step(StatusCode::FOUND, &latin).is_err());
    });
}

#[test]
fn a_loop_ends_after_five_hops() {
    Case::default().run(|journey| {
        for _ in 0..5 {
            journey.step(StatusCode::FOUND, &locations(&["/mcp"])).unwrap();
        }
        assert_eq!(journey.step(StatusCode::OK, &locations(&[])).unwrap(), Step::Arrived);
        let error = journey
            .step(StatusCode::FOUND, &locations(&["/mcp?key=hunter2"]))
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidResponse);
        assert_eq!(
            error.message(),
            "https://mcp.example redirects (HTTP 302) to https://mcp.example/mcp, after 5 redirects already"
        );
    });
}

#[test]
fn a_target_that_repeats_a_secret_is_redacted_and_a_long_one_cut() {
    let case = Case {
        redactor: Redactor::new(["hunter2-hunter2"]),
        ..Case::default()
    };
    let error = case.step(303, &["/hunter2-hunter2/login"]).0.unwrap_err();
    assert!(
        error.message().contains("https://mcp.example/[redacted]/login"),
        "{error}"
    );
    let long = format!("/{}", "x".repeat(50_000));
    let error = Case::default().step(303, &[&long]).0.unwrap_err();
    assert!(error.message().len() < 2_000, "{error}");
}

#[test]
fn the_diagnostic_names_both_origins_and_nothing_more() {
    let diagnostic = headers_withheld(
        "shop",
        &Url::parse("https://mcp.example/mcp?key=hunter2").unwrap(),
        &Url::parse("https://other.example:8443/x?key=hunter2").unwrap(),
    );
    assert_eq!(diagnostic.rule.name(), "cross-origin-headers-withheld");
    assert_eq!(diagnostic.rule.section(), "7.2.1");
    assert!(diagnostic.message.contains("https://mcp.example "), "{diagnostic:?}");
    assert!(
        diagnostic.message.contains("https://other.example:8443:"),
        "{diagnostic:?}"
    );
    assert!(!diagnostic.message.contains("hunter2"));
}

proptest! {
    /// Whatever a peer writes, in whatever order.
    #[test]
    fn secrets_and_users_content_stay_where_they_belong(
        hops in prop::collection::vec((0..5usize, "(https?:)?(//|/\\\\|\\\\)?(me:pw@)?(mcp|other|blocked)\\.example(:443|:80|:1)?[/?#]?[a-z]{0,3}|\\PC{0,20}"), 1..9),
        of_the_user: bool,
        get: bool,
    ) {
        let configured = Url::parse(HERE).unwrap();
        let case = Case {
            allowed: AllowedHosts::only(["mcp.example", "other.example"]),
            payload: if of_the_user { Payload::OfTheUser } else { Payload::OfTheProtocol },
            method: if get { Method::GET } else { Method::POST },
            ..Case::default()
        };
        case.run(|journey| {
            let mut followed = 0;
            for (status, location) in &hops {
                let Ok(headers) = HeaderValue::from_bytes(location.as_bytes()).map(|value| HeaderMap::from_iter([(LOCATION, value)])) else {
                    continue;
                };
                let before = journey.at().clone();
                match journey.step(StatusCode::from_u16(REDIRECTS[*status]).unwrap(), &headers) {
                    Ok(step) => {
                        followed += 1;
                        let at = journey.at();
                        assert!(at.username().is_empty() && at.password().is_none() && at.fragment().is_none());
                        assert!(matches!(at.host_str().unwrap(), "mcp.example" | "other.example"));
                        assert_eq!(at.scheme(), "https");
                        let home = same_origin(at, &configured);
                        assert!(home || step == Step::Follow { withhold: true });
                        assert!(home || !of_the_user);
                    }
                    Err(error) => {
                        assert_eq!(journey.at(), &before);
                        // In a path the same characters are no userinfo.
                        assert!(!error.message().contains("://me:pw@"));
                    }
                }
            }
            assert!(followed <= limits::MAX_REDIRECTS);
        });
    }
}

struct Case {
    configured: &'static str,
    allowed: AllowedHosts,
    redactor: Redactor,
    method: Method,
    payload: Payload,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            configured: HERE,
            allowed: AllowedHosts::Any,
            redactor: Redactor::default(),
            method: Method::POST,
            payload: Payload::OfTheProtocol,
        }
    }
}

impl Case {
    fn run<T>(&self, run: impl FnOnce(&mut Journey<'_>) -> T) -> T {
        let configured = Url::parse(self.configured).unwrap();
        let mut journey = Journey::new(
            &configured,
            configured.clone(),
            &self.allowed,
            &self.redactor,
            &self.method,
            self.payload,
        )
        .unwrap();
        run(&mut journey)
    }

    fn step(&self, status: u16, targets: &[&str]) -> (Result<Step>, Url) {
        self.run(|journey| {
            let step = journey.step(StatusCode::from_u16(status).unwrap(), &locations(targets));
            (step, journey.at().clone())
        })
    }
}

fn locations(targets: &[&str]) -> HeaderMap {
    targets
        .iter()
        .map(|target| (LOCATION, HeaderValue::from_bytes(target.as_bytes()).unwrap()))
        .collect()
}
