//! Runs each fuzz target on its seeds, and shows that it finds a bug which was put in on purpose.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::http::{HeaderMap, StatusCode};
use proptest::prelude::*;

use crate::guard::origin::Verdict as Inbound;
use crate::json::comments::without_comments;
use crate::protocol::message::Message;
use crate::protocol::peer::{Action, Outcome, Peer};
use crate::protocol::request::{Incoming, Refusal, Request};
use crate::protocol::request_state::RequestState;
use crate::protocol::revision::Revision;
use crate::protocol::wire;
use crate::protocol::wire::http::probe::{self, Next, Probed};
use crate::protocol::wire::http::{Sent, Verdict};
use crate::protocol::wire::lines::{Line, Lines};
use crate::protocol::wire::sse::{SseDecoder, SseItem};

#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;

use targets::{canonical, comments, http, inbound, lines, message, param_header, peer, request, sealed, sse};

#[test]
fn the_seeds_pass() {
    each_seed("canonical", |data| canonical::run(data, canonical::ours));
    each_seed("comments", |data| comments::run(data, without_comments));
    each_seed("http", http::run::<http::Ours>);
    each_seed("inbound", |data| inbound::run(data, inbound::ours));
    each_seed("lines", lines::run::<Lines>);
    each_seed("message", |data| message::run(data, message::render));
    each_seed("param_header", |data| {
        param_header::run(data, |text| wire::param_header::encode(text).into_owned());
    });
    each_seed("peer", peer::run::<Peer<u64>>);
    each_seed("request", |data| request::run(data, crate::protocol::request::read));
    each_seed("sealed", |data| sealed::run(data, RequestState::open));
    each_seed("sse", sse::run::<SseDecoder>);
}

proptest! {
    #[test]
    fn any_script_passes(script in "(([+@^-][0-9]{1,3}( [0-9]{1,3}( [rpq]{0,2})?)?|!|\\{\"id\":[0-9],\"result\":1\\}|\\{\"method\":\"notifications/progress\",\"params\":\\{\"progressToken\":[0-9]\\}\\}|.{0,8})\n){0,40}") {
        peer::run::<Peer<u64>>(script.as_bytes());
    }

    #[test]
    fn any_annotations_pass(names in prop::collection::vec("[a-c]|.{0,3}", 0..4), kind in "string|integer|boolean|number", values in prop::collection::vec("\"[^\"\\\\]{0,6}\"|-?[1-9][0-9]{0,17}(\\.[0-9]{1,2})?(e[0-9]{1,2})?|true|null|\\[\\]", 0..4)) {
        let properties = names.iter().enumerate().map(|(n, name)| (n.to_string(), serde_json::json!({ "type": kind, "x-mcp-header": name })));
        let schema = serde_json::json!({ "properties": properties.collect::<serde_json::Map<_, _>>() });
        let arguments: Vec<_> = values.iter().enumerate().map(|(n, value)| format!("\"{n}\":{value}")).collect();
        let data = format!("{schema}\n\n{{{}}}", arguments.join(","));
        param_header::run(data.as_bytes(), |text| wire::param_header::encode(text).into_owned());
    }

    #[test]
    fn any_commented_text_passes(text in "(//|/\\*|\\*/|[,\\[\\]{}\"\\\\/*\n\ré😀a1 ]){0,40}") {
        comments::run(text.as_bytes(), without_comments);
    }

    #[test]
    fn any_reply_passes(head in "[rnold][s-](200|202|204|30[1-8]|40[0-9]|429|50[0-4]|[1-9][0-9]{2})", headers in prop::collection::vec("(Content-Type|Retry-After|Location|Mcp-Session-Id|Allow): ?([ -~]{0,12}|application/json|text/event-stream|[0-9]{0,3})", 0..4), body in "[{](\"(jsonrpc|id|result|error)\":(\"2.0\"|1|[{]\"supportedVersions\":[\\[]\"202[56]-(07-28|11-25)\"\\][}]|[{]\"code\":-3202[0-3][}])[,}]?){0,4}|.{0,30}") {
        http::run::<http::Ours>(format!("{head}\n{}\n\n{body}", headers.join("\n")).as_bytes());
    }

    #[test]
    fn any_json_passes(text in "[\\[{](\"(a|\\\\u0061|b|\u{e000}|\u{10000}|type|properties)\":)?(([\\[{](\"[ab]\":)?){0,3}(1|-0|1e400|\"object\"|\"\\\\ud800\"|null)?[\\]}]{0,3},?(\"(a|b|\u{ffff}|required)\":)?){0,5}[\\]}]{0,2}") {
        canonical::run(text.as_bytes(), canonical::ours);
    }

    #[test]
    fn any_event_stream_passes(limit in prop_oneof![0_u8..20, Just(255)], seed: u8, stream in event_stream()) {
        sse::run::<SseDecoder>(&[&[limit, seed], &stream[..]].concat());
    }

    #[test]
    fn any_call_passes(depth in 1_u8..6, text in "[\\[{](\"(jsonrpc|id|method|params|result|error)\":(\"2.0\"|\"a\"|\"\\\\u0061\"|1|-1\\.50e1|null|[{][}]|\\[\\[1\\]\\])[,}]?([,\\]][{]?)?){0,6}\\]?|.{0,40}") {
        request::run(&[&[depth], text.as_bytes()].concat(), crate::protocol::request::read);
    }

    #[test]
    fn any_text_passes(text in "\\{?(\"(id|method|params|result|error)\":(1|\"a\"|null|\\{\\}|\\[1\\])[,}]?){0,5}|.{0,40}") {
        message::run(text.as_bytes(), message::render);
    }
}

