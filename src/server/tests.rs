//! A server with a program of the test's own behind it, spoken to in text.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::connection::{Connection, Identity, Outbox, Weight};
use super::dispatch::{Accepted, Pending};
use super::lifecycle::{Offer, Server};
use super::options::Options;
use super::slots::Slots;
use super::testing::Program;
use crate::guard::server_limits::ServerLimits;
use crate::host::Change;
use crate::host::server::{Abort, Application, Content, ContentData, Inquiry, InquiryMethod, Job, JobKind, Performed};
use crate::json::Object;
use crate::limits;
use crate::protocol::request_state::Secret;
use crate::transport::clock::SystemClock;

#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Letter>>>);

/// What it is about, and its text.
type Letter = (Option<String>, String);

impl Outbox for Sent {
    fn send(&self, about: Option<&str>, text: String, _weight: Weight) {
        self.0.lock().unwrap().push((about.map(ToOwned::to_owned), text));
    }
}

struct Stage {
    program: Arc<Program>,
    server: Arc<Server>,
    connection: Arc<Connection>,
    sent: Sent,
    limits: ServerLimits,
}

impl Stage {
    fn new() -> Self {
        Self::with("{}", ServerLimits::default(), true)
    }

    fn with(options: &str, limits: ServerLimits, is_local: bool) -> Self {
        let program = Arc::new(Program::default());
        let secret = Secret::new(&[7; 32]).unwrap();
        let application: Arc<dyn Application> = Arc::<Program>::clone(&program);
        let server = Server::new(
            Options::parse(options).unwrap(),
            secret,
            application,
            Arc::new(SystemClock),
        )
        .unwrap();
        server.set_offer(Offer {
            has_resources: true,
            has_prompts: true,
            has_completions: true,
            runtime: Some(1),
        });
        let server = Arc::new(server);
        let sent = Sent::default();
        let slots = Slots::new(limits.max_concurrent_requests, limits.max_queued_requests);
        let connection = server.connect(
            Identity::default(),
            is_local,
            Arc::new(slots),
            Box::new(sent.clone()),
            None,
        );
        Self {
            program,
            server,
            connection,
            sent,
            limits,
        }
    }

    fn accept(&self, text: &str) -> Accepted {
        self.server.accept(&self.connection, &self.limits, text)
    }

    /// What is answered at once.
    fn now(&self, text: &str) -> String {
        match self.accept(text) {
            Accepted::Now(answer) => answer.text,
            Accepted::Nothing => panic!("no answer to {text}"),
            Accepted::Later(_) => panic!("a late answer to {text}"),
        }
    }

    fn later(&self, text: &str) -> Pending {
        match self.accept(text) {
            Accepted::Later(pending) => pending,
            Accepted::Now(answer) => panic!("answered at once: {}", answer.text),
            Accepted::Nothing => panic!("no answer to {text}"),
        }
    }

    /// An answer, while the program does what it is asked.
    async fn ask(&self, text: &str, perform: impl Fn(&Job) -> Performed) -> String {
        let pending = self.later(text);
        self.drive(pending, perform).await.unwrap()
    }

    async fn drive(&self, mut pending: Pending, perform: impl Fn(&Job) -> Performed) -> Option<String> {
        for _ in 0..100 {
            if let std::task::Poll::Ready(answer) = futures_util::poll!(&mut pending) {
                return answer.map(|answer| answer.text);
            }
            while let Some(job) = self.job() {
                let performed = perform(&job);
                self.server.settle(job.id, performed);
            }
            tokio::task::yield_now().await;
        }
        panic!("it does not come to its end")
    }

    fn job(&self) -> Option<Job> {
        self.program.jobs.lock().unwrap().pop_front()
    }

    fn initialize(&self, version: &str) -> String {
        let answer = self.now(&format!(
            r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
        ));
        assert!(matches!(
            self.accept(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Accepted::Nothing
        ));
        answer
    }

    fn sent(&self) -> Vec<Letter> {
        std::mem::take(&mut self.sent.0.lock().unwrap())
    }
}

const TOOLS: &str = r#"[{"tool":{"name":"echo","description":"d","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},"source":"projected","validate":"shallow"}]"#;

fn shared(text: &str) -> Performed {
    Performed::Value {
        text: text.to_owned(),
        is_shared: true,
    }
}

fn echo(job: &Job) -> Performed {
    match job.kind {
        JobKind::ListTools => shared(TOOLS),
        JobKind::Call => Performed::Value {
            text: job.text.clone(),
            is_shared: false,
        },
        _ => Performed::Nothing,
    }
}

/// A request of the stateless era.
fn stateless(id: u64, method: &str, params: &str) -> String {
    let separator = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{separator}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
    )
}

