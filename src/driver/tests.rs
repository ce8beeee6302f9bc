use tokio::task::JoinHandle;

use super::*;
use crate::error::ErrorCode;
use crate::limits::Timeout;
use crate::protocol::peer::{Patience, ProgressUse};
use crate::transport::clock::SystemClock;
use crate::transport::memory::{Remote, pair};

/// A driver over a memory transport, and everything it told.
struct Side {
    commands: mpsc::Sender<Command>,
    closing: CancellationToken,
    remote: Remote,
    tell: mpsc::UnboundedSender<String>,
    told: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

struct Notes(mpsc::UnboundedSender<String>);

impl Observer for Notes {
    fn progress(&mut self, key: u64, params: Box<RawValue>) {
        let _ = self.0.send(format!("progress {key} {}", params.get()));
    }

    fn violation(&mut self, violation: Violation, _now: Instant) {
        let _ = self.0.send(format!("{violation:?}"));
    }

    fn asked(&mut self, asked: Asked) -> Option<Result<String, WireError>> {
        let _ = self.0.send(format!("asked {} {}", asked.ticket, asked.method));
        None
    }

    fn withdrawn(&mut self, ticket: u64) {
        let _ = self.0.send(format!("withdrawn {ticket}"));
    }

    fn notified(&mut self, method: &str, _params: Option<&RawValue>, _of: Option<u64>) {
        let _ = self.0.send(format!("notified {method}"));
    }

    fn renewed(&mut self) {
        let _ = self.0.send("renewed".to_owned());
    }

    fn lost(&mut self, error: Error) -> Arc<Error> {
        let _ = self.0.send("lost".to_owned());
        Arc::new(error)
    }
}

impl Side {
    fn new(congested: bool) -> Self {
        let (transport, remote) = pair(congested);
        let (commands, queue) = mpsc::channel(16);
        let closing = CancellationToken::new();
        let (tell, told) = mpsc::unbounded_channel();
        let task = tokio::spawn(run(
            transport,
            queue,
            closing.clone(),
            Arc::new(SystemClock),
            Notes(tell.clone()),
        ));
        Self {
            commands,
            closing,
            remote,
            tell,
            told,
            task,
        }
    }

    async fn ask(&self, name: &'static str, key: u64, timeout: Timeout) {
        let tell = self.tell.clone();
        let waiter: Waiter = Box::new(move |ended| drop(tell.send(format!("{name} {}", shown(&ended)))));
        let patience = Patience::flat(timeout);
        let request = Request {
            method: "m",
            params: Params::new(),
            patience,
            key: Some(key),
            progress: ProgressUse::Report,
            mirror: crate::protocol::message::Mirror::default(),
            may_ask: false,
            waiter,
        };
        self.commands.send(Command::Request(request)).await.ok().unwrap();
    }

    async fn hears(&mut self, part: &str) {
        let line = self.remote.heard.recv().await.unwrap();
        assert!(line.contains(part), "{line} has no {part}");
    }

    async fn says(&self, text: &str) {
        self.remote
            .says
            .send(Received::Message(text.to_owned()))
            .await
            .ok()
            .unwrap();
    }

    /// The next things that are told. Waiting for them lets the paused clock run.
    async fn told(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        while told.len() < count {
            told.push(self.told.recv().await.unwrap());
        }
        told
    }
}

fn shown(ended: &Ended) -> String {
    match ended {
        Ended::Result(answered) => answered.result.get().to_owned(),
        Ended::TimedOut { waited } => format!("late {}", waited.as_millis()),
        Ended::Lost(error) | Ended::NotSent(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

const LONG: Timeout = Timeout::after(Duration::from_secs(60));

#[tokio::test(start_paused = true)]
async fn requests_go_out_in_order_and_answers_come_back_in_any() {
    let mut side = Side::new(false);
    side.ask("a", 1, LONG).await;
    side.ask("b", 2, LONG).await;
    side.hears("\"id\":0").await;
    side.hears("\"id\":1").await;
    side.says(r#"{"id":1,"result":{"b":1}}"#).await;
    side.says(r#"{"method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#)
        .await;
    side.says(r#"{"id":0,"result":{"a":1}}"#).await;
    assert_eq!(
        side.told(3).await,
        [
            r#"b {"b":1}"#,
            r#"progress 1 {"progressToken":0,"progress":1}"#,
            r#"a {"a":1}"#
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_runs_out_of_time_is_cancelled_on_the_other_side() {
    let mut side = Side::new(false);
    side.ask("slow", 1, Timeout::after(Duration::from_secs(9))).await;
    // An earlier end that comes later has to move the timer forward.
    side.ask("quick", 2, Timeout::after(Duration::from_millis(300))).await;
    assert_eq!(side.told(2).await, ["quick late 300", "slow late 9000"]);
    side.hears("\"id\":0").await;
    side.hears("\"id\":1").await;
    side.hears("\"requestId\":1").await;
    side.hears("\"requestId\":0").await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_ends_once() {
    let mut side = Side::new(false);
    side.ask("a", 7, LONG).await;
    side.commands.send(Command::Cancel { key: 7 }).await.ok().unwrap();
    side.hears("\"id\":0").await;
    side.hears("notifications/cancelled").await;
    side.says(r#"{"id":0,"result":{}}"#).await;
    side.ask("b", 8, LONG).await;
    // Otherwise its answer may be taken before it is.
    side.hears("\"id\":1").await;
    side.says(r#"{"id":1,"result":{}}"#).await;
    assert_eq!(side.told(2).await, ["a Cancelled", "b {}"]);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_when_the_connection_is_lost_is_told_why_and_later_ones_are_refused() {
    let mut side = Side::new(false);
    side.ask("a", 1, LONG).await;
    side.hears("\"id\":0").await;
    let error = Error::new(ErrorCode::ConnectionLost, "it ended");
    side.remote.says.send(Received::Lost(error)).await.ok().unwrap();
    assert_eq!(side.told(2).await, ["lost", "a it ended"]);
    side.task.await.unwrap();
    assert!(side.commands.is_closed());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_what_is_under_way() {
    let mut side = Side::new(false);
    side.ask("a", 1, LONG).await;
    side.hears("\"id\":0").await;
    side.closing.cancel();
    assert_eq!(side.told(1).await, ["a Closed"]);
    side.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_can_use_any_more_closes() {
    let side = Side::new(false);
    drop(side.commands);
    side.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_added_to_what_the_other_side_does_not_read() {
    let mut side = Side::new(true);
    side.ask("a", 1, LONG).await;
    side.says(r#"{"id":5,"method":"ping"}"#).await;
    let mut told = side.told(2).await;
    told.sort_unstable();
    assert_eq!(told, ["Unsent", "a Busy"]);
    assert!(side.remote.heard.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_under_its_ticket_and_taken_back_by_whoever_asked() {
    let mut side = Side::new(false);
    side.says(r#"{"id":"q","method":"roots/list"}"#).await;
    side.says(r#"{"id":"r","method":"roots/list"}"#).await;
    side.says(r#"{"method":"notifications/cancelled","params":{"requestId":"r"}}"#)
        .await;
    side.says(r#"{"method":"notifications/message","params":{}}"#).await;
    assert_eq!(
        side.told(4).await,
        [
            "asked 1 roots/list",
            "asked 2 roots/list",
            "withdrawn 2",
            "notified notifications/message"
        ]
    );
    for ticket in [2, 1] {
        let answer = Ok(r#"{"roots":[]}"#.to_owned());
        let respond = Command::Respond { ticket, answer };
        side.commands.send(respond).await.ok().unwrap();
    }
    side.hears(r#"{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}"#).await;
}
