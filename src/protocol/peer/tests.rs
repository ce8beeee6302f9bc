use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Side {
    peer: Peer<&'static str>,
    start: Instant,
}

impl Side {
    fn new() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "any instant will do as the zero of a simulated clock"
        )]
        let start = Instant::now();
        Self {
            peer: Peer::new(),
            start,
        }
    }

    fn call(&mut self, waiter: &'static str, key: u64, patience: Patience, at: Duration) {
        let request = Request {
            method: "tools/call",
            params: Params::new(),
            patience,
            key: Some(key),
            progress: ProgressUse::Report,
            mirror: Mirror::default(),
            may_ask: true,
            waiter,
        };
        self.peer.request(request, self.start + at);
    }

    fn respond(&mut self, ticket: u64, answer: Result<String, WireError>) -> Vec<String> {
        self.peer.respond(ticket, answer, self.start);
        self.actions()
    }

    fn hear(&mut self, text: &str) -> Vec<String> {
        self.peer.handle(text, self.start);
        self.actions()
    }

    fn tick(&mut self, at: Duration) -> Vec<String> {
        self.peer.handle_timeout(self.start + at);
        self.actions()
    }

    fn actions(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.peer.poll_action())
            .filter(|action| !matches!(action, Action::Abandon { .. }))
            .map(|action| match action {
                Action::Send(outgoing) => outgoing.text,
                Action::Abandon { id } => format!("abandon {id}"),
                Action::Settled {
                    waiter,
                    outcome: Outcome::Result(Answered { result, after_input }),
                } => format!("{waiter} {} {}", if after_input { "==" } else { "=" }, result.get()),
                Action::Settled {
                    waiter,
                    outcome: Outcome::Error(error),
                } => format!("{waiter} ! {}", error.code),
                Action::Settled {
                    waiter,
                    outcome: Outcome::TimedOut { waited },
                } => format!("{waiter} late {}", waited.as_secs()),
                Action::Settled {
                    waiter,
                    outcome: Outcome::TooLong { bytes },
                } => format!("{waiter} long {bytes}"),
                Action::Settled {
                    waiter,
                    outcome: Outcome::Failed(error),
                } => format!("{waiter} failed {error}"),
                Action::Settled {
                    waiter,
                    outcome: Outcome::Cancelled,
                } => format!("{waiter} cancelled"),
                Action::Progress { key, params } => format!("progress {key} {}", params.get()),
                Action::Asked(asked) => format!(
                    "asked {} {} {:?} {}",
                    asked.ticket,
                    asked.method,
                    asked.during,
                    asked.params.as_deref().map_or("", RawValue::get)
                ),
                Action::Withdrawn { ticket } => format!("withdrawn {ticket}"),
                Action::Notified { method, of: None, .. } => format!("notified {method}"),
                Action::Notified {
                    method, of: Some(key), ..
                } => format!("notified {method} of {key}"),
                Action::Violation(violation) => format!("{violation:?}"),
            })
            .collect()
    }
}

fn patience(seconds: u64) -> Patience {
    Patience {
        timeout: Timeout::after(SECOND * u32::try_from(seconds).unwrap()),
        reset_on_progress: true,
        max_total: Timeout::NONE,
    }
}