#[tokio::test]
async fn what_the_hook_named_is_kept_until_its_request_is_over() {
    let stage = Stage::with(r#"{"hasHook":true}"#, ServerLimits::default(), true);
    let call = stateless(1, "tools/call", r#""name":"echo","arguments":{"text":"a"}"#);
    let kept = |job: &Job| {
        assert!(stage.program.released.lock().unwrap().is_empty());
        if job.kind == JobKind::Resolve {
            return Performed::Runtime(7);
        }
        assert_eq!(job.runtime, Some(7));
        echo(job)
    };
    stage.ask(&call, kept).await;
    assert_eq!(stage.program.released.lock().unwrap().len(), 1);

    // The request is gone before the hook has answered.
    let mut pending = stage.later(&call);
    assert!(futures_util::poll!(&mut pending).is_pending());
    let job = stage.job().unwrap();
    drop(pending);
    stage.server.settle(job.id, Performed::Runtime(8));
    assert_eq!(stage.program.released.lock().unwrap().last(), Some(&job.id));
}

#[tokio::test]
async fn where_tenants_have_limits_the_program_is_handed_jobs_in_turns() {
    let limits = ServerLimits {
        max_concurrent_requests: 200,
        ..ServerLimits::default()
    };
    let stage = Stage::with(r#"{"tenantLimits":{}}"#, limits, true);
    let list = stateless(0, "tools/list", "");
    stage.ask(&list, echo).await;
    stage.server.jobs().turned();
    let more = limits::JOBS_PER_TURN + 10;
    let mut calls: Vec<_> = (1..)
        .take(more)
        .map(|id| {
            stage.later(&stateless(
                id,
                "tools/call",
                r#""name":"echo","arguments":{"text":"a"}"#,
            ))
        })
        .collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call).is_pending());
    }
    let handed = || std::mem::take(&mut *stage.program.jobs.lock().unwrap());
    assert_eq!(handed().len(), limits::JOBS_PER_TURN);
    // Whoever gives up before its turn has asked nothing of the program.
    drop(calls.pop());
    assert!(stage.program.abandoned.lock().unwrap().is_empty());
    assert_eq!(stage.server.jobs().len(), more - 1);
    stage.server.jobs().turned();
    assert_eq!(handed().len(), 9);
    stage.server.jobs().turned();
    assert!(handed().is_empty());
}

#[tokio::test]
async fn a_list_is_asked_for_once_and_then_at_hand_until_it_is_invalidated() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let first = stage.ask(list, echo).await;
    assert!(
        first.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"d","#),
        "{first}"
    );
    assert_eq!(stage.now(list), first);
    assert!(
        stage
            .now(&stateless(1, "tools/list", ""))
            .contains(r#""ttlMs":0,"cacheScope":"private","resultType":"complete""#)
    );

    stage.server.changed(Change::Tools, None, Duration::ZERO);
    assert_eq!(stage.ask(list, echo).await, first);
}

#[tokio::test]
async fn a_call_is_checked_and_answered_in_the_words_of_its_era() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        )
    };
    assert_eq!(
        stage.ask(&call(r#"{"text":"x"}"#), echo).await,
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"text\":\"x\"}"}],"structuredContent":{"text":"x"}}}"#
    );
    let answer = stage
        .ask(
            &stateless(3, "tools/call", r#""name":"echo","arguments":{"text":"x"}"#),
            echo,
        )
        .await;
    assert!(
        answer.contains(r#""resultType":"complete""#) && answer.contains("serverInfo"),
        "{answer}"
    );
    for (arguments, code) in [("[]", "-32602"), ("\"x\"", "-32602"), ("1", "-32602")] {
        let answer = stage.ask(&call(arguments), echo).await;
        assert!(answer.contains(code), "{answer}");
    }
    let unknown = stage
        .ask(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"__proto__"}}"#,
            echo,
        )
        .await;
    assert!(
        unknown.contains("-32602") && unknown.contains("Unknown tool"),
        "{unknown}"
    );
}