#[test]
fn the_comments_target_finds_a_comment_that_is_seen_within_a_string() {
    let anywhere = |text: &str| match text.split_once("//") {
        Some((before, comment)) => format!("{before}{}", " ".repeat(comment.len() + 2)),
        None => text.to_owned(),
    };
    assert!(finds("comments", |data| comments::run(data, anywhere)));
}

#[test]
fn the_lines_target_finds_text_that_is_decoded_per_chunk() {
    assert!(finds("lines", lines::run::<DecodesPerChunk>));
}

#[test]
fn the_canonical_target_finds_keys_in_the_order_of_their_bytes() {
    let by_bytes = |text: &str| {
        canonical::ours(text)?;
        let tree: serde_json::Value = serde_json::from_str(text).ok()?;
        let sorted = tree.as_object().map(|members| {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_bytes());
            members.into_iter().collect::<std::collections::BTreeMap<_, _>>()
        });
        serde_json::to_string(&sorted?).ok()
    };
    assert!(finds("canonical", |data| canonical::run(data, |text| by_bytes(text)
        .or_else(|| canonical::ours(text)))));
}

#[test]
fn the_canonical_target_finds_a_repeated_member_that_is_kept() {
    let white_space_alone = |text: &str| {
        canonical::ours(text)?;
        Some(text.replace([' ', '\n', '\t'], ""))
    };
    assert!(finds("canonical", |data| canonical::run(data, white_space_alone)));
}

#[test]
fn the_inbound_target_finds_a_name_that_only_begins_well() {
    let by_its_beginning: inbound::Judge = |listed, hosts, authority| {
        let verdict = inbound::ours(listed, hosts, authority)?;
        let begins = |host: &&[u8]| listed.iter().any(|entry| host.starts_with(entry.as_bytes()));
        let is_let_in = verdict == Inbound::Refused && hosts.iter().all(begins);
        Some(if is_let_in { Inbound::Allowed } else { verdict })
    };
    assert!(finds("inbound", |data| inbound::run(data, by_its_beginning)));
}

#[test]
fn the_sealed_target_finds_a_state_that_never_ends() {
    let for_ever: sealed::Open = |text, secret, origin, _| RequestState::open(text, secret, origin, 0);
    assert!(finds("sealed", |data| sealed::run(data, for_ever)));
}

#[test]
fn the_message_target_finds_a_method_that_is_not_quoted() {
    let unquoted = |message: &Message<'_>| match message {
        Message::Notification { method, .. } => format!("{{\"method\":\"{method}\"}}"),
        _ => message::render(message),
    };
    assert!(finds("message", |data| message::run(data, unquoted)));
}

#[test]
fn the_param_header_target_finds_a_value_that_is_not_wrapped() {
    let only_where_a_header_is_refused = |text: &str| match ::http::HeaderValue::from_str(text) {
        Ok(_) => text.to_owned(),
        Err(_) => wire::param_header::encode(text).into_owned(),
    };
    assert!(finds("param_header", |data| param_header::run(
        data,
        only_where_a_header_is_refused
    )));
}

#[test]
fn the_peer_target_finds_a_waiter_that_is_forgotten() {
    assert!(finds("peer", peer::run::<ForgetsTheCancelled>));
}

#[test]
fn the_http_target_finds_media_types_that_are_compared_as_text() {
    assert!(finds("http", http::run::<ComparesText>));
}

#[test]
fn the_http_target_finds_an_outage_that_is_taken_for_an_old_server() {
    assert!(finds("http", http::run::<FallsBackOnOutages>));
}

