use http::HeaderName;
use proptest::prelude::*;

use super::probe::{Failure, Next, Probed};
use super::*;
use crate::protocol::revision::Era;

const KINDS: [Sent; 5] = [
    Sent::Request,
    Sent::Notification,
    Sent::OptionalStream,
    Sent::Stream,
    Sent::Delete,
];

#[test]
fn a_request_is_answered_by_json_or_by_an_event_stream() {
    for media in [
        "application/json",
        "Application/JSON",
        "application/json ;charset=utf-8",
        "application/json, application/json",
    ] {
        assert_eq!(judge_plain(Sent::Request, 200, Some(media)), Verdict::Json, "{media}");
    }
    for media in [
        "text/event-stream",
        "Text/Event-Stream; charset=utf-8",
        " text/event-stream;",
    ] {
        assert_eq!(
            judge_plain(Sent::Request, 200, Some(media)),
            Verdict::EventStream,
            "{media}"
        );
    }
}

#[test]
fn a_success_that_is_no_answer_says_what_it_is() {
    for (media, shown) in [
        (Some("text/html; charset=utf-8"), Some("text/html")),
        (Some("TEXT/Plain"), Some("text/plain")),
        (Some("application/json-seq"), Some("application/json-seq")),
        (Some("json"), None),
        (Some("text/<b>"), None),
        (Some(""), None),
        (None, None),
    ] {
        let expected = Verdict::NotMcp(shown.map(str::to_owned));
        assert_eq!(judge_plain(Sent::Request, 200, media), expected, "{media:?}");
    }
    for status in [202, 204, 205] {
        assert_eq!(judge_plain(Sent::Request, status, None), Verdict::Empty(code(status)));
    }
    assert_eq!(judge_plain(Sent::Request, 202, Some("application/json")), Verdict::Json);
}

#[test]
fn any_success_takes_what_has_no_answer() {
    for status in [200, 202, 204] {
        for media in [None, Some("application/json"), Some("text/plain")] {
            assert_eq!(judge_plain(Sent::Notification, status, media), Verdict::Accepted);
            assert_eq!(judge_plain(Sent::Delete, status, media), Verdict::Accepted);
        }
    }
}

#[test]
fn any_refusal_of_the_optional_stream_means_that_there_is_none() {
    for status in [400, 401, 403, 404, 405, 406, 409, 500, 501, 503] {
        for names_session in [false, true] {
            assert_eq!(
                judge(Sent::OptionalStream, names_session, code(status), &HeaderMap::new(), 0),
                Verdict::NoStream(code(status))
            );
        }
    }
    assert_eq!(
        judge_plain(Sent::OptionalStream, 200, Some("application/json")),
        Verdict::NoStream(StatusCode::OK)
    );
    assert_eq!(
        judge_plain(Sent::OptionalStream, 200, Some("text/event-stream")),
        Verdict::EventStream
    );
}

#[test]
fn the_stream_of_the_old_transport_is_an_event_stream_or_fails() {
    assert_eq!(
        judge_plain(Sent::Stream, 200, Some("text/event-stream")),
        Verdict::EventStream
    );
    assert_eq!(
        judge_plain(Sent::Stream, 200, Some("application/json")),
        Verdict::NotMcp(Some("application/json".to_owned()))
    );
    assert_eq!(judge_plain(Sent::Stream, 204, None), Verdict::Empty(code(204)));
    assert_eq!(judge_plain(Sent::Stream, 401, None), Verdict::Unauthorized);
    assert_eq!(
        judge_plain(Sent::Stream, 404, Some("application/json")),
        Verdict::Failed(code(404))
    );
}

#[test]
fn a_404_ends_the_session_that_the_request_named_and_no_other() {
    for sent in [Sent::Request, Sent::Notification, Sent::Delete] {
        let headers = headers(&[("content-type", "application/json")]);
        assert_eq!(judge(sent, true, code(404), &headers, 0), Verdict::SessionGone);
        assert_ne!(judge(sent, false, code(404), &headers, 0), Verdict::SessionGone);
        assert_ne!(judge(sent, true, code(400), &headers, 0), Verdict::SessionGone);
    }
}