#[test]
fn answers_find_their_requests_in_any_order_and_once() {
    let mut side = Side::new();
    side.call("a", 10, patience(60), Duration::ZERO);
    side.call("b", 11, patience(60), Duration::ZERO);
    assert_eq!(side.actions().len(), 2);
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#),
        [r#"b = {"x":1}"#]
    );
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}"#),
        ["a ! -32602"]
    );
    assert!(
        side.hear(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#).is_empty(),
        "a second answer is ignored quietly"
    );
    assert_eq!(side.hear(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#), ["UnknownAnswer"]);
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#),
        ["UnknownAnswer"]
    );
    assert_eq!(
        (side.peer.pending(), side.peer.keys.len(), side.peer.deadlines.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_cancel_is_told_once_with_the_exact_id_and_its_answer_comes_to_nothing() {
    let mut side = Side::new();
    side.call("a", 10, patience(60), Duration::ZERO);
    side.actions();
    side.peer.cancel(10);
    side.peer.cancel(10);
    side.peer.cancel(99);
    assert_eq!(
        side.actions(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"the caller gave it up"}}"#,
            "a cancelled"
        ]
    );
    assert!(side.hear(r#"{"id":0,"result":{}}"#).is_empty());
}

#[test]
fn a_timeout_cancels_but_never_the_handshake() {
    let mut side = Side::new();
    side.call("a", 10, patience(2), Duration::ZERO);
    let request = Request {
        method: INITIALIZE,
        params: Params::new(),
        patience: Patience::flat(Timeout::after(SECOND)),
        key: None,
        progress: ProgressUse::None,
        mirror: Mirror::default(),
        may_ask: true,
        waiter: "handshake",
    };
    side.peer.request(request, side.start);
    side.actions();
    assert_eq!(side.peer.poll_timeout(), Some(side.start + SECOND));
    assert_eq!(side.tick(SECOND), ["handshake late 1"]);
    let late = side.tick(SECOND * 3);
    assert!(
        late[0].contains("notifications/cancelled") && late[0].contains("\"requestId\":0"),
        "{late:?}"
    );
    assert_eq!(late[1], "a late 3");
    assert_eq!(side.peer.poll_timeout(), None);
}

#[test]
fn progress_starts_the_time_anew_up_to_the_ceiling() {
    let mut side = Side::new();
    let limited = Patience {
        max_total: Timeout::after(SECOND * 5),
        ..patience(2)
    };
    side.call("a", 10, limited, Duration::ZERO);
    side.actions();
    let note = r#"{"method":"notifications/progress","params":{"progressToken":0,"progress":1,"message":"m"}}"#;
    side.peer.handle(note, side.start + SECOND);
    assert_eq!(
        side.actions(),
        [r#"progress 10 {"progressToken":0,"progress":1,"message":"m"}"#]
    );
    assert_eq!(side.peer.poll_timeout(), Some(side.start + SECOND * 3));
    side.peer.handle(note, side.start + SECOND * 4);
    assert_eq!(side.peer.poll_timeout(), Some(side.start + SECOND * 5));
}

#[test]
fn progress_without_reset_is_reported_and_changes_no_deadline() {
    let mut side = Side::new();
    side.call(
        "a",
        10,
        Patience {
            reset_on_progress: false,
            ..patience(2)
        },
        Duration::ZERO,
    );
    side.actions();
    side.peer.handle(
        r#"{"method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#,
        side.start + SECOND,
    );
    assert_eq!(side.actions().len(), 1);
    assert_eq!(side.peer.poll_timeout(), Some(side.start + SECOND * 2));
    for stray in [
        "{\"method\":\"notifications/progress\"}",
        r#"{"method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
        r#"{"method":"notifications/progress","params":{"progressToken":0}}"#,
        r#"{"method":"notifications/progress","params":{"progressToken":0,"progress":"half"}}"#,
    ] {
        assert!(side.hear(stray).is_empty());
    }
}

#[test]
fn ping_is_answered_and_other_requests_are_questions_with_an_answer_of_their_own() {
    let mut side = Side::new();
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","id":"p-1","method":"ping"}"#),
        [r#"{"jsonrpc":"2.0","id":"p-1","result":{}}"#]
    );
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
        ["asked 1 roots/list None "]
    );
    assert_eq!(
        side.hear(r#"{"id":"x","method":"a","params":{"b":1}}"#),
        [r#"asked 2 a None {"b":1}"#]
    );
    assert_eq!(
        side.respond(1, Err(WireError::new(-32601, "method not found"))),
        [r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found"}}"#]
    );
    assert!(side.respond(1, Ok("{}".to_owned())).is_empty());
    let cancelled = |id: &str| format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    assert!(side.hear(&cancelled("7")).is_empty());
    assert!(side.hear(&cancelled("[1]")).is_empty());
    assert_eq!(side.hear(&cancelled("\"x\"")), ["withdrawn 2"]);
    assert!(side.respond(2, Ok("{}".to_owned())).is_empty());
    assert_eq!(
        side.hear(r#"{"jsonrpc":"2.0","method":"anything"}"#),
        ["notified anything"]
    );
}

#[test]
fn more_questions_than_anybody_answers_are_refused() {
    let mut side = Side::new();
    for id in 0..limits::MAX_OPEN_QUESTIONS {
        assert!(side.hear(&format!(r#"{{"id":{id},"method":"a"}}"#))[0].starts_with("asked"));
    }
    assert!(side.hear(r#"{"id":"more","method":"a"}"#)[0].contains(r#""id":"more","error":{"code":-32603"#));
}

#[test]
fn noise_is_a_violation_and_nothing_else() {
    let mut side = Side::new();
    for (text, violation) in [
        ("ready", "NotJson"),
        ("123", "NotJson"),
        ("{}", "NotAMessage"),
        ("[]", "Batch"),
        ("[", "NotJson"),
    ] {
        assert_eq!(side.hear(text), [violation], "{text}");
    }
}

#[test]
fn arrays_are_taken_under_the_one_revision_that_has_them() {
    let mut side = Side::new();
    side.peer.set_revision(Revision::V2025_03_26);
    side.call("a", 10, patience(60), Duration::ZERO);
    side.actions();
    let heard = side.hear(r#" [{"id":0,"result":{}},{"id":5,"method":"ping"}]"#);
    assert_eq!(heard, ["a = {}", r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]);
}

#[test]
fn the_end_of_a_connection_hands_out_everybody_in_order() {
    let mut side = Side::new();
    for (key, name) in ["a", "b", "c"].into_iter().enumerate() {
        side.call(name, key as u64, patience(1), Duration::ZERO);
    }
    assert_eq!(side.peer.abandon(), ["a", "b", "c"]);
    assert_eq!(side.peer.poll_timeout(), None);
}

#[test]
fn a_message_that_is_too_long_costs_the_request_that_it_answers() {
    let mut side = Side::new();
    side.call("a", 10, patience(60), Duration::ZERO);
    side.actions();
    side.peer.handle_too_long(99, Some(0));
    assert_eq!(side.actions(), ["a long 99"]);
    side.peer.handle_too_long(99, Some(0));
    assert!(
        side.actions().is_empty(),
        "the second of two answers is ignored quietly"
    );
    side.peer.handle_too_long(99, None);
    side.peer.handle_too_long(99, Some(7));
    assert_eq!(side.actions(), ["TooLong", "TooLong"]);
}

#[test]
fn a_request_that_is_given_up_is_abandoned_and_one_that_cannot_be_carried_fails() {
    let mut side = Side::new();
    side.call("a", 10, patience(1), Duration::ZERO);
    side.call("b", 11, patience(60), Duration::ZERO);
    side.actions();
    side.peer.handle_timeout(side.start + SECOND);
    side.peer.cancel(11);
    let abandoned: Vec<_> = std::iter::from_fn(|| side.peer.poll_action())
        .filter_map(|action| match action {
            Action::Abandon { id } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(abandoned, [0, 1]);
    side.call("c", 12, patience(60), Duration::ZERO);
    side.actions();
    side.peer.handle_failure(2, Error::new(ErrorCode::HostBlocked, "no"));
    assert_eq!(side.actions(), ["c failed no"]);
}

#[test]
fn the_stateless_era_says_everything_with_each_request_and_answers_nothing() {
    let mut side = Side::new();
    side.peer
        .set_envelope(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#.to_owned());
    side.call("a", 10, patience(60), Duration::ZERO);
    let sent = side.actions();
    assert!(
        sent[0].contains(r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":2}"#),
        "{sent:?}"
    );
    assert_eq!(side.hear(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#), ["Request"]);
}

/// A side of the stateless era that has sent one call, under the id 2.
fn asking() -> Side {
    let mut side = Side::new();
    side.peer.set_envelope(r#""v":1"#.to_owned());
    side.call("a", 10, patience(5), Duration::ZERO);
    side.actions();
    side
}

const INPUT: &str = r#"{"id":2,"result":{"resultType":"input_required","requestState":"s\u00e9\/","inputRequests":{"one":{"method":"m","params":{"p":1}},"t\"wo":{"method":"n"}}}}"#;

#[test]
fn an_answer_that_asks_is_sent_again_with_every_answer_and_the_state_as_it_came() {
    let mut side = asking();
    assert_eq!(
        side.hear(INPUT),
        [r#"asked 1 m Some(10) {"p":1}"#, "asked 2 n Some(10) "]
    );
    // The same answer once more is the ordinary race.
    assert!(side.hear(INPUT).is_empty());
    assert!(side.respond(2, Ok("2".to_owned())).is_empty());
    assert_eq!(
        side.respond(1, Ok(r#"{"x":1}"#.to_owned())),
        [
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"inputResponses":{"t\"wo":2,"one":{"x":1}},"requestState":"s\u00e9\/","_meta":{"v":1,"progressToken":3}}}"#
        ]
    );
    // The answers of one round are not repeated in the next one.
    assert_eq!(
        side.hear(r#"{"id":3,"result":{"resultType":"input_required","requestState":"t"}}"#),
        [
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"requestState":"t","_meta":{"v":1,"progressToken":4}}}"#
        ]
    );
    assert!(side.hear(r#"{"id":2,"result":{}}"#).is_empty());
    assert_eq!(
        side.hear(r#"{"id":4,"result":{"resultType":"complete"}}"#),
        [r#"a == {"resultType":"complete"}"#]
    );
}

#[test]
fn what_is_asked_under_an_odd_key_is_answered_under_that_very_key_and_once() {
    let mut side = asking();
    let told = side.hear(
        r#"{"id":2,"result":{"resultType":"input_required","inputRequests":{"\ud800":{"method":"m"},"__proto__":{"method":"n"},"__proto__":{"method":"o"}}}}"#,
    );
    assert_eq!(told, ["asked 1 m Some(10) ", "asked 2 o Some(10) "]);
    side.respond(2, Ok("2".to_owned()));
    let sent = side.respond(1, Ok("1".to_owned()));
    assert!(
        sent[0].contains(r#""inputResponses":{"__proto__":2,"\ud800":1}"#),
        "{sent:?}"
    );
}

#[test]
fn more_questions_than_anybody_answers_at_once_are_not_even_put() {
    let mut side = asking();
    let requests: Vec<_> = (0..=limits::MAX_OPEN_QUESTIONS)
        .map(|n| format!(r#""{n}":{{"method":"m"}}"#))
        .collect();
    let told = side.hear(&format!(
        r#"{{"id":2,"result":{{"resultType":"input_required","inputRequests":{{{}}}}}}}"#,
        requests.join(",")
    ));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("a failed"), "{told:?}");
}

#[test]
fn what_is_asked_on_behalf_of_a_call_ends_with_it() {
    let mut side = asking();
    side.hear(INPUT);
    side.peer.cancel(10);
    assert_eq!(side.actions(), ["withdrawn 1", "withdrawn 2", "a cancelled"]);
    let mut side = asking();
    side.hear(INPUT);
    assert_eq!(side.tick(SECOND * 6), ["withdrawn 1", "withdrawn 2", "a late 6"]);
    let mut side = asking();
    side.hear(INPUT);
    let failed = side.respond(1, Err(WireError::internal("no")));
    assert_eq!(failed[0], "withdrawn 2");
    assert!(failed[1].contains("a failed") && failed[1].contains("no"), "{failed:?}");
    assert!(side.respond(2, Ok("1".to_owned())).is_empty());
}

#[test]
fn the_time_of_a_call_starts_anew_with_each_question_and_each_answer() {
    let mut side = asking();
    side.peer.handle(INPUT, side.start + SECOND * 4);
    side.actions();
    assert!(side.tick(SECOND * 8).is_empty());
    side.peer.respond(1, Ok("1".to_owned()), side.start + SECOND * 8);
    assert!(side.tick(SECOND * 8).is_empty(), "one of two answers is none");
    side.peer.respond(2, Ok("2".to_owned()), side.start + SECOND * 8);
    side.actions();
    assert!(side.tick(SECOND * 12).is_empty());
    let told = side.tick(SECOND * 13);
    assert!(
        told[0].contains(r#""requestId":3"#) && told[1] == "a late 13",
        "{told:?}"
    );
}

#[test]
fn questions_that_cannot_be_answered_fail_their_call() {
    for result in [
        r#"{"resultType":"input_required"}"#,
        r#"{"resultType":"input_required","requestState":3}"#,
        r#"{"resultType":"input_required","inputRequests":[]}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":1}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#,
        r#"{"resultType":"task"}"#,
        r#"{"resultType":7}"#,
    ] {
        let mut side = asking();
        let told = side.hear(&format!(r#"{{"id":2,"result":{result}}}"#));
        assert!(told.len() == 1 && told[0].starts_with("a failed"), "{result} {told:?}");
    }
    let mut side = asking();
    let told =
        side.hear(r#"{"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"m"},"b":3}}}"#);
    assert!(told.len() == 1 && told[0].starts_with("a failed"), "{told:?}");
}

#[test]
fn a_server_that_never_stops_asking_is_stopped() {
    let mut side = asking();
    for id in 2..2 + u64::from(limits::MAX_INPUT_ROUNDS) {
        let told = side.hear(&format!(
            r#"{{"id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#
        ));
        assert!(told[0].contains("tools/call"), "{told:?}");
    }
    let id = 2 + u64::from(limits::MAX_INPUT_ROUNDS);
    let told = side.hear(&format!(
        r#"{{"id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#
    ));
    assert!(told[0].starts_with("a failed"), "{told:?}");
}

#[test]
fn the_stateless_era_has_no_requests_of_the_other_side_and_no_questions_for_requests_that_take_none() {
    let mut side = asking();
    assert_eq!(side.hear(r#"{"id":9,"method":"ping"}"#), ["Request"]);
    let request = Request {
        method: "tools/list",
        params: Params::new(),
        patience: patience(5),
        key: None,
        progress: ProgressUse::None,
        mirror: Mirror::default(),
        may_ask: false,
        waiter: "list",
    };
    side.peer.request(request, side.start);
    side.actions();
    let told = side.hear(r#"{"id":3,"result":{"resultType":"input_required","requestState":"s"}}"#);
    assert!(told[0].starts_with("list failed"), "{told:?}");
}

#[test]
fn a_subscription_of_the_stateless_era_says_what_it_hears_and_ends_when_the_server_says_so() {
    let mut side = asking();
    let request = Request {
        method: LISTEN,
        params: Params::new(),
        patience: Patience::flat(Timeout::NONE),
        key: Some(77),
        progress: ProgressUse::None,
        mirror: Mirror::default(),
        may_ask: false,
        waiter: "listen",
    };
    side.peer.request(request, side.start);
    side.actions();
    let news = |id: &str| {
        format!(r#"{{"method":"news","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#)
    };
    assert_eq!(side.hear(&news("3")), ["notified news of 77"]);
    assert_eq!(side.hear(&news("\"3\"")), ["notified news of 77"]);
    for unknown in ["9", "-1", "null", "{}", "\"x\""] {
        assert_eq!(side.hear(&news(unknown)), ["notified news"], "{unknown}");
    }
    let cancelled = |id: u64| format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    assert!(
        side.hear(&cancelled(2)).is_empty(),
        "only a subscription is the server's to end"
    );
    assert_eq!(side.hear(&cancelled(3)), ["listen failed the server ended it"]);
    assert!(side.hear(&cancelled(3)).is_empty());
}