#[tokio::test]
async fn what_is_thrown_is_for_local_eyes() {
    let thrown = |job: &Job| match job.kind {
        JobKind::ListTools => shared(TOOLS),
        _ => Performed::Thrown {
            message: "hunter2".to_owned(),
            reference: "ABCDEFGHIJKL".to_owned(),
        },
    };
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#;
    let read = r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"a:b"}}"#;
    for (is_local, expected) in [(true, "hunter2"), (false, "Tool failed (ref ABCDEFGHIJKL)")] {
        let stage = Stage::with("{}", ServerLimits::default(), is_local);
        stage.initialize("2025-11-25");
        let answer = stage.ask(call, thrown).await;
        assert!(
            answer.contains(expected) && answer.contains(r#""isError":true"#),
            "{answer}"
        );
        let answer = stage.ask(read, thrown).await;
        assert!(
            answer.contains("-32603") && answer.contains("Internal error (ref ABCDEFGHIJKL)"),
            "{answer}"
        );
        assert!(!answer.contains("hunter2"), "{answer}");
    }
}

#[tokio::test]
async fn an_id_in_flight_is_refused_and_the_first_is_not_disturbed() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#;
    let first = stage.later(list);
    assert!(stage.now(list).contains("-32600"));
    assert!(
        stage
            .now(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)
            .contains("-32600")
    );
    assert!(
        stage
            .now(r#"{"jsonrpc":"2.0","id":"5","method":"ping"}"#)
            .contains("\"result\":{}")
    );
    let answer = stage.drive(first, |_| shared("[]")).await.unwrap();
    assert!(answer.contains(r#""prompts":[]"#), "{answer}");
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer_and_its_job_is_given_up() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let mut pending = stage.later(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list"}"#);
    assert!(futures_util::poll!(&mut pending).is_pending());
    let job = stage.job().unwrap();
    stage.accept(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    assert!(pending.await.is_none());
    assert_eq!(*stage.program.abandoned.lock().unwrap(), [(job.id, Abort::Cancelled)]);
    // It ignores that, and keeps its slot until it is done.
    assert_eq!(stage.connection.slots.running(), 1);
    stage.server.settle(job.id, Performed::Nothing);
    assert_eq!(stage.connection.slots.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_but_not_while_the_client_is_asked() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let mut pending = stage
        .later(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#);
    assert!(futures_util::poll!(&mut pending).is_pending());
    stage.server.settle(stage.job().unwrap().id, shared(TOOLS));
    assert!(futures_util::poll!(&mut pending).is_pending());
    let job = stage.job().unwrap();
    stage.server.ask(job.id, vec![inquiry(1, "k")]);
    let (about, question) = stage.sent().pop().unwrap();
    assert_eq!(about.as_deref(), Some("7"));
    assert!(
        question.contains(r#""id":1,"method":"elicitation/create","params":{"message":"?"}"#),
        "{question}"
    );
    tokio::time::advance(Duration::from_secs(600)).await;
    assert!(futures_util::poll!(&mut pending).is_pending());
    stage.accept(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#);
    let answered = std::mem::take(&mut *stage.program.answered.lock().unwrap());
    assert!(matches!(&answered[..], [(1, Ok(text))] if text == r#"{"action":"accept"}"#));
    let answer = pending.await.unwrap().text;
    assert!(
        answer.contains("-32001") && answer.contains("Request timed out"),
        "{answer}"
    );
    assert_eq!(*stage.program.abandoned.lock().unwrap(), [(job.id, Abort::Timeout)]);
}

fn inquiry(id: u64, key: &str) -> Inquiry {
    Inquiry {
        id,
        key: key.to_owned(),
        method: InquiryMethod::Elicit,
        params: r#"{"message":"?"}"#.to_owned(),
    }
}

#[tokio::test]
async fn in_the_stateless_era_questions_end_the_run_and_answers_begin_it_anew() {
    let stage = Stage::new();
    let call = |more: &str| {
        stateless(
            1,
            "tools/call",
            &format!(r#""name":"echo","arguments":{{"text":"x"}}{more}"#),
        )
    };
    let mut pending = stage.later(&call(""));
    assert!(futures_util::poll!(&mut pending).is_pending());
    stage.server.settle(stage.job().unwrap().id, shared(TOOLS));
    assert!(futures_util::poll!(&mut pending).is_pending());
    let job = stage.job().unwrap();
    assert_eq!(job.answers.as_deref(), Some("{}"));
    stage.server.ask(job.id, vec![inquiry(1, "a"), inquiry(2, "b")]);
    let asked = pending.await.unwrap().text;
    assert_eq!(*stage.program.abandoned.lock().unwrap(), [(job.id, Abort::Asked)]);
    assert_eq!(stage.connection.slots.running(), 0);
    let result = Object::parse(&asked).unwrap().object("result").unwrap();
    assert_eq!(result.string("resultType").unwrap(), "input_required");
    assert_eq!(
        result.get("inputRequests").unwrap().get(),
        r#"{"a":{"method":"elicitation/create","params":{"message":"?"}},"b":{"method":"elicitation/create","params":{"message":"?"}}}"#
    );
    let sealed = result.string("requestState").unwrap().into_owned();

    let answers = r#""inputResponses":{"a":{"action":"accept"},"b":{"action":"decline"},"other":{}}"#;
    let again = call(&format!(r#",{answers},"requestState":"{sealed}""#));
    let answer = stage
        .ask(&again, |job| {
            assert_eq!(
                job.answers.as_deref(),
                Some(r#"{"a":{"action":"accept"},"b":{"action":"decline"}}"#)
            );
            echo(job)
        })
        .await;
    assert!(answer.contains(r#""resultType":"complete""#), "{answer}");

    for wrong in [
        call(&format!(r#",{answers},"requestState":"x{sealed}""#)),
        call(&format!(r#",{answers},"requestState":"{sealed}""#)).replace(r#""text":"x""#, r#""text":"y""#),
        call(r#","inputResponses":[]"#),
        call(r#","requestState":1"#),
    ] {
        let answer = stage.ask(&wrong, echo).await;
        assert!(answer.contains("-32602"), "{answer}");
    }
}

#[tokio::test]
async fn who_comes_on_top_is_told_that_the_server_is_busy() {
    let limits = ServerLimits {
        max_concurrent_requests: 1,
        max_queued_requests: 1,
        ..ServerLimits::default()
    };
    let stage = Stage::with("{}", limits, true);
    stage.initialize("2025-11-25");
    let list = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/list"}}"#);
    let mut first = stage.later(&list(1));
    let mut second = stage.later(&list(2));
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    let third = stage.later(&list(3)).await.unwrap().text;
    assert!(third.contains("-32000") && third.contains("Server busy"), "{third}");
    let fourth = stage.later(&stateless(4, "prompts/list", "")).await.unwrap().text;
    assert!(
        fourth.contains("-32603") && fourth.contains(r#""data":{"reason":"busy"}"#),
        "{fourth}"
    );
    assert!(stage.drive(first, |_| shared("[]")).await.is_some());
    assert!(stage.drive(second, |_| shared("[]")).await.is_some());
}

#[tokio::test]
async fn changes_are_told_to_whom_they_concern() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let listen = stateless(
        9,
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}"#,
    );
    let mut listening = stage.later(&listen);
    assert!(futures_util::poll!(&mut listening).is_pending());
    assert_eq!(
        stage.sent(),
        [(
            Some("9".to_owned()),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#.to_owned()
        )]
    );
    stage.server.changed(Change::Tools, None, Duration::ZERO);
    stage.server.changed(Change::Tools, None, Duration::ZERO);
    stage.server.changed(Change::Prompts, None, Duration::ZERO);
    while stage.sent.0.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    let sent: Vec<_> = stage.sent().into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        sent,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
        ]
    );
    stage.accept(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#);
    assert!(listening.await.is_none());
    assert_eq!(stage.connection.listeners(), 0);
}

#[tokio::test]
async fn resources_are_read_and_what_is_unknown_has_the_code_of_its_era() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    stage.server.add_template("a:{x}").unwrap();
    let read = |job: &Job| match job.name.as_str() {
        "a:b" => Performed::Contents(vec![Content {
            uri: "a:b".to_owned(),
            mime_type: None,
            data: ContentData::Text("t".to_owned()),
            meta: None,
        }]),
        _ => Performed::Nothing,
    };
    let answer = stage
        .ask(
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}"#,
            read,
        )
        .await;
    assert!(
        answer.ends_with(r#""result":{"contents":[{"uri":"a:b","text":"t"}]}}"#),
        "{answer}"
    );
    let unknown = stage
        .ask(
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:c"}}"#,
            read,
        )
        .await;
    assert!(
        unknown.contains("-32002") && unknown.contains(r#""data":{"uri":"a:c"}"#),
        "{unknown}"
    );
    let unknown = stage.ask(&stateless(2, "resources/read", r#""uri":"a:c""#), read).await;
    assert!(unknown.contains("-32602"), "{unknown}");
}

#[tokio::test]
async fn the_handshake_settles_on_a_revision() {
    for (offered, settled) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let stage = Stage::with(
            r#"{"name":"n","version":"1","instructions":"hi"}"#,
            ServerLimits::default(),
            true,
        );
        let answer = stage.initialize(offered);
        assert!(
            answer.contains(&format!(r#""protocolVersion":"{settled}""#)),
            "{answer}"
        );
        assert!(
            answer.contains(r#""serverInfo":{"name":"n","version":"1"},"instructions":"hi""#),
            "{answer}"
        );
        let again = stage.now(
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
        );
        assert!(again.contains("-32600"), "{again}");
    }
    let stage = Stage::new();
    let discovered = stage.now(&stateless(1, "server/discover", ""));
    assert!(
        discovered.contains(r#""supportedVersions":["2026-07-28"]"#),
        "{discovered}"
    );
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "nothing",
    ] {
        let answer = stage.now(&stateless(1, method, ""));
        assert!(answer.contains("-32601"), "{answer}");
    }
}

#[tokio::test]
async fn a_batch_is_taken_where_the_version_has_them() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"method":"prompts/list"}]"#;
    let stage = Stage::new();
    stage.initialize("2025-03-26");
    assert_eq!(
        stage.ask(batch, |_| shared("[]")).await,
        r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{"prompts":[]}}]"#
    );
    let stage = Stage::new();
    stage.initialize("2025-06-18");
    assert!(stage.now(batch).contains("-32600"));
}

#[tokio::test]
async fn pages_have_cursors_that_nobody_can_make_up() {
    let stage = Stage::with(r#"{"pageSize":2}"#, ServerLimits::default(), true);
    stage.initialize("2025-11-25");
    let three = |_: &Job| shared(r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#);
    let first = stage
        .ask(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, three)
        .await;
    assert!(first.contains(r#"[{"name":"a"},{"name":"b"}]"#), "{first}");
    let cursor = Object::parse(&first)
        .and_then(|answer| answer.object("result"))
        .and_then(|result| result.string("nextCursor"))
        .unwrap()
        .into_owned();
    let page =
        |cursor: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{{"cursor":{cursor}}}}}"#);
    let second = stage.now(&page(&format!("\"{cursor}\"")));
    assert!(
        second.contains(r#"[{"name":"c"}]"#) && !second.contains("nextCursor"),
        "{second}"
    );
    for wrong in ["\"\"", "1", "\"AQAAAAAAAAAC\"", &format!("\"{cursor}A\"")] {
        assert!(stage.now(&page(wrong)).contains("-32602"), "{wrong}");
    }
    let other = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{{"cursor":"{cursor}"}}}}"#);
    assert!(stage.now(&other).contains("-32602"));
}

#[tokio::test]
async fn progress_grows_and_logs_are_wanted() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let mut pending = stage.later(
        r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"p","_meta":{"progressToken":"t"}}}"#,
    );
    assert!(futures_util::poll!(&mut pending).is_pending());
    let job = stage.job().unwrap().id;
    stage.server.progress(job, 1.0, Some(2.0), Some("m"));
    stage.server.progress(job, 1.0, None, None);
    stage.server.progress(job, f64::NAN, None, None);
    stage.now(r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"error"}}"#);
    stage.server.log(job, "error", "1").unwrap();
    assert!(stage.server.log(job, "loud", "1").is_err());
    let sent: Vec<_> = stage.sent().into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        sent,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.0,"total":2.0,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}"#,
        ]
    );
    stage.server.settle(job, Performed::Nothing);
    stage.server.progress(job, 2.0, None, None);
    assert!(pending.await.unwrap().text.contains("Unknown prompt"));
    assert!(stage.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_lets_calls_finish_and_gives_up_the_rest() {
    let stage = Stage::new();
    stage.initialize("2025-11-25");
    let pending = stage.later(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list"}"#);
    let mut listening = stage.later(&stateless(9, "subscriptions/listen", r#""notifications":{}"#));
    let answers = tokio::spawn(pending);
    assert!(futures_util::poll!(&mut listening).is_pending());
    let ended = tokio::spawn(listening);
    let server = Arc::clone(&stage.server);
    let limits = stage.limits.clone();
    let stopping = tokio::spawn(async move { server.stop(&limits).await });
    while !stage.server.is_stopping() {
        tokio::task::yield_now().await;
    }
    assert!(
        stage
            .now(r#"{"jsonrpc":"2.0","id":8,"method":"prompts/list"}"#)
            .contains("stopping")
    );
    let end = ended.await.unwrap().unwrap().text;
    assert!(
        end.contains(r#""result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9}}"#),
        "{end}"
    );
    stopping.await.unwrap();
    assert!(answers.await.unwrap().unwrap().text.contains("stopping"));
}