#[test]
fn credentials_are_refused_whatever_the_body_is() {
    for sent in [Sent::Request, Sent::Notification, Sent::Stream, Sent::Delete] {
        assert_eq!(judge_plain(sent, 401, Some("application/json")), Verdict::Unauthorized);
        assert_eq!(judge_plain(sent, 403, Some("application/json")), Verdict::Forbidden);
    }
}

#[test]
fn a_json_rpc_error_is_looked_for_before_a_failure_is_a_bare_one() {
    for sent in [Sent::Request, Sent::Notification] {
        for status in [400, 404] {
            for media in [None, Some("application/json"), Some("text/plain")] {
                assert_eq!(judge_plain(sent, status, media), Verdict::ErrorBody(code(status)));
            }
        }
        for status in [405, 406, 415, 422, 500] {
            assert_eq!(
                judge_plain(sent, status, Some("application/json")),
                Verdict::ErrorBody(code(status))
            );
            assert_eq!(
                judge_plain(sent, status, Some("text/html")),
                Verdict::Failed(code(status))
            );
        }
    }
    assert_eq!(
        judge_plain(Sent::Delete, 400, Some("application/json")),
        Verdict::Failed(code(400))
    );
}

#[test]
fn a_server_may_keep_its_sessions_to_itself() {
    assert_eq!(judge_plain(Sent::Delete, 405, None), Verdict::Accepted);
    assert_eq!(judge_plain(Sent::Delete, 500, None), Verdict::Failed(code(500)));
}

#[test]
fn a_server_that_says_when_to_come_back_is_heard() {
    let now = 784_111_700;
    for (value, seconds) in [("7", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 77)] {
        let headers = headers(&[("retry-after", value), ("content-type", "application/json")]);
        for status in [429, 503] {
            for sent in KINDS {
                assert_eq!(
                    judge(sent, true, code(status), &headers, now),
                    Verdict::RetryAfter(code(status), Duration::from_secs(seconds))
                );
            }
        }
        assert_eq!(
            judge(Sent::Request, false, code(500), &headers, now),
            Verdict::ErrorBody(code(500))
        );
    }
    let unclear = headers(&[("retry-after", "soon")]);
    assert_eq!(
        judge(Sent::Request, false, code(503), &unclear, now),
        Verdict::Failed(code(503))
    );
}

#[test]
fn a_redirect_says_where_it_leads() {
    for status in [301, 302, 303, 307, 308] {
        for sent in KINDS {
            assert_eq!(
                judge(sent, true, code(status), &headers(&[("location", "/mcp/")]), 0),
                Verdict::Redirect(code(status), HeaderValue::from_static("/mcp/"))
            );
        }
        assert_eq!(judge_plain(Sent::Request, status, None), Verdict::Failed(code(status)));
    }
}