#[test]
fn the_request_target_finds_an_id_that_is_not_looked_at() {
    fn forgives_ids(text: &str, max_depth: usize) -> Result<Incoming<'_>, Refusal<'_>> {
        match (crate::protocol::request::read(text, max_depth), Message::parse(text)) {
            (Err(_), Ok(Message::Request { id, method, params })) => {
                Ok(Incoming::Request(Request::new(id, method, params)))
            }
            (read, _) => read,
        }
    }
    assert!(finds("request", |data| request::run(data, forgives_ids)));
}

#[test]
fn the_sse_target_finds_a_line_end_that_is_torn_apart() {
    assert!(finds("sse", sse::run::<TakesLineEndsAsTheyCome>));
}

#[test]
fn the_sse_target_finds_an_event_that_waits_for_a_line_feed() {
    assert!(finds("sse", sse::run::<KnowsNoCarriageReturn>));
}

/// Bytes in which what matters to an event stream is frequent.
fn event_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => Just("\n".to_owned().into_bytes()),
        3 => Just("\r".to_owned().into_bytes()),
        3 => Just("\r\n".to_owned().into_bytes()),
        8 => "(data|id|event|retry|dat|data2|Data)?:? ?[a-z0-9é: ]{0,6}".prop_map(String::into_bytes),
        1 => Just("\u{feff}".to_owned().into_bytes()),
        1 => Just(b"id:\0".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Looks at each piece by itself, and so breaks the characters that two pieces share.
struct DecodesPerChunk(Lines);

impl lines::Splitter for DecodesPerChunk {
    fn new(max_bytes: usize) -> Self {
        Self(Lines::new(max_bytes))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.0.push(String::from_utf8_lossy(bytes).as_bytes());
    }

    fn pop(&mut self) -> Option<Line> {
        self.0.pop()
    }

    fn finish(&mut self) -> Option<Line> {
        self.0.finish()
    }
}

struct ComparesText;

impl http::Rules for ComparesText {
    fn judge(sent: Sent, names_session: bool, status: StatusCode, headers: &HeaderMap, now: u64) -> Verdict {
        match headers.get("content-type") {
            Some(media) if status.is_success() && media == "text/event-stream" => Verdict::EventStream,
            Some(_) if status.is_success() => Verdict::NotMcp(None),
            _ => wire::http::judge(sent, names_session, status, headers, now),
        }
    }
}

struct FallsBackOnOutages;

impl http::Rules for FallsBackOnOutages {
    fn read_probe(probed: Probed<'_>, requested: Revision) -> Next {
        match probe::read(probed, requested) {
            Next::Fail(_) => Next::Initialize,
            next => next,
        }
    }
}

/// Takes a line feed at the beginning of a piece for a line end of its own.
struct TakesLineEndsAsTheyCome(SseDecoder);

impl sse::Decoder for TakesLineEndsAsTheyCome {
    fn new(max_bytes: usize) -> Self {
        Self(SseDecoder::new(max_bytes))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.0
            .push(String::from_utf8_lossy(bytes).replace('\r', "\n").as_bytes());
    }

    fn pop(&mut self) -> Option<SseItem> {
        self.0.pop()
    }
}

/// Ends lines at a line feed alone.
struct KnowsNoCarriageReturn(SseDecoder);

impl sse::Decoder for KnowsNoCarriageReturn {
    fn new(max_bytes: usize) -> Self {
        Self(SseDecoder::new(max_bytes))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.0.push(String::from_utf8_lossy(bytes).replace('\r', "").as_bytes());
    }

    fn pop(&mut self) -> Option<SseItem> {
        self.0.pop()
    }
}

struct ForgetsTheCancelled(Peer<u64>);

impl peer::Subject for ForgetsTheCancelled {
    fn new() -> Self {
        Self(Peer::new())
    }

    fn peer(&mut self) -> &mut Peer<u64> {
        &mut self.0
    }

    fn poll_action(&mut self) -> Option<Action<u64>> {
        self.0.poll_action().filter(|action| {
            !matches!(
                action,
                Action::Settled {
                    outcome: Outcome::Cancelled,
                    ..
                }
            )
        })
    }
}

/// Whether a broken subject fails on some seed.
fn finds(target: &str, run: impl Fn(&[u8])) -> bool {
    let mut found = false;
    each_seed(target, |data| {
        found |= catch_unwind(AssertUnwindSafe(|| run(data))).is_err();
    });
    found
}

fn each_seed(target: &str, mut run: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        // A fuzzer leaves its own finds beside the seeds.
        if entry.file_name().to_string_lossy().starts_with("seed-") {
            run(&fs::read(entry.path()).unwrap());
            seeds += 1;
        }
    }
    assert!(seeds > 1, "{target} has {seeds} seeds");
}