#[test]
fn only_a_json_rpc_error_is_read_from_the_body_of_a_failure() {
    let error = error_in(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#);
    assert_eq!(
        error.map(|error| (error.code, error.message)),
        Some((-32_001, "Session not found".to_owned()))
    );
    assert!(error_in(r#"{"jsonrpc":"2.0","id":"x","error":{"code":1}}"#).is_some());
    for other in [
        "",
        "<html>",
        "[]",
        r#"{"error":"not found"}"#,
        r#"{"error":{"code":404,"message":"Not Found"}}"#,
        r#"{"jsonrpc":"2.0","error":"not found"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":"E","message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"x","error":{"code":1}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1}"#,
    ] {
        assert!(error_in(other).is_none(), "{other}");
    }
}

#[test]
fn two_session_ids_are_none_that_can_be_used() {
    let ids = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(SESSION_ID, HeaderValue::from_static(value));
        }
        SessionId::of(&headers).map(|id| id.map(|id| id.header_value()))
    };
    assert_eq!(ids(&["a", "a", ""]), Ok(Some(HeaderValue::from_static("a"))));
    assert_eq!(ids(&["a", "b"]), Err(UnusableSessionId));
}

#[test]
fn a_session_id_is_visible_ascii_and_is_kept_out_of_sight() {
    let id = |value: &[u8]| {
        let mut headers = HeaderMap::new();
        headers.insert(SESSION_ID, HeaderValue::from_bytes(value).unwrap());
        SessionId::of(&headers).map(|id| id.map(|id| id.header_value()))
    };
    assert!(matches!(SessionId::of(&HeaderMap::new()), Ok(None)));
    assert_eq!(id(b""), Ok(None));
    let all: Vec<u8> = (0x21..=0x7e).collect();
    let value = id(&all).unwrap().unwrap();
    assert_eq!(value.as_bytes(), all);
    assert_eq!(format!("{value:?}"), "Sensitive");
    for wrong in [
        &b"a b"[..],
        b"a\tb",
        b"caf\xc3\xa9",
        b"\xff",
        &[b'x'; MAX_SESSION_ID_BYTES + 1],
    ] {
        assert_eq!(id(wrong), Err(UnusableSessionId));
    }
    assert!(id(&[b'x'; MAX_SESSION_ID_BYTES]).is_ok());
}

#[test]
fn the_version_header_names_the_revision() {
    for revision in Revision::ALL {
        assert_eq!(protocol_version(revision), revision.name());
    }
}

#[test]
fn the_names_of_headers_are_spelt_as_the_http_crate_spells_them() {
    for name in [SESSION_ID, PROTOCOL_VERSION, METHOD, NAME, LAST_EVENT_ID] {
        assert_eq!(HeaderName::from_static(name).as_str(), name);
    }
}

// The era of a server, as the answer to `server/discover` shows it.

#[test]
fn a_result_with_a_stateless_revision_is_the_stateless_era() {
    for versions in [
        r#"["2026-07-28"]"#,
        r#"["2025-11-25","2026-07-28","2031-01-01"]"#,
        r#"[7,"2026-07-28"]"#,
    ] {
        let text = discovered(versions);
        assert_eq!(probe(200, Some(&text)), "Stateless(V2026_07_28)", "{versions}");
    }
}

#[test]
fn a_result_with_session_revisions_alone_leads_to_the_handshake() {
    assert_eq!(probe(200, Some(&discovered(r#"["2025-11-25"]"#))), "Initialize");
}

#[test]
fn a_result_with_no_revision_of_ours_is_a_failure_that_names_them() {
    assert_eq!(
        probe(200, Some(&discovered(r#"["2031-01-01"]"#))),
        r#"Fail(NoCommonVersion(["2031-01-01"]))"#
    );
    let many = format!("[{}]", vec![format!("\"{}\"", "x".repeat(1_000)); 1_000].join(","));
    assert!(probe(200, Some(&discovered(&many))).len() < 500);
}

#[test]
fn what_any_server_might_answer_leads_to_the_handshake() {
    for (status, message) in [
        (200, Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
        (
            200,
            Some(r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":"2026-07-28"}}"#),
        ),
        (
            200,
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#),
        ),
        (
            200,
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#),
        ),
        (200, Some(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)),
        (200, Some("<html>")),
        (200, None),
        (202, None),
        (400, None),
        (400, Some("Bad Request: no valid session id")),
        (
            400,
            Some(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}"#),
        ),
        (
            400,
            Some(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"x"}}"#),
        ),
        (400, Some(&discovered(r#"["2026-07-28"]"#))),
        (
            404,
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#),
        ),
        (404, None),
        (405, None),
        (
            406,
            Some(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}"#),
        ),
        (415, None),
        (422, Some("[]")),
    ] {
        assert_eq!(probe(status, message), "Initialize", "{status} {message:?}");
    }
}

#[test]
fn an_outage_or_a_refusal_says_nothing_about_the_era() {
    let old = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"x","data":{"supported":["2025-11-25"]}}}"#;
    for message in [None, Some(old), Some("{}")] {
        assert_eq!(probe(401, message), "Fail(Unauthorized)");
        assert_eq!(probe(403, message), "Fail(Forbidden)");
        for status in [300, 307, 500, 502, 503] {
            assert_eq!(probe(status, message), format!("Fail(Status({status}))"));
        }
    }
    assert!(matches!(
        probe::read(Probed::Nothing, Revision::V2026_07_28),
        Next::Fail(Failure::NoAnswer)
    ));
}

#[test]
fn a_refused_version_leads_to_another_one_of_the_stateless_era_first() {
    let refused = |supported: &str, requested| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32022,"message":"x","data":{{"supported":{supported}}}}}}}"#
        );
        let reply = Probed::Reply {
            status: StatusCode::BAD_REQUEST,
            message: Some(&text),
        };
        show(probe::read(reply, requested))
    };
    let other = Revision::V2025_11_25;
    assert_eq!(
        refused(r#"["2025-11-25","2026-07-28"]"#, other),
        "RetryWithVersion(V2026_07_28)"
    );
    assert_eq!(
        refused(r#"["2026-07-28"]"#, Revision::V2026_07_28),
        "Fail(Refused(-32022))"
    );
    assert_eq!(
        refused(r#"["2031-01-01","2025-06-18"]"#, Revision::V2026_07_28),
        "Initialize"
    );
    assert_eq!(
        refused(r#"["2031-01-01"]"#, other),
        r#"Fail(NoCommonVersion(["2031-01-01"]))"#
    );
    assert_eq!(refused("[]", other), "Fail(NoCommonVersion([]))");
    assert_eq!(refused("null", other), "Fail(Refused(-32022))");
}

#[test]
fn a_modern_error_never_leads_to_the_handshake() {
    for code in [-32_020, -32_021] {
        for status in [200, 400, 404, 409] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"x","data":{{"supported":["2025-11-25"]}}}}}}"#
            );
            assert_eq!(probe(status, Some(&text)), format!("Fail(Refused({code}))"));
        }
    }
}

#[test]
fn an_unknown_method_is_modern_by_its_status_and_never_for_the_probe() {
    assert!(probe::is_modern("initialize", StatusCode::NOT_FOUND, -32_601));
    assert!(!probe::is_modern("server/discover", StatusCode::NOT_FOUND, -32_601));
    assert!(!probe::is_modern("initialize", StatusCode::OK, -32_601));
    for code in [-32_602, -32_600, -32_002, -32_001, -32_003, -32_004, 0] {
        assert!(!probe::is_modern("initialize", StatusCode::NOT_FOUND, code), "{code}");
    }
}

proptest! {
    #[test]
    fn the_era_is_guessed_from_nothing_but_answers_and_client_errors(status in 100_u16..1_000, body in prop::option::of(".{0,40}")) {
        let status = StatusCode::from_u16(status).unwrap();
        let next = probe::read(Probed::Reply { status, message: body.as_deref() }, Revision::V2026_07_28);
        if matches!(next, Next::Initialize) {
            prop_assert!(status.is_success() || status.is_client_error() && status != 401 && status != 403);
        }
    }

    #[test]
    fn neither_case_nor_parameters_of_a_media_type_matter(media in "(application/json|text/event-stream|text/html)", upper: bool, parameter in "( ?; ?[a-z]{1,5}=\"?[a-zA-Z0-9-]{1,5}\"?)?", status in 200_u16..600) {
        let written = format!("{}{parameter}", if upper { media.to_ascii_uppercase() } else { media.clone() });
        for sent in KINDS {
            prop_assert_eq!(judge_plain(sent, status, Some(&written)), judge_plain(sent, status, Some(&media)));
        }
    }
}

fn judge_plain(sent: Sent, status: u16, media: Option<&str>) -> Verdict {
    let media: Vec<_> = media.map(|media| ("content-type", media)).into_iter().collect();
    judge(sent, false, code(status), &headers(&media), 0)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

fn discovered(versions: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{}}}}}}"#
    )
}

fn probe(status: u16, message: Option<&str>) -> String {
    let reply = Probed::Reply {
        status: code(status),
        message,
    };
    show(probe::read(reply, Revision::V2026_07_28))
}

fn show(next: Next) -> String {
    match next {
        Next::Fail(Failure::Refused(error)) => format!("Fail(Refused({}))", error.code),
        Next::Fail(Failure::Status(status)) => format!("Fail(Status({}))", status.as_u16()),
        other => {
            if let Next::Stateless(revision) | Next::RetryWithVersion(revision) = &other {
                assert_eq!(revision.era(), Era::Stateless);
            }
            format!("{other:?}")
        }
    }
}
